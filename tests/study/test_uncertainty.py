"""What is noise between people, and warnings about groups that get little on evidence that chance explains."""

import dataclasses

import numpy as np
import pytest

from peerfront.foundation.covariates import Field, Schema, uniform_codes
from peerfront.foundation.messages import Severity
from peerfront.foundation.randomness import named_generator
from peerfront.gfp.backup import Tables
from peerfront.study.uncertainty import drawn_chances, gain_noise, relative_errors, unequal_groups
from peerfront.words.language import Medium, catalogue, speaking
from study.small_advice import a_fit

SCHEMA = Schema((Field("district", ("East", "West", "North")), Field("sex", ("f", "m"))))


def people_of(*districts: str) -> np.ndarray:
    codes = [[SCHEMA.fields[0].code_of[district], n % 2] for n, district in enumerate(districts)]
    return np.array(codes, dtype=np.int16)


def evenly(chances: np.ndarray) -> np.ndarray:
    """The same weight for each draw."""
    return np.full(len(chances), 1.0 / len(chances))


def test_an_error_that_all_share_is_no_noise() -> None:
    chances = np.array([0.2, 0.4, 0.6]) * np.array([0.8, 1.0, 1.1, 1.2])[:, None]
    np.testing.assert_allclose(relative_errors(chances, evenly(chances)), 0.0, atol=1e-12)


def test_errors_are_the_spread_over_draws_written_plainly() -> None:
    rng = np.random.default_rng(3)
    chances, weights = rng.uniform(0.2, 0.8, (5, 7)), np.array([0.1, 0.1, 0.2, 0.2, 0.4])
    for person, error in enumerate(relative_errors(chances, weights)):
        compared = [np.log(row[person]) - np.log(row).mean() for row in chances]
        mean = sum(w * d for w, d in zip(weights, compared, strict=True))
        assert error == pytest.approx(np.sqrt(sum(w * (d - mean) ** 2 for w, d in zip(weights, compared, strict=True))))
    np.testing.assert_array_equal(relative_errors(chances[:1], np.ones(1)), 0.0)


def test_every_draw_that_is_planned_with_counts_with_its_part_s_weight() -> None:
    fit, people = a_fit("capacity", "per_coupon"), np.zeros((2, len(a_fit().schema.fields)), dtype=np.int16)
    few, many = (dataclasses.replace(story, weight=w) for story, w in zip(fit.planner.stories, (0.2, 0.8), strict=True))
    chances, weights = drawn_chances([few, many], people)
    draws = len(few.response.belief)
    assert chances.shape == (draws + len(many.response.belief), 2)
    assert (weights[:draws].sum(), weights.sum()) == pytest.approx((0.2, 1.0))
    mean = 0.2 * few.response.gains(people, 1)[:, 0] + 0.8 * many.response.gains(people, 1)[:, 0]
    np.testing.assert_allclose(weights @ chances, mean)


def test_noise_is_in_recruits_of_the_coupon_at_the_margin() -> None:
    error, worth = np.array([0.1, 0.3]), np.array([2.0])
    tables = Tables(np.array([[0.5, 0.2], [0.5, 0.2]]), np.array([[[0.1], [0.05]], [[0.1], [0.05]]]))
    noise = gain_noise(error, tables, worth, np.array([0, 2]))
    left = 0.9 * 0.95
    np.testing.assert_allclose(noise, error * [0.5 + 2.0 * left * 0.1, 0.2 + 2.0 * left * 0.05])
    by_kind = gain_noise(error, tables.take(slice(0, 1)), worth, np.array([0, 2]), kind=np.zeros(2, np.int64))
    np.testing.assert_allclose(by_kind, noise)


