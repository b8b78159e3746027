"""Write files whole or not at all, and never over somebody's work without leave."""

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from peerfront.foundation.errors import DataFileError, OutputExists


def check_output(path: Path, names: Sequence[str] = (), *, overwrite: bool, advice: str = "") -> None:
    """Refuse to write to a path that is taken; touches nothing.

    Without `names` the path is a file. With them it is a folder, and only files of these names are in the way.
    `advice` is added to the message about files that exist.
    """
    if not names:
        if path.is_dir():
            raise OutputExists(f"{path} is a folder. Name a file to write, such as {path / 'NAME'}.")
        if path.exists() and not overwrite:
            raise OutputExists(f"{path} exists already. Use --overwrite to replace it, or choose another name.{advice}")
        return
    if path.exists() and not path.is_dir():
        raise OutputExists(f"{path} is a file. Choose another folder.")
    existing = [name for name in names if (path / name).exists()]
    if existing and not overwrite:
        raise OutputExists(
            f"{path} holds {', '.join(existing)} already. Use --overwrite to replace them, or choose another folder."
            + advice
        )


def make_folder(path: Path) -> None:
    """Make the folder, and those above it, unless they exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DataFileError(f"Cannot use {path} ({problem.strerror}). Choose another folder.") from None


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


def write_text(path: Path, content: str) -> None:
    """Write text as UTF-8, whole or not at all."""
    write_bytes(path, content.encode())


def write_csv(path: Path, content: str) -> None:
    """Write a table's text as UTF-8, with the mark that spreadsheets need unless all of it is ASCII."""
    write_bytes(path, content.encode("utf-8" if content.isascii() else "utf-8-sig"))
