"""The paper's simulation environment (Section 5.1, appendix C.1), calibrated to the ICPSR 22140 study.

A person can bring C ~ Poisson(kappa * softplus(w . x)) people (`SoftplusPoisson`); a recruit has each field of the
recruiter with a probability of its own, else a uniform one (`Inheritance`); first recruits come from a `Pool`. Other
worlds use the same parts.

Two variants. `icpsr22140`, as described: inheritance probabilities of the appendix's table, an oracle drawn by `draw`.
`published`: the world in which the paper's Table 1 can be found again, with a uniform inheritance of .7 and one
particular draw (deviations.md, 2). The field sizes and probabilities are the paper's; the sizes count missing
codes, the "dyads" behind the probabilities are naming ties of a survey, and Orient's .744 was never measured there.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.counts import poisson_quantile, poisson_survival
from peerfront.foundation.covariates import Codes, Schema, uniform_codes
from peerfront.foundation.randomness import Luck, named_generator
from peerfront.foundation.settings import at_least, check_fields, mean_rate, spread
from peerfront.problem import BranchingWorld
from peerfront.simulation.coupon_stories import PAPER, CouponStory, ScaledCapacity


@dataclass(frozen=True)
class SoftplusPoisson(ScaledCapacity):
    """C ~ Poisson(scale * softplus(w . x)): the paper's oracle referral-capacity model (appendix C.1)."""

    schema: Schema
    weights: NDArray[np.float64]  # [columns]
    scale: float

    def rates(self, covariates: Codes) -> NDArray[np.float64]:
        """lambda(x), [people]."""
        rates: NDArray[np.float64] = self.scale * softplus(self.schema.linear(self.weights, covariates))
        return rates

    def survival(self, covariates: Codes, max_coupons: int) -> NDArray[np.float64]:
        return poisson_survival(self.rates(covariates), max_coupons)

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        return poisson_quantile(luck.uniform("capacity"), self.rates(covariates))

    def scaled(self, factor: float) -> "SoftplusPoisson":
        return replace(self, scale=self.scale * factor)


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
        rows = (luck.uniform("seed") * len(self.members)).astype(np.int64)
        return self.members[rows]


FIELD_SIZES = {
    "Local": 4, "Race": 7, "Ethn": 4, "Sex": 3, "Orient": 6, "Behav": 3, "Pro": 4, "Pimp": 4, "John": 4,
    "Dealer": 4, "Drugman": 4, "Thief": 4, "Retired": 4, "Hwife": 4, "Disable": 5, "Unemp": 4, "Streets": 4,
}  # fmt: skip
INHERITANCE = {
    "Local": 0.766, "Race": 0.474, "Ethn": 0.861, "Sex": 0.223, "Orient": 0.744, "Behav": 0.762, "Pro": 0.573,
    "Pimp": 0.891, "John": 0.680, "Dealer": 0.775, "Drugman": 0.979, "Thief": 0.940, "Retired": 0.960,
    "Hwife": 0.861, "Disable": 0.865, "Unemp": 0.339, "Streets": 0.952,
}  # fmt: skip
_REFERENCE_SIZE = 50_000  # people over whom the mean rate is calibrated: 0.3% relative error at sigma = 1


@dataclass(frozen=True)
class Icpsr22140Settings:
    """Which world to draw. The defaults are the paper's."""

    draw: int = 0
    """Which oracle: weights and pool are drawn anew for each number."""
    sigma: float = 1.0
    """Heterogeneity of the capacity weights. The paper's "5-10x spread" of rates would need about .2."""
    mean_capacity: float = 2.5
    """Mean rate over uniformly random people."""
    pool: int = 300
    """People from whom first frontiers are drawn."""
    story: CouponStory = PAPER
    """What a coupon does."""

    def __post_init__(self) -> None:
        check_fields(self, draw=at_least(0), sigma=spread, mean_capacity=mean_rate, pool=at_least(1, 1_000_000))


def schema() -> Schema:
    """17 fields, 72 one-hot columns."""
    return Schema.of_sizes(FIELD_SIZES)


def icpsr22140(settings: Icpsr22140Settings | None = None) -> BranchingWorld:
    """The world as the paper describes it."""
    settings = settings or Icpsr22140Settings()
    layout = schema()
    weights = named_generator("icpsr22140", "weights", settings.draw).standard_normal(layout.columns) * settings.sigma
    pool = _uniform_people(layout, named_generator("icpsr22140", "pool", settings.draw), settings.pool)
    reference = _uniform_people(layout, named_generator("icpsr22140", "reference"), _REFERENCE_SIZE)
    return BranchingWorld(
        name="icpsr22140",
        schema=layout,
        response=settings.story.response_of(calibrated(layout, weights, reference, settings.mean_capacity)),
        offspring=Inheritance(layout, np.array([INHERITANCE[name] for name in layout.names])),
        seed_model=Pool(pool),
    )


def published() -> BranchingWorld:
    """The world behind the paper's Table 1: uniform inheritance of .7 and the one draw it was made with."""
    layout = schema()
    weights = np.random.default_rng(42).standard_normal(layout.columns)
    reference = _rows_field_by_field(layout, np.random.default_rng(0), 5_000)
    pool = _rows_field_by_field(layout, np.random.default_rng(42), 300)
    return BranchingWorld(
        name="published",
        schema=layout,
        response=calibrated(layout, weights, reference, 2.5),
        offspring=Inheritance(layout, np.full(len(layout.fields), 0.7)),
        seed_model=Pool(pool),
    )


def _uniform_people(layout: Schema, rng: np.random.Generator, count: int) -> Codes:
    return uniform_codes(layout, rng.random((count, len(layout.fields))))


def _rows_field_by_field(layout: Schema, rng: np.random.Generator, count: int) -> Codes:
    # Broadcasting bounds makes NumPy draw element by element in this order, so this is the stream of a plain
    # double loop over rows and fields (a test holds the two equal).
    shape = (count, len(layout.fields))
    columns: NDArray[np.int64] = rng.integers(
        np.broadcast_to(layout.offsets, shape), np.broadcast_to(layout.offsets + layout.sizes, shape)
    )
    return (columns - layout.offsets).astype(np.int16)
