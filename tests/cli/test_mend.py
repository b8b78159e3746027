"""`check --mend`: what is offered, what is written, and what stays."""

import io
import json
import os
import sys

import pandas as pd
import pytest

from cli.commands import run_command
from peerfront.foundation import files

LINES = [
    "id,own coupon,coupon 1,coupon 2,date,district",
    "P1,,C1A,C1B,2024-01-02,Norte",
    "P2,C1A,C2A,C2B,2024-01-09,Sur",
    "P3,ClB,C3A,C3B,2024-01-10,Sur",
    "P4,C2A,C4A,C4B,2024-01-17,Norte",
    "P5,C2B,C5A,C5B,2024-01-18,Norte",
    "P6,C3-A,C6A,C6B,2024-01-20,Sur",
    "P6,C3-A,C6A,C6B,2024-01-20,Sur",
]
MENDED = [*LINES[:3], "P3,C1B,C3A,C3B,2024-01-10,Sur", *LINES[4:6], "P6,C3A,C6A,C6B,2024-01-20,Sur", ""]


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.csv"
    path.write_text("\n".join(LINES) + "\n")
    return path


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    return lambda *arguments: run_command(tmp_path, monkeypatch, capsys, *arguments, columns=120)


@pytest.fixture
def at_a_terminal(monkeypatch):
    def typed(*answers: str) -> None:
        stream = io.StringIO("".join(f"{answer}\n" for answer in answers))
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stdin", stream)

    return typed


def test_a_refused_file_says_what_is_offered_and_the_line_to_paste(run, study) -> None:
    code, _, err = run("check", study, "--map", "site=district")
    assert code == 2
    assert f"offered (3): peerfront check {study} --map site=district --mend" in err


def test_nobody_to_ask(run, study, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    code, out, err = run("check", study, "--map", "site=district", "--mend")
    assert code == 2
    assert "row 4: ClB -> C1B (issued to P1)?" in out
    assert "row 8: leave out the row of 'P6' (the same as row 7)?" in out
    assert f"\npeerfront check {study} --map site=district --mend --yes" in err


def test_yes_writes_a_copy_and_a_log_and_never_the_original(run, study, tmp_path) -> None:
    before = study.read_bytes()
    code, out, _ = run("check", study, "--map", "site=district", "--mend", "--yes")
    assert code == 0
    copy = tmp_path / "study.mended.csv"
    assert copy.read_text().splitlines() == MENDED
    assert study.read_bytes() == before
    log = pd.read_csv(tmp_path / "study.mended.changes.csv", keep_default_na=False, dtype=str)
    assert log[["row", "column", "found", "proposed", "why", "decision"]].to_numpy().tolist() == [
        ["8", "id", "P6", "(row left out)", "the same as row 7", "accepted"],
        ["4", "own coupon", "ClB", "C1B", "issued to P1", "accepted"],
        ["7", "own coupon", "C3-A", "C3A", "issued to P3", "accepted"],
    ]
    assert set(log["original"]) != set(log["copy"])
    assert out.splitlines()[-3:] == [
        f"3 changes made (0 left, 0 refused): {copy}",
        f"{study} is as it was; the changes are in {tmp_path / 'study.mended.changes.csv'}.",
        f"Next: peerfront check {copy} --map site=district",
    ]
    assert run("check", copy)[0] == 0
    assert run("check", copy, "--mend", "--yes")[1].startswith("There is nothing to offer")


def test_an_existing_copy_is_replaced_only_on_demand(run, study, tmp_path) -> None:
    (tmp_path / "study.mended.csv").write_text("mine")
    code, _, err = run("check", study, "--mend", "--yes")
    assert code == 2
    assert "--overwrite" in err
    assert run("check", study, "--mend", "--yes", "--overwrite")[0] == 0
    assert (tmp_path / "study.mended.csv").read_text().splitlines() == MENDED


def test_answers_for_groups_and_for_each(run, study, tmp_path, at_a_terminal) -> None:
    at_a_terminal("what", "n", "e", "y", "n", "n")
    code, out, _ = run("check", study, "--mend", "--copy", tmp_path / "other.csv")
    assert code == 0
    assert "1 change made (3 left, 0 refused)" in out
    assert "1 error is left." in out
    assert (tmp_path / "other.csv").read_text().splitlines() == [*LINES[:3], MENDED[3], *LINES[4:]]
    at_a_terminal("a")
    assert run("check", study, "--mend")[0] == 0
    assert (tmp_path / "study.mended.csv").read_text().splitlines() == MENDED
    at_a_terminal("n", "n")
    assert "nothing was written" in run("check", study, "--mend", "--overwrite")[1]


def test_what_is_typed_ends(run, study, tmp_path, at_a_terminal, monkeypatch, capsys) -> None:
    at_a_terminal("y")
    monkeypatch.setattr(sys, "argv", ["peerfront", "check", str(study), "--mend"])
    from peerfront.cli.main import main

    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert "Nothing was written" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["study.csv"]


def test_the_folder_is_of_the_copy_and_holds_the_changes(run, study, tmp_path) -> None:
    code, out, _ = run("check", study, "--mend", "--yes", "--out", tmp_path / "checked")
    assert code == 0
    assert "Next:" not in out, "the copy is checked at once"
    changes = (tmp_path / "study.mended.changes.csv").read_bytes()
    assert (tmp_path / "checked" / "changes.csv").read_bytes() == changes
    assert json.loads((tmp_path / "checked" / "summary.json").read_text())["people"] == 6


def test_problems_csv_has_what_was_found_and_proposed(run, study, tmp_path) -> None:
    study.write_text("\n".join(LINES[:7]) + "\n")
    code, out, _ = run("check", study, "--out", tmp_path / "checked")
    assert code == 0
    assert "Offered with --mend: row 4: ClB -> C1B (issued to P1)?" in out
    problems = pd.read_csv(tmp_path / "checked" / "problems.csv")
    assert problems[["found", "proposed"]].to_numpy().tolist() == [["ClB", "C1B"], ["C3-A", "C3A"]]


@pytest.mark.parametrize("link", [os.link, os.symlink, None])
def test_the_copy_is_never_the_original(run, study, tmp_path, link) -> None:
    other = study
    if link is not None:
        other = tmp_path / "link.csv"
        link(study, other)
    code, _, err = run("check", study, "--mend", "--yes", "--overwrite", "--copy", other)
    assert code == 2
    assert "study.csv" in err


def test_places_that_cannot_be_written(run, study, tmp_path, monkeypatch) -> None:
    assert run("check", study, "--mend", "--yes", "--copy", tmp_path / "study.xlsx")[0] == 2
    assert run("check", study, "--yes")[0] == 2

    def full(temporary, path, *, private):
        if path.name == "study.mended.csv":
            raise OSError(28, "No space left on device")
        return temporary.open("xb")

    monkeypatch.setattr(files, "open_temporary", full)
    code, _, err = run("check", study, "--mend", "--yes")
    assert code == 2
    assert "No space left" in err


def test_proposals_as_data(run, study) -> None:
    code, _, err = run("check", study, "--mend", "--json")
    assert code == 2
    (first, *_) = [each["proposal"] for each in json.loads(err)["error"]["problems"] if each["proposal"]]
    assert (first["row"], first["found"], first["proposed"]) == (8, "P6", None)
    code, out, _ = run("check", study, "--mend", "--yes", "--json")
    assert code == 0
    assert [each["row"] for each in json.loads(out)["result"]["mended"]["accepted"]] == [8, 4, 7]
