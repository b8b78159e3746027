"""The paper's Table 1 beside ours: one tidy table, and what the comparison shows, as numbers."""

from dataclasses import dataclass, replace

import pandas as pd

from peerfront.experiments.comparison import PAPER_DISCOUNTS
from peerfront.experiments.reproduction import (
    DESCRIBED,
    PAPER_METHODS,
    PUBLISHED,
    PUBLISHED_GFP,
    REPAIRED,
    Reproduction,
)
from peerfront.experiments.results import Estimate, Results, estimate

EPISODES = 20  # of the paper's means and standard errors
REWARD, RECRUITS = "discounted_reward", "recruits"
REPRODUCED_WITHIN = 2.0  # standard errors
IN_TABLE_1 = ("random_split", "budget_dqn", "factorized_rl", "population_dp", PUBLISHED_GFP)
_EARLY_ROUNDS = 4


@dataclass(frozen=True)
class Published:
    """One cell of the paper's Table 1."""

    mean: float
    standard_error: float


def _cells(*cells: tuple[float, float]) -> dict[float, Published]:
    return {discount: Published(*cell) for discount, cell in zip(PAPER_DISCOUNTS, cells, strict=True)}


_RANDOM_RECRUITS = (39.4, 4.4)
TABLE_1: dict[str, dict[str, dict[float, Published]]] = {
    REWARD: {
        "Random": _cells((35.6, 3.9), (37.4, 4.1), (39.0, 4.3), (39.4, 4.4)),
        "Budget-DQN": _cells((65.9, 2.7), (68.4, 1.8), (70.7, 1.6), (72.4, 1.7)),
        "Factorized RL": _cells((57.9, 2.4), (63.0, 3.8), (85.4, 1.8), (90.3, 2.7)),
        "IID-Population DP": _cells((79.4, 1.3), (84.4, 1.2), (88.9, 0.8), (91.3, 1.0)),
        "GFP": _cells((82.5, 1.5), (89.2, 0.9), (96.3, 0.4), (99.5, 0.2)),
    },
    RECRUITS: {
        "Random": _cells(*[_RANDOM_RECRUITS] * 4),
        "Budget-DQN": _cells((72.9, 2.6), (75.8, 1.9), (71.9, 1.6), (72.4, 1.7)),
        "Factorized RL": _cells((75.1, 2.8), (85.2, 5.1), (90.4, 1.8), (90.3, 2.7)),
        "IID-Population DP": _cells((88.5, 1.0), (89.3, 1.1), (90.0, 0.8), (91.3, 1.0)),
        "GFP": _cells((94.5, 1.0), (97.0, 0.6), (98.6, 0.3), (99.5, 0.2)),
    },
}
"""The paper's Table 1: metric -> method -> discount -> cell."""

METRICS = (REWARD, RECRUITS)
BOUND = "upper bound"
METHODS = {
    **{policy: method for method, policy in PAPER_METHODS.items()},
    PUBLISHED_GFP: "GFP, as published",
    "gfp-paper": "GFP, trained to the letter",
    "gfp": "GFP, repaired",
    "gfp-untrained": "GFP, untrained",
    "threshold": "Threshold, tuned",
    "constant": "Constant, 3 each",
    BOUND: "Upper bound",
}
"""How policies are called in a reproduction, in the order of its tables."""
_OTHERWISE_DESCRIBED = {"gfp-paper": "GFP, trained to the letter, with our models"}
"""What they are called where the planning world is the one of our own fits."""


def published_results(reproduction: Reproduction) -> Results | None:
    """Everything played in the published world, as one: the paper's methods with its models, and ours with ours."""
    if PUBLISHED not in reproduction.results:
        return None
    paper, ours = reproduction.results[PUBLISHED], reproduction.results.get(REPAIRED)
    if ours is None:
        return paper
    together = replace(paper.comparison, policies=(*paper.comparison.policies, *ours.comparison.policies))
    return Results(together, (*paper.runs, *ours.runs), ours.bounds)


