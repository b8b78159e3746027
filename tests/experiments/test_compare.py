"""Comparisons: the same whoever does the work, whatever interrupts it, and never over somebody's results."""

import dataclasses
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from peerfront.errors import DataFileError, MissingExtra, OutputExists, PeerfrontError, SettingError, UnknownName
from peerfront.experiments.compare import compare
from peerfront.experiments.comparison import Comparison, run_task, tasks
from peerfront.experiments.tables import difference_tables, markdown_report, mean_tables, terminal_tables
from peerfront.experiments.workers import Workers
from peerfront.problem import Rules

SMALL = Comparison(
    worlds=("bridge", "icpsr22140"),
    policies=("random_split", "constant:vouchers=2", "threshold:cutoff=0.9,at_least=4", "population_dp:population=64"),
    draws=(0, 1),
    discounts=(0.9, 1.0),
    episodes=12,
    rules=Rules(budget=20, people=4),
)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("comparison") / "alone"
    compare(SMALL, folder)
    return folder


def test_results_do_not_depend_on_the_number_of_workers(finished, tmp_path) -> None:
    compare(SMALL, tmp_path / "two", workers=Workers(2))
    assert contents(tmp_path / "two") == contents(finished)


def test_results_do_not_depend_on_the_backend(finished, tmp_path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        workers = Workers(2, "dask", cluster.scheduler_address)
        compare(SMALL, tmp_path / "dask", workers=workers)
    assert contents(tmp_path / "dask") == contents(finished)


def test_an_interrupted_comparison_resumes_to_the_identical_result(finished, tmp_path) -> None:
    class Stop(Exception):
        pass

    def stop_after_five(done: int, _: int, __: str) -> None:
        if done == 5:
            raise Stop

    folder = tmp_path / "resumed"
    with pytest.raises(Stop):
        compare(SMALL, folder, progress=stop_after_five)
    assert len(list((folder / "parts").iterdir())) == 5
    played: list[str] = []
    compare(SMALL, folder, resume=True, progress=lambda _, __, last: played.append(last))
    assert len([label for label in played if label]) == len(tasks(SMALL)) - 5  # nothing is done twice
    assert contents(folder) == contents(finished)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "emptied"])
def test_a_damaged_part_is_done_again(finished, tmp_path, damage) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(finished, folder)
    part = sorted((folder / "parts").iterdir())[0]
    good = part.read_bytes()
    middle = len(good) // 2
    flipped = good[: middle - 40] + bytes(255 - byte for byte in good[middle - 40 : middle]) + good[middle:]
    part.write_bytes({"truncated": good[:50], "flipped": flipped, "emptied": b""}[damage])
    compare(SMALL, folder, resume=True)
    assert contents(folder) == contents(finished)


def test_existing_results_are_not_touched_unless_asked(finished, tmp_path) -> None:
    before = contents(finished)
    with pytest.raises(OutputExists, match="--resume to complete them, --overwrite to replace them"):
        compare(SMALL, finished)
    other = dataclasses.replace(SMALL, episodes=13)
    with pytest.raises(OutputExists, match="something has changed since \\(episodes 12 there, 13 now\\)"):
        compare(other, finished, resume=True)
    assert contents(finished) == before
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "settings.json").write_text('{"editor.tabSize": 4}')  # somebody else's
    for choice in ({"overwrite": True}, {"resume": True}, {}):
        with pytest.raises(OutputExists, match="not a comparison"):
            compare(SMALL, tmp_path, **choice)
    with pytest.raises(OutputExists, match="is a file"):
        compare(SMALL, tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_overwriting_replaces_a_comparison_and_nothing_else(tmp_path) -> None:
    tiny = dataclasses.replace(SMALL, worlds=("bridge",), draws=(0,), episodes=3)
    folder = tmp_path / "results"
    compare(dataclasses.replace(tiny, seed=1), folder)
    mine = {"notes.txt": b"mine", "people.csv": b"id\n1\n"}
    for name, content in mine.items():
        (folder / name).write_bytes(content)
    compare(tiny, folder, overwrite=True)
    compare(tiny, tmp_path / "fresh")
    assert contents(folder) == {**contents(tmp_path / "fresh"), **mine}


@pytest.mark.parametrize("fault", ["policy that fails", "workers that fail"])
def test_a_command_that_fails_early_destroys_nothing(tmp_path, fault, monkeypatch) -> None:
    tiny = dataclasses.replace(SMALL, worlds=("bridge",), draws=(0,), episodes=3)
    folder = tmp_path / "results"
    compare(tiny, folder)
    before = contents(folder)
    workers = Workers(2, "dask", "nonsense://1") if fault.startswith("workers") else None
    if fault.startswith("policy"):
        monkeypatch.setattr("peerfront.experiments.comparison.rollout", lambda *_: 1 / 0)
    with pytest.raises((SettingError, ZeroDivisionError)):
        compare(tiny, folder, overwrite=True, workers=workers)
    assert contents(folder) == before
    with pytest.raises((SettingError, ZeroDivisionError)):
        compare(tiny, tmp_path / "new", workers=workers)
    assert not (tmp_path / "new").exists()


def test_resuming_with_other_data_or_another_program_is_refused(tmp_path, monkeypatch) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,sex\n" + "".join(f"{i},f\n" for i in range(20)))
    edges.write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(19)))
    asked = dataclasses.replace(
        SMALL, worlds=(f"network:nodes={nodes},edges={edges}",), policies=("constant",), draws=(0,)
    )
    first = compare(asked, tmp_path / "out").episodes
    edges.write_text("source,target\n1,2\n")
    with pytest.raises(OutputExists, match="something has changed since .*edges.csv"):
        compare(asked, tmp_path / "out", resume=True)
    assert compare(asked).episodes["recruits"].sum() < first["recruits"].sum()  # the new file is read anew
    edges.write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(19)))
    compare(asked, tmp_path / "out", resume=True)  # the old file again: fine
    monkeypatch.setattr("peerfront.experiments.folder._source_digest", lambda: "another program")
    with pytest.raises(OutputExists, match="source [0-9a-f]+ there, another program now"):
        compare(asked, tmp_path / "out", resume=True)


