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
from peerfront.foundation.networks import Perceptron
from peerfront.foundation.randomness import named_generator
from peerfront.gfp.planner import Planner
from peerfront.gfp.surrogate import LaplaceNetwork, PersonInputs, SurrogateSettings
from peerfront.gfp.training import Surrogate
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.belief_fit import learned_belief
from peerfront.models.belief.prior import Prior
from peerfront.models.offspring.inheritance_tables import fit_inheritance
from peerfront.models.offspring.pairs import Pairs
from peerfront.problem import Frontier, Rules
from peerfront.study.artifacts import Fit, fingerprint, planned_stories, value_response
from peerfront.study.fit_models import counts_of
from peerfront.study.orders import PlanOrder
from peerfront.study.report import study_report
from peerfront.words.report_page import report_page

RULES = Rules(budget=15, people=4, rounds=4, max_per_person=3)


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


@cache
def a_belief(*parts: str, draws: int = 24) -> Belief:
    """A belief in these parts, evenly; without any, in limited people alone."""
    study, schema = a_study()
    counts = counts_of(history_of(study, schema))
    each = [learned_belief(counts, _prior(part), draws=draws).rounded() for part in parts or ("capacity",)]
    names = ("limited", "spur", "levels", "effects", "drift", "spread")
    whole = {name: np.concatenate([getattr(belief, name) for belief in each]) for name in names}
    fields = tuple(dict.fromkeys(field for belief in each for field in belief.fields))
    return dataclasses.replace(each[0], fields=fields, **whole)


def _prior(part: str) -> Prior:
    if part == "motivate":
        return Prior(limited=((0.0, 1.0),), spur=((0.8, 1.0),), answers_matter=0.9)
    return dataclasses.replace(Prior.knowing(part), answers_matter=0.9)


@cache
def a_fit(*stories: str) -> Fit:
    """A model that believes in these parts, evenly; without any, in limited people alone."""
    study, schema = a_study()
    history, belief = history_of(study, schema), a_belief(*stories)
    inputs = PersonInputs(history.schema, value_response(belief))
    surrogate = Surrogate(inputs, 20, SurrogateSettings(latent=3, hidden=8, deadline=True), 1, RULES.rounds)
    laplace = LaplaceNetwork(inputs, Perceptron.started([inputs.width, 8, 3], 2).frozen())
    return Fit(
        schema.schema,
        belief,
        fit_inheritance(Pairs.of(history)),
        Planner(planned_stories(belief, surrogate.freeze(), laplace), 0.95),
        RULES,
        study_schema=schema_text(schema),
        data_fingerprint=fingerprint(history),
        settings={"seed": 3},
    )


def a_frontier(people: int = 6) -> Frontier:
    sizes = a_fit().schema.sizes
    codes = (named_generator("a frontier", people).random((people, len(sizes))) * sizes).astype(np.int16)
    return Frontier(np.array([f"waiting-{n}" for n in range(people)], dtype=object), codes)


def page_of(*arguments: Any, **named: Any) -> str:
    """The page of a report."""
    return report_page(study_report(*arguments, **named))
