"""`peerfront example`, `fit` and `plan` as a coordinator uses them; bad input is exit code 2, nothing written."""

import json
import shutil
import sys

import pandas as pd
import pytest

from cli.commands import run_command
from peerfront.cli.main import main
from peerfront.gfp.policy_iteration import PolicyIterationSettings
from peerfront.gfp.surrogate import LaplaceSettings, SurrogateSettings
from peerfront.study.fit_settings import FitSettings

QUICK = PolicyIterationSettings(
    rounds=1, episodes=30, states=80, steps=100, judged_episodes=20,
    surrogate=SurrogateSettings(latent=4, hidden=16, deadline=True),
    laplace=LaplaceSettings(parents=60, children=8, steps=60),
)  # fmt: skip


def run_in(folder, monkeypatch, capsys, *arguments):
    code, out, err = run_command(folder, monkeypatch, capsys, *arguments, columns=200)
    return code, " ".join(out.split()), " ".join(err.split())


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(FitSettings, "learning_for", lambda settings, people: QUICK)  # the real thing, smaller
    return lambda *arguments: run_in(tmp_path, monkeypatch, capsys, *arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One study, checked and fitted by the commands themselves."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FitSettings, "learning_for", lambda settings, people: QUICK)
        for arguments in (
            ["example", "--out", folder, "--people", "60"],
            ["check", folder / "study.csv", "--out", folder / "checked"],
            ["fit", folder / "study.csv", "--schema", folder / "checked" / "schema.toml", "--out", folder / "model",
             "--budget", "30", "--rounds", "4"],
        ):  # fmt: skip
            patched.setattr(sys, "argv", ["peerfront", *map(str, arguments)])
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code
    return folder


def test_from_the_file_to_the_sheet(made, run, tmp_path) -> None:
    manifest = json.loads((made / "model" / "manifest.json").read_text())
    assert manifest["rules"]["budget"] == 30
    assert manifest["rules"]["rounds"] == 4
    plan = ("plan", made / "model", made / "frontier.csv", "--budget", "30", "--learn-share", "0")
    code, out, _ = run(*plan, "--out", tmp_path / "sheet.csv", "--details")
    assert code == 0
    assert "characters" not in out, "our own sentences are shown whole"
    for text in ("Give out", " kept. ", "Other numbers of coupons", "of what the best plan could"):
        assert text in out
    sheet, frontier = pd.read_csv(tmp_path / "sheet.csv"), pd.read_csv(made / "frontier.csv")
    assert list(sheet["person"]) == list(frontier["id"])
    assert list(sheet.columns) == [
        "person",
        "coupons",
        "chance_used",
        "expected_now",
        "expected_later",
        "decided_by",
        "probability",
        "reason",
    ]
    curve = pd.read_csv(tmp_path / "sheet-curve.csv")
    assert sheet["coupons"].sum() == curve["spend"][curve["value"].idxmax()]
    first = (tmp_path / "sheet.csv").read_bytes()
    assert run(*plan, "--out", tmp_path / "sheet.csv", "--overwrite")[0] == 0
    assert (tmp_path / "sheet.csv").read_bytes() == first
    code, _, err = run(*plan, "--out", tmp_path / "sheet.csv")
    assert code == 2
    assert "--overwrite" in err


def test_another_number_of_coupons_than_the_best(made, run, tmp_path) -> None:
    plan = ("plan", made / "model", made / "frontier.csv", "--budget", "30")
    assert run(*plan, "--learn-share", "0", "--out", tmp_path / "best.csv")[0] == 0
    curve = pd.read_csv(tmp_path / "best-curve.csv").set_index("spend")["value"]
    best = int(curve.idxmax())
    asked = 12 if best != 12 else 9
    code, out, _ = run(*plan, "--spend", asked, "--details", "--out", tmp_path / "sheet.csv")
    assert code == 0
    assert pd.read_csv(tmp_path / "sheet.csv")["coupons"].sum() == asked
    lost = curve.max() - curve[asked]
    assert f"{asked} coupons this round, as asked: {lost:.2f} recruits fewer" in out
    assert f"the best, {best}: {lost:.2f} recruits more in all" in out
    code, out, _ = run(*plan, "--spend", best, "--details", "--out", tmp_path / "same.csv")
    assert (tmp_path / "same.csv").read_bytes() == (tmp_path / "best.csv").read_bytes()
    assert f"as good as the best number, {best}" in out


def test_another_number_keeps_floors_and_limits(made, run, tmp_path) -> None:
    plan = ("plan", made / "model", made / "frontier.csv", "--budget", "30", "--max-per-person", "1")
    people = pd.read_csv(made / "frontier.csv")
    group = people["district"].value_counts().index[0]
    for spend in (1, 3, 30):
        file = tmp_path / f"{spend}.csv"
        code, out, _ = run(*plan, "--spend", spend, "--at-least", f"district={group}:1", "--out", file)
        assert code == 0
        sheet = pd.read_csv(file)
        assert sheet["coupons"].sum() == spend
        assert sheet["coupons"].max() == 1
        assert sheet["coupons"][people["district"] == group].mean() >= sheet["coupons"].mean() - 1e-9
        assert "Without these limits" in out, "the price of the floor"


def test_several_files_at_once_and_the_sheet_as_pdf(made, run, tmp_path) -> None:
    plan = (
        "plan",
        made / "model",
        made / "frontier.csv",
        "--budget",
        "30",
        "--study",
        "Hafen Öst",
        "--date",
        "2026-03-02",
    )
    files = [tmp_path / name for name in ("sheet.csv", "sheet.xlsx", "sheet.pdf")]
    outs = [part for file in files for part in ("--out", file)]
    assert run(*plan, *outs)[0] == 0
    before = {file: file.read_bytes() for file in (*files, tmp_path / "sheet-curve.csv")}
    assert before[files[2]].startswith(b"%PDF-")
    assert run(*plan, *outs, "--overwrite")[0] == 0
    assert {file: file.read_bytes() for file in before} == before
    assert files[2].stat().st_mode & 0o077 == 0, "it holds participants' ids"


def test_a_plan_without_a_file_writes_nothing(made, run, tmp_path) -> None:
    code, out, _ = run("plan", made / "model", made / "frontier.csv", "--budget", "12", "--rounds-left", "1")
    assert code == 0
    assert "This is the last round" in out
    assert not list(tmp_path.iterdir())


def test_a_plan_for_what_somebody_knows_about_coupons(made, run) -> None:
    """Everybody had three coupons, so every part is left; a plan for one of them still tells what comes by each."""
    for part in ("capacity", "per_coupon", "motivate"):
        code, out, _ = run(
            "plan", made / "model", made / "frontier.csv", "--budget", "12", "--response", part, "--details"
        )
        assert code == 0
        for told in ("almost as well as three (weight", "used on its own (weight", "three are needed (weight"):
            assert told in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "31"], "at most 30 coupons; found 31"),
        (["--budget", "2.5"], "budget must be a whole number"),
        (["--budget", "20", "--min-per-person", "5"], "contradict"),
        (["--budget", "1", "--min-per-person", "1"], "Lower the minimum"),
        (["--budget", "20", "--reserve", "21"], "reserve of 21"),
        (["--budget", "20", "--rounds-left", "-1"], "rounds left must be"),
        (["--budget", "20", "--overwrite"], "--overwrite needs --out"),
        (["--budget", "20", "--spend", "21"], "21 coupons cannot be given out this round; at most 20 can"),
        (["--budget", "20", "--spend", "-1"], "spend must be"),
        (["--budget", "20", "--spend", "1", "--min-per-person", "1"], "1 are to be given out"),
        (["--budget", "20", "--spend", "5", "--strata", "district"], "do not go together"),
        (["--budget", "20", "--spend", "5", "--learn"], "do not go together"),
        (["--budget", "20", "--response", "cautious"], "average, belief, capacity, motivate, per_coupon"),
    ],
)
def test_bad_orders(made, run, options, message) -> None:
    code, _, err = run("plan", made / "model", made / "frontier.csv", *options)
    assert code == 2
    assert message in err


