"""What a back-up's file holds, and reading it; needs no database."""

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from peerfront.foundation.errors import DataFileError
from peerfront.live.folder import Keys, LiveFolder, Serving
from peerfront.live.rules.chain import Link

FORMAT = 1
ABOUT, EVENTS, STAFF, CONTACTS, SITE, MODELS = (
    "about.json", "events.jsonl", "staff.jsonl", "contacts.jsonl", "site.json", "models/",
)  # fmt: skip
_LONGEST_LINE = 200_000_000  # bytes: an event with a million planned people
_BROKEN = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class About:
    """What a back-up says about itself."""

    peerfront: str
    made_at: str
    events: int
    head: str
    staff: int
    contacts: int


class BackupFile:
    """A back-up that is open for reading; whatever is wrong with it is told in words."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._told():
            self._archive = zipfile.ZipFile(path)
            said: dict[str, Any] = json.loads(self._archive.read(ABOUT))
            form = said.pop("format")
            self.about = About(**said)
            served = json.loads(self._archive.read(SITE))
            self.serving = Serving(tuple(served["hosts"]), bool(served["tls"]), str(served["language"]))
        if form != FORMAT:
            raise DataFileError(f"{path} is a back-up of another form ({form}). Use a newer version of peerfront.")

    def close(self) -> None:
        self._archive.close()

    def links(self) -> Iterator[Link]:
        """The chain of events, not yet checked."""
        for row in self.rows(EVENTS):
            with self._told():
                yield Link(int(row["number"]), str(row["before"]), json.loads(row["data"]), str(row["hash"]))

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The lines of one of its files."""
        with self._told(), self._archive.open(name) as file:
            while line := file.readline(_LONGEST_LINE):
                yield json.loads(line)

    def copy_models(self, folder: Path) -> None:
        """Write the fitted models into a folder; names that would lead out of it are refused."""
        for entry in self._archive.infolist():
            if not entry.filename.startswith(MODELS) or entry.is_dir():
                continue
            parts = PurePosixPath(entry.filename).parts[1:]
            if not parts or any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts):
                raise DataFileError(f"{self.path} holds a file with a name that no back-up has. Use another back-up.")
            target = folder.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            with self._told():
                target.write_bytes(self._archive.read(entry))

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise DataFileError(f"There is no file {self.path}. Name a back-up.") from None
        except _BROKEN as problem:
            raise DataFileError(
                f"{self.path} is no back-up of a live study, or is damaged ({type(problem).__name__}). Use another one."
            ) from None


def keys_from(path: Path | None) -> Keys | None:
    """Keys that were kept apart from the back-ups; None if none are given."""
    if path is None:
        return None
    if path.name != "keys.json":
        raise DataFileError(f"{path} is not called keys.json. Name the study's own keys.json.")
    return LiveFolder(path.parent).keys
