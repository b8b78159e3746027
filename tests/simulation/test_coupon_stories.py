"""Worlds in which a coupon does something else than the paper says."""

import numpy as np
import pytest
from scipy.stats import betabinom, binom, nbinom

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Rules, rollout
from peerfront.problem.response import brings
from peerfront.simulation.catalog import make_world
from peerfront.simulation.coupon_stories import CouponStory
from peerfront.simulation.network import network_world
from peerfront.simulation.simulated_history import HistorySettings, followed_history, simulate_history
from peerfront.simulation.society import Society, synthetic_society
from support import within

LUCK = named_luck(("coupon stories",), 20_000)
FEW = named_luck(("coupon stories",), 400)
WORLDS = ["icpsr22140", "boom_bust", "bridge", "network:people=300", "study", "alike"]
TOLD = ["response=per_coupon", "response=per_coupon,match=1,spread=0.3", "response=both", "response=both,spread=0.4"]


def told(world: str, story: str) -> str:
    return world + ("," if ":" in world else ":") + story


@pytest.mark.parametrize("story", TOLD)
@pytest.mark.parametrize("name", WORLDS)
def test_every_world_can_be_told_in_every_story(name, story) -> None:
    world = make_world(told(name, story))
    people = world.population(LUCK)
    response = world.response
    for coupons in (1, 3):
        counts = response.counts(people, coupons)
        assert np.allclose(counts.sum(axis=1), 1.0)
        assert np.allclose(counts @ np.arange(coupons + 1), response.gains(people, coupons).sum(axis=1))
        recruits = response.sample(people, coupons, LUCK)
        for y in range(coupons + 1):
            assert within((recruits == y) - counts[:, y], 0.0)
    adds = brings(response, people[:400], 6, FEW)
    assert np.array_equal(adds.sum(axis=1), response.sample(people[:400], 6, FEW))
    played = rollout(world, Constant(3), Rules(30, 8, 4, 3), FEW)
    assert (played.recruits <= played.spend).all()
    assert played.total_recruits.mean() > 1


@pytest.mark.parametrize("name", WORLDS)
def test_the_papers_story_is_the_default(name) -> None:
    plain, named = (make_world(spec) for spec in (name, told(name, "response=capacity")))
    people = plain.population(FEW)
    assert np.array_equal(plain.response.gains(people, 8), named.response.gains(people, 8))
    assert type(plain.response) is type(named.response)
    played = [rollout(world, Constant(2), Rules(30, 8, 4, 3), FEW).recruits for world in (plain, named)]
    assert np.array_equal(*played)


@pytest.mark.parametrize("name", ["icpsr22140", "boom_bust", "bridge"])
@pytest.mark.parametrize("match", [1, 3, 5])
def test_matched_coupons_bring_as_many_as_in_the_capacity_story(name, match) -> None:
    capacity, per_coupon = make_world(name).response, make_world(f"{name}:response=per_coupon,match={match}").response
    people = make_world(name).population(FEW)
    expected = [response.gains(people, match).sum(axis=1) for response in (capacity, per_coupon)]
    assert np.allclose(*expected)
    if match == 1:
        assert np.allclose(per_coupon.mean_chances(people), 1.0 - np.exp(-capacity.rates(people)))
    assert (np.diff(per_coupon.gains(people, 9), axis=1) == 0.0).all()


def test_both_without_a_limit_is_the_capacity_story() -> None:
    people = make_world("bridge").population(FEW)
    capacity, both = (make_world(f"bridge:response={told}").response for told in ("capacity", "both"))
    assert np.allclose(capacity.gains(people, 60).sum(axis=1), both.gains(people, 60).sum(axis=1))
    assert np.allclose(capacity.counts(people, 60), both.counts(people, 60), atol=1e-12)
    assert (capacity.gains(people, 1) > both.gains(people, 1)).all()


def test_people_alike_follow_the_distributions_of_scipy() -> None:
    one = np.zeros((1, 1), dtype=np.int16)
    spread, chance = 0.4, 0.21
    size = 1 / spread - 1
    response = make_world(f"alike:response=per_coupon,chance={chance},spread={spread}").response
    assert np.allclose(response.counts(one, 5)[0], betabinom.pmf(range(6), 5, chance * size, (1 - chance) * size))
    certain = make_world(f"alike:response=per_coupon,chance={chance}").response
    assert np.allclose(certain.counts(one, 5)[0], binom.pmf(range(6), 5, chance))
    capacity = make_world("alike:rate=1.1,size=0.5").response
    assert np.allclose(capacity.survival(one, 6)[0], nbinom.sf(range(6), 0.5, 0.5 / 1.6))
    people = np.zeros((20_000, 1), dtype=np.int16)
    assert within((capacity.sample(people, 3, LUCK) == 3).astype(float), nbinom.sf(2, 0.5, 0.5 / 1.6))
    for sure in (0.0, 1.0):
        ends = make_world(f"alike:response=per_coupon,chance={sure},spread=0.3").response
        assert np.allclose(ends.counts(one, 3)[0], [1 - sure, 0, 0, sure])
        assert (ends.sample(people, 3, LUCK) == 3 * sure).all()


