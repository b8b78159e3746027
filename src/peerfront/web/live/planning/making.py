"""Make a plan from the records and propose it: read the study, refit if needed, plan, and forecast.

This runs in a worker process and takes minutes. The plan is submitted to the rules at the very end (`propose`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
from django.db.models import Sum
from numpy.typing import NDArray

from peerfront.data.study import Study
from peerfront.data.study_calendar import coupon_counts, waiting_people
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Message, Progress, n_people, note, part_of, warning
from peerfront.foundation.spreadsheets import csv_text
from peerfront.problem.state import MOST_COUPONS_FITTED
from peerfront.study.model import Model
from peerfront.study.outlook import STUDIES, Outlook
from peerfront.study.week_model import ALWAYS, AUTO, Earlier, kept_or_refitted
from peerfront.study.week_plan import WeekOrder, WeekPlan, planned_week
from peerfront.web.live.export_tables import export_schema
from peerfront.web.live.exporting import answer_columns, live_study, study_table
from peerfront.web.live.planning.kept_models import (
    SAME_FOR_ALL,
    Expected,
    Fitted,
    KeptModel,
    PlanSummary,
    loaded_model,
    model_name,
)
from peerfront.web.live.planning.planning_inputs import is_over, numbers_of, order_of
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import PlanningStep
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.actions import Member
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.events import PlannedCoupons, PlanProposed
from peerfront.web.live.rules.records import StudyRow
from peerfront.web.live.rules.requests import ProposePlan, Request
from peerfront.web.live.rules.study_settings import LONGEST_TEXT, Settings
from peerfront.words.stored_text import reason_as_text
from peerfront.words.week_lines import detail_lines, model_details, model_lines, sheet_lines

_SMALLEST_PROBABILITY = 1e-6


def make_plan(row: StudyRow, today: date, seed: int, effort: float, progress: Progress) -> ProposePlan:
    """Make a plan for everybody who waits, with the coupons that are left, and save its files in the study's folder."""
    settings = row.settings
    if is_over(settings, today):
        raise SettingError("live_planning.recruitment_over", day=settings.deadline)
    progress(0.0, PlanningStep.READING)
    table, ids = study_table()
    study = live_study(table)
    if study.day is not None:
        study = study.as_of(today)
    columns = answer_columns(settings, ())
    schema, _ = export_schema(study, _strata_allowed(settings), columns)
    allowed = tuple(rule.name for rule in schema.used)
    left = min(row.kept, MOST_COUPONS_FITTED)
    waits, _ = waiting_people(study)
    order = order_of(settings, left, seed, people=int(waits.sum()))
    earlier, fitted = _earlier(ids)
    is_same = fitted is not None and (fitted.columns, fitted.cap, fitted.rounds) == (
        allowed, settings.cap, settings.rounds,
    )  # fmt: skip
    learning = part_of(lambda share, _: progress(share, PlanningStep.FITTING), 0.05, 0.75)
    refit = AUTO if is_same else ALWAYS
    choice = kept_or_refitted(
        earlier, study, schema, order, left, today, refit, learning,
        rounds=settings.rounds, effort=effort, planned=_numbers_planned(ids),
    )  # fmt: skip
    progress(0.75, PlanningStep.PLANNING)
    known = () if choice.model is None else choice.model.fit.schema.names  # others do not distinguish people
    strata = tuple(columns[name] for name in settings.plan_strata if columns[name] in known)
    order = replace(order, strata=strata, randomise=order.randomise if choice.model is not None else 0.0)
    looking = part_of(lambda share, _: progress(share, PlanningStep.PLANNING), 0.75, 0.95)
    plan, notes = _planned(choice.model, study, waits, order, left, _studies(effort), looking)
    progress(0.95, PlanningStep.SAVING)
    if choice.model is None:
        kept = KeptModel(SAME_FOR_ALL)
    else:
        kept = KeptModel(model_name(choice.model.fit.fingerprint))
        if choice.refitted:
            kept.save(choice.model, Fitted(choice.fitted_to, allowed, settings.cap, settings.rounds))
    people = {written: person for person, written in ids.items()}
    if settings.at_least_one and not order.min_per_person:
        notes.append(warning("live_planning.too_few_for_all", coupons=left, people=n_people(int(waits.sum()))))
    if missing := [name for name in settings.plan_strata if columns[name] not in strata]:
        notes.append(warning("live_planning.groups_unknown", names=missing))
    if row.kept > left:
        notes.append(note("live_planning.kept_back", coupons=row.kept - left))
    summary = PlanSummary(
        day=today.isoformat(),
        refitted=choice.refitted,
        waiting=int(waits.sum()),
        budget=left,
        open_coupons=coupon_counts(study).open,
        about_model=(*model_lines(choice), *model_details(choice)),
        strata=dict(plan.sheet.chances),
        strata_columns=strata,
        **_results(plan, people, notes),
    )
    curve = {"curve.csv": csv_text(plan.sheet.curve, float_format="%.4f")}
    kept.plan(seed).save(summary, curve | _forecast(plan))
    return ProposePlan(kept.name, seed, _lines(plan, people))


