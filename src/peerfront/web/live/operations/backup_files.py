"""The contents of a back-up's file, its signed manifest, and how to read it; needs no database.

The chain of events proves itself. Users, roles, contact details, models and site.json are not in it: the manifest, with
a digest of each file and the head of the chain, shows whether one of these was changed. It is signed with the study's
secret key, which no back-up holds, so nobody can change a file and rewrite the manifest without keys.json.
"""

import hashlib
import hmac
import json
import struct
import weakref
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, cast

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import is_ordinary, make_folder, write_bytes
from peerfront.web.live.folder import Keys, LiveFolder, Serving
from peerfront.web.live.operations.encrypted_files import decrypted, is_encrypted
from peerfront.web.live.rules.chain import Link


@dataclass(frozen=True)
class Manifest:
    """The digests of a back-up's files."""

    files: Mapping[str, str]
    """SHA-256 of each file by its name, in hexadecimal digits."""
    events: int
    head: str
    """The hash of the last event."""

    def text(self, keys: Keys) -> str:
        """The signed manifest as text."""
        return json.dumps({**asdict(self), "signature": self.signature(keys)}, indent=1, sort_keys=True) + "\n"

    def signature(self, keys: Keys) -> str:
        """What shows that the manifest was written by somebody with these keys."""
        content = json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode()
        return keys.signature("back-up manifest", content)


def read_manifest(content: bytes) -> tuple[Manifest, str]:
    """Read a manifest and its signature; raise a ValueError, KeyError or TypeError for anything else."""
    data: dict[str, Any] = json.loads(content)
    files = data["files"]
    if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
        raise ValueError("files have no digests")
    return Manifest(files, int(data["events"]), str(data["head"])), str(data["signature"])


FORMAT = 1
ABOUT, EVENTS, STAFF, CONTACTS, SITE, MODELS, MANIFEST = (
    "about.json", "events.jsonl", "staff.jsonl", "contacts.jsonl", "site.json", "models/", "manifest.json",
)  # fmt: skip
_LONGEST_LINE = 200_000_000  # bytes: an event with a million planned people
_BROKEN = (
    OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error, struct.error,
    NotImplementedError, RuntimeError,
)  # fmt: skip


@dataclass(frozen=True)
class About:
    """The description in a back-up: version, time and contents."""

    peerfront: str
    made_at: str
    events: int
    head: str
    staff: int
    contacts: int


class BackupFile:
    """A back-up open for reading, whose files match its manifest; an encrypted one is opened with its secret."""

    def __init__(self, path: Path, secret: bytes | None = None) -> None:
        self.path = path
        with self.faults_as_errors():
            if path.exists() and not is_ordinary(path):  # a pipe would be waited for
                raise zipfile.BadZipFile
            content: Any = path
            if is_encrypted(path):
                content = decrypted(path, secret)
                weakref.finalize(self, content.close)  # a zip file closes only what it opened itself
            self._archive = zipfile.ZipFile(content)
            about: dict[str, Any] = json.loads(self._archive.read(ABOUT))
            form = about.pop("format")
        if form != FORMAT:
            raise DataFileError("live_backup.other_form", path=path, form=form)
        with self.faults_as_errors():
            self.about = About(**about)
            self.serving = Serving.from_data(json.loads(self._archive.read(SITE)))
            self._manifest, self._signature = read_manifest(self._archive.read(MANIFEST))
        self._check_files(self._manifest)

    def check_signature(self, keys: Keys) -> None:
        """Refuse a back-up that was not signed with these keys."""
        if not hmac.compare_digest(self._manifest.signature(keys).encode(), self._signature.encode()):
            raise DataFileError("live_backup.not_signed", path=self.path)

    def _check_files(self, manifest: Manifest) -> None:
        names = Counter(entry.filename for entry in self._archive.infolist())
        names.pop(MANIFEST)
        odd = (names.keys() ^ manifest.files.keys()) | {name for name, times in names.items() if times > 1}
        for name in names.keys() - odd:
            with self.faults_as_errors(), self._archive.open(name) as file:
                if hashlib.file_digest(cast(Any, file), "sha256").hexdigest() != manifest.files[name]:
                    odd.add(name)
        if (manifest.events, manifest.head) != (self.about.events, self.about.head):
            odd.add(ABOUT)
        if odd:
            code = "live_backup.changed_file" if len(odd) == 1 else "live_backup.changed_files"
            raise DataFileError(code, path=self.path, files=sorted(odd)[:3])

    def links(self) -> Iterator[Link]:
        """The chain of events, not yet checked."""
        for row in self.rows(EVENTS):
            with self.faults_as_errors():
                yield Link(int(row["number"]), str(row["before"]), json.loads(row["data"]), str(row["hash"]))

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The lines of one of its files."""
        with self.faults_as_errors(), self._archive.open(name) as file:
            while line := file.readline(_LONGEST_LINE):
                yield json.loads(line)

    def copy_models(self, folder: Path) -> None:
        """Write the fitted models into a folder; refuse names that lead out of it."""
        for entry in self._archive.infolist():
            if not entry.filename.startswith(MODELS) or entry.is_dir():
                continue
            parts = PurePosixPath(entry.filename).parts[1:]
            if not parts or any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts):
                raise DataFileError("live_backup.odd_name", path=self.path)
            with self.faults_as_errors():
                content = self._archive.read(entry)
            target = folder.joinpath(*parts)
            make_folder(target.parent)
            write_bytes(target, content, private=True)

    @contextmanager
    def faults_as_errors(self) -> Iterator[None]:
        """Turn the exceptions of a damaged back-up into an error that says so."""
        try:
            yield
        except DataFileError:
            raise
        except FileNotFoundError:
            raise DataFileError("live_backup.missing", path=self.path) from None
        except _BROKEN as problem:
            raise DataFileError("live_backup.none", path=self.path, fault=type(problem).__name__) from None


def keys_from(path: Path | None) -> Keys | None:
    """Read the keys, which are kept apart from back-ups; None if none are given."""
    if path is None:
        return None
    if path.name != "keys.json":
        raise DataFileError("live_backup.keys_name", path=path)
    return LiveFolder(path.parent).keys
