"""The manifest of a back-up: a digest of each file in it with the head of the chain of events, signed by the study.

The chain of events proves itself. Users, roles, contact details, models and site.json are not in it: the manifest
notices whoever changes one of these. Its signature is keyed with the study's secret key, which no back-up holds, so
nobody can change a file and rewrite the manifest without keys.json.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from peerfront.web.live.folder import Keys

_PURPOSE = b"peerfront back-up manifest\n"  # the secret key signs sessions as well, which must not be mistaken


@dataclass(frozen=True)
class Manifest:
    """What a back-up holds."""

    files: Mapping[str, str]
    """SHA-256 by the names of files, in hexadecimal digits."""
    events: int
    head: str
    """The hash of the last event."""

    def text(self, keys: Keys) -> str:
        """The manifest as it is written, signed."""
        return json.dumps({**asdict(self), "signature": self._signature(keys)}, indent=1, sort_keys=True) + "\n"

    def is_signed_with(self, keys: Keys, signature: str) -> bool:
        """Whether the owner of these keys signed just this."""
        return hmac.compare_digest(self._signature(keys).encode(), signature.encode())

    def _signature(self, keys: Keys) -> str:
        told = json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode()
        return hmac.digest(keys.secret_key.encode(), _PURPOSE + told, "sha256").hex()


def read_manifest(content: bytes) -> tuple[Manifest, str]:
    """A manifest and its signature; what is none is a ValueError, KeyError or TypeError."""
    data: dict[str, Any] = json.loads(content)
    files = data["files"]
    if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
        raise ValueError("files have no digests")
    return Manifest(files, int(data["events"]), str(data["head"])), str(data["signature"])


def digest_of(parts: Iterable[bytes]) -> str:
    """The digest of a file that is read part by part."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