def test_frontiers_and_models_that_do_not_fit(made, run, tmp_path) -> None:
    people = pd.read_csv(made / "frontier.csv", dtype=str, keep_default_na=False)
    path = tmp_path / "frontier.csv"

    def told(model, budget="20"):
        code, _, err = run("plan", model, path, "--budget", budget)
        assert code == 2
        return err

    people.drop(columns="district").to_csv(path, index=False)
    assert "'district' are missing; the schema in the model uses them" in told(made / "model")
    people.assign(gender="x").to_csv(path, index=False)
    assert "column 'gender': 'x' is not allowed" in told(made / "model")
    people.head(0).to_csv(path, index=False)
    assert "nobody is on the frontier" in told(made / "model")
    people.to_csv(path, index=False)
    assert "There is no fit at" in told(tmp_path / "nothing")
    assert "has no manifest.json" in told(made)
    shutil.copytree(made / "model", tmp_path / "old")
    manifest = json.loads((tmp_path / "old" / "manifest.json").read_text())
    (tmp_path / "old" / "manifest.json").write_text(json.dumps(manifest | {"format_version": 2}))
    assert "was made by an earlier version of peerfront" in told(tmp_path / "old")
    assert run("plan", made / "model", tmp_path / "no.csv", "--budget", "5")[0] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "0"], "budget must be a whole number of at least 1"),
        (["--budget", "10", "--rounds", "0"], "rounds must be"),
        (["--budget", "10", "--discount", "2"], "discount must lie above 0"),
        (["--budget", "10", "--schema", "no.toml"], "no.toml"),
        (["--budget", "10", "--response", "both"], "auto, capacity, per_coupon"),
        (["--budget", "10", "--prior-belief", "no.toml"], "no.toml: there is no such file"),
        (
            ["--budget", "10", "--prior-belief", __file__],
            "more than 10,000 bytes: this is no prior",
        ),
    ],
)
def test_bad_fits(made, run, tmp_path, options, message) -> None:
    code, _, err = run("fit", made / "study.csv", "--out", tmp_path / "m", *options)
    assert code == 2
    assert message in err
    assert not list(tmp_path.iterdir())


