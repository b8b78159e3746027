"""How far a capacity fit reaches beyond the coupons that people had."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.foundation.counts import largest_means, survival_table
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.stored import Stored
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.response_fit import LINEAR, LOG_LINEAR, ResponseSettings, fit_response
from peerfront.problem import History

QUICK = ResponseSettings(family="poisson", shapes=(LOG_LINEAR,), penalties=(0.01,), folds=3)
BOTH = np.array([[1, 1, 1]], dtype=np.int16)


def growing(rows: int = 200, most: int = 5) -> History:
    """Three answers, each of which doubles how many somebody brings; nobody in the history has all three."""
    rng = named_generator("growing", rows, most)
    people = rng.integers(0, 2, (rows, 3)).astype(np.int16)
    people = people[people.sum(axis=1) < 3]
    response = rng.poisson(1.5 * 2.5 ** people.sum(axis=1))
    coupons = rng.integers(1, most + 1, len(people))
    nobody = people[:0]
    return History(
        Schema.of_sizes(dict.fromkeys("abc", 2)), people, coupons, np.minimum(coupons, response), nobody, nobody
    )


@given(
    st.integers(1, 40),
    st.floats(0.05, 0.99),
    st.one_of(st.just(np.inf), st.floats(0.3, 200.0)),
)
def test_the_largest_mean_has_the_chance_asked_for(most, chance, size) -> None:
    mean = largest_means(most, chance, np.array(size))
    family = "nb" if np.isfinite(size) else "poisson"
    table = survival_table(family, mean[None], size, 0.0, most)
    assert mean > 0
    if mean < 1e6:
        assert table[0, -1] == pytest.approx(chance, abs=1e-6)
    else:
        assert table[0, -1] <= chance + 1e-6  # means end there


@pytest.mark.parametrize("family", ["poisson", "zip", "nb", "zinb"])
def test_nobody_is_believed_to_go_far_beyond_what_people_have_shown(family) -> None:
    history = growing(most=12)
    free, held = (
        fit_response(history, dataclasses.replace(QUICK, family=family, doubt=d))
        for d in (None, len(history.coupons) / 1.5)
    )
    assert held.most_shown == free.most_shown == 12
    everybody = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, 8).T.astype(np.int16)

    def by_member(model: LearnedResponse) -> np.ndarray:
        return model.rates.member_means(model.schema.one_hot(everybody))

    assert (held.survival(everybody, 12)[:, 11] <= 0.6 + 1e-6).all()
    assert (by_member(held) <= held.rates.largest).all()
    assert free.survival(BOTH, 12)[0, 11] > 0.9, "the case tests nothing if nothing is extrapolated"
    # Where every member stays below, nothing changes.
    below = (by_member(free) <= held.rates.largest).all(axis=0)
    assert below.any()
    assert np.array_equal(held.means(everybody[below]), free.means(everybody[below]))


def test_the_papers_fit_has_no_limit_and_the_default_has_one() -> None:
    assert ResponseSettings.paper().doubt is None
    assert ResponseSettings().doubt is not None
    with pytest.raises(SettingError, match="doubt must be .* found 0"):
        ResponseSettings(doubt=0)


def test_more_rows_reach_further() -> None:
    small, large = (fit_response(growing(rows), QUICK).rates.largest for rows in (100, 800))
    assert small < large < np.inf


def test_a_single_outlier_shows_nothing() -> None:
    history = growing()
    coupons = history.coupons.copy()
    coupons[:4] = 50
    some = dataclasses.replace(history, coupons=coupons)
    assert fit_response(some, QUICK).most_shown == 5
    coupons[4] = 50
    assert fit_response(dataclasses.replace(history, coupons=coupons), QUICK).most_shown == 50


def test_the_limit_is_saved_and_earlier_fits_still_load() -> None:
    model = fit_response(growing(), QUICK)
    stored = model.stored()
    again = LearnedResponse.restored(stored, model.schema)
    assert again.most_shown == 5
    assert np.array_equal(again.survival(BOTH, 9), model.survival(BOTH, 9))
    settings = {name: value for name, value in stored.settings.items() if name != "most_shown"}
    settings["rates"] = {name: value for name, value in stored.settings["rates"].items() if name != "largest"}
    earlier = LearnedResponse.restored(Stored(settings, stored.arrays), model.schema)
    assert earlier.most_shown is None
    assert earlier.rates.largest == np.inf
    for part, wrong in (("largest", -1.0), ("most_shown", 0)):
        broken = {**stored.settings, "rates": dict(stored.settings["rates"])}
        (broken["rates"] if part == "largest" else broken)[part] = wrong
        with pytest.raises(DataFileError, match=part.split("_")[0]):
            LearnedResponse.restored(Stored(broken, stored.arrays), model.schema)


def test_nobody_had_a_second_coupon() -> None:
    history = growing(most=1)
    model = fit_response(history, dataclasses.replace(QUICK, shapes=(LINEAR,)))
    assert model.most_shown == 1
    assert "what a second one does is a guess" in str(model.reason)
    assert model.survival(BOTH, 10)[0, 9] < len(history.coupons) / (len(history.coupons) + 149), (
        "ten are the least reach"
    )


def test_everybody_used_every_coupon() -> None:
    history = growing(most=12)
    everything = dataclasses.replace(history, recruits=history.coupons)
    model = fit_response(everything, dataclasses.replace(QUICK, penalties=(1.0,)))
    assert "only known from below" in str(model.reason)
    assert model.survival(BOTH, 12)[0, 11] < len(history.coupons) / (len(history.coupons) + 149)
