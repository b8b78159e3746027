"""Every command on malformed and hostile input: a clear message or the right answer, never a traceback or a hang."""

from pathlib import Path

import pytest

from advice.small_advice import a_fit
from hostile.cases import CASES
from hostile.runner import run_case


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