def test_a_model_is_not_replaced_unasked(made, run, tmp_path) -> None:
    code, _, err = run("fit", made / "study.csv", "--out", made / "model", "--budget", "10")
    assert code == 2
    assert "--overwrite" in err
    code, _, err = run("fit", made / "study.csv", "--out", made, "--budget", "10", "--overwrite")
    assert "holds other things" in err


def test_too_small_a_study(run, tmp_path, made) -> None:
    lines = (made / "study.csv").read_text().splitlines()
    (tmp_path / "tiny.csv").write_text("\n".join(lines[:8]) + "\n")
    code, _, err = run("fit", tmp_path / "tiny.csv", "--out", tmp_path / "m", "--budget", "10")
    assert code == 2
    assert "too small to fit" in err
    assert "What can be said: 7 people" in err


def test_example_refuses_what_is_there(made, run, tmp_path) -> None:
    code, _, err = run("example", "--out", made)
    assert code == 2
    assert "frontier.csv, study.csv already" in err
    assert run("example", "--out", tmp_path / "x", "--people", "3")[0] == 2
    (tmp_path / "file").write_text("")
    assert run("example", "--out", tmp_path / "file")[0] == 2
    assert "Choose another folder" in run("example", "--out", tmp_path / "file" / "below")[2]
    plan = ("plan", made / "model", made / "frontier.csv", "--budget", "5")
    assert "Choose another folder" in run(*plan, "--out", tmp_path / "file" / "sheet.csv")[2]


