"""The folder of a live study: keys, server settings, database (unless DATABASE_URL names another), models.

keys.json       secret keys, readable by their owner only; never in a back-up of the database, never in the database
site.json       how the study is served: host names, whether behind TLS, language
study.sqlite3   the records, if DATABASE_URL does not name a PostgreSQL database
unfinished      only while a study begins or is restored; a folder that still has it was interrupted
unwiped         only while the database's files hold what was erased (`records.leftovers`)
models/         fitted models by their fingerprints
backups/        back-ups
jobs/           files that are being imported
logs/           the server's log, without personal data
heads.jsonl     heads of the chain of events, signed with the secret key, with which `verify` compares the database
"""

import hmac
import ipaddress
import json
import logging
import os
import re
import secrets
import stat
import time
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from cryptography.fernet import Fernet

from peerfront.foundation.errors import DamagedFile, DataFileError, SettingError
from peerfront.foundation.files import write_text
from peerfront.foundation.messages import note
from peerfront.foundation.own_files import own_json
from peerfront.words.language import PAGE_LANGUAGES

PASSWORD_FILE = "DATABASE_PASSWORD_FILE"
"""The environment variable that names a file with the password of the database, if DATABASE_URL has none."""
FOLDER = "PEERFRONT_LIVE_FOLDER"
"""The environment variable that names the folder to the server and its workers."""
UNFINISHED = "unfinished"
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True)
class Keys:
    """The secret keys of a study."""

    secret_key: str
    """Signs sessions and forms."""
    contact_key: str
    """Encrypts contact details; without it they cannot be read."""

    @classmethod
    def drawn(cls) -> "Keys":
        return cls(secrets.token_urlsafe(50), Fernet.generate_key().decode())

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Keys":
        """Read keys from the data of keys.json; raise a ValueError that does not quote an invalid key."""
        keys = cls(**data)
        if not isinstance(keys.secret_key, str) or len(keys.secret_key) < 32:
            raise ValueError("secret_key must be a text of at least 32 characters")
        try:
            Fernet(keys.contact_key)
        except (TypeError, ValueError, AttributeError):
            raise ValueError("contact_key is no key") from None
        return keys

    def signature(self, purpose: str, content: bytes | str) -> str:
        """What only somebody with these keys can compute; signatures for one purpose are of no use for another."""
        data = content.encode() if isinstance(content, str) else content
        return hmac.digest(self.secret_key.encode(), f"peerfront {purpose}\n".encode() + data, "sha256").hex()

    @property
    def checks(self) -> tuple[tuple[str, str], ...]:
        """Check values, by which each key can be recognised but not found out; they stand in the chain of events."""
        contact = hmac.digest(self.contact_key.encode(), b"peerfront key check\n", "sha256").hex()
        return ("secret_key", self.signature("key check", "")[:16]), ("contact_key", contact[:16])


@dataclass(frozen=True)
class Serving:
    """How the study is served."""

    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    """Names by which browsers reach the server."""
    tls: bool = False
    """Whether a proxy in front speaks HTTPS; cookies are then sent over HTTPS only."""
    language: str = "en"

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Serving":
        """Read the data of site.json, which people edit; a ValueError says what cannot be used."""
        hosts, tls, language = data["hosts"], data["tls"], data["language"]
        if not isinstance(hosts, list) or not hosts or not all(isinstance(each, str) for each in hosts):
            raise ValueError(note("live_folder.hosts_list"))
        if bad := [each for each in hosts if not is_host(each)]:
            raise ValueError(note("live_folder.bad_host", host=bad[0], form=HOST_FORM))
        if not isinstance(tls, bool):
            raise ValueError(note("live_folder.tls"))
        if language not in PAGE_LANGUAGES:
            raise ValueError(note("live_folder.language", languages=list(PAGE_LANGUAGES)))
        return cls(tuple(hosts), tls, language)

    @property
    def names_in_addresses(self) -> list[str]:
        """The hosts as written in the address of a page: IPv6 addresses in brackets."""
        return [f"[{host}]" if ":" in host else host for host in self.hosts]

    def address(self, port: int = 8000) -> str:
        """The study's address, with the first of its host names."""
        name = self.names_in_addresses[0]
        return f"https://{name}" if self.tls else f"http://{name}:{port}"


K = TypeVar("K", Keys, Serving)


