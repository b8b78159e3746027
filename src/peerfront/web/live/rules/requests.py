"""Requests: one class for each button, and the envelope that says who asks, where, when and under which key.

A key is made once, when a form is shown; sending the form again, by a double click or after a lost connection, sends
the same key and gets the same answer. A form that is shown again after a refusal gets a new key, so that it can be sent
once the cause is mended.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import ClassVar, get_args

from peerfront.web.live.rules.actions import Action, Member
from peerfront.web.live.rules.events import ERASABLE, Answers, ImportedCoupon, PaymentKind, PlannedCoupons
from peerfront.web.live.rules.study_settings import Settings

_BY_SERVER = {"not_in_digest": True}  # made by the server each time a request is sent, so not part of its digest


@dataclass(frozen=True)
class BeginStudy:
    action: ClassVar[Action] = Action.BEGIN_STUDY
    settings: Settings
    prefix: str = field(metadata=_BY_SERVER)
    """A prefix from `codes.new_prefix` that no other study here has."""


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
    answers: Answers = field(metadata=ERASABLE)


@dataclass(frozen=True)
class CorrectAnswers:
    action: ClassVar[Action] = Action.CORRECT_ANSWERS
    person: str
    network_size: int | None
    answers: Answers = field(metadata=ERASABLE)
    why: str


@dataclass(frozen=True)
class WithdrawPerson:
    action: ClassVar[Action] = Action.WITHDRAW_PERSON
    person: str
    void_coupons: bool
    """Whether coupons that the person handed on become void, too."""
    why: str


@dataclass(frozen=True)
class EraseAnswers:
    """Erase the answers of a person who withdrew, and strata and reasons that reveal them, from the events as well.

    The network size and the reasons that staff typed stay.
    """

    action: ClassVar[Action] = Action.ERASE_ANSWERS
    person: str
    why: str
    """Must not quote answers, because it stays."""


@dataclass(frozen=True)
class ProposePlan:
    action: ClassVar[Action] = Action.PROPOSE_PLAN
    model: str
    seed: int
    lines: tuple[PlannedCoupons, ...]
    read_at: datetime | None = field(default=None, metadata=_BY_SERVER)
    """When the records for the plan were read; None for a plan made at once."""


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
    """How many are handed out; None for the decided number."""
    why_fewer: str = ""
    plan_for_one: PlanForOne | None = field(default=None, metadata=_BY_SERVER)
    """Used only if the approved plan has no line for the person."""


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


@dataclass(frozen=True)
class ImportedPerson:
    """A file's data about a person who took part before the study was run here."""

    person: str
    site: str
    code: str
    """The code with which the person came; empty if the file has none."""
    recruiter: str | None
    """None for a seed."""
    enrolled_at: datetime
    network_size: int | None
    answers: Answers | None = field(metadata=ERASABLE)
    """None if they are still to be recorded."""
    coupons: tuple[ImportedCoupon, ...] = ()
    """Handed out to this person."""
    paid: tuple[PaymentKind, ...] = ()
    """Payments made for the person's code, which must not be paid again."""


@dataclass(frozen=True)
class ImportPeople:
    """Continue a study that began in a spreadsheet; people who are recorded with the same data are skipped."""

    action: ClassVar[Action] = Action.IMPORT_STUDY
    people: tuple[ImportedPerson, ...]
    source: str
    """The source, such as the name of the file."""


@dataclass(frozen=True)
class NoteAction:
    """Note an action for the audit that changes no row of the rules; whoever may do it may note it.

    Send it in the transaction of the action, and act only if the note is accepted. It must not hold personal data: a
    note stays for ever, even if contact details are deleted.
    """

    noted: Action
    """One of `NOTED`; other actions have events of their own."""
    subject: str = ""
    """For contact details and printed coupons the person's pseudonym; otherwise what it is about, or nothing."""
    details: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.noted not in NOTED:
            raise ValueError(f"{self.noted} is not noted: it has an event of its own.")

    @property
    def action(self) -> Action:
        return self.noted


Wish = (
    BeginStudy | ChangeSettings | AddSite | AddSeed | ScanCoupon | EnrolPerson | RecordAnswers | CorrectAnswers
    | WithdrawPerson | EraseAnswers | ProposePlan | ChangePlan | ApprovePlan | StopPlan | OverrideCoupons | IssueCoupons
    | VoidCoupon | ExtendCoupon | Pay | ImportPeople | NoteAction
)  # fmt: skip
NOTED = frozenset(Action) - {kind.action for kind in get_args(Wish) if kind is not NoteAction}
"""Actions that change none of the rules' rows, and so have no request and event of their own."""


@dataclass(frozen=True)
class Request:
    """A wish with its envelope: who asks, where and when."""

    key: str
    member: Member
    site: str | None
    """The site where it is done; None for the study as a whole."""
    device_time: datetime | None
    wish: Wish