def reproduction_table(reproduction: Reproduction) -> pd.DataFrame:
    """One row per world, method, metric and discount: the paper's figure, ours by its protocol, and ours."""
    rows = []
    published = published_results(reproduction)
    if published is not None:
        rows += _rows(PUBLISHED, published, published_episodes(reproduction))
    if (described := reproduction.results.get(DESCRIBED)) is not None:
        rows += _rows(DESCRIBED, described, described.episodes.assign(training=1))
    return pd.DataFrame(rows)


def published_episodes(reproduction: Reproduction) -> pd.DataFrame:
    """Every episode played in the published world, with the number of the training it was played after."""
    first = published_results(reproduction)
    trainings = [*([] if first is None else [first]), *later_trainings(reproduction)]
    numbered = [results.episodes.assign(training=number) for number, results in enumerate(trainings, start=1)]
    return pd.concat(numbered, ignore_index=True)


def later_trainings(reproduction: Reproduction) -> list[Results]:
    """What was played after the second and later trainings in the published world."""
    parts = reproduction.plan.parts
    return [reproduction.results[part.name] for part in parts if part.name.startswith(f"{PUBLISHED}, training ")]


def _rows(world: str, results: Results, episodes: pd.DataFrame) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for metric in METRICS:
        for policy, method in METHODS.items():
            for discount in results.comparison.discounts:
                if policy == BOUND:
                    part = _bound_rows(results, discount) if metric == REWARD else None
                else:
                    own = (episodes["policy"] == policy) & (episodes["discount"] == discount)
                    part = episodes[own].rename(columns={metric: "value"})
                if part is not None and len(part):
                    rows.append(_row(world, method, policy, metric, discount, part))
    return rows


def _bound_rows(results: Results, discount: float) -> pd.DataFrame | None:
    if results.bounds is None:
        return None
    return results.bounds[results.bounds["discount"] == discount].rename(columns={"bound": "value"}).assign(training=1)


def _row(world: str, method: str, policy: str, metric: str, discount: float, part: pd.DataFrame) -> dict[str, object]:
    published_as = "GFP" if policy in ("gfp", "gfp-paper", PUBLISHED_GFP) else method
    paper = TABLE_1[metric].get(published_as, {}).get(discount)
    everything = _estimate(part)
    first = (part["draw"] == part["draw"].min()) & (part["training"] == 1)
    short = _estimate(part[first & (part["episode"] < EPISODES)])
    trainings = part.groupby("training")["value"].mean()
    row: dict[str, object] = {
        "world": world,
        "method": _OTHERWISE_DESCRIBED.get(policy, method) if world == DESCRIBED else method,
        "policy": policy,
        "metric": metric,
        "discount": discount,
        "paper": None if paper is None else paper.mean,
        "paper_error": None if paper is None else paper.standard_error,
        f"mean_{EPISODES}": short.mean,
        f"error_{EPISODES}": short.standard_error,
        f"high_{EPISODES}": short.high,
        "mean": everything.mean,
        "error": everything.standard_error,
        "high": everything.high,
        "episodes": len(part),
        "draws": part["draw"].nunique(),
        "trainings": len(trainings),
        "spread": trainings.std(ddof=1) if len(trainings) > 1 else None,
    }
    if paper is not None:
        # How far the paper's figure is from ours, given the noise of both; the paper's rests on one training.
        ours = everything.standard_error if len(trainings) == 1 else float(trainings.std(ddof=1))
        noise = (paper.standard_error**2 + ours**2) ** 0.5
        row["difference_in_errors"] = (everything.mean - paper.mean) / noise
    return row


def _estimate(part: pd.DataFrame) -> Estimate:
    """Clustered by trainings, if there are several, else by draws."""
    cluster = part["training"] if part["training"].nunique() > 1 else part["draw"]
    return estimate(part["value"].to_numpy(dtype=float), cluster.to_numpy())


# What the reproduction shows ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A paired difference in discounted reward, with its 95% interval (NaN where it is not known)."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class MissedCells:
    """Cells of one method in Table 1 that are further from ours than noise explains."""

    method: str
    cells: int
    worst: float
    """The largest distance, in standard errors."""


@dataclass(frozen=True)
class Lead:
    """How far repaired GFP is above the best other method, at one discount."""

    discount: float
    rival: str
    difference: Difference


