"""Factorized RL as the published table was made: three heads, each with an error of its own.

The text does not say how the heads are trained; this is how the published figures were. On the encoding of a state
stand values of the round budget, 0 .. B, values of the support size, 0 .. 10, and a score for each person. With s, b, k
and r of a transition, s' its next state and Q' the target network, the loss of a state is the sum of

    (Q_budget(s, b)  - r - discount * max over feasible b' of Q'_budget(s', b'))^2,
    (Q_support(s, k) - r - discount * max over feasible k' of Q'_support(s', k'))^2,
    the mean over its people i of (score(s, i) - c_i - discount * max over b' of Q'_budget(s_i, b'))^2,

where s_i is what follows if person i alone had one coupon: one fresh draw of the count model says whether a recruit
comes (c_i, 0 or 1), one of the offspring model who that is. Acting takes the best budget, the best support for it
(with 0 nobody gets anything and the study ends), the people with the best scores, and splits by their softmax.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from peerfront.baselines.agents import (
    Action,
    Counts,
    Frontiers,
    RandomActions,
    RawFrontierEncoder,
    ThreeHeads,
    best_few,
    best_or_random,
    by_state,
    largest_remainders,
    softmax_weights,
)
from peerfront.baselines.budget_dqn import allowed_up_to
from peerfront.baselines.q_learning import Loss, Transition
from peerfront.foundation.counts import count_from_survival
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck
from peerfront.problem import Rules, World


class SeparateHeadsNetwork(ThreeHeads):
    """Values of budgets and of support sizes, each from 0, and scores of people by their covariates."""

    def __init__(self, schema: Schema, rules: Rules, hidden: int, most_activated: int) -> None:
        encoder = RawFrontierEncoder(schema, rules, hidden)
        super().__init__(encoder, rules.budget, most_activated + 1, schema.columns, hidden)

    def forward(self, frontiers: Frontiers) -> tuple[Tensor, Tensor, Tensor]:
        """Budgets [states, budget + 1], support sizes [states, most activated + 1], scores [people]."""
        _, states = self.encoder(frontiers)
        seen = torch.cat([states[torch.from_numpy(frontiers.owner)], frontiers.one_hot], dim=1)
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
class SeparateHeadsAgent:
    """Turns the three decisions into an action."""

    schema: Schema
    rules: Rules
    hidden: int
    most_activated: int
    temperature: float

    def network(self) -> nn.Module:
        return SeparateHeadsNetwork(self.schema, self.rules, self.hidden, self.most_activated)

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
            scores = scores + random_actions.score_noise[:, None] * _normals(random_actions.luck, scores.shape[1])
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


def _normals(luck: Luck, columns: int) -> np.ndarray:
    from scipy.special import ndtri

    return np.asarray(ndtri(luck.uniforms("score noise", columns)))


def _own(network: nn.Module) -> SeparateHeadsNetwork:
    assert isinstance(network, SeparateHeadsNetwork), "the agent makes no other"
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
