"""Fitted responses of every family: what they draw, how they are kept, and which are refused."""

import dataclasses

import numpy as np
import pytest
from small_fits import a_history, codes, fitted

from peerfront.foundation.counts import FAMILIES
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.stored import Stored
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.problem.response import brings


@pytest.mark.parametrize("family", FAMILIES)
def test_tables_samples_and_likelihood_are_of_one_model(family) -> None:
    model, luck = fitted(family), named_luck(("of one model", family), 8_000)
    people = np.repeat(codes((0, 1), (2, 3)), 4_000, axis=0)
    for coupons in (1, 4):
        drawn = model.sample(people, coupons, luck)
        chances = model.counts(people[[0, -1]], coupons)
        assert chances.sum(axis=1) == pytest.approx(1.0)
        for place, part in enumerate((drawn[:4_000], drawn[4_000:])):
            shares = np.bincount(part, minlength=coupons + 1) / 4_000
            assert shares == pytest.approx(chances[place], abs=4 * np.sqrt(0.25 / 4_000))
        rows, levels = people[[0] * (coupons + 1)], np.arange(coupons + 1)
        logs = model.log_likelihoods(rows, np.full(coupons + 1, coupons), levels)
        assert np.exp(logs) == pytest.approx(chances[0], abs=1e-9)
        means = (chances * levels).sum(axis=1)
        assert model.gains(people[[0, -1]], coupons).sum(axis=1) == pytest.approx(means, abs=1e-9)
    assert brings(model, people[::16], 5, named_luck(("brings",), 500)).any(axis=0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_kept_and_made_again(family) -> None:
    model = fitted(family)
    again = LearnedResponse.restored(model.stored(), model.schema)
    people, luck = a_history().referrers, named_luck(("kept",), 60)
    assert (again.family, again.fields) == (model.family, model.fields)
    assert np.array_equal(again.sample(people, 3, luck), model.sample(people, 3, luck))


@pytest.mark.parametrize(
    ("family", "name", "wrong", "words"),
    [
        ("nb", "size", 1e12, "size 1000000000000.0.*impossible.*at most 1e\\+09"),
        ("nb", "size", -1.0, "size -1.0 .* impossible"),
        ("zinb", "size", None, "size None .* impossible"),
        ("poisson", "size", 2.0, "size 2.0 .* impossible"),
        ("zip", "zero", 1.0, "zero 1.0 are impossible"),
    ],
)
def test_impossible_parameters_are_refused(family, name, wrong, words) -> None:
    stored = fitted(family).stored()
    with pytest.raises(DataFileError, match=words):
        LearnedResponse.restored(Stored({**stored.settings, name: wrong}, stored.arrays), fitted(family).schema)


@pytest.mark.parametrize(("name", "wrong"), [("zero", -0.1), ("size", 0.0), ("size", np.nan)])
def test_impossible_models_are_not_made(name, wrong) -> None:
    with pytest.raises(SettingError, match=f"{name}.*(must be|above 0)"):
        dataclasses.replace(fitted("zinb"), **{name: wrong})
