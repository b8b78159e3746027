"""Rules of the study as a whole: settings, sites, notes for the audit; plans proposed, changed, approved, stopped."""

import hashlib
from datetime import datetime

from peerfront.web.live.rules import events, requests
from peerfront.web.live.rules.chain import committed, one_spelling, plain_value
from peerfront.web.live.rules.codes import is_prefix
from peerfront.web.live.rules.coupon_rules import check_planned
from peerfront.web.live.rules.events import Fact
from peerfront.web.live.rules.records import PersonRow, PlanRow, PlanStatus
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
from peerfront.web.live.rules.study_settings import COUPON_LENGTHS, LARGEST_CAP, Settings

MOST_DETAILS = 50
LONGEST_SUBJECT = 100
MOST_LINES = 500_000
"""Of one plan: it is one event, and an event is read whole."""
LARGEST_SEED = 10**18 - 1


def begin_study(wish: requests.BeginStudy) -> tuple[Fact, ...]:
    """Begin a study with settings in range and a prefix of its own."""
    _check_settings(wish.settings)
    if not is_prefix(wish.prefix):
        raise ValueError(f"{wish.prefix!r} is no prefix of a study; draw one with codes.new_prefix().")
    return (events.StudyBegun(wish.prefix, wish.settings, wish.keys),)


@rule
def change_settings(situation: Situation, wish: requests.ChangeSettings) -> tuple[Fact, ...]:
    """Change the settings; the budget must cover what was issued and what the approved plan promises."""
    study = situation.study
    if wish.shown not in ("", fingerprint(study.settings)):
        raise Refuse(Reason.SETTINGS_CHANGED)
    _check_settings(wish.settings)
    check_reason(wish.why)
    plan = None if study.approved_plan is None else situation.records.plan(study.approved_plan)
    promised = 0 if plan is None else plan.promised
    issued = study.settings.budget - study.kept
    if wish.settings.budget < issued + promised:
        raise Refuse(Reason.OVER_BUDGET, coupons=issued + promised, free=wish.settings.budget)
    return (events.SettingsChanged(wish.settings, wish.why),)


def fingerprint(settings: Settings) -> str:
    """Hash the settings; it shows whether somebody changed them meanwhile."""
    return hashlib.sha256(one_spelling(plain_value(settings))).hexdigest()


@rule
def accept_clock(situation: Situation, wish: requests.AcceptClock) -> tuple[Fact, ...]:
    """Go on by the server's clock as it is, with a reason."""
    check_reason(wish.why)
    return (events.ClockAccepted(situation.study.last_time, wish.why),)


@rule
def add_site(situation: Situation, wish: requests.AddSite) -> tuple[Fact, ...]:
    """Add a site with a short name that no other site has."""
    check_identifier("site", wish.site)
    check_text("name", wish.name, longest=100, needed=True)
    if situation.records.site(wish.site) is not None:
        raise Refuse(Reason.SITE_EXISTS, site=wish.site)
    return (events.SiteAdded(wish.site, wish.name),)


@rule
def note_action(situation: Situation, wish: requests.NoteAction) -> tuple[Fact, ...]:
    """Note an action for a person whom the member may reach, or for a site or study that they may see."""
    check_text("subject", wish.subject, longest=LONGEST_SUBJECT)
    check_range("number_of_details", len(wish.details), 0, MOST_DETAILS)
    check_distinct("detail", [name for name, _ in wish.details])
    for name, value in wish.details:
        check_identifier("detail", name)
        check_text("detail", value)
    declared, member = wish.noted.declared, situation.request.member
    if declared.about_person:
        situation.reachable_person(wish.subject, withdrawn_too=declared.after_withdrawal)
    elif situation.request.site is None and not member.may(wish.noted, own_site=member.covers(None)):
        raise Refuse(Reason.WHOLE_STUDY, own_site=member.site)
    return (events.ActionNoted(wish.noted, wish.subject, wish.details, wish.fingerprint),)


@rule
def state_registers(situation: Situation, wish: requests.StateRegisters) -> tuple[Fact, ...]:
    """State keys, users and contact details, which the server has read itself."""
    return (events.RegistersStated(wish.keys, wish.users, wish.contacts),)


def _check_settings(settings: Settings) -> None:
    for name, (least, most) in settings.limits().items():
        value = getattr(settings, name)
        if value is not None:
            check_range(name, value, least, most)
    check_text("name", settings.name, longest=100, needed=True)
    check_distinct("coupon_text", [each.language for each in settings.coupon_texts])
    for text in settings.coupon_texts:
        for name, longest in COUPON_LENGTHS.items():
            check_text(name, getattr(text, name), longest=longest)
    if fault := settings.fault_of_questions:
        raise Refuse(Reason.QUESTIONS, name=fault)
    if not settings.has_currency:
        raise Refuse(Reason.CURRENCY)
    if not settings.has_timezone:
        raise Refuse(Reason.TIMEZONE)


