"""Tables in R's own files (.RData, .rds): data frames as text, read without running anything.

R writes objects one after the other, each with a number for its kind. Vectors, lists and their attributes are read;
calls, functions and environments, which could run when R opens a file, are only passed over to find the way to what
follows. Byte code and other inner matters of R are refused. Nothing is ever evaluated.

An `rds.data.frame` of R's package RDS carries the names of its columns for id, recruiter, network size and time.
"""

import bz2
import dataclasses
import datetime
import gzip
import io
import lzma
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import note
from peerfront.foundation.text_tables import Book, TextTable, table_of

# Objects ----------------------------------------------------------------------------------------------------------


LARGEST_UNPACKED = 300 * 2**20
"""Bytes that a file of R may have unpacked."""
MOST_VALUES = 10_000_000
"""Numbers and texts of the largest file of R that is read."""
_FEW_VALUES = 100_000  # that a vector written in short may have in any file
_UNPACKERS: dict[bytes, Callable[[bytes, int], bytes]] = {
    b"\x1f\x8b": lambda content, most: gzip.GzipFile(fileobj=io.BytesIO(content)).read(most),
    b"BZh": lambda content, most: bz2.BZ2File(io.BytesIO(content)).read(most),
    b"\xfd7zXZ": lambda content, most: lzma.LZMADecompressor(memlimit=LARGEST_UNPACKED).decompress(content, most),
}
_STARTS = (b"RDX2\nX\n", b"RDX3\nX\n", b"X\n")
_NA_INTEGER = -(2**31)
_SYMBOL, _PAIRS, _ENVIRONMENT, _TEXT, _LOGICAL, _INTEGER, _REAL, _COMPLEX, _TEXTS, _LIST, _EXPRESSION, _RAW = (
    1, 2, 4, 9, 10, 13, 14, 15, 16, 19, 20, 24,
)  # fmt: skip
_NOTHING = {254, 253, 252, 251, 250, 242, 241}  # NULL, and environments that R knows by name
_NAMED_ENVIRONMENT = {247, 248, 249}
_REFERENCE, _COMPACT, _ATTRIBUTE_PAIRS, _S4 = 255, 238, 239, 25
_CHAINS = {_PAIRS, _ATTRIBUTE_PAIRS, 3, 5, 6, 17, 240}  # also functions, promises, calls
_BUILT_IN = {7, 8}


class _Unreadable(Exception):
    """Something that is no data, or a damaged file, with a message that says what."""


@dataclass
class RObject:
    """A vector or list of R, with its attributes."""

    value: Any
    """A list of Python values, None where one is not available; or a list of RObjects."""
    attributes: dict[str, "RObject"] = field(default_factory=dict)

    def texts(self, name: str) -> list[str]:
        """Return an attribute that is made of texts; [] if there is none."""
        attribute = self.attributes.get(name)
        values = attribute.value if attribute is not None else None
        return [str(text) for text in values if isinstance(text, str)] if isinstance(values, list) else []

    @property
    def is_table(self) -> bool:
        return "data.frame" in self.texts("class")


def is_r_data(content: bytes) -> bool:
    """Tell whether these bytes are a file of R, packed or not."""
    if content.startswith(_STARTS[:2]):
        return True
    if not content.startswith(tuple(_UNPACKERS)):
        return False
    try:
        return _unpacked(content, 16).startswith(_STARTS)
    except (OSError, EOFError, lzma.LZMAError, zlib.error):
        return False


def r_objects(path: Path, content: bytes) -> dict[str, RObject]:
    """Read the objects of a file by their names; the only object of an .rds file is called by the file's name."""
    try:
        data = _unpacked(content, LARGEST_UNPACKED + 1)
        if data is not content and len(data) > LARGEST_UNPACKED:
            raise _Unreadable(note("r_file.too_large", most=LARGEST_UNPACKED))
        start = next(start for start in _STARTS if data.startswith(start))
        reader = _Reader(memoryview(data)[len(start) :])
        top = reader.start()
    except Exception as problem:  # bytes from anywhere make the unpackers and the reader raise anything
        reason = problem.args[0] if isinstance(problem, _Unreadable) else note("r_file.damaged_file")
        raise DataFileError("r_file.unreadable", path=path, reason=reason) from None
    if start == _STARTS[2]:
        return {path.stem: top}
    return (
        {name: value for name, value in top.value if isinstance(value, RObject)} if isinstance(top.value, list) else {}
    )


