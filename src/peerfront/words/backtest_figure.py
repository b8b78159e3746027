"""The picture of a back-test: what came, and the fan of each forecast."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from peerfront.foundation.figures import COLOURS, STYLES, two_panels
from peerfront.study.backtest import Backtest
from peerfront.words.calendar_words import by_date

_MOST_ABOVE = 4.0  # times what came; bands that reach further are cut off


def backtest_figure(test: Backtest, *, narrow: bool = False) -> Figure:
    """Draw people by date with the forecasts from each cut, and expected against realised numbers."""
    figure, (lines, dots) = two_panels(narrow)
    _draw_fans(lines, test)
    if test.by_waves or _numbered(test):
        lines.set_xlabel("wave" if test.by_waves else "day")
        lines.grid(alpha=0.3)
        lines.yaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        by_date(lines, narrow)
    lines.set(title="What came, and what was forecast", ylabel="people")
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
        axis.plot(places, people + own["median"], color=colour, linestyle=style, label=f"forecast from {cut}, 8 of 10")
        # New seeds are not forecast, so that each line of what came starts where its forecast does.
        label = "what came" if number == 0 else None
        axis.plot(places, people + own["realised"], color=COLOURS[0], linewidth=2.0, label=label)
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
            label=str(horizon),
        )
    high = axis.get_xlim()[1]
    axis.plot(
        [0, max(high, 1.0)],
        [0, max(high, 1.0)],
        color="black",
        linewidth=1.0,
        linestyle=(0, (1, 1)),
        label="forecast = what came",
    )
    axis.set(title="Forecast against what came", xlabel="recruits that came", ylabel="recruits forecast, 8 of 10")
    axis.set_ylim(0, min(axis.get_ylim()[1], top))
    axis.set_xlim(0, max(high, 1.0))
    axis.grid(alpha=0.3)
