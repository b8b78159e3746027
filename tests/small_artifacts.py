"""Small fits to save and to read."""

import dataclasses
from functools import cache

import numpy as np

from models.small_fits import SCHEMA, a_history, fitted
from peerfront.foundation.covariates import Schema
from peerfront.foundation.networks import frozen, perceptron
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.surrogate import LaplaceNetwork, PersonInputs, SurrogateSettings
from peerfront.gfp.training import Surrogate
from peerfront.models.offspring.diffusion import DiffusionSettings, fit_diffusion
from peerfront.models.offspring.pairs import Pairs
from peerfront.models.response.response_fit import NETWORK, ResponseSettings, fit_response
from peerfront.problem import Rules
from peerfront.study.artifacts import Fit, fingerprint

RULES = Rules(budget=15, people=4, rounds=4, max_per_person=3)


@cache
def other_model(name: str):
    """Models that the small fits do not have: a rate network, and the paper's diffusion with all its steps."""
    if name == "network":
        return fit_response(
            a_history(), ResponseSettings("zinb", shapes=(NETWORK,), drop_fields=False, folds=2, epochs=3)
        )
    paper = dataclasses.replace(DiffusionSettings.paper(), hidden=(16,), epochs=2, steps=10)
    return fit_diffusion(Pairs.of(a_history()), paper)


def a_fit(family: str = "poisson", generator: str = "inheritance", *, deadline: bool = True, sees: bool = True) -> Fit:
    response = other_model(family) if family == "network" else fitted(family)
    offspring = other_model(generator) if generator == "diffusion-paper" else fitted(generator)
    inputs = PersonInputs(SCHEMA, response if sees else None)
    surrogate = Surrogate(inputs, 20, SurrogateSettings(latent=3, hidden=8, deadline=deadline), 1, RULES.rounds)
    laplace = LaplaceNetwork(inputs, frozen(perceptron([inputs.width, 8, 3], 2)))
    return Fit(
        SCHEMA,
        offspring,
        Planner.of(response, surrogate.freeze(), laplace, 0.95, name="gfp of a test"),
        RULES,
        study_schema='[columns]\nage = "Alter, in Jahren: ä"\n',
        data_fingerprint=fingerprint(a_history()),
        settings={"seed": 3, "capacity": {"family": family}},
        scores={"capacity": response.scores(), "value": {"residual": 0.25, "history": (("start", 1.5),)}},
    )


def people(count: int, schema: Schema = SCHEMA) -> np.ndarray:
    return (named_luck(("people",), count).uniforms("x", len(schema.fields)) * schema.sizes).astype(np.int16)
