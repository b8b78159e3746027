"""Comparisons in words: tables for a terminal, a notebook and Markdown, and curves like the paper's figure.

The curves show cumulative reward (above) and cumulative recruits (below) by round, with bands of 95%.
"""

import math
from collections.abc import Collection
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.experiments.comparison import Comparison
from peerfront.experiments.results import Results, Run, estimate
from peerfront.foundation.files import write_bytes, write_text
from peerfront.foundation.messages import Measured
from peerfront.foundation.pictures import rendered
from peerfront.foundation.shown import visible
from peerfront.words.language import Text, joined, say, say_n
from peerfront.words.result_table import ResultTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT, LATEX = "table.md", "table.tex"
_BOUND = "bound"


# Tables ----------------------------------------------------------------------------------------------------------


def mean_tables(results: Results) -> list[ResultTable]:
    """A table for each world and metric: a row per policy, a column per discount."""
    means, tables = results.table, []
    for world in results.worlds:
        titles = {
            "discounted_reward": say("Discounted reward in {world}, 95% intervals", world=world),
            "recruits": say("Recruits in {world}, 95% intervals", world=world),
        }
        for metric, title in titles.items():
            part = means[(means["world"] == world) & (means["metric"] == metric)]
            cells = {
                (row["policy"], row["discount"]): f"{Measured(row['mean'], row['high'] - row['mean']):.1f}"
                for _, row in part.iterrows()
            }
            names = results.policies
            if metric == "discounted_reward" and results.bounds is not None:
                names = (*names, _BOUND)
                cells |= {(_BOUND, discount): text for discount, text in _bound_cells(results.bounds, world)}
            tables.append(_table(title, results, names, cells))
    return tables


def difference_tables(results: Results, against: str | None = None) -> list[ResultTable]:
    """Paired differences in discounted reward from one policy (by default the first), with 95% intervals."""
    reference = against or results.policies[0]
    others = tuple(policy for policy in results.policies if policy != reference)
    if not others:
        return []
    pairs = results.differences
    pairs = pairs[pairs["metric"] == "discounted_reward"]
    flipped = pairs.rename(columns={"policy": "against", "against": "policy"})
    flipped = flipped.assign(mean=-flipped["mean"], low=-flipped["high"], high=-flipped["low"])
    both = pd.concat([pairs, flipped], ignore_index=True)
    tables = []
    for world in results.worlds:
        part = both[(both["world"] == world) & (both["against"] == reference)]
        cells = {(row["policy"], row["discount"]): _interval(row) for _, row in part.iterrows()}
        title = say("Discounted reward above {policy} in {world}, paired, 95% intervals", policy=reference, world=world)
        tables.append(_table(title, results, others, cells))
    return tables


def _table(
    title: Text, results: Results, policies: tuple[str, ...], cells: dict[tuple[str, float], str]
) -> ResultTable:
    discounts = results.comparison.discounts
    headings = (say("policy"), *(say("discount {discount:g}", discount=discount) for discount in discounts))
    names = [say("upper bound") if policy == _BOUND else policy for policy in policies]
    rows = [
        (name, *(cells[policy, discount] for discount in discounts))
        for name, policy in zip(names, policies, strict=True)
    ]
    return ResultTable(title, headings, tuple(rows))


def _interval(row: pd.Series) -> str:
    if math.isnan(row["low"]):
        return f"{row['mean']:+.1f}"
    return f"{row['mean']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]"


def _bound_cells(bounds: pd.DataFrame, world: str) -> list[tuple[float, str]]:
    cells = []
    for discount, part in bounds[bounds["world"] == world].groupby("discount", sort=False):
        mean = estimate(part["bound"].to_numpy(dtype=float), part["draw"].to_numpy())
        cells.append((float(str(discount)), f"{Measured(mean.mean, mean.high - mean.mean):.1f}"))
    return cells


def as_text(results: Results) -> str:
    """The tables of means as plain text."""
    return "\n\n".join(f"{table.title}\n{_frame(table).to_string(index=False)}" for table in mean_tables(results))


def as_html(results: Results) -> str:
    """The tables of means as HTML for a notebook."""
    return "".join(f"<p>{escape(str(table.title))}</p>{_html(table)}" for table in mean_tables(results))


def _html(table: ResultTable) -> str:
    return visible(_frame(table).to_html(index=False, border=0), 10**8)


def _frame(table: ResultTable) -> pd.DataFrame:
    return pd.DataFrame([[str(cell) for cell in row] for row in table.rows], columns=list(map(str, table.headings)))


# The report ------------------------------------------------------------------------------------------------------


def write_report(results: Results, folder: Path, against: str | None = None) -> None:
    """Write the tables as Markdown and LaTeX, and the curves of each world as PNG and SVG."""
    write_text(folder / REPORT, markdown_report(results, against))
    write_text(folder / LATEX, latex_report(results, against))
    for number, world in enumerate(results.worlds):
        figure = curves(results, world)
        name = world.partition(":")[0]
        if sum(other.partition(":")[0] == name for other in results.worlds) > 1:
            name = f"{name}-{number + 1}"
        for kind in ("png", "svg"):
            write_bytes(folder / f"curves-{name}.{kind}", rendered(figure, kind))


