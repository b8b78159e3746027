"""The events of a study: facts, each with who, when, where and by which request.

Events are only ever added. Everything else (people, coupons, payments, plans) follows from them: see `effects`. They do
not identify anybody: a person is a pseudonym, and contact details are kept elsewhere, so that they can be deleted.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import dataclass_transform

from peerfront.web.live.rules.actions import Action, Role
from peerfront.web.live.rules.study_settings import Settings


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True)
class Frozen:
    """Every class derived from this one is a frozen dataclass."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class PaymentKind(StrEnum):
    """What a payment is for; each is paid once for a coupon."""

    INTERVIEW = "interview"
    """Paid to the person who came with the coupon."""
    RECRUITING = "recruiting"
    """Paid to the person who had handed on the coupon."""


class DecidedBy(StrEnum):
    """Where the number of coupons comes from."""

    PLAN = "plan"
    ARRIVAL = "arrival"
    """A plan for one person who came after the plan was made, by the approved model."""
    OVERRIDE = "override"


Answers = tuple[tuple[str, str], ...]
"""Questions with their answers, in order of the questions' names."""
ERASABLE = {"not_in_digest": True}
"""Fields compared one by one when a request comes again: a digest would let people guess what was erased."""
_LATER = {"later": True}


class Erasable(StrEnum):
    """What can be erased on request; each is a choice of its own."""

    ANSWERS = "answers"
    NETWORK_SIZE = "network_size"
    WORDS = "words"
    """What staff wrote about the person, such as the reason for another number of coupons."""


class WithNetworkSize(Frozen):
    """A fact with a network size, which the chain replaces by a commitment; both are empty before 0.4."""

    size_salt: str = field(default="", kw_only=True, metadata=_LATER)
    size_commitment: str = field(default="", kw_only=True, metadata=_LATER)


class WithWords(Frozen):
    """A fact with words of staff, which the chain replaces by a commitment; both are empty before 0.4."""

    words_salt: str = field(default="", kw_only=True, metadata=_LATER)
    words_commitment: str = field(default="", kw_only=True, metadata=_LATER)


class PlannedCoupons(Frozen):
    """How many coupons a plan gives a person, with everything that estimates and audits need."""

    person: str
    coupons: int
    stratum: str = field(metadata=ERASABLE)
    """Made of answers; empty without strata, and after erasure (`chain.erased`)."""
    probability: float
    """The chance that this person would get this number."""
    reason: str = field(metadata=ERASABLE)
    """May quote answers; empty after erasure."""
    salt: str = field(default="", metadata=ERASABLE)
    """Random characters, drawn when the plan is proposed; empty after stratum and reason were erased."""
    commitment: str = field(default="", metadata=ERASABLE)
    """Hash of salt, stratum and reason, which stands for them in the chain."""


class StudyBegun(Frozen):
    prefix: str
    """The first characters of all its coupon codes."""
    settings: Settings
    keys: tuple[tuple[str, str], ...] = field(default=(), metadata=_LATER)
    """The study's keys by name, with their check values (`folder.Keys.checks`); empty before 0.4."""


class StatedUser(Frozen):
    """Somebody who may log in, or might once more."""

    name: str
    roles: str
    """With commas between them; empty for a user without a role."""
    site: str
    """Empty for all sites."""
    active: bool


class RegistersStated(Frozen):
    """Keys, users and contact details as they were at an upgrade, or at a restore with other keys.

    From here on they follow from this event and later ones; nothing shows whether they were right before.
    """

    keys: tuple[tuple[str, str], ...]
    users: tuple[StatedUser, ...]
    contacts: tuple[tuple[str, str], ...]
    """People who have contact details, with the fingerprints of these."""


class SettingsChanged(Frozen):
    settings: Settings
    why: str


class ClockAccepted(Frozen):
    """The manager found the server's clock right: what comes is recorded by it."""

    last_time: datetime
    """The time before which nothing could be recorded until then."""
    why: str


class SiteAdded(Frozen):
    site: str
    name: str


class SeedAdded(Frozen):
    person: str
    code: str
    """A code of the study's own, used at once, so that every person came with a code, by which they are paid."""


class CouponScanned(Frozen):
    """A valid coupon was shown."""

    code: str


class PersonEnrolled(Frozen):
    person: str
    code: str
    recruiter: str


class AnswersRecorded(WithNetworkSize):
    person: str
    network_size: int | None
    """None if it is not known, and after erasure."""
    answers: Answers | None
    """None after erasure (`chain.erased`)."""
    salt: str = ""
    """Random characters; empty after the answers were erased."""
    commitment: str = ""
    """Hash of salt and answers, which stands for them in the chain."""


class AnswersCorrected(WithNetworkSize, WithWords):
    person: str
    network_size: int | None
    answers: Answers | None
    why: str
    salt: str = ""
    commitment: str = ""


