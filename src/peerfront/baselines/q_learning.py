"""Deep Q-learning with replay and a slow target network: what Budget-DQN and Factorized RL share.

An agent values an action in a state, Q(s, a), and learns from single rounds (s, a, r, s') drawn from the replay, a
memory of the last transitions:

    Q(s, a)  ->  r + discount * Q'(s', the best feasible a' there),      and just r when the episode ends,

where Q' is the target network, which follows Q slowly. With `double` the online network chooses a' and the target
network values it (van Hasselt, Guez and Silver 2016); otherwise the target network does both.

Episodes are played `at_once`, in lock step, so that the world draws all their recruits in bulk; after each round of
them there are as many gradient steps as there were transitions as if they had been
played one by one. How often actions are random depends on the number of the episode.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import huber_loss
from torch.nn.utils import clip_grad_norm_

from peerfront.baselines.agents import Action, Agent, Frontiers, RandomActions
from peerfront.foundation.checked_calls import checked_late
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import note
from peerfront.foundation.randomness import Luck, named_generator, named_key, named_luck
from peerfront.foundation.settings import (
    among,
    at_least,
    between,
    check_fields,
    checked_discount,
    one_or_more,
    optional,
    positive,
    proportion,
    seed_number,
    step_size,
    truth,
    up_to,
)
from peerfront.problem import Allocation, Episodes, Rules, State, World, check_feasible

Array = NDArray[np.float64]

Loss = Callable[[nn.Module, nn.Module, Sequence["Transition"], np.random.Generator], Tensor]
"""A loss of one's own: online network, target network, batch, and a generator for fresh draws."""
FOLLOWS_EACH = ("step", "episode")


@dataclass(frozen=True)
class Exploration:
    """How often an action is random, by the number of the episode."""

    start: float
    end: float
    decay: float | None = None
    """Factor from one episode to the next, down to `end`; None for a straight line from `start` to `end`."""

    def __post_init__(self) -> None:
        factor = between(0.0, 1.0)
        check_fields(self, "exploration", start=proportion, end=proportion, decay=optional(factor))

    def shares(self, episodes: int) -> Array:
        """The share of random actions in each episode, [episodes]."""
        if self.decay is None:
            return np.linspace(self.start, self.end, episodes)
        return np.maximum(self.start * self.decay ** np.arange(episodes), self.end)


