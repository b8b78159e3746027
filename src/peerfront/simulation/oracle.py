"""The parts worlds with known truth are made of: capacities, inheritance of covariates, pools of first recruits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.counts import poisson_quantile, poisson_survival
from peerfront.covariates import Codes, Schema
from peerfront.randomness import Luck


@dataclass(frozen=True)
class SoftplusPoisson:
    """C ~ Poisson(scale * softplus(w . x)): the paper's oracle referral-capacity model (appendix C.1)."""

    schema: Schema
    weights: NDArray[np.float64]  # [columns]
    scale: float

    def rates(self, covariates: Codes) -> NDArray[np.float64]:
        """lambda(x), [people]."""
        rates: NDArray[np.float64] = self.scale * softplus(self.schema.linear(self.weights, covariates))
        return rates

    def survival(self, covariates: Codes, max_vouchers: int) -> NDArray[np.float64]:
        return poisson_survival(self.rates(covariates), max_vouchers)

    def sample(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        return poisson_quantile(luck.uniform("capacity"), self.rates(covariates))


def softplus(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(1 + exp(z)), its argument held within +-20 so that no rate is exactly zero or absurd."""
    return np.logaddexp(0.0, np.clip(scores, -20.0, 20.0))


def calibrated(schema: Schema, weights: NDArray[np.float64], reference: Codes, mean_capacity: float) -> SoftplusPoisson:
    """The softplus Poisson model whose mean rate over the reference people is `mean_capacity`."""
    mean = float(softplus(schema.linear(weights, reference)).mean())
    return SoftplusPoisson(schema, weights, mean_capacity / mean)


@dataclass(frozen=True)
class Inheritance:
    """Each field is the parent's with its probability p_k, else drawn uniformly (appendix C.1)."""

    schema: Schema
    probabilities: NDArray[np.float64]  # [fields]

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        # One uniform decides both: below p_k inherit; what lies above, stretched to (0, 1), picks the category.
        u = luck.uniforms("offspring", len(self.schema.fields))
        inherits = u < self.probabilities
        fresh = (u - self.probabilities) / np.where(self.probabilities < 1.0, 1.0 - self.probabilities, 1.0)
        drawn = np.minimum((np.maximum(fresh, 0.0) * self.schema.sizes).astype(np.int16), self.schema.sizes - 1)
        children: Codes = np.where(inherits, parents, drawn).astype(np.int16)
        return children


@dataclass(frozen=True)
class Pool:
    """First recruits drawn evenly, with replacement, from a list of people."""

    members: Codes  # [pool, fields]

    def sample(self, luck: Luck) -> Codes:
        chosen = (luck.uniform("seed") * len(self.members)).astype(np.int64)
        return self.members[chosen]
