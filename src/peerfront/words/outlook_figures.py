"""Pictures of sheets, outlooks and back-tests, for files and notebooks."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, num2date
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from peerfront.foundation.pictures import COLOURS, STYLES, label_of, new_figure, two_panels
from peerfront.study.backtest import Backtest
from peerfront.study.coupon_sheet import CouponSheet
from peerfront.study.forecast_trust import CLOSE
from peerfront.study.outlook import Outlook
from peerfront.words.backtest_words import cut_text, horizon_text
from peerfront.words.charts import short_day
from peerfront.words.language import n_coupons, say
from peerfront.words.story_phrases import short_story

_TARGET = (0, (1, 1))
_MOST_ABOVE = 4.0  # bands of a back-test are cut off at this multiple of the real number
_BANDS = ("p10", "p90", 0.18, say("plan, 8 of 10")), ("p25", "p75", 0.28, say("plan, half"))


def curve_figure(sheet: CouponSheet) -> Figure:
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


def outlook_figure(outlook: Outlook, *, narrow: bool = False) -> Figure:
    """Draw people so far with the target (bands of the plan, means of the plan and of two rivals), and by step."""
    figure, (totals, steps) = two_panels(narrow)
    if outlook.still_wanted:
        label = str(say("target: {target:,}", target=outlook.target))
        totals.axhline(outlook.target or 0, color="black", linewidth=1.2, linestyle=_TARGET, label=label)
    for number, row in enumerate(_drawn(outlook)):
        own = outlook.steps_of(row.policy)
        places = _steps(outlook, own)
        style: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "linestyle": STYLES[number % len(STYLES)],
            "linewidth": 2.4 if number == 0 else 1.6,
        }
        if number == 0:
            for low, high, alpha, band in _BANDS:
                lower, upper = (outlook.already + np.append(0.0, own[f"total_{end}"]) for end in (low, high))
                totals.fill_between(places, lower, upper, color=COLOURS[0], alpha=alpha, linewidth=0, label=str(band))
                steps.fill_between(places[1:], own[low], own[high], color=COLOURS[0], alpha=alpha, linewidth=0)
        totals.plot(
            places, outlook.already + np.append(0.0, own["total"]), label=label_of(row.described, narrow), **style
        )
        steps.plot(places[1:], own["recruits"], **style)
    _draw_parts(totals, outlook)
    _draw_queue(steps, outlook)
    totals.set(title=str(say("People who have taken part")), ylabel=str(say("people")))
    if outlook.by_rounds:
        steps.set(title=str(say("Recruits by round")), ylabel=str(say("recruits")))
        for axis in (totals, steps):
            axis.set_xlabel(str(say("round from now on")))
            axis.grid(alpha=0.3)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        steps.set(title=str(say("Recruits by week (at its last day)")), ylabel=str(say("recruits a week")))
        for axis in (totals, steps):
            by_date(axis, narrow)
    steps.set_ylim(bottom=0)
    handles = [*totals.get_legend_handles_labels()[0], *steps.get_legend_handles_labels()[0]]
    names = [*totals.get_legend_handles_labels()[1], *steps.get_legend_handles_labels()[1]]
    figure.legend(handles, names, loc="outside lower center", ncols=1 if narrow else 2, frameon=False)
    return figure


def _steps(outlook: Outlook, own: pd.DataFrame) -> NDArray[Any]:
    """Today and the ends of the weeks; or 0 and the rounds."""
    if outlook.today is None:
        return np.append(0.0, own["step"].to_numpy(dtype=np.float64))
    return np.array([outlook.today.isoformat(), *own["until"]], dtype="datetime64[D]")


def _drawn(outlook: Outlook) -> list[Any]:
    """Rows of the summary: the plan, the best simple rule, and what the study has done so far."""
    rivals = {gain.policy for gain in outlook.gains.shown}
    rows = list(outlook.summary.itertuples(index=False))
    return [row for number, row in enumerate(rows) if number == 0 or row.policy in rivals]


def _draw_parts(axis: Axes, outlook: Outlook) -> None:
    """Draw what the plan brings by each part of the belief, if several remain."""
    if outlook.part_steps["part"].nunique() < 2:
        return
    for number, (part, own) in enumerate(outlook.part_steps.groupby("part", sort=False)):
        label = str(say("the plan, if {story}", story=short_story(str(part))))
        line = outlook.already + np.append(0.0, own["total"])
        marker = "^vs"[number % 3]
        axis.plot(_steps(outlook, own), line, color=COLOURS[0], linewidth=0.8, marker=marker, markersize=3, label=label)


def _draw_queue(axis: Axes, outlook: Outlook) -> None:
    """Draw capacity and queue, if interviews are limited."""
    if outlook.interviews_per_week is None:
        return
    own = outlook.steps_of()
    axis.axhline(
        outlook.interviews_per_week,
        color="black",
        linewidth=1.0,
        linestyle=(0, (4, 2)),
        label=str(say("{limit:g} interviews a week", limit=outlook.interviews_per_week)),
    )
    label = str(say("plan: waiting for an interview"))
    axis.plot(_steps(outlook, own)[1:], own["queue"], color=COLOURS[4], marker="v", markersize=4, label=label)


def backtest_figure(test: Backtest, *, narrow: bool = False) -> Figure:
    """Draw people by date with the forecasts from each cut, and expected against realised numbers."""
    figure, (lines, dots) = two_panels(narrow)
    _draw_fans(lines, test)
    if test.by_waves or _numbered(test):
        lines.set_xlabel(str(say("wave") if test.by_waves else say("day")))
        lines.grid(alpha=0.3)
        lines.yaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        by_date(lines, narrow)
    lines.set(title=str(say("What came, and what was forecast")), ylabel=str(say("people")))
    _draw_dots(dots, test)
    handles, labels = lines.get_legend_handles_labels()
    more = dots.get_legend_handles_labels()
    figure.legend(
        [*handles, *more[0]], [*labels, *more[1]], loc="outside lower center", ncols=1 if narrow else 3, frameon=False
    )
    return figure


def _numbered(test: Backtest) -> bool:
    return "-" not in str(test.weeks["date"].iloc[0])


def _places(test: Backtest, dates: list[str]) -> NDArray[np.float64] | NDArray[np.datetime64]:
    if test.by_waves or _numbered(test):
        return np.array([float(each) for each in dates])
    return np.array(dates, dtype="datetime64[D]")


def _draw_fans(axis: Axes, test: Backtest) -> None:
    highest = 0.0
    for number, (cut, own) in enumerate(test.weeks.groupby("cut", sort=False)):
        places, people = _places(test, list(own["date"])), float(own["people"].iloc[0])
        colour = COLOURS[1 + number % (len(COLOURS) - 1)]
        axis.fill_between(places, people + own["p10"], people + own["p90"], color=colour, alpha=0.2, linewidth=0)
        style = STYLES[1 + number % (len(STYLES) - 1)]
        label = str(say("forecast from {cut}, 8 of 10", cut=cut_text(test, cut)))
        axis.plot(places, people + own["median"], color=colour, linestyle=style, label=label)
        # New seeds are not forecast, so each line of real numbers starts where its forecast starts.
        came = str(say("what came")) if number == 0 else None
        axis.plot(places, people + own["realised"], color=COLOURS[0], linewidth=2.0, label=came)
        highest = max(highest, float((people + own["realised"]).max()))
    axis.set_ylim(0, min(axis.get_ylim()[1], _MOST_ABOVE * highest))


def _draw_dots(axis: Axes, test: Backtest) -> None:
    """Draw forecasts against what came, 1 added to both, on scales of factors."""
    for number, (horizon, own) in enumerate(test.forecasts.groupby("horizon", sort=False)):
        middle = own["median"] + 1.0
        axis.errorbar(
            own["realised"] + 1.0,
            middle,
            yerr=np.array([np.maximum(own["median"] - own["p10"], 0.0), np.maximum(own["p90"] - own["median"], 0.0)]),
            fmt="os^D"[number % 4],
            color=COLOURS[2 + number],
            capsize=3,
            label=str(horizon_text(horizon)),
        )
    axis.set(
        xscale="log",
        yscale="log",
        title=str(say("Forecast against what came")),
        xlabel=str(say("recruits that came, plus 1")),
        ylabel=str(say("recruits forecast (8 of 10), plus 1")),
    )
    came = test.forecasts["realised"] + 1.0
    ends = np.array([max(came.min() / 2, 0.8), max(came.max() * 2, 10.0)])
    equal = str(say("forecast = what came"))
    axis.plot(ends, ends, color="black", linewidth=1.0, linestyle=(0, (1, 1)), label=equal)
    close = str(say("factor {factor:.1f} either way", factor=CLOSE))
    axis.fill_between(ends, ends / CLOSE, ends * CLOSE, color="black", alpha=0.08, linewidth=0, label=close)
    axis.set_xlim(*ends)
    axis.set_ylim(bottom=max(0.8, axis.get_ylim()[0]))
    for one in (axis.xaxis, axis.yaxis):
        one.set_major_formatter(FuncFormatter(lambda place, _: f"{place:,.0f}"))
    axis.grid(alpha=0.3)


# Dates along an axis ------------------------------------------------------------------------------------------------


def by_date(axis: Axes, narrow: bool) -> None:
    """Format the axes: dates below, whole people at the left."""
    axis.grid(alpha=0.3)
    axis.xaxis.set_major_locator(AutoDateLocator(minticks=3, maxticks=5 if narrow else 7))  # type: ignore[no-untyped-call]
    low, high = (num2date(end) for end in axis.get_xlim())  # type: ignore[no-untyped-call]
    axis.xaxis.set_major_formatter(FuncFormatter(lambda place, _: str(short_day(num2date(place)))))  # type: ignore[no-untyped-call]
    years = say("{first} to {last}", first=low.year, last=high.year)
    axis.set_xlabel(f"{low.year}" if low.year == high.year else str(years))
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
