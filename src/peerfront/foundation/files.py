"""Read files that people give, and write files whole or not at all, never over somebody's work without leave.

Pipes, devices and folders are refused before they are opened: reading one could wait for ever, or never end. Text is
read in whatever encoding it was saved; files that are no text get an error that says how to export them.

A file is written under a temporary name and renamed. Temporary names say whose they are (`locks.py`), so that the next
run removes what a killed one left behind. A replaced file keeps its permissions and its owner; a private file, one with
participants' ids, is readable by its owner alone.

An output is claimed before the work that fills it: what cannot be written is noticed now, and nobody else writes there.
A claim makes the folder, if there is none, and holds a lock in it until the work is done. What a claim made and the
work did not fill is removed again: a command that fails leaves no trace.
"""

import codecs
import contextlib
import os
import stat
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from peerfront.foundation.errors import DataFileError, OutputExists
from peerfront.foundation.locks import lock_name, locked, remove_leftovers, temporary_name
from peerfront.foundation.messages import Message, Remedy, note

LONGEST_NAME = 255  # bytes, of the usual file systems
_OVERWRITE = Remedy("overwrite", True)
_PRIVATE, _PUBLIC = 0o600, 0o666


# Reading ----------------------------------------------------------------------------------------------------------


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
    *((mark, "files.picture") for mark in (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*")),
    *((b"\0\0\0%cftyp" % size, "files.picture") for size in range(0x10, 0x40, 4)),  # HEIC, and films
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

_CODECS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)  # the same, for what follows the mark


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


def file_bytes(path: Path, most: int = LARGEST_FILE) -> bytes:
    """Read a whole file of at most so many bytes, which must be an ordinary one and not empty."""
    try:
        facts = path.stat()
        for is_kind, kind in _KINDS:
            if is_kind(facts.st_mode):
                raise DataFileError("files.is_other", path=path, kind=kind)
        if facts.st_size > most:
            raise DataFileError("files.too_large", path=path, n=facts.st_size, most=most)
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataFileError("files.missing", path=path) from None
    except OSError as problem:
        raise DataFileError("files.unreadable", path=path, problem=_why(problem)) from None
    except ValueError as problem:  # a NUL in the path
        raise DataFileError("files.bad_name", path=str(path), problem=str(problem)) from None
    if not content.strip():
        raise DataFileError("files.empty", path=path)
    return content


def is_ordinary(path: Path) -> bool:
    """Tell whether there is an ordinary file of this name, neither a folder nor a pipe nor a device."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def is_workbook(content: bytes) -> bool:
    """Tell whether these bytes are an Excel workbook; one protected by a password counts, and is refused in words."""
    return content.startswith(_MARK_OF_ZIP) or is_encrypted(content)


def is_encrypted(content: bytes) -> bool:
    """Tell whether these bytes are an Office document that is protected by a password."""
    return content.startswith(_MARK_OF_OLE) and _ENCRYPTED in content


def encoding_of(content: bytes) -> tuple[bytes, str]:
    """The mark that a text begins with, and the codec of the rest: `content == mark + text.encode(codec)`."""
    marked = [(mark, codec) for mark, codec in _CODECS if content.startswith(mark)]
    for mark, codec in [*marked, (b"", "utf-8"), (b"", "cp1252")]:
        with contextlib.suppress(UnicodeDecodeError):
            content.removeprefix(mark).decode(codec)
            return mark, codec
    return b"", "latin-1"


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


# Before the work -------------------------------------------------------------------------------------------------


def output_path(path: Path) -> Path:
    """The absolute path of an output, links followed; names that cannot be used are refused in words."""
    text = str(path)
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
        raise DataFileError("outputs.no_text", name=text)
    for part in path.parts:
        if len(part.encode()) > LONGEST_NAME:
            raise DataFileError("outputs.long_name", name=part[:40], n=len(part.encode()), most=LONGEST_NAME)
    try:
        absolute = path.resolve()
        absolute.exists()
    except (OSError, RuntimeError, ValueError) as problem:
        raise DataFileError("outputs.unusable", path=text[:200], problem=_why(problem)) from None
    if absolute.parent == absolute:
        raise DataFileError("outputs.root", path=path)
    return absolute


def check_output(
    path: Path, names: Sequence[str] = (), *, overwrite: bool, advice: str | Message = "", inputs: Iterable[Path] = ()
) -> None:
    """Refuse to write to a path that is taken, or that is read; touches nothing.

    Without `names` the path is a file. With them it is a folder, and only files of these names are in the way.
    `advice` is added to the message about files that exist. `inputs` are files and folders that the command reads:
    none of them is ever replaced, whatever name it goes by.
    """
    target = output_path(path)
    if names and target.exists() and not target.is_dir():
        raise OutputExists("outputs.is_file", path=path)
    check_not_read([target, *(target / name for name in names)], inputs)
    if not names:
        _check_file(target, path, overwrite, advice)
        return
    existing = [name for name in names if (target / name).exists()]
    if existing and not overwrite:
        raise _exists(note("outputs.files_exist", path=path, names=existing, overwrite=_OVERWRITE), advice)
    for name in existing:
        _check_file(target / name, path / name, overwrite, advice)


def _check_file(target: Path, path: Path, overwrite: bool, advice: str | Message) -> None:
    if target.is_dir():
        raise OutputExists("outputs.is_folder", path=path, example=path / "NAME")
    if not target.exists():
        return
    if not target.is_file():
        raise OutputExists("outputs.no_file", path=path)
    if not overwrite:
        raise _exists(note("outputs.exists", path=path, overwrite=_OVERWRITE), advice)
    if not os.access(target, os.W_OK):
        raise OutputExists("outputs.read_only", path=path)


def _exists(fault: Message, advice: str | Message) -> OutputExists:
    """The error about an output that exists; the advice follows what `fault` says."""
    return OutputExists("outputs.with_advice", fault=fault, advice=advice) if advice else OutputExists(fault)


def check_not_read(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse outputs that are inputs too: the same file, also by a link, or a file of a folder that is read."""
    read = [file for each in inputs for file in (each, *(each.iterdir() if each.is_dir() else ()))]
    for output in outputs:
        for file in read:
            if _same_file(output, file):
                raise OutputExists("outputs.is_input", path=output, input=file)


def check_apart(output: Path, others: Iterable[Path]) -> None:
    """Refuse an output that is another output of the same command, by whatever name, or that needs it as a folder."""
    target = output_path(output)
    for other in others:
        own = output_path(other)
        if own in (target, *target.parents) or target in own.parents or _same_file(target, own):
            raise OutputExists("outputs.twice", path=output, other=other)


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)  # by device and number, so that links of both kinds count
    except (OSError, ValueError):
        return False  # one of them does not exist


