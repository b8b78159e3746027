"""Small random planning problems with people who are alike, or nearly so."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from peerfront.gfp.backup import Tables
from peerfront.gfp.greedy import GreedyPlan, greedy

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    tables: Tables
    weights: Array  # [budget + 1, latent]
    discount: float
    spendable: int
    most: int
    least: int
    kind: NDArray[np.int64]  # [people]; people of a kind have the same rows

    def plan(self) -> GreedyPlan:
        return greedy(
            self.tables,
            self.weights,
            self.discount,
            spendable=self.spendable,
            most_per_person=self.most,
            least_per_person=self.least,
        )

    def worth(self, spend: int) -> Array:
        """What the coordinates are worth after so many coupons, [latent]."""
        return self.discount * self.weights[len(self.weights) - 1 - spend]

    def value(self, coupons: NDArray[np.int64]) -> float:
        """Q of an allocation, written plainly."""
        levels = np.minimum(coupons, self.tables.coupons)
        now = sum(float(self.tables.gains[i, :k].sum()) for i, k in enumerate(levels.tolist()))
        left = self.tables.transform()[np.arange(len(levels)), levels].prod(axis=0)
        return now + float(self.worth(int(coupons.sum())) @ (1.0 - left))


@st.composite
def problems(draw: st.DrawFn, max_people: int = 9, max_budget: int = 14, max_most: int = 3) -> Problem:
    people, budget = draw(st.integers(1, max_people)), draw(st.integers(1, max_budget))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns, latent = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    kind = np.sort(rng.integers(0, draw(st.integers(1, people)), people)) if draw(st.booleans()) else np.arange(people)
    spread = draw(st.sampled_from([0.01, 0.3]))  # people nearly alike, or not
    levels = np.cumprod(1.0 - draw(st.sampled_from([0.0, 0.4])) * rng.random(columns))  # flat gains: each on its own
    first = np.clip(0.5 + spread * rng.standard_normal(people), 0.02, 0.98)
    gains = (first[:, None] * levels)[kind]
    shares = np.clip(draw(st.sampled_from([0.1, 0.6])) + spread * rng.standard_normal((people, latent)), 0.0, 0.99)
    covers = (shares[:, None, :] * levels[:, None])[kind]
    scale = draw(st.sampled_from([0.0, 0.3, 1.0]))  # 0: the last round
    weights = scale * np.arange(budget + 1)[:, None] * rng.dirichlet(np.ones(latent), size=budget + 1)
    most = draw(st.integers(1, max_most))
    spendable = min(draw(st.integers(0, budget)), most * people)
    least = draw(st.integers(0, min(most, spendable // people)))
    return Problem(Tables(gains, covers), weights, draw(st.sampled_from([0.9, 1.0])), spendable, most, least, kind)
