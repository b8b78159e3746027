"""Writing files so that nothing is ever half there."""

from pathlib import Path
from uuid import uuid4

from peerfront.foundation.errors import DataFileError


def write_bytes(path: Path, content: bytes) -> None:
    """Write under a temporary name, then rename: readers see the old file or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:12]}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as problem:
        raise DataFileError(f"Cannot write {path} ({problem}). Free some space or choose another folder.") from None
    finally:
        temporary.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """The folder, and those above it, if they are not there yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DataFileError(f"Cannot use {path} ({problem.strerror}). Choose another folder.") from None


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode())
