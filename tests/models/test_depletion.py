"""A response whose people run out of acquaintances, against plain formulas, brute force and the model itself."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, gamma

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.covariates import Codes, Field, Schema
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.models.depletion import Depleted, DepletingWorld
from peerfront.models.finite_population import Population, popularity_of
from peerfront.problem import BinomialResponse, BranchingWorld, Crowd, Rules, rollout
from peerfront.problem.response import UNLIMITED
from peerfront.problem.response import brings as brings_of

Array = NDArray[np.float64]
SCHEMA = Schema((Field("sex", ("f", "m")), Field("town", ("east", "west"))))
ASKED = Schema((*SCHEMA.fields, Field("acquaintances left", tuple(str(n) for n in range(8)))))


class TwoKinds(BinomialResponse):
    """Survival and chances by sex; a chance of None is 1."""

    def __init__(self, survival: list[list[float]], chance: list[float] | None = None) -> None:
        self.table, self.chance = np.array(survival), chance

    def survival(self, covariates: Codes, max_coupons: int) -> Array:
        padded = np.zeros((2, max(max_coupons, self.table.shape[1])))
        padded[:, : self.table.shape[1]] = self.table
        return padded[covariates[:, 0], :max_coupons]

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        uniforms = luck.uniform("capacity")
        counts: NDArray[np.int64] = ((1.0 - uniforms)[:, None] < self.table[covariates[:, 0]]).sum(axis=1)
        return counts

    def chances(self, covariates: Codes, degree: int) -> tuple[Array, Array] | None:
        if self.chance is None:
            return None
        values = np.array(self.chance)[covariates[:, 0]][:, None]
        return values, np.ones_like(values)

    def drawn_chances(self, covariates: Codes, luck: Luck) -> Array | None:
        return None if self.chance is None else np.array(self.chance)[covariates[:, 0]]


class LikeParent:
    def sample(self, parents: Codes, luck: Luck) -> Codes:
        return parents.copy()


class AllKinds:
    def sample(self, luck: Luck) -> Codes:
        number = np.arange(len(luck))
        return np.stack([number % 2, number // 2 % 2], axis=1).astype(np.int16)


def whole(size: float = 100, already: float = 40, before: float = 10, **more: object) -> Population:
    return Population(np.array([float(size)]), np.array([float(already)]), np.array([float(before)]), **more)  # type: ignore[arg-type]


def people(count: int, *, left: list[int] | None = None) -> Codes:
    codes = AllKinds().sample(named_luck(("people",), count))
    return codes if left is None else np.concatenate([codes, np.array(left, np.int16)[:, None]], axis=1)


RESPONSES = [
    TwoKinds([[0.9, 0.5, 0.3, 0.1], [0.6, 0.2, 0.05, 0.0]]),
    TwoKinds([[0.9, 0.5, 0.3, 0.1], [0.6, 0.2, 0.05, 0.0]], [0.8, 0.35]),
]


def brute_counts(response: BinomialResponse, person: Codes, coupons: int, finds: list[float]) -> Array:
    """P(N' = y) by summing over C, A and uses; `finds` is P(A = a)."""
    survival = np.concatenate([[1.0], response.survival(person, coupons)[0], [0.0]])
    usable = survival[:-1] - survival[1:]
    chances = response.chances(person, coupons)
    used = 1.0 if chances is None else float(chances[0][0, 0])
    counts = np.zeros(coupons + 1)
    for (c, p_c), (a, p_a) in product(enumerate(usable), enumerate(finds)):
        n = min(c, a)
        counts[: n + 1] += p_c * p_a * binom.pmf(np.arange(n + 1), n, used)
    return counts


@pytest.mark.parametrize("response", RESPONSES)
def test_counts_gains_and_transform_are_those_of_brute_force(response: BinomialResponse) -> None:
    population = whole(acquaintances=(4,), popularity=1.3)
    share = (60 / 100 / 0.9) ** 1.3
    model, codes, alpha = Depleted(response, population), people(2), np.array([[0.3, 0.9]] * 2)
    finds = binom.pmf(np.arange(4), 3, share).tolist()
    for person in range(2):
        expected = brute_counts(response, codes[person : person + 1], 5, finds)
        np.testing.assert_allclose(model.counts(codes, 5)[person], expected, atol=1e-12)
        by_coupons = [brute_counts(response, codes[person : person + 1], k, finds) for k in range(6)]
        means = [float(counts @ np.arange(k + 1)) for k, counts in enumerate(by_coupons)]
        np.testing.assert_allclose(model.gains(codes, 5)[person], np.diff(means), atol=1e-12)
        powers = [
            (counts[:, None] * alpha[person] ** np.arange(k + 1)[:, None]).sum(axis=0)
            for k, counts in enumerate(by_coupons)
        ]
        ratios = 1.0 - np.array(powers[1:]) / np.array(powers[:-1])
        np.testing.assert_allclose(model.covers(codes, alpha, 5)[person], ratios, atol=1e-10)


@pytest.mark.parametrize("response", RESPONSES)
def test_with_everybody_left_nothing_changes_to_the_last_bit(response: BinomialResponse) -> None:
    population = whole(1000, 30, 30, popularity=2.0)
    model, codes, luck = Depleted(response, population), people(50), named_luck(("bits",), 50)
    alpha = named_luck(("alpha",), 50).uniforms("alpha", 3)
    assert np.array_equal(model.gains(codes, 6), response.gains(codes, 6))
    assert np.array_equal(model.covers(codes, alpha, 6), response.covers(codes, alpha, 6))
    assert np.array_equal(model.counts(codes, 6), response.counts(codes, 6))
    assert np.array_equal(model.sample(codes, 4, luck), response.sample(codes, 4, luck))
    inner = BranchingWorld("inner", SCHEMA, response, LikeParent(), AllKinds())
    huge = DepletingWorld.of(inner, whole(10**9, 0, 0), SCHEMA)
    rules, episodes = Rules(30, 4, 5, 3), named_luck(("episodes",), 40)
    with_, without = (rollout(world, Constant(2), rules, episodes) for world in (huge, inner))
    assert np.array_equal(with_.recruits, without.recruits)
    unasked = DepletingWorld.of(inner, None, ASKED, np.full(4, -1, np.int16))
    assert np.array_equal(rollout(unasked, Constant(2), rules, episodes).recruits, without.recruits)


@given(
    already=st.integers(0, 99),
    before=st.integers(0, 60),
    known=st.integers(1, 9),
    popularity=st.floats(1.0, 3.0),
    which=st.integers(0, 1),
)
@settings(max_examples=60, deadline=None)
def test_the_family_keeps_its_properties(already: int, before: int, known: int, popularity: float, which: int) -> None:
    population = whole(100, already, before, acquaintances=(known, known + 2), popularity=popularity)
    model, codes = Depleted(RESPONSES[which], population), people(4)
    gains = model.gains(codes, 6)
    assert (np.diff(gains, axis=1) <= 1e-12).all()
    assert (gains <= RESPONSES[which].gains(codes, 6) + 1e-12).all()
    covers = model.covers(codes, np.full((4, 2), 0.4), 6)
    assert (np.diff(covers, axis=1) <= 1e-9).all()
    one_more = brings_of(model, codes, 5, named_luck(("one more", already), 4))
    drawn = [model.sample(codes, k, named_luck(("one more", already), 4)) for k in range(6)]
    assert np.array_equal(one_more, np.diff(np.stack(drawn, axis=1), axis=1) > 0)
    later = replace(population, already=np.array([min(already + 5.0, 100.0)]))
    assert (Depleted(RESPONSES[which], later).gains(codes, 6) <= gains + 1e-12).all()


def test_samples_have_the_tables_means() -> None:
    model = Depleted(RESPONSES[1], whole(acquaintances=(1, 3), popularity=1.5))
    codes, luck = people(20_000), named_luck(("means",), 20_000)
    for coupons in (1, 3):
        drawn = model.sample(codes, coupons, luck)
        expected = model.gains(codes, coupons).sum(axis=1)
        error = drawn.std() / np.sqrt(len(drawn))
        assert abs(drawn.mean() - expected.mean()) < 4 * error


def test_known_acquaintances_cap_each_person_and_others_follow_the_population() -> None:
    population = whole(acquaintances=(4,))
    model = Depleted(RESPONSES[0], population, asked=True)
    codes = people(4, left=[0, 1, 3, -1])
    gains, plain = model.gains(codes, 4), RESPONSES[0].gains(codes[:, :2], 4)
    for person, left in enumerate([0, 1, 3]):
        assert np.array_equal(gains[person, :left], plain[person, :left])
        assert (gains[person, left:] == 0.0).all()
    assert np.array_equal(gains[3], Depleted(RESPONSES[0], population).gains(codes[:, :2], 4)[3])
    luck = named_luck(("cap",), 4)
    assert (model.sample(codes, 4, luck)[:3] <= [0, 1, 3]).all()
    assert model.acquaintances(people(4, left=[-1] * 4), luck).max() < 4
    alone = Depleted(RESPONSES[0], None, asked=True)
    assert (alone.acquaintances(people(4, left=[-1] * 4), luck) == UNLIMITED).all()


def test_an_episode_never_recruits_more_than_there_are() -> None:
    inner = BranchingWorld("inner", SCHEMA, TwoKinds([[1.0] * 4] * 2), LikeParent(), AllKinds())
    world = DepletingWorld.of(inner, whole(30, 8, 0, acquaintances=(6,)), SCHEMA)
    played = rollout(world, Constant(3), Rules(500, 8, 12), named_luck(("finite",), 60))
    assert played.total_recruits.max() <= 22
    assert played.total_recruits.mean() > 10


def test_the_last_people_are_found_although_many_look_for_them() -> None:
    """Half of what a round would bring from a full population is more than is left: it must not count as come."""
    inner = BranchingWorld("inner", SCHEMA, TwoKinds([[1.0] * 4] * 2), LikeParent(), AllKinds())
    world = DepletingWorld.of(inner, whole(1000, 980, 0, acquaintances=(11,)), SCHEMA)
    played = rollout(world, Constant(3), Rules(120, 40, 1), named_luck(("last",), 200))
    alone = float(world.response.gains(people(40), 3).sum())
    assert 0.5 * alone < played.total_recruits.mean() < alone


def test_groups_run_out_by_themselves() -> None:
    sizes, already = np.array([10.0, 1000.0]), np.array([8.0, 8.0])
    population = Population(
        sizes, already, np.zeros(2), field=0, mixing=np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]]), acquaintances=(6,)
    )
    shares = np.array([0.2, 0.992])
    np.testing.assert_allclose(population.shares(), shares)
    np.testing.assert_allclose(
        population.shares_of_people(shares), [0.9 * 0.2 + 0.1 * 0.992, 0.1 * 0.2 + 0.9 * 0.992, 0.596]
    )
    inner = BranchingWorld("inner", SCHEMA, TwoKinds([[1.0] * 3] * 2), LikeParent(), AllKinds())
    world = DepletingWorld.of(inner, population, SCHEMA)
    crowd = world.seeds(named_luck(("groups",), 50), 8)
    for _ in range(3):
        crowd = world.refer(crowd, np.full(len(crowd), 3)).next_crowd
    women = np.bincount(crowd.memory[0][:, 0].astype(int))
    assert len(women) - 1 <= 2  # ten women, eight of whom had taken part
    assert crowd.memory[0][:, 1].mean() > 50
    unknown = np.array([[-1, 0]], np.int16)
    assert population.groups(unknown).tolist() == [2]


