"""Tables of text, as spreadsheets and statistics programs write them: encodings, separators, numbers and dates.

Every cell stays text, with blanks around it removed: a coupon of 22 digits or with leading zeros survives. Columns of
numbers and dates are read from that text in the ways people write them. Files that are no text get an error that says
how to export them.
"""

import csv
import dataclasses
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.errors import DataFileError

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_EXCEL = (
    "is an Excel workbook. In Excel choose File > Save As > 'CSV UTF-8 (comma delimited)', with the coupon "
    "columns formatted as text, and give that file."
)
_MAGIC = (
    (b"PK\x03\x04", _EXCEL),
    (b"\xd0\xcf\x11\xe0", _EXCEL),
    (b"\x1f\x8b", "is compressed, or R data. Unpack it, or in R: write.csv(table, 'study.csv', row.names = FALSE)."),
    (b"\xfd7zXZ", "is compressed, or R data. Unpack it, or in R: write.csv(table, 'study.csv', row.names = FALSE)."),
    (b"$FL2", "is an SPSS file. In SPSS choose File > Save As > CSV."),
    (b"$FL3", "is an SPSS file. In SPSS choose File > Save As > CSV."),
    (b"<stata_dta>", "is a Stata file. In Stata: export delimited using study.csv, quote."),
    (b"%PDF", "is a PDF. Give the CSV file that the study database exports."),
)


@dataclass(frozen=True)
class Note:
    """A remark about a file that its user should see."""

    kind: str
    """encoding or unnamed-column."""
    row: int | None
    """Place in the file; None: the whole file."""
    what: str


@dataclass(frozen=True)
class TextTable:
    """Cells as text under the names of the header."""

    frame: pd.DataFrame  # [records, columns], every cell a str
    rows: NDArray[np.int64]  # [records], row in a spreadsheet; the header is row 1
    lines: NDArray[np.int64]  # [records], line in a text editor, on which the record ends
    notes: tuple[Note, ...] = ()
    separator: str = ","


def file_bytes(path: Path) -> bytes:
    """Read a whole file, which must not be empty."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataFileError(f"{path}: there is no such file. Check the path.") from None
    except OSError as problem:
        raise DataFileError(f"{path}: cannot be read ({problem.strerror or problem}). Check the path.") from None
    if not content.strip():
        raise DataFileError(f"{path}: the file is empty. Export it again.")
    return content


def decoded(path: Path, content: bytes) -> tuple[str, tuple[Note, ...]]:
    """Decode UTF-8 (with or without its mark), UTF-16 with its mark, or, with a note, Windows' Western encoding."""
    for magic, advice in _MAGIC:
        if content.startswith(magic):
            raise DataFileError(f"{path} {advice}")
    try:
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):  # what Excel calls "Unicode text"
            return content.decode("utf-16"), ()
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = ""
    if b"\0" in content:
        raise DataFileError(f"{path} is not a text file. Export the study as CSV and give that file.")
    if text:
        return text, ()
    try:
        text, encoding = content.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:
        text, encoding = content.decode("latin-1"), "Latin-1"
    return text, (Note("encoding", None, f"The file is not in UTF-8; it was read as {encoding}."),)


def read_table_file(path: Path, *, may_be_empty: bool = False, whole_rows: bool = False) -> TextTable:
    """Read a file that is a table; the options are those of `read_table`."""
    text, notes = decoded(path, file_bytes(path))
    table = read_table(path, text, may_be_empty=may_be_empty, whole_rows=whole_rows)
    return dataclasses.replace(table, notes=(*notes, *table.notes))


def read_table(path: Path, text: str, *, may_be_empty: bool = False, whole_rows: bool = False) -> TextTable:
    """Read a table with a header, separated by commas, semicolons or tabs; messages call it `path`.

    It must have a row below the header unless it `may_be_empty`. Rows that end early are filled with empty cells, as
    spreadsheets mean them, unless `whole_rows` are demanded.
    """
    declaration, _, rest = text.partition("\n")
    declaration = declaration.strip().lower()
    first, body, separator = 1, text, ""
    if declaration.startswith("sep=") and len(declaration) == 5 and declaration[-1] in _SEPARATORS:  # Excel's own way
        separator, first, body = declaration[-1], 2, rest
    separator = separator or _likely_separator(body)
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    try:
        numbered = [(reader.line_num + first - 1, record) for record in reader]
    except csv.Error as problem:
        raise DataFileError(
            f"{path}: cannot be read as a table separated by {_SEPARATORS[separator]} ({problem}). "
            "Look for quotation marks that are opened and not closed, or export it again."
        ) from None
    while numbered and not any(map(str.strip, numbered[0][1])):
        numbered, first = numbered[1:], first + 1
    if not numbered:
        raise DataFileError(f"{path}: the file is empty. Export it again.")
    header = [name.strip() for name in numbered[0][1]]
    while len(header) > 1 and not header[-1]:
        header.pop()  # spreadsheets like to leave empty columns at the end
    repeated = [name for name, count in Counter(filter(None, header)).items() if count > 1]
    if repeated:
        named = ", ".join(map(repr, repeated))
        raise DataFileError(f"{path}: the header names {named} more than once. Rename the columns so that they differ.")
    rows, lines, kept = [], [], []
    for row, (line, record) in enumerate(numbered[1:], start=first + 1):
        if any(map(str.strip, record)):
            rows.append(row)
            lines.append(line)
            kept.append(_fitted(path, row, record, len(header), whole_rows))
    if not kept and not may_be_empty:
        raise DataFileError(f"{path}: there is a header and nobody below it. Add one row per person.")
    columns: Iterable[Sequence[str]] = zip(*kept, strict=True) if kept else [() for _ in header]
    cells = [[cell.strip() for cell in column] for column in columns]
    frame = pd.DataFrame({n: pd.Series(column, dtype=object) for n, column in enumerate(cells)})
    frame, notes = _named(frame, header)
    return TextTable(frame, np.array(rows, dtype=np.int64), np.array(lines, dtype=np.int64), notes, separator)


