"""The certificate's parts against their definitions: surplus, clairvoyant, transitions, words, and the price rule."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.bounds.certificate import Caps, clairvoyant_bound
from peerfront.bounds.certify import certify, certify_many
from peerfront.bounds.dual import PriceIndexPolicy, smallest_duals
from peerfront.bounds.price_fitting import fit_price_index
from peerfront.bounds.price_index import BoundSettings, PriceIndex
from peerfront.bounds.surplus import Chances, chances_that_matter
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.gfp.states import StateBatch
from peerfront.problem import BinomialResponse, BulkPolicy, Frontier, Rules, State, check_feasible
from peerfront.simulation.typed import TypedOffspring, bridge, typed_world

WORLD = bridge()
MODELS = (WORLD.response, WORLD.offspring)
LUCK = named_luck(("bound properties",), 200)
STATES = StateBatch(np.full(200, 100), 10 * np.arange(201), WORLD.seeds(LUCK, 10).covariates)


def people(*types: int) -> Codes:
    return np.array(types, dtype=np.int16).reshape(-1, 1)


def exact_index(discount: float, **more: int) -> PriceIndex:
    chosen = BoundSettings(**more)
    return fit_price_index(*MODELS, people(0), WORLD.schema, discount, chosen, transition=WORLD.transition)


@pytest.fixture(scope="module")
def table() -> PriceIndex:
    return exact_index(0.9)


# ---- the surplus ---------------------------------------------------------------------------------------------------


@given(st.integers(1, 4), st.integers(1, 12), st.integers(1, 5), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_surplus_kernel_is_the_sum_it_stands_for(count, levels, columns, shared, seed) -> None:
    rng = np.random.default_rng(seed)
    survival = np.round(np.sort(rng.random((count, levels)), axis=1)[:, ::-1], 1)  # rounded, so that there are ties
    worth = np.round(rng.uniform(-0.5, 5.0, (count, columns)), 1)
    prices = np.round(rng.uniform(0.0, 1.2, columns if shared else (count, columns)), 1)
    plain = np.maximum(survival[:, :, None] * worth[:, None, :] - np.atleast_2d(prices)[:, None, :], 0.0).sum(axis=1)
    np.testing.assert_allclose(Chances.of(survival).surplus(worth, prices), plain, atol=1e-12)


@given(st.floats(0.0, 60.0), st.sampled_from([0.0, 1e-9, 0.01, 0.3, 0.9]), st.floats(1.0, 101.0), st.integers(1, 150))
def test_nothing_is_lost_where_chances_are_cut(rate, price, worth, most) -> None:
    one = typed_world("one", {"a": rate}, {"a": {"a": 1.0}}, {"a": 1.0})
    cut = chances_that_matter(one.response, people(0), most, price, worth)
    whole = Chances.of(one.response.gains(people(0), most))
    asked = (np.array([[worth]]), np.array([price]))
    np.testing.assert_allclose(cut.surplus(*asked), whole.surplus(*asked), rtol=1e-12, atol=1e-12)


# ---- the clairvoyant -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Certain(BinomialResponse):
    """Everybody of a type can bring the same number."""

    brought: tuple[int, ...]

    def survival(self, covariates: Codes, max_coupons: int) -> np.ndarray:
        return (np.arange(1, max_coupons + 1) <= np.array(self.brought)[covariates]).astype(float)

    def capacities(self, covariates: Codes, luck: Luck) -> np.ndarray:
        return np.array(self.brought)[covariates[:, 0]]


def best_of_all(counts, child, types, budget: int, discount: float, rounds: int, caps: Caps) -> float:
    """Every allocation, by definition, in a world without chance."""
    if not budget or not types or not rounds:
        return 0.0
    best, most = 0.0, min(budget, caps.per_person or budget)
    for coupons in product(*(range(min(most, counts[t]) + 1) for t in types)):
        if 0 < sum(coupons) <= min(budget, caps.per_round or budget):
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
    caps, offspring = Caps(per_person, per_round), TypedOffspring(np.eye(2)[list(child)])
    found = clairvoyant_bound(
        Certain(counts), offspring, people(*types), budget, discount, rounds, LUCK.row(0), 3, caps
    )
    best = best_of_all(counts, child, types, budget, discount, rounds, caps)
    assert found.standard_error == 0.0
    assert found.mean >= best - 1e-12
    if per_round is None:  # with it the frontier may be thinner than the whole tree
        assert found.mean == pytest.approx(best)


# ---- tables and networks -------------------------------------------------------------------------------------------


def test_sums_of_many_states_are_those_of_each(table) -> None:
    sizes = np.arange(200) % 5  # some of them empty, the first and the last with them
    first = np.concatenate([[0], np.cumsum(sizes)])
    states = StateBatch(1 + np.arange(200) % 100, first, STATES.covariates[: first[-1]])
    many = smallest_duals(table, states)
    for s in (0, 1, 4, 5, 99, 198, 199):
        alone = smallest_duals(table, states.take(np.array([s])))
        np.testing.assert_allclose(alone.bounds[0], many.bounds[s], rtol=1e-13)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.eye(2), r"a 4 x 4 table; found one of shape \(2, 2\)"),
        (np.diag([1, 1, 0.999, 1]), "row 2 .* sum 0.999"),
        (np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [-0.5, 0, 0, 1.5]]), "must not be negative .* row 3"),
    ],
)
def test_what_is_no_transition_is_refused(wrong, message) -> None:
    with pytest.raises(SettingError, match=message):
        fit_price_index(*MODELS, people(0), WORLD.schema, 0.9, transition=wrong)


@dataclass(frozen=True)
class Fitted:
    """The right child values, given out as a network's."""

    right: PriceIndex
    kind: str = "network"

    @property
    def prices(self) -> np.ndarray:
        return self.right.prices

    def expected(self, covariates: Codes, prices: np.ndarray, rounds_left: int | None) -> np.ndarray:
        return self.right.children.expected(covariates, prices, rounds_left)


