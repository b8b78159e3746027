"""What a coupon does: stories fitted on the same folds, weighed, updated and told apart only by coupons."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_generator
from peerfront.models.response.response_fit import LOG_LINEAR, ResponseSettings
from peerfront.models.response.response_stories import (
    PURE,
    RULED_OUT,
    expected_recruits,
    fit_stories,
    same_coupons,
    stacking,
    updated,
    weigh,
)
from peerfront.problem import History

SETTINGS = ResponseSettings(shapes=(LOG_LINEAR,), penalties=(1.0,), folds=4)
SCHEMA = Schema.of_sizes({"kind": 2})
NOBODY = np.zeros((0, 1), dtype=np.int16)


def study(truth: str, few: int, most: int, rows: int = 400, effect: float = 1.0) -> History:
    rng = named_generator("stories", truth, few, most, rows)
    people = rng.integers(0, 2, (rows, 1)).astype(np.int16)
    coupons = rng.integers(few, most + 1, rows)
    factor = np.where(people[:, 0] == 1, effect, 1.0 / effect)
    if truth == "capacity":
        recruits = np.minimum(coupons, rng.poisson(1.3 * factor))
    elif truth == "per_coupon":
        recruits = rng.binomial(coupons, 0.35 * np.minimum(factor, 2.5))
    else:
        recruits = np.full(rows, 1)  # of which no chance of use can make sense
    return History(SCHEMA, people, coupons, recruits, NOBODY, NOBODY)


@cache
def stories_of(truth: str, few: int, most: int):
    return fit_stories(study(truth, few, most), SETTINGS)


@pytest.mark.parametrize("truth", PURE)
def test_the_same_coupons_for_everybody_say_nothing(truth) -> None:
    stories = stories_of(truth, 3, 3)
    weighed = weigh(stories)
    assert weighed.same_coupons
    assert set(weighed.weights) == set(PURE)
    assert all(0.3 < weight < 0.7 for weight in weighed.weights.values())
    assert "both" in weighed.ruled_out


@pytest.mark.parametrize("truth", PURE)
def test_coupons_that_vary_tell(truth) -> None:
    weighed = weigh(stories_of(truth, 1, 4))
    assert not weighed.same_coupons
    assert weighed.stacked[truth] > 0.75
    assert weighed.behind[truth][0] < 2.0
    gap, error = weighed.behind[next(name for name in PURE if name != truth)]
    assert gap > error > 0.0


def test_the_same_coupons_rule_no_plain_story_out() -> None:
    """Everybody brings exactly one with three coupons: far less spread than coupons used by chance."""
    rows = fit_stories(study("exactly one", 3, 3, rows=300), SETTINGS)
    weighed = weigh(rows, 1e-3)
    assert weighed.same_coupons
    assert max(weighed.behind.values())[0] > 1.0
    assert set(PURE) <= set(weighed.weights)
    assert min(weighed.weights[name] for name in PURE) > 0.9 * RULED_OUT


@pytest.mark.parametrize("truth", PURE)
def test_a_round_of_other_numbers_settles_what_hundreds_of_people_could_not(truth) -> None:
    """300 people with three coupons each, then 40 with one or two: a refit weighs the 40 by what they tell."""
    many, few = study(truth, 3, 3, rows=300), study(truth, 1, 2, rows=40)
    both = History(
        SCHEMA,
        *(np.concatenate([getattr(many, name), getattr(few, name)]) for name in ("referrers", "coupons", "recruits")),
        NOBODY,
        NOBODY,
    )
    before, after = (weigh(fit_stories(history, SETTINGS)) for history in (many, both))
    assert before.same_coupons
    assert not after.same_coupons
    assert after.weights[truth] > max(0.85, before.weights[truth] + 0.2)


def test_stories_are_fitted_to_the_same_rows_and_keep_their_names() -> None:
    stories = stories_of("per_coupon", 1, 4)
    assert [story.name for story in stories] == ["capacity", "per_coupon", "both"]
    for story in stories:
        assert story.response.story == story.name
        assert np.exp(story.logs).sum(axis=1) == pytest.approx(1.0)
        assert story.held_out.shape == (400,)
        chosen = [c.held_out for c in story.response.candidates if c.family == story.response.family]
        assert any(story.held_out == pytest.approx(held_out, abs=1e-6) for held_out in chosen)
        assert story.comparable.sum() >= story.held_out.sum() - 1e-9  # bending never hurts


def test_fields_are_chosen_once() -> None:
    stories = fit_stories(study("capacity", 2, 4, effect=2.0), SETTINGS)
    assert {story.response.fields for story in stories} == {("kind",)}
    assert {story.response.fields for story in stories_of("capacity", 3, 3)} == {()}


def test_nothing_depends_on_threads() -> None:
    import torch

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        again = fit_stories(study("per_coupon", 1, 4), SETTINGS)
    finally:
        torch.set_num_threads(before)
    for one, other in zip(stories_of("per_coupon", 1, 4), again, strict=True):
        assert np.array_equal(one.held_out, other.held_out)
        assert np.array_equal(one.response.members, other.response.members)


def test_stacking_maximises_its_score() -> None:
    rng = named_generator("stacking")
    logs = np.log(rng.random((200, 2)) + 0.2)
    logs[:, 0] += 0.1
    found = stacking(logs, 1.5)

    def score(weight: float) -> float:
        mixed = np.log(weight * np.exp(logs[:, 0]) + (1 - weight) * np.exp(logs[:, 1])).sum()
        return -(mixed + 1.5 * (np.log(weight) + np.log1p(-weight)))

    best = minimize_scalar(score, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-9})
    assert found[0] == pytest.approx(best.x, abs=1e-5)
    assert sum(found) == pytest.approx(1.0)
    assert stacking(np.zeros((50, 3)), 0.5) == pytest.approx([1 / 3] * 3)


def test_a_prior_that_is_stronger_stays_more_even() -> None:
    stories = stories_of("per_coupon", 3, 3)
    weak, strong = (weigh(stories, prior).stacked["per_coupon"] for prior in (0.1, 50.0))
    assert abs(strong - 0.5) < abs(weak - 0.5)
    for wrong in (0.0, -1.0, np.nan):
        with pytest.raises(SettingError, match="strength of the prior must be above 0"):
            weigh(stories, wrong)


def test_what_is_ruled_out_has_no_weight() -> None:
    weighed = weigh(stories_of("per_coupon", 1, 4), 1e-3)
    assert sum(weighed.weights.values()) == pytest.approx(1.0)
    for name in weighed.ruled_out:
        assert name not in weighed.weights
        assert weighed.stacked.get(name, 0.0) < RULED_OUT


def test_new_counts_move_the_weights_by_bayes() -> None:
    responses = {story.name: story.response for story in stories_of("capacity", 3, 3)}
    people, coupons = np.zeros((40, 1), dtype=np.int16), np.ones(40, dtype=np.int64)
    even = dict.fromkeys(PURE, 0.5)
    expected = expected_recruits(responses, people, 1)
    assert expected["capacity"].mean[0] > expected["per_coupon"].mean[0]
    after = updated(even, responses, people, coupons, np.ones(40, dtype=np.int64))
    assert after["capacity"] > 0.9
    odds = np.exp(40 * (np.log(expected["capacity"].mean[0]) - np.log(expected["per_coupon"].mean[0])))
    assert after["capacity"] / after["per_coupon"] == pytest.approx(odds, rel=1e-6)
    assert updated(even, responses, people[:0], coupons[:0], coupons[:0]) == pytest.approx(even)
    with pytest.raises(SettingError, match="no model of the story 'other'"):
        updated({"other": 1.0}, responses, people, coupons, coupons)


def test_what_coupons_bring_in_each_story() -> None:
    stories = stories_of("capacity", 3, 3)
    history = study("capacity", 3, 3)
    table = expected_recruits({story.name: story.response for story in stories}, history.referrers, 5)
    for story in stories:  # counted by kind; the plain average goes through people one by one
        plain = story.response.expected_recruits(history.referrers, 5).mean(axis=0)
        assert table[story.name].mean == pytest.approx(plain, abs=1e-12)
    for row in table.values():
        assert (row.low <= row.mean).all()
        assert (row.mean <= row.high).all()
        assert (np.diff(row.mean) > 0.0).all()
        assert row.mean[2] == pytest.approx(history.recruits.mean(), abs=0.1)  # the data show what three bring
    assert table["capacity"].mean[0] > table["per_coupon"].mean[0] + 0.1  # but not what one does
    assert table["per_coupon"].mean == pytest.approx(table["per_coupon"].mean[0] * np.arange(1, 6))
    alone = dataclasses.replace(stories[0].response.member(0))
    assert np.isnan(expected_recruits({"capacity": alone}, history.referrers, 2)["capacity"].low).all()


def test_who_had_the_same_number() -> None:
    assert same_coupons(np.array([3] * 95 + [2] * 9))
    assert not same_coupons(np.array([3] * 95 + [2] * 5 + [1] * 5))
    assert same_coupons(np.array([0] * 50 + [3] * 10))