def make_folder(path: Path) -> None:
    """Make the folder, and those above it, unless they exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as problem:
        raise DataFileError("outputs.unusable", path=path, problem=_why(problem)) from None


def _why(problem: Exception) -> str:
    return str(getattr(problem, "strerror", None) or problem)


# Writing ---------------------------------------------------------------------------------------------------------


def write_bytes(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file whole or not at all (`written_whole`)."""
    with written_whole(path, private=private) as file:
        file.write(content)


@contextmanager
def written_whole(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Write under a temporary name, then rename: readers see the old file or the new one, never half of it.

    A file that is replaced keeps its permissions. A new private one can be read by its owner alone.
    """
    path = output_path(path)
    temporary = path.with_name(temporary_name())
    try:
        with open_temporary(temporary, path, private=private) as file:
            yield file
        temporary.replace(path)
    except OSError as problem:
        raise DataFileError("outputs.unwritable", path=path, problem=str(problem)) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_temporary(temporary: Path, path: Path, content: bytes) -> None:
    """Write a file that is to be renamed to `path`, with the permissions it is to have there."""
    with open_temporary(temporary, path) as file:
        file.write(content)


@contextmanager
def open_temporary(temporary: Path, path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a new file that is to be renamed to `path`, with the permissions it is to have there.

    It is open before it gets them, because nobody but root can open a read-only file to write it.
    """
    mode = _PRIVATE if private else _PUBLIC
    with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        with contextlib.suppress(FileNotFoundError):
            replaced = path.stat()
            with contextlib.suppress(OSError, AttributeError):  # only root may give files away; Windows has no owners
                os.chown(temporary, replaced.st_uid, replaced.st_gid)
            temporary.chmod(stat.S_IMODE(replaced.st_mode))
        yield file


def write_text(path: Path, content: str, *, private: bool = False) -> None:
    """Write text as UTF-8, whole or not at all."""
    write_bytes(path, encoded(path, content, "utf-8"), private=private)


def write_csv(path: Path, content: str, *, private: bool = False) -> None:
    """Write a table's text as UTF-8, with the mark that spreadsheets need unless all of it is ASCII."""
    write_bytes(path, encoded(path, content, "utf-8" if content.isascii() else "utf-8-sig"), private=private)


def encoded(path: Path, content: str, encoding: str) -> bytes:
    """Encode what a file is to hold."""
    try:
        return content.encode(encoding)
    except UnicodeEncodeError as problem:  # half a character, which tables of Python and JSON can hold
        around = content[max(0, problem.start - 20) : problem.start + 20]
        raise DataFileError("outputs.half_character", path=path, around=ascii(around)) from None


# Claims -----------------------------------------------------------------------------------------------------------


_HELD: set[tuple[int, Path]] = set()  # (thread, lock): a claim within a claim of the same thread is granted


@contextmanager
def claimed(
    path: Path,
    names: Sequence[str] = (),
    *,
    overwrite: bool,
    advice: str | Message = "",
    inputs: Iterable[Path] = (),
    make_folder: bool = True,
) -> Iterator[None]:
    """Claim a file, or (with `names`) files of a folder; `check_output`, which explains the rest, is asked first.

    The folder a file is in is made unless it exists, or its absence is an error (`make_folder`).
    """
    read = tuple(inputs)

    def check() -> None:
        check_output(path, names, overwrite=overwrite, advice=advice, inputs=read)

    if names:
        with claimed_folder(path, check):
            yield
        return
    check()
    target = output_path(path)
    if not make_folder and not target.parent.exists():
        raise DataFileError("outputs.no_folder", folder=path.parent)
    with _claimed(path, target.parent, lock_name(target.name), check):
        yield


@contextmanager
def claimed_folder(path: Path, check: Callable[[], None], within: Sequence[str] = ()) -> Iterator[None]:
    """Claim a whole folder. `check` refuses one that is taken; `within` are folders in it that results are kept in."""
    check()
    folder = output_path(path)
    with _claimed(path, folder, lock_name(), check):
        remove_leftovers(*(folder / name for name in within))
        yield


@contextmanager
def _claimed(path: Path, folder: Path, lock: str, check: Callable[[], None]) -> Iterator[None]:
    own = (threading.get_ident(), folder / lock)
    if own in _HELD:
        yield
        return
    new_folders = _make(folder)
    try:
        with locked(folder / lock, str(path)):
            _HELD.add(own)
            try:
                remove_leftovers(folder)
                if not new_folders:
                    check()  # again: whoever held the lock may have written something
                yield
            finally:
                _HELD.discard(own)
    finally:
        _unmake(new_folders)


def _make(folder: Path) -> list[Path]:
    """Make the folder and those above it; returns those that were made, outermost first."""
    new_folders: list[Path] = []
    if folder.exists() and not folder.is_dir():
        raise DataFileError("outputs.folder_is_file", folder=folder)
    for each in [each for each in (folder, *folder.parents) if not each.exists()][::-1]:
        try:
            each.mkdir(exist_ok=True)
        except OSError as problem:
            _unmake(new_folders)
            raise DataFileError("outputs.unusable", path=folder, problem=problem.strerror) from None
        new_folders.append(each)
    return new_folders


def _unmake(new_folders: Sequence[Path]) -> None:
    for each in reversed(new_folders):
        with contextlib.suppress(OSError):  # not empty: the work was done
            each.rmdir()