@pytest.mark.parametrize("place", ["below a file", "full"])
def test_folders_that_cannot_be_written(tmp_path, place, monkeypatch) -> None:
    tiny = dataclasses.replace(SMALL, worlds=("bridge",), policies=("constant",), draws=(0,), episodes=2)
    if place == "below a file":
        (tmp_path / "file").write_text("")
        with pytest.raises(DataFileError, match="Cannot use .* for results"):
            compare(tiny, tmp_path / "file" / "out")
    else:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(DataFileError, match="Cannot write .*No space left on device"):
            compare(tiny, tmp_path / "out")


def test_the_tables_agree_with_the_trajectories(finished) -> None:
    episodes = pd.read_csv(finished / "episodes.csv")
    rounds = pd.read_csv(finished / "rounds.csv.gz")
    keys = ["world", "draw", "policy", "discount", "episode"]
    assert len(episodes) == (1 + 2) * 4 * 2 * 12  # bridge has no draws
    rounds["reward"] = rounds["recruits"] * rounds["discount"] ** rounds["round"]
    totals = rounds.groupby(keys).agg(
        reward=("reward", "sum"), recruits=("recruits", "sum"), spend=("spend", "sum"), rounds=("round", "count")
    )
    joined = episodes.set_index(keys).join(totals.add_suffix("_summed"))
    assert np.allclose(joined["discounted_reward"], joined["reward_summed"])
    assert (joined["recruits"] == joined["recruits_summed"]).all()
    assert (joined["spend"] == joined["spend_summed"]).all()
    assert (joined["rounds"] == joined["rounds_summed"]).all()
    assert set(episodes["ending"]) <= {"budget", "extinct", "stopped", "horizon"}
    summary = pd.read_csv(finished / "summary.csv")
    one = summary[(summary["metric"] == "recruits") & (summary["world"] == "bridge")].iloc[0]
    same = episodes[
        (episodes["world"] == "bridge")
        & (episodes["policy"] == one["policy"])
        & (episodes["discount"] == one["discount"])
    ]
    assert one["mean"] == pytest.approx(same["recruits"].mean())
    saved = json.loads((finished / "settings.json").read_text())
    assert saved["comparison"]["episodes"] == 12
    assert saved["made_by"]["numpy"] == np.__version__


def test_another_policy_or_variant_changes_nobody_elses_draws() -> None:
    alone = dataclasses.replace(SMALL, worlds=("icpsr22140",), policies=("constant:vouchers=2",))
    company = dataclasses.replace(
        alone, worlds=("icpsr22140:name=again", "icpsr22140"), policies=("random_split", "constant:vouchers=2")
    )
    one, other = compare(alone).rounds(), compare(company).rounds()
    for world in ("icpsr22140", "again"):
        same = other[(other["policy"] == "constant:vouchers=2") & (other["world"] == world)]
        columns = ["draw", "discount", "episode", "round", "frontier", "spend", "recruits"]
        assert np.array_equal(same[columns].to_numpy(), one[columns].to_numpy())


