"""Rules of coupons: scan, hand out, override the number, make void, extend."""

import math
from dataclasses import dataclass
from datetime import timedelta

from peerfront.web.live.rules.chain import committed
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.effects import promised_to
from peerfront.web.live.rules.events import (
    CouponExtended,
    CouponScanned,
    CouponsIssued,
    CouponsOverridden,
    CouponVoided,
    DecidedBy,
)
from peerfront.web.live.rules.records import CouponRow, PersonRow, PlanRow
from peerfront.web.live.rules.refusals import Reason, Refusal, refusal
from peerfront.web.live.rules.requests import (
    ExtendCoupon,
    IssueCoupons,
    OverrideCoupons,
    PlanForOne,
    ScanCoupon,
    VoidCoupon,
)
from peerfront.web.live.rules.situation import Outcome, Situation, bad_text, no_reason, out_of_range, rule_of
from peerfront.web.live.rules.study_settings import LARGEST_CAP, LONGEST_DAYS


def usable(situation: Situation, typed: str) -> CouponRow | Refusal:
    """Look up the coupon that somebody shows; refuse one that cannot be used today."""
    coupon = situation.typed_coupon(typed)
    if isinstance(coupon, Refusal):
        return coupon
    if spent := situation.spent(coupon):
        return spent
    code, today = shown_code(coupon.code), situation.today
    if today < coupon.first_day:
        return refusal(Reason.NOT_YET_ACTIVE, code=code, first_day=coupon.first_day, today=today)
    if today > coupon.last_day:
        return refusal(Reason.EXPIRED, code=code, last_day=coupon.last_day, today=today)
    return coupon


@rule_of(ScanCoupon, CouponScanned)
def scan_coupon(situation: Situation, wish: ScanCoupon) -> Outcome:
    """Say whether a coupon can be used now."""
    coupon = usable(situation, wish.typed)
    return coupon if isinstance(coupon, Refusal) else (CouponScanned(coupon.code),)


@dataclass(frozen=True)
class _Decided:
    """How many coupons a person gets in this round, and why."""

    coupons: int
    planned: int | None
    by: DecidedBy
    seed: int
    stratum: str
    probability: float | None
    reason: str


@rule_of(IssueCoupons, CouponsIssued)
def issue_coupons(situation: Situation, wish: IssueCoupons) -> Outcome:
    """Hand out the decided number to a person with recorded answers, or fewer with a reason, once in a round."""
    plan = _approved_plan(situation)
    if isinstance(plan, Refusal):
        return plan
    person = situation.reachable_person(wish.person)
    if isinstance(person, Refusal):
        return person
    if person.answers is None:
        return refusal(Reason.NO_ANSWERS, person=person.person)
    if again := _second_time(situation, person):
        return again
    decided = _decided(situation, plan, person, wish.plan_for_one)
    if isinstance(decided, Refusal):
        return decided
    number = decided.coupons if wish.coupons is None else wish.coupons
    if bad := out_of_range("coupons", number, 0, LARGEST_CAP) or bad_text("reason", wish.why_fewer):
        return bad
    if number > decided.coupons:
        return refusal(Reason.OVER_DECISION, person=person.person, coupons=number, decided=decided.coupons)
    if number < decided.coupons and not wish.why_fewer.strip():
        return refusal(Reason.NO_REASON)
    if over := _over(situation, plan, person, number):
        return over
    settings = situation.study.settings
    first_day = situation.today + timedelta(days=settings.active_after_days)
    issued = CouponsIssued(
        person=person.person,
        round=situation.study.rounds,
        codes=situation.unknown_codes(number),
        planned=decided.planned,
        decided=decided.coupons,
        decided_by=decided.by,
        model=plan.model,
        seed=decided.seed,
        stratum=decided.stratum,
        probability=decided.probability,
        reason=decided.reason,
        why_fewer=wish.why_fewer if number < decided.coupons else "",
        first_day=first_day,
        last_day=first_day + timedelta(days=settings.valid_days - 1),
    )
    return (committed(issued, situation.salt()),)


@rule_of(OverrideCoupons, CouponsOverridden)
def override_coupons(situation: Situation, wish: OverrideCoupons) -> Outcome:
    """Replace the planned number for a person who has not had coupons in this round."""
    plan = _approved_plan(situation)
    if isinstance(plan, Refusal):
        return plan
    person = situation.reachable_person(wish.person)
    if isinstance(person, Refusal):
        return person
    if bad := out_of_range("coupons", wish.coupons, 0, LARGEST_CAP) or no_reason(wish.why):
        return bad
    if refused := _second_time(situation, person) or _over(situation, plan, person, wish.coupons):
        return refused
    return (CouponsOverridden(person.person, situation.study.rounds, wish.coupons, wish.why),)