class AnswersErased(WithWords):
    """All answers of a person were erased, or other texts, in these records and in the events before this one."""

    person: str
    why: str
    what: tuple[Erasable, ...] = field(default=(Erasable.ANSWERS,), metadata=_LATER)


class PersonWithdrawn(WithWords):
    person: str
    why: str


class PlanProposed(Frozen):
    plan: int
    model: str
    """Fingerprint of the fitted model."""
    seed: int
    lines: tuple[PlannedCoupons, ...]


class PlanChanged(WithWords):
    """The coordinator gave a person another number than the plan, before approving it."""

    plan: int
    lines: tuple[tuple[str, int], ...]
    """Person and new number of coupons: one line since 0.4, so that the reason can be erased for each person."""
    why: str


class PlanApproved(Frozen):
    plan: int
    round: int


class PlanStopped(Frozen):
    plan: int
    why: str


class CouponsOverridden(WithWords):
    """A person gets another number of coupons in this round than planned; the stamp says who decided."""

    person: str
    round: int
    coupons: int
    why: str


class CouponsIssued(WithWords):
    """A person got coupons, or none: the decision with everything behind it."""

    person: str
    round: int
    codes: tuple[str, ...]
    planned: int | None
    """The planned number; None if nothing was planned for this person."""
    decided: int
    """The decided number; fewer codes mean that the person took fewer."""
    decided_by: DecidedBy
    model: str
    seed: int
    stratum: str
    probability: float | None
    """The chance of the planned number; None for an override without a plan."""
    reason: str
    why_fewer: str
    first_day: date
    last_day: date
    salt: str = field(default="", metadata=ERASABLE)
    """Empty after stratum and reason were erased (`chain.erased`)."""
    commitment: str = field(default="", metadata=ERASABLE)
    """Hash of salt, stratum and reason, which stands for them in the chain."""


class CouponVoided(WithWords):
    code: str
    why: str
    person: str = field(default="", metadata=_LATER)
    """Who handed it on, or was to; empty before 0.4."""


class CouponExtended(WithWords):
    code: str
    last_day: date
    why: str
    person: str = field(default="", metadata=_LATER)
    """Who hands it on; empty before 0.4."""


class PaymentMade(Frozen):
    code: str
    kind: PaymentKind
    person: str
    """The person who was paid."""
    amount: int
    currency: str


class ImportedCoupon(Frozen):
    """A coupon that was handed out before the study was run here."""

    code: str
    issued_at: datetime
    first_day: date
    last_day: date
    void: bool


class PersonImported(WithNetworkSize):
    """Somebody took part before the study was run here."""

    person: str
    site: str
    code: str
    """The code with which the person came."""
    drawn: bool
    """Whether the file had no code, so that a new one of the study's own replaces it, handed on by the recruiter."""
    recruiter: str | None
    enrolled_at: datetime
    network_size: int | None
    answers: Answers | None
    coupons: tuple[ImportedCoupon, ...]
    """Coupons handed out to this person."""
    paid: tuple[PaymentKind, ...]
    """Payments made for the code before the import."""
    digest: str
    """Shows, with salts and commitments, whether a later import says the same about the person."""
    salt: str = ""
    commitment: str = ""


class ActionNoted(Frozen):
    """An action that changes no row here: contact details, printing, export, users, back-ups.

    It must not hold personal data, because it stays for ever: note that a telephone number was changed, not the number.
    """

    action: Action
    subject: str
    """What it concerns: a person's pseudonym, a file, the name of an account; or nothing."""
    details: tuple[tuple[str, str], ...]
    """Names and values that the audit shows, such as the format of an export."""
    fingerprint: str = field(default="", metadata=_LATER)
    """Of contact details, as they were encrypted and made with a key: it tells nothing about what they are."""


class RequestRefused(Frozen):
    """A request was refused, such as a scan of an expired coupon."""

    action: Action
    reason: str
    arguments: tuple[tuple[str, str], ...]
    code: str
    """The typed code, if it is an imported one or has the form of our own; otherwise empty.

    Other text is not kept: somebody may have typed a name.
    """


Fact = (
    StudyBegun | SettingsChanged | ClockAccepted | SiteAdded | SeedAdded | CouponScanned | PersonEnrolled
    | AnswersRecorded | AnswersCorrected | AnswersErased | PersonWithdrawn | PlanProposed | PlanChanged
    | PlanApproved | PlanStopped | CouponsOverridden | CouponsIssued | CouponVoided | CouponExtended | PaymentMade
    | PersonImported | ActionNoted | RegistersStated | RequestRefused
)  # fmt: skip


class Stamp(Frozen):
    """Who did something, in which role, where, when, and by which request."""

    actor: str
    role: Role
    site: str | None
    device_time: datetime | None
    """The time of the device's clock; None if unknown. The rules use the server's time only."""
    server_time: datetime
    request_key: str
    request_digest: str
    """Distinguishes a repeated request from a different one with the same key."""


class Event(Frozen):
    """One fact. A request may have several events; key and part together are unique."""

    stamp: Stamp
    part: int
    fact: Fact
