"""`peerfront design` as its user runs it: what is written, that nothing is replaced, and that it goes on."""

import json

import pandas as pd
import pytest
from commands import run_command

from peerfront.gfp.policy_iteration import PolicyIterationSettings
from peerfront.gfp.surrogate import LaplaceSettings, SurrogateSettings
from peerfront.study.fit_settings import FitSettings

FILES = ["design.png", "design.svg", "design.txt", "estimators.csv", "repetitions.csv", "rules.csv", "settings.json"]
QUICK = [
    "design", "--population", 200, "--coupons", 90, "--rounds", 2, "--seeds", 20, "--bootstraps", 3, "--randomise", 0,
]  # fmt: skip


@pytest.fixture(autouse=True)
def quick_learning(monkeypatch):
    learning = PolicyIterationSettings(
        rounds=1, episodes=30, states=80, steps=100, judged_episodes=20,
        surrogate=SurrogateSettings(latent=4, hidden=16, deadline=True),
        laplace=LaplaceSettings(parents=60, children=8, steps=60),
    )  # fmt: skip
    monkeypatch.setattr(FitSettings, "learning_for", lambda settings, people: learning)  # the real thing, smaller


def test_it_is_written_kept_and_gone_on_with(tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "design"
    run = [*QUICK, "--repetitions", 11, "--out", out]
    code, shown, _ = run_command(tmp_path, monkeypatch, capsys, *run, columns=120)
    assert code == 0
    assert "too few to recommend" in shown
    assert sorted(path.name for path in out.iterdir()) == FILES
    whole = (out / "repetitions.csv").read_bytes()
    rows = pd.read_csv(out / "repetitions.csv")
    assert rows["repetition"].max() == 10
    assert set(pd.read_csv(out / "rules.csv")["rule"]) == set(rows["rule"])
    code, _, err = run_command(tmp_path, monkeypatch, capsys, *run, columns=120)
    assert code == 2
    assert "--resume to go on" in err
    # As if Ctrl-C had come after the first network: the second is played again, to the same bytes.
    rows[rows["repetition"] < 10].to_csv(out / "repetitions.csv", index=False)
    code, _, _ = run_command(tmp_path, monkeypatch, capsys, *run, "--resume", columns=120)
    assert code == 0
    assert (out / "repetitions.csv").read_bytes() == whole
    code, _, err = run_command(tmp_path, monkeypatch, capsys, *run, "--resume", "--seed", 1, columns=120)
    assert code == 2
    assert "other settings (seed)" in err
    assert json.loads((out / "settings.json").read_text())["coupons"] == 90


def test_ctrl_c_keeps_what_is_done(tmp_path, monkeypatch, capsys) -> None:
    from peerfront.study import design

    def stopped(*arguments, **named):
        yield pd.DataFrame([["3 each", n, 9, 30, 0.2, "", None, None, None, None, False, False] for n in range(10)],
                           columns=list(design.ROW_COLUMNS))  # fmt: skip
        raise KeyboardInterrupt

    monkeypatch.setattr(design, "design_parts", stopped)
    monkeypatch.setattr("sys.argv", ["peerfront", *map(str, QUICK), "--out", str(tmp_path / "design")])
    from peerfront.cli.main import main

    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert "--resume to go on" in capsys.readouterr().err
    assert len(pd.read_csv(tmp_path / "design" / "repetitions.csv")) == 10


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--resume"], "--resume and --overwrite need --out"),
        (["--outcome", "hiv"], "--outcome names a field of a model"),
        (["--sample", "5"], "cannot be drawn with 20 seeds"),
        (["--strata", "district"], "no field called 'district'"),
        (["--repetitions", "1"], "repetitions must be a whole number of at least 2"),
        (["--randomise", "0.9"], "a number above 0 and at most 0.5"),
    ],
)
def test_bad_orders_are_refused(more, message, tmp_path, monkeypatch, capsys) -> None:
    code, _, err = run_command(tmp_path, monkeypatch, capsys, *QUICK, *more, columns=120)
    assert code == 2
    assert message in err
