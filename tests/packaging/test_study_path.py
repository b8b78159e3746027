"""A study's path needs no library of the extra `research`, and what needs one says how to install it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RESEARCH = ("gymnasium", "networkx", "torch")
START = f"""
import sys
from importlib.machinery import PathFinder

class AsIfNotInstalled(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in {RESEARCH!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = AsIfNotInstalled
import peerfront as pf
from peerfront.cli.main import app

def run(*words):
    app([str(word) for word in words], standalone_mode=False)
"""
STUDY = """
from small_study import QUICK

run("example", "--people", 120, "--out", "my")
run("check", "my/study.csv", "--valid-days", 30, "--out", "checked")
study = pf.read_study("my/study.csv", pf.ReadSettings(valid_days=30))
pf.fit(study, budget=20, rounds=2, learning=QUICK).save("model")
run("plan", "model", "--study-file", "my/study.csv", "--budget", 20, "--out", "sheet.csv")
run("report", "model", "my/study.csv", "--budget", 20, "--out", "report.html", "--episodes", 20)
run("week", "my/study.csv", "--folder", "running", "--budget", 20, "--rounds-left", 2, "--model", "model",
    "--date", "2024-02-11")
"""
THE_REST = """
from peerfront.models.offspring.generator_choice import fit_generator
from peerfront.models.offspring.pairs import Pairs
from peerfront.simulation.simulated_history import HistorySettings, simulate_history

run("example", "--out", "my")
run("estimate", "my/study.csv", "--outcome", "housing", "--bootstraps", 20, "--out", "estimates")
run("convert", "my/study.csv", "--to", "graphml", "--out", "tree.graphml")
run("backtest", "my/study.csv", "--at", "2024-03-15", "--episodes", 20, "--out", "tests")
run("design", "--population", 400, "--coupons", 60, "--rounds", 3, "--repetitions", 2, "--randomise", 0,
    "--bootstraps", 2)
run("compare", "--world", "bridge", "--policy", "gfp", "--policy", "threshold", "--draws", 1, "--episodes", 20,
    "--out", "compared")
pairs = Pairs.of(simulate_history(pf.make_world("icpsr22140"), HistorySettings(triples=0, pairs=600)))
for kind in ("inheritance", "softmax", "masked"):
    fit_generator(kind, pairs)
"""
REFUSED = {
    "compare --world bridge --policy budget_dqn --draws 1 --episodes 5 --out out": "Reinforcement learning",
    "compare --world bridge --policy threshold --models learned --draws 1 --episodes 5 --out out": "A response model",
}


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests / "study"), str(tests), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-c", START + code], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("code", [STUDY, pytest.param(THE_REST, marks=pytest.mark.slow)], ids=["weekly", "the rest"])
def test_a_study_needs_nothing_of_research(code, tmp_path) -> None:
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", REFUSED)
def test_what_research_needs_is_said_with_the_remedy(command, tmp_path) -> None:
    done = python(
        f"from peerfront.cli.main import main\nsys.argv = ['peerfront', *{command.split()!r}]\nmain()", tmp_path
    )
    assert done.returncode == 2, done.stderr
    assert REFUSED[command] in done.stderr
    assert "pip install 'peerfront[research]'" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_graph_a_diffusion_and_the_environment_say_so_too(tmp_path) -> None:
    done = python(
        """
from importlib import import_module

from peerfront.foundation.errors import MissingExtra
from peerfront.models.offspring.generator_choice import fit_generator
from peerfront.models.stored_models import generator_class

study = pf.read_study(pf.demo_study(people=60).study)
environment = lambda: import_module("peerfront.environment")
for use in (study.graph, lambda: fit_generator("diffusion", None), lambda: generator_class("diffusion"), environment):
    try:
        use()
    except MissingExtra as error:
        print(error.extra)
""",
        tmp_path,
    )
    assert done.stdout.split() == ["research"] * 4, done.stderr
