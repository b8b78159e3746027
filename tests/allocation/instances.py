"""Random planning problems, awkward ones included: ties, nobody who brings anybody, embeddings at both ends."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from peerfront.allocation.greedy import GreedyPlan, greedy

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Instance:
    survival: Array  # [people, coupons]
    uncovered: Array  # [people, latent]
    weights: Array  # [budget + 1, latent]
    discount: float
    spendable: int
    most_per_person: int
    least_per_person: int


@st.composite
def instances(draw: st.DrawFn, max_people: int = 6, max_budget: int = 14) -> Instance:
    people = draw(st.integers(1, max_people))
    budget = draw(st.integers(0, max_budget))
    columns = draw(st.integers(1, max(budget, 1)))
    latent = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # Coarse numbers make ties; fine ones do not.
    digits = draw(st.sampled_from([1, 12]))
    steps = rng.random((people, columns)) ** draw(st.sampled_from([0.1, 1.0, 4.0]))
    survival = np.round(np.cumprod(steps, axis=1), digits)
    survival[rng.random(people) < draw(st.sampled_from([0.0, 0.4]))] = 0.0
    survival[rng.random(people) < draw(st.sampled_from([0.0, 0.3]))] = 1.0
    ends = draw(st.sampled_from(["middle", "mixed"]))
    uncovered = np.round(rng.uniform(0.05, 1.0, (people, latent)), digits)
    uncovered = np.clip(uncovered, 0.05, 1.0)
    if ends == "mixed":
        extreme = np.array([1.0, 1e-12, 1e-300, 1.0 - 1e-12])
        chosen = rng.random((people, latent)) < 0.5
        uncovered = np.where(chosen, extreme[rng.integers(4, size=(people, latent))], uncovered)
    # People who are the same in everything: nobody, or several kinds of several people.
    kind = rng.integers(0, draw(st.integers(1, people)), people) if draw(st.booleans()) else np.arange(people)
    survival, uncovered = survival[kind], uncovered[kind]
    shares = np.round(rng.dirichlet(np.ones(latent), size=budget + 1), digits)
    weights = np.arange(budget + 1)[:, None] * shares
    most = draw(st.integers(1, max(budget, 1)))
    spendable = min(draw(st.integers(0, budget)), most * people)
    least = draw(st.integers(0, min(most, spendable // people)))
    return Instance(survival, uncovered, weights, draw(st.sampled_from([0.5, 0.9, 1.0])), spendable, most, least)


def solve(problem: Instance, **more: bool) -> GreedyPlan:
    """The plan of exact greedy."""
    return greedy(
        problem.survival,
        problem.uncovered,
        problem.weights,
        problem.discount,
        spendable=problem.spendable,
        most_per_person=problem.most_per_person,
        least_per_person=problem.least_per_person,
        **more,
    )
