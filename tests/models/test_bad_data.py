"""People and histories no model may accept, or accept only in a defined way: never a wrong answer."""

import dataclasses

import numpy as np
import pytest
from small_fits import FITS, NAN, QUICK, SCHEMA, a_history, codes, fitted
from truth_errors import field_distances

from peerfront.foundation.counts import FAMILIES
from peerfront.foundation.covariates import Field, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.models.model_diagnostics import response_report
from peerfront.models.offspring.generator_choice import fit_offspring
from peerfront.models.offspring.pairs import Pairs, sampled_children
from peerfront.models.response.response_fit import LINEAR, LOG_LINEAR, NETWORK, ResponseSettings, fit_response
from peerfront.models.response.response_training import Trainer

# Training that goes wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [LINEAR, NETWORK])
@pytest.mark.parametrize("folds", [1, 3])
def test_a_capacity_fit_that_diverges_is_an_error(monkeypatch, shape, folds) -> None:
    whole = Trainer.likelihood
    monkeypatch.setattr(Trainer, "likelihood", lambda self, chosen: NAN * whole(self, chosen))
    with pytest.raises(SettingError, match="diverged.*smaller learning rate"):
        fit_response(a_history(), ResponseSettings("poisson", (shape,), folds=folds, epochs=3))


# People the model does not know ------------------------------------------------------------------------------------

STRANGERS = {
    "too few fields": codes((0,), (1,)),
    "too many fields": codes((0, 0, 0), (1, 1, 1)),
    "a category too many": codes((0, 0), (3, 0)),
    "a code below unknown": codes((0, 0), (-2, 0)),
    "one flat row": np.array([0, 1], dtype=np.int16),
    "fractions": np.array([[0.0, 1.0], [NAN, 1.0]]),
    "a list": [[0, 1], [1, 2]],
}


@pytest.mark.parametrize("people", STRANGERS.values(), ids=STRANGERS)
@pytest.mark.parametrize("name", [*FAMILIES, *FITS])
def test_people_of_another_schema(name, people) -> None:
    model = fitted(name)
    coupons = (3,) if name in FAMILIES else ()
    asked = [lambda: model.sample(people, *coupons, named_luck(("strangers",), 2))]
    asked += [lambda: model.survival(people, 3), lambda: model.expected(people)] if name in FAMILIES else []
    asked += [lambda: model.probabilities(people)] if hasattr(model, "probabilities") else []
    for ask in asked:
        with pytest.raises(SettingError, match="Covariates|Row 1"):
            ask()


@pytest.mark.parametrize("name", [*FAMILIES, *FITS])
@pytest.mark.parametrize("lucks", [1, 3])
def test_one_luck_each(name, lucks) -> None:
    with pytest.raises(SettingError, match=f"2 covariate rows and {lucks} lucks"):
        fitted(name).sample(codes((0, 0), (1, 1)), *((3,) if name in FAMILIES else ()), named_luck(("few",), lucks))


@pytest.mark.parametrize("family", FAMILIES)
def test_nobody_and_nothing(family) -> None:
    model, nobody = fitted(family), np.zeros((0, 2), dtype=np.int16)
    assert model.survival(nobody, 4).shape == (0, 4)
    assert model.survival(codes((0, 0), (-1, -1)), 0).shape == (2, 0)
    assert model.sample(nobody, 3, named_luck(("nobody",), 0)).shape == (0,)
    for most in (-1, 2.5, NAN, None):
        with pytest.raises(SettingError, match="max coupons must be a whole number of at least 0"):
            model.survival(codes((0, 0)), most)


# Histories that say little -----------------------------------------------------------------------------------------


def test_counts_that_are_not_counts() -> None:
    whole = a_history(4)
    with pytest.raises(SettingError, match="coupons must be a NumPy array of numbers that fit"):
        dataclasses.replace(whole, coupons=np.full(4, 3.0), recruits=np.array([1.0, NAN, 0.0, 2.0]))
    with pytest.raises(SettingError, match="referrers must be a NumPy array of numbers that fit"):
        dataclasses.replace(whole, referrers=whole.referrers.astype(float))


def test_pairs_are_checked() -> None:
    rows = codes((0, 0), (1, 1))
    with pytest.raises(SettingError, match="2 recruiters and 1 recruits do not form pairs"):
        Pairs(SCHEMA, rows, rows[:1])
    with pytest.raises(SettingError, match="code 3 in field 'a'"):
        Pairs(SCHEMA, rows, codes((3, 0), (0, 0)))
    with pytest.raises(SettingError, match="no recruiter-recruit pair"):
        Pairs(SCHEMA, rows[:0], rows[:0])
    with pytest.raises(SettingError, match="no recruiter-recruit pair"):
        fit_offspring(dataclasses.replace(a_history(), parents=rows[:0], children=rows[:0]))
    unknown = np.full((2, 2), -1, dtype=np.int16)
    with pytest.raises(SettingError, match="Nothing is known of any recruit"):
        fit_offspring(dataclasses.replace(a_history(), parents=rows, children=unknown))


