"""The certificate: above the exact optimum wherever that is known, above every policy, and tight where it can be."""

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.baselines import RandomSplit, Threshold
from peerfront.covariates import Schema
from peerfront.errors import SettingError
from peerfront.planning.bound import (
    BoundSettings,
    Caps,
    PriceIndex,
    PriceIndexPolicy,
    budget_bounds,
    certify,
    certify_many,
    clairvoyant_bound,
    fit_price_index,
    generations,
)
from peerfront.planning.dual import smallest_duals
from peerfront.planning.price_audit import auditable_price, audited_duals, audited_values, generations_needed
from peerfront.planning.price_table import every_row, interpolated
from peerfront.planning.situations import Situations
from peerfront.planning.surplus import Chances, chances_that_matter
from peerfront.problem import Allocation, Frontier, Rules, State, rollout
from peerfront.randomness import named_luck
from peerfront.simulation import make_world
from peerfront.simulation.boom_bust import boom_bust
from peerfront.simulation.bridge import bridge
from peerfront.simulation.exact import solve
from peerfront.simulation.typed import TypedWorld, typed_world
from support import within

NOBODY = np.zeros((0, 1), dtype=np.int16)
TINY = BoundSettings(largest_budget=8)


def people(*types: int) -> np.ndarray:
    return np.array(types, dtype=np.int16).reshape(-1, 1)


def exact_index(world: TypedWorld, discount: float, chosen: BoundSettings | None = None) -> PriceIndex:
    return fit_price_index(
        world.capacity, world.offspring, NOBODY, world.schema, discount, chosen, transition=world.transition
    )


def one_state(budget: int, codes: np.ndarray) -> Situations:
    return Situations(np.array([budget]), np.array([0, len(codes)]), codes)


def first_frontiers(world, count: int, size: int = 10, budget: int = 100):
    luck = named_luck(("bound test", world.name), count)
    crowd = world.seeds(luck, size)
    return Situations(np.full(count, budget), size * np.arange(count + 1), crowd.covariates), luck


# ---- against the exact optimum -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [bridge, boom_bust])
@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_no_optimum_of_a_tiny_world_is_above_and_few_are_far_below(make, discount) -> None:
    world = make()
    optimum = solve(world, Rules(budget=8, people=3), discount)
    index = exact_index(world, discount, TINY)
    ratios = []
    for types in combinations_with_replacement(range(len(world.rates)), 3):
        for budget in (1, 2, 3, 5, 8):
            best = optimum.value(people(*types), budget)
            bound = smallest_duals(index, one_state(budget, people(*types)), 50).bounds[0]
            assert bound >= best - 1e-9
            ratios.append(min(bound, budget) / best)
    assert np.median(ratios) < 1.15


@settings(max_examples=25)
@given(
    st.lists(st.floats(0.0, 5.0), min_size=2, max_size=2),
    st.lists(st.floats(0.05, 0.95), min_size=2, max_size=2),
    st.lists(st.integers(0, 1), min_size=1, max_size=3),
    st.integers(1, 4),
    st.sampled_from([0.5, 0.9, 0.99, 0.998, 1.0]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, 2]),
    st.sampled_from([1, 2, 50]),
)
def test_a_proved_certificate_is_above_the_optimum_of_any_world(
    rates, shares, types, budget, discount, per_person, per_round, rounds
) -> None:
    world = typed_world(
        "random",
        {"a": rates[0], "b": rates[1]},
        {"a": {"a": shares[0], "b": 1 - shares[0]}, "b": {"a": shares[1], "b": 1 - shares[1]}},
        {"a": 1.0},
    )
    rules = Rules(budget=4, rounds=rounds, max_per_person=per_person, max_per_round=per_round)
    best = solve(world, rules, discount).value(people(*types), budget)
    chosen = BoundSettings(largest_budget=4, max_per_person=per_person, price_step=0.03)
    index = exact_index(world, discount, chosen)
    state = State(budget, Frontier.of(people(*types)), 0, rules)
    found = certify(state, index, world.capacity, world.offspring, named_luck(("any",), 1), samples=0)
    assert found.proof == "exact"
    assert found.standard_error == 0.0
    assert found.bound >= best - 1e-9


