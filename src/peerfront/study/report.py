"""The report: one page, complete in itself, that a coordinator can print and an ethics board can read.

It begins with the plan, and holds no id of any participant, unless the coupon sheet is asked for by name. Counts are
published so that no group of fewer than five people follows from them (`published_counts.py`). The same model, file
and settings give the same page, byte for byte.
"""

import base64
from collections import Counter
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib.figure import Figure
from numpy.typing import NDArray

import peerfront
from peerfront.data.problems import KINDS
from peerfront.data.read_settings import FORMATS
from peerfront.data.study import Study, summarise
from peerfront.data.study_schema import EVERYBODY, StudySchema, encode_study, frontier_of, history_of
from peerfront.foundation.covariates import UNKNOWN
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.figures import rendered
from peerfront.foundation.privacy import FEWEST, rounded_count
from peerfront.foundation.progress import Progress, part_of, silent
from peerfront.foundation.settings import at_least, check_fields, one_or_more, optional, seed_number, text_list, truth
from peerfront.foundation.shown import visible_on_page
from peerfront.foundation.words import percent
from peerfront.problem import Frontier, History, Rules
from peerfront.problem.limits import MOST_EPISODES
from peerfront.study.artifacts import Fit, fingerprint
from peerfront.study.coupon_calendar import exposure_of, why_undated
from peerfront.study.disclosure import GUIDELINE, disclosures
from peerfront.study.figures import MOST_DRAWN, coupons_figure, tree_figure
from peerfront.study.forecast import Forecast, forecast
from peerfront.study.heading import Heading
from peerfront.study.homophily import homophily_figure, homophily_table
from peerfront.study.orders import PlanOrder
from peerfront.study.published_counts import (
    HIDDEN,
    PublishedPlan,
    publish_plan,
    publish_study,
    published,
    published_share,
)
from peerfront.study.published_estimates import PublishedEstimates, PublishedOutcome, published_estimates
from peerfront.study.published_tables import published_capacity, published_homophily, published_offspring
from peerfront.study.report_calendar import (
    CalendarPage,
    EarlierBacktest,
    EarlierForecast,
    calendar_figure,
    calendar_page,
)
from peerfront.study.sheet import CouponSheet, plan_coupons
from peerfront.study.sheet_words import promises_of
from peerfront.study.stories import IN_WORDS

_BOOTSTRAPS = 500
_SHOWS = {
    "estimates": "Every estimate with its interval; those that are not valid here are grey.",
    "convergence": "The estimate as people came: it should have become flat.",
    "bottlenecks": "The estimate within each large tree: trees that stay apart sampled different parts.",
    "seeds": "The composition wave by wave, and what recruitment that began at these seeds tends to.",
}
_SHARP = 400  # people up to which trees are drawn as lines and not as dots; larger ones would make the page heavy