def look_again(row: StudyRow, plan: models.Plan, effort: float, progress: Progress) -> None:
    """Work out again what to expect of a plan, from the day on which it was made, with the numbers chosen by hand."""
    kept, model = KeptModel(plan.model).plan(plan.seed), loaded_model(plan.model)
    before = kept.summary
    if before is None or model is None:
        return
    progress(0.0, PlanningStep.READING)
    numbers, by_hand = numbers_of(plan)
    table, ids = study_table(plan.proposed_at)
    study = live_study(table).as_of(before.day)
    given = {ids[person]: coupons for person, coupons in numbers.items()}
    waits = np.isin(study.ids.astype(str), list(given))
    order = order_of(row.settings, before.budget, plan.seed, before.strata_columns, people=len(given))
    looking = part_of(lambda share, _: progress(share, PlanningStep.PLANNING), 0.0, 0.95)
    n_studies = _studies(effort)
    changed, _ = _planned(model, study, waits, order, before.budget, n_studies, looking, given)
    people = {written: person for person, written in ids.items()}
    notes = [line for line in before.words if isinstance(line, Message) and line.code.startswith("live_planning.")]
    kept.save(replace(before, by_hand=by_hand, **_results(changed, people, notes)), _forecast(changed))


def _studies(effort: float) -> int:
    return max(round(STUDIES * min(effort, 1.0)), 20)


def _strata_allowed(settings: Settings) -> Settings:
    """The settings, with permission to plan by the answers that form the strata."""
    questions = tuple(
        replace(each, for_planning=each.for_planning or each.name in settings.plan_strata)
        for each in settings.questions
    )
    return replace(settings, questions=questions)


def _numbers_planned(ids: Mapping[str, str], model: str | None = None) -> dict[str, int]:
    """The coupons that plans (of one model, or all) gave people, by exported id; without those who had no plan."""
    decisions = models.Decision.objects.filter(planned__isnull=False)
    own = decisions if model is None else decisions.filter(model=model)
    rows = own.order_by().values_list("person_id").annotate(coupons=Sum("planned"))
    return {ids[person]: coupons for person, coupons in rows if person in ids}


def _earlier(ids: Mapping[str, str]) -> tuple[Earlier | None, Fitted | None]:
    """The model of the newest plan that has one, if it can be read."""
    for name in models.Plan.objects.order_by("-plan").values_list("model", flat=True)[:20]:
        fitted = KeptModel(name).fitted
        if fitted is None:
            continue
        try:
            model = loaded_model(name)
        except DataFileError:
            continue
        if model is not None:
            return Earlier(model, fitted.fitted_to, name, _numbers_planned(ids, name)), fitted
    return None, None


def _planned(
    model: Model | None, study: Study, waits: NDArray[np.bool_], order: WeekOrder, left: int,
    n_studies: int, progress: Progress, given: Mapping[str, int] | None = None,
) -> tuple[WeekPlan, list[Message]]:  # fmt: skip
    """The plan, and a warning if random numbers had to be left out."""
    try:
        return planned_week(model, study, waits, order, left, 1, n_studies, progress, given), []
    except SettingError as problem:
        if not order.randomise:
            raise
        without = replace(order, randomise=0.0)
        plan = planned_week(model, study, waits, without, left, 1, n_studies, progress, given)
        return plan, [warning("live_planning.no_random_numbers", problem=problem.message)]


