"""A lock file that dies with its owner: the operating system holds the lock, not the file's existence.

A lock file is removed when its owner is done. That takes care: somebody may have opened the file just before, and would
hold a lock that nobody else can see. So a lock counts only while its file is still the one of that name.
"""

import contextlib
import errno
import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from peerfront.foundation.errors import DataFileError, OutputInUse

_LOCKS = re.compile(r"\.peerfront(-[0-9a-f]{8})?\.lock")
_BUSY = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_LONGEST_NOTE = 200
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_BEYOND = 1 << 20  # the byte that is locked on Windows: beyond the note, which others can then still read


def lock_name(file: str = "") -> str:
    """The name of a folder's lock, or of the lock of one file in it."""
    return f".peerfront-{blake2b(file.encode(), digest_size=4).hexdigest()}.lock" if file else ".peerfront.lock"


def is_lock(name: str) -> bool:
    """Whether a file of this name is a lock of peerfront's."""
    return _LOCKS.fullmatch(name) is not None


@contextmanager
def locked(lock: Path, purpose: str) -> Iterator[None]:
    """Hold the lock, or raise an error that says who does. Where there are no locks, go on without."""
    descriptor = _open(lock, purpose)
    try:
        _leave_note(descriptor)
        yield
    finally:
        _remove(lock, descriptor)


def remove_unheld(lock: Path) -> None:
    """Remove a lock file that a killed run left behind; one that is held stays."""
    with contextlib.suppress(OSError):
        descriptor = os.open(lock, os.O_RDWR | _NO_LINK)
        if _try_to_hold(descriptor) and _is_still(lock, descriptor):
            _remove(lock, descriptor)
        else:
            os.close(descriptor)


def _open(lock: Path, purpose: str) -> int:
    while True:
        try:
            descriptor = _open_file(lock)
        except FileExistsError:
            continue  # made by somebody else between two steps of ours
        except OSError as problem:
            raise DataFileError("outputs.not_allowed", folder=lock.parent, problem=problem.strerror) from None
        if not _try_to_hold(descriptor):
            owner = _note(descriptor)
            os.close(descriptor)
            raise OutputInUse(purpose, owner)
        if _is_still(lock, descriptor):
            return descriptor
        os.close(descriptor)


def _open_file(lock: Path) -> int:
    """Open the lock file, or make one that everybody who works in this folder can open after us."""
    try:
        return os.open(lock, os.O_RDWR | _NO_LINK)
    except FileNotFoundError:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o666)  # whatever the umask: it holds nothing that is secret
    return descriptor


def _leave_note(descriptor: int) -> None:
    """Write down who holds the lock, unless the file is more than a lock: in a shared folder it may be a trap."""
    note = f"process {os.getpid()} on {socket.gethostname()}, since {datetime.now():%Y-%m-%d %H:%M}"
    with contextlib.suppress(OSError):
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_size <= _LONGEST_NOTE:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, note.encode()[:_LONGEST_NOTE])


def _remove(lock: Path, descriptor: int) -> None:
    if os.name == "nt":  # pragma: no cover - an open file cannot be removed there
        os.close(descriptor)
        with contextlib.suppress(OSError):
            lock.unlink()
        return
    with contextlib.suppress(OSError):
        lock.unlink()  # before it is let go, so that nobody else can hold it by then
    os.close(descriptor)


def _is_still(lock: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), lock.stat())
    except OSError:
        return False


def _note(descriptor: int) -> str:
    """What the owner wrote into the lock file."""
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        text = os.read(descriptor, _LONGEST_NOTE).decode(errors="replace")
    except OSError:
        return ""
    return text if text.isprintable() else ""


def _try_to_hold(descriptor: int) -> bool:
    """Whether the lock is ours now. A file system without locks gives it to everybody."""
    try:
        _hold(descriptor)
    except OSError as problem:
        return problem.errno not in _BUSY
    return True


def _hold(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:
        _hold_on_windows(descriptor)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _hold_on_windows(descriptor: int) -> None:
    import importlib

    try:
        msvcrt = importlib.import_module("msvcrt")
    except ImportError:
        raise OSError(errno.ENOLCK, "no locks here") from None
    os.lseek(descriptor, _BEYOND, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
