"""Whatever the library's users hand over: a result, or an error that says what to do; never an error of another kind.

Cases are generated: every public function, method and constructor, each of its arguments, each hostile value.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import peerfront as pf
from peerfront.environment import RecruitmentEnv
from peerfront.foundation.errors import PeerfrontError
from peerfront.study import fitting, report
from peerfront.words import report_page

POLICIES = ("random_split", "constant", "threshold", "evenly", "population_dp")
POLICY_CALLS = tuple(f"Policy {name}" for name in POLICIES)
CALLED_BACK = {"progress", "watch"}
PROTOCOLS = {"Policy", "World"}
"""Nobody makes or calls these: policies and worlds that exist are called below."""
MADE_BY_THE_LIBRARY = {"CouponSheet", "Design", "Estimates", "Outlook", "Results", "Study", "Model", "PeerfrontError"}
"""Results, whose fields nobody fills in by hand: their methods are called, and their constructors only misnamed."""


@pytest.fixture(scope="module")
def things(tmp_path_factory) -> dict[str, Any]:
    """One valid thing of each kind."""
    folder = tmp_path_factory.mktemp("things")
    demo = pf.demo_study(people=60)
    study = pf.read_study(demo.study)
    model = pf.fit(study, budget=20, rounds=2, effort=0.05)
    model.save(folder / "model")
    (folder / "notes").mkdir()
    world = pf.make_world("bridge")
    luck = pf.named_luck(("hostile",), 3)
    frontier = model.frontier(study.waiting)
    return {
        "folder": folder, "study": study, "model": model, "world": world, "luck": luck, "frontier": frontier,
        "waiting": study.waiting, "table": demo.study, "rules": pf.Rules(20, 3, 3), "schema": model.schema,
        "crowd": world.seeds(luck, 2), "policy": pf.make_policy("constant", world),
    }  # fmt: skip


def hostile_values(things: dict[str, Any]) -> list[Any]:
    """Values of all kinds, right for some argument and wrong for most."""
    broken = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    return [
        None, True, 0, 5, -1, 2.5, float("nan"), float("inf"), 10**30, 10**5000, "", "x", "nobody.csv", "a\0b",
        "long" * 2000, b"x", [], (), {}, set(), ["x"], [None], [[1, 2], [3]], {"x": None}, {5: 5}, object(), int, len,
        np.float64("nan"), np.int64(3), np.array(5), np.zeros(0), np.zeros((2, 2)), np.array(["x"]), np.array([-1]),
        np.datetime64("2024-01-01"), pd.DataFrame(), broken, pd.DataFrame({"x": []}), pd.Series([1]), pd.NaT,
        Path("nobody.csv"), Path(), things["folder"] / "notes", things["folder"], things["study"], things["model"],
        things["frontier"], things["schema"], things["world"], things["luck"], things["rules"], things["policy"],
        pf.PlanOrder(5), pf.FitSettings(5), pf.ReadSettings(), pf.Heading(), lambda: None, 1j, range(3), iter(()),
    ]  # fmt: skip


def calls(things: dict[str, Any]) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Each public function, method and constructor, with arguments that it takes."""
    study, model, world, luck = (things[name] for name in ("study", "model", "world", "luck"))
    frontier, rules, crowd = things["frontier"], things["rules"], things["crowd"]
    sheet, outlook = model.plan(frontier), model.forecast(frontier, episodes=4)
    estimates = pf.estimate(study, "gender", bootstraps=5)
    small = {"population": 300, "coupons": 40, "rounds": 2, "repetitions": 2, "bootstraps": 5, "randomise": (),
             "effort": 0.05}  # fmt: skip
    design = pf.design(**small)
    compared = {"worlds": ["bridge"], "policies": ["constant"], "draws": 1, "episodes": 2, "discounts": [1.0],
                "budget": 5, "people": 2, "rounds": 2}  # fmt: skip
    results = pf.compare(**compared)
    codes, coupons = world.population(luck), np.ones(len(crowd), dtype=np.int64)
    triples = {"schema": world.schema, "referrers": codes, "coupons": np.array([1, 2, 3]),
               "recruits": np.array([1, 1, 1]), "parents": codes, "children": codes}  # fmt: skip
    history = pf.History(**triples)
    some = np.array([0, 1])
    branching = {name: getattr(world, name) for name in ("name", "schema", "response", "offspring", "seed_model")}
    env = RecruitmentEnv("bridge", pf.Rules(3, 2, 2))
    env.reset(seed=1)
    made = {
        "read_study": (pf.read_study, {"file": things["table"]}),
        "read_frontier": (pf.read_frontier, {"file": things["waiting"], "schema": things["schema"]}),
        "read_schema": (pf.read_schema, {"path": "schema.toml"}),
        "guess_schema": (pf.guess_schema, {"study": study}),
        "fit": (pf.fit, {"study": study, "settings": pf.FitSettings(20, rounds=2)}),
        "load": (pf.load, {"folder": things["folder"] / "model"}),
        "estimate": (pf.estimate, {"study": study, "outcome": "gender", "bootstraps": 5}),
        "design": (pf.design, small),
        "compare": (pf.compare, compared),
        "demo_study": (pf.demo_study, {"people": 30}),
        "make_world": (pf.make_world, {"spec": "bridge"}),
        "make_policy": (pf.make_policy, {"spec": "constant", "world": world, "rules": rules}),
        "named_luck": (pf.named_luck, {"names": ("a",), "size": 3}),
        "rollout": (pf.rollout, {"world": world, "policy": things["policy"], "rules": rules, "luck": luck}),
        "Model.plan": (model.plan, {"people": frontier}),
        "Model.forecast": (model.forecast, {"people": frontier, "episodes": 4}),
        "Model.advise": (model.advise, {"people": frontier, "episodes": 4}),
        "Model.report": (model.report, {"study": study, "frontier": frontier, "episodes": 4}),
        "Model.save": (model.save, {"folder": "saved", "overwrite": True}),
        "Model.frontier": (model.frontier, {"people": things["waiting"]}),
        "Study.as_of": (study.as_of, {"date": "2024-02-01"}),
        "Study.graph": (study.graph, {}),
        "Study.table": (study.table, {}),
        "Study.recruiter_ids": (study.recruiter_ids, {}),
        "CouponSheet.csv": (sheet.csv, {}),
        "CouponSheet.plot": (sheet.plot, {}),
        "CouponSheet.excel": (sheet.excel, {}),
        "CouponSheet.pdf": (sheet.pdf, {}),
        "CouponSheet.save": (sheet.save, {"path": "sheet.csv", "overwrite": True}),
        "Outlook.plot": (outlook.plot, {}),
        "Outlook.parts_of": (outlook.parts_of, {}),
        "Outlook.steps_of": (outlook.steps_of, {}),
        "Estimates.plot": (estimates.plot, {}),
        "Estimates.diagnostic_table": (estimates.diagnostic_table, {}),
        "Estimates.weights": (estimates.weights, {"estimator": "RDS-II"}),
        "Estimates.replicate_weights": (estimates.replicate_weights, {"outcome": "gender"}),
        "Design.plot": (design.plot, {}),
        "Results.plot": (results.plot, {}),
        "Results.to_latex": (results.to_latex, {"against": results.policies[0]}),
        "Results.of": (pf.Results.of, {"comparison": results.comparison, "finished": ()}),
        "Results.learning": (results.learning, {}),
        "Results.prepared": (results.prepared, {}),
        "Results.rounds": (results.rounds, {}),
        "Heading": (pf.Heading, {}),
        "Heading.or_study": (pf.Heading().or_study, {"source": "study.csv"}),
        "PlanOrder": (pf.PlanOrder, {"budget": 5}),
        "PlanOrder.check_study_goes_on": (pf.PlanOrder(5).check_study_goes_on, {}),
        "FitSettings": (pf.FitSettings, {"budget": 5}),
        "FitSettings.learning_for": (pf.FitSettings(5).learning_for, {"people": 3}),
        "FitSettings.rules_for": (pf.FitSettings(5).rules_for, {"people": 3, "most_shown": 3}),
        "DesignSettings": (pf.DesignSettings, {}),
        "ReadSettings": (pf.ReadSettings, {}),
        "Rules": (pf.Rules, {}),
        "State": (pf.State, {"remaining_budget": 5, "frontier": frontier}),
        "Frontier": (pf.Frontier, {"ids": frontier.ids, "covariates": frontier.covariates}),
        "Frontier.of": (pf.Frontier.of, {"covariates": frontier.covariates}),
        "Allocation": (pf.Allocation, {"coupons": coupons}),
        "Allocation.of": (pf.Allocation.of, {"coupons": [1, 2]}),
        "History": (pf.History, triples),
        "History.part": (history.part, {"triples": some, "pairs": some}),
        "History.exposure_of": (history.exposure_of, {"rows": some}),
        "History.informative_rows": (history.informative_rows, {}),
        "BranchingWorld": (pf.BranchingWorld, branching),
        "BranchingWorld.population": (world.population, {"luck": luck}),
        "BranchingWorld.seeds": (world.seeds, {"episodes": luck, "people": 2}),
        "BranchingWorld.refer": (world.refer, {"crowd": crowd, "coupons": coupons}),
        "BranchingWorld.brought": (world.brought, {"crowd": crowd, "recruits": coupons}),
        "RecruitmentEnv": (RecruitmentEnv, {"world": "bridge", "rules": pf.Rules(3, 2, 2)}),
        "RecruitmentEnv.reset": (env.reset, {"seed": 1}),
        "RecruitmentEnv.step": (env.step, {"action": np.int64(0)}),
        "RecruitmentEnv.episode_luck": (env.episode_luck, {"seed": 1}),
    }  # fmt: skip
    for name in POLICIES:
        policy = pf.make_policy(name, world, rules)
        people = pf.Frontier.of(codes)
        made[f"Policy {name}"] = (policy.allocate, {"state": pf.State(5, people, rules=rules), "luck": luck.row(0)})
    return made