def _lines(plan: WeekPlan, people: dict[str, str]) -> tuple[PlannedCoupons, ...]:
    lines = []
    for each, reason in zip(plan.decisions, plan.table["reason"].tolist(), strict=True):
        probability = min(max(float(each["probability"]), _SMALLEST_PROBABILITY), 1.0)
        stratum = "" if each["stratum"] is None else str(each["stratum"])
        lines.append(
            PlannedCoupons(
                people[each["person"]], int(each["planned"]), stratum[:LONGEST_TEXT], probability,
                reason_as_text(reason),
            )
        )  # fmt: skip
    return tuple(lines)


def _results(plan: WeekPlan, people: dict[str, str], notes: list[Message]) -> dict[str, Any]:
    """The fields of `PlanSummary` that change with the numbers of a plan."""
    names = [people[str(person)] for person in plan.table["person"]]
    columns = (plan.table[name] for name in ("chance_used", "expected_now", "expected_later"))
    by_model = {} if plan.same_for_all else dict(zip(names, zip(*columns, strict=True), strict=True))
    return {
        "words": (*sheet_lines(plan), *notes),
        "details": tuple(detail_lines(plan)),
        "expected": None if plan.outlook is None else Expected.of(plan.outlook),
        "chances": {name: str(chance) for name, (chance, _, _) in by_model.items()},
        "brings": {name: (float(now), float(later)) for name, (_, now, later) in by_model.items()},
    }


def _forecast(plan: WeekPlan) -> dict[str, str]:
    """The file of the people expected by date; none without dates."""
    if plan.outlook is None or plan.outlook.today is None:
        return {}
    return {"forecast.csv": forecast_text(plan.outlook, plan.outlook.today)}


def forecast_text(outlook: Outlook, today: date) -> str:
    """The expected number of people by date, seeds included: date, expected, low, high.

    The first row is the day of the plan. In 8 of 10 simulated studies the number lies between low and high.
    """
    weeks, already = outlook.steps_of(), outlook.already
    table = pd.DataFrame(
        {
            "date": [today.isoformat(), *weeks["until"]],
            "expected": [float(already), *(already + weeks["total"])],
            "low": [float(already), *(already + weeks["total_p10"])],
            "high": [float(already), *(already + weeks["total_p90"])],
        }
    )
    return csv_text(table, float_format="%.2f")


def propose(
    proposal: ProposePlan,
    member: Member,
    key: str,
    read_at: datetime,
    *,
    alongside: Callable[[int], None] = lambda _: None,
) -> int:
    """Submit a plan to the rules in the name of the person who asked for it; return its number.

    `alongside` is called with the number in the same transaction; if it raises, nothing is proposed.
    """
    wish = replace(proposal, lines=_still_waiting(proposal.lines, read_at), read_at=read_at)
    request = Request(key, member, None, None, wish)
    answered = answer(request, alongside=lambda accepted: alongside(_number_of(accepted)))
    if isinstance(answered, Refused):
        why, to_do = answered.refusal.messages
        raise SettingError("live_planning.refused", found=why, to_do=to_do)
    return _number_of(answered)


def _number_of(accepted: Accepted) -> int:
    fact = accepted.events[0].fact
    assert isinstance(fact, PlanProposed)
    return fact.plan


def _still_waiting(lines: tuple[PlannedCoupons, ...], read_at: datetime) -> tuple[PlannedCoupons, ...]:
    """Leave out people who got coupons or withdrew while the plan was made."""
    people = DatabaseRecords().people([line.person for line in lines])
    decided = {
        row.person
        for row in people.values()
        if row.withdrawn_at is not None or (row.last_issued_at is not None and row.last_issued_at >= read_at)
    }
    return tuple(line for line in lines if line.person not in decided)
