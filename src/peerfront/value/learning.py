"""A learned planner and a report on it: what both ways of learning a value return."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.allocation.planner import Planner
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.problem import OffspringModel, Policy, Rules, World, rollout
from peerfront.value.states import StateBatch, sampled_recruits
from peerfront.value.surrogate import Array, FrozenSurrogate, LaplaceNetwork, learned_networks


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
            *(f"{what}: {value:.2f}" for what, value in self.history),
        ]


@dataclass(frozen=True, eq=False)
class LearnedPlanner:
    """A planner and how it was learned."""

    planner: Planner
    report: ValueReport


def earned(world: World, policy: Policy, rules: Rules, discount: float, episodes: Luck) -> Array:
    """Discounted rewards of one policy in these episodes; the same luck for every policy makes differences paired."""
    return rollout(world, policy, rules, episodes).discounted_rewards(discount)


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
) -> ValueReport:
    """Measure what was learned; `episodes` are those of the promise's check."""
    surrogate, laplace = learned_networks(planner)
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