def test_figures_are_made(finished) -> None:
    for world in ("bridge", "icpsr22140"):
        assert (finished / f"curves-{world}.png").read_bytes().startswith(b"\x89PNG")
        svg = (finished / f"curves-{world}.svg").read_text()
        assert "<svg" in svg
    assert not list(finished.rglob("*.tmp"))


def test_tables_for_people() -> None:
    results = compare(dataclasses.replace(SMALL, worlds=("bridge",)))
    means = mean_tables(results)
    assert [title for title, _, _ in means] == ["Discounted reward in bridge", "Recruits in bridge"]
    assert means[0][1] == ["policy", "discount 0.9", "discount 1"]
    ((_, _, rows),) = difference_tables(results, "constant:vouchers=2")
    assert [row[0] for row in rows] == ["random_split", *SMALL.policies[2:]]
    ((_, _, flipped),) = difference_tables(results, "random_split")
    forth, back = rows[0][1], flipped[0][1]
    assert float(forth.split()[0]) == -float(back.split()[0])
    text = markdown_report(results)
    assert "| random_split |" in text
    assert "20 vouchers, 4 people at the start" in text
    console = Console(width=80, file=io.StringIO())
    for table in terminal_tables(results):
        console.print(table)
    assert "\u2026" not in console.file.getvalue()  # no number is cut short, however long the names
    assert console.file.getvalue().count("[") == 2 * 3
    lonely = compare(dataclasses.replace(SMALL, worlds=("bridge",), policies=("random_split",), draws=(0,), episodes=1))
    assert difference_tables(lonely) == []
    assert "±" not in mean_tables(lonely)[0][2][0][1]
    capped = dataclasses.replace(SMALL, worlds=("bridge",), rules=Rules(budget=5, max_per_person=2, max_per_round=3))
    assert "at most 2 vouchers a person, at most 3 vouchers a round" in markdown_report(compare(capped))


def test_two_variants_of_a_world_get_two_figures(tmp_path) -> None:
    worlds = ("boom_bust:fidelity=0.5", "boom_bust")
    asked = dataclasses.replace(SMALL, worlds=worlds, policies=("random_split",), episodes=2)
    results = compare(asked, tmp_path / "out")
    assert set(results.episodes["draw"]) == {0}  # one world, however many draws are asked for
    assert {f.name for f in (tmp_path / "out").glob("*.png")} == {"curves-boom_bust-1.png", "curves-boom_bust-2.png"}


def test_names_replace_specifications_in_tables_and_in_luck(tmp_path) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,sex\n" + "".join(f"{i},{'fm'[i % 2]}\n" for i in range(30)))
    edges.write_text(
        "source,target\n" + "".join(f"{i},{(i * 7 + 1) % 30}\n" for i in range(30) if i != (i * 7 + 1) % 30)
    )
    (tmp_path / "moved").mkdir()
    tables = []
    for folder in (tmp_path, tmp_path / "moved"):
        for file in (nodes, edges):
            (folder / file.name).write_text(file.read_text())
        world = f"network:nodes={folder / 'nodes.csv'},edges={folder / 'edges.csv'}"
        asked = dataclasses.replace(SMALL, worlds=(world, f"{world},name=villages"), policies=("constant:name=three",))
        tables.append(compare(asked).episodes)
    assert set(tables[0]["world"]) == {"network:nodes=nodes.csv,edges=edges.csv", "villages"}
    assert set(tables[0]["policy"]) == {"three"}
    pd.testing.assert_frame_equal(*tables)  # where the files lie changes nothing


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policies": ()}, "at least one of its policies"),
        ({"worlds": ("bridge", "bridge")}, "called the same"),
        ({"episodes": 0}, "episodes must be a whole number"),
        ({"seed": -1}, "seed must be"),
        ({"draws": (-1,)}, "draw must be"),
        ({"discounts": (1.5,)}, "discount must lie"),
    ],
)
def test_impossible_comparisons(change, message) -> None:
    with pytest.raises(SettingError, match=message):
        dataclasses.replace(SMALL, **change)


