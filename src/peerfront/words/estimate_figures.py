"""Pictures of estimates and of the sample's diagnostics. Categories differ in colour and, for print, in line style."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from peerfront.estimates.estimating import OutcomeEstimates
from peerfront.estimates.sample_diagnostics import Diagnostics
from peerfront.foundation.pictures import COLOURS, STYLES, new_figure
from peerfront.foundation.shown import visible
from peerfront.words.language import say, say_n

_GREY = "#AAAAAA"
_MOST_CATEGORIES = 6


def figures_of(estimates: OutcomeEstimates, diagnostics: Diagnostics, *, narrow: bool = False) -> dict[str, Figure]:
    """All pictures of one outcome, by the name of the file."""
    return {
        "estimates": estimates_figure(estimates, narrow=narrow),
        "convergence": convergence_figure(estimates, diagnostics, narrow=narrow),
        "bottlenecks": bottleneck_figure(estimates, diagnostics, narrow=narrow),
        "seeds": seeds_figure(diagnostics, narrow=narrow),
    }


def estimates_figure(estimates: OutcomeEstimates, *, narrow: bool = False) -> Figure:
    """Draw every estimate for the whole population with its interval; those that are not valid here are grey."""
    table = estimates.table[(estimates.table["group"] == "everybody") & estimates.table["estimate"].notna()]
    shown = _shown(estimates, table)
    table = table[table["category"].isin(shown)].iloc[::-1]
    figure = new_figure(5.4 if narrow else 8.5, 1.3 + 0.3 * max(len(table), 3))
    axis = figure.subplots()
    for place, row in enumerate(table.to_dict("records")):
        colour = COLOURS[0] if row["valid"] else _GREY
        if np.isfinite(row["low"]):
            axis.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=2.0)
        best = row["estimator"] == estimates.verdict.best
        axis.plot(row["estimate"], place, "D" if best else "o", color=COLOURS[1] if best else colour)
    names = [
        _short(f"{_label(row['outcome'], row['category'])}, {row['estimator']}") for row in table.to_dict("records")
    ]
    axis.set_yticks(np.arange(len(table)), names)
    for label, valid in zip(axis.get_yticklabels(), table["valid"], strict=True):
        label.set_color("black" if valid else _GREY)
    _share_axis(axis, estimates, "x")
    what = say("{outcome}: estimates with 95% intervals", outcome=_short(estimates.outcome.name))
    axis.set_title(f"{what}\n{say('(diamond: use this; grey: not valid here)')}", fontsize=9 if narrow else 12)
    axis.grid(axis="x", alpha=0.3)
    return figure


def convergence_figure(estimates: OutcomeEstimates, diagnostics: Diagnostics, *, narrow: bool = False) -> Figure:
    """Draw how the estimate developed as people came."""
    figure = new_figure(5.4 if narrow else 7.2, 4.0)
    axis = figure.subplots()
    for number, category in enumerate(_shown(estimates, diagnostics.convergence)):
        own = diagnostics.convergence[diagnostics.convergence["category"] == category]
        colour = COLOURS[number % len(COLOURS)]
        style = STYLES[number % len(STYLES)]
        axis.plot(
            own["people"], own["estimate"], color=colour, linestyle=style, label=_label(diagnostics.outcome, category)
        )
        axis.axhline(float(own["estimate"].iloc[-1]), color=colour, linewidth=0.6)
    used = estimates.verdict.best or "RDS-II"
    axis.set(
        xlabel=str(say("people so far")),
        ylabel=str(say("estimate ({estimator})", estimator=used)),
        title=str(say("Has the estimate settled?")),
    )
    _finish(figure, axis, estimates)
    return figure


def bottleneck_figure(estimates: OutcomeEstimates, diagnostics: Diagnostics, *, narrow: bool = False) -> Figure:
    """Draw the estimate of one category within each large tree."""
    figure = new_figure(5.4 if narrow else 7.2, 4.0)
    axis = figure.subplots()
    table = diagnostics.bottlenecks
    category = _shown(estimates, table)[0] if len(table) else ""
    for number, (tree, own) in enumerate(table[table["category"] == category].groupby("tree")):
        people = int(own["people"].iloc[-1])
        axis.plot(
            own["people"],
            own["estimate"],
            color=COLOURS[number % len(COLOURS)],
            linestyle=STYLES[number % len(STYLES)],
            label=str(say_n("tree {tree}: {n:,} person", "tree {tree}: {n:,} people", people, tree=tree)),
        )
    if not len(table):
        nothing = str(say("No tree is large enough."))
        axis.text(0.5, 0.5, nothing, ha="center", va="center", transform=axis.transAxes)
    title = say("Do the trees agree?")
    if category not in ("", "mean"):
        title = say("Do the trees agree? ({category})", category=_label(diagnostics.outcome, category))
    axis.set(
        xlabel=str(say("people of the tree so far")),
        ylabel=str(say("estimate within the tree (RDS-II)")),
        title=str(title),
    )
    _finish(figure, axis, estimates)
    return figure


def seeds_figure(diagnostics: Diagnostics, *, narrow: bool = False) -> Figure:
    """Draw the composition by wave, and the composition that recruitment from these seeds approaches."""
    figure = new_figure(5.4 if narrow else 7.2, 4.0)
    axis = figure.subplots()
    table = diagnostics.seeds
    categories = list(dict.fromkeys(table["category"]))
    for number, category in enumerate(categories[1:] if len(categories) == 2 else categories[:_MOST_CATEGORIES]):
        own = table[table["category"] == category]
        colour = COLOURS[number % len(COLOURS)]
        axis.plot(
            own["wave"],
            own["share"],
            "o",
            color=colour,
            label=str(say("{category}, people of the wave", category=_label(diagnostics.outcome, category))),
        )
        axis.plot(
            own["wave"],
            own["expected"],
            color=colour,
            linestyle="--",
            label=str(say("{category}, expected", category=_label(diagnostics.outcome, category))),
        )
        axis.axhline(float(own["equilibrium"].iloc[0]), color=colour, linewidth=0.6)
    axis.set(
        xlabel=str(say("wave (seeds are wave 0)")),
        ylabel=str(say("share of the wave")),
        title=str(say("Do the seeds still matter?")),
    )
    axis.set_ylim(-0.02, 1.02)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=1 if narrow else 2, frameon=False)
    return figure


def _shown(estimates: OutcomeEstimates, table: pd.DataFrame) -> list[str]:
    """Categories to draw: only the second of two (the first is its complement), or the first few of many."""
    there = list(dict.fromkeys(table["category"]))
    if len(estimates.outcome.categories) == 2 and len(there) == 2:
        return there[1:]
    return there[:_MOST_CATEGORIES]


def _share_axis(axis: Axes, estimates: OutcomeEstimates, which: str) -> None:
    if not estimates.outcome.numeric:
        (axis.xaxis if which == "x" else axis.yaxis).set_major_formatter(PercentFormatter(1.0))


def _finish(figure: Figure, axis: Axes, estimates: OutcomeEstimates) -> None:
    _share_axis(axis, estimates, "y")
    axis.grid(alpha=0.3)
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)


def _label(outcome: str, category: str) -> str:
    """A label such as hiv = yes; only the name for a mean or a range of numbers."""
    if category == "mean":
        return _short(outcome)
    return _short(category if category.startswith(outcome) else f"{outcome} = {category}")


def _short(name: str, most: int = 32) -> str:
    name = visible(name, 10 * most).replace("\n", " ")
    return name if len(name) <= most else f"{name[: most - 1]}…"
