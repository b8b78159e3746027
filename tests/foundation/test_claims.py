"""Outputs are claimed before the work: bad places are refused, two runs never share one, and leftovers are removed."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from peerfront.foundation import locks
from peerfront.foundation.errors import DataFileError, OutputExists, OutputInUse
from peerfront.foundation.files import check_output, claimed, claimed_folder, output_path, write_bytes, write_text
from peerfront.foundation.locks import (
    is_leftover,
    lock_name,
    locked,
    names_in,
    remove_leftovers,
    temporary_folder,
    temporary_name,
)


def _all_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


# Names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/", "root of the file system"),
        ("/..", "root of the file system"),
        ("x" * 300, "300 bytes long; a name has at most 255"),
        ("ä" * 150, "300 bytes long"),
        ("\udcff\udcfe", "not text"),
        ("a\nb", "not text"),
        ("\x1b[31mred", "not text"),
        ("a\x00b", "not text"),
        ("/".join(["long" * 50] * 30), "Cannot use"),
    ],
)
@pytest.mark.parametrize("names", [(), ("a.csv",)])
def test_names_that_cannot_be_used_are_refused_in_words(name, message, names, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataFileError, match=message) as refused, claimed(Path(name), names, overwrite=True):
        pass
    str(refused.value).encode()  # can be shown
    assert not _all_names(tmp_path)


@pytest.mark.parametrize("name", ["ergebnis 2024", "名前", "e\u0301", "👩‍👧", "a\u00a0b", "x" * 250])
def test_other_names_are_fine(name, tmp_path) -> None:
    with claimed(tmp_path / name, overwrite=False):
        write_text(tmp_path / name, "x")
    assert _all_names(tmp_path) == [name]


def test_a_loop_of_links_and_a_path_below_a_file(tmp_path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "a", tmp_path / "a" / "x", tmp_path / "file" / "x" / "y"):
        with pytest.raises(DataFileError, match="Cannot use"), claimed(path, overwrite=True):
            pass


def test_what_is_no_ordinary_file_is_never_replaced(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(OutputExists, match="not an ordinary file"):
            check_output(path, overwrite=True)
    with pytest.raises(OutputExists, match="not an ordinary file"):
        check_output(tmp_path, ("pipe",), overwrite=True)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder that even root cannot write in")
def test_a_place_that_cannot_be_written_is_noticed_before_the_work() -> None:
    for path, names in ((Path("/proc/x.csv"), ()), (Path("/proc/x"), ("a.csv",)), (Path("/proc/x/y"), ())):
        with pytest.raises(DataFileError, match="Cannot (use|write)"), claimed(path, names, overwrite=True):
            pytest.fail("the work began")


# Inputs -----------------------------------------------------------------------------------------------------------


def test_an_output_is_never_an_input_by_whatever_name(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = tmp_path / "study.csv"
    study.write_text("id\n1\n")
    (tmp_path / "hard.csv").hardlink_to(study)
    (tmp_path / "soft.csv").symlink_to(study)
    (tmp_path / "below").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    model = tmp_path / "model"
    model.mkdir()
    (model / "manifest.json").write_text("{}")
    outputs = ["study.csv", "hard.csv", "soft.csv", "below/../study.csv", "link/study.csv", "model/manifest.json"]
    for name in outputs:
        with pytest.raises(OutputExists, match="never replaces an input"):
            check_output(Path(name), overwrite=True, inputs=(study, model))
    for folder, names in ((".", ("study.csv",)), ("link", ("a.csv", "hard.csv")), ("model", ("a.csv",))):
        with pytest.raises(OutputExists, match="never replaces an input"):
            check_output(Path(folder), names, overwrite=True, inputs=(study, model))
    check_output(tmp_path / "other.csv", overwrite=True, inputs=(study, model, tmp_path / "nowhere"))
    assert study.read_text() == "id\n1\n"


# Permissions ------------------------------------------------------------------------------------------------------


def test_permissions(tmp_path) -> None:
    path = tmp_path / "sheet.csv"
    write_bytes(path, b"1", private=True)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    write_bytes(path, b"2", private=True)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o604)
    write_bytes(path, b"3")
    assert path.stat().st_mode & 0o777 == 0o604
    former = os.umask(0o027)
    try:
        write_bytes(tmp_path / "plain.csv", b"1")
    finally:
        os.umask(former)
    assert (tmp_path / "plain.csv").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_not_replaced(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "a.csv").chmod(0o400)
    with pytest.raises(OutputExists, match="read-only"):
        check_output(tmp_path / "a.csv", overwrite=True)


REPLACE = """
import os, sys
from pathlib import Path
from peerfront.foundation.files import write_temporary, write_text
if os.geteuid() == 0:
    os.seteuid(65534)
