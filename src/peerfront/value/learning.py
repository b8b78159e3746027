"""What both ways of learning a value share: exploring, fitting V to targets, and a report on what was learned."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from peerfront.allocation.planner import Planner
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.problem import Allocation, Policy, Rules, State, World, ask, ask_many, rollout
from peerfront.value.laplace import embedding_error, learned_networks, sampled_embeddings
from peerfront.value.states import StateBatch, chosen_states, visited
from peerfront.value.surrogate import Surrogate

Array = NDArray[np.float64]
Progress = Callable[[float, str], None]
"""Told the share that is done, and what is being done."""


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


@dataclass(frozen=True, eq=False)
class ExplorationMixture:
    """Mixture policy for exploration: mostly the main policy, now and then one of some others."""

    main: Policy
    others: Sequence[Policy]
    share: float
    """Share of decisions that one of the others makes."""

    @property
    def name(self) -> str:
        return f"{self.main.name}, exploring"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        chance = np.concatenate([luck.uniforms("wander", 2) for luck in lucks])
        explores = chance[:, 0] < (self.share if self.others else 0.0)
        stays = np.flatnonzero(~explores).tolist()
        main = ask_many(self.main, [states[i] for i in stays], [lucks[i] for i in stays]) if stays else []
        chosen = dict(zip(stays, main, strict=True))
        for i in np.flatnonzero(explores).tolist():
            chosen[i] = ask(self.others[int(chance[i, 1] * len(self.others))], states[i], lucks[i])
        return [chosen[i] for i in range(len(states))]


def explored(
    world: World,
    policy: Policy,
    rules: Rules,
    *,
    episodes: int,
    states: int,
    thinned: float,
    names: tuple[str | int, ...],
    redated: float | None = None,
) -> StateBatch:
    """States the policy meets; of a share of them only a random few people are kept.

    `redated` is the share whose rounds left are drawn anew; with None states do not say how many rounds are left.
    """
    met = visited(world, policy, rules, named_luck(("explore", *names), episodes))
    if not len(met):
        raise SettingError("There is nothing to learn from: without people or coupons every episode is over at once.")
    met = chosen_states(met, states, "explored", *names)
    rng = named_generator("thinned", *names)
    order = rng.permutation(len(met))
    few = round(thinned * len(met))
    chosen = StateBatch.joined([met.take(order[few:]), met.take(order[:few]).thinned(rng)])
    if redated is None:
        return replace(chosen, rounds_left=None)
    return chosen.redated(named_generator("redated", *names), redated, rules.rounds)


_CROWD, _ALIKE = 20_000, 20  # with so many people, so many of each kind on average, each kind is valued once


@dataclass(frozen=True, eq=False)
class Kinds:
    """States as numbers of people of each kind: state s has the entries first[s] .. first[s + 1] - 1."""

    covariates: Codes  # [kinds, fields]
    first: NDArray[np.int64]  # [states + 1]
    kind: NDArray[np.int64]  # [entries]
    count: NDArray[np.float32]  # [entries], people of this kind in the state

    @classmethod
    def of(cls, states: StateBatch) -> "Kinds | None":
        """None where people are few or hardly alike, and this would save nothing."""
        if len(states.covariates) < _CROWD:
            return None
        covariates, kind = np.unique(states.covariates, axis=0, return_inverse=True)
        if _ALIKE * len(covariates) > len(states.covariates):
            return None
        entries, count = np.unique(states.owner * len(covariates) + kind, return_counts=True)
        first = np.searchsorted(entries // len(covariates), np.arange(len(states) + 1))
        return cls(covariates, first, entries % len(covariates), count.astype(np.float32))


def fit_values(
    surrogate: Surrogate,
    states: StateBatch,
    targets: Array,
    optimiser: torch.optim.Optimizer,
    *,
    steps: int,
    batch: int,
    rng: np.random.Generator,
    schedule: torch.optim.lr_scheduler.LRScheduler | None = None,
    relative: bool = True,
) -> None:
    """Gradient steps on the squared error of V (Equation 10); `relative` divides it by r + 10: small budgets count."""
    kinds = Kinds.of(states)
    people_or_kinds = states if kinds is None else kinds
    rows, first = torch.as_tensor(surrogate.inputs.rows(people_or_kinds.covariates)), people_or_kinds.first
    budgets = torch.as_tensor(states.budgets, dtype=torch.float32)
    wanted = torch.as_tensor(targets, dtype=torch.float32)
    left = None if states.rounds_left is None else torch.as_tensor(states.rounds_left, dtype=torch.float32)
    scale = budgets + 10.0 if relative else torch.ones_like(budgets)
    for _ in range(steps):
        chosen = rng.choice(len(states), min(batch, len(states)), replace=False)
        sizes = np.diff(first)[chosen]
        start = np.concatenate([[0], np.cumsum(sizes)])
        people = np.arange(start[-1]) - np.repeat(start[:-1] - first[chosen], sizes)
        owner = torch.as_tensor(np.repeat(np.arange(len(chosen)), sizes))
        optimiser.zero_grad()
        until = None if left is None else left[chosen]
        if kinds is None:
            found = surrogate.values(budgets[chosen], rows[people], owner, until)
        else:
            alike = torch.as_tensor(kinds.kind[people]), torch.as_tensor(kinds.count[people])
            found = surrogate.values(budgets[chosen], rows, owner, until, alike)
        loss = ((found - wanted[chosen]) ** 2 / scale[chosen]).mean()
        loss.backward()
        optimiser.step()
        if schedule is not None:
            schedule.step()


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
