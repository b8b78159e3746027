"""Factorized RL (Section 5.2): the allocation as three learned decisions.

A DeepSets encoder of the frontier feeds three heads: values of the round budget b, values of the support size k (how
many people share it), and a score for each person. Acting takes the best feasible b, then the best feasible k, then the
k people with the best scores, and spreads b over them by the softmax of their scores, rounded by largest remainders.

The paper does not say how the scores are learned. Here the three heads add up to the value of the action, as in value
decomposition networks (Sunehag et al. 2018):

    Q(s, a) = Q_budget(s, b) + Q_support(s, k) + sum over i of w_i * score(s, i),

with w_i the share of the budget that person i was meant to get. One temporal-difference error trains all three: a
person's score rises when rounds that lean on such people turn out better than budget and support explain.

`FactorizedRLSettings.published()` is how the method was trained for the published table, which the text does not say:
each head has an error of its own (`SeparateHeadsAgent`). Values of the support size are for 0 .. 10. With s, b, k and r
of a transition, s' its next state and Q' the target network, the loss of a state is the sum of

    (Q_budget(s, b)  - r - discount * max over feasible b' of Q'_budget(s', b'))^2,
    (Q_support(s, k) - r - discount * max over feasible k' of Q'_support(s', k'))^2,
    the mean over its people i of (score(s, i) - c_i - discount * max over b' of Q'_budget(s_i, b'))^2,

where s_i is what follows if person i alone had one coupon: one fresh draw of the count model says whether a recruit
comes (c_i, 0 or 1), one of the offspring model who that is. Acting takes the best budget, the best support for it
(with 0 nobody gets anything and the study ends), the people with the best scores, and splits by their softmax.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.special import ndtri
from torch import Tensor, nn

from peerfront.baselines.agents import (
    Action,
    Array,
    Counts,
    FrontierEncoder,
    Frontiers,
    RandomActions,
    Weights,
    best_few,
    best_or_random,
    by_state,
    largest_remainders,
    softmax_weights,
)
from peerfront.baselines.budget_dqn import allowed_up_to
from peerfront.baselines.q_learning import Exploration, Loss, QLearningSettings, QPolicy, Transition, train
from peerfront.foundation.counts import count_from_survival
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import between, check_fields, one_or_more, truth
from peerfront.foundation.torch_networks import perceptron
from peerfront.problem import Rules, World


@dataclass(frozen=True)
class FactorizedRLSettings:
    """Factorized RL's learning and its split of the round budget."""

    learning: QLearningSettings = field(default_factory=QLearningSettings)
    most_activated: int = 10
    """People who may share a round budget."""
    temperature: float = 0.3
    """Of the softmax over scores, in the unit of the rewards: the smaller, the more goes to the best."""
    separate_heads: bool = False
    """Train each head with an error of its own instead of their sum."""

    def __post_init__(self) -> None:
        above_0 = between(1e-6, 1e6)
        check_fields(self, most_activated=one_or_more, temperature=above_0, separate_heads=truth)

    @classmethod
    def paper(cls) -> "FactorizedRLSettings":
        """The appendix: recruits as they are, one network that chooses and values, a plain softmax."""
        return cls(QLearningSettings(double=False, share_of_budget=False), temperature=1.0)

    @classmethod
    def published(cls) -> "FactorizedRLSettings":
        """As the published table was made: one episode at a time, three errors, targets copied every 200 steps."""
        learning = QLearningSettings(
            at_once=1,
            warm_up=128,
            double=False,
            share_of_budget=False,
            copy_every=200,
            longest_gradient=10.0,
            exploration=Exploration(0.2, 0.05),
            score_noise=Exploration(0.2, 0.02),
        )
        return cls(learning, temperature=1.0, separate_heads=True)