@dataclass(frozen=True)
class QLearningSettings:
    """How a Q-network is learned. The defaults are the paper's where it gives them."""

    episodes: int = 500
    at_once: int = 20
    """Episodes played in lock step."""
    replay: int = 10_000
    """Transitions remembered."""
    warm_up: int = 200
    """Transitions before the first gradient step."""
    batch: int = 32
    hidden: int = 64
    learning_rate: float = 1e-3
    follow: float = 0.01
    """How far the target network moves towards the online one each time."""
    follow_each: str = "step"
    """When it moves: after each gradient step, or after each episode."""
    copy_every: int | None = None
    """Gradient steps after which the target network becomes a copy of the online one; None: it follows instead."""
    longest_gradient: float | None = None
    """Gradients with a larger norm are shortened to this one; None leaves them as they are."""
    double: bool = True
    """Choose the next action with the online network and value it with the target network."""
    share_of_budget: bool = True
    """Count recruits as shares of the budget: returns of at most one, the scale a network starts at."""
    exploration: Exploration = field(default_factory=lambda: Exploration(0.2, 0.05))
    score_noise: Exploration | None = None
    """Standard deviation of normal noise on scores of people while learning, if the agent has scores."""
    seed: int = 0

    def __post_init__(self) -> None:
        counts = ("episodes", "at_once", "replay", "batch", "hidden")
        check_fields(
            self,
            **dict.fromkeys(counts, one_or_more),
            warm_up=at_least(0),
            learning_rate=step_size,
            follow=up_to(1.0),
            follow_each=among(note("kinds.time_to_follow"), FOLLOWS_EACH),
            copy_every=optional(one_or_more),
            longest_gradient=optional(positive),
            double=truth,
            share_of_budget=truth,
            seed=seed_number,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """One round of one episode."""

    state: State
    action: Action
    reward: float
    next_state: State | None
    """None when the episode is over."""


class Replay:
    """A first-in first-out memory of at most `capacity` transitions, from which batches are drawn at random."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: list[Transition] = []

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, transition: Transition) -> None:
        self._kept.append(transition)
        del self._kept[: -self._capacity]

    def sample(self, size: int, rng: np.random.Generator) -> list[Transition]:
        """A batch drawn with replacement."""
        return [self._kept[i] for i in rng.integers(len(self._kept), size=size).tolist()]


@dataclass(frozen=True, eq=False)
class QPolicy:
    """The learned policy: an agent and its network, without exploration."""

    agent: Agent
    network: nn.Module
    rules: Rules
    """What it was trained for; smaller budgets and other caps are fine."""
    name: str
    learning_returns: Array | None = None  # [episodes], what it earned while it learned

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state, all at once."""
        frontiers = Frontiers.of(self.agent.schema, states)
        self.agent.schema.check(frontiers.covariates)
        largest = int(frontiers.budgets.max())
        if largest > self.rules.budget:
            raise SettingError("q_learning.trained_for_less", name=self.name, most=self.rules.budget, budget=largest)
        luck = Luck(np.concatenate([luck.keys for luck in lucks])) if lucks else None
        without_exploring = None if luck is None else RandomActions(luck, np.zeros(len(states)))
        return [Allocation(action.coupons) for action in self.agent.act(self.network, frontiers, without_exploring)]


def train(
    agent: Agent,
    world: World,
    rules: Rules,
    discount: float,
    settings: QLearningSettings,
    name: str,
    loss: Loss | None = None,
) -> QPolicy:
    """Play and learn in this (planning) world; the policy is the network as it is at the end.

    `loss` replaces the Huber loss of Q(s, a), for agents that learn several things at once.
    """
    checked_discount(discount)
    if not rules.budget or not rules.people:
        raise SettingError("q_learning.nothing_to_learn")
    learner = _Learner(agent, discount, settings, name, rules.budget if settings.share_of_budget else 1, loss)
    luck = named_luck((f"{name} episodes", settings.seed), settings.episodes)
    exploration = settings.exploration.shares(settings.episodes)
    noise = None if settings.score_noise is None else settings.score_noise.shares(settings.episodes)
    returns = np.zeros(settings.episodes)
    for start in range(0, settings.episodes, settings.at_once):
        group = slice(start, start + settings.at_once)
        episodes = Episodes(world, rules, Luck(luck.keys[group]))
        _play_and_learn(learner, episodes, exploration[group], None if noise is None else noise[group])
        if settings.follow_each == "episode":
            learner.follow(times=len(episodes.luck))
        returns[group] = episodes.trajectories().discounted_rewards(discount)
    return QPolicy(agent, learner.online.eval(), rules, name, returns)


def _play_and_learn(learner: "_Learner", episodes: Episodes, exploration: Array, noise: Array | None) -> None:
    """Play these episodes to their end, learning after each round."""
    living = np.arange(len(exploration))
    states = episodes.states()
    while states:
        random_actions = RandomActions(
            Luck(np.concatenate([luck.keys for luck in episodes.policy_lucks()])),
            exploration[living],
            None if noise is None else noise[living],
        )
        actions = learner.agent.act(learner.online, Frontiers.of(learner.agent.schema, states), random_actions)
        allocations = [Allocation(action.coupons) for action in actions]
        for allocation, state in zip(allocations, states, strict=True):
            check_feasible(allocation, state, learner.name)
        played = episodes.step(allocations)
        rewards = np.bincount(played.referrals.next_crowd.episode, minlength=len(exploration))[living]
        left = np.array([s.remaining_budget - a.spend for s, a in zip(states, allocations, strict=True)])
        continues = (left > 0) & (rewards > 0) & (episodes.round < episodes.rules.rounds)
        next_states = episodes.states()
        following = iter(next_states)
        for state, action, reward, on in zip(states, actions, rewards.tolist(), continues.tolist(), strict=True):
            learner.replay.add(Transition(state, action, reward, next(following) if on else None))
        learner.learn(len(states))
        states, living = next_states, living[continues]


class _Learner:
    """The two networks, the optimiser and the replay."""

    def __init__(
        self, agent: Agent, discount: float, settings: QLearningSettings, name: str, unit: float, loss: Loss | None
    ) -> None:
        self.agent, self.discount, self.settings, self.name, self.unit = agent, discount, settings, name, unit
        self.loss = self._huber_loss if loss is None else loss
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(named_key(name, settings.seed) % 2**63)
            self.online, self.target = agent.network(), agent.network()
        self.target.load_state_dict(self.online.state_dict())
        self.optimiser = torch.optim.Adam(self.online.parameters(), lr=settings.learning_rate, fused=True)
        self.replay = Replay(settings.replay)
        self.rng = named_generator(f"{name} replay", settings.seed)
        self.gradient_steps = 0

    def learn(self, transitions: int) -> None:
        """Make the gradient steps due after some new transitions."""
        if len(self.replay) >= self.settings.warm_up:
            for _ in range(transitions):
                self._step()

    def _step(self) -> None:
        """One gradient step on a batch of the replay."""
        self.optimiser.zero_grad()
        self.loss(self.online, self.target, self.replay.sample(self.settings.batch, self.rng), self.rng).backward()
        if self.settings.longest_gradient is not None:
            clip_grad_norm_(self.online.parameters(), self.settings.longest_gradient)
        self.optimiser.step()
        self.gradient_steps += 1
        if self.settings.copy_every is not None:
            if self.gradient_steps % self.settings.copy_every == 0:
                self.target.load_state_dict(self.online.state_dict())
        elif self.settings.follow_each == "step":
            self.follow()

    @torch.no_grad()
    def follow(self, times: int = 1) -> None:
        """Move the target network towards the online one."""
        for _ in range(times):
            for slow, fast in zip(self.target.parameters(), self.online.parameters(), strict=True):
                slow.lerp_(fast, self.settings.follow)

    def _huber_loss(
        self, online: nn.Module, target: nn.Module, batch: Sequence[Transition], rng: np.random.Generator
    ) -> Tensor:
        """The Huber loss of Q(s, a) against r + discount * Q'(s', a')."""
        targets = torch.tensor([transition.reward / self.unit for transition in batch])
        next_states = [transition.next_state for transition in batch if transition.next_state is not None]
        if next_states:
            continues = torch.tensor([transition.next_state is not None for transition in batch])
            chooser = online if self.settings.double else target
            with torch.no_grad():
                targets[continues] += self.discount * self.agent.best_values(
                    chooser, target, Frontiers.of(self.agent.schema, next_states)
                )
        frontiers = Frontiers.of(self.agent.schema, [transition.state for transition in batch])
        values = self.agent.values(online, frontiers, [transition.action for transition in batch])
        return huber_loss(values, targets)
