"""The folder of a live study: its keys, how it is served, its database (unless DATABASE_URL names another), its models.

keys.json       secret keys, readable by their owner only; never in a back-up of the database, never in the database
site.json       how the study is served: host names, whether behind TLS, language
study.sqlite3   the records, if DATABASE_URL does not name a PostgreSQL database
models/         fitted models by their fingerprints
backups/        back-ups
logs/           the server's log, without personal data
"""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from cryptography.fernet import Fernet

from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.files import write_text

FOLDER = "PEERFRONT_LIVE_FOLDER"
"""The environment variable that names the folder to the server and its workers."""


@dataclass(frozen=True)
class Keys:
    """What must stay secret."""

    secret_key: str
    """Signs sessions and forms."""
    contact_key: str
    """Encrypts contact details; without it they cannot be read."""

    @classmethod
    def drawn(cls) -> "Keys":
        return cls(secrets.token_urlsafe(50), Fernet.generate_key().decode())


@dataclass(frozen=True)
class Serving:
    """How the study is reached."""

    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    """Names by which browsers reach the server."""
    tls: bool = False
    """Whether a proxy in front speaks HTTPS; cookies are then sent over HTTPS only."""
    language: str = "en"

    def address(self, port: int = 8000) -> str:
        """Where browsers find the study: the first of its names."""
        name = f"[{self.hosts[0]}]" if ":" in self.hosts[0] else self.hosts[0]
        return f"https://{name}" if self.tls else f"http://{name}:{port}"


@dataclass(frozen=True)
class LiveFolder:
    """Where everything of one study is."""

    path: Path

    @property
    def keys(self) -> Keys:
        return Keys(**self._read("keys.json", set(Keys.__dataclass_fields__)))

    @property
    def serving(self) -> Serving:
        data = self._read("site.json", set(Serving.__dataclass_fields__))
        return Serving(tuple(data["hosts"]), bool(data["tls"]), str(data["language"]))

    @property
    def models(self) -> Path:
        return self.path / "models"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def database(self) -> dict[str, Any]:
        """Django's description of the database: DATABASE_URL, or a file of SQLite in this folder."""
        url = os.environ.get("DATABASE_URL", "")
        return postgresql(url) if url else sqlite(self.path / "study.sqlite3")

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def check_new(self) -> None:
        """Refuse a folder that holds a study, or something else."""
        if (self.path / "keys.json").exists():
            raise SettingError(f"{self.path} holds a live study already. Choose another folder, or serve that study.")
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise SettingError(f"{self.path} is not an empty folder. Choose another name.")

    def create(self, serving: Serving, keys: Keys | None = None) -> None:
        """Make the folder, with new keys unless some are given; an existing study is refused."""
        self.check_new()
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as problem:
            raise DataFileError(f"{self.path} cannot be made ({problem.strerror}). Choose another folder.") from None
        self.models.mkdir(exist_ok=True)
        self.backups.mkdir(exist_ok=True)
        self.write_keys(keys or Keys.drawn())
        self.write_serving(serving)

    def write_keys(self, keys: Keys) -> None:
        """Write the keys, readable by their owner only from the first moment."""
        before = os.umask(0o177)
        try:
            write_text(self.path / "keys.json", json.dumps(asdict(keys), indent=2) + "\n")
        finally:
            os.umask(before)

    def write_serving(self, serving: Serving) -> None:
        write_text(self.path / "site.json", json.dumps(asdict(serving), indent=2) + "\n")

    def _read(self, name: str, names: set[str]) -> dict[str, Any]:
        path = self.path / name
        try:
            data = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise DataFileError(
                f"{self.path} is not the folder of a live study: it has no {name}."
                " Make one with: peerfront live init FOLDER."
            ) from None
        except (OSError, ValueError) as error:
            raise DataFileError(f"{path} cannot be read: {error}. Put the study's own {name} back.") from None
        if not isinstance(data, dict) or data.keys() != names:
            raise DataFileError(
                f"{path} must have exactly {', '.join(sorted(names))}. Put the study's own {name} back."
            )
        return data


def sqlite(path: Path) -> dict[str, Any]:
    """A file of SQLite: readers never wait, a writer takes its lock at once, and what is committed is on disk.

    What is erased is overwritten with zeros, which not every build of SQLite does unasked.
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
    """A database of PostgreSQL by its URL, such as postgresql://user:password@host/name."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/"):
        raise SettingError("DATABASE_URL must be like postgresql://user:password@host:5432/name, or not be set at all.")
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or parts.hostname or ""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }
