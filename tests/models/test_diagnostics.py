import dataclasses

import numpy as np
import pytest
from small_fits import a_history, fitted
from truth_errors import field_distances, rate_errors

from peerfront.foundation.randomness import named_luck
from peerfront.models.model_diagnostics import response_report
from peerfront.models.offspring.inheritance_tables import fit_inheritance
from peerfront.models.offspring.pairs import Pairs
from peerfront.simulation.catalog import make_world
from peerfront.simulation.icpsr22140 import Inheritance, SoftplusPoisson
from peerfront.simulation.simulated_history import HistorySettings, simulate_history
from peerfront.words.model_figures import capacity_figure


def test_the_truth_passes_and_a_wrong_model_fails() -> None:
    world = make_world("icpsr22140")
    history = simulate_history(world, seed=3)
    good = response_report(world.response, history, parameters=0)
    assert good.p_value > 1e-3
    assert good.log_likelihood is None
    inside = (good.calibration["low"] <= good.calibration["predicted"]) & (
        good.calibration["predicted"] <= good.calibration["high"]
    )
    assert inside.mean() >= 0.8
    assert good.rootogram["observed"].sum() == pytest.approx(good.rootogram["expected"].sum())
    wrong = SoftplusPoisson(world.schema, world.response.weights, 1.5 * world.response.scale)
    bad = response_report(wrong, history, parameters=0)
    assert bad.p_value < 1e-6
    assert (good.misfit, bad.misfit) == (False, True)
    assert bad.chi_square > good.chi_square


def test_counts_of_every_family_are_judged_as_the_family_says() -> None:
    history = a_history()
    for family in ("poisson", "zip", "nb", "zinb"):
        model = fitted(family)
        report = response_report(model, history)
        rows = zip(history.referrers, history.coupons, strict=True)
        expected = np.zeros(5)
        for person, coupons in rows:
            expected[: coupons + 1] += model.counts(person[None, :], int(coupons))[0]
        assert report.rootogram["expected"].to_numpy() == pytest.approx(expected)
        assert not report.misfit
        first = report.calibration["predicted"].iloc[0]
        assert first == pytest.approx(1.0 - np.mean([model.counts(p[None, :], int(c))[0, 0] for p, c in zip(
            history.referrers, history.coupons, strict=True)]))  # fmt: skip
    used_up = response_report(fitted("zinb"), dataclasses.replace(
        history, coupons=np.full(60, 2), recruits=np.minimum(history.recruits, 2)))  # fmt: skip
    assert used_up.degrees <= 0
    assert not used_up.misfit


def test_rate_errors() -> None:
    true = np.arange(1.0, 101.0)
    found = rate_errors(np.where(true > 90, true - 5.0, true), true)
    assert found["mae"] == pytest.approx(0.5)
    assert found["rmse"] == pytest.approx(np.sqrt(2.5))
    assert found["top_decile_bias"] == pytest.approx(-5.0)


def test_the_table_is_near_the_truth_and_another_generator_is_not() -> None:
    world = make_world("icpsr22140")
    pairs = Pairs.of(simulate_history(world, HistorySettings(triples=0, pairs=1500), seed=1))
    table = fit_inheritance(pairs)
    people = world.population(named_luck(("d",), 100))
    assert field_distances(table, world.offspring, people, 60).mean() < 0.06
    assert field_distances(Inheritance(world.schema, np.zeros(17)), world.offspring, people, 60).mean() > 0.3


def test_the_pictures_show_the_numbers() -> None:
    world = make_world("bridge")
    history = simulate_history(world, HistorySettings(triples=300, pairs=200))
    report = response_report(world.response, history, parameters=0)
    left, right = capacity_figure(report).axes
    assert len(left.patches) == len(report.rootogram)
    assert right.lines[-1].get_ydata() == pytest.approx(report.calibration["predicted"].to_numpy())