def test_people_differ_by_noise_where_the_belief_tells_them_apart() -> None:
    fit = a_fit()
    assert fit.belief.fields, "women recruit more in this study"
    schema = fit.schema
    waiting = uniform_codes(schema, named_generator("people waiting").random((12, len(schema.sizes))))
    response = fit.planner.story.response
    tables = Tables(response.gains(waiting, 3), response.covers(waiting, np.full((12, 2), 0.9), 3))
    errors = relative_errors(*drawn_chances(fit.planner.stories, waiting))
    noise = gain_noise(errors, tables, np.ones(2), np.ones(12, np.int64))
    assert np.isfinite(noise).all()
    assert 0.0 < noise.max() < 1.0
    same = (waiting == waiting[0]).all(axis=1)
    np.testing.assert_allclose(noise[same], noise[0])
    alike = dataclasses.replace(fit.belief, effects=np.zeros_like(fit.belief.effects), fields=())
    story = dataclasses.replace(fit.planner.story, response=alike.to_plan_with())
    np.testing.assert_allclose(relative_errors(*drawn_chances([story], waiting)), 0.0, atol=1e-12)


def chances_of(people: np.ndarray, east: list[float]) -> np.ndarray:
    """Draws that agree on everybody but the East."""
    return np.where(people[:, 0] == 0, np.array(east)[:, None], 0.5)


def test_a_group_that_gets_little_on_weak_evidence_is_named() -> None:
    people = people_of(*["East"] * 6, *["West"] * 8)
    coupons = np.array([1, 0, 0, 0, 0, 0, *[1] * 8])
    weak = chances_of(people, [0.3, 0.45, 0.5, 0.55, 0.4])
    (warning,) = unequal_groups(SCHEMA, people, coupons, weak, evenly(weak))
    assert warning.severity is Severity.WARNING
    assert str(warning) == (
        "People with district 'East' get 0.17 coupons each on average, the others 1.00, and chance explains the "
        "evidence that they bring fewer. To give them half of the average at least, add at_least='district=East:0.5'."
    )
    clear = chances_of(people, [0.20, 0.21, 0.19, 0.20, 0.20])
    assert unequal_groups(SCHEMA, people, coupons, clear, evenly(clear)) == []
    assert unequal_groups(SCHEMA, people, np.array([1, 1, 1, 0, 0, 0, *[1] * 8]), weak, evenly(weak)) == []
    hardly = np.array([0.0, 0.0, 1.0, 0.0, 0.0])  # the draws that say otherwise weigh nothing
    assert len(unequal_groups(SCHEMA, people, coupons, chances_of(people, [0.1, 0.1, 0.5, 0.1, 0.1]), hardly)) == 1


def test_people_who_are_all_alike_are_named_too() -> None:
    people = people_of(*["East"] * 6, *["West"] * 8)
    coupons = np.array([*[0] * 6, *[1] * 8])
    assert len(unequal_groups(SCHEMA, people, coupons, np.full((5, 14), 0.5), np.full(5, 0.2))) == 1


def test_fewer_than_five_people_are_never_told_of() -> None:
    people = people_of(*["East"] * 4, *["West"] * 8)
    coupons = np.array([*[0] * 4, *[1] * 8])
    assert unequal_groups(SCHEMA, people, coupons, np.full((5, 12), 0.5), np.full(5, 0.2)) == []
    few_others = people_of(*["East"] * 8, *["West"] * 4)
    assert (
        unequal_groups(SCHEMA, few_others, 1 - np.array([*[1] * 8, *[0] * 4]), np.full((5, 12), 0.5), np.full(5, 0.2))
        == []
    )


def test_names_that_a_shell_would_split_are_quoted() -> None:
    schema = Schema((Field("home town", ("New York", "Rome")),))
    people = np.repeat([0, 1], 5).astype(np.int16)[:, None]
    (warning,) = unequal_groups(schema, people, np.repeat([0, 1], 5), np.full((3, 10), 0.4), np.full(3, 1 / 3))
    with speaking(catalogue("en", Medium.TERMINAL)):
        assert "--at-least 'home town=New York:0.5'." in str(warning)
