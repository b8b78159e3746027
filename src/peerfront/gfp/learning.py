"""A learned planner and a report on it: what both ways of learning a value return."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.states import StateBatch, sampled_recruits
from peerfront.gfp.surrogate import Array, FrozenSurrogate, LaplaceNetwork, learned_networks
from peerfront.problem import OffspringModel, Policy, Rules, World, rollout


@dataclass(frozen=True)
class Candidate:
    """A policy that learning could keep, and what it earned in the episodes in which all candidates were compared."""

    name: str
    earned: float
    """Mean discounted reward."""
    behind: float
    """Mean paired difference to the policy that was kept: how much less this one earned; 0 for the kept one."""
    behind_error: float
    """Standard error of that difference."""
    is_planner: bool
    """Whether this is a planner with a learned value, or the simple rule that learning started from."""
    kept: bool

    def line(self) -> str:
        """The candidate in words."""
        if self.kept:
            return f"{self.name}: {self.earned:.2f}, the best, so this one is kept"
        return f"{self.name}: {self.earned:.2f} ({self.behind:.2f} +- {self.behind_error:.2f} less)"


@dataclass(frozen=True)
class ValueReport:
    """What was learned, measured in the world it was learned in."""

    method: str
    iterations: int
    """Rounds of policy iteration, or gradient steps of fitted value iteration."""
    residual: float
    """Root mean square error of V against its targets, as a share of the budget."""
    coverage: tuple[float, float, float]
    """Coverage z of the states learned from: lower decile, median, upper decile over states and coordinates."""
    uncovered: float
    """Mean Laplace embedding of the people learned from."""
    uncovered_spread: float
    """Its standard deviation between people: 0 means that everybody looks alike to the planner."""
    embedding_error: float
    """Mean error of the Laplace network against embeddings of 500 sampled recruits each, on 40 people met."""
    promised: float
    """Mean of V on first frontiers."""
    simulated: float
    """What the planner then earns from them, in simulation."""
    simulated_error: float
    history: tuple[tuple[str, float], ...]
    """What was measured on the way: (what, how much)."""
    candidates: tuple[Candidate, ...] = ()
    """All policies that could have been kept, the simple rule first; empty where there was no choice."""
    compared_episodes: int = 0
    """Fresh paired episodes in which the candidates were compared."""

    @property
    def kept(self) -> Candidate | None:
        """The candidate that earned most; None where there was no choice."""
        return next((each for each in self.candidates if each.kept), None)

    @property
    def best_planner(self) -> Candidate | None:
        """The planner that earned most: the one this report measures; None where there was no choice."""
        planners = [each for each in self.candidates if each.is_planner]
        return min(planners, key=lambda each: each.behind, default=None)

    def lines(self) -> list[str]:
        """The report in words."""
        low, middle, high = self.coverage
        return [
            f"{self.method}, {self.iterations} iterations",
            f"V against its targets: off by {self.residual:.1%} of the budget (root mean square)",
            f"coverage z on the states learned from: {low:.2f} / {middle:.2f} / {high:.2f} (deciles 1, 5, 9)",
            f"Laplace embeddings: {self.uncovered:.2f} on average, spread {self.uncovered_spread:.3f} between people; "
            f"the network is off by {self.embedding_error:.3f}",
            f"first frontiers: V promises {self.promised:.1f}, simulation gives {self.simulated:.1f} "
            f"+- {self.simulated_error:.1f}",
            *self._measured_lines(),
        ]

    def _measured_lines(self) -> list[str]:
        if not self.candidates:
            return [f"{what}: {value:.2f}" for what, value in self.history]
        compared = f"candidates, in {self.compared_episodes} episodes that served neither learning nor tuning:"
        return [compared, *(f"  {each.line()}" for each in self.candidates)]


@dataclass(frozen=True, eq=False)
class LearnedPlanner:
    """The best planner, how it was learned, and the simple rule that did better, if one did."""

    planner: Planner
    """The best of the learned planners: plans with reasons, can be saved."""
    report: ValueReport
    rule: Policy | None = None
    """The simple rule that learning started from, if it earned more than every planner."""
    candidates: Mapping[str, Policy] = field(default_factory=dict)
    """Every policy that could have been kept, by its name in the report."""

    @property
    def policy(self) -> Policy:
        """The best of all candidates: what to play."""
        return self.planner if self.rule is None else self.rule


def earned(world: World, policy: Policy, rules: Rules, discount: float, episodes: Luck) -> Array:
    """Discounted rewards of one policy in these episodes; the same luck for every policy makes differences paired."""
    return rollout(world, policy, rules, episodes).discounted_rewards(discount)


def compared(rewards: Mapping[str, Array], rule: str) -> tuple[Candidate, ...]:
    """The candidates of these names, of which `rule` is no planner; the largest mean is kept, a planner if equal.

    `rewards` are discounted rewards in the same episodes for everybody, [episodes] each.
    """
    best = max(rewards, key=lambda name: (float(rewards[name].mean()), name != rule))
    candidates = []
    for name, earned_by_it in rewards.items():
        gaps = rewards[best] - earned_by_it
        error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else 0.0
        means = float(earned_by_it.mean()), float(gaps.mean())
        candidates.append(Candidate(name, *means, error, is_planner=name != rule, kept=name == best))
    return tuple(candidates)


def report_on(
    planner: Planner,
    world: World,
    rules: Rules,
    states: StateBatch,
    targets: Array,
    *,
    method: str,
    iterations: int,
    history: Sequence[tuple[str, float]],
    seed: int,
    episodes: int = 200,
    candidates: tuple[Candidate, ...] = (),
    compared_episodes: int = 0,
) -> ValueReport:
    """Measure what was learned; `episodes` are those of the promise's check."""
    surrogate, laplace = learned_networks(planner.story)
    inputs = surrogate.inputs
    rows = inputs.rows(states.covariates)
    values = surrogate.values(states.budgets, rows, states.first, states.rounds_left)
    covered = np.add.reduceat(surrogate.coverage(rows), states.first[:-1], axis=0)
    low, middle, high = np.quantile(covered, [0.1, 0.5, 0.9])
    judged = _some(states.covariates, 40, named_generator("report", seed))
    sampled = sampled_embeddings(world.offspring, surrogate, judged, 500, named_luck(("report", seed), len(judged)))
    error = embedding_error(laplace, sampled, judged)
    luck = named_luck(("report", seed, "episodes"), episodes)
    start = world.seeds(luck, rules.people)
    first = np.searchsorted(start.episode, np.arange(episodes + 1))
    budgets, rounds_left = (np.full(episodes, number) for number in (rules.budget, rules.rounds))
    promised = surrogate.values(budgets, inputs.rows(start.covariates), first, rounds_left)
    rewards = earned(world, planner, rules, planner.discount, luck)
    return ValueReport(
        method,
        iterations,
        float(np.sqrt((((values - targets) / np.maximum(states.budgets, 1)) ** 2).mean())),
        (float(low), float(middle), float(high)),
        error["mean"],
        error["spread"],
        error["mean_error"],
        float(promised.mean()),
        float(rewards.mean()),
        float(rewards.std(ddof=1) / np.sqrt(episodes)),
        tuple(history),
        candidates,
        compared_episodes,
    )


