"""The report: one self-contained page that a coordinator can print and an ethics board can read.

It begins with the plan, and holds no id of any participant unless the coupon sheet is requested. The same model, file,
settings and language give the same page, byte for byte.
"""

import base64
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib.figure import Figure

import peerfront
from peerfront.data.problems import KINDS
from peerfront.data.read.read_settings import FORMATS
from peerfront.estimates.estimating import OutcomeEstimates
from peerfront.foundation.messages import Remedy, Severity
from peerfront.foundation.pictures import rendered
from peerfront.foundation.shown import visible_on_page
from peerfront.foundation.stored import FEWEST
from peerfront.study.artifacts import Fit
from peerfront.study.coupon_sheet import CouponSheet
from peerfront.study.model import FitSummary
from peerfront.study.published_counts import HIDDEN, PublishedPlan
from peerfront.study.published_tables import PublishedOutcome
from peerfront.study.report import FieldUse, StudyReport
from peerfront.study.report_calendar import CalendarPage
from peerfront.words.charts import Html, drawn
from peerfront.words.disclosure import GUIDELINE, disclosures
from peerfront.words.estimate_figures import figures_of
from peerfront.words.estimates import published_facts, published_rows, verdict_lines
from peerfront.words.language import Text, marked, percent, say, say_n, speaker
from peerfront.words.outlook_words import doubt_lines, gain_lines, policies_table, sign_lines
from peerfront.words.reason_words import spoken_reason
from peerfront.words.report_charts import (
    MOST_TREES,
    calendar_chart,
    coupons_chart,
    homophily_chart,
    sign_chart,
    tree_pictures,
    wave_chart,
)
from peerfront.words.sheet import sheet_lines
from peerfront.words.story_phrases import story_phrase
from peerfront.words.study_charts import estimates_chart, outlook_charts, outlook_facts, spend_chart


@dataclass(frozen=True)
class Picture:
    """A picture for a page and one for a telephone, as data URLs, and a text alternative."""

    wide: str
    narrow: str
    shows: Text


def report_page(report: StudyReport) -> str:
    """Write the page, in the language in use."""
    fit, study, settings, outlook = report.fit, report.study, report.settings, report.outlook
    summary = FitSummary(fit)
    return (
        page_environment()
        .get_template("report.html.j2")
        .render(
            language=speaker().language,
            heading=settings.heading.or_study(study.source),
            source=study.source,
            people_in_all=report.summary.people,
            waves=report.summary.waves,
            format=FORMATS[study.format],
            another_file=report.another_file,
            model_lines=[line for line in summary.lines() if line.severity is not Severity.WARNING],
            counts=report.counts,
            problems=[(KINDS[kind], count) for kind, count in report.problems],
            fields=[(each.name, _used_as(each), _missing(each)) for each in report.fields],
            excluded=report.schema.exclude,
            trees=tree_pictures(study) if settings.with_trees else [],
            most_trees=MOST_TREES,
            wave_chart=drawn(wave_chart(study), caption=True),
            estimates=report.estimates,
            estimate_sections=[_outcome_section(each) for each in report.estimates.outcomes]
            if report.estimates
            else [],
            homophily=report.homophily.to_dict("records"),
            homophily_chart=drawn(homophily_chart(report.homophily)) if report.homophily["pairs"].any() else "",
            coupons_chart=_coupons_chart(fit),
            coupon_stories=_coupon_stories(fit),
            capacity_picture=_capacity_picture(report),
            natural=report.natural,
            plan=_plan(report),
            details=[*_details(report), *summary.details()],
            sign_lines=[] if outlook is None else sign_lines(outlook),
            sign_charts=_sign_charts(report),
            forecast=outlook,
            policies=None if outlook is None else policies_table(outlook),
            forecast_charts=_forecast_charts(report),
            calendar=report.calendar,
            open_by_age=_open_by_age(report.calendar),
            calendar_chart=_calendar_chart(report.calendar),
            backtest_picture=_backtest_picture(report.calendar),
            settings=_settings(report),
            versions={**fit.versions, str(say("this page made by")): f"peerfront {peerfront.__version__}"},
            disclosures=disclosures(report),
            guideline=GUIDELINE,
            fewest=FEWEST,
        )
    )


def page_environment() -> Environment:
    """The template environment: sentences are translated by `say`, and typed text is escaped."""
    environment = Environment(
        loader=PackageLoader("peerfront.words", "."),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        finalize=visible_on_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"say": say, "say_n": say_n, "name_of": Text, "remedy": Remedy, "marked": marked}
    environment.filters["percent"] = lambda share: HIDDEN if share != share else percent(share)
    environment.filters["one"] = lambda number: HIDDEN if number != number else f"{number:,.1f}"
    environment.filters["whole"] = lambda number: f"{number:,.0f}"
    environment.filters["two"] = lambda number: f"{number:.2f}"
    return environment


