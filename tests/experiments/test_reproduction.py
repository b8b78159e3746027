"""A reproduction: identical however often it is interrupted, made once, and told truthfully."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from experiments.tiny_reproduction import tiny
from peerfront.experiments import reproduction as running
from peerfront.experiments.comparison import PAPER_DISCOUNTS, Comparison, tasks
from peerfront.experiments.comparison_run import Workers
from peerfront.experiments.reproduction import (
    DESCRIBED,
    PAPER_METHODS,
    TRAININGS,
    Part,
    Reproduction,
    ReproductionPlan,
    reproduce,
    reproduction_plan,
)
from peerfront.experiments.reproduction_tables import METHODS, TABLE_1, published_episodes, reproduction_table
from peerfront.foundation.errors import OutputExists, UnknownName
from peerfront.problem import Rules
from peerfront.words.reproduction_report import write_reproduction

_TIMED = {"timings.csv", "report.html"}  # they say how long things took


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("reproduction") / "done"


@pytest.fixture(scope="module")
def found(folder) -> Reproduction:
    done = reproduce(tiny(), folder)
    write_reproduction(done, folder)
    return done


def _results(folder: Path) -> dict[str, bytes]:
    return {f.name: f.read_bytes() for f in sorted(folder.iterdir()) if f.is_file() and f.name not in _TIMED}


def test_the_folder_holds_everything_that_is_promised(found, folder) -> None:
    names = {file.name for file in folder.iterdir()}
    figures = {f"figure-{name}.{kind}" for name in ("published", "described") for kind in ("png", "svg")}
    figures |= {name.replace("figure", "learning") for name in figures} | {"learning.csv.gz"}
    data = {"episodes.csv.gz", "trajectories.csv.gz", "differences.csv", "prepared.csv", "timings.csv", "settings.json"}
    assert {"table.md", "table.csv", "table.tex", "report.html"} | figures | data <= names
    assert not [name for name in names if name.endswith(".tmp")]


def test_the_table_sets_the_papers_numbers_beside_ours(found) -> None:
    table = reproduction_table(found).set_index(["world", "policy", "metric", "discount"])
    row = table.loc["published", "population_dp", "discounted_reward", 0.9]
    assert (row["paper"], row["paper_error"]) == (79.4, 1.3)
    episodes = found.results["published"].episodes
    own, again = (
        part[(part["policy"] == "population_dp") & (part["discount"] == 0.9)]["discounted_reward"]
        for part in (episodes, found.results["published, training 2"].episodes)
    )
    assert row["mean"] == pytest.approx((own.mean() + again.mean()) / 2)
    assert row["mean_20"] == pytest.approx(own.iloc[:20].mean())
    assert row["trainings"] == 2
    assert row["spread"] == pytest.approx(abs(own.mean() - again.mean()) / 2**0.5)
    noise = (1.3**2 + row["spread"] ** 2) ** 0.5
    assert row["difference_in_errors"] == pytest.approx((row["mean"] - 79.4) / noise)
    once = table.loc["described", "population_dp", "discounted_reward", 0.9]
    assert once["trainings"] == 1
    assert pd.isna(once["spread"])
    assert (
        table.loc["described", "gfp-paper", "recruits", 0.9]["method"] == "GFP, trained to the letter, with our models"
    )
    assert table.loc["described", "upper bound", "discounted_reward", 1.0]["mean"] <= 10
    assert set(table.reset_index()["policy"]) == set(METHODS)


def test_the_published_part_alone_has_the_same_rows(found) -> None:
    whole = reproduction_table(found)
    parts = {name: results for name, results in found.results.items() if name.startswith("published")}
    del parts["published, repaired"]
    alone = reproduction_table(replace(found, results=parts))
    policies = set(alone["policy"])
    same = whole[(whole["world"] == "published") & whole["policy"].isin(policies)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, same)
    assert set(published_episodes(found)["training"]) == {1, 2}
    assert {"budget_dqn", "factorized_rl", "gfp-published"} <= policies


def test_the_papers_table_is_copied_in_full() -> None:
    assert all(set(row) == set(PAPER_DISCOUNTS) for rows in TABLE_1.values() for row in rows.values())
    assert all(set(rows) == set(PAPER_METHODS) for rows in TABLE_1.values())
    for method in PAPER_METHODS:  # without discounting the two metrics are the same
        assert TABLE_1["discounted_reward"][method][1.0] == TABLE_1["recruits"][method][1.0]


def test_the_report_stands_alone_and_tells_the_numbers(found, folder) -> None:
    text = (folder / "report.html").read_text()
    assert 'src="http' not in text
    assert "<link" not in text
    assert text.count("data:image/png;base64,") == 4
    assert "{{" not in text
    table = pd.read_csv(folder / "table.csv")
    cell = table[(table["world"] == "described") & (table["policy"] == "gfp") & (table["metric"] == "recruits")].iloc[0]
    assert f"{cell['mean']:.1f} ± {cell['high'] - cell['mean']:.1f}" in text
    assert "Is GFP best at every discount?" in text
    markdown = (folder / "table.md").read_text()
    assert "| IID-Population DP: the paper | 79.4 ± 2.7 | 91.3 ± 2.1 |" in markdown  # its 1.3, 1.0 times 2.09
    assert "| standard deviation between 2 trainings |" in markdown
    assert r"\bottomrule" in (folder / "table.tex").read_text()


def test_a_second_run_makes_nothing_again(found, folder, monkeypatch) -> None:
    before = _results(folder)
    monkeypatch.setattr(running, "_run", lambda *_: pytest.fail("a finished piece was made again"))
    again = reproduce(tiny(), folder)
    write_reproduction(again, folder)
    assert _results(folder) == before
    pd.testing.assert_frame_equal(again.timings, found.timings)


def test_another_discount_trains_for_that_discount_only(found, folder, monkeypatch) -> None:
    made = []
    original = running._run
    monkeypatch.setattr(running, "_run", lambda store, piece: made.append(piece) or original(store, piece))
    with pytest.raises(OutputExists, match="discounts \\[0.9, 1.0\\] there, \\[0.9\\] now.*overwrite=True"):
        reproduce(tiny((0.9,)), folder)
    reproduce(tiny((0.9,)), folder, overwrite=True)
    # Methods that are prepared for all discounts together, or ignore them, are one task; others have theirs already.
    assert {piece.task.policy.partition(":")[0] for piece in made} == {"random_split", "constant", "threshold"}
    reproduce(tiny(), folder, overwrite=True)


@pytest.mark.slow
def test_a_killed_reproduction_goes_on_to_the_identical_result(found, folder, tmp_path) -> None:
    script = Path(__file__).parent / "tiny_reproduction.py"
    target = tmp_path / "killed"
    paths = [str(script.parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    process = subprocess.Popen([sys.executable, str(script), str(target)], env=environment)
    deadline = time.monotonic() + 120
    while len(list((target / "store").glob("piece-*"))) < 4:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = len(list((target / "store").glob("piece-*")))
    total = len({task for part in tiny().parts for task in tasks(part.comparison)})
    assert 4 <= left < total
    write_reproduction(reproduce(tiny(), target, workers=Workers(2)), target)  # nor does it matter who goes on
    assert _results(target) == _results(folder)


def test_the_models_of_a_draw_are_fitted_once_for_all_methods(tmp_path) -> None:
    asked = Comparison(
        worlds=("boom_bust",), policies=("constant", "threshold"), episodes=5, rules=Rules(10, 3, 6), models="learned"
    )
    learned = ReproductionPlan("models", asked.discounts, 0, (Part(DESCRIBED, "learned", asked),))
    done = reproduce(learned, tmp_path / "out", workers=Workers(2))
    kinds = Counter(file.name.partition("-")[0] for file in (tmp_path / "out" / "store").iterdir())
    assert (kinds["capacity"], kinds["offspring"]) == (1, 1)
    assert set(done.timings["policy"]) == {"models", "constant", "threshold"}


def test_folders_of_others_are_left_alone(tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputExists, match="not a reproduction"):
        reproduce(tiny(), tmp_path, overwrite=True)
    with pytest.raises(OutputExists, match="is a file"):
        reproduce(tiny(), tmp_path / "notes.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_scales() -> None:
    quick, default, full = (reproduction_plan(scale) for scale in ("quick", "default", "full"))
    assert [part.name for part in quick.parts] == [DESCRIBED]
    assert len(default.parts) == 2 + TRAININGS
    trainings = [part.comparison for part in default.parts if part.name.startswith("published, training")]
    assert [comparison.seed for comparison in trainings] == [1, 2, 3, 4]
    assert all("training=published" in " ".join(comparison.policies) for comparison in trainings)
    episodes = {part.name: (len(part.comparison.draws), part.comparison.episodes) for part in default.parts}
    assert episodes["described"] == (5, 400)
    assert len(full.parts[-1].comparison.draws) == 20
    with pytest.raises(UnknownName, match="Did you mean 'quick'"):
        reproduction_plan("quik")
