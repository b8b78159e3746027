"""The results of a comparison: tidy tables of means, errors and paired differences.

With one draw the episodes are the sample. With several, each draw is another world and its episodes resemble each
other, so the draws are the sample: the standard error comes from the spread of the draw means, and 95% intervals use
Student's t with (draws - 1) degrees of freedom.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from peerfront.experiments.comparison import BOUND, Comparison, Task, TaskResult, tasks
from peerfront.foundation.checked_calls import checked_class
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import note
from peerfront.foundation.settings import Spec, one_of
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


@checked_class
@dataclass(frozen=True, repr=False)
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
    def of(cls, comparison: Comparison, finished: Sequence[TaskResult]) -> "Results":
        by_task = {result.task: result for result in finished}
        if missing := [task for task in tasks(comparison) if task not in by_task]:
            raise SettingError("comparison.unfinished", n=len(missing))
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
        place = self.worlds[0] if world is None else one_of(note("kinds.world_here"), world, self.worlds)
        figure: Figure = _words().curves(self, place)
        return figure

    def to_latex(self, against: str | None = None) -> str:
        """The tables in LaTeX (booktabs): means, and differences from `against` (the first policy unless named)."""
        if against is not None:
            one_of(note("comparison.compared_policy"), against, self.policies)
        return str(_words().latex_report(self, against))

    def __repr__(self) -> str:
        return str(_words().as_text(self))

    def _repr_html_(self) -> str:
        return str(_words().as_html(self))

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


def _words() -> Any:
    """Tables and pictures for people, which are made above this room when somebody asks for them."""
    return import_module("peerfront.words.comparison_words")


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


# Statistics ------------------------------------------------------------------------------------------------------


METRICS = ("discounted_reward", "recruits")


@dataclass(frozen=True)
class Estimate:
    """A mean and how sure it is."""

    mean: float
    standard_error: float
    low: float
    high: float
    """The ends of the 95% interval."""


def estimate(values: NDArray[np.float64], draws: NDArray[np.int64]) -> Estimate:
    """The mean of `values` [episodes], clustered by `draws` [episodes] when there are several."""
    names, cluster = np.unique(draws, return_inverse=True)
    sample = values if len(names) == 1 else np.bincount(cluster, weights=values) / np.bincount(cluster)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Estimate(mean, float("nan"), float("nan"), float("nan"))
    error = float(sample.std(ddof=1) / np.sqrt(len(sample)))
    reach = float(student.ppf(0.975, len(sample) - 1)) * error
    return Estimate(mean, error, mean - reach, mean + reach)


def summary(episodes: pd.DataFrame) -> pd.DataFrame:
    """One row per world, discount, policy and metric."""
    rows = []
    for (world, discount, policy), group in episodes.groupby(["world", "discount", "policy"], sort=False):
        draws = group["draw"].to_numpy()
        for metric in METRICS:
            mean = estimate(group[metric].to_numpy(dtype=float), draws)
            keys = {"world": world, "discount": discount, "policy": policy, "metric": metric}
            rows.append({**keys, **_estimate_columns(mean, group)})
    return pd.DataFrame(rows)


def differences(episodes: pd.DataFrame) -> pd.DataFrame:
    """Paired differences `policy - against`, one row per world, discount, metric and pair of policies."""
    rows = []
    for (world, discount), group in episodes.groupby(["world", "discount"], sort=False):
        by_policy = {
            policy: part.set_index(["draw", "episode"]).sort_index()
            for policy, part in group.groupby("policy", sort=False)
        }
        for against, policy in combinations(by_policy, 2):
            one, other = by_policy[policy], by_policy[against]
            draws = one.index.get_level_values("draw").to_numpy()
            for metric in METRICS:
                # Same index on both sides: subtraction pairs the same people with the same luck.
                mean = estimate((one[metric] - other[metric]).to_numpy(dtype=float), draws)
                keys = {"world": world, "discount": discount, "policy": policy, "against": against, "metric": metric}
                rows.append({**keys, **_estimate_columns(mean, one.reset_index())})
    columns = ["world", "discount", "policy", "against", "metric", "mean", "standard_error", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, "draws", "episodes"])


def _estimate_columns(of: Estimate, group: pd.DataFrame) -> dict[str, float | int]:
    return {**asdict(of), "draws": int(group["draw"].nunique()), "episodes": len(group)}
