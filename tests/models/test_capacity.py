import dataclasses

import numpy as np
import pytest
from truth_errors import rate_errors

from peerfront.foundation.counts import FAMILIES, poisson_quantile
from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.models.model_diagnostics import response_report
from peerfront.models.response.response_fit import LINEAR, LOG_LINEAR, NETWORK, ResponseSettings, fit_response
from peerfront.problem import History
from peerfront.simulation.catalog import make_world
from peerfront.simulation.simulated_history import HistorySettings, simulate_history

QUICK = ResponseSettings(family="poisson", shapes=(LINEAR,), penalties=(0.1,), folds=3)


def two_groups(rows: int, rates=(0.5, 4.0), zero: float = 0.0, size: float | None = None, most: int = 6) -> History:
    """People of two kinds, with known mean capacities."""
    rng = named_generator("two groups", rows, str(rates), str(zero), str(size))
    schema = Schema.of_sizes({"kind": 2, "noise": 3})
    people = np.column_stack([rng.integers(0, 2, rows), rng.integers(0, 3, rows)]).astype(np.int16)
    means = np.array(rates)[people[:, 0]]
    if size is not None:
        means = means * rng.gamma(size, 1 / size, rows)
    response = rng.poisson(means) * (rng.random(rows) >= zero)
    coupons = rng.integers(0, most + 1, rows)
    return History(schema, people, coupons, np.minimum(coupons, response), people[:0], people[:0])


@pytest.mark.parametrize("shape", [LINEAR, LOG_LINEAR, NETWORK])
def test_rates_are_recovered_from_censored_counts(shape) -> None:
    model = fit_response(two_groups(3000), dataclasses.replace(QUICK, shapes=(shape,), epochs=60))
    means = model.expected(np.array([[0, 0], [1, 0]], dtype=np.int16))
    assert means == pytest.approx([0.5, 4.0], rel=0.15)  # a naive mean of y would give about 2.3 for the second


@pytest.mark.parametrize(
    ("made", "accepted"),
    [
        ({}, {"poisson"}),
        ({"zero": 0.5, "rates": (2.0, 4.0)}, {"zip", "zinb"}),
        ({"size": 0.6, "rates": (2.0, 4.0)}, {"nb", "zip", "zinb"}),
    ],
)
def test_auto_finds_the_family_and_says_why(made, accepted) -> None:
    history = two_groups(1500, **made)
    model = fit_response(history, dataclasses.replace(QUICK, family="auto"))
    assert model.family in accepted
    assert model.reason
    assert {candidate.family for candidate in model.candidates} == set(FAMILIES)
    report = response_report(model, history, parameters=3)
    assert report.p_value > 1e-3
    if accepted != {"poisson"}:
        poisson = fit_response(history, QUICK)
        assert response_report(poisson, history).p_value < 1e-3  # and the chi-square sees the wrong one


def test_zero_inflation_and_dispersion_are_estimated() -> None:
    zip_model = fit_response(two_groups(4000, rates=(3.0, 3.0), zero=0.4), dataclasses.replace(QUICK, family="zip"))
    assert zip_model.zero == pytest.approx(0.4, abs=0.05)
    nb_model = fit_response(two_groups(4000, rates=(3.0, 3.0), size=1.0), dataclasses.replace(QUICK, family="nb"))
    assert nb_model.size == pytest.approx(1.0, rel=0.3)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_protocol(family) -> None:
    history = two_groups(400, zero=0.2)
    model = fit_response(history, dataclasses.replace(QUICK, family=family))
    luck = named_luck(("capacity protocol", family), 30_000)
    people = np.repeat(history.referrers[:2], 15_000, axis=0)
    survival = model.survival(people, 8)
    assert (np.diff(survival, axis=1) <= 1e-12).all()
    sampled = model.capacities(people, luck)
    for level in range(1, 9):
        share, expected = (sampled >= level).mean(), survival[:, level - 1].mean()
        assert share == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 30_000))
    if family == "poisson":
        assert np.array_equal(sampled, poisson_quantile(luck.uniform("capacity"), model.means(people)))


def test_a_nation_has_the_rates_of_its_kinds() -> None:
    """Above a size people who are alike are looked up together, those with unknown answers too."""
    model = fit_response(two_groups(200), QUICK)
    rng = named_generator("a nation")
    people = np.column_stack([rng.integers(-1, 2, 25_000), rng.integers(-1, 3, 25_000)]).astype(np.int16)
    parts = [model.means(part) for part in np.array_split(people, 50)]
    assert model.means(people) == pytest.approx(np.concatenate(parts), rel=1e-12)
    assert len(np.unique(model.means(people))) > 2