class ThreeHeads(nn.Module):
    """Values of budgets and of support sizes, and scores of people, on an encoding of the frontier.

    With `separate` as the published table was made: support sizes count from 0, scores see people's covariates.
    """

    def __init__(self, schema: Schema, rules: Rules, hidden: int, most_activated: int, separate: bool) -> None:
        super().__init__()
        self.encoder, self.separate = FrontierEncoder(schema, rules, hidden, raw=separate), separate
        width, seen_of_person = self.encoder.width, schema.columns if separate else hidden
        self.budget_head = perceptron((width, hidden, hidden, rules.budget + 1), seed=None)
        self.support_head = perceptron((width, hidden, hidden, most_activated + separate), seed=None)
        self.score_head = perceptron((width + seen_of_person, hidden, hidden, 1), seed=None)

    def forward(self, frontiers: Frontiers) -> tuple[Tensor, Tensor, Tensor]:
        """Budgets [states, budget + 1], support sizes from 0 or 1 [states, supports], scores [people]."""
        people, states = self.encoder(frontiers)
        own = states[torch.from_numpy(frontiers.owner)]
        seen = torch.cat([own, frontiers.one_hot] if self.separate else [people, own], dim=1)
        return self.budget_head(states), self.support_head(states), self.score_head(seen)[:, 0]

    def budget_values(self, frontiers: Frontiers) -> Tensor:
        """[states, budget + 1]; minus infinity where a budget may not be spent."""
        return allowed_up_to(self.budget_head(self.encoder(frontiers)[1]), frontiers.spendable)

    def best_next(self, frontiers: Frontiers, largest_support: Counts) -> tuple[Tensor, Tensor]:
        """The largest values of a budget and of a support size that are possible, [states] each."""
        _, states = self.encoder(frontiers)
        budgets = allowed_up_to(self.budget_head(states), frontiers.spendable)
        return budgets.max(dim=1).values, allowed_up_to(self.support_head(states), largest_support).max(dim=1).values


