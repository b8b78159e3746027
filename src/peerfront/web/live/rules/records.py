"""The rows of a study, and the few look-ups through which the rules read them.

`Records` is all that `deciding.decide` and `effects.effects` read: single rows by their key, the lines of one plan, and
the coupons, plan lines and decisions of one person; never a whole table. `State` has the rows in memory; a database
answers the same look-ups inside a transaction. Both are written by `effects.effects`.

`KEY` names the fields that are unique among the rows of a class. They carry the invariants: one redemption for a code,
one payment for a code and kind, one decision for a person and round.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import ClassVar, Protocol

from peerfront.web.live.rules.events import Answers, DecidedBy, Event, PaymentKind
from peerfront.web.live.rules.study_settings import Settings

Key = tuple[str | int, ...]


@dataclass(frozen=True)
class StudyRow:
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
    """Server time of the last accepted event; time never runs backwards in a study."""

    KEY: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class SiteRow:
    site: str
    name: str

    KEY: ClassVar = ("site",)


@dataclass(frozen=True)
class PersonRow:
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

    Digest of all but the answers, their salt and the beginning of their commitment, 62 characters; once the answers
    are erased, the digest alone.
    """

    KEY: ClassVar = ("person",)


@dataclass(frozen=True)
class CouponRow:
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

    KEY: ClassVar = ("code",)


@dataclass(frozen=True)
class RedemptionRow:
    code: str
    person: str
    at: datetime
    site: str

    KEY: ClassVar = ("code",)


class PlanStatus(StrEnum):
    """The states of a plan."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    CLOSED = "closed"
    """Replaced: a later plan was proposed before this one was approved, or approved after it."""
    STOPPED = "stopped"


@dataclass(frozen=True)
class PlanRow:
    plan: int
    model: str
    seed: int
    proposed_at: datetime
    status: PlanStatus = PlanStatus.PROPOSED
    round: int | None = None
    promised: int = 0
    """Coupons of an approved plan, with overrides, that people have not had yet."""

    KEY: ClassVar = ("plan",)


@dataclass(frozen=True)
class PlanLineRow:
    plan: int
    person: str
    coupons: int
    planned: int
    """The number before the coordinator changed it."""
    stratum: str
    probability: float
    reason: str
    why_changed: str = ""

    KEY: ClassVar[tuple[str, ...]] = ("plan", "person")


@dataclass(frozen=True)
class OverrideRow:
    round: int
    person: str
    coupons: int
    actor: str
    why: str

    KEY: ClassVar[tuple[str, ...]] = ("round", "person")


@dataclass(frozen=True)
class DecisionRow:
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

    KEY: ClassVar[tuple[str, ...]] = ("round", "person")


@dataclass(frozen=True)
class PaymentRow:
    code: str
    kind: PaymentKind
    person: str
    amount: int
    currency: str
    at: datetime
    site: str

    KEY: ClassVar[tuple[str, ...]] = ("code", "kind")


@dataclass(frozen=True)
class RefusalRow:
    request_key: str
    action: str
    reason: str
    code: str
    at: datetime
    site: str | None

    KEY: ClassVar = ("request_key",)


Row = (
    StudyRow | SiteRow | PersonRow | CouponRow | RedemptionRow | PlanRow | PlanLineRow | OverrideRow | DecisionRow
    | PaymentRow | RefusalRow
)  # fmt: skip


class Records(Protocol):
    """The look-ups of the rules. Each is one indexed query; inside a transaction all see the same moment."""

    def study(self) -> StudyRow | None:
        """The study; None before it begins."""

    def site(self, site: str) -> SiteRow | None: ...

    def person(self, person: str) -> PersonRow | None: ...

    def people(self, people: Collection[str]) -> Mapping[str, PersonRow]:
        """The rows of those people who are in the study, in one query."""

    def coupon(self, code: str) -> CouponRow | None: ...

    def coupons(self, codes: Collection[str]) -> Mapping[str, CouponRow]:
        """The rows of those codes that are in the study, by code, in few queries."""

    def coupons_of(self, person: str) -> Sequence[CouponRow]:
        """The coupons that a person got, in order of their codes."""

    def redemption(self, code: str) -> RedemptionRow | None: ...

    def plan(self, plan: int) -> PlanRow | None: ...

    def plan_line(self, plan: int, person: str) -> PlanLineRow | None: ...

    def plan_lines(self, plan: int) -> Sequence[PlanLineRow]:
        """All lines of a plan, in order of the people."""

    def plan_lines_of(self, person: str) -> Sequence[PlanLineRow]:
        """The lines of all plans for a person, in order of the plans."""

    def override(self, round: int, person: str) -> OverrideRow | None: ...

    def decision(self, round: int, person: str) -> DecisionRow | None: ...

    def decisions_of(self, person: str) -> Sequence[DecisionRow]:
        """All decisions about a person, in order of the rounds."""

    def payment(self, code: str, kind: PaymentKind) -> PaymentRow | None: ...

    def events_of(self, request_key: str) -> Sequence[Event]:
        """The events of a request, in order of its parts; empty if it is new."""
