"""`import peerfront as pf`: what it exports, what it loads, and examples that run."""

import doctest
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import peerfront as pf
from peerfront.foundation.errors import PeerfrontError, SettingError
from peerfront.study.orders import task_of
from peerfront.words.language import marked
from peerfront.words.notebook import html_of

EXPECTED = {
    "read_study", "guess_schema", "read_schema", "read_frontier", "fit", "load", "Model", "Study", "compare",
    "make_policy", "make_world", "rollout", "Rules", "Frontier", "State", "Allocation", "Policy", "World",
    "BranchingWorld", "Heading", "History", "PlanOrder", "FitSettings", "CouponSheet", "Outlook", "demo_study",
    "PeerfrontError", "__version__", "estimate", "Estimates", "design", "Design", "DesignSettings",
}  # fmt: skip


@pytest.fixture(scope="module")
def study() -> pf.Study:
    return pf.read_study(pf.demo_study(people=120).study)


@pytest.fixture(scope="module")
def model(study) -> pf.Model:
    return pf.fit(study, budget=20, rounds=2, effort=0.1)


# What is there -------------------------------------------------------------------------------------------------------


def test_every_name_is_listed_and_found() -> None:
    assert set(pf.__all__) >= EXPECTED
    assert set(dir(pf)) >= set(pf.__all__)
    assert list(pf.__all__) == sorted(pf.__all__)
    for name in pf.__all__:
        assert getattr(pf, name) is getattr(pf, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pf.nothing


def loaded_after(code: str, *modules: str) -> list[str]:
    """Which of these modules a fresh process has loaded after running the code."""
    ask = f"{code}\nimport sys\nprint(*[name for name in {modules!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()[-1].split()


def test_importing_loads_nothing_heavy() -> None:
    heavy = ("numpy", "pandas", "scipy", "numba", "torch", "matplotlib", "typer")
    assert loaded_after("import peerfront as pf; dir(pf); pf.__version__", *heavy) == []


@pytest.mark.parametrize("name", [name for name in pf.__all__ if name != "__version__"])
def test_examples_run(name, study, model, tmp_path, monkeypatch) -> None:
    """Every exported name has a docstring with an example; methods' examples run too."""
    monkeypatch.chdir(tmp_path)
    thing = getattr(pf, name)
    assert ">>>" in (thing.__doc__ or ""), f"{name} has no example"
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    for test in doctest.DocTestFinder(recurse=True).find(thing, name):
        test.globs.update({"pf": pf, "study": study, "model": model, "Path": Path})
        runner.run(test)
    assert runner.failures == 0


# What it does --------------------------------------------------------------------------------------------------------


def test_one_object_from_the_table_to_the_page(study, model, tmp_path) -> None:
    made = pf.demo_study(people=120)
    made.frontier.to_csv(tmp_path / "frontier.csv", index=False)
    by_path = model.plan(tmp_path / "frontier.csv", budget=15)
    by_table = model.plan(made.frontier, budget=15)
    by_frontier = model.plan(model.frontier(made.frontier), pf.PlanOrder(15))
    by_study = model.plan(study.waiting, budget=15)
    for other in (by_table, by_frontier, by_study):
        assert other.csv() == by_path.csv()
        assert other.lines() == by_path.lines()
    assert model.plan(study.waiting).order.budget == 20  # the model's own
    assert by_path.why[by_path.table["person"].iloc[0]] == str(by_path.table["reason"].iloc[0])
    page = model.report(study, study.waiting, out=tmp_path / "report.html", episodes=20)
    assert (tmp_path / "report.html").read_text() == page
    model.save(tmp_path / "model")
    again = pf.load(str(tmp_path / "model"))
    assert again.plan(study.waiting, 15).csv() == by_path.csv()
    assert again.summary.lines() == model.summary.lines()
    assert str(model.summary).count("\n") == len(model.summary.lines()) - 1


def test_results_show_themselves_in_notebooks(study, model) -> None:
    sheet, forecast = model.plan(study.waiting), model.forecast(study.waiting, episodes=20)
    tables = (sheet.table, sheet.curve, forecast.steps, forecast.summary, study.table(), study.waiting)
    assert all(isinstance(table, pd.DataFrame) for table in tables)
    for shown in (study, model, model.summary, sheet, forecast):
        assert "<p" in shown._repr_html_() or "<table" in shown._repr_html_()
    assert "&lt;b&gt;" in html_of(["<b>"])
    for figure in (sheet.plot(), forecast.plot()):
        assert figure._repr_png_().startswith(b"\x89PNG")
    assert str(sheet.lines()[0]) in str(sheet)
    assert str(forecast) == "\n".join(map(marked, forecast.lines()))
    assert repr(model) == "Model(budget=20, rounds=2, max_per_person=3)"


def test_schemas_of_any_kind_and_progress_if_asked(study, model, tmp_path, monkeypatch, capsys) -> None:
    from peerfront.data.schema_file import schema_text
    from peerfront.study import fitting

    def not_fitted(study, schema, settings, progress, allowed, start, earlier, planned):
        assert start is None
        assert planned is None
        assert not earlier
        assert allowed.schema is schema
        progress(0.5, "whom they bring")
        fits.append((schema.used, settings))
        return model.fit

    fits: list[object] = []
    monkeypatch.setattr(fitting, "fit_study", not_fitted)
    guess = pf.guess_schema(study)
    (tmp_path / "schema.toml").write_text(schema_text(guess.schema))
    settings = pf.FitSettings(budget=8, rounds=2, seed=1)
    for schema in (None, guess, guess.schema, tmp_path / "schema.toml"):
        pf.fit(study, schema, settings)
    assert fits == [(guess.schema.used, settings)] * 4
    assert capsys.readouterr().err == ""
    pf.fit(study, budget=8, rounds=3, progress=True)
    assert fits[-1] == (guess.schema.used, pf.FitSettings(budget=8, rounds=3))
    assert "whom they bring" in capsys.readouterr().err


def test_who_is_waiting(study) -> None:
    made = pf.demo_study(people=120)
    assert study.waiting["id"].tolist() == made.frontier["id"].tolist()
    shuffled = pf.read_study(made.study.sample(frac=1, random_state=1))
    assert set(shuffled.waiting["id"]) == set(made.frontier["id"]), "dates decide, not the order of the file"
    undated = pf.read_study(made.study.drop(columns="date"))
    assert undated.waiting["id"].tolist() == made.frontier["id"].tolist()
    marked = pf.read_study(made.study, pf.ReadSettings(still_open="8"))
    assert marked.waiting["id"].tolist() == marked.ids[marked.still_open].tolist()
    done = pf.read_study(made.study[made.study["coupon.1"] != ""])
    assert len(done.waiting) == 0


# One order, one validator --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ({"budget": 21}, "at most 20 coupons; found 21"),
        ({"budget": 2.5}, "budget must be a whole number of at least 0; found 2.5"),
        ({"round_cap": -1}, "round cap must be a whole number of at least 0; found -1"),
        ({"min_per_person": 4}, "contradict each other"),
        ({"min_per_person": 3}, "Lower the minimum"),
        ({"reserve": 21}, "more than the 20 coupons"),
        ({"max_per_person": 0}, "max per person must be a whole number of at least 1; found 0"),
    ],
)
def test_the_same_orders_are_refused_everywhere(study, model, order, message) -> None:
    changed = {"budget": 20, **order}
    for use in (model.plan, model.forecast, lambda people, **asked: model.report(study, people, **asked)):
        with pytest.raises(SettingError, match=message):
            use(study.waiting, **changed)