@dataclass(frozen=True, eq=False)
class FactorizedAgent:
    """Turns the three decisions into an action."""

    schema: Schema
    rules: Rules
    hidden: int
    most_activated: int
    temperature: float

    def network(self) -> nn.Module:
        return ThreeHeads(self.schema, self.rules, self.hidden, self.most_activated, separate=False)

    def act(
        self, network: nn.Module, frontiers: Frontiers, random_actions: RandomActions | None = None
    ) -> list[Action]:
        with torch.no_grad():
            budgets, support, weights = self._decide(network(frontiers), frontiers, random_actions)
        coupons = largest_remainders(weights, budgets, frontiers.most_per_person)
        return [
            Action(given[:size], people, shares[:size].astype(np.float32))
            for given, people, shares, size in zip(
                coupons, support.tolist(), weights, frontiers.sizes.tolist(), strict=True
            )
        ]

    def values(self, network: nn.Module, frontiers: Frontiers, actions: Sequence[Action]) -> Tensor:
        budgets = np.array([action.coupons.sum() for action in actions])
        support = np.array([action.support for action in actions])
        weights = np.concatenate([action.weights for action in actions if action.weights is not None])
        return _total(network(frontiers), frontiers, budgets, support, weights)

    def best_values(self, chooser: nn.Module, judge: nn.Module, frontiers: Frontiers) -> Tensor:
        judged = judge(frontiers)
        heads = judged if chooser is judge else chooser(frontiers)
        budgets, support, weights = self._decide(heads, frontiers, None)
        return _total(judged, frontiers, budgets, support, weights[frontiers.owner, frontiers.place].astype(np.float32))

    def _decide(
        self, heads: tuple[Tensor, Tensor, Tensor], frontiers: Frontiers, random_actions: RandomActions | None
    ) -> tuple[Counts, Counts, Array]:
        """Budgets and support sizes [states], and shares of people [states, people of the largest frontier].

        Each decision is the best, or random where it explores.
        """
        budget_values, support_values, person_scores = (head.numpy() for head in heads)
        largest_support = np.minimum(frontiers.sizes, self.most_activated)
        largest_budget = np.minimum(frontiers.spendable, largest_support * frontiers.most_per_person)
        nothing = np.zeros_like(largest_budget)
        budgets = best_or_random(budget_values, random_actions, "round budget", nothing, largest_budget)
        # With a cap per person, a large budget needs enough people to take it.
        least_support = np.maximum(-(-budgets // np.maximum(frontiers.most_per_person, 1)), 1)
        support = 1 + best_or_random(support_values, random_actions, "support", least_support - 1, largest_support - 1)
        scores = by_state(frontiers, person_scores)
        ranked = scores
        if random_actions is not None:
            random = random_actions.luck.uniforms("people", scores.shape[1])
            ranked = np.where(random_actions.now("people")[:, None] & np.isfinite(scores), random, scores)
        weights = softmax_weights(scores, best_few(ranked, support), self.temperature)
        return budgets, support, weights


def _total(
    heads: tuple[Tensor, Tensor, Tensor], frontiers: Frontiers, budgets: Counts, support: Counts, weights: Weights
) -> Tensor:
    """The three heads' sum for these decisions, [states]."""
    budget_values, support_values, scores = heads
    states = torch.arange(len(frontiers))
    values = budget_values[states, torch.from_numpy(budgets)] + support_values[states, torch.from_numpy(support) - 1]
    return values.index_add(0, torch.from_numpy(frontiers.owner), scores * torch.from_numpy(weights))


# As the published table was made: three heads, each with an error of its own ----------------------------------------


@dataclass(frozen=True, eq=False)
class SeparateHeadsAgent:
    """Turns the three decisions into an action."""

    schema: Schema
    rules: Rules
    hidden: int
    most_activated: int
    temperature: float

    def network(self) -> nn.Module:
        return ThreeHeads(self.schema, self.rules, self.hidden, self.most_activated, separate=True)

    def act(
        self, network: nn.Module, frontiers: Frontiers, random_actions: RandomActions | None = None
    ) -> list[Action]:
        with torch.no_grad():
            budget_values, support_values, person_scores = (head.numpy() for head in network(frontiers))
        nothing, most = np.zeros_like(frontiers.sizes), frontiers.most_per_person
        budgets = best_or_random(budget_values, random_actions, "round budget", nothing, frontiers.spendable)
        largest_support = self.largest_support(frontiers.sizes, budgets)
        support = best_or_random(support_values, random_actions, "support", nothing, largest_support)
        scores = by_state(frontiers, person_scores)
        if random_actions is not None and random_actions.score_noise is not None:
            noise = ndtri(random_actions.luck.uniforms("score noise", scores.shape[1]))
            scores = scores + random_actions.score_noise[:, None] * noise
        weights = softmax_weights(scores, best_few(scores, np.maximum(support, 1)), self.temperature)
        # With a cap per person, few people cannot take a large budget.
        takers = np.minimum(support, (weights > 0).sum(axis=1))
        coupons = largest_remainders(weights, np.minimum(budgets, takers * most), most)
        return [
            Action(given[:size], people, round_budget=budget)
            for given, people, budget, size in zip(
                coupons, support.tolist(), budgets.tolist(), frontiers.sizes.tolist(), strict=True
            )
        ]

    def largest_support(self, sizes: Counts, budgets: Counts) -> Counts:
        """As many people as there are, as have a coupon each, and as may share a round budget, [states]."""
        return np.minimum(np.minimum(sizes, budgets), self.most_activated)

    def values(self, network: nn.Module, frontiers: Frontiers, actions: Sequence[Action]) -> Tensor:
        """Q_budget(s, b), [states]; the other heads have values of their own."""
        budgets = torch.tensor([action.round_budget for action in actions])
        return network(frontiers)[0].gather(1, budgets[:, None])[:, 0]

    def best_values(self, chooser: nn.Module, judge: nn.Module, frontiers: Frontiers) -> Tensor:
        """The largest Q_budget of the judge, [states]; nobody else chooses here."""
        return _own(judge).budget_values(frontiers).max(dim=1).values


def _own(network: nn.Module) -> ThreeHeads:
    assert isinstance(network, ThreeHeads), "the agent makes no other"
    return network


def separate_losses(agent: SeparateHeadsAgent, world: World, discount: float) -> Loss:
    """The sum of the three errors, with one-coupon futures drawn from this (planning) world."""
    if discount <= 0:
        raise SettingError("q_learning.discount_too_small", discount=discount)

    def loss(online: nn.Module, target: nn.Module, batch: Sequence[Transition], rng: np.random.Generator) -> Tensor:
        frontiers = Frontiers.of(agent.schema, [transition.state for transition in batch])
        rewards = torch.tensor([float(transition.reward) for transition in batch])
        budget_targets, support_targets = rewards.clone(), rewards.clone()
        next_states = [transition.next_state for transition in batch if transition.next_state is not None]
        with torch.no_grad():
            if next_states:
                continues = torch.tensor([transition.next_state is not None for transition in batch])
                after = Frontiers.of(agent.schema, next_states)
                largest_support = agent.largest_support(after.sizes, after.budgets)
                best_budget, best_support = _own(target).best_next(after, largest_support)
                budget_targets[continues] += discount * best_budget
                support_targets[continues] += discount * best_support
            came, one_coupon = one_coupon_futures(world, frontiers, rng)
            futures = _own(target).budget_values(one_coupon).max(dim=1).values
            score_targets = torch.from_numpy(came.astype(np.float32)) + discount * futures
        budgets, supports, scores = online(frontiers)
        spent = torch.tensor([transition.action.round_budget for transition in batch])
        support = torch.tensor([transition.action.support for transition in batch])
        budget_error = (budgets.gather(1, spent[:, None])[:, 0] - budget_targets) ** 2
        support_error = (supports.gather(1, support[:, None])[:, 0] - support_targets) ** 2
        share = torch.from_numpy((1.0 / frontiers.sizes[frontiers.owner]).astype(np.float32))
        score_error = ((scores - score_targets) ** 2 * share).sum() / len(batch)
        return budget_error.mean() + support_error.mean() + score_error

    return loss


def one_coupon_futures(world: World, frontiers: Frontiers, rng: np.random.Generator) -> tuple[Counts, Frontiers]:
    """What follows if each person, alone, had exactly one coupon: who brings somebody (0 or 1), [people], and the
    frontier of that one recruit, or of nobody, with one coupon less and a round later; one state for each person.
    """
    luck = Luck(rng.integers(2**63, size=len(frontiers.owner)).astype(np.uint64))
    uses_it = world.response.gains(frontiers.covariates, 1)  # [people, 1]
    came = count_from_survival(luck.uniform("capacity"), uses_it)
    brings = np.flatnonzero(came)
    children = frontiers.covariates[:0]
    if len(brings):
        children = world.offspring.sample(frontiers.covariates[brings], Luck(luck.keys[brings]))
    left = frontiers.budgets[frontiers.owner] - 1
    rounds_left = np.maximum(frontiers.rounds_left[frontiers.owner] - 1, 0)
    return came, Frontiers(frontiers.schema, children, came, left, rounds_left, left, left)


def fit_factorized_rl(
    world: World,
    rules: Rules,
    discount: float,
    settings: FactorizedRLSettings | None = None,
) -> QPolicy:
    """Train Factorized RL in this (planning) world, at this discount."""
    settings = settings or FactorizedRLSettings()
    numbers = (settings.learning.hidden, settings.most_activated, settings.temperature)
    agent: FactorizedAgent | SeparateHeadsAgent = FactorizedAgent(world.schema, rules, *numbers)
    loss = None
    if settings.separate_heads:
        agent = SeparateHeadsAgent(world.schema, rules, *numbers)
        loss = separate_losses(agent, world, discount)
    return train(agent, world, rules, discount, settings.learning, "factorized_rl", loss)
