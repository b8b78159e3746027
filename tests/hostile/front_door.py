"""The library's front door, called with what it was not made for: each call answers, or says in words what is wrong."""

import datetime
import io
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import peerfront as pf
from hostile.options import STUDY, WAITING
from hostile.runner import Call
from peerfront.environment import RecruitmentEnv
from study.small_advice import a_fit

THINGS: Mapping[str, Any] = {
    "None": None,
    "a number": 5,
    "a fraction": 1.5,
    "nan": float("nan"),
    "a truth": True,
    "bytes": b"study",
    "an empty list": [],
    "numbers": [1, 2, 3],
    "a dictionary": {"a": 1},
    "an object": object(),
    "an empty table": pd.DataFrame(),
    "a table of objects": pd.DataFrame({"id": [object(), None], "recruiter": [[], {}]}),
    "a table of nan": pd.DataFrame({"id": [np.nan, np.nan], "recruiter": [np.inf, -np.inf]}),
    "two levels of names": pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
    "an array": np.zeros((3, 3)),
    "a series": pd.Series(["a", "b"]),
    "a text": "nope",
    "an empty text": "",
    "a path": Path("nope") / "x",
    "a folder": Path(),
    "a file": io.StringIO("id,recruiter\n"),
    "a date": datetime.date(2024, 1, 1),
    "a function": len,
    "a class": dict,
}


@cache
def _study() -> pf.Study:
    return pf.read_study(pd.read_csv(io.StringIO(STUDY), dtype=str, keep_default_na=False))


@cache
def _model() -> pf.Model:
    return pf.Model(a_fit())


def _waiting() -> pd.DataFrame:
    return pd.read_csv(io.StringIO(WAITING))


def _bad_step(env_state: str) -> Callable[[Any], object]:
    def step(thing: Any) -> object:
        env = RecruitmentEnv(pf.make_world("bridge"), pf.Rules(budget=5))
        if env_state == "reset":
            env.reset(seed=1)
        return env.step(thing)

    return step


def _rollout(**changed: Any) -> object:
    given: dict[str, Any] = {
        "world": pf.make_world("bridge"),
        "policy": pf.make_policy("constant", pf.make_world("bridge")),
        "rules": pf.Rules(budget=5),
        "luck": pf.named_luck("test", 1),
    }
    return pf.rollout(*(given | changed).values())


def _unfit(thing: Any) -> Any:
    """The thing, or -5 in place of what would do, and take long."""
    return -5 if thing is None or isinstance(thing, int | float) else thing


TAKES: Mapping[str, Callable[[Any], object]] = {  # what is called with each thing
    "read_study": lambda thing: pf.read_study(thing),
    "read_study, settings": lambda thing: pf.read_study(_waiting(), thing),
    "read_schema": lambda thing: pf.read_schema(thing),
    "read_frontier": lambda thing: pf.read_frontier(thing, _model().schema),
    "read_frontier, schema": lambda thing: pf.read_frontier(_waiting(), thing),
    "guess_schema": lambda thing: pf.guess_schema(thing),
    "fit": lambda thing: pf.fit(thing, budget=5),
    "fit, budget": lambda thing: pf.fit(_study(), budget=_unfit(thing)),
    "load": lambda thing: pf.load(thing),
    "plan": lambda thing: _model().plan(thing, 5),
    "plan, budget": lambda thing: _model().plan(_waiting(), thing),
    "plan, target": lambda thing: _model().plan(_waiting(), 5, target=thing),
    "plan, strata": lambda thing: _model().plan(_waiting(), 5, strata=thing),
    "plan, at_least": lambda thing: _model().plan(_waiting(), 5, at_least=thing),
    "plan, population": lambda thing: _model().plan(_waiting(), 5, population=thing),
    "plan, deadline": lambda thing: _model().plan(_study(), 5, deadline=thing),
    "plan, as_of": lambda thing: _model().plan(_study(), 5, as_of=thing),
    "forecast": lambda thing: _model().forecast(thing, 5, episodes=10),
    "forecast, episodes": lambda thing: _model().forecast(_waiting(), 5, episodes=thing if thing is not None else 10),
    "report": lambda thing: _model().report(thing, episodes=10),
    "report, out": lambda thing: _model().report(_study(), episodes=10, out=thing),
    "report, heading": lambda thing: _model().report(_study(), episodes=10, heading=thing),
    "report, outcome": lambda thing: _model().report(_study(), episodes=10, outcome=thing),
    "save": lambda thing: _model().save(thing),
    "sheet.save": lambda thing: _model().plan(_waiting(), 5).save(thing),
    "estimate": lambda thing: pf.estimate(thing, "sex"),
    "estimate, outcome": lambda thing: pf.estimate(_study(), thing),
    "design": lambda thing: pf.design(_unfit(thing)),
    "as_of": lambda thing: _study().as_of(thing),
    "make_world": lambda thing: pf.make_world(thing),
    "make_policy": lambda thing: pf.make_policy(thing, pf.make_world("bridge")),
    "make_policy, world": lambda thing: pf.make_policy("threshold", thing, pf.Rules(budget=5)),
    "rollout, world": lambda thing: _rollout(world=thing),
    "rollout, policy": lambda thing: _rollout(policy=thing),
    "rollout, rules": lambda thing: _rollout(rules=thing),
    "rollout, luck": lambda thing: _rollout(luck=thing),
    "compare": lambda thing: pf.compare(thing, ["constant"]),
    "compare, policies": lambda thing: pf.compare(["bridge"], thing),
    "Rules": lambda thing: pf.Rules(budget=thing),
    "PlanOrder": lambda thing: pf.PlanOrder(thing),
    "FitSettings": lambda thing: pf.FitSettings(budget=thing),
    "DesignSettings": lambda thing: pf.DesignSettings(population=thing),
    "ReadSettings, missing": lambda thing: pf.ReadSettings(missing=thing),
    "ReadSettings, columns": lambda thing: pf.ReadSettings(columns=thing),
    "ReadSettings, coupons_each": lambda thing: pf.ReadSettings(coupons_each=thing),
    "Heading": lambda thing: pf.Heading(thing),
    "demo_study": lambda thing: pf.demo_study(people=_unfit(thing)),
    "named_luck": lambda thing: pf.named_luck(thing, 1),
    "step before reset": _bad_step(""),
    "step": _bad_step("reset"),
    "environment": lambda thing: RecruitmentEnv(thing, pf.Rules(budget=5)),
    "environment, rules": lambda thing: RecruitmentEnv(pf.make_world("bridge"), thing),
}


def cases() -> Iterator[Call]:
    """Every function with every thing; those that simulate, with a third of them."""
    for number, (name, call) in enumerate(TAKES.items()):
        few = list(THINGS.items())[number % 3 :: 3]
        for what, thing in few if name.startswith(("report", "forecast", "design")) else THINGS.items():
            yield Call("front door", f"{name}: {what}", lambda _, call=call, thing=thing: call(thing))
