"""Random planning problems, awkward ones included: ties, nobody who brings anybody, embeddings at both ends.

People respond by any family, and there may be two stories of what a coupon does, each with its own value.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from peerfront.gfp.backup import Tables
from peerfront.gfp.greedy import GreedyPlan, greedy
from problem.given_responses import FAMILIES, drawn_embeddings, drawn_response

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Instance:
    tables: Tables
    weights: Array  # [budget + 1, latent]
    discount: float
    spendable: int
    most_per_person: int
    least_per_person: int

    @property
    def people(self) -> int:
        return self.tables.people


@st.composite
def instances(draw: st.DrawFn, max_people: int = 6, max_budget: int = 14, extremes: bool = True) -> Instance:
    people = draw(st.integers(1, max_people))
    budget = draw(st.integers(0, max_budget))
    columns = draw(st.integers(1, max(budget, 1)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    digits = draw(st.sampled_from([1, 12]))  # coarse numbers make ties; fine ones do not
    stories = draw(st.lists(st.sampled_from(FAMILIES), min_size=1, max_size=2))
    beliefs = rng.dirichlet(np.ones(len(stories))) if len(stories) > 1 else np.ones(1)
    # People who are the same in everything: nobody, or several kinds of several people.
    kind = rng.integers(0, draw(st.integers(1, people)), people) if draw(st.booleans()) else np.arange(people)
    gains, covers, weights = np.zeros((people, columns)), [], []
    for family, belief in zip(stories, beliefs, strict=True):
        latent = draw(st.integers(1, 4))
        response = drawn_response(rng, people, columns, family, digits)
        uncovered = drawn_embeddings(rng, people, latent, digits, extremes and draw(st.booleans()))
        gains += belief * response.gains(response.everybody, columns)
        covers.append(response.covers(response.everybody, uncovered, columns))
        shares = np.round(rng.dirichlet(np.ones(latent), size=budget + 1), digits)
        weights.append(belief * np.arange(budget + 1)[:, None] * shares)
    gains = np.minimum(gains, 1.0)  # beliefs may add up to a little more than 1
    tables = Tables(gains, np.concatenate(covers, axis=2)).take(kind)
    most = draw(st.integers(1, max(budget, 1)))
    spendable = min(draw(st.integers(0, budget)), most * people)
    least = draw(st.integers(0, min(most, spendable // people)))
    discount = draw(st.sampled_from([0.5, 0.9, 1.0]))
    return Instance(tables, np.concatenate(weights, axis=1), discount, spendable, most, least)


def solve(problem: Instance, **more: Any) -> GreedyPlan:
    """The plan of exact greedy."""
    return greedy(
        problem.tables,
        problem.weights,
        problem.discount,
        spendable=problem.spendable,
        most_per_person=problem.most_per_person,
        least_per_person=problem.least_per_person,
        **more,
    )