@dataclass(frozen=True)
class ReportSettings:
    """What the page shows."""

    target: int | None = None
    """People wanted in all, those in the file included."""
    episodes: int = 1000
    """Simulated studies of the forecast."""
    seed: int = 0
    with_ids: bool = False
    """Whether the coupon sheet is shown, ids included."""
    with_trees: bool = True
    """Whether it is drawn who recruited whom: nobody is named there, but single people can be counted."""
    heading: Heading = field(default_factory=Heading)
    """Study, date and round; a study without a name is called after its file."""
    outcomes: tuple[str, ...] = ()
    """Columns to estimate, with diagnostics of the sample; none: no such section."""
    population: int | None = None
    """People in the population, if that is known; for the estimates."""
    decisions: Path | None = None
    """The decision log with people's strata; without it, estimates go by the coupons issued."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            target=optional(one_or_more),
            episodes=at_least(2, MOST_EPISODES),
            seed=seed_number,
            with_ids=truth,
            with_trees=truth,
            outcomes=text_list,
            population=optional(one_or_more),
        )


@dataclass(frozen=True)
class Picture:
    """A picture for a page and one for a telephone, as data addresses, and what they show, for who cannot see."""

    wide: str
    narrow: str
    shows: str


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
) -> str:
    """Write the page. Without a frontier it is for the people of the file who wait for coupons, if any.

    `before` is a forecast by date that was made earlier, `backtest` one of this study: the calendar shows them.
    """
    settings = settings or ReportSettings()
    order.check_study_goes_on()
    if schema.schema != fit.schema:
        raise DataFileError(
            f"{study.source} is described by another schema than the model was fitted with. Use the file of the same "
            "study, or fit a model to this one."
        )
    schema.check_columns(study)
    history, summary = history_of(study, schema, _exposure(fit, study)), summarise(study)
    natural = frontier is None
    people = frontier_of(study, schema) if frontier is None else frontier
    sheet, outlook = None, None
    if len(people):
        progress(0.0, "planning")
        sheet = plan_coupons(fit, people, order)
        outlook = forecast(
            fit,
            people,
            order,
            settings.target,
            settings.episodes,
            settings.seed,
            already=len(study),
            progress=part_of(progress, 0.2, 0.7),
        )
    rules = fit.rules if outlook is None else outlook.rules
    progress(0.7, "estimating" if settings.outcomes else "drawing")
    estimates = _estimates(study, settings)
    homophily = published_homophily(homophily_table(study, schema, settings.seed))
    calendar = calendar_page(study, before, backtest)
    counts = publish_study(study, summary)
    if outlook is not None and not settings.with_ids:
        outlook = replace(outlook, people=rounded_count(outlook.people))
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            heading=settings.heading.or_study(study.source),
            source=study.source,
            people_in_all=summary.people,
            waves=summary.waves,
            format=str(FORMATS[study.format]),
            warnings=_warnings(fit, history),
            model_warnings=_lines(fit, warnings=True),
            counts=counts,
            problems=_problems(study),
            fields=_fields(study, schema),
            excluded=schema.exclude,
            tree=_tree_picture(study) if settings.with_trees else None,
            tree_is_whole=len(study) <= MOST_DRAWN,
            estimates=estimates,
            estimate_sections=[] if estimates is None else [_outcome_section(each) for each in estimates.outcomes],
            homophily=homophily.to_dict("records"),
            homophily_picture=_picture(
                homophily_figure, homophily, "Shares of recruits like their recruiter, by field."
            )
            if homophily["pairs"].any()
            else None,
            fit_lines=_lines(fit, warnings=False),
            **_diagnostics(fit, history, settings.seed, homophily),
            coupons_picture=_coupons_picture(fit),
            coupon_stories=_coupon_stories(fit),
            natural=natural,
            plan=None if sheet is None else _plan(sheet, people, fit, settings.with_ids),
            forecast=outlook,
            expected=None
            if outlook is None
            else import_module("peerfront.words.forecast_words").expected_recruits(outlook),
            forecast_rows=[] if outlook is None else _forecast_rows(outlook),
            forecast_picture=None if outlook is None else _forecast_picture(outlook),
            calendar=calendar,
            calendar_picture=_calendar_picture(calendar),
            backtest_picture=None if backtest is None else _backtest_picture(backtest),
            settings=_settings(fit, rules, order, settings, natural),
            versions={**fit.versions, "this page made by": f"peerfront {peerfront.__version__}"},
            disclosures=disclosures(fit, study, summary, counts, schema, rules),
            guideline=GUIDELINE,
            fewest=FEWEST,
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("peerfront.study", "."),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        finalize=visible_on_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda share: str(HIDDEN) if share != share else percent(share)
    environment.filters["one"] = lambda number: str(HIDDEN) if number != number else f"{number:,.1f}"
    return environment


def _expected(outlook: Forecast) -> object:
    return import_module("peerfront.words.forecast_words").expected_recruits(outlook)


def _exposure(fit: Fit, study: Study) -> NDArray[np.float64] | None:
    """How far the study's open coupons have come by the model's return times; None where dates do not say."""
    return None if fit.returns is None or why_undated(study) else exposure_of(study, fit.returns)


def _warnings(fit: Fit, history: History) -> list[str]:
    of_file = fingerprint(history)
    if not fit.data_fingerprint:
        return ["The model does not say which data it was fitted to, so this file cannot be compared with them."]
    if of_file == fit.data_fingerprint:
        return []
    return [
        f"This file is not the one the model was fitted to (fingerprint {of_file[:16]}, "
        f"the model's is {fit.data_fingerprint[:16]}). Data, trees and homophily below are this file's; "
        "plan and forecast are the model's. If the study has moved on, fit the model again."
    ]


def _lines(fit: Fit, *, warnings: bool) -> list[str]:
    """What the model's summary warns of, or the rest of it."""
    lines = [str(line) for line in fit.scores.get("summary", ())] or [str(next(iter(fit.responses.values())).reason)]
    chosen = [line for line in lines if line.startswith("Warning:") == warnings]
    return [line.removeprefix("Warning:").strip() for line in chosen] if warnings else chosen


