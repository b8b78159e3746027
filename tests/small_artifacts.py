"""Small fits to save and to read."""

import dataclasses
from functools import cache

import numpy as np

from models.small_fits import SCHEMA, a_history, fitted
from peerfront.foundation.covariates import Schema
from peerfront.foundation.networks import Perceptron
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.surrogate import FrozenSurrogate, LaplaceNetwork, PersonInputs, SurrogateSettings
from peerfront.gfp.training import Surrogate
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.belief_fit import learned_belief
from peerfront.models.belief.prior import Prior
from peerfront.models.offspring.diffusion import DiffusionSettings, fit_diffusion
from peerfront.models.offspring.pairs import Pairs
from peerfront.problem import ResponseModel, Rules
from peerfront.study.artifacts import Fit, fingerprint, planned_stories, value_response
from peerfront.study.fit_models import counts_of

RULES = Rules(budget=15, people=4, rounds=4, max_per_person=3)


@cache
def other_model(name: str):
    """A model that the small fits do not have: the paper's diffusion with all its steps."""
    assert name == "diffusion-paper"
    paper = dataclasses.replace(DiffusionSettings.paper(), hidden=(16,), epochs=2, steps=10)
    return fit_diffusion(Pairs.of(a_history()), paper)


def a_planner(*, deadline: bool = True, sees: bool = True) -> Planner:
    """A planner of research: one fitted response, and a value of its own."""
    response = fitted("poisson")
    return Planner.of(response, *_untrained(response, deadline, sees), 0.95, name="gfp of a test")


def _untrained(response: ResponseModel, deadline: bool, sees: bool) -> tuple[FrozenSurrogate, LaplaceNetwork]:
    inputs = PersonInputs(SCHEMA, response if sees else None)
    surrogate = Surrogate(inputs, 20, SurrogateSettings(latent=3, hidden=8, deadline=deadline), 1, RULES.rounds)
    return surrogate.freeze(), LaplaceNetwork(inputs, Perceptron.started([inputs.width, 8, 3], 2).frozen())


@cache
def a_belief(part: str = "all") -> Belief:
    """What the small history says of coupons: all of it, or what is left to somebody who knows the part."""
    prior = Prior(answers_matter=0.9)
    if part != "all":
        known = Prior.knowing(part)
        prior = dataclasses.replace(prior, limited=known.limited, spur=known.spur)
    return learned_belief(counts_of(a_history()), prior, draws=48).rounded()


def a_fit(part: str = "all", generator: str = "inheritance", *, deadline: bool = True, sees: bool = True) -> Fit:
    belief = a_belief(part)
    offspring = other_model(generator) if generator == "diffusion-paper" else fitted(generator)
    stories = planned_stories(belief, *_untrained(value_response(belief), deadline, sees))
    return Fit(
        SCHEMA,
        belief,
        offspring,
        Planner(stories, 0.95, name="gfp of a test"),
        RULES,
        study_schema='[columns]\nage = "Alter, in Jahren: ä"\n',
        data_fingerprint=fingerprint(a_history()),
        settings={"seed": 3, "part": part},
        scores={"fields": list(belief.fields), "value": {"residual": 0.25, "history": (("start", 1.5),)}},
    )


def people(count: int, schema: Schema = SCHEMA) -> np.ndarray:
    return (named_luck(("people",), count).uniforms("x", len(schema.fields)) * schema.sizes).astype(np.int16)
