"""`peerfront estimate` as its user runs it."""

import pandas as pd
import pytest
from commands import run_command

FILES = [
    "bottlenecks.png", "bottlenecks.svg", "convergence.png", "convergence.svg", "diagnostics.csv", "estimates.csv",
    "estimates.png", "estimates.svg", "estimates.txt", "seeds.png", "seeds.svg",
]  # fmt: skip


@pytest.fixture
def study(tmp_path):
    import peerfront as pf

    made = pf.demo_study(people=200).study
    made["=formula"] = ["=1+1" if place % 3 else "[bold]no" for place in range(len(made))]
    made.to_csv(tmp_path / "study.csv", index=False)
    return tmp_path / "study.csv"


def test_tables_words_and_pictures(study, tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "estimates"
    arguments = ["estimate", study, "--outcome", "housing", "--by", "gender", "--bootstraps", 20, "--out", out]
    code, shown, err = run_command(tmp_path, monkeypatch, capsys, *arguments, columns=120)
    assert (code, err) == (0, "")
    assert "* RDS-II" in shown
    assert "(mean)" in shown
    assert sorted(path.name for path in out.iterdir()) == FILES
    table = pd.read_csv(out / "estimates.csv")
    assert set(table["category"]) == {"none", "own", "shared"}
    assert "Everybody had the same number of coupons" in (out / "estimates.txt").read_text()
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    code, _, err = run_command(tmp_path, monkeypatch, capsys, *arguments, columns=120)
    assert code == 2
    assert "Use --overwrite" in err
    code, _, _ = run_command(tmp_path, monkeypatch, capsys, *arguments, "--overwrite", columns=120)
    assert code == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first


def test_names_that_people_typed_are_no_formulas_and_no_markup(study, tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "estimates"
    arguments = ["estimate", study, "--outcome", "=formula", "--outcome", "housing", "--bootstraps", 10, "--out", out]
    code, shown, _ = run_command(tmp_path, monkeypatch, capsys, *arguments, columns=120)
    assert code == 0
    assert "[bold]no" in shown
    lines = (out / "estimates.csv").read_text().splitlines()
    assert lines[1].startswith("'=formula,everybody,'=1+1")
    assert (out / "convergence-2.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--outcome", "hosing"], "Did you mean 'housing'"),
        (["--outcome", "housing", "--population", "5"], "at least as large as the sample"),
        (["--outcome", "housing", "--overwrite"], "--overwrite needs --out"),
        (["--outcome", "housing", "--bootstraps", "1.5"], "whole number"),
        ([], "--outcome"),
    ],
)
def test_bad_options_end_in_words(study, tmp_path, monkeypatch, capsys, arguments, message) -> None:
    code, _, err = run_command(tmp_path, monkeypatch, capsys, "estimate", study, *arguments, columns=200)
    assert code == 2
    assert message in err
