"""A learned planner and a report on it: what both ways of learning a value return.

**Larger problems** (`stretched`). A value for more people and coupons than can be simulated comes from one learned for
fewer. People of the same kinds, n times as many, with n times as many coupons, are n problems side by side, and where
many wait nothing is gained by lending coupons from one to another. So

    V_n(r, F) = n * V(r / n, F with everybody counting as 1 / n of a person):

weights n * w(r / n), coverage h / n, and recruits that leave alpha^(1 / n) uncovered. Plans that treat n alike as n
copies of one are then worth exactly n times as much. What is lost: the smaller problem is more a matter of luck than
the larger, and its value knows that; and r / n between whole numbers of coupons is interpolated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Readable
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.states import StateBatch, sampled_recruits
from peerfront.gfp.surrogate import Array, FrozenSurrogate, LaplaceNetwork, learned_networks
from peerfront.problem import OffspringModel, Policy, Rules, World, rollout

_STRETCHED_FROM = 20_000  # people waiting and coupons together beyond which a smaller problem is simulated
_SIMULATED = 500  # people waiting or coupons of the smaller problem, whichever are fewer


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


@dataclass(frozen=True)
class ValueReport(Readable):
    """What was learned, measured in the world it was learned in."""

    _in_words = "value_report.value_report_lines"

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


# ---- larger problems -------------------------------------------------------------------------------------------------


def smaller_problem(rules: Rules) -> Rules:
    """The problem to learn a value for: the same one unless it is too large to simulate.

    >>> from peerfront.problem import Rules
    >>> smaller_problem(Rules(budget=1_000_000, people=2_000_000)).people
    1000
    """
    fewer = min(rules.people, rules.budget)
    times = fewer / _SIMULATED
    if times < 2.0 or rules.people + rules.budget <= _STRETCHED_FROM:
        return rules
    return replace(
        rules,
        budget=round(rules.budget / times),
        people=round(rules.people / times),
        max_per_round=None if rules.max_per_round is None else max(round(rules.max_per_round / times), 1),
    )


def stretched(planner: Planner, budget: int) -> Planner:
    """The planner with its value stretched to `budget` coupons, and people in proportion.

    Stories that share a value do so afterwards.
    """
    of_stories = [learned_networks(story) for story in planner.stories]
    done = {networks: _stretched(*networks, budget) for networks in of_stories}
    stories = (
        replace(story, surrogate=done[networks][0], laplace=done[networks][1])
        for story, networks in zip(planner.stories, of_stories, strict=True)
    )
    return replace(planner, stories=tuple(stories))


def _stretched(
    surrogate: FrozenSurrogate, laplace: LaplaceNetwork, budget: int
) -> tuple[FrozenSurrogate, LaplaceNetwork]:
    times = budget / surrogate.budget
    if times < 1.0:
        raise SettingError("learned_value.cannot_shrink", largest=surrogate.budget, budget=budget)
    share, learned = np.arange(budget + 1) / times, np.arange(surrogate.budget + 1)
    weights = np.zeros((*surrogate.weights.shape[:-2], budget + 1, surrogate.latent))
    for place in np.ndindex(*weights.shape[:-2], surrogate.latent):
        column = (*place[:-1], slice(None), place[-1])
        weights[column] = times * np.interp(share, learned, surrogate.weights[column])
    return (
        replace(surrogate, weights=weights, stretch=times * surrogate.stretch),
        replace(laplace, stretch=times * laplace.stretch),
    )
