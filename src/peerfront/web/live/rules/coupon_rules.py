"""Rules of coupons: scan, hand out, override the number, make void, extend."""

import math
from dataclasses import replace
from datetime import timedelta

from peerfront.web.live.rules import events, requests
from peerfront.web.live.rules.chain import committed
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.effects import promised_to
from peerfront.web.live.rules.events import DecidedBy, Fact
from peerfront.web.live.rules.records import CouponRow, PersonRow, PlanRow
from peerfront.web.live.rules.refusals import Reason, Refuse
from peerfront.web.live.rules.situation import Situation, check_range, check_reason, check_text, rule
from peerfront.web.live.rules.study_settings import LARGEST_CAP, LONGEST_DAYS


def usable(situation: Situation, typed: str) -> CouponRow:
    """Look up the coupon that somebody shows; refuse one that cannot be used today."""
    coupon = situation.typed_coupon(typed)
    situation.check_unspent(coupon)
    code, today = shown_code(coupon.code), situation.today
    if today < coupon.first_day:
        raise Refuse(Reason.NOT_YET_ACTIVE, code=code, first_day=coupon.first_day, today=today)
    if today > coupon.last_day:
        raise Refuse(Reason.EXPIRED, code=code, last_day=coupon.last_day, today=today)
    return coupon


@rule
def scan_coupon(situation: Situation, wish: requests.ScanCoupon) -> tuple[Fact, ...]:
    """Say whether a coupon can be used now."""
    return (events.CouponScanned(usable(situation, wish.typed).code),)


@rule
def issue_coupons(situation: Situation, wish: requests.IssueCoupons) -> tuple[Fact, ...]:
    """Hand out the decided number to a person with recorded answers, or fewer with a reason, once in a round."""
    plan = _approved_plan(situation)
    person = situation.reachable_person(wish.person)
    if person.answers is None:
        raise Refuse(Reason.NO_ANSWERS, person=person.person)
    _check_first_time(situation, person)
    decision = _decision(situation, plan, person, wish.plan_for_one)
    number = decision.decided if wish.coupons is None else wish.coupons
    check_range("coupons", number, 0, LARGEST_CAP)
    check_text("reason", wish.why_fewer)
    if number > decision.decided:
        raise Refuse(Reason.OVER_DECISION, person=person.person, coupons=number, decided=decision.decided)
    if number < decision.decided and not wish.why_fewer.strip():
        raise Refuse(Reason.NO_REASON)
    _check_free(situation, plan, person, number)
    codes = situation.unknown_codes(number)
    issued = replace(decision, codes=codes, why_fewer=wish.why_fewer if number < decision.decided else "")
    return (committed(issued, situation.salt),)


@rule
def override_coupons(situation: Situation, wish: requests.OverrideCoupons) -> tuple[Fact, ...]:
    """Replace the planned number for a person who has not had coupons in this round."""
    plan = _approved_plan(situation)
    person = situation.reachable_person(wish.person)
    check_range("coupons", wish.coupons, 0, LARGEST_CAP)
    check_reason(wish.why)
    _check_first_time(situation, person)
    _check_free(situation, plan, person, wish.coupons)
    overridden = events.CouponsOverridden(person.person, situation.study.rounds, wish.coupons, wish.why)
    return (committed(overridden, situation.salt),)


@rule
def void_coupon(situation: Situation, wish: requests.VoidCoupon) -> tuple[Fact, ...]:
    """Make an unused coupon void; it still counts as handed out."""
    coupon = _handed_out(situation, wish.typed)
    check_reason(wish.why)
    return (committed(events.CouponVoided(coupon.code, wish.why, coupon.holder or ""), situation.salt),)


@rule
def extend_coupon(situation: Situation, wish: requests.ExtendCoupon) -> tuple[Fact, ...]:
    """Extend the validity of an unused coupon, even if it has expired."""
    coupon = _handed_out(situation, wish.typed)
    check_reason(wish.why)
    latest = situation.today + timedelta(days=LONGEST_DAYS)
    if not max(coupon.last_day + timedelta(days=1), situation.today) <= wish.last_day <= latest:
        raise Refuse(Reason.NOT_LATER, code=shown_code(coupon.code), last_day=coupon.last_day, latest=latest)
    extended = events.CouponExtended(coupon.code, wish.last_day, wish.why, coupon.holder or "")
    return (committed(extended, situation.salt),)


