"""Pictures of forecasts by rounds and by date, and of back-tests."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, num2date
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from peerfront.foundation.pictures import COLOURS, STYLES, label_of, two_panels
from peerfront.study.backtest import Backtest
from peerfront.study.date_forecast import DateForecast
from peerfront.study.forecast import Forecast
from peerfront.words.backtest_words import cut_text, horizon_text
from peerfront.words.language import say
from peerfront.words.story_phrases import short_story

_TARGET = (0, (1, 1))
_MOST_ABOVE = 4.0  # bands of a back-test are cut off at this multiple of the real number
_BANDS = ("p10", "p90", 0.18, say("plan, 8 of 10")), ("p25", "p75", 0.28, say("plan, half"))


def forecast_figure(forecast: Forecast, *, narrow: bool = False) -> Figure:
    """Draw recruits so far (the plan's bands; means of the plan and of two rivals), and the same by round."""
    figure, panels = two_panels(narrow)
    wanted = forecast.still_wanted
    if wanted is not None and 0 < wanted <= forecast.rules.budget:
        label = str(say("target: {wanted:,} to come", wanted=wanted))
        panels[0].axhline(wanted, color="black", linewidth=1.2, linestyle=_TARGET, label=label)
    for axis, prefix, title in (
        (panels[0], "total", say("Recruits so far")),
        (panels[1], "recruits", say("Recruits by round")),
    ):
        _draw_bands(axis, forecast, prefix)
        for number, row in enumerate(_drawn(forecast)):
            own = forecast.rounds[forecast.rounds["policy"] == row.policy]
            axis.plot(
                *_from_start(own, prefix, prefix),
                color=COLOURS[number % len(COLOURS)],
                linestyle=STYLES[number % len(STYLES)],
                linewidth=2.4 if number == 0 else 1.6,
                marker="o" if number == 0 else None,
                markersize=4,
                label=label_of(row.described, narrow),
            )
        _draw_stories(axis, forecast, prefix)
        axis.set(xlabel=str(say("round from now on")), title=str(title))
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=1 if narrow else 2, frameon=False)
    return figure


def _drawn(forecast: Forecast | DateForecast) -> list[Any]:
    """Rows of the summary: the plan, the best simple rule, and what the study has done so far."""
    rivals = {gain.policy for gain in forecast.gains.shown}
    rows = list(forecast.summary.itertuples(index=False))
    return [row for number, row in enumerate(rows) if number == 0 or row.policy in rivals]


def _draw_bands(axis: Axes, forecast: Forecast, prefix: str) -> None:
    own = forecast.rounds[forecast.rounds["policy"] == forecast.summary["policy"].iloc[0]]
    stem = "" if prefix == "recruits" else "total_"
    for low, high, alpha, band in _BANDS:
        rounds, lower = _from_start(own, prefix, f"{stem}{low}")
        _, upper = _from_start(own, prefix, f"{stem}{high}")
        axis.fill_between(rounds, lower, upper, color=COLOURS[0], alpha=alpha, linewidth=0, label=str(band))


def _draw_stories(axis: Axes, forecast: Forecast, prefix: str) -> None:
    """Draw what the plan brings by each story, if several remain."""
    if forecast.story_rounds["story"].nunique() < 2:
        return
    for number, (story, own) in enumerate(forecast.story_rounds.groupby("story", sort=False)):
        line = _from_start(own, prefix, prefix)
        label = str(say("the plan, if {story}", story=short_story(str(story))))
        axis.plot(*line, color=COLOURS[0], linewidth=1.0, marker="^vs"[number % 3], markersize=4, label=label)


