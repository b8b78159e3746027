"""What is believed about coupons: the family, its posterior, and what follows from draws."""

from dataclasses import replace
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logsumexp

from peerfront.foundation.covariates import Field, Schema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.stored import Stored
from peerfront.models.belief.belief import Belief, BeliefResponse, sampled
from peerfront.models.belief.belief_fit import Counts, Posterior, draws_of, learned_belief, problem_of, usual_lately
from peerfront.models.belief.belief_world import BeliefWorld, draw_of_episode
from peerfront.models.belief.coupon_family import FURTHEST, expected, moved, seen_so_far, transport
from peerfront.models.belief.prior import Prior
from peerfront.problem import BranchingWorld

SCHEMA = Schema((Field("sex", ("f", "m")), Field("town", ("north", "south", "west"))))
SHAPES = st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 0.2, 0.8, 1.2]))


def some_counts(people: int = 200, seed: int = 1, same: bool = False, effect: float = 0.0, waves: int = 1) -> Counts:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, len(field), people) for field in SCHEMA.fields], axis=1).astype(np.int16)
    coupons = np.full(people, 3) if same else rng.integers(1, 4, people)
    rate = 1.2 * np.exp(effect * (codes[:, 0] - 0.5))
    recruits = np.minimum(coupons, rng.poisson(rate))
    return Counts(SCHEMA, codes, coupons, recruits, wave=rng.integers(0, waves, people), planned=coupons)


# The family -----------------------------------------------------------------------------------------------------------


def exact_chance(f, coupons, recruits, limited, spur, exposure):
    """P(Y so far = recruits) with fifty digits, from N(k) = E(k) * Binomial(min(k, C), P) as it is written."""
    with mpmath.workdps(50):
        most = len(f) - 1
        pi = (mpmath.mpf(coupons) / most) ** mpmath.mpf(spur)
        total = mpmath.mpf(0)
        for used, share in enumerate(f):
            for n in range(coupons + 1):
                first = 1 if min(coupons, used) == n else 0
                ways = mpmath.binomial(used, n) * mpmath.binomial(most - used, coupons - n)
                own = ways / mpmath.binomial(most, coupons)
                chance = pi * (limited * first + (1 - mpmath.mpf(limited)) * own) + (1 - pi) * (n == 0)
                e = mpmath.mpf(exposure)
                seen = mpmath.binomial(n, recruits) * e**recruits * (1 - e) ** (n - recruits) if n >= recruits else 0
                total += mpmath.mpf(share) * chance * seen
        return float(total)