@dataclass(frozen=True)
class LiveFolder:
    """The folder of one study."""

    path: Path

    @property
    def keys(self) -> Keys:
        return self._read("keys.json", Keys)

    @property
    def serving(self) -> Serving:
        return self._read("site.json", Serving)

    @property
    def models(self) -> Path:
        return self.path / "models"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def heads(self) -> Path:
        return self.path / "heads.jsonl"

    @property
    def unwiped(self) -> Path:
        return self.path / "unwiped"

    @property
    def sqlite_file(self) -> Path:
        return self.path / "study.sqlite3"

    @property
    def database(self) -> dict[str, Any]:
        """Django's description of the database: DATABASE_URL, or a file of SQLite in this folder."""
        url = os.environ.get("DATABASE_URL", "")
        return postgresql(url) if url else sqlite(self.sqlite_file)

    def check_database(self) -> None:
        """Refuse another database than the study's own, as when DATABASE_URL is forgotten or left over."""
        url = os.environ.get("DATABASE_URL", "")
        if url and self.sqlite_file.exists():
            raise SettingError("live_folder.two_databases", path=self.path)
        if not url and not self.sqlite_file.exists():
            raise SettingError("live_folder.no_database", path=self.path)

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def check_new(self) -> None:
        """Refuse a folder that holds a study, or something else."""
        self.check_finished()
        try:
            is_taken = self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir()))
        except OSError as problem:
            raise DataFileError("live_folder.unusable", path=self.path, problem=problem.strerror) from None
        if (self.path / "keys.json").exists():
            raise SettingError("live_folder.holds_study", path=self.path)
        if is_taken:
            raise SettingError("live_folder.not_empty", path=self.path)

    def check_finished(self) -> None:
        """Refuse a folder that a killed `init` or restore has left behind."""
        if os.path.lexists(self.path / UNFINISHED):
            raise SettingError("live_folder.unfinished", path=self.path)

    def create(self, serving: Serving, keys: Keys | None = None) -> None:
        """Create the folder, with new keys unless some are given; refuse an existing study."""
        self.check_new()
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.chmod(0o700)  # also if an empty one existed
            self.models.mkdir(exist_ok=True, mode=0o700)
            self.backups.mkdir(exist_ok=True, mode=0o700)
        except OSError as problem:
            raise DataFileError("live_folder.cannot_make", path=self.path, problem=problem.strerror) from None
        self.write_keys(keys or Keys.drawn())
        write_text(self.path / "site.json", json.dumps(asdict(serving), indent=2) + "\n", private=True)

    def close_to_others(self) -> None:
        """Let nobody but the owner read or change what is in the folder, such as one that was copied or unpacked."""
        for path in (self.path, *self.path.rglob("*")):
            with suppress(OSError):  # somebody else's, or gone meanwhile
                mode = path.lstat().st_mode
                if mode & 0o077 and not stat.S_ISLNK(mode):
                    path.chmod(stat.S_IMODE(mode) & 0o700)

    def write_keys(self, keys: Keys) -> None:
        """Write the keys, readable by their owner only from the first moment."""
        write_text(self.path / "keys.json", json.dumps(asdict(keys), indent=2) + "\n", private=True)

    def _read(self, name: str, kind: type[K]) -> K:
        path = self.path / name
        try:
            data = own_json(path, {})
        except DamagedFile as problem:
            if problem.fault.code == "own_files.missing" or not self.path.is_dir():
                raise DataFileError("live_folder.no_study", path=self.path, name=name) from None
            raise DataFileError("live_folder.unreadable", path=path, problem=problem.fault, name=name) from None
        names = set(kind.__dataclass_fields__)
        if data.keys() != names:
            raise DataFileError("live_folder.wrong_names", path=path, names=sorted(names), name=name)
        try:
            return kind.from_data(data)
        except ValueError as problem:
            raise DataFileError("live_folder.bad_entry", path=path, problem=problem.args[0]) from None


HOST_FORM = note("live_folder.host_form")
"""How a host is written."""


def is_host(text: str) -> bool:
    """Whether browsers can reach a server by this name or address."""
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return _HOST_NAME.fullmatch(text) is not None
    return "%" not in text  # no zones, such as fe80::1%eth0


def sqlite(path: Path) -> dict[str, Any]:
    """An SQLite file: readers never wait, writers lock at once, and committed data are on disk.

    Erased data are overwritten with zeros, which not every build of SQLite does by default.
    """
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;",
        },
        "CONN_MAX_AGE": None,
    }


def postgresql(url: str) -> dict[str, Any]:
    """A PostgreSQL database by its URL, such as postgresql://user:password@host/name, as `psql` reads it."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts: dict[str, Any] = conninfo_to_dict(url) if url.startswith(("postgresql://", "postgres://")) else {}
    except (ProgrammingError, UnicodeError, ValueError):  # their messages may quote a part of the password
        parts = {}
    if not parts.get("dbname") or re.fullmatch(r"[\d,]*", str(parts.get("port", ""))) is None:
        raise SettingError("live_folder.database_url")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.pop("dbname"),
        "USER": parts.pop("user", ""),
        "PASSWORD": parts.pop("password", "") or _password_from_file(),
        "HOST": parts.pop("host", ""),
        "PORT": str(parts.pop("port", "")),
        "OPTIONS": parts,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }


def _password_from_file() -> str:
    path = os.environ.get(PASSWORD_FILE, "")
    try:
        return Path(path).read_text("utf-8").rstrip("\r\n") if path else ""
    except (OSError, UnicodeError) as problem:
        why = getattr(problem, "strerror", None) or type(problem).__name__
        raise SettingError("live_folder.password_file", variable=PASSWORD_FILE, path=path, problem=why) from None


class WithoutPersonalData(logging.Formatter):
    """Format a line of a log without the parts of messages and errors that may quote somebody's entry."""

    converter = staticmethod(time.gmtime)  # times in UTC

    def format(self, record: logging.LogRecord) -> str:
        line = logging.makeLogRecord(record.__dict__ | {"exc_text": None})
        if not record.name.startswith("peerfront"):
            # Messages of Django and others quote addresses and users, mostly in their arguments.
            line.msg, line.args = (str(record.msg) if record.args else "(message left out)"), ()
        return super().format(line)

    def formatException(self, ei: Any) -> str:  # noqa: N802  # the name is the standard library's
        kind, _, trace = ei
        places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
        return "\n".join([f"{kind.__name__ if kind else 'error'}, at:", *(f"  {place}" for place in places)])