def _unpacked(content: bytes, most: int) -> bytes:
    """The first bytes of what is packed; the content itself if it is not."""
    unpack = next((unpack for magic, unpack in _UNPACKERS.items() if content.startswith(magic)), None)
    return content if unpack is None else unpack(content, most)


class _Reader:
    """Reads one object after the other; references point to symbols and environments met before."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0
        self.known: list[Any] = []
        self.n_values = 0

    def start(self) -> RObject:
        version = self.integer()
        self.skip(8)  # the versions of R that wrote it and that can read it
        if version == 3:
            self.skip(self.length())  # the encoding of the machine
        elif version != 2:
            raise _Unreadable(note("r_file.other_version", version=version))
        top = self.item()
        return top if isinstance(top, RObject) else RObject([])

    def integer(self) -> int:
        self.at += 4
        return int(struct.unpack(">i", self.data[self.at - 4 : self.at])[0])

    def skip(self, size: int) -> None:
        self.at += size

    def length(self) -> int:
        size = self.integer()
        if size < 0 or size > len(self.data):
            raise _Unreadable(note("r_file.long_vector"))
        return self.counted(size)

    def counted(self, size: int) -> int:
        self.n_values += size
        if self.n_values > MOST_VALUES:
            raise _Unreadable(note("r_file.too_many_values", most=MOST_VALUES))
        return size

    def array(self, code: str, width: int) -> np.ndarray:
        size = self.length()
        end = self.at + size * width
        if end > len(self.data):
            raise _Unreadable(note("r_file.cut_vector"))
        values = np.frombuffer(self.data[self.at : end], dtype=code)
        self.at = end
        return values

    def item(self, flags: int | None = None) -> Any:
        """Read one object; `flags` are its first number, if it was read already."""
        flags = self.integer() if flags is None else flags
        kind, has_attributes, has_tag = flags & 0xFF, bool(flags & 0x200), bool(flags & 0x400)
        if kind in _NOTHING:
            return None
        if kind == _REFERENCE:
            return self.known[(flags >> 8 or self.integer()) - 1]
        if kind == _SYMBOL:
            self.known.append(self.item())
            return self.known[-1]
        if kind == _ENVIRONMENT or kind in _NAMED_ENVIRONMENT:
            self.integer()
            self.known.append(None)
            for _ in range(4 if kind == _ENVIRONMENT else self.length()):
                self.item()
            return None
        if kind in _CHAINS:
            return self.pairs(kind, has_attributes, has_tag)
        if kind in _BUILT_IN:
            self.skip(self.length())
            return None
        if kind == _S4:
            self.attributes()
            return None
        if kind == _TEXT:
            return self.text(flags)
        if kind == _COMPACT:
            return self.compact()
        vector = RObject(self.vector(kind))
        if has_attributes:
            vector.attributes = self.attributes()
        return vector

    def vector(self, kind: int) -> list[Any]:
        if kind in (_LOGICAL, _INTEGER):
            plain = bool if kind == _LOGICAL else int
            return [None if value == _NA_INTEGER else plain(value) for value in self.array(">i4", 4).tolist()]
        if kind == _REAL:
            numbers = self.array(">f8", 8)
            return [None if np.isnan(number) else float(number) for number in numbers]
        if kind == _COMPLEX:
            return [None] * (len(self.array(">f8", 16)) // 2)
        if kind == _RAW:
            return list(self.array("u1", 1).tolist())
        if kind in (_TEXTS, _LIST, _EXPRESSION):
            return [self.item() for _ in range(self.length())]
        raise _Unreadable(note("r_file.no_data", kind=kind))

    def text(self, flags: int) -> str | None:
        size = self.integer()
        if size < 0:
            return None
        content = bytes(self.data[self.at : self.at + size])
        self.at += size
        try:
            return content.decode("latin-1" if (flags >> 12) & 4 else "utf-8")
        except UnicodeDecodeError:
            return content.decode("cp1252", "replace")

    def pairs(self, kind: int, has_attributes: bool, has_tag: bool) -> RObject | None:
        """Read a chain of names and values; None for the others that are written so: calls, functions, promises."""
        is_data = kind in (_PAIRS, _ATTRIBUTE_PAIRS)
        pairs: list[tuple[str, Any]] = []
        while True:
            if has_attributes:
                self.item()
            tag = self.item() if has_tag else ""
            pairs.append((str(tag), self.item()))
            flags = self.integer()
            if flags & 0xFF not in _CHAINS:
                self.item(flags)
                return RObject(pairs) if is_data else None
            has_attributes, has_tag = bool(flags & 0x200), bool(flags & 0x400)

    def attributes(self) -> dict[str, RObject]:
        """Read a chain of attributes; those that are no data are left out."""
        item = self.item()
        pairs = item.value if isinstance(item, RObject) else []
        return {name: value for name, value in pairs if isinstance(value, RObject)}

    def compact(self) -> RObject:
        """Read a vector that R wrote in short: numbers from one to another, texts made of numbers, or one wrapped."""
        kind = self.item()
        name = kind.value[0][1] if isinstance(kind, RObject) and kind.value else ""
        state, own_attributes = self.item(), self.attributes()
        if name in ("compact_intseq", "compact_realseq"):
            size, first, step = (int(number) for number in state.value)
            if size < 0 or size > max(_FEW_VALUES, len(self.data)):  # a column beside it would have more bytes
                raise _Unreadable(note("r_file.long_vector"))
            return RObject([first + step * n for n in range(self.counted(size))], own_attributes)
        inner = state.value[0] if isinstance(state, RObject) and state.value else None
        inner = inner[1] if isinstance(inner, tuple) else inner
        if name.startswith("wrap_") and isinstance(inner, RObject):
            return RObject(inner.value, {**inner.attributes, **own_attributes})
        if name == "deferred_string" and isinstance(inner, RObject):
            self.counted(len(inner.value))
            return RObject([None if value is None else _plain(value) for value in inner.value], own_attributes)
        raise _Unreadable(note("r_file.other_vector", name=name))


def _plain(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# Tables -----------------------------------------------------------------------------------------------------------


_EPOCH = datetime.datetime(1970, 1, 1)
DECLARED = {"id": "id", "recruiter.id": "recruiter", "network.size.variable": "network_size", "time": "date"}
"""Attributes of R's package RDS, and the part of a study that they name."""