@given(
    st.integers(1, 6),
    SHAPES,
    st.lists(st.floats(0.01, 1.0), min_size=7, max_size=7),
    st.floats(0.05, 1.0),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_chances_are_those_of_the_definition(most, shape, weights, exposure, data) -> None:
    f = np.array(weights[: most + 1]) / sum(weights[: most + 1])
    coupons = data.draw(st.integers(1, most))
    table = seen_so_far(coupons, np.array([exposure])) @ transport(coupons, most, *shape) @ f
    for recruits in range(coupons + 1):
        assert table[recruits] == pytest.approx(exact_chance(f, coupons, recruits, *shape, exposure), abs=1e-12)


@given(st.integers(1, 6), SHAPES)
def test_transports_are_chances_and_more_coupons_never_bring_fewer(most, shape) -> None:
    rows = []
    for coupons in range(FURTHEST * most + 3):
        table = transport(coupons, most, *shape)
        assert (table >= -1e-12).all()
        np.testing.assert_allclose(table.sum(axis=0), 1.0)
        rows.append(np.arange(coupons + 1) @ table)
    assert (np.diff(rows, axis=0) >= -1e-12).all()
    np.testing.assert_allclose(rows[most], np.arange(most + 1))  # with the most coupons Y come
    np.testing.assert_allclose(rows, expected(FURTHEST * most + 2, most, *shape))
    np.testing.assert_allclose(rows[-1], rows[-2])  # beyond the furthest nothing more comes


def test_the_corners_are_the_paper_and_coupons_on_their_own() -> None:
    np.testing.assert_array_equal(transport(1, 3, 1.0, 0.0), [[1, 0, 0, 0], [0, 1, 1, 1]])  # min(1, C)
    np.testing.assert_allclose(transport(1, 3, 0.0, 0.0)[1], [0, 1 / 3, 2 / 3, 1])
    assert float(moved(1, 3, 1.0)) == pytest.approx(1 / 3)


def test_an_exposure_that_is_not_known_is_averaged() -> None:
    each = [seen_so_far(3, np.array([chance])) for chance in (0.2, 0.9)]
    np.testing.assert_allclose(seen_so_far(3, np.array([0.2, 0.9])), np.mean(each, axis=0))


# The posterior --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limited", "spur", "spread"), [(0.0, 0.8, 0.3), (1.0, 0.0, 0.05), (0.5, 0.4, 0.15)])
def test_gradient_and_curvature_are_those_of_the_density(limited, spur, spread) -> None:
    counts = some_counts(waves=3)
    counts = replace(counts, exposure=np.round(np.random.default_rng(0).uniform(0.2, 1.0, len(counts)), 1))
    problem = problem_of(replace(counts, planned=None), (0, 1), Prior())
    posterior = Posterior(problem, problem.rows(limited, spur), spread, Prior())
    theta = np.random.default_rng(2).normal(0, 0.3, problem.most + len(problem.deviation))
    value, gradient, curve = posterior.terms(theta)
    step = 1e-5
    moves = step * np.eye(len(theta))
    slopes = [(posterior.terms(theta + m)[0] - posterior.terms(theta - m)[0]) / (2 * step) for m in moves]
    bends = [(posterior.terms(theta - m)[1] - posterior.terms(theta + m)[1]) / (2 * step) for m in moves]
    np.testing.assert_allclose(gradient, slopes, atol=1e-5)
    np.testing.assert_allclose(curve, bends, atol=1e-4)
    others = posterior.value(np.stack([theta, 0.5 * theta]))
    assert others[0] - others[1] == pytest.approx(value - posterior.terms(0.5 * theta)[0])


def test_evidence_is_the_integral_over_the_parameters() -> None:
    counts = some_counts(40, same=True)
    counts = replace(counts, coupons=np.ones(40, np.int64), recruits=np.minimum(counts.recruits, 1))
    prior = Prior()
    problem = problem_of(replace(counts, planned=counts.coupons), (), prior)
    posterior = Posterior(problem, problem.rows(0.0, 0.0), 0.05, prior)
    mode, height, curve = posterior.mode(np.zeros(1))
    grid = np.linspace(-10, 10, 20_001)[:, None]
    exact = logsumexp(posterior.value(grid)) + np.log(grid[1, 0] - grid[0, 0])
    assert posterior.log_evidence(height, curve) == pytest.approx(exact, abs=0.05)
    used = expit(posterior.mode(np.zeros(1))[0][0])
    assert used == pytest.approx(counts.recruits.mean(), abs=0.05)
    assert mode.shape == (1,)


def test_draws_are_weighed_by_what_the_formula_misses() -> None:
    problem = problem_of(some_counts(), (), Prior())
    draws = draws_of(problem, Prior(), 200, 0)
    assert draws.effective > 0.5
    assert draws.weights.sum() == pytest.approx(1.0)
    again = draws_of(problem, Prior(), 200, 0)
    np.testing.assert_array_equal(draws.theta, again.theta)


def test_shapes_that_counts_reject_disappear() -> None:
    rng = np.random.default_rng(3)
    coupons = rng.integers(1, 4, 1_500)
    recruits = np.minimum(coupons, rng.poisson(1.5, 1_500))
    codes = np.zeros((1_500, 2), np.int16)
    belief = learned_belief(Counts(SCHEMA, codes, coupons, recruits, planned=coupons))
    assert belief.weights["capacity"] > 0.95
    assert (belief.spur <= 0.2).all()


def test_one_number_of_coupons_leaves_the_prior_of_the_shape() -> None:
    """Counts with three coupons say what three bring, and nothing about one."""
    prior = Prior(drift=0.001, slowing=0.0)
    belief = learned_belief(some_counts(500, same=True), prior, draws=2_000)
    shares = {at: float((belief.limited == at).mean()) for at, _ in prior.limited}
    assert shares == pytest.approx(dict(prior.limited), abs=0.05)
    spread = np.quantile(belief.response.by_draw(np.zeros((1, 2), np.int16), 3)[:, 0], [0.025, 0.975], axis=0)
    wide, narrow = (spread[1] - spread[0])[[0, 2]]
    assert wide > 2 * narrow > 0.0


@pytest.mark.parametrize("came", [0, 3])
def test_no_interval_has_zero_width(came) -> None:
    """Everybody used all coupons, or nobody any: what is likely is still a range."""
    people = 30
    counts = Counts(SCHEMA, np.zeros((people, 2), np.int16), np.full(people, 3), np.full(people, came))
    low, high = np.quantile(
        learned_belief(counts).response.by_draw(np.zeros((1, 2), np.int16), 3)[:, 0], [0.025, 0.975], axis=0
    )
    assert (high - low > 0.01).all()


def test_twelve_people_and_coupons_that_are_all_open() -> None:
    belief = learned_belief(some_counts(12))
    assert np.isfinite(belief.levels).all()
    counts = some_counts(60)
    belief = learned_belief(replace(counts, exposure=np.full(60, 0.05), recruits=np.zeros(60, np.int64)))
    assert len(belief) == 400


def test_a_prior_that_excludes_the_data_gives_way() -> None:
    prior = Prior(earlier_levels=((-3.0, 0.3), (-6.0, 0.3), (-9.0, 0.3)))  # nobody brings anybody
    counts = some_counts(400, same=True)
    brought = learned_belief(counts, prior).response.expected_recruits(np.zeros((1, 2), np.int16), 3)[0, 2]
    assert brought == pytest.approx(counts.recruits.mean(), rel=0.2)


def test_everybody_is_alike_until_the_counts_show_otherwise() -> None:
    alike = [learned_belief(some_counts(150, seed), draws=50).fields for seed in range(20)]
    assert sum(len(fields) > 0 for fields in alike) <= 2
    assert learned_belief(some_counts(400, effect=1.0), draws=50).fields == ("sex",)


def test_staff_who_favour_the_keen_are_not_taken_for_an_effect_of_coupons() -> None:
    """Keen people get 3 coupons, the others 1. Where nothing was planned the belief is wider."""
    rng = np.random.default_rng(5)
    keen = rng.random(600) < 0.5
    coupons = np.where(keen, 3, 1)
    recruits = rng.binomial(coupons, np.where(keen, 0.5, 0.25))
    counts = Counts(SCHEMA, np.zeros((600, 2), np.int16), coupons, recruits)
    person = np.zeros((1, 2), np.int16)

    def width(own: Counts) -> float:
        low, high = np.quantile(learned_belief(own).response.by_draw(person, 3)[:, 0, 0], [0.025, 0.975])
        return float(high - low)

    assert width(counts) > 1.3 * width(replace(counts, planned=coupons))


def three_each_then_one(brought: int) -> Counts:
    """300 people with three coupons (chance .2 each), then 35 with one, of whom so many brought somebody."""
    history = np.random.default_rng(1).binomial(3, 0.2, 300)
    coupons = np.repeat([3, 1], [300, 35])
    recruits = np.concatenate([history, np.arange(35) < brought])
    return Counts(SCHEMA, np.zeros((335, 2), np.int16), coupons, recruits, planned=coupons)


def test_a_belief_takes_in_what_it_can_explain_and_says_what_it_cannot() -> None:
    assert not learned_belief(three_each_then_one(6)).misfits  # more coupons motivate
    (first,) = learned_belief(three_each_then_one(6), Prior.knowing("capacity")).misfits
    assert (first.coupons, first.people, first.brought, first.last_wave) == (1, 35, 6, False)
    assert 10 <= first.low <= 13
    assert 17 <= first.high <= 21
    more = learned_belief(three_each_then_one(32)).misfits  # that one coupon brings more than three, no part explains
    assert [each.coupons for each in more] == [1]


def test_a_last_wave_that_breaks_off_is_no_luck() -> None:
    rng = np.random.default_rng(2)
    wave = np.repeat(np.arange(6), 50)
    recruits = rng.binomial(3, np.where(wave == 5, 0.03, 0.35))
    counts = Counts(SCHEMA, np.zeros((300, 2), np.int16), np.full(300, 3), recruits, wave=wave)
    assert [(each.coupons, each.last_wave) for each in learned_belief(counts).misfits] == [(3, True)]


@pytest.mark.parametrize(("chance", "people"), [(0.05, 50), (0.15, 20), (0.2, 50), (0.6, 50)])
def test_what_the_usual_number_brought_lately(chance: float, people: int) -> None:
    """Five waves with a chance of .35 for each of three coupons, a sixth with another; one coupon always works."""
    wave = np.repeat(np.arange(6), [50] * 5 + [people])
    coupons = np.where(np.arange(len(wave)) % 10 == 0, 1, 3)
    recruits = np.random.default_rng(2).binomial(3, np.where(wave == 5, chance, 0.35))
    recruits = np.where(coupons == 1, 1, recruits)
    lately = usual_lately(Counts(SCHEMA, np.zeros((len(wave), 2), np.int16), coupons, recruits, wave=wave))
    by_draw = lately.response.by_draw(np.full((1, 2), -1, np.int16), 3)[:, 0, 2]
    low, high = np.quantile(by_draw, [0.05, 0.95])
    came = recruits[(wave == 5) & (coupons == 3)].mean()
    assert low < came < high
    assert abs(by_draw.mean() - came) < 0.1
    assert (lately.spread == 0.5).all()


@pytest.mark.parametrize("seed", range(5))
def test_where_the_belief_is_true_nothing_contradicts_it(seed: int) -> None:
    assert not learned_belief(some_counts(seed=seed, waves=4)).misfits


def test_open_coupons_do_not_contradict_a_belief() -> None:
    counts = three_each_then_one(15)
    early = np.where(counts.coupons == 1, 0.2, 1.0)
    came = np.where(counts.coupons == 1, np.cumsum(counts.coupons == 1) <= 3, counts.recruits)
    assert not learned_belief(replace(counts, recruits=came, exposure=early), Prior.knowing("capacity")).misfits


def test_a_single_wave_leaves_the_prior_of_the_drift() -> None:
    """Studies slow down, and a file of one wave cannot say otherwise."""
    belief = learned_belief(some_counts(), Prior(slowing=0.2, drift=0.05))
    assert belief.drift.mean() == pytest.approx(-0.2, abs=0.01)
    assert belief.drift.std() == pytest.approx(0.05, rel=0.15)


def test_a_drift_goes_on() -> None:
    rng = np.random.default_rng(7)
    wave = np.repeat(np.arange(8), 100)
    recruits = rng.binomial(3, 0.5 * 0.85**wave)
    counts = Counts(SCHEMA, np.zeros((800, 2), np.int16), np.full(800, 3), recruits, wave=wave)
    belief = learned_belief(counts)
    assert np.quantile(belief.drift, 0.9) < 0.0
    assert belief.response.expected_recruits(np.zeros((1, 2), np.int16), 3)[0, 2] < recruits[wave == 7].mean() * 1.15


def test_earlier_studies_say_what_to_believe_at_first() -> None:
    rng = np.random.default_rng(9)
    coupons = rng.integers(1, 4, 1_000)
    codes = np.zeros((1_000, 2), np.int16)
    recruits = np.minimum(coupons, rng.poisson(1.5, 1_000))
    earlier = learned_belief(Counts(SCHEMA, codes, coupons, recruits, planned=coupons))
    small = some_counts(12, same=True)
    prior = Prior().given([earlier], small.most)
    alone, helped = learned_belief(small), learned_belief(small, prior)
    assert helped.weights["capacity"] > alone.weights["capacity"] + 0.2
    wide, narrow = (each.response.by_draw(codes[:1], 3)[:, 0, 2].std() for each in (alone, helped))
    assert narrow < wide


# What follows ---------------------------------------------------------------------------------------------------------


BELIEF = learned_belief(some_counts(effect=1.0, waves=3), draws=64)
PEOPLE = np.array(list(product(range(2), range(3))), dtype=np.int16)


@given(st.integers(1, 8), st.floats(0.0, 1.0))
@settings(max_examples=20, deadline=None)
def test_tables_follow_from_the_chances_of_counts(coupons, alpha) -> None:
    response = BELIEF.part(np.arange(5)).response
    counts = response.counts(PEOPLE, coupons)
    np.testing.assert_allclose(counts.sum(axis=1), 1.0)
    gains = response.gains(PEOPLE, coupons)
    np.testing.assert_allclose(gains.sum(axis=1), counts @ np.arange(coupons + 1), atol=1e-12)
    left = response.transform(PEOPLE, np.full((len(PEOPLE), 2), alpha), coupons)
    np.testing.assert_allclose(left[:, coupons, 0], counts @ alpha ** np.arange(coupons + 1), atol=1e-12)
    covers = response.covers(PEOPLE, np.full((len(PEOPLE), 2), alpha), coupons)
    np.testing.assert_allclose(np.cumprod(1.0 - covers, axis=1), left[:, 1:], atol=1e-9)


def test_recruits_are_drawn_from_these_chances() -> None:
    people, luck = np.repeat(PEOPLE[:1], 40_000, axis=0), named_luck(("recruits",), 40_000)
    for coupons in (1, 3, 5):
        brought = BELIEF.response.sample(people, coupons, luck)
        seen = np.bincount(brought, minlength=coupons + 1) / len(people)
        np.testing.assert_allclose(seen, BELIEF.response.counts(PEOPLE[:1], coupons)[0], atol=0.01)


def test_more_coupons_never_bring_fewer() -> None:
    people, luck = np.repeat(PEOPLE, 200, axis=0), named_luck(("more",), 1_200)
    each = [BELIEF.response.sample(people, coupons, luck) for coupons in range(8)]
    assert (np.diff(each, axis=0) >= 0).all()
    adds = BELIEF.response.brings(people, 7, luck)
    np.testing.assert_array_equal(adds, np.diff(each, axis=0).T > 0)


def test_everybody_by_a_draw_of_their_own() -> None:
    draw = np.arange(len(BELIEF))
    people, luck = np.repeat(PEOPLE[:1], len(draw), axis=0), named_luck(("own",), len(draw))
    together = sampled(BELIEF, draw, BELIEF.drift, people, 3, luck)
    alone = [
        sampled(BELIEF.part([n]), np.zeros(1, int), BELIEF.drift[[n]], people[:1], 3, luck.row(n))[0] for n in draw
    ]
    np.testing.assert_array_equal(together, alone)


def test_a_few_draws_stand_for_all() -> None:
    few = BELIEF.to_plan_with(16)
    assert len(few.belief) == 16
    np.testing.assert_allclose(few.expected_recruits(PEOPLE, 3), BELIEF.response.expected_recruits(PEOPLE, 3), rtol=0.1)


def test_episodes_draw_evenly_and_the_world_brings_what_the_belief_expects() -> None:
    draws = np.bincount(draw_of_episode(np.arange(6_400), 64), minlength=64)
    assert draws.min() >= 90
    assert draws.max() <= 110

    class Same:
        def sample(self, *arguments):
            return np.zeros((len(arguments[-1]), 2), np.int16)

    still = replace(BELIEF, spread=np.zeros(64))
    world = BeliefWorld(BranchingWorld("b", SCHEMA, still.response, Same(), Same()), still)
    crowd = world.seeds(named_luck(("world",), 640), 20)
    brought = world.refer(crowd, np.full(len(crowd), 2)).recruits.mean()
    assert brought == pytest.approx(float(still.response.expected_recruits(PEOPLE[:1], 2)[0, 1]), rel=0.05)


def test_a_stored_belief_is_the_same() -> None:
    belief = BELIEF.rounded()
    stored = belief.stored()
    again = Belief.restored(Stored(stored.settings, stored.arrays), SCHEMA)
    np.testing.assert_array_equal(again.response.counts(PEOPLE, 3), belief.response.counts(PEOPLE, 3))
    assert again.weights == belief.weights


@pytest.mark.parametrize("change", [{"limited": 1.5}, {"spur": -0.1}, {"spread": -1.0}])
def test_an_impossible_belief_is_refused(change) -> None:
    stored = BELIEF.rounded().stored()
    (name, value), *_ = change.items()
    arrays = {**stored.arrays, f"draws/{name}": np.full(len(BELIEF), value)}
    with pytest.raises(DataFileError) as refused:
        Belief.restored(Stored(stored.settings, arrays), SCHEMA)
    assert refused.value.code == "stored_model.impossible_belief"


def test_the_parts_have_the_weights_of_their_draws() -> None:
    assert sum(BELIEF.weights.values()) == pytest.approx(1.0)
    for name, weight in BELIEF.weights.items():
        assert len(BELIEF.part(name)) == pytest.approx(weight * len(BELIEF))
    assert isinstance(BELIEF.part("capacity").response, BeliefResponse)
