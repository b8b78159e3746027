"""Writing files so that nobody ever sees half of one."""

import os
from pathlib import Path

from peerfront.errors import DataFileError


def write_bytes(path: Path, content: bytes) -> None:
    """Write under a temporary name, then rename: readers see the old file or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as problem:
        raise DataFileError(f"Cannot write {path} ({problem}). Free some space or choose another folder.") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode())