def test_ctrl_c_while_fitting_says_that_nothing_was_written(made, monkeypatch, capsys, tmp_path) -> None:
    def interrupted(settings, people):
        raise KeyboardInterrupt

    monkeypatch.setattr(FitSettings, "learning_for", interrupted)  # after the models, before the value
    arguments = ("fit", made / "study.csv", "--out", tmp_path / "model", "--budget", "30")
    monkeypatch.setattr(sys, "argv", ["peerfront", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    err = capsys.readouterr().err
    assert "Stopped. Nothing was written." in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_a_file_that_tells_nothing_about_people(made, run, tmp_path) -> None:
    """Only coupons: everybody is treated alike, and the commands still say how many to give out now."""
    table = pd.read_csv(made / "study.csv", dtype=str)
    table.filter(regex="^(id|own|coupon)").to_csv(tmp_path / "bare.csv", index=False)
    table[["id"]].tail(8).to_csv(tmp_path / "waiting.csv", index=False)
    code, out, _ = run("check", tmp_path / "bare.csv", "--out", tmp_path / "checked")
    assert code == 0
    assert "everybody would be treated alike" in out
    schema = ("--schema", tmp_path / "checked" / "schema.toml")
    code, out, _ = run("fit", tmp_path / "bare.csv", *schema, "--out", tmp_path / "model", "--budget", "20")
    assert code == 0
    assert "Nothing is known about people" in out
    assert "Whom people bring" not in out
    who = (tmp_path / "model", tmp_path / "waiting.csv", "--budget", "20")
    code, out, _ = run("plan", *who, "--out", tmp_path / "sheet.csv")
    assert code == 0
    sheet = pd.read_csv(tmp_path / "sheet.csv")
    assert (sheet.groupby("coupons")["expected_now"].nunique() == 1).all()
    assert sheet["coupons"].nunique() == 1 or (sheet["decided_by"] != "plan").all(), "lots alone tell people apart"
    study = ("report", tmp_path / "model", tmp_path / "bare.csv", "--frontier", tmp_path / "waiting.csv")
    code, _, _ = run(*study, "--budget", "20", "--episodes", "20", "--out", tmp_path / "report.html")
    assert code == 0
    page = (tmp_path / "report.html").read_text()
    assert "Nothing: everybody is treated alike." in page


def test_a_workbook_to_print(made, run, tmp_path) -> None:
    from openpyxl import load_workbook

    plan = ("plan", made / "model", made / "frontier.csv", "--budget", "30")
    path = tmp_path / "sheet.xlsx"
    code, out, err = run(*plan, "--out", path, "--study", "Harbour", "--date", "2026-03-02", "--round", "4")
    assert code == 0, err
    assert "to print and fill in" in out
    assert [each.name for each in tmp_path.iterdir()] == ["sheet.xlsx"]
    book = load_workbook(path)
    assert book.sheetnames == ["Coupons", "Facts", "Numbers", "Other spends"]
    assert book["Coupons"]["A1"].value == "Coupon sheet: Harbour"
    manifest = json.loads((made / "model" / "manifest.json").read_text())
    facts = {row[0]: row[1] for row in book["Facts"].iter_rows(values_only=True)}
    assert facts["fingerprint of the model (sha256 in its manifest.json)"] == manifest["sha256"]
    assert run(*plan, "--out", path)[0] == 2  # it exists
    assert run(*plan, "--out", path, "--overwrite")[0] == 0
    assert load_workbook(path)["Coupons"]["A1"].value == "Coupon sheet: study"  # after the study's file
    code, _, err = run(*plan, "--out", tmp_path / "sheet.ods")
    assert (code, "written as .xlsx" in err) == (2, True)
    code, _, err = run(*plan, "--out", tmp_path / "other.csv", "--round", "4")
    assert (code, "a CSV has no title" in err) == (2, True)
    code, _, err = run(*plan, "--out", tmp_path / "other.xlsx", "--date", "Monday")
    assert (code, "year-month-day" in err) == (2, True)
    assert not (tmp_path / "other.xlsx").exists()
