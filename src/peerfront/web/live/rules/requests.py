"""Requests: one class for each button, and the envelope that says who asks, where, when and under which key.

A key is made once, when a form is shown; sending the form again, by a double click or after a lost connection, sends
the same key and gets the same answer. A form that is shown again after a refusal gets a new key, so that it can be sent
once the cause is mended.
"""

from dataclasses import field
from datetime import date, datetime
from typing import ClassVar

from peerfront.web.live.rules.actions import Action, Member
from peerfront.web.live.rules.events import (
    ERASABLE,
    Answers,
    Erasable,
    Frozen,
    ImportedCoupon,
    PaymentKind,
    PlannedCoupons,
    StatedUser,
)
from peerfront.web.live.rules.study_settings import Settings

_BY_SERVER = {"not_in_digest": True}  # made by the server each time a request is sent, so not part of its digest
_ERASABLE_SINCE_0_4 = ERASABLE | {"in_first_digest": True}


class Wish(Frozen):
    """What somebody asks for: an action with its details."""

    action: ClassVar[Action]

    def __init_subclass__(cls, action: Action | None = None) -> None:
        super().__init_subclass__()
        if action is not None:
            cls.action = action


class BeginStudy(Wish, action=Action.BEGIN_STUDY):
    settings: Settings
    prefix: str = field(metadata=_BY_SERVER)
    """A prefix from `codes.new_prefix` that no other study here has."""
    keys: tuple[tuple[str, str], ...] = field(default=(), metadata=_BY_SERVER)
    """The study's keys by name, with their check values."""


class ChangeSettings(Wish, action=Action.CHANGE_SETTINGS):
    settings: Settings
    why: str
    shown: str = field(default="", metadata=_BY_SERVER)
    """Fingerprint of the settings that were shown before the change; empty if none were."""


class AcceptClock(Wish, action=Action.ACCEPT_CLOCK):
    """Go on by the server's clock as it is now, also if something was recorded at a later time."""

    why: str


class AddSite(Wish, action=Action.ADD_SITE):
    site: str
    name: str


class AddSeed(Wish, action=Action.ADD_SEED):
    person: str
    """A new pseudonym, or that of an enrolled person whom somebody recognised."""


class ScanCoupon(Wish, action=Action.SCAN_COUPON):
    typed: str


class EnrolPerson(Wish, action=Action.ENROL_PERSON):
    typed: str
    person: str
    """A new pseudonym, or that of an enrolled person whom somebody recognised."""


class RecordAnswers(Wish, action=Action.RECORD_ANSWERS):
    person: str
    network_size: int | None = field(metadata=_ERASABLE_SINCE_0_4)
    answers: Answers = field(metadata=ERASABLE)


class CorrectAnswers(Wish, action=Action.CORRECT_ANSWERS):
    person: str
    network_size: int | None = field(metadata=_ERASABLE_SINCE_0_4)
    answers: Answers = field(metadata=ERASABLE)
    why: str = field(metadata=_ERASABLE_SINCE_0_4)


class WithdrawPerson(Wish, action=Action.WITHDRAW_PERSON):
    person: str
    void_coupons: bool
    """Whether coupons that the person handed on become void, too."""
    why: str = field(metadata=_ERASABLE_SINCE_0_4)


class EraseAnswers(Wish, action=Action.ERASE_ANSWERS):
    """Erase what is asked for about a person who withdrew, from the events as well.

    With answers or the network size go strata and reasons that reveal them. What an earlier version recorded in clear
    stays in its events, whose hashes cover it.
    """

    person: str
    why: str = field(metadata=_ERASABLE_SINCE_0_4)
    """Must not quote what is erased, because it stays."""
    what: tuple[Erasable, ...] = field(default=(Erasable.ANSWERS,), metadata={"later": True})


class ProposePlan(Wish, action=Action.PROPOSE_PLAN):
    model: str
    seed: int
    lines: tuple[PlannedCoupons, ...]
    read_at: datetime | None = field(default=None, metadata=_BY_SERVER)
    """When the records for the plan were read; None for a plan made at once."""