def markdown_report(results: Results, against: str | None = None) -> str:
    """The comparison in Markdown: its conditions, the means, and the paired differences."""
    comparison = results.comparison
    intervals = say("Means with 95% intervals over episodes of this one draw.")
    if (draws := len(comparison.draws)) > 1:
        intervals = say("Means with 95% intervals, from the spread between {n} draws.", n=draws)
    lines = [f"# {say('Comparison')}", "", str(_conditions(comparison)), str(intervals)]
    if results.bounds is not None:
        lines += [
            "",
            str(say("No policy, whatever it knows of the true models, can expect more than the upper bound.")),
        ]
    for table in [*mean_tables(results), *difference_tables(results, against)]:
        lines += ["", f"## {table.title}", "", markdown_table(table.headings, table.rows)]
    return "\n".join(lines) + "\n"


def latex_report(results: Results, against: str | None = None) -> str:
    """The same tables in LaTeX (booktabs), one after another; the conditions are a comment."""
    text = [f"% {_conditions(results.comparison)}"]
    for table in [*mean_tables(results), *difference_tables(results, against)]:
        text += ["", f"% {table.title}", rf"\begin{{tabular}}{{l{'r' * (len(table.headings) - 1)}}}", r"\toprule"]
        rows = [" & ".join(in_latex(str(cell)) for cell in row) + r" \\" for row in (table.headings, *table.rows)]
        text += [rows[0], r"\midrule", *rows[1:], r"\bottomrule", r"\end{tabular}"]
    return "\n".join(text) + "\n"


_LATEX_SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "<": "$<$", ">": "$>$",
    "[": "{[}",  # after the end of a row it would begin a length
}  # fmt: skip


def in_latex(text: str) -> str:
    """Text whose signs LaTeX does not take for commands."""
    return "".join(_LATEX_SIGNS.get(sign, sign) for sign in text)


def _conditions(comparison: Comparison) -> Text:
    """The conditions of every policy: coupons, people, rounds, episodes and models."""
    rules = comparison.rules
    conditions = [
        say("{coupons} coupons", coupons=rules.budget),
        say("{people} people at the start", people=rules.people),
        say("at most {rounds} rounds", rounds=rules.rounds),
    ]
    if rules.max_per_person is not None:
        conditions.append(say("at most {most} coupons a person", most=rules.max_per_person))
    if rules.max_per_round is not None:
        conditions.append(say("at most {most} coupons a round", most=rules.max_per_round))
    played = say(
        "{episodes} episodes in each of {draws}, the same people with the same luck for every policy (seed {seed}).",
        episodes=comparison.episodes,
        draws=say_n("{n} draw", "{n} draws", len(comparison.draws)),
        seed=comparison.seed,
    )
    models = say("Policies plan with the true models.")
    if comparison.models != "oracle":
        models = say("Policies plan with models fitted to a simulated history ({models}).", models=comparison.models)
    return joined([say("{conditions}.", conditions=conditions), played, models])


def markdown_table(header: Collection[object], rows: Collection[Collection[object]]) -> str:
    """A Markdown table whose first column holds names, and the others numbers."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [header, rule, *rows])


# Curves ----------------------------------------------------------------------------------------------------------


def curves(results: Results, world: str, only: Collection[str] | None = None) -> "Figure":
    """Draw the curves of all policies, or of those in `only`: one column per discount, two rows."""
    from matplotlib.ticker import MaxNLocator

    from peerfront.foundation.pictures import COLOURS, STYLES, new_figure

    discounts = results.comparison.discounts
    policies = [policy for policy in results.policies if only is None or policy in only]
    runs = [run for run in results.runs if run.world == world and run.policy in policies]
    last = max(1, *(run.trajectories.recruits.shape[1] for run in runs))
    figure = new_figure(2.2 + 2.9 * len(discounts), 6.2)
    axes = figure.subplots(2, len(discounts), sharex=True, sharey="row", squeeze=False)
    for column, discount in enumerate(discounts):
        for p, policy in enumerate(policies):
            own = [run for run in runs if run.policy == policy and run.discount == discount]
            style = {"color": COLOURS[p % len(COLOURS)], "linestyle": STYLES[p % len(STYLES)]}
            for row, weight in enumerate((discount, 1.0)):
                mean, low, high = _cumulative(own, weight, last)
                rounds = np.arange(last + 1)
                axes[row, column].plot(rounds, mean, label=policy, linewidth=1.8, **style)
                axes[row, column].fill_between(rounds, low, high, color=style["color"], alpha=0.2, linewidth=0)
        axes[0, column].set_title(str(say("discount {discount:g}", discount=discount)))
        axes[1, column].set_xlabel(str(say("rounds played")))
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.set_xlim(0, last)
        axis.set_ylim(bottom=0)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0, 0].set_ylabel(str(say("discounted reward so far")))
    axes[1, 0].set_ylabel(str(say("recruits so far")))
    figure.suptitle(str(say("{world}: means with 95% intervals", world=world)))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(policies), 5), frameon=False)
    return figure


def _cumulative(runs: list[Run], discount: float, last: int) -> NDArray[np.float64]:
    """Mean and 95% interval of the sum over the first t rounds, [3, last + 1]; constant after an episode's end."""
    parts, draws = [], []
    for run in runs:
        recruits = run.trajectories.recruits
        earned = np.zeros((len(recruits), last + 1))
        earned[:, 1 : recruits.shape[1] + 1] = recruits * discount ** np.arange(recruits.shape[1])
        parts.append(np.cumsum(earned, axis=1))
        draws.append(np.full(len(recruits), run.draw))
    so_far, clusters = np.concatenate(parts), np.concatenate(draws)
    means = [estimate(so_far[:, t], clusters) for t in range(last + 1)]
    return np.array([[e.mean for e in means], [e.low for e in means], [e.high for e in means]])
