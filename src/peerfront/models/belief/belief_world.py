"""A world in which nobody knows what coupons do: every episode has a draw of the belief of its own.

Values are learned in it and outlooks are simulated in it. Waves drift as the draw says, and each has its own luck.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck, fold
from peerfront.models.belief.belief import Belief, sampled
from peerfront.problem import BranchingWorld, Crowd, OffspringModel, Referrals, ResponseModel

Array = NDArray[np.float64]
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class BeliefWorld:
    """Independent referrals by a draw of the belief; `inner` says how people look and what planners see."""

    inner: BranchingWorld
    belief: Belief

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def schema(self) -> Schema:
        return self.inner.schema

    @property
    def response(self) -> ResponseModel:
        return self.inner.response

    @property
    def offspring(self) -> OffspringModel:
        return self.inner.offspring

    def population(self, luck: Luck) -> Codes:
        return self.inner.population(luck)

    def seeds(self, episodes: Luck, people: int) -> Crowd:
        return self.inner.seeds(episodes, people)

    def refer(self, crowd: Crowd, coupons: NDArray[np.int64]) -> Referrals:
        wave = 0 if crowd.memory is None else int(crowd.memory)
        draw = draw_of_episode(crowd.episode, len(self.belief))
        keys = fold(crowd.episode.astype(np.uint64), np.full(len(crowd), wave))
        luck = ndtri(np.clip(Luck(keys).uniform("luck of a wave"), 1e-9, 1.0 - 1e-9))
        zeal = self.belief.drift[draw] * (wave + 1) + self.belief.spread[draw] * luck
        recruits = sampled(self.belief, draw, zeal, crowd.covariates, coupons, crowd.luck)
        referrals = self.inner.brought(crowd, recruits)
        return replace(referrals, next_crowd=replace(referrals.next_crowd, memory=wave + 1))


def draw_of_episode(episode: NDArray[np.int64], draws: int) -> NDArray[np.int64]:
    """A draw for each episode: evenly spread over all, whatever the number of episodes."""
    number: NDArray[np.int64] = ((episode + 1) * _GOLDEN % 1.0 * draws).astype(np.int64)
    return number