@dataclass(frozen=True)
class ReproductionFindings:
    """What the reproduction shows; all but the first three in the world of the paper's text."""

    cells: int
    """Of Table 1 that were compared; 0 where the published world was not played."""
    near: int
    """Of those, within `REPRODUCED_WITHIN` standard errors of ours."""
    missed: tuple[MissedCells, ...]
    leads: tuple[Lead, ...]
    """By discount."""
    orders: tuple[tuple[str, ...], ...]
    """The paper's five methods from best to worst, by discount."""
    gains: dict[str, tuple[Difference, ...]]
    """Of GFP trained to the letter and of repaired GFP over the untrained planner, by discount."""
    shares_of_bound: tuple[float, ...]
    """What repaired GFP earns of the upper bound, by discount; empty without a bound."""
    speed: dict[str, tuple[float, float]]
    """Recruits of GFP and population DP after four rounds and in the end, at the largest discount."""


def reproduction_findings(reproduction: Reproduction, table: pd.DataFrame) -> ReproductionFindings:
    """What the reproduction shows, from its results and their table."""
    described = reproduction.results[DESCRIBED]
    discounts = described.comparison.discounts
    part = table[(table["world"] == PUBLISHED) & table["policy"].isin(IN_TABLE_1)]
    near = part["difference_in_errors"].abs() <= REPRODUCED_WITHIN if len(part) else pd.Series(dtype=bool)
    missed = part[~near].groupby("method", sort=False) if len(part) else ()
    trained = ("gfp-paper", "gfp")
    return ReproductionFindings(
        cells=len(part),
        near=int(near.sum()),
        missed=tuple(
            MissedCells(str(method), len(rows), float(rows["difference_in_errors"].abs().max()))
            for method, rows in missed
        ),
        leads=tuple(_lead(described, discount) for discount in discounts),
        orders=tuple(_order(described, discount) for discount in discounts),
        gains={name: tuple(_difference(described, name, "gfp-untrained", d) for d in discounts) for name in trained},
        shares_of_bound=_shares_of_bound(described),
        speed={policy: _speed(described, policy) for policy in ("gfp", "population_dp")},
    )


def _lead(described: Results, discount: float) -> Lead:
    rivals = [policy for policy in described.policies if not policy.startswith("gfp")]
    ahead = {rival: _difference(described, "gfp", rival, discount) for rival in rivals}
    nearest = min(rivals, key=lambda rival: ahead[rival].mean)
    return Lead(discount, nearest, ahead[nearest])


def _order(described: Results, discount: float) -> tuple[str, ...]:
    means = described.table[(described.table["metric"] == REWARD) & (described.table["discount"] == discount)]
    ranked = means.sort_values("mean", ascending=False)["policy"]
    return tuple(policy for policy in ranked if policy in PAPER_METHODS.values())


def _difference(results: Results, policy: str, against: str, discount: float) -> Difference:
    """Policy less the other, in discounted reward."""
    pairs = results.differences
    rows = pairs[(pairs["metric"] == REWARD) & (pairs["discount"] == discount)]
    forward = rows[(rows["policy"] == policy) & (rows["against"] == against)]
    if len(forward):
        row = forward.iloc[0]
        return Difference(float(row["mean"]), float(row["low"]), float(row["high"]))
    row = rows[(rows["policy"] == against) & (rows["against"] == policy)].iloc[0]
    return Difference(-float(row["mean"]), -float(row["high"]), -float(row["low"]))


def _shares_of_bound(described: Results) -> tuple[float, ...]:
    if described.bounds is None:
        return ()
    rewards = described.episodes[described.episodes["policy"] == "gfp"].groupby("discount")["discounted_reward"].mean()
    bounds = described.bounds.groupby("discount")["bound"].mean()
    return tuple(float(rewards[discount] / bounds[discount]) for discount in described.comparison.discounts)


def _speed(described: Results, policy: str) -> tuple[float, float]:
    discount = max(described.comparison.discounts)
    runs = [run for run in described.runs if run.policy == policy and run.discount == discount]
    early = [float(run.trajectories.recruits[:, :_EARLY_ROUNDS].sum(axis=1).mean()) for run in runs]
    final = [float(run.trajectories.total_recruits.mean()) for run in runs]
    return sum(early) / len(runs), sum(final) / len(runs)
