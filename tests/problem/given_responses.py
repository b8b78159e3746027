"""Responses with given tables of C and P: every family that the formulas of `problem.response` allow."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from peerfront.foundation.counts import count_from_survival
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck
from peerfront.problem.response import UNLIMITED, BinomialResponse

Array = NDArray[np.float64]
FAMILIES = ("capacity", "per coupon", "both")


@dataclass(frozen=True, eq=False)
class GivenResponse(BinomialResponse):
    """N(k) = Binomial(min(k, C), P) of people who are rows of these tables: a person's only field is the row."""

    at_least: Array  # [rows, levels], P(C >= l); beyond it nobody, or everybody if capacities are unlimited
    values: Array | None = None  # [rows, values of P]
    shares: Array | None = None  # [rows, values of P]
    unlimited: bool = False

    @property
    def everybody(self) -> Codes:
        return np.arange(len(self.at_least), dtype=np.int16)[:, None]

    def survival(self, covariates: Codes, max_coupons: int) -> Array:
        rows = self.at_least[covariates[:, 0], :max_coupons]
        beyond = max(max_coupons - rows.shape[1], 0)
        return np.pad(rows, ((0, 0), (0, beyond)), constant_values=1.0 if self.unlimited else 0.0)

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        if self.unlimited:
            return np.full(len(covariates), UNLIMITED)
        return count_from_survival(luck.uniform("capacity"), self.at_least[covariates[:, 0]])

    def chances(self, covariates: Codes, degree: int) -> tuple[Array, Array] | None:
        if self.values is None or self.shares is None:
            return None
        return self.values[covariates[:, 0]], self.shares[covariates[:, 0]]

    def drawn_chances(self, covariates: Codes, luck: Luck) -> Array | None:
        given = self.chances(covariates, 1)
        if given is None:
            return None
        values, shares = given
        below = np.cumsum(shares, axis=1)[:, :-1] < luck.uniform("chance")[:, None]
        return values[np.arange(len(values)), below.sum(axis=1)]


def drawn_response(rng: np.random.Generator, people: int, levels: int, family: str, digits: int) -> GivenResponse:
    """A random response; with few digits ties are common. Some people bring nobody, some as many as they can."""
    at_least = np.round(np.cumprod(rng.random((people, levels)) ** rng.choice([0.1, 1.0, 4.0]), axis=1), digits)
    at_least[rng.random(people) < rng.choice([0.0, 0.4])] = 0.0
    at_least[rng.random(people) < rng.choice([0.0, 0.3])] = 1.0
    if family == "capacity":
        return GivenResponse(at_least)
    count = int(rng.integers(1, 4))
    values = np.round(rng.random((people, count)), digits)
    values = np.where(rng.random(values.shape) < 0.3, rng.integers(0, 2, values.shape), values)  # P = 0 and P = 1
    shares = np.round(rng.dirichlet(np.ones(count), size=people), digits)
    shares[:, -1] = 1.0 - shares[:, :-1].sum(axis=1)
    if family == "both":
        return GivenResponse(at_least, values, np.maximum(shares, 0.0))
    return GivenResponse(np.ones((people, levels)), values, np.maximum(shares, 0.0), unlimited=True)


def drawn_embeddings(rng: np.random.Generator, people: int, latent: int, digits: int, extremes: bool) -> Array:
    """Random alpha, [people, latent]; with extremes some are 1, nearly 1 or nearly 0."""
    uncovered = np.clip(np.round(rng.uniform(0.05, 1.0, (people, latent)), digits), 0.05, 1.0)
    if not extremes:
        return uncovered
    ends = np.array([1.0, 1e-12, 1e-300, 1.0 - 1e-12])
    return np.where(rng.random((people, latent)) < 0.5, ends[rng.integers(4, size=(people, latent))], uncovered)


@st.composite
def responses(draw: st.DrawFn, max_people: int = 4, max_levels: int = 8) -> GivenResponse:
    people, levels = draw(st.integers(1, max_people)), draw(st.integers(1, max_levels))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return drawn_response(rng, people, levels, draw(st.sampled_from(FAMILIES)), draw(st.sampled_from([1, 12])))
