"""How the machine is used: one thread for what must come out the same everywhere, and a place for compiled code.

With several threads, sums of floating-point numbers are added up in another order, and the last bits of a trained
network differ: another number of cores would give another model. Commands share large work among processes instead.

Numba keeps what it has compiled beside the source, or else in the user's cache folder. A read-only installation without
a home has neither, and Numba would refuse to work. It then gets a folder among the temporary files: a private one,
because Numba runs what it finds there.
"""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

THREADS = 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread; put back afterwards what was set before."""
    import scipy.linalg  # noqa: F401 - limits hold for what is loaded: NumPy's and SciPy's linear algebra
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=THREADS):
        yield


_VARIABLE = "NUMBA_CACHE_DIR"
_COMPILED = ("gfp", "baselines", "bounds", "models/offspring")  # rooms with compiled code


def place_compiled_code(package: Path) -> None:
    """Name a folder for compiled code unless there is one that can be written."""
    if os.environ.get(_VARIABLE) or all(can_hold(package / room / "__pycache__") for room in _COMPILED):
        return
    if (home := _user_cache()) is not None and can_hold(home):
        return
    os.environ[_VARIABLE] = str(_private_folder())
    if (numba := sys.modules.get("numba")) is not None:
        numba.config.CACHE_DIR = os.environ[_VARIABLE]


def compiled_code_place() -> str | None:
    """The folder that was named for compiled code; None if it lies beside the source or in the user's cache."""
    return os.environ.get(_VARIABLE) or None


def can_hold(folder: Path) -> bool:
    """Whether files can be written in the folder, or it can be made."""
    try:
        nearest = next(each for each in (folder, *folder.parents) if each.exists())
    except OSError:
        return False
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _user_cache() -> Path | None:
    """Where Numba keeps a user's compiled code; None for a user without a home."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if sys.platform == "win32":
        named = os.environ.get("LOCALAPPDATA", "")
    folder = Path(named or os.path.expanduser("~/.cache"))  # noqa: PTH111 - Path.expanduser raises where there is no home
    return folder if folder.is_absolute() else None


def _private_folder() -> Path:
    """The user's own folder for temporary files, the same each time; a new one if somebody else made it."""
    import tempfile

    user = os.getuid() if hasattr(os, "getuid") else os.getpid()
    folder = Path(tempfile.gettempdir()) / f"peerfront-compiled-{user}"
    try:
        folder.mkdir(0o700, exist_ok=True)
        status = folder.lstat()
        own = not hasattr(os, "getuid") or (status.st_uid == user and not status.st_mode & 0o077)
        if stat.S_ISDIR(status.st_mode) and own:
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="peerfront-compiled-"))
