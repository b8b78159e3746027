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
_AS_CSV = "choose File > Save As > 'CSV UTF-8 (comma delimited)'"
_MARK_OF_ZIP = b"PK\x03\x04"
_MARK_OF_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # the stream that holds a workbook protected by a password
_MAGIC = (
    (
        _MARK_OF_ZIP,
        f"is an Excel workbook, or a zip archive. Unpack an archive; in Excel {_AS_CSV}, and give that file.",
    ),
    (
        _MARK_OF_OLE,
        f"is an Excel workbook of the old kind (.xls). In Excel choose File > Save As > 'Excel Workbook (.xlsx)', or "
        f"{_AS_CSV}, and give that file.",
    ),
    (b"\x1f\x8b", "is compressed, or R data. Unpack it, or in R: write.csv(table, 'study.csv', row.names = FALSE)."),
    (b"\xfd7zXZ", "is compressed, or R data. Unpack it, or in R: write.csv(table, 'study.csv', row.names = FALSE)."),
    (b"$FL2", "is an SPSS file. In SPSS choose File > Save As > CSV."),
    (b"$FL3", "is an SPSS file. In SPSS choose File > Save As > CSV."),
    (b"<stata_dta>", "is a Stata file. In Stata: export delimited using study.csv, quote."),
    (b"%PDF", "is a PDF. Give the CSV file that the study database exports."),
)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
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
        raise DataFileError(f"{path}: the file is empty. Export it again.")
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
                raise DataFileError(f"{path} is {kind}, not a file. Save what is to be read in a file, and give that.")
        if facts.st_size > LARGEST_FILE:
            raise DataFileError(
                f"{path} has {facts.st_size:,} bytes; a file may have {LARGEST_FILE:,}. Leave out columns or rows that "
                "are not needed."
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise DataFileError(f"{path}: there is no such file. Check the path.") from None
    except OSError as problem:
        raise DataFileError(f"{path}: cannot be read ({problem.strerror or problem}). Check the path.") from None
    except ValueError as problem:  # a NUL in the path
        raise DataFileError(f"{str(path)!r}: this cannot be the name of a file ({problem}). Check the path.") from None


def is_workbook(content: bytes) -> bool:
    """Tell whether these bytes are an Excel workbook; one protected by a password counts, and is refused in words."""
    return content.startswith(_MARK_OF_ZIP) or is_encrypted(content)


def is_encrypted(content: bytes) -> bool:
    """Tell whether these bytes are an Office document that is protected by a password."""
    return content.startswith(_MARK_OF_OLE) and _ENCRYPTED in content


def decoded(path: Path, content: bytes) -> tuple[str, tuple[Note, ...]]:
    """Decode UTF-8, UTF-16 and UTF-32 with their marks, or, with a note, Windows' Western encoding."""
    for magic, advice in _MAGIC:
        if content.startswith(magic):
            raise DataFileError(f"{path} {advice}")
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "utf-8")
    notes: tuple[Note, ...] = ()
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if encoding in ("utf-16", "utf-32") or b"\0" in content:
            raise DataFileError(f"{path} is not a text file. Export the study as CSV and give that file.") from None
        try:
            text, name = content.decode("cp1252"), "Windows-1252"
        except UnicodeDecodeError:
            text, name = content.decode("latin-1"), "Latin-1"
        notes = (Note("encoding", None, note("problems.encoding", encoding=name)),)
    if "\0" in text:
        raise DataFileError(
            f"{path} is not a text file (it holds NUL characters). Export the study as CSV in UTF-8 and give that file."
        )
    if not text.strip():
        raise DataFileError(f"{path}: the file is empty. Export it again.")
    return text, notes