def test_in_the_last_round_the_price_bound_is_the_optimum() -> None:
    # Vouchers have diminishing returns, so with nothing to come after, pricing them loses nothing.
    world = bridge()
    optimum = solve(world, Rules(budget=8, rounds=1), 0.9)
    index = exact_index(world, 0.9, TINY)
    for types in [(0, 1, 2), (2, 2, 3), (1, 1, 1)]:
        bound = smallest_duals(index, one_state(8, people(*types)), rounds_left=1).bounds[0]
        best = optimum.value(people(*types), 8, rounds_left=1)
        assert best - 1e-9 <= bound <= best + 0.02


def test_fewer_rounds_tighten_and_stay_above() -> None:
    world = bridge()
    optimum = solve(world, Rules(budget=8, rounds=8), 1.0)
    index, state = exact_index(world, 1.0, TINY), one_state(8, people(1, 1, 2))
    bounds = [smallest_duals(index, state, rounds_left=left).bounds[0] for left in (1, 2, 3, 5, 8)]
    assert (np.diff(bounds) > 1e-6).all()
    for left, bound in zip((1, 2, 3, 5, 8), bounds, strict=True):
        assert bound >= optimum.value(people(1, 1, 2), rounds_left=left) - 1e-9
    assert smallest_duals(index, state).bounds[0] >= bounds[-1] - 1e-9


def test_caps_tighten_and_stay_above() -> None:
    world, codes = bridge(), people(0, 1, 2)
    free = smallest_duals(exact_index(world, 0.9, TINY), one_state(8, codes), 50).bounds[0]
    at_the_root = smallest_duals(exact_index(world, 0.9, TINY), one_state(8, codes), 50, 1).bounds[0]
    capped = exact_index(world, 0.9, replace(TINY, max_per_person=1))
    bound = smallest_duals(capped, one_state(8, codes), 50, 1).bounds[0]
    best = solve(world, Rules(budget=8, max_per_person=1), 0.9).value(codes)
    assert best - 1e-9 <= bound < at_the_root - 0.01
    assert at_the_root < free - 0.01


# ---- against policies ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [bridge, boom_bust])
@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_policies_stay_below(make, discount) -> None:
    world = make()
    states, luck = first_frontiers(world, 300)
    certificates = certify_many(states, exact_index(world, discount), world.capacity, world.offspring, luck)
    # (.5, 8) and (.7, 8) are about the best rules of this kind in these two worlds.
    for policy in (Threshold(world.capacity, 0.5, 8), Threshold(world.capacity, 0.7, 8), RandomSplit()):
        excess = rollout(world, policy, Rules(), luck).discounted_rewards(discount) - certificates.bounds
        assert excess.mean() <= 4 * excess.std() / np.sqrt(len(excess)), policy.name


@pytest.mark.parametrize(
    ("make", "discount", "known"),
    [(bridge, 0.9, 60.9), (bridge, 1.0, 88.1), (boom_bust, 0.9, 68.4), (boom_bust, 1.0, 85)],
)
def test_the_known_price_bounds(make, discount, known) -> None:
    world = make()
    states, luck = first_frontiers(world, 1500)
    found = certify_many(states, exact_index(world, discount), world.capacity, world.offspring, luck, samples=0)
    assert abs(found.bounds.mean() - known) < 4 * found.bounds.std() / np.sqrt(1500) + 0.1
    assert (found.which[found.bounds < 99.9] == "price").all()