# Parts of the page ---------------------------------------------------------------------------------------------------


def _used_as(field: FieldUse) -> Text:
    if field.is_banded:
        return say_n("{n} band", "{n} bands", field.categories)
    return say_n("{n} category", "{n} categories", field.categories)


def _missing(field: FieldUse) -> object:
    return percent(field.missing) if isinstance(field.missing, float) else field.missing or HIDDEN


def _plan(report: StudyReport) -> dict[str, object] | None:
    """The plan: its four lines, how many people get each number, and the mean of each group that is large enough."""
    sheet, plan = report.sheet, report.plan
    if sheet is None or plan is None:
        return None
    with_ids = report.settings.with_ids
    return {
        "lines": sheet_lines(sheet, every_warning=True)
        if with_ids
        else _published_lines(sheet, plan, natural=report.natural),
        "numbers": plan.numbers if len(report.people) else (),
        "fields": list(plan.fields.items()),
        "rows": _handed_out(sheet) if with_ids else [],
        "spends": _spends(sheet) if with_ids else "",
    }


def _published_lines(sheet: CouponSheet, plan: PublishedPlan, *, natural: bool) -> list[object]:
    """The lines of the sheet without exact numbers of people: these are in its decision and its notes."""
    if sheet.certificate is None:
        return sheet_lines(replace(sheet, notes=sheet.notes[:1]))
    values = {"people": plan.people, "coupons": plan.coupons}
    decision = say("Give out {coupons} coupons among {people} people on the list that was given.", **values)
    if natural:
        decision = say("Give out {coupons} coupons among {people} people of the file who wait for them.", **values)
    return [decision, *sheet_lines(replace(sheet, notes=()), every_warning=True)[1:]]


def _handed_out(sheet: CouponSheet) -> list[tuple[str, int, Text]]:
    """Person, coupons, and what can be said aloud if they ask."""
    last, columns = sheet.rounds_left == 1, (sheet.table[name] for name in ("person", "coupons", "reason"))
    rows = zip(*columns, strict=True)
    return [(person, coupons, spoken_reason(reason, last=last)) for person, coupons, reason in rows]


def _details(report: StudyReport) -> list[object]:
    """What plan and forecast rest on; without ids, that of the forecast alone. What slows it down is said apart."""
    outlook, details = report.outlook, [] if report.sheet is None else report.sheet.details()
    if report.sheet is None or not report.settings.with_ids:
        details = [] if outlook is None else [*gain_lines(outlook), *doubt_lines(outlook), *outlook.details()]
    apart = [] if outlook is None else sign_lines(outlook)
    return [line for line in details if line not in apart]


def _coupon_stories(fit: Fit) -> list[dict[str, Any]]:
    """What 1, 2, ... coupons bring by each remaining story: story, weight, brings."""
    stories = fit.scores.get("coupon_stories", {}).get("stories", [])
    return [
        {
            "story": story_phrase(each["name"]),
            "weight": each["weight"],
            "brings": list(zip(each["expected"], each["low"], each["high"], strict=True)),
        }
        for each in stories
    ]


def _open_by_age(calendar: CalendarPage | None) -> list[tuple[Text, Text]]:
    """The number of open coupons by age."""
    return [
        (
            say("{first} days or older", first=first)
            if last is None
            else say("{first} to {last} days", first=first, last=last),
            say("about {coupons:,}", coupons=coupons) if coupons else say("hardly any"),
        )
        for first, last, coupons in (() if calendar is None else calendar.open_by_age)
    ]


def _settings(report: StudyReport) -> list[tuple[Text, object]]:
    fit, rules, order, settings = report.fit, report.rules, report.order, report.settings

    def cap(value: int | None) -> Text:
        return say("no limit") if value is None else say("{n:,}", n=value)

    coupons = (
        say("{coupons:,} (and {reserve:,} in reserve)", coupons=rules.budget, reserve=order.reserve)
        if order.reserve
        else say("{n:,}", n=rules.budget)
    )
    offspring = fit.scores.get("offspring", {}).get("reason", type(fit.offspring).__name__)
    return [
        (say("coupons to plan with"), coupons),
        (say("most coupons for one person"), cap(rules.max_per_person)),
        (say("fewest coupons for one person"), f"{order.min_per_person:,}"),
        (say("most coupons in one round"), cap(order.round_cap if order.round_cap == 0 else rules.max_per_round)),
        (say("rounds left, this one included"), f"{rules.rounds:,}"),
        (say("worth of a recruit one round later"), f"{fit.discount:g}"),
        (
            say("people the plan is for"),
            say("those in the file whose coupons may still be used") if report.natural else say("a file of their own"),
        ),
        (say("simulated studies"), f"{settings.episodes:,}"),
        (say("seed of the simulation"), settings.seed),
        (say("seed of the fit"), fit.settings.get("seed", say("not known"))),
        (say("generator of recruits"), offspring),
        (say("fingerprint of the data"), fit.data_fingerprint or say("not known")),
    ]