def _from_start(own: pd.DataFrame, prefix: str, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rounds and values; totals start from 0 in round 0."""
    rounds, values = own["round"].to_numpy(dtype=np.float64), own[column].to_numpy(dtype=np.float64)
    return (np.append(0.0, rounds), np.append(0.0, values)) if prefix == "total" else (rounds, values)


def date_figure(forecast: DateForecast, *, narrow: bool = False) -> Figure:
    """Draw people so far by date, with the target, and interviews by week, with open coupons and the queue."""
    figure, (totals, weeks) = two_panels(narrow)
    if forecast.still_wanted:
        assert forecast.target is not None, "something is wanted"
        totals.axhline(
            forecast.target,
            color="black",
            linewidth=1.2,
            linestyle=_TARGET,
            label=str(say("target: {target:,}", target=forecast.target)),
        )
    for number, row in enumerate(_drawn(forecast)):
        own = forecast.weeks[forecast.weeks["policy"] == row.policy]
        days = np.array([forecast.today.isoformat(), *own["until"]], dtype="datetime64[D]")
        style: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "linestyle": STYLES[number % len(STYLES)],
            "linewidth": 2.4 if number == 0 else 1.6,
        }
        if number == 0:
            for low, high, alpha, band in _BANDS:
                lower, upper = (forecast.already + np.append(0.0, own[f"total_{end}"]) for end in (low, high))
                totals.fill_between(days, lower, upper, color=COLOURS[0], alpha=alpha, linewidth=0, label=str(band))
                weeks.fill_between(days[1:], own[low], own[high], color=COLOURS[0], alpha=alpha, linewidth=0)
        label = label_of(row.described, narrow)
        totals.plot(days, forecast.already + np.append(0.0, own["total"]), label=label, **style)
        weeks.plot(days[1:], own["interviews"], **style)
    _draw_queue(weeks, forecast)
    totals.set(title=str(say("People who have taken part")), ylabel=str(say("people")))
    weeks.set(title=str(say("Interviews by week (at its last day)")), ylabel=str(say("interviews a week")))
    for axis in (totals, weeks):
        by_date(axis, narrow)
    weeks.set_ylim(bottom=0)
    handles = [*totals.get_legend_handles_labels()[0], *weeks.get_legend_handles_labels()[0]]
    names = [*totals.get_legend_handles_labels()[1], *weeks.get_legend_handles_labels()[1]]
    figure.legend(handles, names, loc="outside lower center", ncols=1 if narrow else 3, frameon=False)
    return figure


def _draw_queue(axis: Axes, forecast: DateForecast) -> None:
    """Draw capacity and queue, if interviews are limited."""
    if forecast.interviews_per_week is None:
        return
    own = forecast.weeks[forecast.weeks["policy"] == forecast.summary["policy"].iloc[0]]
    days = np.array(list(own["until"]), dtype="datetime64[D]")
    axis.axhline(
        forecast.interviews_per_week,
        color="black",
        linewidth=1.0,
        linestyle=(0, (4, 2)),
        label=str(say("{limit:g} interviews a week", limit=forecast.interviews_per_week)),
    )
    axis.plot(
        days, own["queue"], color=COLOURS[4], marker="v", markersize=4, label=str(say("plan: waiting for an interview"))
    )


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
    rows = test.forecasts
    realised, middle = rows["realised"].to_numpy(dtype=float), rows["median"].to_numpy(dtype=float)
    top = max(_MOST_ABOVE * float(realised.max(initial=1.0)), 1.0)
    reach = np.array([np.maximum(middle - rows["p10"], 0.0), np.maximum(rows["p90"] - middle, 0.0)])
    for number, (horizon, own) in enumerate(rows.groupby("horizon", sort=False)):
        at = own.index.to_numpy()
        axis.errorbar(
            realised[at],
            middle[at],
            yerr=reach[:, at],
            fmt="os^D"[number % 4],
            color=COLOURS[2 + number],
            capsize=3,
            label=str(horizon_text(horizon)),
        )
    high = axis.get_xlim()[1]
    axis.plot(
        [0, max(high, 1.0)],
        [0, max(high, 1.0)],
        color="black",
        linewidth=1.0,
        linestyle=(0, (1, 1)),
        label=str(say("forecast = what came")),
    )
    axis.set(
        title=str(say("Forecast against what came")),
        xlabel=str(say("recruits that came")),
        ylabel=str(say("recruits forecast, 8 of 10")),
    )
    axis.set_ylim(0, min(axis.get_ylim()[1], top))
    axis.set_xlim(0, max(high, 1.0))
    axis.grid(alpha=0.3)


# Dates along an axis ------------------------------------------------------------------------------------------------


def by_date(axis: Axes, narrow: bool) -> None:
    """Format the axes: dates below, whole people at the left."""
    axis.grid(alpha=0.3)
    axis.xaxis.set_major_locator(AutoDateLocator(minticks=3, maxticks=5 if narrow else 7))  # type: ignore[no-untyped-call]
    low, high = (num2date(end) for end in axis.get_xlim())  # type: ignore[no-untyped-call]
    axis.xaxis.set_major_formatter(FuncFormatter(lambda place, _: _day_and_month(place)))
    years = say("{first} to {last}", first=low.year, last=high.year)
    axis.set_xlabel(f"{low.year}" if low.year == high.year else str(years))
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))


def _day_and_month(place: float) -> str:
    months = (
        say("Jan"), say("Feb"), say("Mar"), say("Apr"), say("May"), say("Jun"),
        say("Jul"), say("Aug"), say("Sep"), say("Oct"), say("Nov"), say("Dec"),
    )  # fmt: skip
    day = num2date(place)  # type: ignore[no-untyped-call]
    return str(say("{day} {month}", day=day.day, month=months[day.month - 1]))
