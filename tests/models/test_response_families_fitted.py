"""Fitted responses of every family: what they learn, what they draw, and how they are kept."""

import dataclasses

import numpy as np
import pytest
from small_fits import a_history, codes, fitted

from peerfront.foundation.counts import FAMILIES
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.foundation.response_families import RESPONSE_FAMILIES, STORIES, story_of
from peerfront.foundation.stored import Stored
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.response_fit import LINEAR, ResponseSettings, fit_response
from peerfront.problem import History
from peerfront.problem.response import brings

OTHERS = tuple(family for family in RESPONSE_FAMILIES if family not in FAMILIES)
QUICK = ResponseSettings(family="binomial", shapes=(LINEAR,), penalties=(0.01,), folds=3)
SCHEMA = Schema.of_sizes({"kind": 2, "noise": 3})
KINDS = codes((0, 0), (1, 0))


def made(family: str, rows: int = 2500, most: int = 6) -> History:
    """People of two kinds whose coupons are used as the family says, with chances .2 and .6."""
    rng = named_generator("made", family, rows)
    people = np.column_stack([rng.integers(0, 2, rows), rng.integers(0, 3, rows)]).astype(np.int16)
    chances, coupons = np.array([0.2, 0.6])[people[:, 0]], rng.integers(1, most + 1, rows)
    if family == "zib":
        chances = chances * (rng.random(rows) > 0.4)
    if family == "betabinomial":
        chances = rng.beta(1.2 * chances, 1.2 * (1 - chances))
    if family == "thinned":
        capacity = rng.poisson(np.array([1.0, 5.0])[people[:, 0]] * rng.gamma(2.0, 0.5, rows))
        recruits = rng.binomial(np.minimum(coupons, capacity), 0.5)
    else:
        recruits = rng.binomial(coupons, chances)
    return History(SCHEMA, people, coupons, recruits, people[:0], people[:0])


@pytest.mark.parametrize("family", OTHERS)
def test_what_was_made_is_found(family) -> None:
    model = fit_response(made(family), dataclasses.replace(QUICK, family=family))
    assert model.story == story_of(family)
    found = model.expected_recruits(KINDS, 4)[:, [0, 3]]
    if family == "thinned":
        assert model.use == pytest.approx(0.5, abs=0.15)
        assert model.means(KINDS) == pytest.approx([1.0, 5.0], rel=0.3)
        return
    share = 0.6 if family == "zib" else 1.0
    assert found == pytest.approx(share * np.outer([0.2, 0.6], [1, 4]), rel=0.15)
    if family == "zib":
        assert model.zero == pytest.approx(0.4, abs=0.07)
    if family == "betabinomial":
        assert model.size == pytest.approx(1.2, rel=0.3)


@pytest.mark.parametrize("family", RESPONSE_FAMILIES)
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
        assert model.expected_recruits(people[[0, -1]], coupons)[:, -1] == pytest.approx(means, abs=1e-9)
    assert brings(model, people[::16], 5, named_luck(("brings",), 500)).any(axis=0).all()


@pytest.mark.parametrize("family", RESPONSE_FAMILIES)
def test_kept_and_made_again(family) -> None:
    model = fitted(family)
    again = LearnedResponse.restored(model.stored(), model.schema)
    people, luck = a_history().referrers, named_luck(("kept",), 60)
    assert (again.story, again.fields) == (model.story, model.fields)
    assert np.array_equal(again.sample(people, 3, luck), model.sample(people, 3, luck))


@pytest.mark.parametrize(
    ("family", "name", "wrong", "words"),
    [
        ("thinned", "use", 1.2, "chance of use is 1.2.*between 0 and 1"),
        ("thinned", "use", -0.1, "chance of use is -0.1.*between 0 and 1"),
        ("poisson", "use", 0.5, "only the family 'thinned'"),
        ("betabinomial", "size", 1e12, "size 1000000000000.0.*impossible.*at most 1e\\+09"),
        ("betabinomial", "size", -1.0, "size -1.0 .* impossible"),
        ("betabinomial", "size", None, "size None .* impossible"),
        ("binomial", "size", 2.0, "size 2.0 .* impossible"),
        ("zib", "zero", 1.0, "zero 1.0 are impossible"),
    ],
)
def test_impossible_parameters_are_refused(family, name, wrong, words) -> None:
    stored = fitted(family).stored()
    with pytest.raises(DataFileError, match=words):
        LearnedResponse.restored(Stored({**stored.settings, name: wrong}, stored.arrays), fitted(family).schema)


@pytest.mark.parametrize(("name", "wrong"), [("use", 1.5), ("zero", -0.1), ("size", 0.0), ("size", np.nan)])
def test_impossible_models_are_not_made(name, wrong) -> None:
    with pytest.raises(SettingError, match=f"{name}.*(must be|above 0)"):
        dataclasses.replace(fitted("thinned"), **{name: wrong})


@pytest.mark.parametrize("family", OTHERS)
def test_nobody_is_believed_to_use_more_than_people_have_shown(family) -> None:
    history = made(family, 60, most=12)
    history = dataclasses.replace(history, recruits=np.where(history.referrers[:, 0] == 1, history.coupons, 0))
    model = fit_response(history, dataclasses.replace(QUICK, family=family, doubt=60.0))  # a chance of one half
    assert model.most_shown >= 10
    assert (model.counts(KINDS, model.most_shown)[:, -1] <= 0.5 + 1e-6).all()


def test_stories_hold_all_families() -> None:
    assert tuple(STORIES) == ("capacity", "per_coupon", "both")
    assert np.isinf(fitted("binomial").expected(codes((0, 0)))).all()
