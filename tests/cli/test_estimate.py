"""`peerfront estimate` as its user runs it."""

import pandas as pd
import pytest
from commands import run_command

import peerfront as pf

FILES = [
    "bottlenecks.png", "bottlenecks.svg", "convergence.png", "convergence.svg", "diagnostics.csv", "estimates.csv",
    "estimates.png", "estimates.svg", "estimates.txt", "seeds.png", "seeds.svg",
]  # fmt: skip


@pytest.fixture
def study(tmp_path):
    made = pf.demo_study(people=200).study
    made["=formula"] = ["=1+1" if place % 3 else "[bold]no" for place in range(len(made))]
    made.to_csv(tmp_path / "study.csv", index=False)
    return tmp_path / "study.csv"


def test_tables_words_and_pictures(study, tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "estimates"
    arguments = ["estimate", study, "--outcome", "housing", "--by", "gender", "--bootstraps", 20, "--out", out]
    code, shown, err = run_command(tmp_path, monkeypatch, capsys, *arguments, columns=120)
    assert (code, err) == (0, "")
    assert "* RDS-I" not in shown
    assert "--details" in shown
    assert sorted(path.name for path in out.iterdir()) == sorted([*FILES, "comparisons.csv"])
    table = pd.read_csv(out / "estimates.csv")
    assert set(table["category"]) == {"none", "own", "shared"}
    assert "Everybody had the same number of coupons" in (out / "estimates.txt").read_text()
    exact = pf.estimate(study, "housing", by="gender", bootstraps=20)
    assert table["standard_error"].tolist() == exact.table["standard_error"].tolist(), "nothing is rounded"
    assert pd.read_csv(out / "comparisons.csv")["low"].equals(exact.comparisons["low"])
    code, shown, err = run_command(tmp_path, monkeypatch, capsys, *arguments[:-2], "--details", columns=120)
    assert (code, err) == (0, "")
    assert "* RDS-I" in shown
    assert "(mean)" in shown
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
    assert not (out / "weights.csv").exists()
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
        (["--outcome", "housing", "--interval", "ss"], "--population"),
        (["--outcome", "housing", "--population-guess", "900"], "has no network sizes"),
        (["--outcome", "housing", "--estimator", "RDS-II"], "--weights"),
        (["--outcome", "housing", "--weights", "--estimator", "RDS"], "RDS-I"),
        ([], "--outcome"),
    ],
)
def test_bad_options_end_in_words(study, tmp_path, monkeypatch, capsys, arguments, message) -> None:
    code, _, err = run_command(tmp_path, monkeypatch, capsys, "estimate", study, *arguments, columns=200)
    assert code == 2
    assert message in err


def test_weights_and_the_size_of_the_population_are_files(study, tmp_path, monkeypatch, capsys) -> None:
    table = pd.read_csv(study, dtype=str)
    table["network_size"] = [1 + place % 17 for place in range(len(table))]
    table.to_csv(study, index=False)
    out = tmp_path / "estimates"
    asked = ["--outcome", "housing", "--outcome", "gender", "--bootstraps", 15, "--weights", "--population-guess", 800]
    code, shown, err = run_command(tmp_path, monkeypatch, capsys, "estimate", study, *asked, "--out", out, columns=120)
    assert (code, err) == (0, "")
    weights, replicates = pd.read_csv(out / "weights.csv"), pd.read_csv(out / "replicate-weights.csv")
    assert (weights["person"] == replicates["person"]).all()
    assert replicates.shape[1] == 16
    exact = pf.estimate(study, ["housing", "gender"], bootstraps=15)
    assert weights["weight"].tolist() == exact.weights()["weight"].tolist()
    assert (pd.read_csv(out / "weights-2.csv")["outcome"] == exact.weights("gender")["outcome"]).all()
    assert (out / "weights.csv").stat().st_mode & 0o077 == 0, "it names people"
    assert pd.read_csv(out / "population.csv")["posterior"].sum() == pytest.approx(1)
    assert "By the order of network sizes" in shown


def test_weights_that_no_estimator_gives_leave_no_files(study, tmp_path, monkeypatch, capsys) -> None:
    table = pd.read_csv(study, dtype=str)
    codes, seeds = {}, {}
    for row in table.itertuples():
        root = seeds.get(row[table.columns.get_loc("own.coupon") + 1], row[1])
        for name in ("coupon.1", "coupon.2", "coupon.3"):
            seeds[row[table.columns.get_loc(name) + 1]] = root
        codes[row[1]] = root
    trees = pd.Series(list(codes.values()))
    table["half"] = (trees.map({tree: place % 2 for place, tree in enumerate(trees.value_counts().index)})).to_numpy()
    table.to_csv(study, index=False)
    asked = ["--outcome", "half", "--bootstraps", 10, "--weights", "--out", tmp_path / "out"]
    code, _, err = run_command(tmp_path, monkeypatch, capsys, "estimate", study, *asked, columns=200)
    assert (code, list((tmp_path / "out").glob("*.csv"))) == (2, [])
    assert "--estimator RDS-II" in err
    code, _, err = run_command(
        tmp_path, monkeypatch, capsys, "estimate", study, *asked, "--estimator", "RDS-II", columns=200
    )
    assert (code, err) == (0, "")
    assert (tmp_path / "out" / "weights.csv").exists()
