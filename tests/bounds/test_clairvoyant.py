"""The clairvoyant bound: levels of a tree, counted."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.bound_cases import people
from peerfront.bounds.clairvoyant import Estimate, clairvoyant_returns
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.problem import BinomialResponse, Frontier, Rules, State
from peerfront.simulation.typed import TypedOffspring, boom_bust, bridge
from simulation.exact import solve
from support import within


def clairvoyant_bound(
    response, offspring, frontier, budget, discount, rounds, luck, samples=400, caps=None
) -> Estimate:
    rules = caps or Rules()
    state = State(budget, Frontier.of(frontier), rules.rounds - rounds, rules)
    return Estimate.of(clairvoyant_returns(response, offspring, state, discount, luck, samples))


class CodeIsCapacity(BinomialResponse):
    """Everybody brings exactly as many as their code says."""

    def survival(self, covariates, max_coupons) -> np.ndarray:
        return (covariates[:, :1] >= np.arange(1, max_coupons + 1)).astype(float)

    def capacities(self, covariates, luck) -> np.ndarray:
        return covariates[:, 0].astype(np.int64)


class OneLess:
    def sample(self, parents, luck) -> np.ndarray:
        return np.maximum(parents - 1, 0)


def plain_clairvoyant(codes: list[int], budget: int, discount: float, rounds: int, caps: Rules) -> float:
    total, level = 0.0, codes
    for t in range(rounds):
        level = [max(c - 1, 0) for c in level for _ in range(min(c, caps.max_per_person or c))]
        taken = min(len(level), budget, caps.max_per_round or budget)
        total, budget = total + discount**t * taken, budget - taken
    return total


@pytest.mark.parametrize("budget", [0, 1, 5, 9, 40])
@pytest.mark.parametrize("caps", [Rules(), Rules(max_per_person=2), Rules(max_per_person=3, max_per_round=4)])
@pytest.mark.parametrize("rounds", [0, 1, 2, 6])
def test_the_clairvoyant_counts_levels_of_the_tree(budget, caps, rounds) -> None:
    found = clairvoyant_bound(
        CodeIsCapacity(), OneLess(), people(3, 0, 2), budget, 0.9, rounds, named_luck(("c",), 1), 3, caps
    )
    # 3 -> 2, 2, 2 -> 1 ... and 2 -> 1, 1 -> 0, 0: levels of 5, 8, 8 people, then nobody.
    assert found.mean == pytest.approx(plain_clairvoyant([3, 0, 2], budget, 0.9, rounds, caps))
    assert found.standard_error == pytest.approx(0.0, abs=1e-12)


def test_a_tree_of_plenty_counts_as_full_under_a_rounds_cap() -> None:
    class Many(CodeIsCapacity):
        def capacities(self, covariates, luck) -> np.ndarray:
            return np.full(len(covariates), 40)

    found = clairvoyant_bound(
        Many(), OneLess(), people(9), 6, 0.5, 10, named_luck(("c",), 1), 2, Rules(max_per_round=2)
    )
    assert found.mean == pytest.approx(2 * (1 + 0.5 + 0.25))


def test_the_clairvoyant_is_above_the_optimum() -> None:
    world = bridge()
    for discount in (0.9, 1.0):
        best = solve(world, Rules(budget=8, people=3), discount).value(people(1, 1, 2))
        found = clairvoyant_bound(
            world.response, world.offspring, people(1, 1, 2), 8, discount, 50, named_luck(("o",), 1), 2000
        )
        assert best < found.mean + 4 * found.standard_error
        assert found.mean < 8


def test_the_clairvoyant_bound_of_one_round_is_the_capped_mean_capacity() -> None:
    world = boom_bust()
    luck = named_luck(("one round",), 1)
    found = clairvoyant_bound(world.response, world.offspring, people(0, 1), 6, 0.9, 1, luck, 4000)
    rng = np.random.default_rng(1)
    response = np.minimum(rng.poisson(world.rates[[0, 1]].sum(), 200_000), 6)
    assert within(np.array([found.mean] * 2) + np.array([-1, 1]) * found.standard_error, response.mean())


# ---- where nothing is left to chance -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Certain(BinomialResponse):
    """Everybody of a type can bring the same number."""

    brought: tuple[int, ...]

    def survival(self, covariates: Codes, max_coupons: int) -> np.ndarray:
        return (np.arange(1, max_coupons + 1) <= np.array(self.brought)[covariates]).astype(float)

    def capacities(self, covariates: Codes, luck: Luck) -> np.ndarray:
        return np.array(self.brought)[covariates[:, 0]]


def best_of_all(counts, child, types, budget: int, discount: float, rounds: int, caps: Rules) -> float:
    """Every allocation, by definition, in a world without chance."""
    if not budget or not types or not rounds:
        return 0.0
    best, most = 0.0, min(budget, caps.max_per_person or budget)
    for coupons in product(*(range(min(most, counts[t]) + 1) for t in types)):
        if 0 < sum(coupons) <= min(budget, caps.max_per_round or budget):
            kids = tuple(child[t] for t, k in zip(types, coupons, strict=True) for _ in range(k))
            later = best_of_all(counts, child, kids, budget - len(kids), discount, rounds - 1, caps)
            best = max(best, len(kids) + discount * later)
    return best


@settings(max_examples=60)
@given(
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
    st.lists(st.integers(0, 1), max_size=3),
    st.integers(0, 5),
    st.sampled_from([0.5, 1.0]),
    st.integers(0, 4),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, 1, 2]),
)
def test_the_clairvoyant_is_the_optimum_where_nothing_is_left_to_chance(
    counts, child, types, budget, discount, rounds, per_person, per_round
) -> None:
    caps, offspring = Rules(max_per_person=per_person, max_per_round=per_round), TypedOffspring(np.eye(2)[list(child)])
    found = clairvoyant_bound(
        Certain(counts), offspring, people(*types), budget, discount, rounds, named_luck(("certain",), 1), 3, caps
    )
    best = best_of_all(counts, child, types, budget, discount, rounds, caps)
    assert found.standard_error == 0.0
    assert found.mean >= best - 1e-12
    if per_round is None:  # with it the frontier may be thinner than the whole tree
        assert found.mean == pytest.approx(best)
