"""The contents of the report as numbers and codes; `words.report_page` makes the page.

Counts are published so that they reveal no group of fewer than five people (`published_counts.py`).
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.study import Study, Summary, summarise
from peerfront.data.study_schema import StudySchema, encode_study, frontier_of, history_of
from peerfront.foundation.covariates import UNKNOWN
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, Progress, note, part_of, silent, warning
from peerfront.foundation.settings import at_least, check_fields, one_or_more, optional, seed_number, text_list, truth
from peerfront.foundation.stored import rounded_count
from peerfront.models.model_diagnostics import CapacityReport, response_report
from peerfront.problem import Frontier, History, Rules
from peerfront.problem.state import MOST_EPISODES
from peerfront.study.advice import advise
from peerfront.study.artifacts import Fit, fingerprint
from peerfront.study.coupon_calendar import exposure_of, why_undated
from peerfront.study.coupon_sheet import CouponSheet, Heading
from peerfront.study.homophily import homophily_table
from peerfront.study.orders import PlanOrder, task_of
from peerfront.study.outlook import STUDIES, Outlook
from peerfront.study.published_counts import (
    PublishedCount,
    PublishedPlan,
    PublishedStudy,
    publish_plan,
    publish_study,
    published,
    published_share,
)
from peerfront.study.published_tables import (
    PublishedEstimates,
    published_capacity,
    published_estimates,
    published_homophily,
)
from peerfront.study.report_calendar import CalendarPage, EarlierBacktest, EarlierForecast, calendar_page
from peerfront.study.study_state import AT_ONCE, Standing, standing_today

_BOOTSTRAPS = 500


@dataclass(frozen=True)
class ReportSettings:
    """What the page shows."""

    episodes: int = STUDIES
    """Simulated studies of the forecast."""
    seed: int = 0
    with_ids: bool = False
    """Whether the coupon sheet is shown, ids included."""
    with_trees: bool = True
    """Whether to draw who recruited whom: nobody is named there, but single people can be counted."""
    heading: Heading = field(default_factory=Heading)
    """Study, date and round; a study without a name is called after its file."""
    outcomes: tuple[str, ...] = ()
    """Columns to estimate, with diagnostics of the sample; without any, the section is left out."""
    population: int | None = None
    """People in the population, if that is known; for the estimates."""
    decisions: Path | None = None
    """The decision log with people's strata; without it, strata are formed by the coupons issued."""
    as_of: str | None = None
    """The day of plan and forecast; None: the last date of the file."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            episodes=at_least(2, MOST_EPISODES),
            seed=seed_number,
            with_ids=truth,
            with_trees=truth,
            outcomes=text_list,
            population=optional(one_or_more),
        )


@dataclass(frozen=True)
class FieldUse:
    """How the model uses a column."""

    name: str
    categories: int
    is_banded: bool
    """Whether the categories are ranges of a number."""
    missing: float | Message | None
    """Share of people without an answer; None if hidden."""


@dataclass(frozen=True, eq=False)
class StudyReport:
    """What the page shows. It names nobody, unless the settings ask for the coupon sheet."""

    settings: ReportSettings
    fit: Fit
    study: Study
    schema: StudySchema
    summary: Summary
    counts: PublishedStudy
    order: PlanOrder
    rules: Rules
    """The order of the plan, or the model's if there is no plan."""
    natural: bool
    """Whether the plan is for the people of the study's file who wait, not for those of a second file."""
    another_file: Message | None
    """A warning if the model was fitted to other data."""
    people: Frontier
    """People the plan is for."""
    sheet: CouponSheet | None
    plan: PublishedPlan | None
    """The plan as counts, without persons."""
    outlook: Outlook | None
    by_rounds_because: Message | None
    """Why the outlook is by rounds and not by date."""
    problems: tuple[tuple[str, PublishedCount], ...]
    """Kinds of faults and their numbers, without texts, which would name people and coupons."""
    fields: tuple[FieldUse, ...]
    homophily: pd.DataFrame
    estimates: PublishedEstimates | None
    calendar: CalendarPage | None
    capacity: CapacityReport | None
    """How well the model describes how many people bring; None if the file has nobody with finished coupons."""


