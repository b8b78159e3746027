"""What is believed about coupons: draws from one posterior, and what follows from each."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri

from peerfront.foundation.covariates import Codes, Schema
from peerfront.models.belief.belief_fit import Counts, Draws, Prior, Problem, draws_of, problem_of

Array = NDArray[np.float64]
N_DRAWS = 200
"""Draws that intervals and simulations are made of."""


@dataclass(frozen=True, eq=False)
class Belief:
    """Draws of what coupons do."""

    schema: Schema
    most: int
    """The most coupons that data show."""
    limited: Array  # [draws]
    spur: Array  # [draws]
    levels: Array  # [draws, most], c
    effects: Array  # [draws, columns], what each answer adds to the zeal
    drift: Array  # [draws], what each wave adds
    spread: Array  # [draws], standard deviation of a wave's luck
    fields: tuple[str, ...] = ()
    """The fields that zeal depends on."""
    gains: dict[str, float] = field(default_factory=dict)
    """Log Bayes factor of each field against "everybody alike"."""
    effective: float = 1.0

    def __len__(self) -> int:
        return len(self.levels)

    def part(self, draws: NDArray[np.int64] | list[int]) -> "Belief":
        """Some of the draws."""
        names = ("limited", "spur", "levels", "effects", "drift", "spread")
        return replace(self, **{name: getattr(self, name)[np.asarray(draws)] for name in names})

    def of_most(self, covariates: Codes, zeal: Array | float = 0.0) -> Array:
        """f by each draw: chances of 0 .. most recruits with the most coupons, [draws, people, most + 1].

        `zeal` is added to everybody's, [draws].
        """
        tilt = np.arange(self.most + 1) * (3.0 / max(self.most, 3))
        own = self.effects @ self.schema.one_hot(covariates).astype(np.float64).T + np.reshape(zeal, (-1, 1))
        scores = own[:, :, None] * tilt
        scores[:, :, 1:] += self.levels[:, None, :]
        f: Array = np.exp(scores - logsumexp(scores, axis=2, keepdims=True))
        return f


def learned_belief(counts: Counts, prior: Prior | None = None, *, draws: int = N_DRAWS, seed: int = 0) -> Belief:
    """Learn what coupons do from counts."""
    prior = prior or Prior()
    problem = problem_of(counts, (), prior)
    drawn = draws_of(problem, prior, draws, seed)
    return _belief(counts, problem, (), drawn, {})


def _belief(
    counts: Counts, problem: Problem, fields: tuple[int, ...], drawn: Draws, gains: dict[str, float]
) -> Belief:
    most, theta = problem.most, drawn.theta
    effects = np.zeros((len(theta), counts.schema.columns))
    effects[:, problem.columns] = theta[:, most : most + len(problem.columns)]
    drift = np.zeros(len(theta)) if problem.drift is None else theta[:, most + problem.drift]
    return Belief(
        counts.schema, most, drawn.shape[:, 0], drawn.shape[:, 1], theta[:, :most], effects, drift, drawn.shape[:, 2],
        tuple(counts.schema.names[number] for number in fields), gains, drawn.effective,
    )  # fmt: skip
