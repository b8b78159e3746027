"""Claim an output before the work that fills it: what cannot be written is noticed now, and nobody else writes there.

A claim makes the folder, if there is none, and holds a lock in it until the work is done (`locks.py`). What a claim
made and the work did not fill is removed again: a command that fails leaves no trace.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import check_output, output_path
from peerfront.foundation.leftovers import remove_leftovers
from peerfront.foundation.locks import lock_name, locked
from peerfront.foundation.messages import Message

_HELD: set[tuple[int, Path]] = set()  # (thread, lock): a claim within a claim of the same thread is granted


@contextmanager
def claimed(
    path: Path,
    names: Sequence[str] = (),
    *,
    overwrite: bool,
    advice: str | Message = "",
    inputs: Iterable[Path] = (),
    make_folder: bool = True,
) -> Iterator[None]:
    """Claim a file, or (with `names`) files of a folder; `check_output`, which explains the rest, is asked first.

    The folder a file is in is made unless it exists, or its absence is an error (`make_folder`).
    """
    read = tuple(inputs)

    def check() -> None:
        check_output(path, names, overwrite=overwrite, advice=advice, inputs=read)

    if names:
        with claimed_folder(path, check):
            yield
        return
    check()
    target = output_path(path)
    if not make_folder and not target.parent.exists():
        raise DataFileError("outputs.no_folder", folder=path.parent)
    with _claimed(path, target.parent, lock_name(target.name), check):
        yield


@contextmanager
def claimed_folder(path: Path, check: Callable[[], None], within: Sequence[str] = ()) -> Iterator[None]:
    """Claim a whole folder. `check` refuses one that is taken; `within` are folders in it that results are kept in."""
    check()
    folder = output_path(path)
    with _claimed(path, folder, lock_name(), check):
        remove_leftovers(*(folder / name for name in within))
        yield


@contextmanager
def _claimed(path: Path, folder: Path, lock: str, check: Callable[[], None]) -> Iterator[None]:
    own = (threading.get_ident(), folder / lock)
    if own in _HELD:
        yield
        return
    made = _make(folder)
    try:
        with locked(folder / lock, str(path)):
            _HELD.add(own)
            try:
                remove_leftovers(folder)
                if not made:
                    check()  # again: whoever held the lock may have written something
                yield
            finally:
                _HELD.discard(own)
    finally:
        _unmake(made)


def _make(folder: Path) -> list[Path]:
    """Make the folder and those above it; returns those that were made, outermost first."""
    made: list[Path] = []
    if folder.exists() and not folder.is_dir():
        raise DataFileError("outputs.folder_is_file", folder=folder)
    for each in [each for each in (folder, *folder.parents) if not each.exists()][::-1]:
        try:
            each.mkdir(exist_ok=True)
        except OSError as problem:
            _unmake(made)
            raise DataFileError("outputs.unusable", path=folder, problem=problem.strerror) from None
        made.append(each)
    return made


def _unmake(made: Sequence[Path]) -> None:
    for each in reversed(made):
        with contextlib.suppress(OSError):  # not empty: the work was done
            each.rmdir()