def test_an_acquaintance_who_gets_a_coupon_comes_with_the_chance() -> None:
    star = Society.of([str(n) for n in range(9)], {}, np.array([[0, n] for n in range(1, 9)]))
    world = network_world(star, story=CouponStory("per_coupon", chance=0.3))
    hub = np.zeros((20_000, 1), dtype=np.int16) + star.covariates[0]
    assert np.allclose(world.response.gains(hub[:1], 10)[0], [0.3] * 8 + [0.0] * 2)
    crowd = world.seeds(LUCK, 1)
    first = crowd.members == 0
    recruits = world.refer(crowd, np.full(20_000, 5)).recruits
    assert within(recruits[first].astype(float), 1.5)
    assert within((recruits[first] == 2).astype(float), binom.pmf(2, 5, 0.3))
    assert within(recruits[~first].astype(float), 0.3)  # the others know the hub alone
    more = world.refer(crowd, np.full(20_000, 6)).recruits
    assert ((more == recruits) | (more == recruits + 1)).all()


def test_a_network_runs_out_of_people_in_every_story() -> None:
    world = network_world(synthetic_society(40), story=CouponStory("per_coupon", match=1))
    played = rollout(world, Constant(10), Rules(400, 5, 20), FEW)
    assert (played.total_recruits <= 35).all()
    assert played.total_recruits.max() > 20


def test_studies_in_which_everybody_had_the_same_coupons() -> None:
    sizes = HistorySettings(triples=300, pairs=200, max_coupons=3, same_coupons=True)
    for make, name in ((simulate_history, "icpsr22140"), (followed_history, "bridge:response=per_coupon")):
        history = make(make_world(name), sizes)
        assert (history.coupons == 3).all()
        assert (len(history.coupons), len(history.parents)) == (300, 200)
        assert len(np.unique(history.recruits)) == 4


def test_a_world_like_a_study_has_as_many_recruits_in_every_story() -> None:
    capacity, per_coupon, both = (
        make_world(f"study:response={story}") for story in ("capacity", "per_coupon", "both,chance=0.9")
    )
    assert "each is used on its own" in " ".join(map(str, per_coupon.facts))
    assert "Recruits with 1, 2, 3 coupons" not in " ".join(map(str, capacity.facts))
    assert "Recruits with 1, 2, 3 coupons" in " ".join(map(str, both.facts))
    one, _, three = np.array([world.mean_recruits for world in (capacity, per_coupon, both)]).T
    assert one[1] < one[0]
    assert np.allclose(three[1] / three[0], 1.0, atol=0.1)  # most had 3 coupons


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("bridge:response=percoupon", UnknownName, "Did you mean 'per_coupon'"),
        ("bridge:chance=0.3", SettingError, "chance= is for response=per_coupon or response=both"),
        ("bridge:response=per_coupon,chance=1.3", SettingError, "chance must be a share between 0 and 1; found 1.3"),
        ("bridge:response=per_coupon,spread=1", SettingError, "spread must be below 1"),
        ("bridge:response=per_coupon,spread=-0.1", SettingError, "spread must be a share between 0 and 1"),
        ("bridge:response=per_coupon,match=0", SettingError, "match must be a whole number of at least 1"),
        ("bridge:response=per_coupon,match=2,chance=0.2", SettingError, "give it without chance="),
        ("network:response=both,match=2", SettingError, "match= takes chances from the rates"),
        ("icpsr22140:response=both,chance=0", SettingError, "must be at least 0.01; found 0"),
        ("study:response=both,chance=0.02", DataFileError, "of the coupons were used, more than this story"),
        ("alike:rate=0", SettingError, "rate must be a number above 0"),
        ("alike:size=-1", SettingError, "size must be a number above 0"),
    ],
)
def test_bad_stories(spec, error, message) -> None:
    with pytest.raises(error, match=message):
        make_world(spec)
