"""Pictures of a study, its plan and its outlook, for a coordinator and an ethics board: no ids, no names."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, PercentFormatter, StrMethodFormatter
from numpy.typing import NDArray

from peerfront.data.study import Study
from peerfront.foundation.pictures import COLOURS, NARROW, STYLES, label_of, new_figure, two_panels
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.shown import visible
from peerfront.study.report_calendar import CalendarPage
from peerfront.study.signs import CarryingTree, Drift, Expiry, Pace, Reach, Signs
from peerfront.words.language import Text, n_coupons, percent, say
from peerfront.words.outlook_figures import by_date
from peerfront.words.story_phrases import story_phrase

if TYPE_CHECKING:
    from peerfront.study.coupon_sheet import CouponSheet

_TREES_NAMED = 7
_OTHERS = "#BBBBBB"
_TREE_COLOURS = (*COLOURS[:_TREES_NAMED], _OTHERS)
MOST_DRAWN = 2000
"""People up to which each is drawn; above, a slice would be thinner than a line."""


# Coupon sheet ---------------------------------------------------------------------------------------------------------


def curve_figure(sheet: "CouponSheet") -> Figure:
    """Draw the recruits expected in all against the coupons given out this round, and mark the plan."""
    figure = new_figure(6.4, 4.0)
    axis = figure.subplots()
    axis.plot(sheet.curve["spend"], sheet.curve["value"], color=COLOURS[0], linewidth=2.0)
    label = str(say("the plan: {coupons}", coupons=n_coupons(sheet.spend)))
    planned = sheet.curve[sheet.curve["spend"] == sheet.spend]
    axis.plot(planned["spend"], planned["value"], "o", color=COLOURS[1], label=label)
    axis.set(
        xlabel=str(say("coupons given out this round")),
        ylabel=str(say("recruits expected in all")),
        title=str(say("Other numbers of coupons")),
    )
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    return figure


# What a coupon does ---------------------------------------------------------------------------------------------------


def coupons_figure(stories: Mapping[str, Any], *, narrow: bool = False) -> Figure:
    """Draw the recruits that 1, 2, 3, ... coupons would bring by each remaining story, with intervals.

    `stories` are the `coupon_stories` of a fit's scores.
    """
    figure = new_figure(NARROW if narrow else 7.2, 4.4)
    axis = figure.subplots()
    fewest, most = stories["shown"]
    label = str(say("coupons that people of the study had"))
    axis.axvspan(fewest - 0.35, most + 0.35, color="#EEEEEE", zorder=0, label=label)
    left = stories["stories"]
    for number, story in enumerate(left):
        coupons = np.arange(1, len(story["expected"]) + 1) + 0.06 * (number - (len(left) - 1) / 2)
        middle = np.array(story["expected"])
        reach = np.array([middle - np.array(story["low"]), np.array(story["high"]) - middle])
        axis.errorbar(
            coupons,
            middle,
            yerr=np.maximum(reach, 0.0),
            color=COLOURS[number % len(COLOURS)],
            linestyle=STYLES[number % len(STYLES)],
            marker="o",
            capsize=3,
            label=label_of(_believed(story), narrow),
        )
    axis.set(
        xlabel=str(say("coupons for a person")),
        ylabel=str(say("recruits expected, with 95% interval")),
        title=str(say("What coupons bring")),
    )
    axis.set_ylim(bottom=0)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=1, frameon=False)
    return figure


def _believed(story: Mapping[str, Any]) -> Text:
    return say("if {story} (weight {weight:.0%})", story=story_phrase(story["name"]), weight=story["weight"])


# Recruitment trees ---------------------------------------------------------------------------------------------------


def tree_figure(study: Study, *, narrow: bool = False) -> Figure:
    """Draw who recruited whom, in layers (recruits stand to the right of their recruiter), and people by wave."""
    largest, tree = _trees_by_size(study)
    if len(study) <= MOST_DRAWN:
        figure, (layers, counts) = two_panels(narrow)
        _draw_icicle(layers, study, tree)
    else:
        figure = new_figure(NARROW if narrow else 10.5, 4.8)
        counts = figure.subplots()
    waves = np.arange(int(study.trees.wave.max(initial=0)) + 1)
    below = np.zeros(len(waves))
    for number in range(min(len(largest), _TREES_NAMED + 1)):
        mine = tree == number if number < _TREES_NAMED else tree >= _TREES_NAMED
        people = np.bincount(study.trees.wave[mine], minlength=len(waves)).astype(np.float64)
        colour = _TREE_COLOURS[number]
        # Sizes of trees would reveal small groups.
        label = say("tree {number}", number=number + 1) if number < _TREES_NAMED else say("smaller trees")
        counts.bar(waves, people, bottom=below, color=colour, edgecolor="white", linewidth=0.4, label=str(label))
        below += people
    counts.set(
        xlabel=str(say("wave (seeds are wave 0)")),
        ylabel=str(say("people")),
        title=str(say("People by wave")),
        ylim=(0, 1.05 * below.max(initial=1.0)),
    )
    counts.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside lower center", ncols=2 if narrow else 4, frameon=False)
    return figure


def _trees_by_size(study: Study) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Roots, the largest tree first, and for each person the index of their tree, [people]."""
    roots, inverse, sizes = np.unique(study.trees.root, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    place = np.empty(len(roots), dtype=np.int64)
    place[order] = np.arange(len(roots))
    return roots[order], place[inverse]


def _draw_icicle(axis: Axes, study: Study, tree: NDArray[np.int64]) -> None:
    """Draw each person as a bar; its height is the number of people at the ends of their chains."""
    top, height = icicle(study.recruiter, study.trees.wave, tree)
    wave = study.trees.wave.astype(np.float64)
    corners = np.stack(
        [
            np.stack([wave, top], axis=1),
            np.stack([wave + 1, top], axis=1),
            np.stack([wave + 1, top + height], axis=1),
            np.stack([wave, top + height], axis=1),
        ],
        axis=1,
    )  # [people, corners, 2]
    colours = [_TREE_COLOURS[min(number, _TREES_NAMED)] for number in tree.tolist()]
    thin = 0.6 if len(study) <= 400 else 0.2
    axis.add_collection(PolyCollection(list(corners), facecolors=colours, edgecolors="white", linewidths=thin))
    axis.set_xlim(0, wave.max(initial=0) + 1)
    axis.set_ylim(float((top + height).max(initial=1.0)), 0)
    ticks = np.arange(int(wave.max(initial=0)) + 1)
    labelled = ticks[:: max(1, len(ticks) // 12)]
    axis.set_xticks(labelled + 0.5, [str(tick) for tick in labelled])
    axis.set_yticks([])
    axis.set(xlabel=str(say("wave")), title=str(say("Who recruited whom")))
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)


def icicle(
    recruiter: NDArray[np.int64], wave: NDArray[np.int64], tree: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where each person's bar begins and how high it is, [people] each: recruits lie within their recruiter's bar."""
    people = len(recruiter)
    height = np.zeros(people)
    deepest_first = np.argsort(-wave, kind="stable")
    for person in deepest_first.tolist():  # ends of chains count one; everybody else the sum of their recruits
        height[person] = max(height[person], 1.0)
        if recruiter[person] != NOBODY:
            height[recruiter[person]] += height[person]
    top = np.zeros(people)
    used = np.zeros(people)  # of each person's bar, by recruits placed so far
    at = 0.0
    for person in np.lexsort((np.arange(people), -height, tree, wave)).tolist():
        if recruiter[person] == NOBODY:
            top[person], at = at, at + height[person]
        else:
            top[person] = top[recruiter[person]] + used[recruiter[person]]
            used[recruiter[person]] += height[person]
    return top, height


# Why it may slow down -------------------------------------------------------------------------------------------------


def signs_figure(signs: Signs, *, narrow: bool = False) -> Figure:
    """Draw each sign in a small panel, those that matter first and with a bold title."""
    each = signs.each
    columns = 1 if narrow else min(len(each), 3)
    rows = -(-len(each) // columns)
    figure = new_figure(NARROW if narrow else 3.5 * columns, 2.5 * rows)
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.1)
    panels = np.ravel(figure.subplots(rows, columns, squeeze=False)).tolist()
    for axis, sign in zip(panels, each, strict=False):
        match sign:
            case Drift():
                title = _draw_drift(axis, sign)
            case Reach():
                title = _draw_reach(axis, sign)
            case Pace():
                title = _draw_pace(axis, sign)
            case CarryingTree():
                title = _draw_trees(axis, sign)
            case Expiry():
                title = _draw_expiry(axis, sign)
        axis.set_title(str(title), fontsize=10, fontweight="bold" if sign.matters else "normal")
        axis.tick_params(labelsize=8)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=8)
    for axis in panels[len(each) :]:
        axis.set_axis_off()
    return figure


def _draw_drift(axis: Axes, sign: Drift) -> Text:
    wave = say("wave") if sign.days is None else say("wave of {days:.0f} days", days=sign.days)
    place = np.arange(1, len(sign.generations) + 1)
    low, middle, high = np.array([each.believed for each in sign.generations]).reshape(-1, 3).T
    axis.fill_between(place, low, high, color=COLOURS[0], alpha=0.2, linewidth=0, label=str(say("the model, 80%")))
    axis.plot(place, middle, color=COLOURS[0])
    seen = [(number, each) for number, each in zip(place, sign.generations, strict=True) if each.per_coupon is not None]
    value = np.array([each.per_coupon for _, each in seen])
    reach = np.abs(np.array([[each.low, each.high] for _, each in seen]).reshape(-1, 2).T - value)
    axis.errorbar([number for number, _ in seen], value, yerr=reach, fmt="o", markersize=4, color="black", capsize=2)
    axis.set_xlabel(str(wave), fontsize=8)
    axis.set_ylim(bottom=0)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    return say("Recruits per coupon")


def _draw_reach(axis: Axes, sign: Reach) -> Text:
    p10, p25, p50, p75, p90 = sign.people
    axis.plot([p10, p90], [0, 0], color=COLOURS[0], linewidth=2, label="80%")
    axis.plot([p25, p75], [0, 0], color=COLOURS[0], linewidth=7, solid_capstyle="butt", label="50%")
    axis.plot([p50], [0], "o", color="white", markersize=4)
    axis.axvline(sign.took_part, color="black", linestyle="--", label=str(say("took part")))
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(numticks=4))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel(str(say("people")), fontsize=8)
    axis.set_ylim(-0.5, 1.5)
    axis.set_yticks([])
    return say("People who can be reached")


def _draw_pace(axis: Axes, sign: Pace) -> Text:
    axis.bar(np.arange(1, len(sign.weeks) + 1), sign.weeks, color=COLOURS[5])
    if sign.limit is not None:
        label = say("limit? (chance {chance})", chance=percent(sign.chance))
        axis.axhline(sign.limit, color="black", linestyle="--", label=str(label))
    axis.set_xlabel(str(say("week")), fontsize=8)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylim(0, 1.35 * max(*sign.weeks, sign.limit or 0.0, 1.0))
    return say("Interviews by week")


def _draw_trees(axis: Axes, sign: CarryingTree) -> Text:
    sizes = np.array(sign.sizes)
    place, below = np.arange(1, sizes.shape[1] + 1), np.zeros(sizes.shape[1])
    for number, row in enumerate(sizes):
        if not row.any():
            continue
        label = {0: say("the tree with most to come"), len(sizes) - 1: say("smaller trees")}.get(number)
        colour = _OTHERS if number == len(sizes) - 1 else COLOURS[number]
        axis.bar(place, row, bottom=below, color=colour, label=None if label is None else str(label))
        below += row
    axis.set_xlabel(str(say("wave")), fontsize=8)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylim(0, 1.35 * max(below.max(initial=0.0), 1.0))
    return say("Recruits by tree")


def _draw_expiry(axis: Axes, sign: Expiry) -> Text:
    places = np.arange(len(sign.weeks))
    axis.bar(places, sign.weeks, color=[COLOURS[1], COLOURS[1], *[COLOURS[5]] * (len(places) - 2)])
    axis.set_xticks(places, [*(str(week + 1) for week in places[:-1]), str(say("later"))])
    axis.set_xlabel(str(say("week of expiry")), fontsize=8)
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    return say("Open coupons")


# Calendar and homophily ----------------------------------------------------------------------------------------------


def calendar_figure(page: CalendarPage, *, narrow: bool = False) -> Figure:
    """Draw recruits by week, and the earlier forecast of them."""
    figure = new_figure(NARROW if narrow else 8.0, 4.4)
    axis = figure.subplots()
    days = np.array(page.ends, dtype="datetime64[D]")
    width = np.timedelta64(5, "D")
    axis.bar(
        days, page.recruits, width=width, color=COLOURS[5], label=str(say("recruits of the week, to the nearest five"))
    )
    if page.before is not None:
        then = np.array([each.isoformat() for each in page.before.until], dtype="datetime64[D]")
        axis.fill_between(
            then,
            page.before.low,
            page.before.high,
            color=COLOURS[1],
            alpha=0.25,
            linewidth=0,
            label=str(say("forecast before, 8 of 10")),
        )
        axis.plot(then, page.before.interviews, color=COLOURS[1], linewidth=2.0, label=str(say("forecast before")))
    by_date(axis, narrow)
    axis.set(title=str(say("Recruits by week (at its last day)")), ylabel=str(say("people")))
    axis.set_ylim(bottom=0)
    figure.legend(loc="outside lower center", ncols=1, frameon=False)
    return figure


def homophily_figure(table: pd.DataFrame, *, narrow: bool = False) -> Figure:
    """Draw for each field the share of recruits like their recruiter, and the range that chance gives."""
    rows = table[table["pairs"] > 0].iloc[::-1]
    figure = new_figure(NARROW if narrow else 8.5, 1.5 + 0.34 * max(len(rows), 2))
    axis = figure.subplots()
    places = np.arange(len(rows))
    axis.barh(
        places,
        rows["chance_high"] - rows["chance_low"],
        left=rows["chance_low"],
        height=0.6,
        color="#BBBBBB",
        label=str(say("if recruits were dealt at random, 95%")),
    )
    low, high = rows["low"].fillna(rows["same"]), rows["high"].fillna(rows["same"])  # no interval is published
    reach = np.array([rows["same"] - low, high - rows["same"]])
    axis.errorbar(
        rows["same"],
        places,
        xerr=reach,
        fmt="o",
        color=COLOURS[0],
        capsize=3,
        label=str(say("recruits like their recruiter, 95%")),
    )
    axis.set_yticks(places, [_short(name, 16 if narrow else 28) for name in rows["field"]])
    axis.set_xlim(0, 1.02)
    axis.xaxis.set_major_formatter(PercentFormatter(1.0))
    axis.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=1 if narrow else 2, frameon=False)
    return figure


def _short(name: str, most: int = 28) -> str:
    name = visible(name, 10 * most).replace("\n", " ")
    return name if len(name) <= most else f"{name[: most - 1]}…"
