"""What a study shows on a day, and the recruits still to come from its open coupons."""

import dataclasses
import math

import numpy as np
import pytest
from small_fits import a_history, codes, fitted

from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.models.model_diagnostics import response_report
from peerfront.models.response.response_fit import fit_response
from peerfront.models.returns.coupons_seen import (
    CouponsSeen,
    count_chances,
    expected_returns,
    sample_returns,
    still_to_come,
)
from peerfront.models.returns.return_times import NEVER, ReturnTimes

TIMES = ReturnTimes("lognormal", 20.0, 1.0)


def study() -> CouponsSeen:
    """Four holders: one open, one expired, one with a late return, one new."""
    return CouponsSeen(
        coupons=np.array([3, 2, 3, 1]),
        ages=np.array([14.0, 40.0, 50.0, 0.0]),
        holder=np.array([0, 2, 2]),
        return_ages=np.array([5.0, 33.0, np.nan]),
        valid_days=np.array([28.0, 28.0, 28.0, NEVER]),
    )


def test_what_is_open_used_and_expired() -> None:
    seen = study()
    assert seen.recruits.tolist() == [1, 0, 2, 0]
    assert seen.open.tolist() == [2, 0, 0, 1]
    assert seen.validity.tolist() == [28.0, 28.0, 33.0, NEVER]  # a return after expiry is kept
    assert seen.followed.tolist() == [14.0, 28.0, 33.0, 0.0]
    exposure = seen.exposure(TIMES)
    assert exposure == pytest.approx([float(TIMES.cdf(14, 28)), 1.0, 1.0, float(TIMES.cdf(0))])


def test_the_study_as_it_was() -> None:
    then = study().earlier(10)
    assert then.ages.tolist() == [4.0, 30.0, 40.0]
    assert then.recruits.tolist() == [0, 0, 1]  # day 5 had not come; what has no date is left out
    assert len(study().earlier(0)) == 4
    assert len(study().earlier(100)) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"coupons": np.array([3, 0, 3, 1])}, "1 holders have no coupon .rows 1"),
        ({"ages": np.array([14.0, -1.0, 50.0, np.nan])}, "2 holders have an issue date after"),
        ({"ages": np.array([14.0, 40.0])}, "do not match; give one of each per holder"),
        ({"return_ages": np.array([15.0, 33.0, 1.0])}, "1 returns come after the day of the data .rows 0"),
        ({"return_ages": np.array([5.0, -2.0, 1.0])}, "1 returns come before the coupon's issue .rows 1"),
        ({"return_ages": np.array([5.0])}, "one of each per return"),
        ({"holder": np.array([0, 2, 7])}, "1 returns belong to nobody"),
        ({"holder": np.array([3, 3, 3]), "return_ages": np.full(3, np.nan)}, "more returns than coupons .rows 3"),
        ({"site": np.array([0, 1, 0, 0])}, "site that is not listed"),
        ({"valid_days": np.array([28.0, np.nan, 28.0, 28.0])}, "not valid for a day"),
    ],
)
def test_impossible_studies_are_refused(change, words) -> None:
    kept = {name: getattr(study(), name) for name in ("coupons", "ages", "holder", "return_ages", "valid_days")}
    with pytest.raises(DataFileError, match=words):
        CouponsSeen(**{**kept, **change})


def test_who_is_still_to_come_by_bayes() -> None:
    seen, model = study(), fitted("nb")
    people = codes((0, 1), (1, 2), (2, 0), (1, 1))
    chances = count_chances(model, people, seen.coupons)
    assert chances.sum(axis=1) == pytest.approx(1.0)
    more = still_to_come(chances, seen, TIMES)
    exposure, used = seen.exposure(TIMES), seen.recruits
    for own, e, y, found in zip(chances, exposure, used.tolist(), more, strict=True):
        weights = [own[n] * math.comb(n, y) * e**y * (1.0 - e) ** (n - y) for n in range(y, len(own))]
        expected = [*(weight / sum(weights) for weight in weights), *[0.0] * y]
        assert found == pytest.approx(expected, abs=1e-12)
    assert more[1].tolist() == [1.0, 0.0, 0.0, 0.0]  # expired: nobody


def test_expected_returns_grow_to_all_that_come() -> None:
    seen, people = study(), codes((0, 1), (1, 2), (2, 0), (1, 1))
    chances = count_chances(fitted("zinb"), people, seen.coupons)
    by = expected_returns(chances, seen, TIMES, [0, 7, 14, 1000, NEVER])
    assert by.shape == (4, 5)
    assert (by[:, 0] == 0.0).all()
    assert (np.diff(by, axis=1) >= -1e-12).all()
    more = still_to_come(chances, seen, TIMES)
    assert by[:, -1] == pytest.approx(more @ np.arange(4))
    assert by[0, 2] == pytest.approx(by[0, -1])  # expires in 14 days
    assert (by[[1, 2]] == 0.0).all()


def test_returns_are_drawn_as_expected() -> None:
    rng = named_generator("many holders")
    people = rng.integers(0, 3, (20_000, 2)).astype(np.int16)
    coupons, ages = rng.integers(1, 4, 20_000), rng.integers(0, 40, 20_000).astype(float)
    seen = CouponsSeen(coupons, ages, np.empty(0, int), np.empty(0), np.full(20_000, 30.0))
    chances = count_chances(fitted("nb"), people, coupons)
    drawn = sample_returns(chances, seen, TIMES, named_luck(("to come",), 20_000))
    expected = expected_returns(chances, seen, TIMES, [3, 10, 30]).sum(axis=0)
    assert drawn.by([3, 10, 30]) == pytest.approx(expected, rel=0.05)
    assert drawn.days.min() >= 1
    assert (seen.ages[drawn.holder] + drawn.days <= 30).all()
    assert (np.bincount(drawn.holder, minlength=20_000) <= seen.open).all()


def test_what_the_response_model_thought_impossible() -> None:
    seen = CouponsSeen(np.array([2]), np.array([5.0]), np.array([0]), np.array([1.0]))
    assert still_to_come(np.array([[1.0, 0.0, 0.0]]), seen, TIMES).tolist() == [[1.0, 0.0, 0.0]]


def test_a_fit_of_capacities_refuses_people_who_may_still_bring_somebody() -> None:
    history, model = a_history(), fitted("poisson")
    holder = np.repeat(np.arange(60), history.recruits)
    seen = CouponsSeen(history.coupons, np.full(60, 30.0), holder, np.full(len(holder), 9.0))
    early = dataclasses.replace(history, exposure=seen.exposure(TIMES))
    for ask in (lambda: fit_response(early), lambda: response_report(model, early)):
        with pytest.raises(SettingError, match="60 people have coupons that may still be used.*Leave"):
            ask()
    over = dataclasses.replace(history, exposure=np.ones(60))
    assert response_report(model, over).log_likelihood == response_report(model, history).log_likelihood
