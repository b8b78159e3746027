"""A small study, a model of it and an order; made once."""

import dataclasses
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.schema_file import schema_text
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, history_of
from peerfront.foundation.networks import frozen, perceptron
from peerfront.foundation.randomness import named_generator
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.gfp.surrogate import LaplaceNetwork, PersonInputs, SurrogateSettings
from peerfront.gfp.training import Surrogate
from peerfront.models.offspring.inheritance_tables import fit_inheritance
from peerfront.models.offspring.pairs import Pairs
from peerfront.models.response.response_fit import LINEAR, ResponseSettings, fit_response
from peerfront.problem import Frontier, History, Rules
from peerfront.study.artifacts import Fit, fingerprint
from peerfront.study.orders import PlanOrder
from peerfront.study.report import study_report
from peerfront.words.report_page import report_page

RULES = Rules(budget=15, people=4, rounds=4, max_per_person=3)
QUICK = ResponseSettings(family="poisson", shapes=(LINEAR,), penalties=(0.1,), folds=5, drop_fields=False)


def order(budget: int = 12, **changed: int | None) -> PlanOrder:
    """An order with four rounds left, unless changed."""
    return PlanOrder(budget, **{"rounds_left": 4, **changed})


def study_csv(people: int = 90, seed: int = 1) -> str:
    """A coupon file in which women recruit more, and their like."""
    rng = named_generator("a small study", seed)
    rows, waiting, count = [], [("", "f"), ("", "m"), ("", "f")], 0
    while waiting and count < people:
        coupon, sex = waiting.pop(0)
        town = "north" if rng.random() < 0.4 else "south"
        day = f"2024-0{1 + count * 8 // people}-{1 + count % 28:02d}"
        rows.append(f"person-{count:04d},{coupon},SECRET{count}a,SECRET{count}b,SECRET{count}c,{sex},{town},{day}")
        brings = min(rng.poisson(1.9 if sex == "f" else 1.1), 3)
        waiting += [
            (f"SECRET{count}{'abc'[n]}", sex if rng.random() < 0.7 else "fm"[rng.integers(2)]) for n in range(brings)
        ]
        count += 1
        if not waiting and count < people:
            waiting.append(("", "f"))
    return "id,own.coupon,coupon.1,coupon.2,coupon.3,sex,town,date\n" + "\n".join(rows) + "\n"


@cache
def a_study(people: int = 90, still_open: str = "40") -> tuple[Study, StudySchema]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "study.csv"
        path.write_text(study_csv(people))
        study = read_study(path, ReadSettings(still_open=still_open))
    return study, dataclasses.replace(guess_schema(study).schema, reading=study.settings)


FAMILIES = {"capacity": "poisson", "per_coupon": "betabinomial"}


@cache
def a_fit(folds: int = 5, *stories: str) -> Fit:
    """A model with these stories of what a coupon does, evenly believed; without any, the paper's alone."""
    study, schema = a_study()
    history = history_of(study, schema)
    told = tuple(_story(history, name, folds, 1.0 / (len(stories) or 1)) for name in stories or ("capacity",))
    return Fit(
        schema.schema,
        fit_inheritance(Pairs.of(history)),
        Planner(told, 0.95),
        RULES,
        study_schema=schema_text(schema),
        data_fingerprint=fingerprint(history),
        settings={"seed": 3},
    )


def _story(history: History, name: str, folds: int, weight: float) -> Story:
    response = fit_response(history, dataclasses.replace(QUICK, folds=folds, family=FAMILIES[name]))
    inputs = PersonInputs(history.schema, response)
    surrogate = Surrogate(inputs, 20, SurrogateSettings(latent=3, hidden=8, deadline=True), 1, RULES.rounds)
    laplace = LaplaceNetwork(inputs, frozen(perceptron([inputs.width, 8, 3], 2)))
    return Story(response, surrogate.freeze(), laplace, weight, name)


def a_frontier(people: int = 6) -> Frontier:
    sizes = a_fit().schema.sizes
    codes = (named_generator("a frontier", people).random((people, len(sizes))) * sizes).astype(np.int16)
    return Frontier(np.array([f"waiting-{n}" for n in range(people)], dtype=object), codes)


def page_of(*arguments: Any, **named: Any) -> str:
    """The page of a report."""
    return report_page(study_report(*arguments, **named))
