"""A store of costly results, named by everything they depend on, so that nothing is made twice.

A result's name is a hash of its identity: what it is, the contents of data files, and the program that made it. Any
change gives another name, so what is read is what would be made. Files are written under a temporary name and renamed,
and carry a checksum: after a crash, or `kill -9`, a result is there in full or not at all.

The files are pickles, made for the machine that wrote them. They are a cache and not for exchange.
"""

import dataclasses
import hashlib
import json
import pickle
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import peerfront
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import write_bytes

T = TypeVar("T")
Identity = Mapping[str, Any]
"""What a result depends on; anything JSON can hold, and dataclasses of that."""

_LIBRARIES = ("numpy", "scipy", "numba", "pandas", "networkx", "joblib", "torch")
_CANNOT_CHANGE_RESULTS = (
    "advice/",
    "artifacts.py",
    "cli/",
    "data/",
    "environment.py",
    "experiments/compare.py",
    "experiments/folder.py",
    "experiments/reproduction.py",
    "experiments/reproduction_report.py",
    "experiments/reproduction_tables.py",
    "experiments/results.py",
    "experiments/tables.py",
    "foundation/claims.py",
    "foundation/figures.py",
    "foundation/files.py",
    "foundation/leftovers.py",
    "foundation/locks.py",
    "foundation/progress.py",
    "foundation/words.py",
    "simulation/demo_study.py",
)
"""Files and folders that order, keep or show results, or serve other purposes; a change there spoils no result."""
_CHECKSUM = 32  # bytes of SHA-256 in front of the pickle


@dataclass(frozen=True)
class Store:
    """A folder of results. `folder=None` keeps nothing: everything is made when it is needed."""

    folder: Path | None = None

    def find_or_make(self, kind: str, identity: Identity, make: Callable[[], T]) -> T:
        """The result of this identity: read if it is here, else made and kept."""
        if self.folder is None:
            return make()
        stored = self._read(self._file(kind, identity))
        if stored is None:
            stored = (make(),)
            self._write(self._file(kind, identity), stored)
        result: T = stored[0]
        return result

    def has(self, kind: str, identity: Identity) -> bool:
        """Whether the result is here, in full."""
        return self.folder is not None and self._read(self._file(kind, identity)) is not None

    def _file(self, kind: str, identity: Identity) -> Path:
        assert self.folder is not None, "called only where there is a folder"
        text = json.dumps(identity, sort_keys=True, default=_plain)
        return self.folder / f"{kind}-{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}.pickle"

    def _read(self, file: Path) -> tuple[Any] | None:
        try:
            content = file.read_bytes()
        except OSError:
            return None
        checksum, body = content[:_CHECKSUM], content[_CHECKSUM:]
        if hashlib.sha256(body).digest() != checksum:
            return None
        return (pickle.loads(body),)

    def _write(self, file: Path, result: tuple[Any]) -> None:
        body = pickle.dumps(result[0], protocol=pickle.HIGHEST_PROTOCOL)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DataFileError(f"Cannot use {file.parent} for results ({problem}). Choose another folder.") from None
        write_bytes(file, hashlib.sha256(body).digest() + body)


NO_STORE = Store()


@dataclass(frozen=True)
class StoreSection:
    """A place in the store for the parts of one thing; `identity`, which names it, is text so that it can be hashed."""

    store: Store
    identity: str

    def find_or_make(self, part: str, make: Callable[[], T]) -> T:
        return self.store.find_or_make(part, {"of": self.identity}, make)


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
        except PackageNotFoundError:  # pragma: no cover - all are dependencies
            made_by[library] = "not installed"
    return made_by


def digest(files: Any) -> str:
    """A short hash of the contents of files, in order."""
    hashed = hashlib.blake2b(digest_size=8)
    for file in files:
        hashed.update(file.read_bytes())
    return hashed.hexdigest()