def study_report(
    fit: Fit,
    study: Study,
    schema: StudySchema,
    order: PlanOrder,
    frontier: Frontier | None = None,
    settings: ReportSettings | None = None,
    progress: Progress = silent,
    before: EarlierForecast | None = None,
    backtest: EarlierBacktest | None = None,
) -> StudyReport:
    """Plan, forecast, and describe study and model. Without a frontier, plan for the people of the file who wait.

    `before` is an earlier forecast by date, `backtest` a back-test of this study: the calendar shows both.
    """
    settings = settings or ReportSettings()
    if schema.schema != fit.schema:
        raise DataFileError("report.another_schema", file=study.source)
    schema.check_columns(study)
    seen = study if settings.as_of is None else study.as_of(settings.as_of)
    history, summary = history_of(seen, schema, _exposure(fit, seen)), summarise(study)
    people = frontier_of(seen, schema) if frontier is None else frontier
    sheet, outlook = None, None
    standing, times, by_rounds_because = standing_today(fit, seen, schema)
    if frontier is not None:
        standing, times = Standing.by_rounds(frontier, len(study)), AT_ONCE
    if not standing.coupons_open:
        order.check_study_goes_on()
    if len(people) or standing.coupons_open:
        progress(0.0, note("report.planning"))
        advice = advise(
            fit, standing, order, times, seen, studies=settings.episodes, progress=part_of(progress, 0.0, 0.7),
        )  # fmt: skip
        sheet, outlook = advice.sheet, advice.outlook
    progress(0.7, note("report.estimating") if settings.outcomes else note("report.drawing"))
    homophily = published_homophily(homophily_table(study, schema, settings.seed))
    if outlook is not None and not settings.with_ids:
        signs = None if outlook.signs is None else outlook.signs.published()
        outlook = replace(outlook, waiting=rounded_count(outlook.waiting), signs=signs)
        sheet = None if sheet is None else replace(sheet, outlook=outlook)
    problems = list(study.problem_kinds.items())
    return StudyReport(
        settings=settings,
        fit=fit,
        study=study,
        schema=schema,
        summary=summary,
        counts=publish_study(study, summary),
        order=order,
        rules=task_of(fit, people, sheet.order).rules if sheet is not None else fit.rules,
        natural=frontier is None,
        another_file=_another_file(fit, history),
        people=people,
        sheet=sheet,
        plan=None if sheet is None else _published_plan(sheet, people, fit),
        outlook=outlook,
        by_rounds_because=by_rounds_because,
        problems=tuple((kind, published(count)) for kind, count in problems),
        fields=_fields(study, schema),
        homophily=homophily,
        estimates=_estimates(study, settings),
        calendar=calendar_page(study, before, backtest),
        capacity=_capacity(fit, history),
    )


def _exposure(fit: Fit, study: Study) -> NDArray[np.float64] | None:
    """The expected share of each person's recruits who have come, by the model's return times; None without dates."""
    return None if fit.returns is None or why_undated(study) else exposure_of(study, fit.returns)


def _another_file(fit: Fit, history: History) -> Message | None:
    """A warning if the file is not, or may not be, the one that the model was fitted to."""
    of_file = fingerprint(history)
    if not fit.data_fingerprint:
        return warning("report.no_fingerprint")
    if of_file == fit.data_fingerprint:
        return None
    return warning("report.another_file", file=of_file[:16], model=fit.data_fingerprint[:16])


def _fields(study: Study, schema: StudySchema) -> tuple[FieldUse, ...]:
    missing = (encode_study(study, schema) == UNKNOWN).sum(axis=0).tolist()
    return tuple(
        FieldUse(
            rule.name,
            len(rule.cuts) + 1 if rule.cuts else len(rule.categories),
            bool(rule.cuts),
            published_share(without, len(study)),
        )
        for rule, without in zip(schema.used, missing, strict=False)
    )


def _capacity(fit: Fit, history: History) -> CapacityReport | None:
    if not (history.coupons > 0).any():
        return None
    return published_capacity(response_report(next(iter(fit.responses.values())), history, parameters=0))


def _estimates(study: Study, settings: ReportSettings) -> PublishedEstimates | None:
    if not settings.outcomes:
        return None
    return published_estimates(
        study,
        settings.outcomes,
        population=settings.population,
        decisions=settings.decisions,
        bootstraps=_BOOTSTRAPS,
        seed=settings.seed,
    )


def _published_plan(sheet: CouponSheet, frontier: Frontier, fit: Fit) -> PublishedPlan:
    given = sheet.table["coupons"].to_numpy(dtype=np.int64)
    of_person = dict(zip(sheet.table["person"].astype(str), given.tolist(), strict=True))
    coupons = np.array([of_person[str(person)] for person in frontier.ids], dtype=np.int64)
    most = fit.rules.max_per_person if sheet.order.max_per_person is None else sheet.order.max_per_person
    return publish_plan(coupons, most, fit.schema.fields, frontier.covariates)