def test_a_misspelt_keyword_is_told_with_the_nearest_name(study, model) -> None:
    for use in (model.plan, model.forecast, lambda people, **asked: model.report(study, people, **asked)):
        with pytest.raises(PeerfrontError, match="no setting of PlanOrder called 'roundcap'. Did you mean 'round_cap'"):
            use(study.waiting, roundcap=3)
    with pytest.raises(PeerfrontError, match="no setting of FitSettings called 'round'. Did you mean 'rounds'"):
        pf.fit(study, budget=20, round=2)


def test_a_round_cap_of_zero_gives_out_nothing_everywhere(study, model, tmp_path) -> None:
    order = pf.PlanOrder(20, round_cap=0)
    sheet = model.plan(study.waiting, order)
    assert sheet.spend == 0
    assert str(sheet.lines()[0]) == "Nothing to give out: the round's limit is 0."
    with pytest.raises(SettingError, match="Nothing to give out: the round's limit is 0."):
        model.forecast(study.waiting, order, target=5, episodes=20)
    page = model.report(study, study.waiting, order, episodes=20)
    assert "Nothing to give out" in page
    assert "<td>most coupons in one round</td><td>0</td>" in page


def test_an_order_becomes_rules_once(model, study) -> None:
    people = model.frontier(study.waiting)
    rules = task_of(model.fit, people, pf.PlanOrder(np.int64(14), max_per_person=2.0, round_cap=5, reserve=4)).rules
    assert rules == pf.Rules(10, len(people), 2, 2, 5)
    assert type(pf.PlanOrder(np.int64(14)).budget) is int


def test_orders_that_end_the_study_have_a_sheet_and_no_forecast(study, model) -> None:
    for order in (pf.PlanOrder(0), pf.PlanOrder(20, rounds_left=0), pf.PlanOrder(20, reserve=20)):
        assert model.plan(study.waiting, order).spend == 0
        for use in (model.forecast, lambda people, order: model.report(study, people, order)):
            with pytest.raises(SettingError, match="at least 1; found 0|leaves nothing"):
                use(study.waiting, order)
    with pytest.raises(SettingError, match="Nobody is on the frontier"):
        model.forecast(pf.Frontier.of(model.frontier(study.waiting).covariates[:0]))


# What commands load --------------------------------------------------------------------------------------------------


def test_a_plan_loads_no_torch(study, model, tmp_path) -> None:
    model.save(tmp_path / "model")
    study.waiting.to_csv(tmp_path / "frontier.csv", index=False)
    run = (
        "import sys\nfrom peerfront.cli.main import app\n"
        f"app(['plan', {str(tmp_path / 'model')!r}, {str(tmp_path / 'frontier.csv')!r}, '--budget', '12'], "
        "standalone_mode=False)"
    )
    assert loaded_after(run, "torch", "matplotlib", "jinja2") == []
