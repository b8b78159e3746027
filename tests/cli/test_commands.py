"""The commands as people use them: what they print, how they fail, what they load."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from peerfront.cli.main import GROUPS, main

ROOT = Path(__file__).parents[2]


def run(monkeypatch, capsys, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["peerfront", *arguments])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_help_is_light() -> None:
    code = (
        "import sys; sys.argv = ['peerfront', '--help']\n"
        "from peerfront.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numba', 'numpy', 'pandas', 'scipy', 'matplotlib', 'networkx'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for command in ("worlds", "policies", "simulate", "compare"):
        assert command in done.stdout


def test_help_shows_the_study_first_and_in_the_order_of_use(monkeypatch, capsys) -> None:
    code, out, _ = run(monkeypatch, capsys, "--help")
    assert code == 0
    order = ["A study", *GROUPS["A study"], "Research", *GROUPS["Research"]]
    places = [re.search(rf"(─|│) {name} ", out).start() for name in order]
    assert places == sorted(places)
    of_study = [
        "app", "check", "week", "fit", "plan", "forecast", "backtest", "report", "estimate", "design", "convert",
        "example", "doctor",
    ]  # fmt: skip
    assert list(GROUPS["A study"]) == of_study


@pytest.mark.parametrize("command", [name for group in GROUPS.values() for name in group])
def test_every_command_has_help(monkeypatch, capsys, command) -> None:
    code, out, _ = run(monkeypatch, capsys, command, "--help")
    assert code == 0
    assert f"peerfront {command} " in out


@pytest.mark.parametrize(
    "arguments",
    [
        "example --out {folder}/new --people 60",
        "check {folder}/study.csv --out {folder}/checked",
        "convert {folder}/study.csv --to rdsat --out {folder}/study.rdsat",
    ],
)
def test_commands_about_files_load_nothing_that_takes_long(tmp_path, arguments) -> None:
    (tmp_path / "study.csv").write_text("id,own.coupon,coupon.1,coupon.2,sex\n1,,a,b,f\n2,a,c,d,m\n3,b,e,f,f\n")
    code = (
        "import sys\nfrom peerfront.cli.main import main\n"
        "try: main()\nexcept SystemExit as ended: assert not ended.code, ended.code\n"
        "heavy = {'torch', 'numba', 'scipy.stats', 'matplotlib', 'networkx', 'joblib'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    words = arguments.format(folder=tmp_path).split()
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_version(monkeypatch, capsys) -> None:
    assert run(monkeypatch, capsys, "--version")[1].startswith("peerfront 0.")


def test_worlds(monkeypatch, capsys) -> None:
    code, out, _ = run(monkeypatch, capsys, "worlds")
    assert code == 0
    for name in ("icpsr22140", "published", "boom_bust", "bridge", "network"):
        assert name in out
    code, out, _ = run(monkeypatch, capsys, "worlds", "icpsr22140")
    assert "72 one-hot columns" in out
    assert "sigma" in out
    assert run(monkeypatch, capsys, "worlds", "icpsr22140:sigma=0.2")[0] == 0
    code, out, _ = run(monkeypatch, capsys, "worlds", "bridge")
    assert "all are this one world" in out


def test_policies(monkeypatch, capsys) -> None:
    code, out, _ = run(monkeypatch, capsys, "policies")
    assert code == 0
    assert "at_least" in out


def test_simulate_prints_its_rounds(monkeypatch, capsys) -> None:
    code, out, _ = run(
        monkeypatch, capsys, "simulate", "--world", "boom_bust", "--policy", "constant:coupons=2", "--budget", "30"
    )
    assert code == 0
    assert "constant:coupons=2 in boom_bust, draw 0, episode 0" in out
    assert "10 x 2" in out
    assert "It ended because" in out


def test_simulate_plays_the_same_episode_as_compare(monkeypatch, capsys, tmp_path) -> None:
    import pandas as pd

    same = ["--world", "bridge", "--policy", "random_split", "--discount", "0.9", "--seed", "5"]
    run(monkeypatch, capsys, "compare", *same, "--episodes", "4", "--out", str(tmp_path / "out"), "--workers", "1")
    episodes = pd.read_csv(tmp_path / "out" / "episodes.csv")
    _, out, _ = run(monkeypatch, capsys, "simulate", *same, "--episode", "3")
    assert f"{episodes['recruits'][3]} recruits with {episodes['spend'][3]} coupons" in out


def test_compare_prints_tables_and_names_its_files(monkeypatch, capsys, tmp_path) -> None:
    out_folder = tmp_path / "out"
    arguments = [
        "compare", "--world", "bridge", "--policy", "random_split", "--policy", "constant", "--discount", "0.9",
        "--episodes", "5", "--out", str(out_folder), "--workers", "1", "--against", "constant",
    ]  # fmt: skip
    code, out, _ = run(monkeypatch, capsys, *arguments)
    assert code == 0
    assert "Discounted reward in bridge" in out
    assert "above constant in bridge" in out
    assert "above constant in bridge" in (out_folder / "table.md").read_text()
    assert (out_folder / "table.md").exists()
    code, _, err = run(monkeypatch, capsys, *arguments)
    assert code == 2
    assert "--resume" in err
    code, _, _ = run(monkeypatch, capsys, *arguments, "--resume")
    assert code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["worlds", "brigde"], "Did you mean 'bridge'"),
        (["compare", "--world", "icpsr"], "There is no world called 'icpsr'. Did you mean 'icpsr22140'"),
        (["compare", "--policy", "treshold"], "Did you mean 'threshold'"),
        (["compare", "--budget", "-5"], "budget must be a whole number of at least 0; found -5"),
        (["compare", "--budget", "2.5"], "budget must be a whole number of at least 0; found 2.5"),
        (["simulate", "--budget", "nan"], "budget must be a whole number"),
        (["compare", "--discount", "1.2"], "found 1.2"),
        (["simulate", "--discount", "0"], "discount must lie above 0"),
        (["compare", "--draws", "0"], "draws must be a whole number of at least 1"),
        (["compare", "--first-draw", "-1"], "first draw must be a whole number"),
        (["compare", "--resume"], "need --out"),
        (["compare", "--resume", "--overwrite", "--out", "x"], "Choose one of"),
        (["compare", "--against", "gfp"], "There is no policy in this comparison called 'gfp'"),
        (["compare", "--world", "network:nodes=no.csv,edges=no.csv"], "no.csv: there is no such file"),
        (["simulate", "--episode", "-1"], "episode must be a whole number"),
        (["simulate", "--max-per-person", "0"], "max per person must be"),
        (["compare", "--backend", "dusk"], "Did you mean 'dask'"),
        (["compare", "--scheduler", "tcp://x"], "for the backends dask and ray"),
        (
            ["compare", "--policy", "threshold:cutoff=2,at_least=1"],
            "cutoff of threshold must be a share between 0 and 1; found 2",
        ),
    ],
)
def test_bad_input_is_one_clear_line(monkeypatch, capsys, arguments, message) -> None:
    code, _, err = run(monkeypatch, capsys, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_the_shell_completes_commands_and_options(tmp_path) -> None:
    program = str(Path(sys.executable).parent / "peerfront")
    if not Path(program).exists():
        pytest.skip("the command peerfront is not installed beside this Python")
    home = {**os.environ, "HOME": str(tmp_path)}
    for words, place, expected in (("peerfront pl", 1, ["plan"]), ("peerfront plan --dead", 2, ["--deadline"])):
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(place), "_PEERFRONT_COMPLETE": "complete_bash"}
        done = subprocess.run([program], env=home | asked, capture_output=True, text=True, check=False)
        assert done.stdout.split() == expected, done.stderr
    if (bash := shutil.which("bash")) is None:
        return
    typed = f"{shlex.quote(program)} --install-completion; exit $?"  # the shell in which it is typed
    done = subprocess.run([bash, "-c", typed], env=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "_PEERFRONT_COMPLETE" in (tmp_path / ".bash_completions" / "peerfront.sh").read_text()
    assert "peerfront.sh" in (tmp_path / ".bashrc").read_text()