# Pictures ------------------------------------------------------------------------------------------------------------


def _picture(draw: Any, shown: object, shows: Text) -> Picture:
    return Picture(_address(draw(shown)), _address(draw(shown, narrow=True)), shows)


def _address(figure: Figure) -> str:
    """The figure as a data URL: SVG, which is sharp in print."""
    return f"data:image/svg+xml;base64,{base64.b64encode(rendered(figure, 'svg')).decode()}"


def _spends(sheet: CouponSheet) -> str:
    """What other numbers of coupons would bring; exact numbers, so only beside the sheet."""
    spends, expected = sheet.curve["spend"].tolist(), sheet.curve["value"].tolist()
    if len(spends) < 2:
        return ""
    return drawn(spend_chart(dict(zip(spends, expected, strict=True)), sheet.spend), caption=True)


def _sign_charts(report: StudyReport) -> list[Html]:
    signs = None if report.outlook is None else report.outlook.signs
    return [] if signs is None else [drawn(sign_chart(each), caption=True) for each in signs.each]


def _coupons_chart(fit: Fit) -> str:
    """What coupons bring by each story; empty if the model does not say."""
    stories = fit.scores.get("coupon_stories")
    return drawn(coupons_chart(stories), caption=True) if stories else ""


def _forecast_charts(report: StudyReport) -> list[Html]:
    if report.outlook is None:
        return []
    deadline = date.fromisoformat(report.order.deadline) if report.order.deadline else None
    return [drawn(each, caption=True) for each in outlook_charts(outlook_facts(report.outlook), deadline)]


def _calendar_chart(calendar: CalendarPage | None) -> str:
    return "" if calendar is None or not calendar.ends else drawn(calendar_chart(calendar), caption=True)


def _capacity_picture(report: StudyReport) -> Picture | None:
    from peerfront.words.model_figures import capacity_figure

    if report.capacity is None:
        return None
    shows = say("People by how many they brought, and use of coupons, as seen and as the model expects.")
    return _picture(capacity_figure, report.capacity, shows)


def _backtest_picture(calendar: CalendarPage | None) -> Picture | None:
    if calendar is None or calendar.backtest is None:
        return None
    address = calendar.backtest.picture
    return Picture(address, address, say("What came, and what forecasts from earlier days said would come."))


def _estimates_chart(estimates: OutcomeEstimates) -> Html:
    table = estimates.table[estimates.table["group"] == "everybody"]
    rows = table.assign(what=table["category"], best=table["estimator"] == estimates.verdict.best).to_dict("records")
    outcome = estimates.outcome
    return drawn(estimates_chart(outcome.name, rows, numeric=outcome.numeric))  # type: ignore[arg-type]


def _outcome_section(outcome: PublishedOutcome) -> dict[str, Any]:
    """The section of an outcome: sentences, tables, and pictures of estimates, convergence, trees and seeds."""
    section: dict[str, Any] = {"name": outcome.name, "hidden": outcome.hidden}
    if outcome.estimates is None or outcome.diagnostics is None:
        return section
    shows = {
        "convergence": say("The estimate as people came: it should have become flat."),
        "bottlenecks": say("The estimate within each large tree: trees that stay apart sampled different parts."),
        "seeds": say("The composition wave by wave, and what recruitment that began at these seeds tends to."),
    }
    wide, narrow = (figures_of(outcome.estimates, outcome.diagnostics, narrow=each) for each in (False, True))
    return section | {
        "lines": verdict_lines(outcome.estimates.verdict),
        "chart": _estimates_chart(outcome.estimates),
        "rows": published_rows(outcome),
        "facts": published_facts(outcome),
        "homophily": outcome.diagnostics.homophily.to_dict("records"),
        "effectiveness": outcome.diagnostics.effectiveness.to_dict("records"),
        "pictures": [Picture(_address(wide[name]), _address(narrow[name]), text) for name, text in shows.items()],
    }