def test_a_recruit_of_unknown_group_counts_a_part_in_each() -> None:
    population = Population(np.array([30.0, 10.0]), np.zeros(2), np.zeros(2), field=0)

    class Nameless:
        def sample(self, parents: Codes, luck: Luck) -> Codes:
            return np.full_like(parents, -1)

    inner = BranchingWorld("inner", SCHEMA, TwoKinds([[1.0]] * 2), Nameless(), AllKinds())
    world = DepletingWorld.of(inner, population, SCHEMA)
    start = world.seeds(named_luck(("nameless",), 1), 4)
    after = world.refer(Crowd(start.episode, start.keys, start.covariates), np.ones(4, np.int64)).next_crowd
    np.testing.assert_allclose(after.memory[0], [[3.0, 1.0]])


def test_popular_people_are_found_first() -> None:
    """With gamma network sizes and clocks in proportion to them, the share of acquaintances left is a power."""
    spread = 0.5  # c^2
    rng = np.random.default_rng(5)
    sizes = gamma.rvs(1 / spread, scale=10 * spread, size=400_000, random_state=rng)
    found = rng.exponential(1.0 / sizes) < 0.08
    left, known = 1.0 - found.mean(), sizes[~found].sum() / sizes.sum()
    assert left ** (1 + spread) == pytest.approx(known, abs=0.005)
    early = rng.exponential(1.0 / sizes) < 0.002  # a small sample, in proportion to sizes
    assert popularity_of(sizes[early]) == pytest.approx(1.5, abs=0.08)
    assert popularity_of(np.array([])) == popularity_of(np.full(5, 7.0)) == 1.0
    assert popularity_of(np.array([1.0, 1.0, 1e6, 1e6])) == 3.0
