"""What people ask for: one class for each button, and the envelope that says who asks, where, when and under which key.

A key is made once, when a form is shown; sending the form again, by a double click or after a lost connection, sends
the same key and gets the same answer. A form that is shown again after a refusal gets a new key, so that it can be sent
once the cause is mended.
"""

import dataclasses
import hashlib
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import ClassVar

from peerfront.foundation.chained_log import one_spelling
from peerfront.live.events import Answers, PaymentKind, PlannedCoupons
from peerfront.live.permissions import Action, Member
from peerfront.live.settings import Settings
from peerfront.live.stored_events import plain_value

_BY_SERVER = {"by_server": True}  # made anew by the server each time a request is sent, so not part of what was asked


@dataclass(frozen=True)
class BeginStudy:
    action: ClassVar[Action] = Action.BEGIN_STUDY
    settings: Settings
    prefix: str = field(metadata=_BY_SERVER)
    """Of `codes.new_prefix`, and of no other study here."""


@dataclass(frozen=True)
class ChangeSettings:
    action: ClassVar[Action] = Action.CHANGE_SETTINGS
    settings: Settings
    why: str


@dataclass(frozen=True)
class AddSite:
    action: ClassVar[Action] = Action.ADD_SITE
    site: str
    name: str


@dataclass(frozen=True)
class AddSeed:
    action: ClassVar[Action] = Action.ADD_SEED
    person: str
    """A new pseudonym, or that of an enrolled person whom somebody recognised."""


@dataclass(frozen=True)
class ScanCoupon:
    action: ClassVar[Action] = Action.SCAN_COUPON
    typed: str


@dataclass(frozen=True)
class EnrolPerson:
    action: ClassVar[Action] = Action.ENROL_PERSON
    typed: str
    person: str
    """A new pseudonym, or that of an enrolled person whom somebody recognised."""


@dataclass(frozen=True)
class RecordAnswers:
    action: ClassVar[Action] = Action.RECORD_ANSWERS
    person: str
    network_size: int | None
    answers: Answers


@dataclass(frozen=True)
class CorrectAnswers:
    action: ClassVar[Action] = Action.CORRECT_ANSWERS
    person: str
    network_size: int | None
    answers: Answers
    why: str


@dataclass(frozen=True)
class WithdrawPerson:
    action: ClassVar[Action] = Action.WITHDRAW_PERSON
    person: str
    void_coupons: bool
    """Whether coupons that the person handed on are void, too."""
    why: str


@dataclass(frozen=True)
class ProposePlan:
    action: ClassVar[Action] = Action.PROPOSE_PLAN
    model: str
    seed: int
    lines: tuple[PlannedCoupons, ...]


@dataclass(frozen=True)
class ChangePlan:
    action: ClassVar[Action] = Action.CHANGE_PLAN
    plan: int
    lines: tuple[tuple[str, int], ...]
    why: str


@dataclass(frozen=True)
class ApprovePlan:
    action: ClassVar[Action] = Action.APPROVE_PLAN
    plan: int


@dataclass(frozen=True)
class StopPlan:
    action: ClassVar[Action] = Action.STOP_PLAN
    plan: int
    why: str


@dataclass(frozen=True)
class OverrideCoupons:
    action: ClassVar[Action] = Action.OVERRIDE_COUPONS
    person: str
    coupons: int
    why: str


@dataclass(frozen=True)
class PlanForOne:
    """The server's plan for a person who came after the approved plan was made."""

    model: str
    seed: int
    coupons: int
    stratum: str
    probability: float
    reason: str


@dataclass(frozen=True)
class IssueCoupons:
    action: ClassVar[Action] = Action.ISSUE_COUPONS
    person: str
    coupons: int | None = None
    """How many are handed out; None for the number that was decided."""
    why_fewer: str = ""
    plan_for_one: PlanForOne | None = field(default=None, metadata=_BY_SERVER)
    """Used only where the approved plan has no line for the person."""


@dataclass(frozen=True)
class VoidCoupon:
    action: ClassVar[Action] = Action.VOID_COUPON
    typed: str
    why: str


@dataclass(frozen=True)
class ExtendCoupon:
    action: ClassVar[Action] = Action.EXTEND_COUPON
    typed: str
    last_day: date
    why: str


@dataclass(frozen=True)
class Pay:
    action: ClassVar[Action] = Action.PAY
    typed: str
    kind: PaymentKind


Wish = (
    BeginStudy | ChangeSettings | AddSite | AddSeed | ScanCoupon | EnrolPerson | RecordAnswers | CorrectAnswers
    | WithdrawPerson | ProposePlan | ChangePlan | ApprovePlan | StopPlan | OverrideCoupons | IssueCoupons | VoidCoupon
    | ExtendCoupon | Pay
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """A wish with who has it, where and when."""

    key: str
    member: Member
    site: str | None
    """Where it is done; None for the study as a whole."""
    device_time: datetime | None
    wish: Wish

    @property
    def digest(self) -> str:
        """Tell this request from another with the same key: who, where and what, but neither when nor server data."""
        asked = {
            each.name: plain_value(getattr(self.wish, each.name))
            for each in dataclasses.fields(self.wish)
            if not each.metadata.get("by_server")
        }
        what = {"action": self.wish.action.value, "actor": self.member.name, "site": self.site, "asked": asked}
        return hashlib.sha256(one_spelling(what)).hexdigest()[:16]
