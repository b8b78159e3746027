"""A store of costly results, named by everything they depend on, so that nothing is made twice.

A result's name is a hash of its identity: what it is, the contents of data files, and the program that made it. Any
change gives another name, so what is read is what would be made. Files are written under a temporary name and renamed,
and carry a checksum: after a crash, or `kill -9`, a result is there in full or not at all.

The files are data, not code: arrays and settings in safetensors, read strictly. A folder from elsewhere can hold wrong
numbers, but it cannot run anything. What is damaged, or not what it should be, counts as missing and is made again.
"""

import dataclasses
import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import peerfront
from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.files import LARGEST_FILE, write_bytes
from peerfront.foundation.own_files import own_bytes
from peerfront.foundation.stored import Stored

T = TypeVar("T")
Identity = Mapping[str, Any]
"""What a result depends on; anything JSON can hold, and dataclasses of that."""

_LIBRARIES = ("numpy", "scipy", "numba", "pandas", "networkx", "joblib", "torch")
_CANNOT_CHANGE_RESULTS = (
    "cli/",
    "data/",
    "environment.py",
    "estimates/",
    "experiments/comparison_run.py",
    "experiments/result_folder.py",
    "experiments/reproduction.py",
    "experiments/reproduction_tables.py",
    "experiments/results.py",
    "foundation/files.py",
    "foundation/pictures.py",
    "foundation/locks.py",
    "study/",
    "web/",
    "words/",
)
"""Files and folders that order, keep or show results, or serve other purposes; a change there spoils no result."""
_SETTINGS, _CHECKSUM = "settings", "sha256"  # in the file's own metadata
_NOT_WHAT_IT_SHOULD_BE = (
    SafetensorError,
    PeerfrontError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class Form(Generic[T]):
    """How results of one kind are written down, and made again."""

    stored: Callable[[T], Stored | None]
    """None for a result that cannot be kept; it is made anew each time."""
    restored: Callable[[Stored], T]
    """Raises an error for what is not such a result."""


@dataclass(frozen=True)
class Store:
    """A folder of results."""

    folder: Path

    def find_or_make(self, kind: str, identity: Identity, make: Callable[[], T], form: Form[T]) -> T:
        """The result of this identity: read if it is here, else made and kept."""
        text = json.dumps(identity, sort_keys=True, default=_plain)
        file = self.folder / f"{kind}-{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}.safetensors"
        stored = _read(file)
        if stored is not None:
            try:
                return form.restored(stored)
            except _NOT_WHAT_IT_SHOULD_BE:
                pass  # made again below
        result = make()
        if (content := form.stored(result)) is not None:
            _write(file, content)
        return result


def _read(file: Path) -> Stored | None:
    """What the file holds; None if it is not there, or damaged."""
    try:
        content = own_bytes(file, LARGEST_FILE)
        arrays = {name: array.copy() for name, array in load_arrays(content).items()}
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        written = header["__metadata__"]
        settings = written[_SETTINGS]
        if written[_CHECKSUM] != _checksum(settings, arrays):
            return None
        return Stored(json.loads(settings), arrays, "the store")
    except _NOT_WHAT_IT_SHOULD_BE:
        return None


def _write(file: Path, stored: Stored) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DataFileError("result_store.cannot_use", path=file.parent, problem=str(problem)) from None
    arrays = {name: np.ascontiguousarray(array) for name, array in stored.arrays.items()}
    settings = json.dumps(dict(stored.settings), default=np.generic.item)
    about = {_SETTINGS: settings, _CHECKSUM: _checksum(settings, arrays)}
    write_bytes(file, save_arrays(arrays, metadata=about))


def _checksum(settings: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    hashed = hashlib.sha256(settings.encode())
    for name, array in sorted(arrays.items()):
        hashed.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        hashed.update(array.tobytes())
    return hashed.hexdigest()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return str(value)


@lru_cache(maxsize=1)
def program() -> Mapping[str, str]:
    """The program that makes results: the source of all that can change them, and the libraries below."""
    root = Path(peerfront.__file__).parent
    made_by = {
        "python": platform.python_version(),
        "peerfront": peerfront.__version__,
        "source": digest(
            file
            for file in sorted(root.rglob("*.py"))
            if not file.relative_to(root).as_posix().startswith(_CANNOT_CHANGE_RESULTS)
        ),
    }
    for library in _LIBRARIES:
        try:
            made_by[library] = version(library)
        except PackageNotFoundError:  # of an extra
            made_by[library] = "not installed"
    return made_by


def digest(files: Any) -> str:
    """A short hash of the contents of files, in order."""
    hashed = hashlib.blake2b(digest_size=8)
    for file in files:
        hashed.update(file.read_bytes())
    return hashed.hexdigest()
