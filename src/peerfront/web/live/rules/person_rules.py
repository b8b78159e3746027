"""Rules of people: seeds, enrolment with a coupon, answers, their correction and erasure, withdrawal, payments."""

from peerfront.web.live.rules import events, requests
from peerfront.web.live.rules.chain import committed
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.coupon_rules import usable
from peerfront.web.live.rules.events import Answers, Erasable, Fact, PaymentKind
from peerfront.web.live.rules.records import PersonRow
from peerfront.web.live.rules.refusals import Reason, Refuse
from peerfront.web.live.rules.situation import (
    Situation,
    check_distinct,
    check_identifier,
    check_range,
    check_reason,
    check_text,
    rule,
)

MOST_ANSWERS = 500
LARGEST_NETWORK = 1_000_000


@rule
def add_seed(situation: Situation, wish: requests.AddSeed) -> tuple[Fact, ...]:
    """Add a seed with a new code of the study's own, which is used at once."""
    check_identifier("person", wish.person)
    existing = situation.records.person(wish.person)
    if existing is not None:
        _check_in_sight(situation, existing)
        raise _already_enrolled(situation, existing)
    (code,) = situation.unknown_codes(1)
    return (events.SeedAdded(wish.person, code),)


@rule
def enrol_person(situation: Situation, wish: requests.EnrolPerson) -> tuple[Fact, ...]:
    """Enrol a new person with somebody else's coupon; refuse people who take part, so that the tree stays a tree."""
    coupon = usable(situation, wish.typed)
    check_identifier("person", wish.person)
    assert coupon.holder is not None, "the code of a seed is used"
    existing = situation.records.person(wish.person)
    if existing is not None:
        _check_in_sight(situation, existing)
        if coupon.holder == existing.person:
            raise Refuse(Reason.OWN_COUPON, code=shown_code(coupon.code), person=existing.person)
        if _is_ancestor(situation, existing.person, coupon.holder):
            raise Refuse(Reason.CYCLE, code=shown_code(coupon.code), person=existing.person)
        raise _already_enrolled(situation, existing)
    return (events.PersonEnrolled(wish.person, coupon.code, coupon.holder),)


@rule
def record_answers(situation: Situation, wish: requests.RecordAnswers) -> tuple[Fact, ...]:
    """Record the answers of a person, once; later changes are corrections."""
    person = situation.reachable_person(wish.person)
    if person.answers is not None:
        raise Refuse(Reason.ANSWERS_RECORDED, person=wish.person)
    check_answers(wish.answers, wish.network_size)
    recorded = events.AnswersRecorded(wish.person, wish.network_size, tuple(sorted(wish.answers)))
    return (committed(recorded, situation.salt),)


@rule
def correct_answers(situation: Situation, wish: requests.CorrectAnswers) -> tuple[Fact, ...]:
    """Replace recorded answers, with a reason."""
    person = situation.reachable_person(wish.person)
    if person.answers is None:
        raise Refuse(Reason.NO_ANSWERS, person=wish.person)
    check_answers(wish.answers, wish.network_size)
    check_reason(wish.why)
    corrected = events.AnswersCorrected(wish.person, wish.network_size, tuple(sorted(wish.answers)), wish.why)
    return (committed(corrected, situation.salt),)


@rule
def erase_answers(situation: Situation, wish: requests.EraseAnswers) -> tuple[Fact, ...]:
    """Erase answers, network size or words about a person who withdrew; the erasure and its reason stay."""
    person = situation.reachable_person(wish.person, withdrawn_too=True)
    if person.withdrawn_at is None:
        raise Refuse(Reason.NOT_WITHDRAWN, person=wish.person)
    check_range("choices", len(wish.what), 1, len(Erasable))
    if person.answers is None and person.network_size is None and Erasable.WORDS not in wish.what:
        raise Refuse(Reason.NO_ANSWERS, person=wish.person)
    check_reason(wish.why)
    return (committed(events.AnswersErased(wish.person, wish.why, wish.what), situation.salt),)


@rule
def withdraw_person(situation: Situation, wish: requests.WithdrawPerson) -> tuple[Fact, ...]:
    """Record that a person withdrew; the coupons they handed on stay valid unless they are made void, too."""
    situation.reachable_person(wish.person)
    check_reason(wish.why)
    voided = tuple(
        committed(events.CouponVoided(each.code, wish.why, wish.person), situation.salt)
        for each in (situation.records.coupons_of(wish.person) if wish.void_coupons else ())
        if each.voided_at is None and situation.records.redemption(each.code) is None
    )
    return (committed(events.PersonWithdrawn(wish.person, wish.why), situation.salt), *voided)


@rule
def pay(situation: Situation, wish: requests.Pay) -> tuple[Fact, ...]:
    """Pay what is owed for a coupon, once for each kind, even if the person has withdrawn since."""
    coupon = situation.typed_coupon(wish.typed)
    code = shown_code(coupon.code)
    not_owed = Refuse(Reason.NOT_OWED, code=code, kind=wish.kind.value)
    redemption = situation.records.redemption(coupon.code)
    if redemption is None:
        raise not_owed
    settings = situation.study.settings
    if wish.kind is PaymentKind.INTERVIEW:
        receiver, amount = redemption.person, settings.interview_payment
    elif coupon.holder is not None:
        receiver, amount = coupon.holder, settings.recruiting_payment
    else:
        raise not_owed
    situation.reachable_person(receiver, withdrawn_too=True)
    earlier = situation.records.payment(coupon.code, wish.kind)
    if earlier is not None:
        day, site = situation.day(earlier.at), situation.site_name(earlier.site)
        raise Refuse(Reason.PAID, code=code, kind=wish.kind.value, day=day, site=site)
    recruit = situation.records.person(redemption.person)
    if recruit is None or recruit.answers is None or amount == 0:
        raise not_owed
    return (events.PaymentMade(coupon.code, wish.kind, receiver, amount, settings.currency),)


def _check_in_sight(situation: Situation, row: PersonRow) -> None:
    """Refuse the pseudonym of somebody at another site without a word about them."""
    if not situation.request.member.covers(row.site):
        raise Refuse(Reason.PSEUDONYM_TAKEN, person=row.person)


def _already_enrolled(situation: Situation, row: PersonRow) -> Refuse:
    day, site = situation.day(row.enrolled_at), situation.site_name(row.site)
    return Refuse(Reason.ALREADY_ENROLLED, person=row.person, day=day, site=site)


def _is_ancestor(situation: Situation, person: str, other: str) -> bool:
    """Whether a person recruited another, directly or through others: one look-up for each wave."""
    row: PersonRow | None = situation.records.person(other)
    while row is not None and row.recruiter is not None:
        if row.recruiter == person:
            return True
        row = situation.records.person(row.recruiter)
    return False


def check_answers(answers: Answers, network_size: int | None) -> None:
    """Refuse a network size out of range, too many answers, and questions that are given twice or are too long."""
    check_range("number_of_answers", len(answers), 0, MOST_ANSWERS)
    if network_size is not None:
        check_range("network_size", network_size, 0, LARGEST_NETWORK)
    check_distinct("question", [name for name, _ in answers])
    for name, answer in answers:
        check_text("question", name, longest=100, needed=True)
        check_text("answer", answer)
