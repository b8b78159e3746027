"""Charts of the report, for a coordinator and an ethics board: no ids, no names."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from peerfront.data.study import Study
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.stored import rounded_counts
from peerfront.study.report_calendar import CalendarPage
from peerfront.study.signs import CarryingTree, Drift, Expiry, Pace, Reach, Sign
from peerfront.words.charts import INK, OTHERS, Chart, Html, Interval, Intervals, Kind, Mark, Point, Series
from peerfront.words.language import percent, say
from peerfront.words.story_phrases import story_phrase
from peerfront.words.tree_pictures import Shape, TreePlace, small_tree, tree_rows

MOST_TREES = 60
"""Trees that are drawn, the largest first."""


def coupons_chart(stories: Mapping[str, Any]) -> Chart:
    """The recruits that 1, 2, 3, ... coupons would bring by each remaining story (a fit's `coupon_stories`)."""
    series = []
    for story in stories["stories"]:
        ends = zip(story["expected"], story["low"], story["high"], strict=True)
        points = [Point(coupons, *each) for coupons, each in enumerate(ends, 1)]
        name = say("if {story} (weight {weight:.0%})", story=story_phrase(story["name"]), weight=story["weight"])
        series.append(Series(name, points, digits=2))
    most = stories["shown"][1]
    return Chart(
        say("What coupons bring"),
        say("coupons for a person"),
        say("recruits expected, with 95% interval"),
        series,
        upright=Mark(most, say("people had up to {n}", n=most)),
    )


# Recruitment trees ----------------------------------------------------------------------------------------------------


def tree_pictures(study: Study) -> list[Html]:
    """Who recruited whom, the largest trees first; seeds who brought nobody are left out."""
    wave = study.trees.wave.tolist()
    recruits: dict[str, list[str]] = {}
    for person, recruiter in enumerate(study.recruiter.tolist()):
        if recruiter != NOBODY:
            recruits.setdefault(str(recruiter), []).append(str(person))
    roots, sizes = np.unique(study.trees.root, return_counts=True)
    roots, sizes = roots[sizes > 1], sizes[sizes > 1]
    pictures = []
    for root in roots[np.argsort(-sizes, kind="stable")][:MOST_TREES].tolist():
        rows = tree_rows(str(root), recruits)
        above = {each: rows[person] for person in rows for each in recruits.get(person, ())}
        shapes = {str(root): Shape.SEED}
        pictures.append(
            small_tree(
                [
                    TreePlace(wave[int(person)], row, above.get(person), shapes.get(person, Shape.RECRUIT))
                    for person, row in rows.items()
                ]
            )
        )
    return pictures


def wave_chart(study: Study) -> Chart:
    """People by wave, to the nearest five: a small wave would reveal its people."""
    people = rounded_counts(np.bincount(study.trees.wave))
    points = [Point(wave, number) for wave, number in enumerate(people.tolist())]
    name = say("people, to the nearest five")
    return Chart(say("People by wave"), say("wave (seeds are wave 0)"), name, [Series(name, points, Kind.BARS)])


# Why it may slow down -------------------------------------------------------------------------------------------------


def sign_chart(sign: Sign) -> Chart | Intervals:
    """One reason why a study may slow down."""
    match sign:
        case Drift():
            return _drift_chart(sign)
        case Reach():
            took_part = Mark(sign.took_part, say("took part: {n:,}", n=sign.took_part))
            p10, _, middle, _, p90 = sign.people
            row = Interval(say("people who can be reached, 80%"), middle, p10, p90)
            return Intervals(say("People who can be reached"), say("people"), [row], digits=0, upright=took_part)
        case Pace():
            limit = None
            if sign.limit is not None:
                limit = Mark(sign.limit, say("limit? (chance {chance})", chance=percent(sign.chance)))
            return _counts(say("Interviews by week"), say("week"), [sign.weeks], level=limit)
        case CarryingTree():
            return _counts(say("Recruits by tree"), say("wave"), sign.sizes)
        case Expiry():
            weeks = [*(str(week) for week in range(1, len(sign.weeks))), str(say("later"))]
            points = [Point(week, number) for week, number in zip(weeks, sign.weeks, strict=True)]
            coupons = Series(say("open coupons"), points, Kind.BARS)
            return Chart(say("Open coupons"), say("week of expiry"), say("coupons"), [coupons])


def _drift_chart(sign: Drift) -> Chart:
    wave = say("wave") if sign.days is None else say("wave of {days:.0f} days", days=sign.days)
    seen, believed = [], []
    for number, each in enumerate(sign.generations, 1):
        low, middle, high = each.believed
        believed.append(Point(number, middle, low, high))
        if each.per_coupon is not None:
            seen.append(Point(number, each.per_coupon, each.low, each.high))
    series = [
        Series(say("the model"), believed, band=say("the model, 80%"), digits=2),
        Series(say("seen"), seen, Kind.DOTS, INK, digits=2),
    ]
    return Chart(say("Recruits per coupon"), wave, say("recruits per coupon"), series)


def _counts(title: object, x: object, rows: Sequence[Sequence[int]], level: Mark | None = None) -> Chart:
    """Bars by week or wave; of several trees, the first has most to come, and the last are all others."""
    series = []
    for number, row in enumerate(rows):
        name = say("tree {number}", number=number + 1) if len(rows) > 1 else say("people")
        if len(rows) > 1 and number in (0, len(rows) - 1):
            name = say("smaller trees") if number else say("the tree with most to come")
        colour = OTHERS if number and number == len(rows) - 1 else number + 1
        if any(row):
            series.append(Series(name, [Point(place, each) for place, each in enumerate(row, 1)], Kind.BARS, colour))
    return Chart(title, x, say("people"), series, level=level)


# Calendar and homophily -----------------------------------------------------------------------------------------------


def calendar_chart(page: CalendarPage) -> Chart:
    """Recruits by week, and the earlier forecast of them."""
    weeks = zip(page.ends, page.recruits.tolist(), strict=True)
    came = [Point(date.fromisoformat(end), number) for end, number in weeks]
    series = [Series(say("recruits of the week, to the nearest five"), came, Kind.BARS, 6)]
    if page.before is not None:
        before = (page.before.interviews.tolist(), page.before.low.tolist(), page.before.high.tolist())
        points = [Point(day, *each) for day, *each in zip(page.before.until, *before, strict=True)]
        series.append(Series(say("forecast before"), points, colour=2, band=say("forecast before, 8 of 10")))
    return Chart(say("Recruits by week (at its last day)"), say("last day of the week"), say("people"), series)


def homophily_chart(table: pd.DataFrame) -> Intervals:
    """For each field the share of recruits like their recruiter, and the range that chance gives."""
    rows = []
    for row in table[table["pairs"] > 0].to_dict("records"):
        ends = (row["low"], row["high"]) if row["low"] == row["low"] else (None, None)  # no interval is published
        rows.append(Interval(row["field"], row["same"], *ends))
        rows.append(Interval(say("by chance"), row["chance"], row["chance_low"], row["chance_high"], OTHERS))
    return Intervals(say("Do people recruit their like?"), say("recruits like their recruiter, 95%"), rows, share=True)
