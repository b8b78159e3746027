"""Read a file that people give: an ordinary file, not too large, and its text in whatever encoding it was saved.

Pipes, devices and folders are refused before they are opened: reading one could wait for ever, or never end. Files that
are no text get an error that says how to export them.
"""

import codecs
import stat
from dataclasses import dataclass
from pathlib import Path

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, note

LARGEST_FILE = 2**30
"""Bytes of the largest file that is read; a study of a million people takes a tenth of it."""
_MARK_OF_ZIP = b"PK\x03\x04"
_MARK_OF_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # the stream that holds a workbook protected by a password
_MAGIC = (
    (_MARK_OF_ZIP, "files.workbook"),
    (_MARK_OF_OLE, "files.old_workbook"),
    (b"\x1f\x8b", "files.compressed"),
    (b"\xfd7zXZ", "files.compressed"),
    (b"$FL2", "files.spss"),
    (b"$FL3", "files.spss"),
    (b"<stata_dta>", "files.stata"),
    (b"%PDF", "files.pdf"),
)
_KINDS = (
    (stat.S_ISDIR, note("files.folder")),
    (stat.S_ISFIFO, note("files.pipe")),
    (stat.S_ISSOCK, note("files.socket")),
    (stat.S_ISCHR, note("files.device")),
    (stat.S_ISBLK, note("files.device")),
)
# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


@dataclass(frozen=True)
class Note:
    """A remark about a file that its user should see."""

    kind: str
    """A kind of problem: encoding, unnamed-column, ..."""
    row: int | None
    """Place in the file; None: the whole file."""
    message: Message
    column: str = ""
    """The column it is about, if it is one."""


def file_bytes(path: Path) -> bytes:
    """Read a whole file, which must be an ordinary one and not empty."""
    content = _ordinary_bytes(path)
    if not content.strip():
        raise DataFileError("files.empty", path=path)
    return content


def is_ordinary(path: Path) -> bool:
    """Tell whether there is an ordinary file of this name, neither a folder nor a pipe nor a device."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _ordinary_bytes(path: Path) -> bytes:
    try:
        facts = path.stat()
        for is_kind, kind in _KINDS:
            if is_kind(facts.st_mode):
                raise DataFileError("files.is_other", path=path, kind=kind)
        if facts.st_size > LARGEST_FILE:
            raise DataFileError("files.too_large", path=path, n=facts.st_size, most=LARGEST_FILE)
        return path.read_bytes()
    except FileNotFoundError:
        raise DataFileError("files.missing", path=path) from None
    except OSError as problem:
        raise DataFileError("files.unreadable", path=path, problem=problem.strerror or str(problem)) from None
    except ValueError as problem:  # a NUL in the path
        raise DataFileError("files.bad_name", path=str(path), problem=str(problem)) from None


def is_workbook(content: bytes) -> bool:
    """Tell whether these bytes are an Excel workbook; one protected by a password counts, and is refused in words."""
    return content.startswith(_MARK_OF_ZIP) or is_encrypted(content)


def is_encrypted(content: bytes) -> bool:
    """Tell whether these bytes are an Office document that is protected by a password."""
    return content.startswith(_MARK_OF_OLE) and _ENCRYPTED in content


def decoded(path: Path, content: bytes) -> tuple[str, tuple[Note, ...]]:
    """Decode UTF-8, UTF-16 and UTF-32 with their marks, or, with a note, Windows' Western encoding."""
    for magic, code in _MAGIC:
        if content.startswith(magic):
            raise DataFileError(code, path=path)
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "utf-8")
    notes: tuple[Note, ...] = ()
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if encoding in ("utf-16", "utf-32") or b"\0" in content:
            raise DataFileError("files.no_text", path=path) from None
        try:
            text, name = content.decode("cp1252"), "Windows-1252"
        except UnicodeDecodeError:
            text, name = content.decode("latin-1"), "Latin-1"
        notes = (Note("encoding", None, note("problems.encoding", encoding=name)),)
    if "\0" in text:
        raise DataFileError("files.nul", path=path)
    if not text.strip():
        raise DataFileError("files.empty", path=path)
    return text, notes