def parameters(function: Callable[..., Any]) -> list[str]:
    given = inspect.signature(function).parameters.values()
    return [each.name for each in given if each.kind is not each.VAR_KEYWORD]


def public_callables() -> set[str]:
    """Every exported function, constructor and public method, by name."""
    names = set()
    for name in set(pf.__all__) - PROTOCOLS - {"__version__", "PeerfrontError"}:
        thing = getattr(pf, name)
        if inspect.isclass(thing):
            methods = {each: getattr(of, "__func__", of) for each, of in vars(thing).items()}
            names |= {f"{name}.{each}" for each, of in methods.items() if each[0] != "_" and inspect.isfunction(of)}
        if name not in MADE_BY_THE_LIBRARY:
            names.add(name)
    return names


def test_every_public_function_is_called(made, things) -> None:
    assert public_callables() <= made.keys()
    cases = sum(len(parameters(function)) for function, _ in made.values()) * len(hostile_values(things))
    assert cases >= 10_000


@pytest.fixture(scope="module")
def made(things) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    return calls(things)


# `advise` is what `forecast` calls with its arguments.
NAMES = sorted(
    {
        *public_callables() - {"Model.advise"},
        "RecruitmentEnv",
        "RecruitmentEnv.reset",
        "RecruitmentEnv.step",
        *POLICY_CALLS,
    }
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_hostile_values_give_a_result_or_say_what_to_do(name, made, things, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fitting, "fit_study", lambda *arguments: things["model"].fit)
    monkeypatch.setattr(report, "study_report", lambda *arguments: None)  # a page takes seconds
    monkeypatch.setattr(report_page, "report_page", lambda report: "page")
    function, valid = made[name]
    for parameter in parameters(function):
        for value in hostile_values(things):
            if parameter in CALLED_BACK and callable(value):
                continue  # what a user's own function raises is the user's
            try:
                function(**{**valid, parameter: value})
            except PeerfrontError as error:
                said = str(error)
                assert " " in said
            except Exception as error:
                raise AssertionError(f"{name}({parameter}=<{type(value).__name__}>): {error!r}") from error


@pytest.mark.parametrize("name", NAMES)
def test_unknown_missing_and_too_many_arguments_are_told(name, made) -> None:
    function, valid = made[name]
    takes_all = any(each.kind is each.VAR_KEYWORD for each in inspect.signature(function).parameters.values())
    if not takes_all:
        with pytest.raises(PeerfrontError, match="no setting of .* called 'no_such_name'"):
            function(**valid, no_such_name=1)
    with pytest.raises(PeerfrontError, match="too many|must be"):
        function(*([None] * 40))
    needed = [each.name for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    if needed and not takes_all:
        with pytest.raises(PeerfrontError, match=f"needs {needed[0]}"):
            function()


def test_messages_say_what_is_allowed_and_where_to_get_it(things) -> None:
    with pytest.raises(
        PeerfrontError, match="read_study: file must be the path of a file or folder or a pandas table;"
    ):
        pf.read_study(None)
    with pytest.raises(PeerfrontError, match=r"fit: study must be a Study \(read_study reads one\); found 'study.csv'"):
        pf.fit("study.csv", budget=5)
    with pytest.raises(PeerfrontError, match="no setting of read_study called 'setings'. Did you mean 'settings'"):
        pf.read_study("study.csv", setings=None)
    with pytest.raises(PeerfrontError, match="no setting of DesignSettings called 'popluation'. Did you mean 'popul"):
        pf.design(popluation=5)
    with pytest.raises(PeerfrontError, match="found a whole number of 5,001 digits"):
        pf.make_world("bridge", draw=10**5000)
    with pytest.raises(PeerfrontError, match=r"Call reset\(\) first"):
        RecruitmentEnv("bridge").step(np.int64(0))


def test_signatures_docstrings_and_names_stay() -> None:
    assert str(inspect.signature(pf.load)) == "(folder: pathlib.Path | str) -> peerfront.study.model.Model"
    assert pf.load.__name__ == "load"
    assert (pf.load.__doc__ or "").startswith("Read and fully check a saved model")
    assert isinstance(inspect.getattr_static(pf.Frontier, "of"), classmethod)
