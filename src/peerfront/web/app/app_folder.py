"""The folder of one person's study in the app: uploaded files, choices made in forms, and all results.

    harbour/
      files/              the study's files, as uploaded
      schema.toml         how they are read, and which columns plans use
      waiting.csv         the people who wait for coupons
      checked/ model/ sheet.* forecast/ estimates/ report.html      results of the steps
      log.jsonl week-01_2026-03-02/ ...                             the weeks of `peerfront week`
      app/                the choices in the forms, and how each step ended

Paths in it are relative, so that the folder can be moved, and the commands that the app shows work in it.
"""

import hashlib
import json
import re
import threading
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from peerfront.foundation.errors import DamagedFile, DataFileError
from peerfront.foundation.files import make_folder, write_bytes, write_text
from peerfront.foundation.messages import Message, Remedy
from peerfront.foundation.own_files import own_json
from peerfront.words.commands import FILES
from peerfront.words.language import Text
from peerfront.words.stored_text import as_data, restored

STATE = "app"
_LOOK = "app/look.json"
_CHOICES = "app/choices.json"
_KIND = "in words"  # key that marks a sentence or message within stored data
_LONGEST_STEM = 80
_ENDINGS = frozenset(
    (
        *(".csv", ".tsv", ".txt", ".dat", ".tab", ".rdsat", ".json", ".xlsx", ".xlsm", ".rds", ".rdata", ".rda"),
        # Kept under their own ending, which the refusal names:
        *(".xls", ".xlsb", ".ods", ".sav", ".dta", ".zip", ".pdf", ".png", ".jpg", ".jpeg", ".heic"),
    )
)
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)  # names that Windows keeps for devices


class AppFolder:
    """The folder that `peerfront app` works in."""

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise DataFileError("app.no_folder", path=path, other=f"{path.stem}-study")
        self.path = path.resolve()
        self._digests: dict[tuple[Path, int, int, int], bytes] = {}
        self._lock = threading.Lock()  # two tabs may upload or choose at the same time
        make_folder(self.path / FILES)
        make_folder(self.path / STATE)
        for each in (self.path / FILES, self.path / STATE):
            each.chmod(0o700)

    # Files -----------------------------------------------------------------------------------------------------------

    def keep(self, name: str, content: bytes) -> str:
        """Keep an uploaded file under a harmless name and return its path; no earlier file is replaced."""
        stem, ending = _harmless(name)
        number = 1
        with self._lock:
            while True:
                relative = f"{FILES}/{stem}{'' if number == 1 else f'-{number}'}{ending}"
                place = self.path / relative
                if not place.exists():
                    write_bytes(place, content, private=True)
                    return relative
                if place.is_file() and place.read_bytes() == content:
                    return relative
                number += 1

    def has(self, relative: str) -> bool:
        return (self.path / relative).exists()

    def digest(self, relative: str) -> str:
        """A checksum of a file, or of all files of a folder; empty if there is none."""
        place = self.path / relative
        checksum = hashlib.sha256()
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for file in files:
            if not file.name.startswith("."):
                checksum.update(self._file_digest(file))
        return checksum.hexdigest()[:16] if place.exists() else ""

    def _file_digest(self, file: Path) -> bytes:
        """The checksum of a file, cached until the file changes; empty for a folder or a missing file.

        A job may replace files while a page reads them, so a file may vanish at any time.
        """
        try:
            facts = file.stat()
            key = (file, facts.st_mtime_ns, facts.st_size, facts.st_ino)
            if key not in self._digests and file.is_file():
                with file.open("rb") as stream:
                    self._digests[key] = hashlib.file_digest(stream, "sha256").digest()
        except OSError:
            return b""
        return self._digests.get(key, b"")

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self.digest(path) for path in paths if path}

    # Choices and outcomes --------------------------------------------------------------------------------------------

    @property
    def choices(self) -> dict[str, Any]:
        """The choices made in the forms, by form."""
        return self.read(_CHOICES)

    def choose(self, **changed: Any) -> None:
        """Save the choices of some forms; those of other forms stay."""
        with self._lock:
            self.write(_CHOICES, {**self.choices, **changed})

    @property
    def contents(self) -> dict[str, Any]:
        """The contents of the uploaded file (`file_look`); empty if there is none, or it was not read yet."""
        content = self.read(_LOOK)
        return content if content.get("file") == self.choices.get("file") else {}

    def write_contents(self, content: Mapping[str, Any]) -> None:
        self.write(_LOOK, content)

    def outcome(self, step: str) -> dict[str, Any]:
        """The order and the result or error of a step's last run; empty if it never ended."""
        return self.read(f"{STATE}/{step}.json")

    def write_outcome(self, step: str, outcome: Mapping[str, Any]) -> None:
        self.write(f"{STATE}/{step}.json", outcome)

    def read(self, relative: str) -> dict[str, Any]:
        """Read one of the app's own files; a damaged one counts as missing, so that the step is repeated."""
        return read_data(self.path / relative)

    def write(self, relative: str, content: Mapping[str, Any]) -> None:
        write_data(self.path / relative, content)


def write_data(file: Path, content: Mapping[str, Any]) -> None:
    """Write values, sentences and messages as JSON; sentences stay data, to be shown in any language."""
    write_text(file, json.dumps(_stored(content), ensure_ascii=False, indent=1) + "\n", private=True)


def read_data(file: Path) -> dict[str, Any]:
    """Read what `write_data` wrote; empty if the file is missing or damaged."""
    try:
        return {name: _restored(each, file) for name, each in own_json(file, {}).items()}
    except DamagedFile:
        return {}


def _stored(value: Any) -> Any:
    if isinstance(value, Text | Message | Remedy):
        return {_KIND: as_data(value)}
    if isinstance(value, Mapping):
        return {str(name): _stored(each) for name, each in value.items()}
    return [_stored(each) for each in value] if isinstance(value, list | tuple) else as_data(value)


def _restored(value: Any, file: Path) -> Any:
    if isinstance(value, dict) and _KIND in value:
        return restored(value[_KIND], file)
    if isinstance(value, dict):
        return {name: _restored(each, file) for name, each in value.items()}
    return [_restored(each, file) for each in value] if isinstance(value, list) else value


def _harmless(name: str) -> tuple[str, str]:
    """A safe stem and ending for an uploaded file: plain letters, digits, - and _ only."""
    last = PurePosixPath(name.replace("\\", "/")).name
    stem, dot, ending = last.rpartition(".")
    if not dot:
        stem, ending = last, ""
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", plain).strip("-_")[:_LONGEST_STEM].rstrip("-_")
    ending = f".{ending.lower()}"
    if _RESERVED.fullmatch(plain):
        plain = f"study-{plain}"
    return plain or "study", ending if ending in _ENDINGS else ".txt"
