"""Curves like the paper's figure: rounds along, cumulative reward above, cumulative recruits below, bands of +-1 SE."""

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from peerfront.experiments.results import Results, Run
from peerfront.experiments.statistics import estimate
from peerfront.figures import COLOURS, STYLES, new_figure, rendered
from peerfront.files import write_bytes


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
