"""Comparisons: the same whoever does the work, whatever interrupts it, and never over somebody's results."""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import peerfront as pf
from experiments.small import SMALL, contents
from peerfront.experiments.comparison import Comparison, tasks
from peerfront.experiments.comparison_run import Workers, run_comparison
from peerfront.foundation import files
from peerfront.foundation.errors import (
    DataFileError,
    MissingExtra,
    OutputExists,
    PeerfrontError,
    SettingError,
    UnknownName,
)
from peerfront.problem import Rules


def test_results_do_not_depend_on_the_number_of_workers(finished, tmp_path) -> None:
    run_comparison(SMALL, tmp_path / "two", workers=Workers(2))
    assert contents(tmp_path / "two") == contents(finished)


def test_results_do_not_depend_on_the_backend(finished, tmp_path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        workers = Workers(2, "dask", cluster.scheduler_address)
        run_comparison(SMALL, tmp_path / "dask", workers=workers)
    assert contents(tmp_path / "dask") == contents(finished)


def test_draws_may_begin_with_any_other(tmp_path) -> None:
    asked = {"worlds": ["icpsr22140"], "policies": ["constant"], "episodes": 3, "discounts": [0.9]}
    one = [pf.compare(**asked, draws=1, first_draw=draw).table["mean"] for draw in (1, 2)]
    both = pf.compare(**asked, draws=2, first_draw=1).table["mean"]
    assert not one[0].equals(one[1])
    assert np.allclose((one[0] + one[1]) / 2, both)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Ray warns of its own future
def test_results_do_not_depend_on_ray_either(finished, tmp_path) -> None:
    ray = pytest.importorskip("ray", reason="Ray has no build for this Python")
    try:
        run_comparison(SMALL, tmp_path / "ray", workers=Workers(2, "ray"))
    finally:
        ray.shutdown()
    assert contents(tmp_path / "ray") == contents(finished)


def test_an_interrupted_comparison_resumes_to_the_identical_result(finished, tmp_path) -> None:
    class Stop(Exception):
        pass

    def stop_after_five(_: float, what: object) -> None:
        if str(what).startswith("5 of"):
            raise Stop

    folder = tmp_path / "resumed"
    with pytest.raises(Stop):
        run_comparison(SMALL, folder, progress=stop_after_five)
    assert len(list((folder / "parts").iterdir())) == 5
    played: list[str] = []
    run_comparison(SMALL, folder, resume=True, progress=lambda _, what: played.append(str(what)))
    assert len([what for what in played if ": " in what]) == len(tasks(SMALL)) - 5  # nothing is done twice
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
    run_comparison(SMALL, folder, resume=True)
    assert contents(folder) == contents(finished)


def test_existing_results_are_not_touched_unless_asked(finished, tmp_path) -> None:
    before = contents(finished)
    with pytest.raises(OutputExists, match="resume=True to complete them, overwrite=True to replace them"):
        run_comparison(SMALL, finished)
    other = dataclasses.replace(SMALL, episodes=13)
    with pytest.raises(OutputExists, match="something has changed since \\(episodes 12 there, 13 now\\)"):
        run_comparison(other, finished, resume=True)
    assert contents(finished) == before
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "settings.json").write_text('{"editor.tabSize": 4}')  # somebody else's
    for choice in ({"overwrite": True}, {"resume": True}, {}):
        with pytest.raises(OutputExists, match="not a comparison"):
            run_comparison(SMALL, tmp_path, **choice)
    with pytest.raises(OutputExists, match="is a file"):
        run_comparison(SMALL, tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_overwriting_replaces_a_comparison_and_nothing_else(tmp_path) -> None:
    tiny = dataclasses.replace(SMALL, worlds=("bridge",), draws=(0,), episodes=3)
    folder = tmp_path / "results"
    run_comparison(dataclasses.replace(tiny, seed=1), folder)
    mine = {"notes.txt": b"mine", "people.csv": b"id\n1\n"}
    for name, content in mine.items():
        (folder / name).write_bytes(content)
    run_comparison(tiny, folder, overwrite=True)
    run_comparison(tiny, tmp_path / "fresh")
    assert contents(folder) == {**contents(tmp_path / "fresh"), **mine}


@pytest.mark.parametrize("fault", ["policy that fails", "workers that fail"])
def test_a_command_that_fails_early_destroys_nothing(tmp_path, fault, monkeypatch) -> None:
    tiny = dataclasses.replace(SMALL, worlds=("bridge",), draws=(0,), episodes=3)
    folder = tmp_path / "results"
    run_comparison(tiny, folder)
    before = contents(folder)
    workers = Workers(2, "dask", "nonsense://1") if fault.startswith("workers") else None
    if fault.startswith("policy"):
        monkeypatch.setattr("peerfront.experiments.comparison.rollout", lambda *_: 1 / 0)
    with pytest.raises((SettingError, ZeroDivisionError)):
        run_comparison(tiny, folder, overwrite=True, workers=workers)
    assert contents(folder) == before
    with pytest.raises((SettingError, ZeroDivisionError)):
        run_comparison(tiny, tmp_path / "new", workers=workers)
    assert not (tmp_path / "new").exists()


def test_resuming_with_other_data_or_another_program_is_refused(tmp_path, monkeypatch) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,sex\n" + "".join(f"{i},f\n" for i in range(20)))
    edges.write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(19)))
    asked = dataclasses.replace(
        SMALL, worlds=(f"network:nodes={nodes},edges={edges}",), policies=("constant",), draws=(0,)
    )
    first = run_comparison(asked, tmp_path / "out").episodes
    edges.write_text("source,target\n1,2\n")
    with pytest.raises(OutputExists, match="something has changed since .*edges.csv"):
        run_comparison(asked, tmp_path / "out", resume=True)
    assert run_comparison(asked).episodes["recruits"].sum() < first["recruits"].sum()  # the new file is read anew
    edges.write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(19)))
    run_comparison(asked, tmp_path / "out", resume=True)  # the old file again: fine
    monkeypatch.setattr("peerfront.experiments.result_folder.program", lambda: {"source": "another program"})
    with pytest.raises(OutputExists, match="source [0-9a-f]+ there, another program now"):
        run_comparison(asked, tmp_path / "out", resume=True)


