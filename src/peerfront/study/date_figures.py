"""Pictures of a forecast by date."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, num2date
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from peerfront.foundation.figures import COLOURS, STYLES
from peerfront.study.figures import label_of, two_panels

if TYPE_CHECKING:
    from peerfront.study.date_forecast import DateForecast

_TARGET = (0, (1, 1))


def date_figure(forecast: "DateForecast", *, narrow: bool = False) -> Figure:
    """Draw people so far by date, with the target, and interviews by week with what is open and queued."""
    figure, (totals, weeks) = two_panels(narrow)
    if forecast.still_wanted:
        assert forecast.target is not None, "something is wanted"
        totals.axhline(
            forecast.target, color="black", linewidth=1.2, linestyle=_TARGET, label=f"target: {forecast.target:,}"
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
            for low, high, alpha, label in (("p10", "p90", 0.18, "plan, 8 of 10"), ("p25", "p75", 0.28, "plan, half")):
                lower, upper = (forecast.already + np.append(0.0, own[f"total_{end}"]) for end in (low, high))
                totals.fill_between(days, lower, upper, color=COLOURS[0], alpha=alpha, linewidth=0, label=label)
                weeks.fill_between(days[1:], own[low], own[high], color=COLOURS[0], alpha=alpha, linewidth=0)
        label = label_of(str(row.described), narrow)
        totals.plot(days, forecast.already + np.append(0.0, own["total"]), label=label, **style)
        weeks.plot(days[1:], own["interviews"], **style)
    _draw_queue(weeks, forecast)
    totals.set(title="People who have taken part", ylabel="people")
    weeks.set(title="Interviews by week (at its last day)", ylabel="interviews a week")
    for axis in (totals, weeks):
        by_date(axis, narrow)
    weeks.set_ylim(bottom=0)
    handles = [*totals.get_legend_handles_labels()[0], *weeks.get_legend_handles_labels()[0]]
    names = [*totals.get_legend_handles_labels()[1], *weeks.get_legend_handles_labels()[1]]
    figure.legend(handles, names, loc="outside lower center", ncols=1 if narrow else 3, frameon=False)
    return figure


def by_date(axis: Axes, narrow: bool) -> None:
    """Dates below, whole people at the left."""
    axis.grid(alpha=0.3)
    axis.xaxis.set_major_locator(AutoDateLocator(minticks=3, maxticks=5 if narrow else 7))  # type: ignore[no-untyped-call]
    low, high = (num2date(end) for end in axis.get_xlim())  # type: ignore[no-untyped-call]
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{num2date(x).day} {num2date(x):%b}"))  # type: ignore[no-untyped-call]
    axis.set_xlabel(f"{low.year}" if low.year == high.year else f"{low.year} to {high.year}")
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_queue(axis: Axes, forecast: "DateForecast") -> None:
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
        label=f"{forecast.interviews_per_week:g} interviews a week",
    )
    axis.plot(days, own["queue"], color=COLOURS[4], marker="v", markersize=4, label="plan: waiting for an interview")
