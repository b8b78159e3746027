"""Lock files that die with their owner, and temporary files that say whose they are.

The operating system holds the lock, not the file's existence. A lock file is removed when its owner is done. That takes
care: somebody may have opened the file just before, and would hold a lock that nobody else can see. So a lock counts
only while its file is still the one of that name.

A temporary name holds the machine, the process and a mark of the run that made it, so that nothing of a run that is
still going, and nothing of anybody else's, is ever removed.
"""

import contextlib
import errno
import os
import re
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from hashlib import blake2b
from importlib import import_module
from itertools import count
from pathlib import Path
from uuid import uuid4

from peerfront.foundation.errors import DataFileError, OutputInUse

# Locks ------------------------------------------------------------------------------------------------------------


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
    with contextlib.suppress(ImportError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    try:
        msvcrt = import_module("msvcrt")
    except ImportError:
        raise OSError(errno.ENOLCK, "no locks here") from None
    os.lseek(descriptor, _BEYOND, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)


# Temporary files --------------------------------------------------------------------------------------------------


_RUN = uuid4().hex[:8]
_NUMBERS = count()
_TEMPORARY = re.compile(
    r"\.?peerfront-(?P<machine>[0-9a-f]{6})-(?P<process>\d{1,12})-(?P<run>[0-9a-f]{8})-\d{1,12}(\.tmp)?"
)
_OLD = 24 * 3600.0  # seconds after which a file counts as left behind where its process cannot be asked for


def temporary_name() -> str:
    """A new name for a file that is to be renamed."""
    return f".{_mark()}.tmp"


def temporary_folder(above: Path) -> Path:
    """Make a folder for this run alone, after removing those that killed runs left there."""
    remove_leftovers(above)
    folder = above / _mark()
    folder.mkdir(0o700)
    return folder


def _mark() -> str:
    return f"peerfront-{_machine()}-{os.getpid()}-{_RUN}-{next(_NUMBERS)}"


def is_leftover(name: str) -> bool:
    """Whether a file of this name is nobody's work: a temporary file or a lock of peerfront's."""
    return _TEMPORARY.fullmatch(name) is not None or is_lock(name)


def names_in(folder: Path) -> list[str]:
    """The names of everything in a folder except temporary files and locks, sorted; none if there is no folder."""
    return sorted(file.name for file in folder.iterdir() if not is_leftover(file.name)) if folder.is_dir() else []


def remove_leftovers(*folders: Path) -> None:
    """Remove temporary files, folders and locks of runs that have ended; what cannot be removed stays."""
    for folder in folders:
        with contextlib.suppress(OSError):
            for file in list(folder.iterdir()):
                if is_lock(file.name):
                    remove_unheld(file)
                elif (named := _TEMPORARY.fullmatch(file.name)) and _has_ended(named, file):
                    _delete(file)


def _delete(file: Path) -> None:
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            file.unlink()


def _has_ended(named: re.Match[str], file: Path) -> bool:
    """Whether the run that made this file is over."""
    process = int(named["process"])
    if named["machine"] != _machine() or os.name == "nt":  # Windows has no harmless way to ask for a process
        with contextlib.suppress(OSError):
            return time.time() - file.lstat().st_mtime > _OLD
        return False
    if process == os.getpid():
        return named["run"] != _RUN  # an earlier process of the same number, as when a container starts again
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False  # it lives, and is somebody else's
    return False


def _machine() -> str:
    return blake2b(socket.gethostname().encode(), digest_size=3).hexdigest()
