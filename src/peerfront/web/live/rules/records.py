"""The rows of a study, and the few look-ups through which the rules read them.

`Records` is all that `deciding.decide` and `effects.effects` read: single rows by their key, the lines of one plan, and
the coupons, plan lines and decisions of one person; never a whole table. `State` has the rows in memory; a database
answers the same look-ups inside a transaction. Both are written by `effects.effects`.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import ClassVar, TypeVar

from peerfront.web.live.rules.events import Answers, DecidedBy, Event, Frozen, PaymentKind
from peerfront.web.live.rules.study_settings import Settings

Key = tuple[str | int, ...]
R = TypeVar("R", bound="Row")


class Row(Frozen):
    """A row, with a key that is unique among the rows of its class.

    Keys carry the invariants: one redemption for a code, one payment for a code and kind, one decision for a person and
    round.
    """

    KEY: ClassVar[tuple[str, ...]]
    GROUPS: ClassVar[tuple[str, ...]]
    """Fields by which several rows are looked up at once."""

    def __init_subclass__(cls, key: tuple[str, ...], groups: tuple[str, ...] = ()) -> None:
        super().__init_subclass__()
        cls.KEY, cls.GROUPS = key, groups

    @property
    def key(self) -> Key:
        values = [getattr(self, name) for name in self.KEY]
        return tuple([str(value) if isinstance(value, StrEnum) else value for value in values])


class StudyRow(Row, key=()):
    """The study as a whole, with running counts, so that no request has to add up a table."""

    prefix: str
    settings: Settings
    kept: int
    """Coupons of the budget that are not handed out: issued + kept = budget; imported coupons do not count."""
    last_plan: int
    approved_plan: int | None
    """The plan by which coupons are handed out now."""
    rounds: int
    """Number of plans approved so far; the round of the approved plan."""
    last_time: datetime
    """Server time of the last accepted event that is no note; what comes is not earlier, unless the manager accepts
    the clock."""


class SiteRow(Row, key=("site",)):
    site: str
    name: str


class PersonRow(Row, key=("person",)):
    person: str
    site: str
    code: str
    """With which the person came."""
    recruiter: str | None
    """None for a seed."""
    enrolled_at: datetime
    network_size: int | None = None
    answers: Answers | None = None
    """None until they are recorded; empty once they are erased."""
    coupons: int = 0
    """Coupons the person got in all rounds, imported ones included."""
    last_issued_at: datetime | None = None
    withdrawn_at: datetime | None = None
    imported: str = ""
    """A digest of an imported person's data in the file; empty for others.

    Digest of all but answers and network size; of each of these the salt and the beginning of its commitment, empty
    once it is erased: 108 characters. Until 0.3 the digest had the size, and the second pair was missing; once the
    answers are erased, the first is, too.
    """


class CouponRow(Row, key=("code",), groups=("holder",)):
    code: str
    holder: str | None
    """The person who handed it on; None for the code of a seed."""
    site: str
    issued_at: datetime
    first_day: date
    last_day: date
    voided_at: datetime | None = None
    why_void: str = ""
    imported: bool = False
    """Whether it was handed out or used before the study was run here; it then does not count in the budget."""


class RedemptionRow(Row, key=("code",)):
    code: str
    person: str
    at: datetime
    site: str


class PlanStatus(StrEnum):
    """The states of a plan."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    CLOSED = "closed"
    """Replaced: a later plan was proposed before this one was approved, or approved after it."""
    STOPPED = "stopped"


class PlanRow(Row, key=("plan",)):
    plan: int
    model: str
    seed: int
    proposed_at: datetime
    status: PlanStatus = PlanStatus.PROPOSED
    round: int | None = None
    promised: int = 0
    """Coupons of an approved plan, with overrides, that people have not had yet."""


class PlanLineRow(Row, key=("plan", "person"), groups=("plan", "person")):
    plan: int
    person: str
    coupons: int
    planned: int
    """The number before the coordinator changed it."""
    stratum: str
    probability: float
    reason: str
    why_changed: str = ""


class OverrideRow(Row, key=("round", "person"), groups=("person",)):
    round: int
    person: str
    coupons: int
    actor: str
    why: str


class DecisionRow(Row, key=("round", "person"), groups=("person",)):
    round: int
    person: str
    coupons: int
    planned: int | None
    decided: int
    decided_by: DecidedBy
    model: str
    seed: int
    stratum: str
    probability: float | None
    reason: str
    why_fewer: str
    at: datetime


class PaymentRow(Row, key=("code", "kind")):
    code: str
    kind: PaymentKind
    person: str
    amount: int
    currency: str
    at: datetime
    site: str


class RefusalRow(Row, key=("request_key",)):
    request_key: str
    action: str
    reason: str
    code: str
    at: datetime
    site: str | None


class Records(ABC):
    """The look-ups of the rules. Each is one indexed query; inside a transaction all see the same moment."""

    @abstractmethod
    def one(self, kind: type[R], *key: str | int) -> R | None:
        """The row with this key."""

    @abstractmethod
    def some(self, kind: type[R], keys: Collection[str]) -> Mapping[str, R]:
        """Those of these rows that there are, in few queries; for classes with one field as key."""

    @abstractmethod
    def group(self, kind: type[R], field: str, value: str | int) -> Sequence[R]:
        """The rows with this value of one of their `GROUPS`, in order of their keys."""

    @abstractmethod
    def events_of(self, request_key: str) -> Sequence[Event]:
        """The events of a request, in order of its parts; empty if it is new."""

    def study(self) -> StudyRow | None:
        """The study; None before it begins."""
        return self.one(StudyRow)

    def site(self, site: str) -> SiteRow | None:
        return self.one(SiteRow, site)

    def person(self, person: str) -> PersonRow | None:
        return self.one(PersonRow, person)

    def people(self, people: Collection[str]) -> Mapping[str, PersonRow]:
        return self.some(PersonRow, people)

    def coupon(self, code: str) -> CouponRow | None:
        return self.one(CouponRow, code)

    def coupons(self, codes: Collection[str]) -> Mapping[str, CouponRow]:
        return self.some(CouponRow, codes)

    def coupons_of(self, person: str) -> Sequence[CouponRow]:
        """The coupons that a person got."""
        return self.group(CouponRow, "holder", person)

    def redemption(self, code: str) -> RedemptionRow | None:
        return self.one(RedemptionRow, code)

    def plan(self, plan: int) -> PlanRow | None:
        return self.one(PlanRow, plan)

    def plan_line(self, plan: int, person: str) -> PlanLineRow | None:
        return self.one(PlanLineRow, plan, person)

    def plan_lines(self, plan: int) -> Sequence[PlanLineRow]:
        return self.group(PlanLineRow, "plan", plan)

    def override(self, round: int, person: str) -> OverrideRow | None:
        return self.one(OverrideRow, round, person)

    def decision(self, round: int, person: str) -> DecisionRow | None:
        return self.one(DecisionRow, round, person)

    def payment(self, code: str, kind: PaymentKind) -> PaymentRow | None:
        return self.one(PaymentRow, code, kind.value)
