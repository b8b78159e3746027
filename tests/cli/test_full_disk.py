"""A disk that is full at any write: a message that says so, nothing half-written, nothing lost."""

import errno
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.test_forecast_report import FRONTIER
from peerfront.cli.main import main
from peerfront.foundation import files
from study.small_advice import a_fit, study_csv

COMMANDS = {
    "check": ("check", "study.csv", "--out", "out"),
    "convert": ("convert", "study.csv", "--to", "rdsat", "--out", "study.rdsat"),
    "example": ("example", "--out", "out", "--people", "40"),
    "plan": ("plan", "model", "frontier.csv", "--budget", "9", "--out", "sheet.csv"),
    "forecast": ("forecast", "model", "frontier.csv", "--budget", "9", "--episodes", "20", "--out", "out"),
    "report": ("report", "model", "study.csv", "--episodes", "20", "--out", "report.html"),
}


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    a_fit().save(tmp_path / "model")
    (tmp_path / "frontier.csv").write_text(FRONTIER)
    (tmp_path / "study.csv").write_text(study_csv())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _files(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


class _HalfWritten:
    """A file on a disk that is full once half of what is written stands there."""

    def __init__(self, file) -> None:
        self.file = file

    def write(self, content: bytes) -> int:
        self.file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    def __getattr__(self, name: str):
        return getattr(self.file, name)


class Disk:
    """A disk with room for so many files."""

    def __init__(self, monkeypatch) -> None:
        self.room = 0
        self._open = files.open_temporary
        monkeypatch.setattr(files, "open_temporary", self.open)

    @contextmanager
    def open(self, *args, **options):
        with self._open(*args, **options) as file:
            self.room -= 1
            yield file if self.room >= 0 else _HalfWritten(file)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_said_and_loses_nothing(command, place, monkeypatch, capsys) -> None:
    before, disk = _files(place), Disk(monkeypatch)
    room = 0  # files that still fit
    while True:
        disk.room = room
        overwrite = ["--overwrite"] if room else []  # complete files of the last attempt may be there
        monkeypatch.setattr(sys, "argv", ["peerfront", *COMMANDS[command], *overwrite])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        after = _files(place)
        assert not [name for name in after if name.endswith(".tmp")], "no temporary file is left"
        assert {name: after[name] for name in before} == before, "what was there is untouched"
        if not ended.value.code:
            break
        assert ended.value.code == 2, err
        assert "Traceback" not in err
        assert "No space left" in err
        assert "Written" not in out
        room += 1
        assert room < 20, "it writes a handful of files at most"
    assert room, "the disk was full at least once"


@pytest.mark.parametrize("failing", [0, 1])
def test_a_fit_is_saved_in_full_or_not_at_all(tmp_path, failing, monkeypatch) -> None:
    from peerfront.foundation.errors import DataFileError
    from peerfront.study.artifacts import load_fit

    a_fit().save(tmp_path / "model")
    before, Disk(monkeypatch).room = _files(tmp_path), failing
    with pytest.raises(DataFileError, match="No space left"):
        a_fit().save(tmp_path / "model", overwrite=True)
    assert _files(tmp_path) == before
    load_fit(tmp_path / "model")  # the old one still works