def _problems(study: Study) -> list[dict[str, object]]:
    """Kinds of faults and how many: their texts would name people and coupons."""
    counts = Counter(problem.kind for problem in study.problems)
    return [
        {"count": published(count), "title": str(KINDS[kind].title), "remedy": str(KINDS[kind].remedy)}
        for kind, count in counts.most_common()
    ]


def _fields(study: Study, schema: StudySchema) -> list[dict[str, object]]:
    codes = encode_study(study, schema)
    return [
        {
            "name": rule.name,
            "kind": f"{len(rule.cuts) + 1} bands" if rule.cuts else f"{len(rule.categories)} categories",
            "missing": _share(int((codes[:, number] == UNKNOWN).sum()), len(study)),
        }
        for number, rule in enumerate(schema.used)
    ]


def _share(part: int, whole: int) -> object:
    share = published_share(part, whole)
    return percent(share) if isinstance(share, float) else share or HIDDEN


def _tree_picture(study: Study) -> Picture:
    return _picture(tree_figure, study, "The recruitment trees by wave.", sharp=len(study) <= _SHARP)


def _picture(draw: Any, shown: object, shows: str, *, sharp: bool = True) -> Picture:
    return Picture(_address(draw(shown), sharp), _address(draw(shown, narrow=True), sharp), shows)


def _coupons_picture(fit: Fit) -> Picture | None:
    """What coupons bring by each story; None in a model that does not tell."""
    known = fit.scores.get("coupon_stories")
    if not known:
        return None
    return _picture(
        coupons_figure, known, "Recruits expected with 1, 2, 3 coupons, by what a coupon is believed to do."
    )


def _calendar_picture(page: CalendarPage | None) -> Picture | None:
    if page is None or not page.ends:
        return None
    return _picture(calendar_figure, page, "Recruits by week, and what was forecast for them before.")


def _backtest_picture(backtest: EarlierBacktest) -> Picture:
    shows = "What came, and what forecasts from earlier days said would come."
    return Picture(backtest.picture, backtest.picture, shows)


def _forecast_picture(outlook: Forecast) -> Picture:
    return Picture(
        _address(outlook.plot()),
        _address(outlook.plot(narrow=True)),
        "Recruits so far and by round, under the plan and its rivals.",
    )


def _address(figure: Figure, sharp: bool = True) -> str:
    """The figure inside the page: lines stay sharp in print, dots stay small."""
    kind, mime = ("svg", "svg+xml") if sharp else ("png", "png")
    return f"data:image/{mime};base64,{base64.b64encode(rendered(figure, kind)).decode()}"


def _diagnostics(fit: Fit, history: History, seed: int, homophily: pd.DataFrame) -> dict[str, object]:
    """Draw how the models describe this file; nothing where it shows nothing."""
    from peerfront.models.diagnostic_figures import capacity_figure, offspring_figure
    from peerfront.models.model_diagnostics import offspring_report, response_report
    from peerfront.models.offspring.pairs import Pairs

    pictures: dict[str, object] = {"capacity_picture": None, "offspring_picture": None}
    if (history.coupons > 0).any():
        report = published_capacity(response_report(next(iter(fit.responses.values())), history, parameters=0))
        shows = "People by how many they brought, and use of coupons, as seen and as the model expects."
        pictures["capacity_picture"] = _picture(capacity_figure, report, shows)
    if len(history.parents) and history.schema.fields != (EVERYBODY,):
        kind = str(fit.scores.get("offspring", {}).get("kind", "generator"))
        judged = published_offspring(
            offspring_report(fit.offspring, Pairs.of(history), samples=50, seed=seed), homophily
        )
        shows = "Share of recruits like their recruiter by field, in the data and in the model."
        pictures["offspring_picture"] = _picture(offspring_figure, {kind: judged}, shows)
    return pictures


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


