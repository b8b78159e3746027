"""Running a command as its user does, in this process."""

import sys
from pathlib import Path

import pytest

from peerfront.cli.main import main


def run_command(folder: Path, monkeypatch, capsys, *arguments, columns: int) -> tuple[int, str, str]:
    """Exit code, output and errors. One that fails does so with exit code 2, no traceback, and nothing written."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    monkeypatch.setattr(sys, "argv", ["peerfront", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    code = int(ended.value.code or 0)
    if code:
        assert code == 2, err
        assert "Traceback" not in err
        after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert after == before, "a command that fails writes nothing"
    return code, out, err