def _approved_plan(situation: Situation) -> PlanRow:
    number = situation.study.approved_plan
    plan = None if number is None else situation.records.plan(number)
    if plan is None:
        raise Refuse(Reason.NO_APPROVED_PLAN)
    return plan


def _check_first_time(situation: Situation, person: PersonRow) -> None:
    earlier = situation.records.decision(situation.study.rounds, person.person)
    if earlier is not None:
        had = {"coupons": earlier.coupons, "round": earlier.round, "day": situation.day(earlier.at)}
        raise Refuse(Reason.SECOND_TIME, person=person.person, **had)


def _check_free(situation: Situation, plan: PlanRow, person: PersonRow, number: int) -> None:
    """Refuse more than the cap, or more than is free: coupons not handed out, minus those promised to others."""
    cap = situation.study.settings.cap
    if number and person.coupons + number > cap:  # people above the cap (import, lowered cap) may still get none
        raise Refuse(Reason.OVER_CAP, person=person.person, coupons=person.coupons + number, cap=cap)
    own = promised_to(situation.records, situation.study, person.person) or 0
    free = situation.study.kept - (plan.promised - own)
    if number > free:
        raise Refuse(Reason.OVER_BUDGET, coupons=number, free=free)


def _decision(
    situation: Situation, plan: PlanRow, person: PersonRow, for_one: requests.PlanForOne | None
) -> events.CouponsIssued:
    """How many coupons a person gets in this round and why, by override, plan or plan for one; still without codes."""
    line = situation.records.plan_line(plan.plan, person.person)
    override = situation.records.override(situation.study.rounds, person.person)
    first_day = situation.today + timedelta(days=situation.study.settings.active_after_days)
    decision = events.CouponsIssued(
        person=person.person,
        round=situation.study.rounds,
        codes=(),
        planned=None if line is None else line.planned,
        decided=0 if line is None else line.coupons,
        decided_by=DecidedBy.PLAN,
        model=plan.model,
        seed=plan.seed,
        stratum="" if line is None else line.stratum,
        probability=None if line is None else line.probability,
        reason="" if line is None else line.reason,
        why_fewer="",
        first_day=first_day,
        last_day=first_day + timedelta(days=situation.study.settings.valid_days - 1),
    )
    if override is not None:
        return replace(decision, decided=override.coupons, decided_by=DecidedBy.OVERRIDE, reason=override.why)
    if line is not None:
        if line.coupons != line.planned:
            return replace(decision, decided_by=DecidedBy.OVERRIDE, reason=line.why_changed)
        return decision
    if for_one is None:
        raise Refuse(Reason.NO_DECISION, person=person.person)
    if for_one.model != plan.model:
        raise Refuse(Reason.OTHER_MODEL, person=person.person, model=for_one.model[:40], approved=plan.model)
    check_planned(for_one)
    return replace(
        decision,
        planned=for_one.coupons,
        decided=for_one.coupons,
        decided_by=DecidedBy.ARRIVAL,
        seed=for_one.seed,
        stratum=for_one.stratum,
        probability=for_one.probability,
        reason=for_one.reason,
    )


def check_planned(line: events.PlannedCoupons | requests.PlanForOne) -> None:
    """Refuse a planned number, probability, stratum or reason that cannot be."""
    check_range("coupons", line.coupons, 0, LARGEST_CAP)
    check_range("probability", line.probability, math.ulp(0.0), 1)
    check_text("stratum", line.stratum)
    check_text("reason", line.reason)


def _handed_out(situation: Situation, typed: str) -> CouponRow:
    """Look up a coupon handed out at a site of the member; refuse one that is used or void."""
    coupon = situation.typed_coupon(typed)
    situation.check_site(coupon.site)
    if coupon.holder is None:
        raise Refuse(Reason.NOT_ISSUED, code=shown_code(coupon.code))
    situation.check_unspent(coupon)
    return coupon