def test_the_price_rule_is_feasible_stays_below_its_bound_and_beats_looking_at_survival_alone() -> None:
    world, discount = bridge(), 0.9
    index = exact_index(world, discount, BoundSettings(price_step=0.03))
    states, luck = first_frontiers(world, 200)
    bounds = certify_many(states, index, world.capacity, world.offspring, luck, samples=0).bounds
    earned = rollout(world, PriceIndexPolicy(index), Rules(), luck).discounted_rewards(discount)
    rival = rollout(world, Threshold(world.capacity, 0.5, 8), Rules(), luck).discounted_rewards(discount)
    assert earned.mean() > rival.mean()  # the best rule of its kind here
    assert earned.mean() < bounds.mean()
    capped = Rules(budget=30, people=4, max_per_person=2, max_per_round=5)
    for share in (1.0, 0.5):
        played = rollout(world, PriceIndexPolicy(index, share), capped, named_luck(("capped",), 20))
        assert (played.spend[played.frontier > 0] >= 1).all()


def test_the_price_rule_gives_what_is_worth_its_price() -> None:
    world = bridge()
    index = exact_index(world, 0.9)
    # A Hub alone with plenty: everything worth more than the price, and no voucher beyond.
    state = State(100, Frontier.of(people(2, 3)))
    vouchers = PriceIndexPolicy(index).allocate(state, named_luck(("x",), 1)).vouchers
    price = smallest_duals(index, one_state(100, people(2, 3)), 50).prices
    worth = world.capacity.survival(people(2, 3), 100) * (1 + index.child_values(people(2, 3), price, 50))
    assert vouchers.tolist() == (worth > price).sum(axis=1).tolist()
    assert vouchers[0] > vouchers[1]
    # Hopeless people still get one voucher: nothing is gained by giving up.
    hopeless = PriceIndexPolicy(index).allocate(State(1, Frontier.of(people(3, 3))), named_luck(("x",), 1))
    assert hopeless.spend == 1
    assert PriceIndexPolicy(index).allocate(State(0, Frontier.of(people(3))), named_luck(("x",), 1)).spend == 0
    assert isinstance(hopeless, Allocation)


# ---- the parts -----------------------------------------------------------------------------------------------------


def test_the_surplus_is_the_sum_it_says() -> None:
    rng = np.random.default_rng(0)
    survival = np.sort(rng.random((5, 9)), axis=1)[:, ::-1]
    worth, prices = 3 * rng.random((5, 4)) - 0.5, rng.random((5, 4))
    plain = np.maximum(survival[:, :, None] * worth[:, None, :] - prices[:, None, :], 0).sum(axis=1)
    np.testing.assert_allclose(Chances.of(survival).surplus(worth, prices), plain, atol=1e-12)
    shared = np.maximum(survival[:, :, None] * worth[:, None, :] - prices[0], 0).sum(axis=1)
    np.testing.assert_allclose(Chances.of(survival).surplus(worth, prices[0]), shared, atol=1e-12)


def test_cutting_survival_loses_nothing() -> None:
    world = make_world("icpsr22140")
    codes = world.population(named_luck(("cut",), 40))
    cut = chances_that_matter(world.capacity, codes, 1000, 0.05, 4.0)
    whole = Chances.of(world.capacity.survival(codes, 1000))
    worth, prices = np.full((40, 2), 4.0), np.array([0.05, 0.6])
    assert cut.survival.shape[1] < 1000
    np.testing.assert_allclose(cut.surplus(worth, prices), whole.surplus(worth, prices), rtol=1e-12)


@pytest.mark.parametrize("discount", [0.8, 0.95, 0.999, 1.0])
def test_values_fall_with_the_price_are_convex_and_end_at_one(discount) -> None:
    world = bridge()
    index = exact_index(world, discount)
    prices = np.linspace(0.02, 1.3, 200)
    values = index.values(every_row(world.schema), prices)
    assert (np.diff(values, axis=1) <= 1e-9).all()
    assert (values[:, prices >= 1.0] == 0.0).all()
    assert (values[:3, prices < 0.9] > 0.0).any()
    grid = index.prices
    slopes = np.diff(index.values(every_row(world.schema), grid), axis=1) / np.diff(grid)
    inner = grid[1:-1] > 0.9  # above every price at which the crude bound cuts in
    assert (np.diff(slopes, axis=1)[:, inner] >= -1e-6 * np.abs(slopes[:, 1:][:, inner]) - 1e-6).all()
    assert (index.values(people(0, 1), np.array([0.0, 0.001])) <= 100.0).all()  # below the grid: the crude bound