@rule
def propose_plan(situation: Situation, wish: requests.ProposePlan) -> tuple[Fact, ...]:
    """Propose a plan: one line for each of some people who take part, within cap and budget.

    Refuse coupons for people who got some while the plan was made, because it did not count them.
    """
    check_identifier("model", wish.model)
    check_range("seed", wish.seed, 0, LARGEST_SEED)
    check_range("number_of_lines", len(wish.lines), 0, MOST_LINES)
    names = [line.person for line in wish.lines]
    check_distinct("person", names)
    for line in wish.lines:
        check_identifier("person", line.person)
        check_planned(line)
    people = situation.records.people(names)
    for line in wish.lines:
        row = _check_cap(situation, people.get(line.person), line.person, line.coupons)
        if line.coupons and wish.read_at is not None and _issued_since(situation, row, wish.read_at):
            raise Refuse(Reason.PLAN_OUTDATED, plan=situation.study.last_plan + 1, person=line.person)
    _check_budget(situation, sum(line.coupons for line in wish.lines))
    in_order = sorted(wish.lines, key=lambda line: line.person)
    lines = tuple(committed(line, situation.salt) for line in in_order)
    return (events.PlanProposed(situation.study.last_plan + 1, wish.model, wish.seed, lines),)


@rule
def change_plan(situation: Situation, wish: requests.ChangePlan) -> tuple[Fact, ...]:
    """Change the numbers of some people in a proposed plan, with a reason."""
    _plan(situation, wish.plan, PlanStatus.PROPOSED)
    check_reason(wish.why)
    changed = dict(wish.lines)
    check_range("number_of_changes", len(wish.lines), 1, MOST_LINES)
    check_distinct("person", [person for person, _ in wish.lines])
    for person, coupons in changed.items():
        check_identifier("person", person)
        check_range("coupons", coupons, 0, LARGEST_CAP)
    lines = {line.person: line for line in situation.records.plan_lines(wish.plan)}
    people = situation.records.people(list(changed))
    for person, coupons in changed.items():
        if person not in lines:
            raise Refuse(Reason.NOT_IN_PLAN, plan=wish.plan, person=person)
        if coupons:
            _check_cap(situation, people.get(person), person, coupons)
    _check_budget(situation, sum(changed.get(name, line.coupons) for name, line in lines.items()))
    return tuple(
        committed(events.PlanChanged(wish.plan, (line,), wish.why), situation.salt) for line in sorted(wish.lines)
    )


@rule
def approve_plan(situation: Situation, wish: requests.ApprovePlan) -> tuple[Fact, ...]:
    """Approve a proposed plan and begin its round; refuse a plan that is out of date."""
    plan = _plan(situation, wish.plan, PlanStatus.PROPOSED)
    lines = [line for line in situation.records.plan_lines(wish.plan) if line.coupons]
    people = situation.records.people([line.person for line in lines])
    for line in lines:
        person = people[line.person]
        if _issued_since(situation, person, plan.proposed_at) or person.withdrawn_at is not None:
            raise Refuse(Reason.PLAN_OUTDATED, plan=wish.plan, person=line.person)
        _check_cap(situation, person, line.person, line.coupons)
    _check_budget(situation, sum(line.coupons for line in lines))
    return (events.PlanApproved(wish.plan, situation.study.rounds + 1),)


@rule
def stop_plan(situation: Situation, wish: requests.StopPlan) -> tuple[Fact, ...]:
    """Stop a plan: no more coupons are handed out by it."""
    _plan(situation, wish.plan, PlanStatus.PROPOSED, PlanStatus.APPROVED)
    check_reason(wish.why)
    return (events.PlanStopped(wish.plan, wish.why),)


def _plan(situation: Situation, number: int, *statuses: PlanStatus) -> PlanRow:
    plan = situation.records.plan(number)
    if plan is None:
        raise Refuse(Reason.NO_PLAN, plan=number)
    if plan.status not in statuses:
        raise Refuse(Reason.PLAN_NOT_OPEN, plan=number, status=plan.status.value)
    return plan


def _issued_since(situation: Situation, row: PersonRow, at: datetime) -> bool:
    """Whether somebody got coupons since; a time to come was recorded before the manager accepted another clock."""
    return row.last_issued_at is not None and at <= row.last_issued_at <= situation.now


def _check_cap(situation: Situation, row: PersonRow | None, person: str, coupons: int) -> PersonRow:
    if row is None:
        raise Refuse(Reason.NO_PERSON, person=person)
    if row.withdrawn_at is not None:
        raise Refuse(Reason.WITHDRAWN, person=person, day=situation.day(row.withdrawn_at))
    cap = situation.study.settings.cap
    if coupons and row.coupons + coupons > cap:
        raise Refuse(Reason.OVER_CAP, person=person, coupons=row.coupons + coupons, cap=cap)
    return row


def _check_budget(situation: Situation, coupons: int) -> None:
    if coupons > situation.study.kept:
        raise Refuse(Reason.OVER_BUDGET, coupons=coupons, free=situation.study.kept)