def test_nothing_held_out_is_not_called_held_out() -> None:
    history = a_history(1)
    for settings in (None, ResponseSettings(folds=1)):
        reason = str(fit_response(history if settings is None else a_history(), settings).reason)
        assert "nothing was held out" in reason
        assert "nan" not in reason
    chosen = fit_offspring(history, rivals=("inheritance", "softmax"))
    assert "none can be held out" in str(chosen.reason)
    assert "held-out" not in str(chosen.reason)


def test_capacities_never_seen_are_called_a_guess() -> None:
    history = a_history()
    used = dataclasses.replace(history, recruits=history.coupons)
    assert "only known from below" in str(fit_response(used, QUICK).reason)
    assert "only known from below" not in str(fit_response(history, QUICK).reason)


@pytest.mark.parametrize("shape", [LINEAR, LOG_LINEAR, NETWORK])
def test_people_of_whom_nothing_is_known(shape) -> None:
    history = dataclasses.replace(a_history(), referrers=np.full((60, 2), -1, dtype=np.int16))
    rates = fit_response(history, dataclasses.replace(QUICK, shapes=(shape,), epochs=40)).means(history.referrers[:1])
    assert rates == pytest.approx(1.5, abs=0.5)


@pytest.mark.parametrize("shape", [LINEAR, NETWORK])
def test_rates_whose_exponential_is_no_number(shape) -> None:
    history = a_history()
    many = dataclasses.replace(history, coupons=np.full(60, 2000), recruits=np.full(60, 900) + np.arange(60))
    model = fit_response(many, dataclasses.replace(QUICK, shapes=(shape,), epochs=5))
    assert model.means(history.referrers).mean() == pytest.approx(930, rel=0.1)


@pytest.mark.parametrize("name", FITS)
def test_a_field_known_of_no_recruit_is_drawn_evenly(name) -> None:
    children = a_history().children.copy()
    children[:, 1] = -1
    model = FITS[name](Pairs(SCHEMA, a_history().parents, children))
    drawn = model.sample(np.tile(codes((1, 2)), (4000, 1)), named_luck(("evenly",), 4000))[:, 1]
    assert np.bincount(drawn, minlength=4) / 4000 == pytest.approx(0.25, abs=0.04)


@pytest.mark.parametrize("name", FITS)
def test_missing_fields_of_recruits_say_nothing(name) -> None:
    """Field b is known of a third of the recruits, and then it is always the last category."""
    rng = named_generator("missing", "recruits")
    parents, children = ((rng.random((600, 2)) * SCHEMA.sizes).astype(np.int16) for _ in range(2))
    children[:, 1] = np.where(rng.random(600) < 1 / 3, 3, -1)
    model = FITS[name](Pairs(SCHEMA, parents, children))
    drawn = model.sample(parents, named_luck(("missing",), 600))[:, 1]
    assert (drawn == 3).mean() > 0.8


# Diagnostics -------------------------------------------------------------------------------------------------------


def test_models_are_judged_on_their_own_schema() -> None:
    renamed = Schema((Field("c", SCHEMA.fields[0].categories), SCHEMA.fields[1]))
    history = dataclasses.replace(a_history(), schema=renamed)
    with pytest.raises(SettingError, match=r"a \(3 categories\).*the data by c \(3 categories\)"):
        response_report(fitted("nb"), history)


def test_nothing_to_judge_by() -> None:
    history, model = a_history(), fitted("inheritance")
    silent = dataclasses.replace(history, coupons=np.zeros(60, dtype=int), recruits=np.zeros(60, dtype=int))
    with pytest.raises(SettingError, match="nobody was given a coupon"):
        response_report(fitted("poisson"), silent)
    with pytest.raises(SettingError, match="parameters must be"):
        response_report(fitted("poisson"), history, parameters=-1)
    for samples in (0, -1, 2.5):
        with pytest.raises(SettingError, match="samples must be"):
            sampled_children(model, history.parents, samples)


class Copies:
    """A generator whose recruits are their parents, known or not."""

    def sample(self, parents, luck):
        return parents


def test_distances_between_generators_that_leave_fields_unknown() -> None:
    people = codes((-1, 0), (1, -1))
    assert field_distances(Copies(), Copies(), people, 3) == pytest.approx([0.0, 0.0])
    assert field_distances(Copies(), fitted("inheritance"), people, 3)[0] >= 0.5
