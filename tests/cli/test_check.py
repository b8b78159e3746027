"""`peerfront check` and `peerfront convert` as a coordinator uses them."""

import json
import shlex
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from cli.commands import run_command

STUDY = "id,degree,own.coupon,coupon.1,coupon.2,date,sex,âge\n" + "".join(
    f"{i},{i % 7},{f'c{(i - 1) // 2}{i % 2}' if i else ''},c{i}0,c{i}1,2024-01-{1 + i:02d},{'fm'[i % 2]},{20 + i}\n"
    for i in range(20)
)


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.csv"
    path.write_text(STUDY.replace("c00,", " c00,"), encoding="utf-8")
    return path


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    return lambda *arguments: run_command(tmp_path, monkeypatch, capsys, *arguments, columns=120)


def test_check_says_what_is_in_the_file_and_writes_nothing(run, study, tmp_path) -> None:
    code, out, _ = run("check", study)
    assert code == 0
    for text in ("own.coupon", "coupon.1, coupon.2", "when the person took part", "seed", "19 (48%)", "âge"):
        assert text in out
    assert "No problems found." in out
    assert "20 people with usable recruitment counts, and 19 recruiter-recruit pairs" in out
    assert [path.name for path in tmp_path.iterdir()] == ["study.csv"]


def test_the_folder_and_the_edited_schema(run, study, tmp_path) -> None:
    folder = tmp_path / "out"
    code, out, _ = run("check", study, "--out", folder, "--still-open", "5")
    assert code == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "problems.csv", "schema.toml", "summary.csv", "summary.json", "tree.dot",
    ]  # fmt: skip
    assert json.loads((folder / "summary.json").read_text())["people"] == 20
    assert pd.read_csv(folder / "problems.csv").empty
    assert "-> " in (folder / "tree.dot").read_text()
    schema = folder / "schema.toml"
    content = tomllib.loads(schema.read_text(encoding="utf-8"))
    assert content["file"]["still_open"] == "5"
    assert [field["name"] for field in content["field"]] == ["degree", "sex", "âge"]

    code, _, err = run("check", study, "--out", folder)
    assert code == 2
    assert "Use --overwrite" in err
    assert run("check", study, "--out", folder, "--overwrite")[0] == 0

    schema.write_text(
        schema.read_text(encoding="utf-8").replace("exclude = [", 'exclude = [ "âge",', 1), encoding="utf-8"
    )
    edited = schema.read_bytes()
    code, out, _ = run("check", study, "--schema", schema, "--out", folder, "--overwrite", "--details")
    assert code == 0
    assert "excluded by the schema" in out
    assert schema.read_bytes() == edited

    schema.write_text(schema.read_text(encoding="utf-8").replace('["f", "m"]', '["f"]'), encoding="utf-8")
    code, _, err = run("check", study, "--schema", schema)
    assert code == 2
    assert "row 3, column 'sex': 'm' is not allowed. Allowed: f." in err


def test_problems_are_shown_and_kept(run, study, tmp_path) -> None:
    study.write_text(STUDY.replace("c01", "lost", 1) + "99,1,c00,,,2024-02-01,f,30\n", encoding="utf-8")
    code, out, _ = run("check", study, "--out", tmp_path / "out")
    assert code == 0
    assert "row 22: Coupon 'c00' of '99' was redeemed already in row" in out
    table = pd.read_csv(tmp_path / "out" / "problems.csv")
    assert "coupon redeemed twice" in set(table["problem"])
    assert table["what to do"].notna().all()
    code, _, err = run("check", study, "--strict")
    assert code == 2
    assert "--strict stops on them" in err


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"", [], "the file is empty"),
        (b"PK\x03\x04", [], "is an Excel workbook"),
        (b"\x00\x01", [], "is not a text file"),
        (b"id,own.coupon,coupon.1\n", [], "nobody below it"),
        (b"id,own.coupon,coupon.1,coupon.1\n1,,a,b\n", [], "names 'coupon.1' more than once"),
        (b"id,own.coupon,coupon.1\n1,,a\n1,a,b\n", [], "row 3: Id '1' stands already in row 2"),
        (b"id,recruiter\n1,\n2,1\n", [], "--coupons-each 3"),
        (b"x,CouponR,C1\nA,,c1\nB,c1,c2\n", [], "--map id=COLUMN"),
        (b"x,recruiter,coupons_issued\nA,,3\nB,A,3\nC,A,3\nD,B,3\n", [], "--map id=x\n"),
        (STUDY.encode(), ["--map", "own_coupon=own.cupon"], "Did you mean 'own.coupon'"),
        (STUDY.encode(), ["--map", "own=own.coupon"], "There is no part of a study called 'own'"),
        (STUDY.encode(), ["--format", "cupons"], "Did you mean 'coupons'"),
        (STUDY.encode(), ["--format", "recruiter"], "no column found for recruiter"),
        (STUDY.encode(), ["--coupons-each", "3"], "lists the coupons issued"),
        (STUDY.encode(), ["--still-open", "never"], "'never' is not understood"),
        (STUDY.encode(), ["--overwrite"], "--overwrite needs --out"),
        (STUDY.encode(), ["--schema", "nowhere.toml"], "there is no such file"),
    ],
)
def test_bad_input_is_a_clear_message(run, study, tmp_path, content, arguments, message) -> None:
    study.write_bytes(content)
    out = [] if "--overwrite" in arguments else ["--out", tmp_path / "out"]
    code, _, err = run("check", study, *arguments, *out)
    assert code == 2
    assert message in err


