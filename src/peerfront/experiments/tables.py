"""Comparisons as tables a person reads: in Markdown and in the terminal.

Curves like the paper's figure: rounds along, cumulative reward above, cumulative recruits below, bands of +-1 SE.
"""

import math
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from peerfront.experiments.results import Results, Run, estimate
from peerfront.foundation.figures import COLOURS, STYLES, new_figure, rendered
from peerfront.foundation.files import write_bytes

BOUND_ROW = "upper bound"
_TITLES = {"discounted_reward": "Discounted reward", "recruits": "Recruits"}


def _number(mean: float, error: float) -> str:
    return f"{mean:.1f}" if math.isnan(error) else f"{mean:.1f} ± {error:.1f}"


def _interval(row: pd.Series) -> str:
    return (
        f"{row['mean']:+.1f}"
        if math.isnan(row["low"])
        else f"{row['mean']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]"
    )


def mean_tables(results: Results) -> list[tuple[str, list[str], list[list[str]]]]:
    """(title, header, rows) for each world and metric: a row per policy, a column per discount."""
    means = results.summary
    found = []
    for world in results.worlds:
        for metric, title in _TITLES.items():
            part = means[(means["world"] == world) & (means["metric"] == metric)]
            cells = {
                (row["policy"], row["discount"]): _number(row["mean"], row["standard_error"])
                for _, row in part.iterrows()
            }
            names = results.policies
            if metric == "discounted_reward" and results.bounds is not None:
                names = (*names, BOUND_ROW)
                cells |= {(BOUND_ROW, discount): text for discount, text in _bound_cells(results.bounds, world)}
            found.append((f"{title} in {world}", *_layout(results, names, cells)))
    return found


def _bound_cells(bounds: pd.DataFrame, world: str) -> list[tuple[float, str]]:
    own = bounds[bounds["world"] == world]
    found = []
    for discount, part in own.groupby("discount", sort=False):
        mean = estimate(part["bound"].to_numpy(dtype=float), part["draw"].to_numpy())
        found.append((float(str(discount)), _number(mean.mean, mean.standard_error)))
    return found


def difference_tables(results: Results, against: str | None = None) -> list[tuple[str, list[str], list[list[str]]]]:
    """Paired differences in discounted reward to one policy (the first unless named), with 95% intervals."""
    reference = against or results.policies[0]
    others = tuple(policy for policy in results.policies if policy != reference)
    if not others:
        return []
    pairs = results.differences
    pairs = pairs[pairs["metric"] == "discounted_reward"]
    flipped = pairs.rename(columns={"policy": "against", "against": "policy"})
    flipped = flipped.assign(mean=-flipped["mean"], low=-flipped["high"], high=-flipped["low"])
    both = pd.concat([pairs, flipped], ignore_index=True)
    found = []
    for world in results.worlds:
        part = both[(both["world"] == world) & (both["against"] == reference)]
        cells = {(row["policy"], row["discount"]): _interval(row) for _, row in part.iterrows()}
        title = f"Discounted reward above {reference} in {world}, paired, 95% intervals"
        found.append((title, *_layout(results, others, cells)))
    return found


def _layout(
    results: Results, policies: tuple[str, ...], cells: dict[tuple[str, float], str]
) -> tuple[list[str], list[list[str]]]:
    discounts = results.comparison.discounts
    header = ["policy", *(f"discount {discount:g}" for discount in discounts)]
    return header, [[policy, *(cells[policy, discount] for discount in discounts)] for policy in policies]


def markdown_report(results: Results, against: str | None = None) -> str:
    """What was compared, the means, and the paired differences."""
    asked = results.comparison
    rules = asked.rules
    caps = "".join(
        f", at most {cap} coupons a {kind}"
        for cap, kind in ((rules.max_per_person, "person"), (rules.max_per_round, "round"))
        if cap is not None
    )
    lines = [
        "# Comparison",
        "",
        f"{rules.budget} coupons, {rules.people} people at the start, at most {rules.rounds} rounds{caps}. "
        f"{asked.episodes} episodes in each of {len(asked.draws)} draw{'s' if len(asked.draws) > 1 else ''}, "
        f"the same people with the same luck for every policy (seed {asked.seed}). Policies plan with "
        + (
            "the true models."
            if asked.models == "oracle"
            else f"models fitted to a simulated history ({asked.models})."
        ),
        "Means ± standard errors"
        + (
            f"; with {len(asked.draws)} draws these come from the spread between draws."
            if len(asked.draws) > 1
            else " over episodes of this one draw."
        ),
    ]
    if results.bounds is not None:
        lines += ["", "No policy, whatever it knows of the true models, can expect more than the upper bound."]
    for title, header, rows in [*mean_tables(results), *difference_tables(results, against)]:
        lines += ["", f"## {title}", "", markdown_table(header, rows)]
    return "\n".join(lines) + "\n"


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def terminal_tables(results: Results, against: str | None = None) -> list[Group]:
    """The same tables for the terminal, each below its title."""
    found = []
    for title, header, rows in [*mean_tables(results), *difference_tables(results, against)]:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column(header[0], overflow="fold", min_width=8)
        cells = [[cell.replace(" [", "\n[") for cell in row] for row in rows]  # intervals below: narrower
        for number, name in enumerate(header[1:], start=1):
            widest = max(len(line) for row in cells for line in row[number].split("\n"))
            # Numbers are never cut short; a long name is folded instead.
            table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True, min_width=widest)
        for row in cells:
            table.add_row(*(Text(cell) for cell in row))
        found.append(Group(Text(f"\n{title}", style="bold"), table))
    return found


