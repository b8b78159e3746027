"""A world in which nobody knows what coupons do: every episode has a draw of the belief of its own.

Values are learned in it and outlooks are simulated in it. Waves drift as the draw says, and each has its own luck.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck, fold
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.belief_response import sampled
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

    def draw_of(self, episode: NDArray[np.int64]) -> NDArray[np.int64]:
        """The draw of each episode: evenly spread over all draws, whatever the number of episodes."""
        draws: NDArray[np.int64] = ((episode + 1) * _GOLDEN % 1.0 * len(self.belief)).astype(np.int64)
        return draws

    def refer(self, crowd: Crowd, coupons: NDArray[np.int64]) -> Referrals:
        wave = 0 if crowd.memory is None else int(crowd.memory)
        draw = self.draw_of(crowd.episode)
        keys = fold(crowd.episode.astype(np.uint64), np.full(len(crowd), wave))
        luck = ndtri(np.clip(Luck(keys).uniform("luck of a wave"), 1e-9, 1.0 - 1e-9))
        zeal = self.belief.drift[draw] * (wave + 1) + self.belief.spread[draw] * luck
        recruits = sampled(self.belief, draw, zeal, crowd.covariates, coupons, crowd.luck)
        referrals = replace(self.inner, response=_These(recruits)).refer(crowd, coupons)
        return replace(referrals, next_crowd=replace(referrals.next_crowd, memory=wave + 1))


@dataclass(frozen=True, eq=False)
class _These:
    """Recruits that are drawn already."""

    recruits: NDArray[np.int64]

    def sample(self, covariates: Codes, coupons: NDArray[np.int64] | int, luck: Luck) -> NDArray[np.int64]:
        return self.recruits
