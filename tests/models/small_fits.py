"""A small history, and a model of every kind fitted to it once."""

import dataclasses
import math
from functools import cache

import numpy as np

from peerfront.foundation.counts import FAMILIES
from peerfront.foundation.covariates import Schema
from peerfront.foundation.randomness import named_generator
from peerfront.models.offspring.category_training import MaskedSettings, SoftmaxSettings, fit_masked, fit_softmax
from peerfront.models.offspring.diffusion import DiffusionSettings, fit_diffusion
from peerfront.models.offspring.inheritance_tables import fit_inheritance
from peerfront.models.offspring.pairs import Pairs
from peerfront.models.response.response_fit import LINEAR, ResponseSettings, fit_response
from peerfront.problem import History

NAN = math.nan
SCHEMA = Schema.of_sizes({"a": 3, "b": 4})
FITS = {
    "inheritance": fit_inheritance,
    "softmax": lambda pairs: fit_softmax(pairs, SoftmaxSettings(epochs=30)),
    "masked": lambda pairs: fit_masked(pairs, MaskedSettings(hidden=(16,), epochs=10)),
    "diffusion": lambda pairs: fit_diffusion(pairs, DiffusionSettings(hidden=(64,), epochs=60)),
}
QUICK = ResponseSettings(family="poisson", shapes=(LINEAR,), penalties=(0.1,), folds=2)


def codes(*rows: tuple[int, ...]) -> np.ndarray:
    return np.array(rows, dtype=np.int16).reshape(len(rows), -1)


def a_history(rows: int = 60, schema: Schema = SCHEMA) -> History:
    rng = named_generator("a history", rows)
    people, children = ((rng.random((rows, len(schema.fields))) * schema.sizes).astype(np.int16) for _ in range(2))
    coupons = rng.integers(1, 5, rows)
    return History(schema, people, coupons, np.minimum(rng.poisson(1.5, rows), coupons), people, children)


@cache
def fitted(name: str):
    """A capacity model of a family, or a generator, fitted to the same small history."""
    if name in FAMILIES:
        return fit_response(a_history(), dataclasses.replace(QUICK, family=name))
    return FITS[name](Pairs.of(a_history()))