@rule_of(VoidCoupon, CouponVoided)
def void_coupon(situation: Situation, wish: VoidCoupon) -> Outcome:
    """Make an unused coupon void; it still counts as handed out."""
    coupon = _handed_out(situation, wish.typed)
    if isinstance(coupon, Refusal):
        return coupon
    return no_reason(wish.why) or (CouponVoided(coupon.code, wish.why),)


@rule_of(ExtendCoupon, CouponExtended)
def extend_coupon(situation: Situation, wish: ExtendCoupon) -> Outcome:
    """Extend the validity of an unused coupon, even if it has expired."""
    coupon = _handed_out(situation, wish.typed)
    if isinstance(coupon, Refusal):
        return coupon
    if bad := no_reason(wish.why):
        return bad
    latest = situation.today + timedelta(days=LONGEST_DAYS)
    if not max(coupon.last_day + timedelta(days=1), situation.today) <= wish.last_day <= latest:
        code = shown_code(coupon.code)
        return refusal(Reason.NOT_LATER, code=code, last_day=coupon.last_day, latest=latest)
    return (CouponExtended(coupon.code, wish.last_day, wish.why),)


def _approved_plan(situation: Situation) -> PlanRow | Refusal:
    number = situation.study.approved_plan
    plan = None if number is None else situation.records.plan(number)
    return plan or refusal(Reason.NO_APPROVED_PLAN)


def _second_time(situation: Situation, person: PersonRow) -> Refusal | None:
    earlier = situation.records.decision(situation.study.rounds, person.person)
    if earlier is None:
        return None
    return refusal(
        Reason.SECOND_TIME,
        person=person.person,
        coupons=earlier.coupons,
        round=earlier.round,
        day=situation.day(earlier.at),
    )


def _over(situation: Situation, plan: PlanRow, person: PersonRow, number: int) -> Refusal | None:
    """Refuse more than the cap, or more than is free: coupons not handed out, minus those promised to others."""
    cap = situation.study.settings.cap
    if number and person.coupons + number > cap:  # people above the cap (import, lowered cap) may still get none
        return refusal(Reason.OVER_CAP, person=person.person, coupons=person.coupons + number, cap=cap)
    own = promised_to(situation.records, situation.study, person.person) or 0
    free = situation.study.kept - (plan.promised - own)
    return refusal(Reason.OVER_BUDGET, coupons=number, free=free) if number > free else None


def _decided(situation: Situation, plan: PlanRow, person: PersonRow, for_one: PlanForOne | None) -> _Decided | Refusal:
    line = situation.records.plan_line(plan.plan, person.person)
    override = situation.records.override(situation.study.rounds, person.person)
    if override is not None:
        if line is None:
            return _Decided(override.coupons, None, DecidedBy.OVERRIDE, plan.seed, "", None, override.why)
        return _Decided(
            override.coupons, line.planned, DecidedBy.OVERRIDE, plan.seed, line.stratum, line.probability, override.why
        )
    if line is not None:
        by, reason = DecidedBy.PLAN, line.reason
        if line.coupons != line.planned:
            by, reason = DecidedBy.OVERRIDE, line.why_changed
        return _Decided(line.coupons, line.planned, by, plan.seed, line.stratum, line.probability, reason)
    if for_one is None:
        return refusal(Reason.NO_DECISION, person=person.person)
    if for_one.model != plan.model:
        return refusal(Reason.OTHER_MODEL, person=person.person, model=for_one.model[:40], approved=plan.model)
    if bad := (
        out_of_range("coupons", for_one.coupons, 0, LARGEST_CAP)
        or out_of_range("probability", for_one.probability, math.ulp(0.0), 1)
        or bad_text("stratum", for_one.stratum)
        or bad_text("reason", for_one.reason)
    ):
        return bad
    return _Decided(
        for_one.coupons, for_one.coupons, DecidedBy.ARRIVAL, for_one.seed, for_one.stratum, for_one.probability,
        for_one.reason,
    )  # fmt: skip


def _handed_out(situation: Situation, typed: str) -> CouponRow | Refusal:
    """Look up a coupon handed out at a site of the member; refuse one that is used or void."""
    coupon = situation.typed_coupon(typed)
    if isinstance(coupon, Refusal):
        return coupon
    if other_site := situation.concerns(coupon.site):
        return other_site
    if coupon.holder is None:
        return refusal(Reason.NOT_ISSUED, code=shown_code(coupon.code))
    return situation.spent(coupon) or coupon
