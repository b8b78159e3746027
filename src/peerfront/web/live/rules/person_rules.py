"""Rules of people: seeds, enrolment with a coupon, answers, their correction and erasure, withdrawal, payments."""

from peerfront.web.live.rules.chain import committed
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.coupon_rules import usable
from peerfront.web.live.rules.events import (
    Answers,
    AnswersCorrected,
    AnswersErased,
    AnswersRecorded,
    CouponVoided,
    PaymentKind,
    PaymentMade,
    PersonEnrolled,
    PersonWithdrawn,
    SeedAdded,
)
from peerfront.web.live.rules.records import PersonRow
from peerfront.web.live.rules.refusals import Reason, Refusal, refusal
from peerfront.web.live.rules.requests import (
    AddSeed,
    CorrectAnswers,
    EnrolPerson,
    EraseAnswers,
    Pay,
    RecordAnswers,
    WithdrawPerson,
)
from peerfront.web.live.rules.situation import (
    Outcome,
    Situation,
    bad_identifier,
    bad_text,
    no_reason,
    out_of_range,
    rule_of,
)

MOST_ANSWERS = 500
LARGEST_NETWORK = 1_000_000


@rule_of(AddSeed, SeedAdded)
def add_seed(situation: Situation, wish: AddSeed) -> Outcome:
    """Add a seed with a new code of the study's own, which is used at once."""
    if bad := bad_identifier("person", wish.person):
        return bad
    existing = situation.records.person(wish.person)
    if existing is not None:
        return situation.already_enrolled(existing)
    (code,) = situation.unknown_codes(1)
    return (SeedAdded(wish.person, code),)


@rule_of(EnrolPerson, PersonEnrolled)
def enrol_person(situation: Situation, wish: EnrolPerson) -> Outcome:
    """Enrol a new person with somebody else's coupon; refuse people who take part, so that the tree stays a tree."""
    coupon = usable(situation, wish.typed)
    if isinstance(coupon, Refusal):
        return coupon
    if bad := bad_identifier("person", wish.person):
        return bad
    assert coupon.holder is not None, "the code of a seed is used"
    existing = situation.records.person(wish.person)
    if existing is not None:
        if coupon.holder == existing.person:
            return refusal(Reason.OWN_COUPON, code=shown_code(coupon.code), person=existing.person)
        if _is_ancestor(situation, existing.person, coupon.holder):
            return refusal(Reason.CYCLE, code=shown_code(coupon.code), person=existing.person)
        return situation.already_enrolled(existing)
    return (PersonEnrolled(wish.person, coupon.code, coupon.holder),)


@rule_of(RecordAnswers, AnswersRecorded)
def record_answers(situation: Situation, wish: RecordAnswers) -> Outcome:
    """Record the answers of a person, once; later changes are corrections."""
    person = situation.reachable_person(wish.person)
    if isinstance(person, Refusal):
        return person
    if person.answers is not None:
        return refusal(Reason.ANSWERS_RECORDED, person=wish.person)
    if bad := bad_answers(wish.answers, wish.network_size):
        return bad
    recorded = AnswersRecorded(wish.person, wish.network_size, tuple(sorted(wish.answers)))
    return (committed(recorded, situation.salt()),)


@rule_of(CorrectAnswers, AnswersCorrected)
def correct_answers(situation: Situation, wish: CorrectAnswers) -> Outcome:
    """Replace recorded answers, with a reason."""
    person = situation.reachable_person(wish.person)
    if isinstance(person, Refusal):
        return person
    if person.answers is None:
        return refusal(Reason.NO_ANSWERS, person=wish.person)
    if bad := bad_answers(wish.answers, wish.network_size) or no_reason(wish.why):
        return bad
    corrected = AnswersCorrected(wish.person, wish.network_size, tuple(sorted(wish.answers)), wish.why)
    return (committed(corrected, situation.salt()),)


@rule_of(EraseAnswers, AnswersErased)
def erase_answers(situation: Situation, wish: EraseAnswers) -> Outcome:
    """Erase the answers of a person who withdrew, and texts that reveal them; the erasure and its reason stay."""
    person = situation.reachable_person(wish.person, withdrawn_too=True)
    if isinstance(person, Refusal):
        return person
    if person.withdrawn_at is None:
        return refusal(Reason.NOT_WITHDRAWN, person=wish.person)
    if person.answers is None:
        return refusal(Reason.NO_ANSWERS, person=wish.person)
    return no_reason(wish.why) or (AnswersErased(wish.person, wish.why),)


@rule_of(WithdrawPerson, PersonWithdrawn, CouponVoided)
def withdraw_person(situation: Situation, wish: WithdrawPerson) -> Outcome:
    """Record that a person withdrew; the coupons they handed on stay valid unless they are made void, too."""
    person = situation.reachable_person(wish.person)
    if isinstance(person, Refusal):
        return person
    if bad := no_reason(wish.why):
        return bad
    open_coupons = (each for each in situation.records.coupons_of(wish.person) if situation.spent(each) is None)
    voided = tuple(CouponVoided(each.code, wish.why) for each in open_coupons) if wish.void_coupons else ()
    return (PersonWithdrawn(wish.person, wish.why), *voided)


@rule_of(Pay, PaymentMade)
def pay(situation: Situation, wish: Pay) -> Outcome:
    """Pay what is owed for a coupon, once for each kind, even if the person has withdrawn since."""
    coupon = situation.typed_coupon(wish.typed)
    if isinstance(coupon, Refusal):
        return coupon
    code = shown_code(coupon.code)
    not_owed = refusal(Reason.NOT_OWED, code=code, kind=wish.kind.value)
    redemption = situation.records.redemption(coupon.code)
    if redemption is None:
        return not_owed
    settings = situation.study.settings
    if wish.kind is PaymentKind.INTERVIEW:
        receiver, amount = redemption.person, settings.interview_payment
    elif coupon.holder is not None:
        receiver, amount = coupon.holder, settings.recruiting_payment
    else:
        return not_owed
    paid_person = situation.reachable_person(receiver, withdrawn_too=True)
    if isinstance(paid_person, Refusal):
        return paid_person
    earlier = situation.records.payment(coupon.code, wish.kind)
    if earlier is not None:
        day, site = situation.day(earlier.at), situation.site_name(earlier.site)
        return refusal(Reason.PAID, code=code, kind=wish.kind.value, day=day, site=site)
    recruit = situation.records.person(redemption.person)
    if recruit is None or recruit.answers is None or amount == 0:
        return not_owed
    return (PaymentMade(coupon.code, wish.kind, receiver, amount, settings.currency),)


def _is_ancestor(situation: Situation, person: str, other: str) -> bool:
    """Whether a person recruited another, directly or through others: one look-up for each wave."""
    row: PersonRow | None = situation.records.person(other)
    while row is not None and row.recruiter is not None:
        if row.recruiter == person:
            return True
        row = situation.records.person(row.recruiter)
    return False


def bad_answers(answers: Answers, network_size: int | None) -> Refusal | None:
    """Refuse a network size out of range, too many answers, and questions that are given twice or are too long."""
    if bad := out_of_range("number_of_answers", len(answers), 0, MOST_ANSWERS):
        return bad
    if network_size is not None and (bad := out_of_range("network_size", network_size, 0, LARGEST_NETWORK)):
        return bad
    names = [name for name, _ in answers]
    if len(set(names)) != len(names):
        return refusal(Reason.TWICE, name="question")
    for name, answer in answers:
        if bad := bad_text("question", name, longest=100, needed=True) or bad_text("answer", answer):
            return bad
    return None