def test_unknown_names_stop_before_any_work(tmp_path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'threshold'"):
        dataclasses.replace(SMALL, policies=("treshold",))
    with pytest.raises(UnknownName, match="Did you mean 'bridge'"):
        dataclasses.replace(SMALL, worlds=("brige",))
    for policy, message in [
        ("threshold:cutoff=0.5", "both cutoff= and at_least="),
        ("threshold:cutoff=2,at_least=1", "between 0 and 1"),
        ("constant:vouchers=-1", "vouchers of constant"),
        ("population_dp:population=0", "population of population_dp"),
        ("population_dp:marginal=poison", "Did you mean 'poisson'"),
    ]:
        with pytest.raises(PeerfrontError, match=message):
            dataclasses.replace(SMALL, policies=(policy,))
    crowded = dataclasses.replace(SMALL, worlds=("network:people=3",))
    with pytest.raises(SettingError, match="4 first recruits were asked for"):
        compare(crowded, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_tuned_threshold_says_what_it_became() -> None:
    asked = Comparison(("bridge",), ("threshold",), (0,), (0.5, 1.0), 4, Rules(budget=8, people=3))
    (task,) = tasks(asked)  # one tuning serves both discounts
    result = run_task(asked, task)
    assert len(result.trajectories) == 2
    assert all(text.startswith("threshold:cutoff=") for text in result.prepared)
    (alone,) = tasks(dataclasses.replace(asked, discounts=(1.0,)))
    same = run_task(dataclasses.replace(asked, discounts=(1.0,)), alone)
    assert same.prepared == result.prepared[1:]  # which others are asked for does not matter


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Workers(0), SettingError, "workers must be"),
        (lambda: Workers(2, "dusk"), UnknownName, "Did you mean 'dask'"),
        (lambda: Workers(2, "loky", "tcp://x:1"), SettingError, "for the backends dask and ray"),
        (
            lambda: list(Workers(2, "dask", "nonsense://1").map_unordered(abs, [1])),
            SettingError,
            "No Dask scheduler answers",
        ),
    ],
)
def test_impossible_workers(make, error, message) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_missing_extra_says_how_to_get_it(backend, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=rf"pip install -c constraints.txt -e '.\[{backend}\]'"):
        list(Workers(2, backend).map_unordered(abs, [1]))


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_what_is_done(tmp_path, workers) -> None:
    folder = tmp_path / "interrupted"
    command = [
        sys.executable, "-c", "from peerfront.cli.main import main; main()", "compare", "--out", str(folder),
        "--workers", str(workers), "--world", "icpsr22140", "--policy", "random_split", "--policy", "population_dp",
        "--draws", "12", "--episodes", "200", "--discount", "0.9",
    ]  # fmt: skip
    # A test run started in the background ignores Ctrl-C, and so would its children; give them the usual start.
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (folder / "parts").is_dir() or len(list((folder / "parts").glob("*.npz"))) < 2:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends Ctrl-C to the whole group
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Repeat the command with --resume" in messages
    assert "Traceback" not in messages
    done = len(list((folder / "parts").glob("*.npz")))
    assert done >= 2
    assert not (folder / "table.md").exists()
    finished = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)
    assert "table.md" in finished.stdout
    uninterrupted = Comparison(
        ("icpsr22140",), ("random_split", "population_dp"), tuple(range(12)), (0.9,), 200, Rules(), 0
    )
    compare(uninterrupted, tmp_path / "whole", workers=Workers(2))
    assert contents(folder) == contents(tmp_path / "whole")


def test_policies_can_plan_with_learned_models() -> None:
    # Every type of boom_bust is among the first recruits, so a history of theirs says something about all of them.
    asked = dataclasses.replace(
        SMALL, worlds=("boom_bust",), policies=("population_dp", "threshold:cutoff=0.5,at_least=4"), episodes=300
    )
    oracle = compare(asked).episodes
    learned = compare(dataclasses.replace(asked, models="learned"))
    means = [table.groupby("policy")["recruits"].mean() for table in (oracle, learned.episodes)]
    assert not np.allclose(*means, rtol=0, atol=1e-9)  # other models, other decisions
    assert np.allclose(*means, rtol=0.15)  # learned well
    assert "fitted to a simulated history (learned)" in markdown_report(learned)
    with pytest.raises(UnknownName, match="Did you mean 'learned'"):
        dataclasses.replace(SMALL, models="learnt")


def test_the_planning_world_is_fitted_only_as_far_as_needed() -> None:
    from peerfront.experiments.planning_world import planning_world
    from peerfront.randomness import named_luck
    from peerfront.simulation import make_world

    world = make_world("bridge")
    assert planning_world(world, "oracle", 0) is world
    planned = planning_world(world, "learned", 0)
    assert "model" not in vars(planned.offspring)
    seeds = planned.seeds(named_luck(("planned",), 3), 5)
    assert np.array_equal(seeds.covariates, world.seeds(named_luck(("planned",), 3), 5).covariates)
    planned.refer(seeds, np.full(15, 3))
    assert "model" in vars(planned.offspring)