folder = Path(sys.argv[1])
write_text(folder / "a.csv", "new")
write_temporary(folder / "temporary", folder / "a.csv", b"newer")
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows does not replace read-only files")
def test_who_is_not_root_replaces_a_read_only_file_too_and_it_stays_so(tmp_path) -> None:
    """Such as the weights of a fit that somebody protected."""
    folder = Path(tempfile.mkdtemp())  # which others can reach, as they cannot that of pytest
    try:
        (folder / "a.csv").write_text("old")
        (folder / "a.csv").chmod(0o444)
        if os.geteuid() == 0:
            os.chown(folder / "a.csv", 65534, 65534)
            os.chown(folder, 65534, 65534)
        subprocess.run([sys.executable, "-c", REPLACE, str(folder)], check=True)
        assert (folder / "a.csv").read_text() == "new"
        assert (folder / "temporary").read_text() == "newer"
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o444}
    finally:
        shutil.rmtree(folder)


def test_the_file_behind_a_link_is_replaced_and_the_link_stays(tmp_path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_text(tmp_path / "link.csv", "new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


# Claims -----------------------------------------------------------------------------------------------------------


def test_work_that_fails_leaves_no_trace(tmp_path) -> None:
    for path, names in ((tmp_path / "a" / "b" / "x.csv", ()), (tmp_path / "a" / "b", ("x.csv",))):
        with pytest.raises(ZeroDivisionError), claimed(path, names, overwrite=False):
            raise ZeroDivisionError
        assert not _all_names(tmp_path)


def test_a_folder_that_is_missing_is_an_error_where_it_is_not_made(tmp_path) -> None:
    with (
        pytest.raises(DataFileError, match="There is no folder"),
        claimed(tmp_path / "no" / "x", overwrite=True, make_folder=False),
    ):
        pass


def test_a_second_run_is_told_and_one_thread_may_claim_again(tmp_path) -> None:
    told: list[BaseException] = []

    def second_run() -> None:
        try:
            with claimed(tmp_path / "out", ("a.csv",), overwrite=True):
                pass
        except OutputInUse as problem:
            told.append(problem)

    with claimed(tmp_path / "out", ("a.csv",), overwrite=False):
        with claimed_folder(tmp_path / "out", lambda: None):
            pass
        other = threading.Thread(target=second_run)
        other.start()
        other.join()
        with claimed(tmp_path / "out" / "beside.csv", overwrite=False):
            pass  # another file of the folder, not one of this claim's
    assert f"process {os.getpid()} on" in str(told[0])
    assert "Wait until it has ended" in str(told[0])
    with claimed(tmp_path / "out", ("a.csv",), overwrite=False):
        pass
    assert not _all_names(tmp_path)


HOLD = """
import sys, time
from pathlib import Path
from peerfront.foundation.files import claimed
from peerfront.foundation.files import write_temporary
from peerfront.foundation.locks import temporary_name
folder = Path(sys.argv[1])
with claimed(folder, ("a.csv",), overwrite=False):
    write_temporary(folder / temporary_name(), folder / "a.csv", b"half")
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_dies_with_its_owner_and_what_it_left_is_removed(tmp_path) -> None:
    folder = tmp_path / "out"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(OutputInUse, match=f"process {owner.pid}"), claimed(folder, ("a.csv",), overwrite=False):
            pass
        assert len(_all_names(folder)) == 2, "a living run's files stay"
        owner.kill()
    assert len(_all_names(folder)) == 2, "killed during the very first write"
    assert names_in(folder) == []
    with claimed(folder, ("a.csv",), overwrite=False):
        assert _all_names(folder) == [lock_name()]
        write_text(folder / "a.csv", "whole")
    assert _all_names(folder) == ["a.csv"]


def test_only_leftovers_of_ended_runs_are_removed(tmp_path, monkeypatch) -> None:
    ended = multiprocessing.get_context("spawn").Process(target=int)
    ended.start()
    ended.join()
    own = temporary_name()
    machine = own.split("-")[1]
    old = "peerfront-{}-{}-0123abcd-{}"
    dead = [f".{old.format(machine, ended.pid, 0)}.tmp", f".{old.format(machine, os.getpid(), 0)}.tmp"]
    alive = [own, f".{old.format(machine, os.getppid(), 0)}.tmp", f".{old.format('ffffff', 1, 0)}.tmp"]
    theirs = ["notes.tmp", ".peerfront-x.tmp", ".peerfront.locks", ".a.csv.0123456789ab.tmp", "peerfront-compiled-0"]
    for name in (*dead, *alive, *theirs):
        (tmp_path / name).write_text("")
    (tmp_path / old.format(machine, ended.pid, 1)).mkdir()
    (tmp_path / old.format(machine, ended.pid, 1) / "file").write_text("")
    (tmp_path / lock_name("a.csv")).write_text("")
    assert all(map(is_leftover, (*dead, *alive, lock_name(), lock_name("a.csv"))))
    assert names_in(tmp_path) == sorted(theirs)
    remove_leftovers(tmp_path, tmp_path / "nowhere")
    assert _all_names(tmp_path) == sorted([*alive, *theirs])
    os.utime(tmp_path / alive[2], (0, 0))  # another machine's, and old
    folder = temporary_folder(tmp_path)
    assert not (tmp_path / alive[2]).exists()
    assert folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(locks.os, "name", "nt")
    remove_leftovers(tmp_path)  # without asking for processes
    assert folder.exists()


# Locks of other systems -------------------------------------------------------------------------------------------


def test_where_there_are_no_locks_work_goes_on(tmp_path, monkeypatch) -> None:
    def no_locks(descriptor: int) -> None:
        raise OSError(38, "not here")

    monkeypatch.setattr(locks, "_hold", no_locks)
    with locked(tmp_path / "lock", "x"), locked(tmp_path / "lock", "x"):
        pass


class _Msvcrt:
    """What there is of Windows' module, on locks that are held by byte."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: set[tuple[int, int]] = set()

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        place = (os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        if place in self.held:
            raise PermissionError(13, "Permission denied")
        self.held.add(place)


def test_locks_of_windows(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", _Msvcrt())
    with (
        locked(tmp_path / "lock", "out"),
        pytest.raises(OutputInUse, match=f"process {os.getpid()}"),
        locked(tmp_path / "lock", "out"),
    ):
        pass
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with locked(tmp_path / "lock", "out"), locked(tmp_path / "lock", "out"):
        pass  # neither of them: nobody is told


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(tmp_path, monkeypatch) -> None:
    lock, hold, held = tmp_path / "lock", locks._hold, []

    def removed_first(descriptor: int) -> None:
        if not held:
            lock.unlink()
        held.append(descriptor)
        hold(descriptor)

    monkeypatch.setattr(locks, "_hold", removed_first)
    with locked(lock, "x"):
        assert len(held) == 2
        assert lock.exists()


def test_in_a_shared_folder_a_lock_blocks_nobody_and_is_no_trap(tmp_path) -> None:
    former = os.umask(0o077)
    try:
        with locked(tmp_path / "lock", "x"):
            assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o666, "another user can take it over"
    finally:
        os.umask(former)
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "lock").hardlink_to(tmp_path / "precious")
    with locked(tmp_path / "lock", "x"):
        pass
    (tmp_path / "lock").symlink_to(tmp_path / "precious")
    with pytest.raises(DataFileError, match="Cannot write to"), locked(tmp_path / "lock", "x"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"


def test_the_absolute_path_of_an_output(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert output_path(Path()) == tmp_path.resolve()
    assert output_path(Path("a/../b")) == tmp_path.resolve() / "b"