def test_held_out_likelihood_prefers_the_right_shape() -> None:
    """A rate that is an exclusive-or of two fields is beyond every linear shape."""
    rng = named_generator("xor")
    schema = Schema.of_sizes({"a": 2, "b": 2})
    people = rng.integers(0, 2, (2000, 2)).astype(np.int16)
    response = rng.poisson(np.where(people[:, 0] == people[:, 1], 5.0, 0.3))
    coupons = rng.integers(1, 7, 2000)
    history = History(schema, people, coupons, np.minimum(coupons, response), people[:0], people[:0])
    model = fit_response(history, dataclasses.replace(QUICK, shapes=(LINEAR, LOG_LINEAR, NETWORK), epochs=60))
    assert model.rates.shape == NETWORK
    assert "network 64 x 64" in str(model.reason)


def test_better_than_the_papers_fit_in_the_papers_world() -> None:
    world = make_world("icpsr22140")
    history = simulate_history(world)
    judged = world.population(named_luck(("judged",), 300))
    true = world.response.rates(judged)
    paper = ResponseSettings(family="poisson", shapes=(NETWORK,), folds=1, epochs=60)  # already overfitted by then
    errors = [
        rate_errors(fit_response(history, chosen).expected(judged), true)
        for chosen in (dataclasses.replace(QUICK, folds=5), paper)
    ]
    assert errors[0]["mae"] < 0.3
    assert errors[0]["mae"] < errors[1]["mae"]
    assert abs(errors[0]["top_decile_bias"]) < 0.5


def test_fits_are_reproducible_from_their_seed() -> None:
    history = two_groups(300)
    settings = dataclasses.replace(QUICK, shapes=(NETWORK,), epochs=5)
    one, again, other = (fit_response(history, dataclasses.replace(settings, seed=s)) for s in (1, 1, 2))
    people = history.referrers[:50]
    assert np.array_equal(one.means(people), again.means(people))
    assert not np.array_equal(one.means(people), other.means(people))


def test_small_and_odd_histories() -> None:
    schema = Schema.of_sizes({"a": 3})
    nobody = np.zeros((0, 1), dtype=np.int16)
    one = History(schema, np.array([[0]], dtype=np.int16), np.array([3]), np.array([1]), nobody, nobody)
    model = fit_response(one)
    unseen = np.array([[0], [2], [-1]], dtype=np.int16)
    assert np.isfinite(model.survival(unseen, 5)).all()
    with_zero = History(
        schema, np.zeros((3, 1), dtype=np.int16), np.array([0, 3, 4]), np.array([0, 1, 2]), nobody, nobody
    )
    assert np.isfinite(fit_response(with_zero, QUICK).means(unseen)).all()
    silent = History(
        schema, np.zeros((2, 1), dtype=np.int16), np.zeros(2, dtype=int), np.zeros(2, dtype=int), nobody, nobody
    )
    with pytest.raises(SettingError, match="nobody was given a coupon"):
        fit_response(silent)
    with pytest.raises(DataFileError, match=r"more recruits than coupons \(rows 1\)"):
        History(schema, np.zeros((2, 1), dtype=np.int16), np.array([1, 1]), np.array([1, 2]), nobody, nobody)


def test_impossible_settings() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'poisson'"):
        ResponseSettings(family="poison")
    with pytest.raises(SettingError, match="at least one shape"):
        ResponseSettings(shapes=())
    assert ResponseSettings.paper().folds == 1


def test_progress_is_reported() -> None:
    reports: list[tuple[float, str]] = []
    history = simulate_history(make_world("bridge"), HistorySettings(triples=60, pairs=0))
    settings = dataclasses.replace(QUICK, shapes=(LINEAR, LOG_LINEAR), drop_fields=False)
    fit_response(history, settings, lambda share, what: reports.append((share, str(what))))
    assert reports == [(0.0, "Poisson, linear, scaled softplus"), (0.5, "Poisson, log-linear")]
    reports.clear()
    fit_response(
        history, dataclasses.replace(settings, drop_fields=True), lambda share, what: reports.append((share, str(what)))
    )
    assert [share for share, _ in reports] == sorted(share for share, _ in reports)
    assert "Poisson, everybody alike" in [what for _, what in reports]
    assert all(0.0 <= share < 1.0 for share, _ in reports)
