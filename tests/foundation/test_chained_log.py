"""A log that is only added to: whatever is changed afterwards is noticed, and a killed write loses nothing else."""

import contextlib
import json
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.foundation.chained_log import FIRST, ChainedLog
from peerfront.foundation.errors import DataFileError

ENTRIES = [{"kind": "week", "number": 1}, {"kind": "decision", "person": "ä=1", "planned": 2}, {"kind": "undo"}]


@pytest.fixture
def path(tmp_path):
    ChainedLog(tmp_path / "log.jsonl").append(ENTRIES)
    return tmp_path / "log.jsonl"


def test_what_was_added_is_read_back(path) -> None:
    log = ChainedLog(path)
    assert log.entries == ENTRIES
    before = path.read_bytes()
    log.append([{"kind": "given", "share": 0.1 + 0.2}])
    assert path.read_bytes().startswith(before), "only ever added to"
    again = ChainedLog(path)
    assert again.entries == log.entries == [*ENTRIES, {"kind": "given", "share": 0.1 + 0.2}]
    assert again.head == log.head != FIRST
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_that_does_not_exist_is_empty(tmp_path) -> None:
    assert (ChainedLog(tmp_path / "none").entries, ChainedLog(tmp_path / "none").head) == ([], FIRST)
    assert not (tmp_path / "none").exists()


@given(st.data())
def test_every_change_of_whole_lines_is_noticed(tmp_path_factory, data) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    ChainedLog(path).append(ENTRIES)
    content = path.read_bytes()
    place = data.draw(st.integers(0, len(content) - 2))
    other = data.draw(st.integers(32, 126).filter(lambda sign: sign != content[place]))
    changed = bytearray(content)
    changed[place] = other
    path.write_bytes(bytes(changed))
    if _contents(bytes(changed)) == _contents(content):  # another spelling of the same, such as a blank more
        assert ChainedLog(path).entries == ENTRIES
    else:
        with pytest.raises(DataFileError, match="was changed after it was written"):
            ChainedLog(path)


def _contents(log: bytes) -> list[object]:
    with contextlib.suppress(ValueError):
        return [json.loads(line) for line in log.splitlines()]
    return []


@pytest.mark.parametrize("order", [[1, 2], [0, 2], [0, 1, 1, 2], [1, 0, 2], [0, 2, 1]])
def test_lines_that_are_removed_moved_or_repeated_are_noticed(path, order) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[number] for number in order))
    with pytest.raises(DataFileError, match=r"log.jsonl, line \d: the log was changed .* nothing is done"):
        ChainedLog(path)


def test_the_head_tells_that_the_end_is_missing(path) -> None:
    head = ChainedLog(path).head
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert head not in ChainedLog(path).hashes


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_half_a_line_of_a_killed_write_is_dropped(path, cut) -> None:
    whole = path.read_bytes()
    ChainedLog(path).append([{"kind": "given", "person": "x"}])
    path.write_bytes(path.read_bytes()[: len(whole) + cut])
    log = ChainedLog(path)
    assert log.entries == ENTRIES
    log.append([{"kind": "given", "person": "y"}])
    assert ChainedLog(path).entries == [*ENTRIES, {"kind": "given", "person": "y"}]


@pytest.mark.parametrize("line", [b"[1]", b"not json", b"\xff\xfe", b"", b"[" * 5000])
def test_other_files_are_refused(path, line) -> None:
    path.write_bytes(line + b"\n")
    with pytest.raises(DataFileError, match="line 1: the log was changed" if line else "it is empty"):
        ChainedLog(path)


def test_a_write_that_fails_halfway_leaves_none_of_its_lines(path) -> None:
    resource = pytest.importorskip("resource")
    log, before = ChainedLog(path), path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 300, limits[1]))  # room for two of the lines
    try:
        with pytest.raises(DataFileError, match="nothing was logged"):
            log.append([{"kind": "decision", "number": number} for number in range(50)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
