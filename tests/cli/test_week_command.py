"""`peerfront week` as it is typed: the first week of a study of seeds, again, undone, and what is refused."""

from pathlib import Path

import pytest

from cli.commands import run_command
from peerfront.foundation.locks import lock_name, locked
from study.running_study import Running


@pytest.fixture
def study(tmp_path, monkeypatch) -> Running:
    monkeypatch.chdir(tmp_path)
    made = Running(tmp_path)
    made.write()
    return made


def run(monkeypatch, capsys, *arguments) -> tuple[int, str, str]:
    code, out, err = run_command(Path.cwd(), monkeypatch, capsys, *arguments, columns=200)
    return code, " ".join(out.split()), " ".join(err.split())


FIRST_WEEK = (
    "week", "harbour.csv", "--budget", "120", "--deadline", "2026-05-25", "--target", "90", "--date", "2026-03-02",
)  # fmt: skip


def test_the_first_week_again_and_undone(study, monkeypatch, capsys, tmp_path) -> None:
    code, out, _ = run(monkeypatch, capsys, *FIRST_WEEK)
    assert code == 0
    assert "Week 1, 2026-03-02: 24 people in harbour.csv." in out
    assert "Give 3 coupons to each of the 24 people who wait." in out
    assert "P0024 3 as for everybody" in out, "the sheet"
    folder = tmp_path / "harbour-study" / "week-01_2026-03-02"
    assert {path.name for path in folder.iterdir()} == {
        "sheet.csv",
        "sheet.xlsx",
        "people.csv",
        "summary.txt",
        "summary.json",
        "logged.txt",
    }
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    assert (tmp_path / "harbour-study" / "schema.toml").exists()
    code, out, _ = run(monkeypatch, capsys, "week", "harbour.csv", "--date", "2026-03-02")
    assert code == 0
    assert "This week was made before, from the same file; nothing was changed." in out
    code, out, _ = run(monkeypatch, capsys, "week", "harbour.csv", "--undo")
    assert code == 0
    assert "Week 1 of 2026-03-02 is undone." in out
    code, out, _ = run(monkeypatch, capsys, *FIRST_WEEK)
    assert code == 0
    assert "week-01_2026-03-02_2" in out


def test_the_week_of_a_mended_copy_is_in_the_folder_of_its_study_with_the_changes(
    study, monkeypatch, capsys, tmp_path
) -> None:
    lines = (tmp_path / "harbour.csv").read_text().splitlines(keepends=True)
    (tmp_path / "harbour.csv").write_text("".join([*lines, lines[1]]))
    assert run(monkeypatch, capsys, "check", "harbour.csv", "--mend", "--yes")[0] == 0
    code, _, err = run(monkeypatch, capsys, "week", "harbour.mended.csv", *FIRST_WEEK[2:])
    assert code == 0, err
    kept = tmp_path / "harbour-study" / "week-01_2026-03-02" / "changes.csv"
    assert kept.read_bytes() == (tmp_path / "harbour.mended.changes.csv").read_bytes()


def test_the_same_command_again_shows_the_same_sheet(study, monkeypatch, capsys, tmp_path) -> None:
    """Whole, or without what is for one week only; with another number it is refused."""
    assert run(monkeypatch, capsys, "check", "harbour.csv", "--out", "read")[0] == 0
    first = (*FIRST_WEEK, "--schema", "read/schema.toml", "--spend", "20")
    assert run(monkeypatch, capsys, *first)[0] == 0
    for again in (first, ("week", "harbour.csv", "--date", "2026-03-02")):
        code, out, err = run(monkeypatch, capsys, *again)
        assert code == 0, err
        assert "This week was made before" in out
    for other in (("--spend", "21"), ("--budget", "121"), ("--more-coupons", "1"), ("--rounds-left", "2")):
        code, _, err = run(monkeypatch, capsys, "week", "harbour.csv", "--date", "2026-03-02", *other)
        assert (code, "was made from another order. Undo it first (--undo)" in err) == (2, True)
    code, _, err = run(monkeypatch, capsys, "week", "harbour.csv", "--date", "2026-03-09", "--budget", "120")
    assert (code, "were given in its first week" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "The first week needs --budget"),
        (("--budget", "1.5"), "budget must be a whole number"),
        (("--budget", "-1"), "budget must be a whole number of at least 0"),
        (("--budget", "60", "--more-coupons", "5"), "leave --more-coupons N out"),
        (("--budget", "60", "--date", "20260309"), "--date must be year-month-day"),
        (("--budget", "60", "--date", "2nd March"), "--date must be year-month-day"),
        (("--budget", "60", "--date", "2126-03-02"), "lies in the future"),
        (("--budget", "60", "--deadline", "soon"), "deadline must be year-month-day"),
        (("--budget", "60", "--deadline", "2026-01-01"), "nothing is left to plan"),
        (("--budget", "60", "--response", "hope"), "hope"),
        (("--budget", "60", "--randomise", "0.9"), "randomise"),
        (("--budget", "60", "--valid-days", "-3"), "valid days must be"),
        (("--budget", "60", "--interviews-per-week", "0"), "interviews per week must be"),
        (("--budget", "60", "--refit", "perhaps"), "'perhaps'. Choose one of: always, auto, never"),
        (("--budget", "60", "--schema", "none.toml"), "none.toml"),
        (("--budget", "60", "--prior", "nowhere"), "nowhere"),
        (("--budget", "60", "--prior-belief", "nowhere"), "nowhere: there is no such file"),
        (("--budget", "60", "--prior-belief", "harbour.csv"), "harbour.csv is not correct TOML"),
        (("--undo",), "There is no study in"),
    ],
)
def test_bad_options_are_refused_and_leave_nothing(study, monkeypatch, capsys, tmp_path, options, message) -> None:
    dated = () if "--date" in options or "--undo" in options else ("--date", "2026-03-09")
    code, _, err = run(monkeypatch, capsys, "week", "harbour.csv", *options, *dated)
    assert (code, "Traceback" in err) == (2, False)
    assert message in " ".join(err.split())
    assert {path.name for path in tmp_path.iterdir()} == {"harbour.csv"}