def _outcome_section(outcome: PublishedOutcome) -> dict[str, Any]:
    """What the page shows of an outcome: sentences, tables, and pictures of estimates, convergence, trees and seeds."""
    section: dict[str, Any] = {"name": outcome.name, "hidden": outcome.hidden}
    if outcome.estimates is None or outcome.diagnostics is None:
        return section
    words = import_module("peerfront.words.estimates")
    draw = import_module("peerfront.words.estimate_figures").figures_of
    wide, narrow = (draw(outcome.estimates, outcome.diagnostics, narrow=each) for each in (False, True))
    return section | {
        "lines": words.verdict_lines(outcome.estimates.verdict),
        "rows": words.published_rows(outcome),
        "facts": words.published_facts(outcome),
        "homophily": outcome.diagnostics.homophily.to_dict("records"),
        "effectiveness": outcome.diagnostics.effectiveness.to_dict("records"),
        "pictures": [Picture(_address(wide[name]), _address(narrow[name]), _SHOWS[name]) for name in _SHOWS],
    }


def _plan(sheet: CouponSheet, frontier: Frontier, fit: Fit, with_ids: bool) -> dict[str, object]:
    """The plan without persons: how many get how many, and by field what groups of some size get on average."""
    plan = _published_plan(sheet, frontier, fit)
    return {
        "people": f"{len(frontier):,}" if with_ids else plan.people,
        "spend": f"{sheet.spend:,}" if with_ids else plan.coupons,
        "rounds_left": sheet.rounds_left,
        "numbers": plan.numbers,
        "fields": list(plan.fields.items()),
        "promises": promises_of(sheet),
        "notes": list(sheet.notes) if with_ids else [],
        "rows": sheet.table[["person", "coupons", "decided_by", "probability", "reason"]].to_dict("records")
        if with_ids
        else [],
    }


def _published_plan(sheet: CouponSheet, frontier: Frontier, fit: Fit) -> PublishedPlan:
    given = sheet.table["coupons"].to_numpy(dtype=np.int64)
    of_person = dict(zip(sheet.table["person"].astype(str), given.tolist(), strict=True))
    coupons = np.array([of_person[str(person)] for person in frontier.ids], dtype=np.int64)
    most = fit.rules.max_per_person if sheet.order.max_per_person is None else sheet.order.max_per_person
    return publish_plan(coupons, most, fit.schema.fields, frontier.covariates)


def _coupon_stories(fit: Fit) -> list[dict[str, Any]]:
    """What 1, 2, ... coupons bring by each story that is left: story, weight, brings."""
    known = fit.scores.get("coupon_stories", {}).get("stories", [])
    return [
        {
            "story": f"{IN_WORDS[each['name']][0].upper()}{IN_WORDS[each['name']][1:]}",
            "weight": each["weight"],
            "brings": list(zip(each["expected"], each["low"], each["high"], strict=True)),
        }
        for each in known
        if not each["ruled_out"]
    ]


def _forecast_rows(outlook: Forecast) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = outlook.summary.to_dict("records")  # type: ignore[assignment] # column names are text
    return records


def _settings(
    fit: Fit, rules: Rules, order: PlanOrder, settings: ReportSettings, natural: bool
) -> list[tuple[str, str]]:
    def cap(value: int | None) -> str:
        return "no limit" if value is None else f"{value:,}"

    return [
        (
            "coupons to plan with",
            f"{rules.budget:,}" + (f" (and {order.reserve:,} in reserve)" if order.reserve else ""),
        ),
        ("most coupons for one person", cap(rules.max_per_person)),
        ("fewest coupons for one person", f"{order.min_per_person:,}"),
        ("most coupons in one round", cap(order.round_cap if order.round_cap == 0 else rules.max_per_round)),
        ("rounds left, this one included", f"{rules.rounds:,}"),
        ("worth of a recruit one round later", f"{fit.discount:g}"),
        (
            "people the plan is for",
            "those in the file whose coupons may still be used" if natural else "a file of their own",
        ),
        ("simulated studies", f"{settings.episodes:,}"),
        ("seed of the simulation", str(settings.seed)),
        ("seed of the fit", str(fit.settings.get("seed", "not known"))),
        *((f"model ({name})", f"{each.family}: {each.reason}") for name, each in fit.responses.items()),
        ("generator of recruits", str(fit.scores.get("offspring", {}).get("reason", type(fit.offspring).__name__))),
        ("fingerprint of the data", fit.data_fingerprint or "not known"),
    ]
