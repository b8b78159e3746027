"""Settings that no model may accept: an error of ours where they are written, never a wrong answer later."""

import dataclasses
import math

import numpy as np
import pytest
from small_fits import NAN, SCHEMA, a_history, codes, fitted

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.randomness import named_luck
from peerfront.models.offspring.category_training import MaskedSettings, SoftmaxSettings
from peerfront.models.offspring.diffusion import DiffusionSettings, noise_schedule, spaced_steps
from peerfront.models.offspring.generator_choice import fit_offspring
from peerfront.models.offspring.pairs import Pairs
from peerfront.models.response.rates import RateShape
from peerfront.models.response.response_fit import LINEAR, ResponseSettings

WHOLE = (0, -1, 2.5, NAN, math.inf, "3", None, True)
SHARES = (0.0, 1.0, -0.1, 1.2, NAN, None, "half", True)
RATES = (0.0, -1e-3, 1.5, NAN, math.inf, None, "1e-3", True)
WIDTHS = ((0,), (-4, 8), (2.5,), (NAN,), 64, "64", None)
SEEDS = (1.5, NAN, None, "0", True)
BAD = {
    ResponseSettings: {
        "folds": WHOLE,
        "epochs": WHOLE,
        "patience": WHOLE,
        "batch": WHOLE,
        "learning_rate": RATES,
        "penalties": ((), (-1.0,), (0.1, NAN), 0.1, None, "0.1"),
        "shapes": ((), LINEAR, ("linear",), None),
        "seed": SEEDS,
    },
    DiffusionSettings: {
        "hidden": WIDTHS,
        "steps": WHOLE,
        "epochs": WHOLE,
        "batch": WHOLE,
        "learning_rate": RATES,
        "fast_steps": (0, 1, -3, 2.5, NAN, 101, "5"),
        "seed": SEEDS,
    },
    MaskedSettings: {
        "hidden": WIDTHS,
        "epochs": WHOLE,
        "batch": WHOLE,
        "learning_rate": RATES,
        "weight_decay": (-0.1, NAN, math.inf, None),
        "held_out": SHARES,
        "patience": WHOLE,
        "steps": WHOLE,
        "seed": SEEDS,
    },
    SoftmaxSettings: {
        "hidden": WIDTHS,
        "epochs": WHOLE,
        "batch": WHOLE,
        "learning_rate": RATES,
        "held_out": SHARES,
        "patience": WHOLE,
        "seed": SEEDS,
    },
    RateShape: {"hidden": WIDTHS},
}
CASES = [(kind, name, value) for kind, names in BAD.items() for name, values in names.items() for value in values]


@pytest.mark.parametrize(("kind", "name", "value"), CASES)
def test_impossible_settings_are_refused_where_they_are_written(kind, name, value) -> None:
    with pytest.raises(SettingError, match="found|is empty") as error:
        kind(**{name: value})
    assert name.replace("_", " ").rstrip("s") in str(error.value)


def test_unknown_names_are_refused_where_they_are_written() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'softplus'"):
        RateShape((), "sofplus")
    with pytest.raises(UnknownName, match="Did you mean 'cosine'"):
        DiffusionSettings(schedule="cosin")
    for family in (None, 3, ""):
        with pytest.raises(UnknownName, match="no family"):
            ResponseSettings(family=family)
    with pytest.raises(UnknownName, match="no generator called 'None'"):
        fit_offspring(a_history(), None)
    with pytest.raises(UnknownName, match="no rival generator called 'auto'"):
        fit_offspring(a_history(), rivals=("auto",))
    with pytest.raises(UnknownName, match="no family"):
        dataclasses.replace(fitted("poisson"), family="auto")


def test_numbers_of_any_make_are_the_same_setting() -> None:
    settings = ResponseSettings(folds=np.int64(5), seed=np.int64(0), shapes=[LINEAR], penalties=[1, 0.5])
    assert settings == ResponseSettings(shapes=(LINEAR,), penalties=(1, 0.5))
    assert RateShape([8, 8.0]) == RateShape((8, 8))
    assert hash(settings)


def test_a_seed_is_the_same_seed_whoever_counts() -> None:
    people, luck = a_history().parents, named_luck(("seed",), 60)
    one, other = (fit_offspring(a_history(), rivals=("softmax",), seed=seed) for seed in (3, np.int64(3)))
    assert one.rivals.equals(other.rivals)
    assert np.array_equal(one.model.sample(people, luck), other.model.sample(people, luck))


@pytest.mark.parametrize("held_out", SHARES)
def test_impossible_shares(held_out) -> None:
    with pytest.raises(SettingError, match="held out must be a share above 0 and below 1"):
        fit_offspring(a_history(), held_out=held_out)
    with pytest.raises(SettingError, match="held out must be a share above 0 and below 1"):
        Pairs.of(a_history()).split(held_out, 0)


def test_a_split_leaves_something_on_both_sides() -> None:
    pairs = Pairs(SCHEMA, codes((0, 0), (1, 1), (2, 2)), codes((0, 0), (1, 1), (2, 2)))
    training, judged = pairs.split(0.9, 0)
    assert (len(training), len(judged)) == (1, 2)


def test_no_rivals() -> None:
    with pytest.raises(SettingError, match="no rival"):
        fit_offspring(a_history(), rivals=())


def test_steps_of_the_samplers() -> None:
    for steps in (0, -1, NAN):
        with pytest.raises(SettingError, match="steps must be a whole number of at least 1"):
            noise_schedule("cosine", steps)
        with pytest.raises(SettingError, match="steps must be"):
            dataclasses.replace(fitted("masked"), steps=steps)
        with pytest.raises(SettingError, match="fast steps must be"):
            dataclasses.replace(fitted("diffusion"), fast_steps=steps)
    assert spaced_steps(100, 1) == [99]  # never step 0, which takes noise for a nearly clean child
    assert DiffusionSettings(steps=1, fast_steps=1).fast_steps == 1