@pytest.mark.parametrize("place", ["below a file", "full"])
def test_folders_that_cannot_be_written(tmp_path, place, monkeypatch) -> None:
    tiny = dataclasses.replace(SMALL, worlds=("bridge",), policies=("constant",), draws=(0,), episodes=2)
    if place == "below a file":
        (tmp_path / "file").write_text("")
        with pytest.raises(DataFileError, match="Cannot use .*Choose another folder"):
            run_comparison(tiny, tmp_path / "file" / "out")
    else:

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(files, "open_temporary", full)
        with pytest.raises(DataFileError, match="Cannot write .*No space left on device"):
            run_comparison(tiny, tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policies": ()}, "policies is empty; give at least one"),
        ({"policies": "gfp"}, "policies must be a list; found 'gfp'"),
        ({"worlds": (3,)}, "must be a name with its settings"),
        ({"worlds": ("bridge", "bridge")}, "called the same"),
        ({"episodes": 0}, "episodes must be a whole number"),
        ({"seed": -1}, "seed must be"),
        ({"draws": (-1,)}, "each of draws must be a whole number of at least 0; found -1"),
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
        ("constant:coupons=-1", "coupons of constant"),
        ("population_dp:population=0", "population of population_dp"),
        ("population_dp:marginal=poison", "Did you mean 'poisson'"),
    ]:
        with pytest.raises(PeerfrontError, match=message):
            dataclasses.replace(SMALL, policies=(policy,))
    crowded = dataclasses.replace(SMALL, worlds=("network:people=3",))
    with pytest.raises(SettingError, match="4 first recruits were asked for"):
        run_comparison(crowded, tmp_path / "out")
    assert not (tmp_path / "out").exists()


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
    with pytest.raises(MissingExtra, match=rf"pip install 'peerfront\[{backend}\]'"):
        list(Workers(2, backend).map_unordered(abs, [1]))


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_what_is_done(tmp_path, workers) -> None:
    folder = tmp_path / "interrupted"
    command = [
        sys.executable, "-c", "from peerfront.cli.main import main; main()", "compare", "--out", str(folder),
        "--workers", str(workers), "--world", "icpsr22140", "--policy", "random_split", "--policy", "population_dp",
        "--draws", "6", "--episodes", "100", "--discount", "0.9",
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
        ("icpsr22140",), ("random_split", "population_dp"), tuple(range(6)), (0.9,), 100, Rules(), 0
    )
    run_comparison(uninterrupted, tmp_path / "whole", workers=Workers(2))
    assert contents(folder) == contents(tmp_path / "whole")
