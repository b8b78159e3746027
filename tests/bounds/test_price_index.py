"""The price index: surplus, table, network, and the audit that errs only upwards."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from bounds.bound_cases import NOBODY, TINY, exact_index, first_frontiers, people
from peerfront.baselines.simple_rules import Threshold
from peerfront.bounds.certify import certify, certify_many
from peerfront.bounds.dual import smallest_duals
from peerfront.bounds.price_audit import auditable_price, audited_duals, audited_values, generations_needed
from peerfront.bounds.price_fitting import fit_price_index
from peerfront.bounds.price_index import BoundSettings, interpolated
from peerfront.bounds.price_network import check_index
from peerfront.bounds.recruit_space import every_row
from peerfront.bounds.surplus import Chances, chances_that_matter
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.states import generations
from peerfront.problem import Frontier, Rules, State, rollout
from peerfront.simulation.catalog import make_world
from peerfront.simulation.exact import solve
from peerfront.simulation.typed import boom_bust, bridge

# ---- the parts -----------------------------------------------------------------------------------------------------


def test_the_surplus_is_the_sum_it_says() -> None:
    rng = np.random.default_rng(0)
    survival = np.sort(rng.random((5, 9)), axis=1)[:, ::-1]
    worth, prices = 3 * rng.random((5, 4)) - 0.5, rng.random((5, 4))
    plain = np.maximum(survival[:, :, None] * worth[:, None, :] - prices[:, None, :], 0).sum(axis=1)
    np.testing.assert_allclose(Chances.of(survival).surplus(worth, prices), plain, atol=1e-12)
    shared = np.maximum(survival[:, :, None] * worth[:, None, :] - prices[0], 0).sum(axis=1)
    np.testing.assert_allclose(Chances.of(survival).surplus(worth, prices[0]), shared, atol=1e-12)


def test_cutting_gains_loses_nothing() -> None:
    world = make_world("icpsr22140")
    codes = world.population(named_luck(("cut",), 40))
    cut = chances_that_matter(world.response, codes, 1000, 0.05, 4.0)
    whole = Chances.of(world.response.gains(codes, 1000))
    worth, prices = np.full((40, 2), 4.0), np.array([0.05, 0.6])
    assert cut.gains.shape[1] < 1000
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
    sampled = fit_price_index(world.response, world.offspring, NOBODY, world.schema, 0.9)
    assert sampled.kind == "sampled table"
    everyone = every_row(world.schema)
    np.testing.assert_allclose(
        sampled.values(everyone, prices), exact_index(world, 0.9).values(everyone, prices), rtol=0.05, atol=0.01
    )
    states, luck = first_frontiers(world, 3)
    assert "estimated" in certify_many(states, sampled, world.response, world.offspring, luck, samples=0).proofs


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
    blind = certify(state, wrong, world.response, world.offspring, named_luck(("blind",), 1), samples=0, audits=0)
    assert blind.bound < best
    assert blind.proof == "estimated"
    proved = certify(state, wrong, world.response, world.offspring, named_luck(("proved",), 1), samples=0, audits=100)
    assert proved.proof == "statistical"
    assert proved.bound >= best - 4 * proved.standard_error
    assert proved.price >= auditable_price(wrong)
    low_depth = replace(wrong, settings=replace(TINY, audit_depth=0))
    high = certify(state, low_depth, world.response, world.offspring, named_luck(("proved",), 1), samples=0, audits=50)
    assert (
        high.bound >= best
    )  # an audit that may look at nobody's children keeps to prices at which they are worth nothing


def test_an_audit_with_a_deadline_is_above_the_truth_at_a_discount_of_one() -> None:
    world = bridge()
    right = exact_index(world, 1.0, TINY)
    truth = right.values(people(2), np.array([0.6]), 4)[0, 0]
    wrong = replace(right, children=Wrong(right.children, 0.3))
    repeats = 400
    found = audited_values(
        wrong, world.offspring, np.repeat(people(2), repeats, axis=0), np.full(repeats, 0.6),
        named_luck(("deadline",), repeats), rounds_left=4,
    )  # fmt: skip
    assert found.mean() >= truth - 4 * found.std() / np.sqrt(repeats)
    assert wrong.values(people(2), np.array([0.6]), 4)[0, 0] < truth - 10 * found.std() / np.sqrt(repeats)
    alone = audited_values(
        wrong, world.offspring, people(2), np.array([0.4]), named_luck(("last",), 1), rounds_left=1, price_now=0.6
    )
    assert alone[0] == pytest.approx(right.values(people(2), np.array([0.6]), 1)[0, 0])


def test_a_check_reaches_prices_below_those_it_can_prove() -> None:
    """Boom-bust at .95 wants prices below .95^7; unchecked there, a network would leave the field to loose trees."""
    world = boom_bust()
    right = exact_index(world, 0.95)
    network = replace(right, children=Wrong(right.children, 1.0))
    states, luck = first_frontiers(world, 12)
    check = check_index(network, world.offspring, states.covariates)
    assert check.lowest_price < auditable_price(network)
    assert 0.99 < check.factor < 1.02
    found = certify_many(states, replace(network, check=check), world.response, world.offspring, luck)
    exact = smallest_duals(right, states, 50).bounds
    assert (found.which == "price").all()
    assert abs(found.bounds.mean() / exact.mean() - 1) < 0.02


def test_one_wild_audit_does_not_move_the_check(monkeypatch) -> None:
    world = bridge()
    index = exact_index(world, 0.9)
    steady = check_index(index, world.offspring, people(0, 1, 2, 3))

    def wild(*arguments, **named) -> np.ndarray:
        found = audited_duals(*arguments, **named)
        found[0, 0] *= 1000.0
        return found

    monkeypatch.setattr("peerfront.bounds.price_network.audited_duals", wild)
    moved = check_index(index, world.offspring, people(0, 1, 2, 3))
    assert moved.factor == pytest.approx(steady.factor, rel=0.01)


# ---- the network ---------------------------------------------------------------------------------------------------

QUICK = BoundSettings(table_rows=0, people=400, batch=128, refreshes=25, steps=25, held_out=0)


def test_the_network_agrees_with_the_table() -> None:
    world = bridge()
    everyone = np.tile(every_row(world.schema), (150, 1))
    shares: list[float] = []
    network = fit_price_index(
        world.response,
        world.offspring,
        everyone,
        world.schema,
        0.9,
        QUICK,
        progress=lambda share, what: shares.append(share),
    )
    assert network.kind == "network"
    assert len(shares) == QUICK.refreshes + 1
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
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
    trained = generations(world.response, world.offspring, population, 1200)
    chosen = replace(QUICK, people=1000, batch=256, held_out=100)
    index = fit_price_index(
        world.response, world.offspring, trained, world.schema, discount, chosen, checked_at=population[:100]
    )
    assert index.check is not None
    assert abs(index.check.factor - 1) < 0.03
    states, luck = first_frontiers(world, 12)
    fast = certify_many(states, index, world.response, world.offspring, luck, samples=0)
    audited = certify_many(states, index, world.response, world.offspring, luck, samples=0, audits=8)
    assert set(fast.proofs) == {"estimated"}
    assert set(audited.proofs) == {"statistical"}
    assert abs(fast.bounds.mean() / audited.bounds.mean() - 1) < 0.02
    # Where no audit has been, the network is believed only for want of trees, and no error is claimed for it.
    elsewhere = replace(index, check=replace(index.check, lowest_price=0.99))
    grown = certify_many(states, elsewhere, world.response, world.offspring, luck, samples=8)
    assert set(grown.which) == {"clairvoyant"}
    alone = certify_many(states, elsewhere, world.response, world.offspring, luck, samples=0).row(0)
    assert "nothing was measured" in alone.explanation
    earned = rollout(world, Threshold(world.response, 0.8, 12), Rules(), luck).discounted_rewards(discount)
    assert earned.mean() < audited.bounds.mean() + 4 * earned.std() / np.sqrt(12)
    same = fit_price_index(
        world.response, world.offspring, trained, world.schema, discount, replace(chosen, people=100, refreshes=2)
    )
    again = fit_price_index(
        world.response, world.offspring, trained, world.schema, discount, replace(chosen, people=100, refreshes=2)
    )
    assert same.check == again.check  # the same seed, the same index
    duals = audited_duals(index, world.offspring, states, fast.prices, luck, audits=3)
    assert duals.shape == (12, 3)


def test_generations_are_people_of_the_schema_and_bring_more_than_the_population() -> None:
    world = make_world("icpsr22140")
    population = world.population(named_luck(("g",), 300))
    found = generations(world.response, world.offspring, population, 1000, depth=3)
    world.schema.check(found)
    assert len(found) == 1000
    brought = world.response.gains(found, 30).sum(axis=1)
    assert brought[750:].mean() > 1.2 * brought[:250].mean()