class ChangePlan(Wish, action=Action.CHANGE_PLAN):
    plan: int
    lines: tuple[tuple[str, int], ...]
    why: str = field(metadata=_ERASABLE_SINCE_0_4)


class ApprovePlan(Wish, action=Action.APPROVE_PLAN):
    plan: int


class StopPlan(Wish, action=Action.STOP_PLAN):
    plan: int
    why: str


class OverrideCoupons(Wish, action=Action.OVERRIDE_COUPONS):
    person: str
    coupons: int
    why: str = field(metadata=_ERASABLE_SINCE_0_4)


class PlanForOne(Frozen):
    """The server's plan for a person who came after the approved plan was made."""

    model: str
    seed: int
    coupons: int
    stratum: str
    probability: float
    reason: str


class IssueCoupons(Wish, action=Action.ISSUE_COUPONS):
    person: str
    coupons: int | None = None
    """How many are handed out; None for the decided number."""
    why_fewer: str = field(default="", metadata=_ERASABLE_SINCE_0_4)
    plan_for_one: PlanForOne | None = field(default=None, metadata=_BY_SERVER)
    """Used only if the approved plan has no line for the person."""


class VoidCoupon(Wish, action=Action.VOID_COUPON):
    typed: str
    why: str = field(metadata=_ERASABLE_SINCE_0_4)


class ExtendCoupon(Wish, action=Action.EXTEND_COUPON):
    typed: str
    last_day: date
    why: str = field(metadata=_ERASABLE_SINCE_0_4)


class Pay(Wish, action=Action.PAY):
    typed: str
    kind: PaymentKind


class ImportedPerson(Frozen):
    """A file's data about a person who took part before the study was run here."""

    person: str
    site: str
    code: str
    """The code with which the person came; empty if the file has none."""
    recruiter: str | None
    """None for a seed."""
    enrolled_at: datetime
    network_size: int | None = field(metadata=_ERASABLE_SINCE_0_4)
    answers: Answers | None = field(metadata=ERASABLE)
    """None if they are still to be recorded."""
    coupons: tuple[ImportedCoupon, ...] = ()
    """Handed out to this person."""
    paid: tuple[PaymentKind, ...] = ()
    """Payments made for the person's code, which must not be paid again."""


class ImportPeople(Wish, action=Action.IMPORT_STUDY):
    """Continue a study that began in a spreadsheet; people who are recorded with the same data are skipped."""

    people: tuple[ImportedPerson, ...]
    source: str
    """The source, such as the name of the file."""


class StateRegisters(Wish, action=Action.STATE_REGISTERS):
    """State keys, users and contact details as they are; asked for by an upgrade and by a restore alone."""

    keys: tuple[tuple[str, str], ...]
    users: tuple[StatedUser, ...]
    contacts: tuple[tuple[str, str], ...]


class NoteAction(Wish):
    """Note an action for the audit that changes no row of the rules; whoever may do it may note it.

    Send it in the transaction of the action, and act only if the note is accepted. It must not hold personal data: a
    note stays for ever, even if contact details are deleted.
    """

    noted: Action
    """One of `NOTED`; other actions have events of their own."""
    subject: str = ""
    """For contact details and printed coupons the person's pseudonym; otherwise what it is about, or nothing."""
    details: tuple[tuple[str, str], ...] = ()
    fingerprint: str = field(default="", metadata=_BY_SERVER)
    """Of contact details, made with a key (`records.contacts.fingerprint`)."""

    def __post_init__(self) -> None:
        if self.noted not in NOTED:
            raise ValueError(f"{self.noted} is not noted: it has an event of its own.")

    @property
    def action(self) -> Action:  # type: ignore[override]  # others have one for their class
        return self.noted


TIMELESS = NoteAction | StateRegisters
"""What only states something: it is taken by whatever clock there is, and later requests do not build on its time."""
NOTED = frozenset(Action) - {kind.action for kind in Wish.__subclasses__() if kind is not NoteAction}
"""Actions that change none of the rules' rows, and so have no request and event of their own."""


class Request(Frozen):
    """A wish with its envelope: who asks, where and when."""

    key: str
    member: Member
    site: str | None
    """The site where it is done; None for the study as a whole."""
    device_time: datetime | None
    wish: Wish
