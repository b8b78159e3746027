"""Every command on malformed and hostile input: a clear message or the right answer, never a traceback or a hang."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostile.cases import CASES, sample
from hostile.making import quoted, table
from hostile.runner import Call, run_call, run_case
from hostile.studies import TYPED
from peerfront.data.reading import read_study
from peerfront.data.writers import write_study
from study.small_advice import a_fit


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "model"
    a_fit().save(folder)
    return folder


def test_there_are_many_cases() -> None:
    assert len(CASES) >= 300
    assert len({(case.kind, case.name) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_comes_of(case, tmp_path, model) -> None:
    outcome = run_case(case, tmp_path, model)
    assert not outcome.fault, f"{case}: {outcome.fault}\n{outcome.output[:3000]}"


SAMPLE = tuple(sample(60, ("options", "front door", "large files", "changed files")))


@pytest.mark.parametrize("case", SAMPLE, ids=str)
def test_a_sample_of_the_generated_cases(case, tmp_path, model) -> None:
    outcome = run_call(case, tmp_path) if isinstance(case, Call) else run_case(case, tmp_path, model)
    assert not outcome.fault, f"{case}: {outcome.fault}\n{outcome.output[:3000]}"


@pytest.mark.parametrize("layout", ["coupons", "recruiter"])
def test_nothing_in_a_converted_file_is_a_formula_and_reading_gives_it_back(layout, tmp_path) -> None:
    header = "id,recruiter,coupons.issued,=sex,date,degree"
    for number, text in enumerate(text for text in TYPED if len(text) < 100_000):
        path, made = tmp_path / f"{number}.csv", tmp_path / f"{number}-made.csv"
        path.write_text(table(header=header, sex=quoted(text)).replace("p4,", quoted(text) + ","), encoding="utf-8")
        study = read_study(path)
        write_study(study, made, layout)
        lines = made.read_text(encoding="utf-8-sig").split("\n")
        assert not any(line.lstrip('"').startswith(("=", "+", "@")) for line in lines)
        assert "'=sex" in lines[0]
        again = read_study(made)
        assert again.ids.tolist() == study.ids.tolist()
        assert again.people["=sex"].tolist() == study.people["=sex"].tolist()


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_output_that_is_not_utf8_loses_no_result(encoding, tmp_path) -> None:
    path = tmp_path / "study.csv"
    path.write_text(table(sex="šnēg ☃", header="id,recruiter,coupons.issued,sexe ≤,date,degree"), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "120"}
    command = [sys.executable, "-c", "from peerfront.cli.main import main; main()", "check", str(path), "--details"]
    ended = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    shown = ended.stdout.decode(encoding)
    assert "sexe <=" in shown
    assert "n\\u0113g \\u2603" in shown
    assert "This study can be learned from" in shown