def test_what_certificates_say(table) -> None:
    def said(state: State, index: PriceIndex = table, **more: int) -> str:
        return certify(state, index, *MODELS, LUCK.row(0), outcomes=0, **more).explanation

    full = State(60, Frontier.of(people(0, 0, 1, 1, 2)))
    found = certify(full, table, *MODELS, LUCK.row(0), samples=0, outcomes=0)
    assert said(full, samples=0) == (
        f"No policy can expect more than {found.bound:.1f} discounted recruits from here: even if coupons were "
        f"unlimited at {found.price:.2f} recruits each, and {found.price:.2f} paid back for every coupon of the "
        "budget, one could not expect more. This is proved for the models used."
    )
    assert "It is a mean over samples, give or take" in said(State(60, Frontier.of(people(3, 3))))
    assert "the coupons and caps alone set this limit" in said(State(0, Frontier.of(people(2))))
    network = replace(table, children=Fitted(table))
    assert "estimated, not proved, and nothing was measured" in said(full, network, samples=0, audits=0)
    assert "is proved" in said(full, network, samples=0, audits=8)


# ---- the price rule ------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
    st.integers(1, 60),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([None, 1, 7]),
    st.integers(0, 49),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_the_price_rule_is_feasible_and_the_same_in_bulk(
    table, types, budget, per_person, per_round, played, share
) -> None:
    rules = Rules(max_per_person=per_person, max_per_round=per_round)
    state = State(budget, Frontier.of(people(*types)), played, rules)
    policy = PriceIndexPolicy(table, share)
    assert isinstance(policy, BulkPolicy)
    alone = policy.allocate(state, LUCK.row(0))
    check_feasible(alone, state, policy.name)
    assert alone.spend == state.spendable if share == 0.0 else alone.spend >= 1
    others = [State(5, Frontier.of(people(2, 3))), State(7, Frontier.of(people())), State(0, Frontier.of(people(1)))]
    together = policy.allocate_many([*others, state], [LUCK.row(i) for i in range(4)])
    assert together[3].coupons.tolist() == alone.coupons.tolist()
    assert [given_out.spend > 0 for given_out in together[:3]] == [True, False, False]


# ---- held back


def test_nothing_is_lost_at_price_zero() -> None:
    """In the last round a person is worth their mean capacity, to the last coupon."""
    many = typed_world("many", {"a": 11.0}, {"a": {"a": 1.0}}, {"a": 1.0})
    index = fit_price_index(many.response, many.offspring, people(0), many.schema, 0.9, transition=many.transition)
    found = index.values(people(0), np.array([0.0]), rounds_left=1)[0, 0]
    assert found == pytest.approx(many.response.gains(people(0), 100).sum(), abs=1e-10)


@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_trees_that_look_better_by_chance_do_not_loosen_the_bound(discount) -> None:
    """Few trees are noise; where the price bound is exact, growing some must not make the report worse."""
    index = exact_index(discount)
    alone = certify_many(STATES, index, *MODELS, LUCK, samples=0)
    both = certify_many(STATES, index, *MODELS, LUCK, samples=20)
    assert both.mean.mean <= alone.mean.mean + 2 * both.mean.standard_error
