"""Rules of the study as a whole: settings, sites, notes for the audit; plans proposed, changed, approved, stopped."""

import math
from datetime import datetime

from peerfront.web.live.rules.chain import committed
from peerfront.web.live.rules.codes import is_prefix
from peerfront.web.live.rules.events import (
    ActionNoted,
    PlanApproved,
    PlanChanged,
    PlannedCoupons,
    PlanProposed,
    PlanStopped,
    SettingsChanged,
    SiteAdded,
    StudyBegun,
)
from peerfront.web.live.rules.records import PersonRow, PlanRow, PlanStatus
from peerfront.web.live.rules.refusals import Reason, Refusal, refusal
from peerfront.web.live.rules.requests import (
    AddSite,
    ApprovePlan,
    BeginStudy,
    ChangePlan,
    ChangeSettings,
    NoteAction,
    ProposePlan,
    StopPlan,
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
from peerfront.web.live.rules.study_settings import LARGEST_CAP, Settings

MOST_DETAILS = 50
LONGEST_SUBJECT = 100


def begin_study(wish: BeginStudy) -> Outcome:
    """Begin a study with settings in range and a prefix of its own."""
    if bad := _bad_settings(wish.settings):
        return bad
    if not is_prefix(wish.prefix):
        raise ValueError(f"{wish.prefix!r} is no prefix of a study; draw one with codes.new_prefix().")
    return (StudyBegun(wish.prefix, wish.settings),)


@rule_of(ChangeSettings, SettingsChanged)
def change_settings(situation: Situation, wish: ChangeSettings) -> Outcome:
    """Change the settings; the budget must cover what was issued and what the approved plan promises."""
    study = situation.study
    if bad := _bad_settings(wish.settings) or no_reason(wish.why):
        return bad
    plan = None if study.approved_plan is None else situation.records.plan(study.approved_plan)
    promised = 0 if plan is None else plan.promised
    issued = study.settings.budget - study.kept
    if wish.settings.budget < issued + promised:
        return refusal(Reason.OVER_BUDGET, coupons=issued + promised, free=wish.settings.budget)
    return (SettingsChanged(wish.settings, wish.why),)


@rule_of(AddSite, SiteAdded)
def add_site(situation: Situation, wish: AddSite) -> Outcome:
    """Add a site with a short name that no other site has."""
    if bad := bad_identifier("site", wish.site) or bad_text("name", wish.name, longest=100, needed=True):
        return bad
    if situation.records.site(wish.site) is not None:
        return refusal(Reason.SITE_EXISTS, site=wish.site)
    return (SiteAdded(wish.site, wish.name),)


@rule_of(NoteAction, ActionNoted)
def note_action(situation: Situation, wish: NoteAction) -> Outcome:
    """Note an action for a person whom the member may reach, or for a site or study that they may see."""
    if bad := bad_text("subject", wish.subject, longest=LONGEST_SUBJECT) or _bad_details(wish.details):
        return bad
    declared = wish.noted.declared
    if declared.about_person:
        person = situation.reachable_person(wish.subject, withdrawn_too=declared.after_withdrawal)
        if isinstance(person, Refusal):
            return person
    elif situation.request.site is None and (all_sites := situation.concerns_all_sites()):
        return all_sites
    return (ActionNoted(wish.noted, wish.subject, wish.details),)


def _bad_settings(settings: Settings) -> Refusal | None:
    for name, (least, most) in settings.limits().items():
        value = getattr(settings, name)
        if value is not None and (bad := out_of_range(name, value, least, most)):
            return bad
    if bad := bad_text("name", settings.name, longest=100, needed=True):
        return bad
    if fault := settings.fault_of_questions:
        return refusal(Reason.QUESTIONS, name=fault)
    if not settings.has_currency:
        return refusal(Reason.CURRENCY)
    return None if settings.has_timezone else refusal(Reason.TIMEZONE)


def _bad_details(details: tuple[tuple[str, str], ...]) -> Refusal | None:
    if bad := out_of_range("number_of_details", len(details), 0, MOST_DETAILS):
        return bad
    names = [name for name, _ in details]
    if len(set(names)) != len(names):
        return refusal(Reason.TWICE, name="detail")
    for name, value in details:
        if bad := bad_identifier("detail", name) or bad_text("detail", value):
            return bad
    return None


MOST_LINES = 500_000
"""Of one plan: it is one event, and an event is read whole."""
LARGEST_SEED = 10**18 - 1


@rule_of(ProposePlan, PlanProposed)
def propose_plan(situation: Situation, wish: ProposePlan) -> Outcome:
    """Propose a plan: one line for each of some people who take part, within cap and budget.

    Refuse coupons for people who got some while the plan was made, because it did not count them.
    """
    if bad := (
        bad_identifier("model", wish.model)
        or out_of_range("seed", wish.seed, 0, LARGEST_SEED)
        or out_of_range("number_of_lines", len(wish.lines), 0, MOST_LINES)
    ):
        return bad
    names = [line.person for line in wish.lines]
    if len(set(names)) != len(names):
        return refusal(Reason.TWICE, name="person")
    if bad := next((bad for line in wish.lines if (bad := _bad_line(line))), None):
        return bad
    people = situation.records.people(names)
    for line in wish.lines:
        row = people.get(line.person)
        if refused := _over_cap(situation, row, line.person, line.coupons):
            return refused
        if line.coupons and row is not None and wish.read_at is not None and _issued_since(row, wish.read_at):
            return refusal(Reason.PLAN_OUTDATED, plan=situation.study.last_plan + 1, person=line.person)
    if over := _over_budget(situation, sum(line.coupons for line in wish.lines)):
        return over
    in_order = sorted(wish.lines, key=lambda line: line.person)
    lines = tuple(committed(line, situation.salt()) for line in in_order)
    return (PlanProposed(situation.study.last_plan + 1, wish.model, wish.seed, lines),)


@rule_of(ChangePlan, PlanChanged)
def change_plan(situation: Situation, wish: ChangePlan) -> Outcome:
    """Change the numbers of some people in a proposed plan, with a reason."""
    plan = _plan(situation, wish.plan, PlanStatus.PROPOSED)
    if isinstance(plan, Refusal):
        return plan
    if bad := no_reason(wish.why):
        return bad
    changed = dict(wish.lines)
    if bad := out_of_range("number_of_changes", len(wish.lines), 1, MOST_LINES):
        return bad
    if len(changed) != len(wish.lines):
        return refusal(Reason.TWICE, name="person")
    for person, coupons in changed.items():
        if bad := bad_identifier("person", person) or out_of_range("coupons", coupons, 0, LARGEST_CAP):
            return bad
    lines = {line.person: line for line in situation.records.plan_lines(wish.plan)}
    people = situation.records.people(list(changed))
    for person, coupons in changed.items():
        if person not in lines:
            return refusal(Reason.NOT_IN_PLAN, plan=wish.plan, person=person)
        if coupons and (refused := _over_cap(situation, people.get(person), person, coupons)):
            return refused
    if over := _over_budget(situation, sum(changed.get(name, line.coupons) for name, line in lines.items())):
        return over
    return (PlanChanged(wish.plan, tuple(sorted(wish.lines)), wish.why),)


@rule_of(ApprovePlan, PlanApproved)
def approve_plan(situation: Situation, wish: ApprovePlan) -> Outcome:
    """Approve a proposed plan and begin its round; refuse a plan that is out of date."""
    plan = _plan(situation, wish.plan, PlanStatus.PROPOSED)
    if isinstance(plan, Refusal):
        return plan
    lines = [line for line in situation.records.plan_lines(wish.plan) if line.coupons]
    people = situation.records.people([line.person for line in lines])
    for line in lines:
        person = people[line.person]
        if _issued_since(person, plan.proposed_at) or person.withdrawn_at is not None:
            return refusal(Reason.PLAN_OUTDATED, plan=wish.plan, person=line.person)
        if over := _over_cap(situation, person, line.person, line.coupons):
            return over
    if over := _over_budget(situation, sum(line.coupons for line in lines)):
        return over
    return (PlanApproved(wish.plan, situation.study.rounds + 1),)


@rule_of(StopPlan, PlanStopped)
def stop_plan(situation: Situation, wish: StopPlan) -> Outcome:
    """Stop a plan: no more coupons are handed out by it."""
    plan = _plan(situation, wish.plan, PlanStatus.PROPOSED, PlanStatus.APPROVED)
    if isinstance(plan, Refusal):
        return plan
    return no_reason(wish.why) or (PlanStopped(wish.plan, wish.why),)


def _plan(situation: Situation, number: int, *statuses: PlanStatus) -> PlanRow | Refusal:
    plan = situation.records.plan(number)
    if plan is None:
        return refusal(Reason.NO_PLAN, plan=number)
    if plan.status not in statuses:
        return refusal(Reason.PLAN_NOT_OPEN, plan=number, status=plan.status.value)
    return plan


def _bad_line(line: PlannedCoupons) -> Refusal | None:
    return (
        bad_identifier("person", line.person)
        or out_of_range("coupons", line.coupons, 0, LARGEST_CAP)
        or out_of_range("probability", line.probability, math.ulp(0.0), 1)
        or bad_text("stratum", line.stratum)
        or bad_text("reason", line.reason)
    )


def _issued_since(row: PersonRow, at: datetime) -> bool:
    return row.last_issued_at is not None and row.last_issued_at >= at


def _over_cap(situation: Situation, row: PersonRow | None, person: str, coupons: int) -> Refusal | None:
    if row is None:
        return refusal(Reason.NO_PERSON, person=person)
    if row.withdrawn_at is not None:
        return refusal(Reason.WITHDRAWN, person=person, day=situation.day(row.withdrawn_at))
    cap = situation.study.settings.cap
    if coupons and row.coupons + coupons > cap:
        return refusal(Reason.OVER_CAP, person=person, coupons=row.coupons + coupons, cap=cap)
    return None


def _over_budget(situation: Situation, coupons: int) -> Refusal | None:
    free = situation.study.kept
    return refusal(Reason.OVER_BUDGET, coupons=coupons, free=free) if coupons > free else None