def _some(people: Codes, count: int, rng: np.random.Generator) -> Codes:
    return people[rng.choice(len(people), min(count, len(people)), replace=False)]


def laplace_parents(states: StateBatch, count: int, *names: str | int) -> Codes:
    """People to fit the Laplace network on: those the planner meets."""
    return _some(states.covariates, count, named_generator("laplace parents", *names))


def sampled_embeddings(
    offspring: OffspringModel, surrogate: FrozenSurrogate, parents: Codes, samples: int, luck: Luck
) -> Array:
    """alpha by sampling alone, [parents, latent]: the yardstick for the network."""
    children, _ = sampled_recruits(offspring, parents, samples, luck)
    kept = np.exp(-surrogate.coverage(surrogate.inputs.rows(children)))
    means: Array = kept.reshape(len(parents), samples, -1).mean(axis=1)
    return means


def embedding_error(network: LaplaceNetwork, sampled: Array, parents: Codes) -> dict[str, float]:
    """How far the network is from sampled embeddings: mean and largest error, and the spread there is to explain."""
    errors: NDArray[np.float64] = np.abs(network.uncovered(network.inputs.rows(parents)) - sampled)
    return {
        "mean_error": float(errors.mean()),
        "largest_error": float(errors.max()),
        "spread": float(sampled.std(axis=0).mean()),
        "mean": float(sampled.mean()),
    }
