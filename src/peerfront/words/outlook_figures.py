"""Pictures of what is to come: forecasts by rounds and by date."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from peerfront.foundation.figures import COLOURS, STYLES, label_of, two_panels
from peerfront.study.date_forecast import DateForecast
from peerfront.study.forecast import Forecast
from peerfront.words.calendar_words import by_date
from peerfront.words.language import say
from peerfront.words.story_phrases import short_story

_TARGET = (0, (1, 1))
_BANDS = ("p10", "p90", 0.18, say("plan, 8 of 10")), ("p25", "p75", 0.28, say("plan, half"))


def forecast_figure(forecast: Forecast, *, narrow: bool = False) -> Figure:
    """Draw recruits so far (the plan's bands, the mean of every policy), and the same by round."""
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
        for number, row in enumerate(forecast.summary.itertuples(index=False)):
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


def _draw_bands(axis: Axes, forecast: Forecast, prefix: str) -> None:
    own = forecast.rounds[forecast.rounds["policy"] == forecast.summary["policy"].iloc[0]]
    stem = "" if prefix == "recruits" else "total_"
    for low, high, alpha, band in _BANDS:
        rounds, lower = _from_start(own, prefix, f"{stem}{low}")
        _, upper = _from_start(own, prefix, f"{stem}{high}")
        axis.fill_between(rounds, lower, upper, color=COLOURS[0], alpha=alpha, linewidth=0, label=str(band))
    if forecast.with_model:
        for end, label in (("p10", str(say("plan, 8 of 10, model unsure too"))), ("p90", None)):
            line = _from_start(own, prefix, f"{stem}with_model_{end}")
            axis.plot(*line, color=COLOURS[0], linewidth=1.0, linestyle=(0, (4, 2)), label=label)


def _draw_stories(axis: Axes, forecast: Forecast, prefix: str) -> None:
    """What the plan brings by each story of what a coupon does, where several are left."""
    if forecast.story_rounds["story"].nunique() < 2:
        return
    for number, (story, own) in enumerate(forecast.story_rounds.groupby("story", sort=False)):
        line = _from_start(own, prefix, prefix)
        label = str(say("the plan, if {story}", story=short_story(str(story))))
        axis.plot(*line, color=COLOURS[0], linewidth=1.0, marker="^v"[number % 2], markersize=4, label=label)


def _from_start(own: pd.DataFrame, prefix: str, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rounds and values; totals start from nothing in round 0."""
    rounds, values = own["round"].to_numpy(dtype=np.float64), own[column].to_numpy(dtype=np.float64)
    return (np.append(0.0, rounds), np.append(0.0, values)) if prefix == "total" else (rounds, values)


def date_figure(forecast: DateForecast, *, narrow: bool = False) -> Figure:
    """Draw people so far by date, with the target, and interviews by week with what is open and queued."""
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
    for number, row in enumerate(forecast.summary.itertuples(index=False)):
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
    """Capacity and queue, where interviews are limited."""
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
