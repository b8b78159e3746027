"""Recruits so far: a count thinned by the exposure, through likelihoods, fits, stories and diagnostics."""

import dataclasses
import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_fits import a_history, codes, fitted

from peerfront.foundation.binomials import log_thinning, thinned_counts
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.response_families import RESPONSE_FAMILIES, response_log_likelihood
from peerfront.models.model_diagnostics import log_likelihoods, response_report
from peerfront.models.response.maximum_likelihood import maximum_likelihood
from peerfront.models.response.response_fit import LINEAR, LOG_LINEAR, ResponseSettings, fit_response
from peerfront.models.response.response_likelihood import log_likelihood
from peerfront.models.response.response_stories import _bent, _seen, fit_stories, updated, weigh
from peerfront.models.response.response_training import Rows
from peerfront.problem import History
from peerfront.study.artifacts import fingerprint

QUICK = ResponseSettings(family="poisson", shapes=(LINEAR, LOG_LINEAR), penalties=(1.0, 0.1), folds=3)
SIZE, ZERO, USE = 1.5, 0.3, 0.6


def plain(family: str, k: int, y: int, rate: float, exposure: float) -> float:
    """The plain reference: sum over how many will come in the end, each seen with the exposure."""
    total = 0.0
    for n in range(y, k + 1):
        whole = response_log_likelihood(family, np.array([k]), np.array([n]), np.array([rate]), SIZE, ZERO, USE)[0]
        total += math.exp(whole) * math.comb(n, y) * exposure**y * (1.0 - exposure) ** (n - y)
    return total


def in_torch(family, coupons, recruits, rates, exposure) -> torch.Tensor:
    """The likelihood of fits, whose parameters are tensors."""
    logits = [torch.tensor([math.log(share / (1.0 - share))], dtype=torch.float64) for share in (ZERO, USE)]
    rows = [torch.as_tensor(np.asarray(part, dtype=np.float64)) for part in (coupons, recruits, rates)]
    size = torch.tensor([math.log(SIZE)], dtype=torch.float64)
    return log_likelihood(family, *rows, size, *logits, exposure)


