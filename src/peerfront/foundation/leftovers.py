"""Temporary files that say whose they are, and removing those of runs that were killed.

A temporary name holds the machine, the process and a mark of the run that made it, so that nothing of a run that is
still going, and nothing of anybody else's, is ever removed.
"""

import contextlib
import hashlib
import os
import re
import shutil
import socket
import time
from itertools import count
from pathlib import Path
from uuid import uuid4

from peerfront.foundation.locks import is_lock, remove_unheld

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
                    _remove(file)


def _remove(file: Path) -> None:
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
    return hashlib.blake2b(socket.gethostname().encode(), digest_size=3).hexdigest()