def test_the_table_solves_its_equation() -> None:
    world, discount = boom_bust(), 0.9
    index = exact_index(world, discount)
    prices = np.array([0.3, 0.5, 0.8])
    everyone = every_row(world.schema)
    later = index.values(everyone, prices / discount)
    np.testing.assert_allclose(
        index.child_values(everyone, prices), discount * world.transition @ later, rtol=2e-3, atol=1e-6
    )
    one_by_one = index.values(everyone, np.tile(prices, (len(everyone), 1)))
    np.testing.assert_allclose(one_by_one, index.values(everyone, prices))


def test_interpolation_lies_above_a_convex_function() -> None:
    grid = np.array([0.1, 0.3, 0.7, 1.0])
    asked = np.linspace(0.1, 1.0, 30)
    assert (interpolated(((1 - grid) ** 3)[None], grid, asked)[0] >= (1 - asked) ** 3 - 1e-15).all()


def test_sampled_transitions_come_near_the_given_ones() -> None:
    world, prices = bridge(), np.array([0.4, 0.7])
    sampled = fit_price_index(world.capacity, world.offspring, NOBODY, world.schema, 0.9)
    assert sampled.kind == "sampled table"
    everyone = every_row(world.schema)
    np.testing.assert_allclose(
        sampled.values(everyone, prices), exact_index(world, 0.9).values(everyone, prices), rtol=0.05, atol=0.01
    )
    states, luck = first_frontiers(world, 3)
    assert "estimated" in certify_many(states, sampled, world.capacity, world.offspring, luck, samples=0).proofs


# ---- the audit: it errs upwards whatever the index says ------------------------------------------------------------


@dataclass(frozen=True)
class Wrong:
    """Child values of an index, multiplied."""

    right: object
    factor: float
    kind: str = "network"

    @property
    def prices(self) -> np.ndarray:
        return self.right.prices

    def expected(self, covariates, prices, rounds_left) -> np.ndarray:
        return self.factor * self.right.expected(covariates, prices, rounds_left)


@pytest.mark.parametrize("factor", [0.0, 1.0, 3.0])
def test_an_audit_is_above_the_truth_for_any_index_and_near_it_for_the_right_one(factor) -> None:
    world, discount = bridge(), 0.9
    right = exact_index(world, discount)
    wrong = replace(right, children=Wrong(right.children, factor))
    price, repeats = 0.6, 400  # four generations below the price at which everybody is worth nothing
    assert generations_needed(price, discount) == 4
    truth = right.values(people(2), np.array([price]))[0, 0]
    luck = named_luck(("audit", int(10 * factor)), repeats)
    found = audited_values(wrong, world.offspring, np.repeat(people(2), repeats, axis=0), np.full(repeats, price), luck)
    error = found.std() / np.sqrt(repeats)
    assert found.mean() >= truth - 4 * error
    if factor == 1.0:
        assert found.mean() <= 1.2 * truth
    else:
        fitted = wrong.values(people(2), np.array([price]))[0, 0]
        assert abs(fitted - truth) > 5 * error  # so the index alone would have been wrong