def test_people_who_wait_become_a_file_for_plan(run, study, tmp_path) -> None:
    study.write_text("id,own.coupon,coupon.1,=x\n1,,a,f\n2,a,b,f\n3,b,,=1\n")
    waiting = tmp_path / "waiting.csv"
    code, out, _ = run("check", study, "--waiting", waiting)
    assert code == 0
    assert "people who wait for coupons: 1" in out
    assert waiting.read_text() == "id,'=x\n3,'=1\n"
    assert waiting.stat().st_mode & 0o077 == 0
    assert run("check", study, "--waiting", waiting)[0] == 2, "it is not replaced without leave"
    assert run("check", study, "--waiting", waiting, "--overwrite")[0] == 0
    assert run("check", study, "--waiting", study, "--overwrite")[0] == 2, "an output never replaces an input"


def test_a_folder_that_is_a_file(run, study) -> None:
    code, _, err = run("check", study, "--out", study)
    assert code == 2
    assert "is a file" in err


def test_convert(run, study, tmp_path) -> None:
    for format in ("coupons", "recruiter", "rdsat", "app", "dot", "graphml", "edges"):
        code, out, _ = run("convert", study, "--to", format, "--out", tmp_path / format)
        assert code == 0
        assert "20 people written to" in out
        if format in ("coupons", "recruiter", "rdsat", "app"):
            _, out, _ = run("check", tmp_path / format)
            assert "20 people with usable recruitment counts, and 19 recruiter-recruit pairs" in out
    code, _, err = run("convert", study, "--to", "rdsat", "--out", tmp_path / "rdsat")
    assert "exists already" in err
    code, _, err = run("convert", study, "--to", "excel", "--out", tmp_path / "x")
    assert "There is no format to write called 'excel'" in err
    code, _, err = run("convert", study, "--to", "rdsat", "--out", tmp_path / "no" / "folder")
    assert "There is no folder" in err


def test_how_a_file_is_read_is_said_once_to_check(run, study, tmp_path) -> None:
    study.write_text("who,by,sex\n" + "".join(f"{i},{(i - 1) // 2 if i else ''},{'fm'[i % 2]}\n" for i in range(9)))
    converted = ("convert", study, "--to", "recruiter", "--out", tmp_path / "converted.csv")
    fitted = ("fit", study, "--out", tmp_path / "model", "--budget", "10")
    for command in (converted, fitted):
        code, _, err = run(*command)
        assert code == 2
        assert "cannot tell who recruited whom" in err
        assert "--map own_coupon=COLUMN" in err
        assert "run `peerfront check FILE`" not in err  # lines to paste say it
    assert f"peerfront check {study} --map id=COLUMN" in err
    assert f"peerfront fit {study} --out {tmp_path / 'model'} --budget 10 --schema checked/schema.toml" in err
    code, _, err = run(*fitted, "--map", "id=who")
    assert code == 2
    assert "No such option" in err
    columns = ("--map", "id=who", "--map", "recruiter=by")
    code, _, err = run("check", study, *columns, "--out", tmp_path / "checked")
    assert code == 2
    assert "--coupons-each 3" in err
    assert run("check", study, *columns, "--coupons-each", "2", "--out", tmp_path / "checked")[0] == 0
    code, out, _ = run(*converted, "--schema", tmp_path / "checked" / "schema.toml")
    assert code == 0
    assert "9 people written" in out
    assert pd.read_csv(tmp_path / "converted.csv")["coupons.issued"].tolist() == [2] * 9
    direct = ("--to", "edges", "--out", tmp_path / "edges.csv", "--coupons-each", "2")
    assert run("convert", study, *columns, *direct)[0] == 0
    assert len(pd.read_csv(tmp_path / "edges.csv")) == 8