LATER = ("--date", "2026-03-16")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--date", "2026-03-02"), "Weeks follow each other: give a later day (--date DATE)"),
        (("--date", "2026-03-09", "--target", "80"), "made from another order. Undo it first (--undo)"),
        ((*LATER, "--budget", "50"), "say how many: --more-coupons N"),
        ((*LATER, "--deadline", "2026-03-16"), "not after 2026-03-16, the day of this plan"),
        (("--date", "2026-05-26"), "Give a later one (--deadline DATE)"),
        ((*LATER, "--min-per-person", "4", "--max-per-person", "3"), "contradict each other"),
    ],
)
def test_an_order_that_contradicts_the_log_changes_nothing(study, monkeypatch, capsys, options, message) -> None:
    assert run(monkeypatch, capsys, *FIRST_WEEK)[0] == 0
    assert run(monkeypatch, capsys, "week", "harbour.csv", "--date", "2026-03-09")[0] == 0
    code, _, err = run(monkeypatch, capsys, "week", "harbour.csv", *options)  # a failure that writes is an error there
    assert (code, message in err) == (2, True)


def test_of_two_weeks_at_once_the_second_is_refused(study, monkeypatch, capsys, tmp_path) -> None:
    assert run(monkeypatch, capsys, *FIRST_WEEK)[0] == 0
    for second in (("--date", "2026-03-09"), ("--undo",)):
        with locked(tmp_path / "harbour-study" / lock_name(), "harbour-study"):
            code, _, err = run(monkeypatch, capsys, "week", "harbour.csv", *second)
        assert (code, "is writing to harbour-study. Wait until it has ended" in err) == (2, True)


def test_check_counts_hand_outs_from_the_day_of_their_sheet(study, monkeypatch, capsys) -> None:
    import pandas as pd

    table = pd.read_csv(study.file, dtype=str, keep_default_na=False).drop(columns="issued_date")
    table.to_csv(study.file, index=False)
    assert run(monkeypatch, capsys, *FIRST_WEEK, "--valid-days", "10")[0] == 0
    table.loc[:, "date"] = "2026-02-23"
    table.loc[:3, "coupons_issued"] = "3"
    table.loc[len(table)] = {**table.loc[0], "id": "last", "coupons_issued": "0", "date": "2026-03-09"}
    table.to_csv(study.file, index=False)
    _, out, _ = run(monkeypatch, capsys, "check", "harbour.csv", "--valid-days", "10")
    assert "On 2026-03-09: 12 open" in out
    assert "no other day is known" not in out
    Path("harbour-study").rename("elsewhere")
    _, out, _ = run(monkeypatch, capsys, "check", "harbour.csv", "--valid-days", "10")
    assert ": 0 open" in out
    _, out, _ = run(
        monkeypatch, capsys, "check", "harbour.csv", "--valid-days", "10", "--schema", "elsewhere/schema.toml"
    )
    assert ": 12 open" in out


def test_what_must_be_named(study, monkeypatch, capsys) -> None:
    code, _, err = run(monkeypatch, capsys, "week")
    assert (code, "Name the study's file" in err) == (2, True)
    code, _, err = run(monkeypatch, capsys, "week", "--folder", "harbour-study")
    assert (code, "Name the study's file as it is today" in err) == (2, True)
    code, _, err = run(monkeypatch, capsys, "week", "absent.csv", "--budget", "60")
    assert (code, "absent.csv: there is no such file" in err) == (2, True)
    (study.file.parent / "harbour-study").write_text("a file")
    code, _, err = run(monkeypatch, capsys, *FIRST_WEEK)
    assert (code, "is a file. Name a folder" in " ".join(err.split())) == (2, True)


def test_numbered_days_are_refused(study, monkeypatch, capsys) -> None:
    import pandas as pd

    table = pd.read_csv(study.file, dtype=str, keep_default_na=False).drop(columns="issued_date")
    table["date"] = [str(number // 3) for number in range(len(table))]
    table.to_csv(study.file, index=False)
    code, _, err = run(monkeypatch, capsys, *FIRST_WEEK)
    assert code == 2
    assert "numbers its days" in " ".join(err.split())