def test_an_audit_of_a_wrong_index_is_above_the_optimum() -> None:
    world, rules = bridge(), Rules(budget=8, people=3)
    best = solve(world, rules, 0.9).value(people(1, 1, 2))
    right = exact_index(world, 0.9, TINY)
    wrong = replace(right, children=Wrong(right.children, 0.0))  # which says nobody's recruits recruit
    state = State(8, Frontier.of(people(1, 1, 2)), 0, rules)
    blind = certify(state, wrong, world.capacity, world.offspring, named_luck(("blind",), 1), samples=0, audits=0)
    assert blind.bound < best
    assert blind.proof == "estimated"
    proved = certify(state, wrong, world.capacity, world.offspring, named_luck(("proved",), 1), samples=0, audits=100)
    assert proved.proof == "statistical"
    assert proved.bound >= best - 4 * proved.standard_error
    assert proved.price >= auditable_price(wrong)
    low_depth = replace(wrong, settings=replace(TINY, audit_depth=0))
    high = certify(state, low_depth, world.capacity, world.offspring, named_luck(("proved",), 1), samples=0, audits=50)
    assert (
        high.bound >= best
    )  # an audit that may look at nobody's children keeps to prices at which they are worth nothing


# ---- the network ---------------------------------------------------------------------------------------------------

QUICK = BoundSettings(table_rows=0, people=400, batch=128, refreshes=25, steps=25, held_out=0)


def test_the_network_agrees_with_the_table() -> None:
    world = bridge()
    everyone = np.tile(every_row(world.schema), (150, 1))
    told: list[str] = []
    network = fit_price_index(world.capacity, world.offspring, everyone, world.schema, 0.9, QUICK, progress=told.append)
    assert network.kind == "network"
    assert len(told) == QUICK.refreshes
    states, _ = first_frontiers(world, 200)
    table = smallest_duals(exact_index(world, 0.9), states).bounds
    fitted = smallest_duals(network, states).bounds
    assert abs(fitted.mean() / table.mean() - 1) < 0.02
    assert np.corrcoef(fitted, table)[0, 1] > 0.95
    prices = np.linspace(0.9, 1.2, 5)
    assert (network.child_values(everyone[:4], prices) == 0.0).all()


def test_a_network_in_the_papers_world_is_checked_and_audited() -> None:
    world, discount = make_world("icpsr22140"), 0.9
    population = world.population(named_luck(("network test",), 500))
    trained = generations(world.capacity, world.offspring, population, 1200)
    chosen = replace(QUICK, people=1000, batch=256, held_out=100)
    index = fit_price_index(
        world.capacity, world.offspring, trained, world.schema, discount, chosen, checked_at=population[:100]
    )
    assert index.check is not None
    assert abs(index.check.factor - 1) < 0.03
    states, luck = first_frontiers(world, 12)
    fast = certify_many(states, index, world.capacity, world.offspring, luck, samples=0)
    audited = certify_many(states, index, world.capacity, world.offspring, luck, samples=0, audits=8)
    assert set(fast.proofs) == {"estimated"}
    assert set(audited.proofs) == {"statistical"}
    assert abs(fast.bounds.mean() / audited.bounds.mean() - 1) < 0.02
    # Where no audit has been, the network is believed only for want of trees, and no error is claimed for it.
    elsewhere = replace(index, check=replace(index.check, lowest_price=0.99))
    grown = certify_many(states, elsewhere, world.capacity, world.offspring, luck, samples=8)
    assert set(grown.which) == {"clairvoyant"}
    alone = certify_many(states, elsewhere, world.capacity, world.offspring, luck, samples=0).row(0)
    assert "nothing was measured" in alone.explanation
    earned = rollout(world, Threshold(world.capacity, 0.8, 12), Rules(), luck).discounted_rewards(discount)
    assert earned.mean() < audited.bounds.mean() + 4 * earned.std() / np.sqrt(12)
    same = fit_price_index(
        world.capacity, world.offspring, trained, world.schema, discount, replace(chosen, people=100, refreshes=2)
    )
    again = fit_price_index(
        world.capacity, world.offspring, trained, world.schema, discount, replace(chosen, people=100, refreshes=2)
    )
    assert same.check == again.check  # the same seed, the same index
    duals = audited_duals(index, world.offspring, states, fast.prices, luck, audits=3)
    assert duals.shape == (12, 3)


