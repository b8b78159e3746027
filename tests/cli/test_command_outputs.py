"""Where commands write: bad places are refused before the work, inputs are never replaced, ids are kept private."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli.commands import run_command
from cli.test_forecast_report import FRONTIER
from peerfront.foundation.files import claimed_folder
from study.small_advice import a_fit, study_csv

FIT = ("fit", "nowhere.csv", "--budget", "9")
SMALL = ("--world", "bridge", "--policy", "constant", "--episodes", "2", "--discount", "0.9", "--workers", "1")
# Files that do not exist are named where they would be read only after the output was claimed.
COMMANDS = {
    "check": ("check", "nowhere.csv"),
    "convert": ("convert", "nowhere.csv", "--to", "rdsat"),
    "example": ("example", "--people", "40"),
    "fit": FIT,
    "plan": ("plan", "nowhere", "frontier.csv", "--budget", "9"),
    "forecast": ("forecast", "nowhere", "frontier.csv", "--budget", "9"),
    "report": ("report", "nowhere", "study.csv"),
    "compare": ("compare", *SMALL),
    "reproduce": ("reproduce", "--quick"),
}
FILES = ("convert", "plan", "report")


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    a_fit().save(tmp_path / "model")
    (tmp_path / "frontier.csv").write_text(FRONTIER)
    (tmp_path / "study.csv").write_text(study_csv())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(place, monkeypatch, capsys):
    return lambda *arguments: run_command(place, monkeypatch, capsys, *arguments, columns=200)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("", "--out is empty"),
        ("/", "root of the file system"),
        ("x" * 300, "300 bytes long"),
        ("\udcff", "not text"),
        ("frontier.csv/below", "Cannot use"),
        ("/proc/nowhere/x", "Cannot use|There is no folder"),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_bad_places_are_refused_before_the_work(command, out, message, run) -> None:
    code, shown, err = run(*COMMANDS[command], "--out", out, "--overwrite")
    assert code == 2
    assert not shown
    assert any(part in err for part in message.split("|")), err


@pytest.mark.parametrize("command", COMMANDS)
def test_the_folder_one_is_in(command, run, place) -> None:
    if command in FILES:
        assert "is a folder. Name a file" in run(*COMMANDS[command], "--out", ".", "--overwrite")[2]
    elif command in ("fit", "compare", "reproduce"):
        err = run(*COMMANDS[command], "--out", ".", "--overwrite")[2]
        assert "holds other things" in err or "holds something that is not" in err
    elif command == "check":
        assert run("check", "study.csv", "--out", ".")[0] == 0
        assert (place / "problems.csv").exists()
    elif command == "example":
        assert "study.csv already" in run("example", "--out", ".")[2]
    else:
        assert run("forecast", "model", "frontier.csv", "--budget", 9, "--episodes", 5, "--out", ".")[0] == 0
        assert (place / "rounds.csv").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_second_run_is_told(command, run, place) -> None:
    from threading import Thread

    out = place / "out"
    errors: list[str] = []
    arguments = (*COMMANDS[command], "--out", "out" if command not in FILES else "out/file")
    out.mkdir()
    from peerfront.foundation.locks import lock_name, locked

    with locked(out / lock_name("file" if command in FILES else ""), "out"):
        other = Thread(target=lambda: errors.append(run(*arguments)[2]))
        other.start()
        other.join()
    assert "Another run (process" in errors[0]
    assert not list(out.iterdir())


def test_inputs_are_never_replaced(run, place) -> None:
    os.link("study.csv", "hard.csv")
    Path("soft.csv").symlink_to("study.csv")
    (place / "sub").mkdir()
    os.link("study.csv", "sub/problems.csv")
    os.link("frontier.csv", "sub/sheet-curve.csv")
    os.link("frontier.csv", "sub/rounds.csv")
    plan = ("plan", "model", "frontier.csv", "--budget", 9)
    commands = [
        ("convert", "study.csv", "--to", "coupons", "--out", "study.csv"),
        ("convert", "study.csv", "--to", "coupons", "--out", "hard.csv"),
        ("convert", "study.csv", "--to", "coupons", "--out", "soft.csv"),
        ("convert", "soft.csv", "--to", "coupons", "--out", "sub/../hard.csv"),
        ("check", "study.csv", "--out", "sub"),
        (*plan, "--out", "frontier.csv"),
        (*plan, "--out", "model/manifest.json"),
        (*plan, "--out", "sub/sheet.csv"),
        ("forecast", "model", "frontier.csv", "--budget", 9, "--out", "sub"),
        ("forecast", "model", "frontier.csv", "--budget", 9, "--out", "model"),
        ("report", "model", "study.csv", "--out", "study.csv"),
        ("report", "model", "study.csv", "--frontier", "frontier.csv", "--out", "frontier.csv"),
    ]
    for command in commands:
        code, _, err = run(*command, "--overwrite")
        assert code == 2
        assert "an output never replaces an input" in err, command


def test_a_world_is_never_replaced_by_its_comparison(run, place) -> None:
    (place / "out").mkdir()
    nodes, edges = place / "out" / "episodes.csv", place / "out" / "curves-edges.csv"
    nodes.write_text("id,sex\n" + "".join(f"{i},f\n" for i in range(20)))
    edges.write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(19)))
    world = f"network:nodes={nodes},edges={edges}"
    code, _, err = run("compare", "--world", world, *SMALL[2:], "--people", 2, "--out", "out", "--overwrite")
    assert code == 2
    assert "an output never replaces an input" in err


def test_files_with_ids_are_private_and_replaced_ones_keep_their_permissions(run, place, monkeypatch) -> None:
    parts = ("order", "rules", "counts", "problems", "plan", "sheet", "outlook", "estimates")
    nothing = SimpleNamespace(**dict.fromkeys(parts))
    monkeypatch.setattr("peerfront.study.report.study_report", lambda *_: nothing)  # which takes its time
    monkeypatch.setattr("peerfront.words.report_page.report_page", lambda _: "the page")

    def modes() -> dict[str, int]:
        return {
            str(file.relative_to(place)): file.stat().st_mode & 0o777 for file in place.rglob("*") if file.is_file()
        }

    report = ("report", "model", "study.csv", "--episodes", 5, "--frontier", "frontier.csv", "--budget", 5)
    commands = [
        ("check", "study.csv", "--out", "checked"),
        ("convert", "study.csv", "--to", "app", "--out", "study.json"),
        ("plan", "model", "frontier.csv", "--budget", 9, "--out", "sheet.csv"),
        (*report, "--with-ids", "--out", "ids.html"),
        (*report, "--out", "no-ids.html"),
    ]
    former, plain = os.umask(0o022), 0o644
    try:
        for command in commands:
            assert run(*command)[0] == 0
        made = modes()
        private = ["ids.html", "sheet.csv", "study.json"]
        private += [
            f"checked/{name}" for name in ("problems.csv", "schema.toml", "summary.csv", "summary.json", "tree.dot")
        ]
        assert sorted(name for name, mode in made.items() if mode == 0o600) == sorted(private)
        assert all(mode == plain for name, mode in made.items() if name not in private)
        for name in made:
            (place / name).chmod(0o640)
        for command in commands[:3]:
            assert run(*command, "--overwrite")[0] == 0
        assert set(modes().values()) == {0o640}
    finally:
        os.umask(former)


def test_a_fit_keeps_its_folder_while_it_is_made(run, place, monkeypatch) -> None:
    from peerfront.study import model

    def fit(*_: object, **__: object) -> object:
        held = []
        with claimed_folder(place / "new", lambda: held.append(1)):
            assert [file.name for file in (place / "new").iterdir()] == [".peerfront.lock"]
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "fit", fit)
    with pytest.raises(AssertionError):  # the exit code is not 2
        run("fit", "study.csv", "--budget", 9, "--out", "new")
    assert not (place / "new").exists()


PLAN = ("plan", "model", "frontier.csv", "--budget", "9")


@pytest.mark.parametrize(
    "outputs",
    [
        ("check", "study.csv", "--out", "X", "--waiting", "X"),
        ("check", "study.csv", "--out", "X", "--waiting", "X/problems.csv"),
        ("check", "study.csv", "--out", "folder", "--waiting", "link/problems.csv"),
        (*PLAN, "--out", "X.csv", "--out", "X.csv"),
        (*PLAN, "--out", "X.csv", "--out", "./Y/../X.csv"),
        (*PLAN, "--out", "X.csv", "--decisions", "X.csv"),
        (*PLAN, "--out", "X.csv", "--decisions", "X-curve.csv"),
        (*PLAN, "--out", "X.csv", "--decisions", "X.csv/log.csv"),
        (*PLAN, "--out", "linked.csv", "--decisions", "target.csv", "--overwrite"),
    ],
)
def test_two_outputs_are_never_one_file(outputs, run, place) -> None:
    (place / "folder").mkdir()
    (place / "link").symlink_to("folder")
    (place / "linked.csv").symlink_to("target.csv")
    before = sorted(place.rglob("*"))
    code, _, err = run(*outputs)
    assert (code, "is named for two outputs" in err) == (2, True), err
    assert sorted(place.rglob("*")) == before