def test_lines_to_paste_keep_what_was_said(run, study, tmp_path) -> None:
    rows = [(i, f"c{i}" if i else "", f"c{2 * i + 1}", f"c{2 * i + 2}", "2024-01-01", "fm"[i % 2]) for i in range(15)]
    study.write_text("who,brought,slip1,slip2,seen,sex\n" + "".join(f"{','.join(map(str, r))}\n" for r in rows))
    code, _, err = run("check", "--map", "date=seen", study, "--map", "coupons=slip1", "--missing", "99")
    assert code == 2
    line = next(line.strip() for line in err.splitlines() if line.startswith("    peerfront"))
    likely = ("--map", "id=who", "--map", "own_coupon=brought", "--map", "coupons=slip1+slip2")
    assert shlex.split(line) == ["peerfront", "check", "--map", "date=seen", str(study), "--missing", "99", *likely]
    assert run(*shlex.split(line)[1:], "--out", tmp_path / "checked")[0] == 0
    schema = (tmp_path / "checked" / "schema.toml").read_text()
    assert 'date = "seen"' in schema
    assert 'missing = ["99"]' in schema
    assert run(*shlex.split(line)[1:], "--map", "date=", "--out", tmp_path / "again")[0] == 2  # named twice
    without = [word.replace("date=seen", "date=") for word in shlex.split(line)[1:]]
    assert run(*without, "--out", tmp_path / "again")[0] == 0
    assert "date = []" in (tmp_path / "again" / "schema.toml").read_text()


def test_a_study_of_seeds_alone(run, study) -> None:
    study.write_text("id,own.coupon,coupon.1,sex\n1,,a,f\n2,,b,m\n")
    code, out, _ = run("check", study)
    assert code == 0
    assert "Nothing can be learned from this study yet" in out


def test_the_commands_are_described() -> None:
    root = Path(__file__).parents[2]
    for page in ("README.md", "docs/reference/file-formats.md"):
        text = (root / page).read_text()
        assert "peerfront check" in text
        assert "peerfront convert" in text


def test_the_coupons_of_a_day(run, tmp_path) -> None:
    path = tmp_path / "study.csv"
    rows = ["a,seed,3,2024-03-01", "b,a,3,2024-03-08", "c,a,2,2024-03-10", "d,b,0,2024-03-21"]
    path.write_text("id,recruiter.id,coupons.issued,date\n" + "\n".join(rows) + "\n")
    code, out, _ = run("check", path)
    assert code == 0
    assert "On 2024-03-21: " in out
    assert "Some coupons have no date of expiry and stay open" in " ".join(out.split())
    code, out, _ = run(
        "check", path, "--valid-days", "14", "--as-of", "2024-03-20", "--out", tmp_path / "out", "--details"
    )
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert {"Coupons on 2024-03-20", "used 2", "open 5", "expired, or no longer open 1"} <= set(lines)
    assert "What came later is left out" in out
    assert tomllib.loads((tmp_path / "out" / "schema.toml").read_text())["file"]["valid_days"] == 14
    code, _, err = run("check", path, "--as-of", "yesterday")
    assert code == 2
    assert "year-month-day" in err


def test_fit_refuses_a_day_that_is_none(run, tmp_path, study) -> None:
    code, _, err = run("fit", study, "--out", tmp_path / "model", "--budget", "5", "--as-of", "2199-01-01")
    assert code == 2
    assert "lies in the future" in err
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    "command",
    [
        "convert {file} --to edges --out {file}.edges",
        "estimate {file} --outcome sex --bootstraps 5",
        "backtest {file} --episodes 20",
        "fit {file} --budget 10 --rounds 2 --out {file}.model",
    ],
)
def test_what_reading_noticed_is_one_line_of_every_command(run, study, command) -> None:
    study.write_text(STUDY.replace("2024-01-05", "soon").replace("\n4,4,", "\n4,-4,"), encoding="utf-8")
    code, out, err = run(*command.format(file=study).split())
    assert (code, out.count("has doubtful places")) == (0, 1), err
    line = next(line for line in out.splitlines() if "doubtful" in line)
    assert "not a date (1)" in line
    assert "network size is no number of people (1)" in line
    assert "`peerfront check " in line
    study.write_text(STUDY, encoding="utf-8")
    assert (
        "doubtful" not in run(*command.format(file=study).split(), *(["--overwrite"] if "--out" in command else []))[1]
    )