def test_generations_are_people_of_the_schema_and_bring_more_than_the_population() -> None:
    world = make_world("icpsr22140")
    population = world.population(named_luck(("g",), 300))
    found = generations(world.capacity, world.offspring, population, 1000, depth=3)
    world.schema.check(found)
    assert len(found) == 1000
    brought = world.capacity.survival(found, 30).sum(axis=1)
    assert brought[750:].mean() > 1.2 * brought[:250].mean()


# ---- the clairvoyant -----------------------------------------------------------------------------------------------


class CodeIsCapacity:
    """Everybody brings exactly as many as their code says."""

    def survival(self, covariates, max_vouchers) -> np.ndarray:
        return (covariates[:, :1] >= np.arange(1, max_vouchers + 1)).astype(float)

    def sample(self, covariates, luck) -> np.ndarray:
        return covariates[:, 0].astype(np.int64)


class OneLess:
    def sample(self, parents, luck) -> np.ndarray:
        return np.maximum(parents - 1, 0)


def plain_clairvoyant(codes: list[int], budget: int, discount: float, rounds: int, caps: Caps) -> float:
    total, level = 0.0, codes
    for t in range(rounds):
        level = [max(c - 1, 0) for c in level for _ in range(min(c, caps.per_person or c))]
        taken = min(len(level), budget, caps.per_round or budget)
        total, budget = total + discount**t * taken, budget - taken
    return total


@pytest.mark.parametrize("budget", [0, 1, 5, 9, 40])
@pytest.mark.parametrize("caps", [Caps(), Caps(per_person=2), Caps(per_person=3, per_round=4)])
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
        def sample(self, covariates, luck) -> np.ndarray:
            return np.full(len(covariates), 40)

    found = clairvoyant_bound(Many(), OneLess(), people(9), 6, 0.5, 10, named_luck(("c",), 1), 2, Caps(per_round=2))
    assert found.mean == pytest.approx(2 * (1 + 0.5 + 0.25))


def test_the_clairvoyant_is_above_the_optimum() -> None:
    world = bridge()
    for discount in (0.9, 1.0):
        best = solve(world, Rules(budget=8, people=3), discount).value(people(1, 1, 2))
        found = clairvoyant_bound(
            world.capacity, world.offspring, people(1, 1, 2), 8, discount, 50, named_luck(("o",), 1), 2000
        )
        assert best < found.mean + 4 * found.standard_error
        assert found.mean < 8


def test_the_clairvoyant_bound_of_one_round_is_the_capped_mean_capacity() -> None:
    world = boom_bust()
    luck = named_luck(("one round",), 1)
    found = clairvoyant_bound(world.capacity, world.offspring, people(0, 1), 6, 0.9, 1, luck, 4000)
    rng = np.random.default_rng(1)
    capacity = np.minimum(rng.poisson(world.rates[[0, 1]].sum(), 200_000), 6)
    assert within(np.array([found.mean] * 2) + np.array([-1, 1]) * found.standard_error, capacity.mean())


# ---- certificates --------------------------------------------------------------------------------------------------


def test_a_certificate_says_which_bound_and_how_sure() -> None:
    world, luck = bridge(), named_luck(("words",), 1)
    index = exact_index(world, 1.0)
    priced = certify(State(100, Frontier.of(people(*[0] * 6))), index, world.capacity, world.offspring, luck, samples=0)
    assert priced.which == "price"
    assert priced.low == priced.high == priced.bound
    assert f"{priced.price:.2f} recruits each" in priced.explanation
    assert "proved" in priced.explanation
    # Few Bridges at gamma = 1: what can be reached depends on their luck alone.
    seen = certify(State(100, Frontier.of(people(1))), index, world.capacity, world.offspring, luck)
    assert seen.which == "clairvoyant"
    assert seen.proof == "statistical"
    assert seen.low < seen.bound < seen.high
    assert "knowing in advance" in seen.explanation
    sure = typed_world("sure", {"a": 60.0}, {"a": {"a": 1.0}}, {"a": 1.0})
    rich = certify(State(3, Frontier.of(people(0))), exact_index(sure, 1.0), sure.capacity, sure.offspring, luck)
    assert rich.which == "budget"
    assert rich.bound == 3.0
    assert rich.proof == "exact"


