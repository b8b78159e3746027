"""A small made-up study and a quick fit to it, shared by the tests of this folder."""

from functools import lru_cache

import numpy as np

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.reading import study_from_table
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema
from peerfront.gfp.policy_iteration import PolicyIterationSettings
from peerfront.gfp.surrogate import LaplaceSettings, SurrogateSettings
from peerfront.problem import Frontier
from peerfront.simulation.demo_study import demo_study
from peerfront.study.fit_settings import FitSettings
from peerfront.study.fitting import fit_study
from peerfront.study.model import Model

QUICK = PolicyIterationSettings(
    rounds=1,
    episodes=40,
    states=120,
    steps=150,
    judged_episodes=40,
    surrogate=SurrogateSettings(latent=4, hidden=16, deadline=True),
    laplace=LaplaceSettings(parents=100, children=8, steps=100),
)


@lru_cache(maxsize=1)
def small_study() -> tuple[Study, StudySchema]:
    study = study_from_table(demo_study(150, seed=1).study)
    return study, guess_schema(study).schema


@lru_cache(maxsize=1)
def small_fit() -> Model:
    return Model(fit_study(*small_study(), FitSettings(budget=40, people=20, learning=QUICK)))


def some_people(count: int, seed: int = 0) -> tuple[Frontier, list[str]]:
    """People drawn evenly, some answers not known."""
    schema = small_study()[1].schema
    codes = np.random.default_rng(seed).integers(-1, schema.sizes, size=(count, len(schema.fields))).astype(np.int16)
    ids = [f"P{number}" for number in range(count)]
    return Frontier(np.array(ids, dtype=object), codes), ids
