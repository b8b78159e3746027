"""Everybody is alike until people left out show otherwise; fields that do not help are not used."""

import dataclasses

import numpy as np
import pytest

from peerfront.foundation.covariates import Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_generator
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.rates import clearly, total_error
from peerfront.models.response.response_fit import LINEAR, LOG_LINEAR, NETWORK, ResponseSettings, fit_response
from peerfront.problem import History

QUICK = ResponseSettings(family="poisson", shapes=(LINEAR,), penalties=(1.0, 0.1), folds=4)
SCHEMA = Schema.of_sizes({"kind": 2, "noise": 3, "other": 4})


def study(rates=(1.2, 1.2), rows: int = 300, coupons: int = 3) -> History:
    rng = named_generator("alike", rows, str(rates), False)
    people = (rng.random((rows, 3)) * SCHEMA.sizes).astype(np.int16)
    means = np.array(rates)[people[:, 0]]
    given = np.full(rows, coupons)
    return History(SCHEMA, people, given, np.minimum(rng.poisson(means), given), people[:0], people[:0])


def test_without_an_effect_nobody_is_told_apart() -> None:
    history = study((0.5, 0.5))
    model = fit_response(history, QUICK)
    assert model.fields == ()
    assert all((model.rates.weights[0] == 0.0).ravel())
    assert np.ptp(model.gains(history.referrers, 3), axis=0) == pytest.approx(0.0, abs=0.0)
    assert "Everybody is alike" in str(model.reason)
    assert any(candidate.fields == () for candidate in model.candidates)
    again = LearnedResponse.restored(model.stored(), model.schema)
    assert again.fields == ()


@pytest.mark.parametrize("shape", [LINEAR, LOG_LINEAR])
def test_only_fields_that_help_are_used(shape) -> None:
    history = study((0.4, 2.5))
    model = fit_response(history, dataclasses.replace(QUICK, shapes=(shape,)))
    assert model.fields == ("kind",)
    assert "without noise, other" in str(model.reason)
    assert (model.rates.weights[0][:, 2:] == 0.0).all()
    same = np.array([[1, 0, 0], [1, 2, 3], [1, -1, 1]], dtype=np.int16)
    assert np.ptp(model.means(same)) == 0.0


def test_fields_can_be_kept() -> None:
    history = study()
    model = fit_response(history, dataclasses.replace(QUICK, drop_fields=False))
    assert model.fields == SCHEMA.names
    assert not any(candidate.fields == () for candidate in model.candidates)
    assert ResponseSettings.paper().drop_fields is False
    alone = fit_response(history, dataclasses.replace(QUICK, folds=1))  # nothing is held out to judge by
    assert alone.fields == SCHEMA.names


def test_a_network_keeps_fields_that_say_nothing_alone() -> None:
    rng = named_generator("exclusive or")
    schema = Schema.of_sizes({"a": 2, "b": 2})
    people = rng.integers(0, 2, (800, 2)).astype(np.int16)
    capacity = rng.poisson(np.where(people[:, 0] == people[:, 1], 4.0, 0.3))
    coupons = np.full(800, 4)
    history = History(schema, people, coupons, np.minimum(coupons, capacity), people[:0], people[:0])
    model = fit_response(history, dataclasses.replace(QUICK, shapes=(LINEAR, NETWORK), epochs=60))
    assert model.rates.shape == NETWORK
    assert model.fields == ("a", "b")
    linear = fit_response(history, QUICK)
    assert linear.fields == ()


def test_people_of_whom_nothing_is_known_are_alike() -> None:
    schema = Schema.of_sizes({"everybody": 1})
    history = dataclasses.replace(
        study(), schema=schema, **dict.fromkeys(("parents", "children"), np.zeros((0, 1), dtype=np.int16)),
        referrers=np.zeros((300, 1), dtype=np.int16),
    )  # fmt: skip
    assert fit_response(history, QUICK).fields == ()


def test_the_rule() -> None:
    assert not clearly(np.full(100, 0.015), 1.0)  # sure, but too little to matter
    assert clearly(np.full(100, 0.025), 1.0)
    noisy = np.tile([1.0, -0.9], 50)
    assert total_error(noisy) == pytest.approx(9.5, rel=0.01)
    assert not clearly(noisy, 1.0)
    assert clearly(noisy + 0.1, 1.0)
    assert not clearly(noisy + 0.1, 2.0)


def test_impossible_settings() -> None:
    with pytest.raises(SettingError, match="drop fields must be True or False"):
        ResponseSettings(drop_fields=1)