@pytest.mark.parametrize(
    ("state", "bound"),
    [
        (State(10, Frontier.of(NOBODY)), 0.0),
        (State(0, Frontier.of(people(2))), 0.0),
        (State(10, Frontier.of(people(2)), round=50), 0.0),
        (State(9, Frontier.of(people(2, 2)), rules=Rules(max_per_person=1, rounds=3)), 2 + 0.9 * 2 + 0.81 * 2),
        (State(9, Frontier.of(people(2, 2)), rules=Rules(max_per_round=4)), 4 + 0.9 * 4 + 0.81),
    ],
)
def test_what_the_rules_alone_say(state, bound) -> None:
    world = bridge()
    codes = state.frontier.covariates
    found = budget_bounds(one_state(state.remaining_budget, codes), 0.9, state.rounds_left, Caps.of(state.rules))
    assert found[0] == pytest.approx(bound)
    certificate = certify(state, exact_index(world, 0.9), world.capacity, world.offspring, named_luck(("r",), 1))
    assert certificate.bound <= bound + 1e-9


def test_many_certificates_are_those_of_each_state() -> None:
    world = bridge()
    states, luck = first_frontiers(world, 6)
    index = exact_index(world, 1.0)
    many = certify_many(states, index, world.capacity, world.offspring, luck, samples=40)
    assert len(many) == 6
    for s in range(6):
        state = State(100, Frontier.of(states.take(np.array([s])).covariates))
        alone = certify(state, index, world.capacity, world.offspring, luck.row(s), samples=40)
        assert alone == many.row(s)
    assert many.mean.mean == pytest.approx(many.bounds.mean())


def test_impossible_settings_and_states_are_refused() -> None:
    world = bridge()
    for wrong in ({"largest_budget": 0}, {"prices": 1}, {"max_per_person": 0}, {"seed": -1}):
        with pytest.raises(SettingError, match="whole number"):
            BoundSettings(**wrong)
    for wrong in ({"price_step": 0.0}, {"smallest_price": 0.7}):
        with pytest.raises(SettingError, match="between 0 and 0.5"):
            BoundSettings(**wrong)
    with pytest.raises(SettingError, match="learning rate"):
        BoundSettings(learning_rate=0.0)
    with pytest.raises(SettingError, match="audit_width"):
        BoundSettings(audit_width=9, audit_children=8)
    with pytest.raises(SettingError, match="discount"):
        exact_index(world, 1.2)
    index = exact_index(world, 0.9, replace(TINY, max_per_person=2))
    with pytest.raises(SettingError, match="at most 8; found 9"):
        smallest_duals(index, one_state(9, people(1)), 50, 2)
    with pytest.raises(SettingError, match="at most 2 vouchers a person; the rules allow any number"):
        smallest_duals(index, one_state(8, people(1)), 50)
    with pytest.raises(SettingError, match="every category known"):
        index.values(people(-1), np.array([0.5]))
    with pytest.raises(SettingError, match="4 x 4"):
        fit_price_index(world.capacity, world.offspring, NOBODY, world.schema, 0.9, transition=np.eye(3))
    with pytest.raises(SettingError, match="table_rows = 0"):
        fit_price_index(world.capacity, world.offspring, NOBODY, world.schema, 0.9, QUICK, transition=np.eye(4))
    with pytest.raises(SettingError, match="share_of_price"):
        PriceIndexPolicy(index, 1.5)
    assert len(every_row(Schema.of_sizes({"a": 3, "b": 2}))) == 6