def open_r_file(path: Path, content: bytes) -> Book:
    """Find the data frames of a file of R."""
    objects = r_objects(path, content)
    tables = tuple(name for name, each in objects.items() if each.is_table)
    if not tables:
        raise DataFileError("r_file.no_table", path=path, names=list(objects) or note("r_file.nothing"))
    return Book(path, tables, (), "table", lambda name, may_be_empty: _table(path, name, objects[name], may_be_empty))


def _table(path: Path, name: str, frame: RObject, may_be_empty: bool) -> TextTable:
    """Read one data frame as text."""
    header = frame.texts("names")
    try:
        columns = [_texts(column) for column in frame.value]
    except Exception:  # values of a kind that its class does not have
        raise DataFileError("r_file.damaged", path=path, table=name) from None
    if len(header) != len(columns) or len({len(column) for column in columns}) > 1:
        raise DataFileError("r_file.damaged", path=path, table=name)
    records = [(row, row, list(cells)) for row, cells in enumerate(zip(*columns, strict=True), start=2)]
    table = table_of(note("r_file.table", path=path, table=name), header, records, may_be_empty=may_be_empty)
    declared = {role: frame.texts(attribute)[:1] for attribute, role in DECLARED.items()}
    columns_by_role = {role: names[0] for role, names in declared.items() if names and names[0] in header}
    return dataclasses.replace(table, sheet=name, declared=columns_by_role)


def _texts(column: Any) -> list[str]:
    """Return a column as text: the levels of factors, dates as 2024-05-31, numbers without a useless point."""
    if not isinstance(column, RObject):
        return []
    kinds, levels = column.texts("class"), column.texts("levels")
    if "factor" in kinds:
        return [levels[code - 1] if isinstance(code, int) and 0 < code <= len(levels) else "" for code in column.value]
    if "Date" in kinds or "POSIXct" in kinds:
        return [_date(value, in_days="Date" in kinds) for value in column.value]
    return [_text(value) for value in column.value]


def _date(value: Any, *, in_days: bool) -> str:
    if not isinstance(value, int | float):
        return ""
    try:
        time = _EPOCH + (datetime.timedelta(days=value) if in_days else datetime.timedelta(seconds=round(value)))
    except OverflowError:
        return str(value)
    return time.date().isoformat() if in_days else time.isoformat()


def _text(value: Any) -> str:
    if value is None or isinstance(value, RObject):
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    return str(value)
