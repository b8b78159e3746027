"""Polishing a plan by rollouts: play on from a few spends in the planning world, and take the best.

The planner's Q trusts the surrogate one round ahead; a rollout trusts only the models and the planner's later choices.
Spends near the planner's own are tried on the same people with the same luck, and one of them replaces the planner's
only if it earns more by a standard error of the paired difference. A decision costs spends x samples episodes, hundreds
of times the plan itself (docs/results.md): an option for a study's few real decisions, not for thousands of episodes.
"""

from dataclasses import dataclass

import numpy as np

from peerfront.errors import SettingError
from peerfront.planning.greedy import greedy_at
from peerfront.planning.planner import Planner
from peerfront.problem import Allocation, Crowd, Episodes, Policy, Rules, State, World, ask_many, whole_number
from peerfront.randomness import Luck, fold


@dataclass(frozen=True)
class PolishSettings:
    """How many rollouts, and of which spends."""

    samples: int = 64
    """Episodes of each spend."""
    spends: tuple[float, ...] = (0.7, 0.85, 1.0, 1.15, 1.3)
    """Spends that are tried, relative to the planner's."""
    errors: float = 1.0
    """Standard errors by which another spend must be better."""

    def __post_init__(self) -> None:
        whole_number("samples of a polish", self.samples, 2)
        if not self.spends or min(self.spends) < 0.0 or self.errors < 0.0:
            raise SettingError("A polish needs at least one relative spend, none negative, and errors of at least 0.")


@dataclass(frozen=True, eq=False)
class Polished:
    """A planner whose spends are checked by rollouts in a (planning) world before they are used."""

    planner: Planner
    world: World
    settings: PolishSettings = PolishSettings()

    @property
    def name(self) -> str:
        return f"{self.planner.name}, polished"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        own = self.planner.allocate(state, luck)
        candidates = [own, *self._others(state, own.spend)]
        if len(candidates) == 1:
            return own
        earned = self._played(state, candidates, luck)  # [candidates, samples]
        better = earned - earned[0]
        mean = better.mean(axis=1)
        error = better.std(axis=1, ddof=1) / np.sqrt(self.settings.samples)
        sure = np.where(mean > self.settings.errors * error, mean, 0.0)
        return candidates[int(sure.argmax())]

    def _others(self, state: State, spend: int) -> list[Allocation]:
        """Greedy allocations of the other spends, as the planner would split them."""
        wanted = {min(max(1, round(share * spend)), state.spendable) for share in self.settings.spends} - {spend}
        survival, uncovered = self.planner.tables(state.frontier.covariates, state.most_per_person)
        weights = self.planner.surrogate.weights_with(state.rounds_left - 1)[: state.remaining_budget + 1]
        found, _ = greedy_at(survival, uncovered, weights, self.planner.discount, sorted(wanted), state.most_per_person)
        return [Allocation(vouchers) for vouchers in found]

    def _played(self, state: State, candidates: list[Allocation], luck: Luck) -> np.ndarray:
        """Discounted rewards of each first allocation followed by the planner, [candidates, samples], paired."""
        people, samples = len(state.frontier), self.settings.samples
        futures = fold(luck.keys, np.arange(samples))  # the same futures for every candidate
        lucks = Luck(np.tile(futures, len(candidates)))
        episode = np.repeat(np.arange(len(lucks)), people)
        keys = fold(lucks.keys[episode], np.tile(np.arange(people), len(lucks)))
        start = Crowd(episode, keys, np.tile(state.frontier.covariates, (len(lucks), 1)))
        budgets = np.full(len(lucks), state.remaining_budget)
        rules = Rules(
            state.remaining_budget, people, state.rounds_left, state.rules.max_per_person, state.rules.max_per_round
        )
        episodes = Episodes(self.world, rules, lucks, start, budgets)
        episodes.step([candidate for candidate in candidates for _ in range(samples)])
        later: Policy = self.planner
        while states := episodes.states():
            episodes.step(ask_many(later, states, episodes.policy_lucks()))
        rewards = episodes.trajectories().discounted_rewards(self.planner.discount)
        return rewards.reshape(len(candidates), samples)
