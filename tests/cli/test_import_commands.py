"""`peerfront check`, `fit` and `plan` on workbooks and exports, as a coordinator uses them."""

import sys
import tomllib

import openpyxl
import pandas as pd
import pytest

from cli.commands import run_command
from data.made_exports import EXPORTS, excel_sheets, made_study
from peerfront.cli.main import main
from peerfront.gfp.policy_iteration import PolicyIterationSettings
from peerfront.gfp.surrogate import LaplaceSettings, SurrogateSettings
from peerfront.study.fit_settings import FitSettings

QUICK = PolicyIterationSettings(
    rounds=1, episodes=30, states=80, steps=100, judged_episodes=20,
    surrogate=SurrogateSettings(latent=4, hidden=16, deadline=True),
    laplace=LaplaceSettings(parents=60, children=8, steps=60),
)  # fmt: skip


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    def command(*arguments, columns=120):
        code, out, err = run_command(tmp_path, monkeypatch, capsys, *arguments, columns=columns)
        return code, " ".join(out.split()), " ".join(err.split())

    return command


@pytest.fixture
def workbook(tmp_path):
    path = tmp_path / "study.xlsx"
    path.write_bytes(excel_sheets(made_study()))
    return path


def test_a_workbook_is_checked_and_remembered(run, workbook, tmp_path) -> None:
    code, out, _ = run("check", workbook, "--out", tmp_path / "out")
    assert code == 0
    assert "Sheet 'Interviews' was read, and not 'Read me', 'Codes', 'Old' (hidden)." in out
    content = tomllib.loads((tmp_path / "out" / "schema.toml").read_text())
    assert content["file"]["sheet"] == "Interviews"
    assert content["file"]["preset"] == "none"
    assert run("convert", workbook, "--schema", tmp_path / "out" / "schema.toml", "--to", "coupons", "--out",
               tmp_path / "study.csv")[0] == 0  # fmt: skip
    assert len(pd.read_csv(tmp_path / "study.csv")) == 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sheet", "Interview"], "Did you mean 'Interviews'?"),
        (["--sheet", "Codes"], "cannot tell who recruited whom"),
        (["--preset", "kobo"], "not look like a Kobo export"),
        (["--preset", "cobo"], "Did you mean 'kobo'?"),
        (["--format", "app"], "is an Excel workbook or a file of R, and no app file"),
    ],
)
def test_options_that_do_not_fit(run, workbook, arguments, message) -> None:
    code, _, err = run("check", workbook, *arguments)
    assert code == 2
    assert message in err


def test_a_sheet_of_a_csv_file(run, tmp_path) -> None:
    path = tmp_path / "study.csv"
    path.write_bytes(EXPORTS["semicolons.csv"](made_study()))
    code, _, err = run("check", path, "--sheet", "x")
    assert code == 2
    assert "is no Excel workbook and no file of R. Leave --sheet x out." in err


def test_the_line_that_is_offered_works(run, tmp_path) -> None:
    path = tmp_path / "study.csv"
    path.write_bytes(EXPORTS["spanish-names.csv"](made_study()))
    code, _, err = run("check", path)
    assert code == 2
    assert "--map 'own_coupon=vale recibido' --map 'coupons=vale A+vale B+vale C'" in err
    assert run("check", path, "--map", "own_coupon=vale recibido", "--map",
               "coupons=vale A+vale B+vale C")[0] == 0  # fmt: skip


def test_assumed_seeds_are_said(run, tmp_path) -> None:
    path = tmp_path / "study.csv"
    path.write_bytes(EXPORTS["redcap-repeating.csv"](made_study(seed_codes=("1", "2", "3", "4", "5"))))
    code, out, _ = run("check", path)
    assert code == 0
    assert "code of their own, taken for a seed" in out
    assert "--map seed=COLUMN" in out
    assert run("check", path, "--strict")[0] == 2


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_long_names_are_shown_whole(run, tmp_path, columns) -> None:
    name = "how_often_did_you_visit_the_clinic_in_the_last_thirty_days"
    long = "the_number_on_the_coupon_that_the_person_brought_to_the_interview_today"
    path = tmp_path / "study.csv"
    path.write_text(f"id,{long},coupon.1,{name}\n" + "".join(f"{n},{f'c{n - 1}' if n else ''},c{n},{'xy'[n % 2]}\n" for n in range(9)))  # fmt: skip # noqa: E501
    code, out, _ = run("check", path, "--map", f"own_coupon={long}", columns=columns)
    assert code == 0
    joined = out.replace(" ", "")
    assert long in joined
    for start in range(0, len(name), 16):  # folded, perhaps, and nothing cut off
        assert name[start : start + 8] in joined


def test_from_a_workbook_to_a_sheet(run, workbook, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(FitSettings, "learning_for", lambda settings, people: QUICK)
    monkeypatch.setattr(
        sys, "argv", ["peerfront", "fit", str(workbook), "--out", str(tmp_path / "model"), "--budget", "20"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    book = openpyxl.load_workbook(workbook)
    waiting = book.create_sheet("Waiting")
    waiting.append(["id", "sex"])
    for n in range(6):
        waiting.append([100 + n, "fm"[n % 2]])
    book.save(workbook)
    code, _, err = run("plan", tmp_path / "model", workbook, "--budget", "10")
    assert code == 2
    assert "any of these sheets could be meant: 'Interviews', 'Waiting'" in err
    sheet = tmp_path / "sheet.csv"
    code, _, _ = run("plan", tmp_path / "model", workbook, "--sheet", "Waiting", "--budget", "10", "--out", sheet)
    assert code == 0
    assert sorted(pd.read_csv(sheet, dtype=str)["person"]) == ["100", "101", "102", "103", "104", "105"]