def _likely_separator(text: str) -> str:
    """Return the separator that cuts the first lines into most columns, the same number in each if possible."""
    sample = "\n".join(text.splitlines()[:20])
    best, likely = (0.0, 0), ","
    for separator in _SEPARATORS:
        widths = Counter(len(row) for row in csv.reader(io.StringIO(sample, newline=""), delimiter=separator) if row)
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        score = (count / widths.total() if width > 1 else 0.0, width)
        if score > best:
            best, likely = score, separator
    return likely


def _fitted(path: Path, row: int, record: list[str], width: int, whole_rows: bool) -> list[str]:
    """Drop empty cells beyond the header, which spreadsheets add, and add those at the end that they leave out."""
    if len(record) == width:
        return record
    while len(record) > width and not record[-1].strip():
        record = record[:-1]
    if len(record) > width or (whole_rows and len(record) < width):
        raise DataFileError(
            f"{path}, row {row}: {len(record)} values for {width} columns. "
            "Put quotation marks around values that contain the separator, and leave unknown ones empty."
        )
    return record + [""] * (width - len(record))


def _named(frame: pd.DataFrame, header: list[str]) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """Name the columns and drop unnamed ones; do so without a note for empty ones and for R's row numbers."""
    notes = []
    for number, name in enumerate(header):
        if name:
            continue
        row_numbers = list(frame[number]) == [str(n + 1) for n in range(len(frame))]
        if not row_numbers and frame[number].any():
            notes.append(Note("unnamed-column", 1, f"Column {number + 1} has no name."))
    named = frame[[number for number, name in enumerate(header) if name]]
    return named.set_axis([name for name in header if name], axis=1), tuple(notes)


# Numbers and dates -------------------------------------------------------------------------------------------------

_DAY_FIRST = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%y", "%d.%m.%y")
_MONTH_FIRST = ("%m/%d/%Y", "%m.%d.%Y", "%m-%d-%Y", "%m/%d/%y", "%m.%d.%y")
_OTHERS = ("%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def read_numbers(texts: pd.Series) -> NDArray[np.float64]:
    """Read numbers, also with a decimal comma; nan where a text is none."""
    return _read_once(texts, _numbers)


def looks_numeric(texts: pd.Series) -> bool:
    """Tell whether most of the first values are numbers; cheap for long columns of text."""
    return bool(np.isfinite(_numbers(texts.iloc[:100])).mean() > 0.5)


def _read_once(texts: pd.Series, read: Callable[[pd.Series], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Apply `read` to each different text once: columns have far fewer of them than people."""
    codes, different = pd.factorize(texts.to_numpy(dtype=object))
    return read(pd.Series(different, dtype=object))[codes] if len(codes) else np.zeros(0)


def _numbers(texts: pd.Series) -> NDArray[np.float64]:
    plain = pd.to_numeric(texts, errors="coerce")
    if plain.isna().sum() > (texts == "").sum():
        commas = texts.where(texts.str.fullmatch(r"[-+]?\d+,\d+"), "").str.replace(",", ".")
        plain = plain.fillna(pd.to_numeric(commas, errors="coerce"))
    numbers = plain.to_numpy(dtype=np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def read_days(texts: pd.Series) -> tuple[NDArray[np.float64], bool]:
    """Read dates as days since 1970, nan where a text is none; also tell whether day and month may be swapped.

    The one pattern that fits most of the column is used for all of it. Plain numbers count as days.
    """
    filled = texts[texts != ""]
    if not len(filled):
        return np.full(len(texts), np.nan), False
    numbers = read_numbers(texts)
    eight_digits = filled.str.fullmatch(r"(?:19|20)\d{6}").all()
    if not eight_digits and np.isfinite(numbers).sum() >= 0.9 * len(filled):
        return numbers, False
    best = _days(texts, "ISO8601") if not eight_digits else np.full(len(texts), np.nan)
    unsure = False
    if np.isnan(best).sum() > (texts == "").sum():
        for group in (_OTHERS, _DAY_FIRST, _MONTH_FIRST):
            for pattern in group:
                for time in _TIMES:
                    days = _days(texts, pattern + time)
                    gained = int(np.isfinite(days).sum()) - int(np.isfinite(best).sum())
                    if gained > 0:
                        best, unsure = days, False
                    elif gained == 0 and group is _MONTH_FIRST and np.isfinite(days).any():
                        unsure = unsure or not np.array_equal(days, best, equal_nan=True)
    return best, unsure


def _days(texts: pd.Series, pattern: str) -> NDArray[np.float64]:
    return _read_once(texts, lambda different: _parsed(different, pattern))


def _parsed(texts: pd.Series, pattern: str) -> NDArray[np.float64]:
    parsed = pd.to_datetime(texts.where(texts != "", None), format=pattern, errors="coerce", utc=True)
    since = (parsed - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    return np.asarray(since, dtype=np.float64)
