"""The results of a comparison: tidy tables, and curves like the paper's figure.

The curves have rounds along, cumulative reward above, cumulative recruits below, and bands of +-1 standard error.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.experiments.comparison import BOUND, Comparison, Task, TaskResult, tasks
from peerfront.experiments.tables import differences, estimate, mean_tables, summary
from peerfront.foundation.settings import one_of
from peerfront.foundation.specs import Spec
from peerfront.problem import Ending, Trajectories

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Run:
    """One policy under one discount in one draw of one world."""

    world: str
    draw: int
    policy: str
    discount: float
    prepared: str
    trajectories: Trajectories
    learning: NDArray[np.float64] | None = None  # [training episodes], what it earned while it learned by playing


@dataclass(frozen=True)
class Results:
    """All runs of a comparison, in the order of its settings.

    `table` has the means, `differences` the paired differences, `episodes` what both are made of; `plot()` draws them.

    >>> import peerfront as pf
    >>> results = pf.compare(["boom_bust"], ["constant"], episodes=20, discounts=[1], budget=10)
    >>> results.policies, len(results.episodes)
    (('constant',), 20)
    >>> figure = results.plot()
    """

    comparison: Comparison
    runs: tuple[Run, ...]
    bounds: pd.DataFrame | None = None
    """world, draw, discount, episode, bound, how: upper bounds on every policy, if the comparison has them."""

    @property
    def worlds(self) -> tuple[str, ...]:
        """The labels of the worlds, in order."""
        return tuple(_label(world) for world in self.comparison.worlds)

    @property
    def policies(self) -> tuple[str, ...]:
        """The labels of the policies, in order."""
        return tuple(_label(policy) for policy in self.comparison.policies)

    @classmethod
    def of(cls, comparison: Comparison, finished: Iterable[TaskResult]) -> "Results":
        by_task = {result.task: result for result in finished}
        runs, bounds = [], []
        for task in tasks(comparison):
            result = by_task[task]
            if task.policy == BOUND:
                bounds += _bound_rows(task, result)
                continue
            for number, discount in enumerate(task.discounts):
                place = min(number, len(result.trajectories) - 1)  # the only one, if the policy ignores the discount
                runs.append(
                    Run(
                        world=_label(task.world),
                        draw=task.draw,
                        policy=_label(task.policy),
                        discount=discount,
                        prepared=result.prepared[place],
                        trajectories=result.trajectories[place],
                        learning=result.learning[place],
                    )
                )
        return cls(comparison, tuple(runs), pd.concat(bounds, ignore_index=True) if bounds else None)

    @cached_property
    def episodes(self) -> pd.DataFrame:
        """One row per run and episode."""
        names = {ending.value: ending.name.lower() for ending in Ending}
        return pd.concat(
            [
                pd.DataFrame(
                    {
                        **_columns(run),
                        "episode": np.arange(len(run.trajectories.rounds)),
                        "discounted_reward": run.trajectories.discounted_rewards(run.discount),
                        "recruits": run.trajectories.total_recruits,
                        "spend": run.trajectories.spend.sum(axis=1),
                        "rounds": run.trajectories.rounds,
                        "ending": [names[int(code)] for code in run.trajectories.ending],
                    }
                )
                for run in self.runs
            ],
            ignore_index=True,
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """Means, standard errors and 95% intervals, one row per world, discount, policy and metric."""
        return summary(self.episodes)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Paired differences between policies, one row per world, discount, metric and pair."""
        return differences(self.episodes)

    def plot(self, world: str | None = None) -> "Figure":
        """A Matplotlib figure of the curves in a world (the first unless named)."""
        return curves(self, self.worlds[0] if world is None else one_of("world here", world, self.worlds))

    def _repr_html_(self) -> str:
        from peerfront.foundation.words import as_html

        tables = [(title, pd.DataFrame(rows, columns=header)) for title, header, rows in mean_tables(self)]
        return "".join(as_html([title]) + as_html([], table) for title, table in tables)

    def rounds(self) -> pd.DataFrame:
        """One row per run, episode and round played."""
        return pd.concat([_round_rows(run) for run in self.runs], ignore_index=True)

    def prepared(self) -> pd.DataFrame:
        """What each policy was after its preparation (a tuned threshold's values, for example)."""
        return pd.DataFrame([{**_columns(run), "prepared": run.prepared} for run in self.runs])

    def learning(self) -> pd.DataFrame:
        """What policies that learn by playing earned meanwhile, one row per run and training episode."""
        rows = [
            pd.DataFrame({**_columns(run), "episode": np.arange(len(run.learning)), "discounted_reward": run.learning})
            for run in self.runs
            if run.learning is not None
        ]
        columns = ["world", "draw", "policy", "discount", "episode", "discounted_reward"]
        return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=columns)


def _label(spec: str) -> str:
    return Spec.parse(spec).label


def _bound_rows(task: Task, result: TaskResult) -> list[pd.DataFrame]:
    return [
        pd.DataFrame(
            {
                "world": _label(task.world),
                "draw": task.draw,
                "discount": discount,
                "episode": np.arange(len(bounds)),
                "bound": bounds,
                "how": how,
            }
        )
        for discount, bounds, how in zip(task.discounts, result.bounds, result.prepared, strict=True)
    ]


def _columns(run: Run) -> dict[str, Any]:
    return {"world": run.world, "draw": run.draw, "policy": run.policy, "discount": run.discount}


def _round_rows(run: Run) -> pd.DataFrame:
    played = run.trajectories
    episode, number = np.nonzero(np.arange(played.recruits.shape[1]) < played.rounds[:, None])
    return pd.DataFrame(
        {
            **_columns(run),
            "episode": episode,
            "round": number,
            "frontier": played.frontier[episode, number],
            "spend": played.spend[episode, number],
            "recruits": played.recruits[episode, number],
        }
    )


def curves(results: Results, world: str, shown: Collection[str] | None = None) -> "Figure":
    """One column per discount, two rows; of all policies, or of those in `shown`."""
    from matplotlib.ticker import MaxNLocator

    from peerfront.foundation.figures import COLOURS, STYLES, new_figure

    discounts = results.comparison.discounts
    policies = [policy for policy in results.policies if shown is None or policy in shown]
    runs = [run for run in results.runs if run.world == world and run.policy in policies]
    last = max(1, *(run.trajectories.recruits.shape[1] for run in runs))
    figure = new_figure(2.2 + 2.9 * len(discounts), 6.2)
    axes = figure.subplots(2, len(discounts), sharex=True, sharey="row", squeeze=False)
    for column, discount in enumerate(discounts):
        for p, policy in enumerate(policies):
            own = [run for run in runs if run.policy == policy and run.discount == discount]
            style = {"color": COLOURS[p % len(COLOURS)], "linestyle": STYLES[p % len(STYLES)]}
            for row, weight in enumerate((discount, 1.0)):
                mean, error = _cumulative(own, weight, last)
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
    means = [estimate(so_far[:, t], clusters) for t in range(last + 1)]
    return np.array([e.mean for e in means]), np.nan_to_num(np.array([e.standard_error for e in means]))