def save_curves(results: Results, folder: Path) -> None:
    """`curves-WORLD.png` and `.svg` for each world."""
    for number, world in enumerate(results.worlds):
        figure = curves(results, world)
        name = world.partition(":")[0]
        if sum(other.partition(":")[0] == name for other in results.worlds) > 1:
            name = f"{name}-{number + 1}"
        for kind in ("png", "svg"):
            write_bytes(folder / f"curves-{name}.{kind}", rendered(figure, kind))


def curves(results: Results, world: str, shown: Collection[str] | None = None) -> Figure:
    """One column per discount, two rows; of all policies, or of those in `shown`."""
    discounts = results.comparison.discounts
    policies = [policy for policy in results.policies if shown is None or policy in shown]
    runs = [run for run in results.runs if run.world == world and run.policy in policies]
    last = max(1, *(run.trajectories.recruits.shape[1] for run in runs))
    figure = new_figure(2.2 + 2.9 * len(discounts), 6.2)
    axes = figure.subplots(2, len(discounts), sharex=True, sharey="row", squeeze=False)
    for column, discount in enumerate(discounts):
        for p, policy in enumerate(policies):
            chosen = [run for run in runs if run.policy == policy and run.discount == discount]
            style = {"color": COLOURS[p % len(COLOURS)], "linestyle": STYLES[p % len(STYLES)]}
            for row, weight in enumerate((discount, 1.0)):
                mean, error = _cumulative(chosen, weight, last)
                rounds = np.arange(last + 1)
                axes[row, column].plot(rounds, mean, label=policy, linewidth=1.8, **style)
                axes[row, column].fill_between(
                    rounds, mean - error, mean + error, color=style["color"], alpha=0.2, linewidth=0
                )
        axes[0, column].set_title(f"discount {discount:g}")
        axes[1, column].set_xlabel("rounds played")
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.set_xlim(0, last)
        axis.set_ylim(bottom=0)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0, 0].set_ylabel("discounted reward so far")
    axes[1, 0].set_ylabel("recruits so far")
    figure.suptitle(f"{world}: mean ± 1 standard error")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(policies), 5), frameon=False)
    return figure


def learning_curves(learning: pd.DataFrame, title: str, window: int = 25) -> Figure:
    """What policies earned while they learned (`Results.learning`): means over draws and `window` episodes."""
    discounts = list(dict.fromkeys(learning["discount"]))
    window = min(window, int(learning["episode"].max()) + 1)
    figure = new_figure(2.2 + 2.9 * len(discounts), 3.6)
    axes = figure.subplots(1, len(discounts), sharey=True, squeeze=False)[0]
    for axis, discount in zip(axes, discounts, strict=True):
        part = learning[learning["discount"] == discount]
        for p, (policy, rows) in enumerate(part.groupby("policy", sort=False)):
            mean = rows.groupby("episode")["discounted_reward"].mean().rolling(window).mean()
            axis.plot(mean.index + 1, mean, label=policy, color=COLOURS[p], linestyle=STYLES[p], linewidth=1.8)
        axis.set_title(f"discount {discount:g}")
        axis.set_xlabel("training episode")
        axis.grid(alpha=0.3)
        axis.set_xlim(left=0)
    axes[0].set_ylim(bottom=0)  # of all, once all are drawn
    axes[0].set_ylabel("discounted reward")
    figure.suptitle(f"{title}: while learning, mean of the last {window} episodes")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _cumulative(runs: list[Run], discount: float, last: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard error of what the first t rounds earned, t = 0 .. last; flat after an episode's end."""
    parts, draws = [], []
    for run in runs:
        recruits = run.trajectories.recruits
        earned = np.zeros((len(recruits), last + 1))
        earned[:, 1 : recruits.shape[1] + 1] = recruits * discount ** np.arange(recruits.shape[1])
        parts.append(np.cumsum(earned, axis=1))
        draws.append(np.full(len(recruits), run.draw))
    so_far, clusters = np.concatenate(parts), np.concatenate(draws)
    found = [estimate(so_far[:, t], clusters) for t in range(last + 1)]
    return np.array([e.mean for e in found]), np.nan_to_num(np.array([e.standard_error for e in found]))