@pytest.mark.parametrize("family", RESPONSE_FAMILIES)
@given(
    k=st.integers(1, 8),
    data=st.data(),
    rate=st.floats(1e-4, 8.0),
    exposure=st.one_of(st.floats(1e-6, 1.0), st.just(1.0)),
)
@settings(max_examples=40, deadline=None)
def test_fast_and_plain_are_equal(family, k, data, rate, exposure) -> None:
    y = data.draw(st.integers(0, k))
    expected = plain(family, k, y, rate, exposure)
    seen = np.array([exposure])
    fast = response_log_likelihood(family, np.array([k]), np.array([y]), np.array([rate]), SIZE, ZERO, USE, seen)
    assert fast[0] == pytest.approx(math.log(expected), rel=1e-9, abs=1e-9)
    trained = in_torch(family, [k], [y], [rate], torch.tensor([exposure], dtype=torch.float64))
    assert float(trained[0]) == pytest.approx(math.log(expected), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("family", RESPONSE_FAMILIES)
def test_the_chances_of_what_is_seen_are_one_and_thinned(family) -> None:
    y = np.arange(6)
    for rate, exposure in ((0.3, 0.05), (2.0, 0.7), (9.0, 0.999), (0.4, 0.0)):
        given_, rates, seen = np.full(6, 5), np.full(6, rate), np.full(6, exposure)
        whole = np.exp(response_log_likelihood(family, given_, y, rates, SIZE, ZERO, USE))
        logs = response_log_likelihood(family, given_, y, rates, SIZE, ZERO, USE, seen)
        assert np.exp(logs).sum() == pytest.approx(1.0)
        assert (np.exp(logs) * y).sum() == pytest.approx(exposure * (whole * y).sum())
        assert thinned_counts(whole[None], seen[:1])[0] == pytest.approx(np.exp(logs))


def test_thinning_against_mpmath() -> None:
    logs = log_thinning(np.array([2, 0]), np.array([0.37, 1.0]), 5)
    for n in range(2, 6):
        assert logs[0, n] == pytest.approx(
            float(mpmath.log(mpmath.binomial(n, 2) * mpmath.mpf(0.37) ** 2 * mpmath.mpf(0.63) ** (n - 2)))
        )
    assert (logs[0, :2] == -np.inf).all()
    assert logs[1, 0] == 0.0
    assert (logs[1, 1:] == -np.inf).all()


@pytest.mark.parametrize("family", RESPONSE_FAMILIES)
def test_gradients(family) -> None:
    """By central differences, in the rates and in the exposure; rows that are complete do not spoil them."""
    coupons, recruits = torch.tensor([3.0, 4.0, 2.0, 5.0]).double(), torch.tensor([1.0, 0.0, 2.0, 2.0]).double()
    one = torch.ones(1, dtype=torch.float64)

    def loss(rates, exposure):
        return log_likelihood(family, coupons, recruits, rates, 0.4 * one, -0.8 * one, 0.5 * one, exposure)

    rates = torch.tensor([0.4, 1.2, 2.0, 0.7], dtype=torch.float64, requires_grad=True)
    exposure = torch.tensor([0.3, 0.9, 0.6, 0.05], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, (rates, exposure), eps=1e-6, atol=1e-6)
    mixed = torch.tensor([0.3, 1.0, 1.0, 0.05], dtype=torch.float64, requires_grad=True)
    loss(rates, mixed).sum().backward()
    assert torch.isfinite(rates.grad).all()
    assert torch.isfinite(mixed.grad).all()
    assert (mixed.grad[1:3] == 0.0).all()


def same(first, second) -> bool:
    """Whether two fits are the same to the last bit."""
    pairs = zip((*first.rates.weights, *first.rates.biases), (*second.rates.weights, *second.rates.biases), strict=True)
    held_out = zip(first.candidates, second.candidates, strict=True)
    return (
        all(np.array_equal(a, b) for a, b in pairs)
        and all(np.array_equal(a.held_out, b.held_out) for a, b in held_out)
        and np.array_equal(first.members, second.members)
        and (first.size, first.zero, first.use, first.reason) == (second.size, second.zero, second.use, second.reason)
        and (first.rates.largest, first.most_shown) == (second.rates.largest, second.most_shown)
    )


@pytest.mark.parametrize("family", ["poisson", "zinb", "betabinomial", "thinned"])
def test_complete_rows_are_fitted_as_before_to_the_last_bit(family) -> None:
    history = a_history()
    complete = dataclasses.replace(history, exposure=np.ones(len(history.coupons)))
    asked = dataclasses.replace(QUICK, family=family)
    assert same(fit_response(history, asked), fit_response(complete, asked))
    assert fingerprint(history) == fingerprint(complete)
    assert fingerprint(history) != fingerprint(dataclasses.replace(history, exposure=np.full(60, 0.5)))


def test_complete_rows_in_stories_and_reports_are_as_before() -> None:
    history = a_history()
    complete = dataclasses.replace(history, exposure=np.ones(len(history.coupons)))
    asked = dataclasses.replace(QUICK, family="auto", shapes=(LINEAR,))
    before, after = (fit_stories(each, asked) for each in (history, complete))
    for first, second in zip(before, after, strict=True):
        assert np.array_equal(first.comparable, second.comparable)
    assert weigh(before) == weigh(after) or weigh(before).weights == weigh(after).weights
    model = fitted("nb")
    first, second = (response_report(model, each) for each in (history, complete))
    assert first.chi_square == second.chi_square
    assert np.array_equal(log_likelihoods(model, history), log_likelihoods(model, complete))


def seen_early(rows: int, exposure, seed: int = 0) -> tuple[History, History]:
    """A history of Poisson capacities with means 1 and 3, complete, and as it was seen early."""
    rng = named_generator("seen early", rows, seed)
    people = rng.integers(0, 2, (rows, 1)).astype(np.int16)
    people = np.column_stack([people, rng.integers(0, 4, rows)]).astype(np.int16)
    coupons = rng.integers(2, 5, rows)
    recruits = np.minimum(coupons, rng.poisson(np.array([1.0, 3.0])[people[:, 0]]))
    seen = np.broadcast_to(exposure, rows).astype(float)
    schema = a_history().schema
    complete = History(schema, people, coupons, recruits, people[:0], people[:0])
    return complete, dataclasses.replace(complete, recruits=rng.binomial(recruits, seen), exposure=seen)


def test_rates_do_not_depend_on_when_the_study_is_seen() -> None:
    rng = named_generator("ages")
    complete, early = seen_early(4000, rng.choice([0.2, 0.5, 1.0], 4000))
    kinds = codes((0, 1), (1, 1))
    asked = dataclasses.replace(QUICK, doubt=None)
    whole, partly = (fit_response(each, asked).means(kinds) for each in (complete, early))
    assert whole == pytest.approx([1.0, 3.0], rel=0.1)
    assert partly == pytest.approx([1.0, 3.0], rel=0.15)
    as_failures = fit_response(dataclasses.replace(early, exposure=None), asked).means(kinds)
    assert (as_failures < [0.75, 2.0]).all()


@pytest.mark.parametrize("family", ["poisson", "nb", "binomial", "betabinomial"])
def test_maximum_likelihood_takes_the_exposure(family) -> None:
    complete, early = seen_early(3000, 0.4, seed=3)
    whole = maximum_likelihood(family, complete.coupons, complete.recruits).expected_recruits(3)
    partly = maximum_likelihood(family, early.coupons, early.recruits, early.exposure).expected_recruits(3)
    assert partly[2] == pytest.approx(whole[2], rel=0.08)
    ones = maximum_likelihood(family, complete.coupons, complete.recruits, np.ones(3000))
    assert ones == maximum_likelihood(family, complete.coupons, complete.recruits)


def test_stories_are_told_apart_by_what_was_seen_so_far() -> None:
    """Coupons from 1 to 6, each used on its own, seen with half of the returns in: capacity is not believed."""
    rng = named_generator("stories so far")
    people, coupons = np.zeros((1500, 2), dtype=np.int16), rng.integers(1, 7, 1500)
    recruits = rng.binomial(rng.binomial(coupons, 0.5), 0.5)
    history = History(a_history().schema, people, coupons, recruits, people[:0], people[:0], np.full(1500, 0.5))
    stories = fit_stories(history, dataclasses.replace(QUICK, family="auto", shapes=(LINEAR,)))
    assert weigh(stories).weights["per_coupon"] > 0.9
    responses = {story.name: story.response for story in stories if story.name != "both"}
    assert responses["per_coupon"].expected_recruits(people[:1], 4)[0] == pytest.approx([0.5, 1.0, 1.5, 2.0], rel=0.1)
    even = dict.fromkeys(responses, 0.5)
    later = updated(even, responses, people, coupons, recruits, history.exposure)
    assert later["per_coupon"] > 0.99


def test_bends_climb_where_recruits_are_still_to_come() -> None:
    rng = named_generator("bends")
    recruits = rng.binomial(rng.choice([0, 3], 400), 0.5)
    logs = np.tile(np.log([0.25, 0.25, 0.25, 0.25]), (400, 1))
    exposure = np.full(400, 0.5)
    bent, cost = _bent(logs, recruits, exposure)
    assert np.exp(bent).sum(axis=1) == pytest.approx(1.0)
    assert _seen(bent, recruits, exposure).sum() - cost > _seen(logs, recruits, exposure).sum() + 10.0
    plain_bends, _ = _bent(logs, recruits, np.ones(400))
    assert plain_bends == pytest.approx(_bent(logs, recruits)[0], abs=1e-9)


def test_reports_expect_what_can_have_come() -> None:
    _, early = seen_early(4000, 0.3, seed=5)
    model = fit_response(early, dataclasses.replace(QUICK, doubt=None))
    report = response_report(model, early)
    assert report.rootogram["expected"].sum() == pytest.approx(4000)
    assert not report.misfit
    assert response_report(model, dataclasses.replace(early, exposure=None)).misfit


def test_what_counts_as_shown() -> None:
    _, early = seen_early(40, 0.25)
    rows = Rows.of(early)
    assert rows.people == pytest.approx(10.0)
    assert rows.most_shown <= Rows.of(dataclasses.replace(early, exposure=None)).most_shown
    complete = Rows.of(dataclasses.replace(early, exposure=np.ones(40)))
    assert complete.exposure is None
    just = dataclasses.replace(early, recruits=np.zeros(40, int), exposure=np.r_[np.zeros(39), 0.5])
    assert len(Rows.of(just)) == 1


@pytest.mark.parametrize(
    ("exposure", "recruits", "words"),
    [
        (np.ones(3), None, "exposures of shape"),
        (np.r_[np.ones(58), 1.2, -0.1], None, "2 referral rows have an exposure .* 0 to 1 .rows 58, 59"),
        (np.r_[np.ones(59), np.nan], None, "1 referral rows have an exposure"),
        (np.zeros(60), np.ones(60, int), "60 referral rows have recruits and an exposure of 0"),
    ],
)
def test_impossible_exposures_are_refused(exposure, recruits, words) -> None:
    history = a_history()
    with pytest.raises(DataFileError, match=words):
        dataclasses.replace(history, exposure=exposure, **({} if recruits is None else {"recruits": recruits}))


def test_nothing_seen_yet_is_an_error() -> None:
    history = dataclasses.replace(a_history(), recruits=np.zeros(60, int), exposure=np.zeros(60))
    with pytest.raises(SettingError, match="nobody has had time"):
        fit_response(history)


def test_a_part_keeps_its_exposure() -> None:
    history = dataclasses.replace(a_history(), exposure=np.linspace(0.1, 1.0, 60))
    part = history.part(np.array([3, 5]), np.array([0]))
    assert part.exposure == pytest.approx(history.exposure[[3, 5]])
    assert (len(part.coupons), len(part.parents)) == (2, 1)
    assert a_history().part(np.array([1]), np.array([1])).exposure is None
