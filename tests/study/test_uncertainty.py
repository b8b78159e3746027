"""What is noise between people, and warnings about groups that get little on evidence that chance explains."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from peerfront.data.study_schema import history_of
from peerfront.foundation.covariates import Field, Schema, uniform_codes
from peerfront.foundation.messages import Severity
from peerfront.foundation.randomness import named_generator
from peerfront.gfp.backup import Tables
from peerfront.models.response.response_fit import fit_response
from peerfront.study.uncertainty import gain_noise, member_chances, relative_errors, unequal_groups
from peerfront.words.language import Medium, catalogue, speaking
from study.small_advice import QUICK, a_study

SCHEMA = Schema((Field("district", ("East", "West", "North")), Field("sex", ("f", "m"))))


@dataclass
class Response:
    """A response whose members' chances are given, [members, people]."""

    chances: np.ndarray

    @property
    def rates(self):
        return SimpleNamespace(log_scale=np.zeros((len(self.chances), 1)))

    def member(self, number: int):
        return SimpleNamespace(gains=lambda people, coupons: self.chances[number][:, None])


def people_of(*districts: str) -> np.ndarray:
    codes = [[SCHEMA.fields[0].code_of[district], n % 2] for n, district in enumerate(districts)]
    return np.array(codes, dtype=np.int16)


def test_an_error_that_all_share_is_no_noise() -> None:
    chances = np.array([0.2, 0.4, 0.6]) * np.array([0.8, 1.0, 1.1, 1.2])[:, None]
    np.testing.assert_allclose(relative_errors(chances), 0.0, atol=1e-12)


def test_errors_are_the_jackknife_s_written_plainly() -> None:
    chances = np.random.default_rng(3).uniform(0.2, 0.8, (5, 7))
    for person, error in enumerate(relative_errors(chances)):
        compared = [np.log(row[person]) - np.log(row).mean() for row in chances]
        mean = sum(compared) / 5
        assert error == pytest.approx(np.sqrt(4 / 5 * sum((d - mean) ** 2 for d in compared)))
    np.testing.assert_array_equal(relative_errors(chances[:1]), 0.0)


def test_stories_are_averaged_and_a_story_of_fewer_members_counts_in_none() -> None:
    people = people_of("East", "West")
    low, high = (Response(np.full((3, 2), chance)) for chance in (0.2, 0.7))
    one = member_chances([low, high, Response(np.full((1, 2), 0.9))], [0.3, 0.2, 0.5], people)
    np.testing.assert_allclose(one, np.full((3, 2), 0.6 * 0.2 + 0.4 * 0.7))


def test_noise_is_in_recruits_of_the_coupon_at_the_margin() -> None:
    chances = np.array([[0.5, 0.4], [0.5, 0.5], [0.5, 0.6]])
    tables = Tables(np.array([[0.5, 0.2], [0.5, 0.2]]), np.array([[[0.1], [0.05]], [[0.1], [0.05]]]))
    error, worth = relative_errors(chances), np.array([2.0])
    noise = gain_noise(chances, tables, worth, np.array([0, 2]))
    left = 0.9 * 0.95
    np.testing.assert_allclose(noise, error * [0.5 + 2.0 * left * 0.1, 0.2 + 2.0 * left * 0.05])
    by_kind = gain_noise(chances, tables.take(slice(0, 1)), worth, np.array([0, 2]), kind=np.zeros(2, np.int64))
    np.testing.assert_allclose(by_kind, noise)


def test_noise_of_a_fitted_model() -> None:
    study, schema = a_study()
    response = fit_response(history_of(study, schema), QUICK)
    sizes = schema.schema.sizes
    waiting = uniform_codes(schema.schema, named_generator("people waiting").random((12, len(sizes))))
    chances = member_chances([response], [1.0], waiting)
    assert chances.shape == (QUICK.folds, 12)
    np.testing.assert_allclose(chances, 1.0 - np.exp(-response.member_means(waiting)), rtol=1e-6)  # it is Poisson
    tables = Tables(response.gains(waiting, 3), response.covers(waiting, np.full((12, 2), 0.9), 3))
    noise = gain_noise(chances, tables, np.ones(2), np.ones(12, np.int64))
    assert np.isfinite(noise).all()
    assert 0.0 < noise.max() < 1.0
    same = (waiting == waiting[0]).all(axis=1)
    np.testing.assert_allclose(noise[same], noise[0])


def chances_of(people: np.ndarray, east: list[float]) -> np.ndarray:
    """Members who agree on everybody but the East."""
    return np.where(people[:, 0] == 0, np.array(east)[:, None], 0.5)


def test_a_group_that_gets_little_on_weak_evidence_is_named() -> None:
    people = people_of(*["East"] * 6, *["West"] * 8)
    coupons = np.array([1, 0, 0, 0, 0, 0, *[1] * 8])
    weak = chances_of(people, [0.3, 0.45, 0.5, 0.55, 0.4])
    (warning,) = unequal_groups(SCHEMA, people, coupons, weak)
    assert warning.severity is Severity.WARNING
    assert str(warning) == (
        "People with district 'East' get 0.17 coupons each on average, the others 1.00, and chance explains the "
        "evidence that they bring fewer. To give them half of the average at least, add at_least='district=East:0.5'."
    )
    clear = chances_of(people, [0.20, 0.21, 0.19, 0.20, 0.20])
    assert unequal_groups(SCHEMA, people, coupons, clear) == []
    assert unequal_groups(SCHEMA, people, np.array([1, 1, 1, 0, 0, 0, *[1] * 8]), weak) == []
    assert unequal_groups(SCHEMA, people, coupons, weak[:1]) == []  # nothing was held out, nothing is known


def test_people_who_are_all_alike_are_named_too() -> None:
    people = people_of(*["East"] * 6, *["West"] * 8)
    coupons = np.array([*[0] * 6, *[1] * 8])
    assert len(unequal_groups(SCHEMA, people, coupons, np.full((5, 14), 0.5))) == 1


def test_fewer_than_five_people_are_never_told_of() -> None:
    people = people_of(*["East"] * 4, *["West"] * 8)
    coupons = np.array([*[0] * 4, *[1] * 8])
    assert unequal_groups(SCHEMA, people, coupons, np.full((5, 12), 0.5)) == []
    few_others = people_of(*["East"] * 8, *["West"] * 4)
    assert unequal_groups(SCHEMA, few_others, 1 - np.array([*[1] * 8, *[0] * 4]), np.full((5, 12), 0.5)) == []


def test_names_that_a_shell_would_split_are_quoted() -> None:
    schema = Schema((Field("home town", ("New York", "Rome")),))
    people = np.repeat([0, 1], 5).astype(np.int16)[:, None]
    (warning,) = unequal_groups(schema, people, np.repeat([0, 1], 5), np.full((3, 10), 0.4))
    with speaking(catalogue("en", Medium.TERMINAL)):
        assert "--at-least 'home town=New York:0.5'." in str(warning)
