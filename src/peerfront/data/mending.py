"""Accept proposals: a copy of a study's file in which the accepted cells are changed and nothing else is.

A proposal is refused if its cell no longer holds what was found, if other rows share the cell, or if the study would
then have a fault it has not now: a circle, somebody who recruited themselves, one id for two people. So the copy is
read again before anything is kept. Files of R cannot be edited; their table becomes a CSV file.
"""

import dataclasses
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from json.decoder import JSONDecoder
from pathlib import Path
from typing import NamedTuple

from peerfront.data.problems import ERROR, KINDS, FaultyStudy, Problem, ProblemGroup, Proposal, key_of, offers
from peerfront.data.read.fixed_layouts import answer_text, cut_line, rdsat_columns
from peerfront.data.read.listing import USUAL_MISSING
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.read.sheets import holds_sheets, open_book
from peerfront.data.reading import list_content, read_content, table_in
from peerfront.foundation.edited_tables import Cells, Edits, Span, TextCells, WorkbookCells, table_cells
from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.files import encoding_of, file_bytes, is_ordinary, is_workbook
from peerfront.foundation.messages import Message, note
from peerfront.foundation.spreadsheets import csv_text

MOST_ROUNDS = 5
"""Times that a mended file is read again for further proposals."""
_NEVER = ("redeemed-twice",)  # faults that no mend may make, beside errors
_COPY = re.compile(r"(.+)\.mended(?:-(\d+))?")


@dataclass(frozen=True)
class MendableFile:
    """A file as bytes, and how it is read."""

    path: Path
    """Where it is, or would be; messages call it so."""
    content: bytes
    settings: ReadSettings

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class Refusal:
    """A proposal that was accepted and cannot be carried out."""

    proposal: Proposal
    why: Message


@dataclass(frozen=True)
class Mended:
    """A file with the proposals that were carried out, and those that were not."""

    file: MendableFile
    done: tuple[Proposal, ...]
    refused: tuple[Refusal, ...]


def mendable(path: Path, settings: ReadSettings) -> MendableFile:
    """Open a file for mending; the table of a file of R becomes a CSV file."""
    content = file_bytes(path)
    if not holds_sheets(content) or is_workbook(content):
        return MendableFile(path, content, settings)
    sheet = list_content(path, content, settings).settings.sheet
    table = open_book(path, content).read(sheet)
    declared = {role: (name,) for role, name in table.declared.items()}
    reading = dataclasses.replace(settings, sheet="", columns={**declared, **settings.columns})
    return MendableFile(path.with_suffix(".csv"), csv_text(table.frame).encode(), reading)


def problems_in(file: MendableFile) -> tuple[Problem, ...]:
    """The problems of a file, whether or not they stop the import."""
    try:
        return read_content(file.path, file.content, file.settings).problems
    except FaultyStudy as faults:
        return faults.problems


def mended(file: MendableFile, proposals: Sequence[Proposal]) -> Mended:
    """Carry out the proposals, except those that do not fit the file and those that would add faults."""
    gone = {each.row for each in proposals if each.proposed is None}
    different = {key_of(each): each for each in proposals if each.proposed is None or each.row not in gone}
    proposals = list(different.values())
    cells = _cells_of(file, {each.row for each in proposals})
    refused: list[Refusal] = []
    fitting = []
    edits = _Edits({}, set())
    for each in proposals:
        try:
            edits.add(cells, each)
            fitting.append(each)
        except _Unfit as problem:
            refused.append(Refusal(each, problem.why))
    before = _faults(problems_in(file))
    done: list[Proposal] = []

    def keep(candidates: Sequence[Proposal]) -> None:
        """Keep those that add no fault: without those in the rows that have one, or else the same for each half."""
        fault = _fault(file, cells, [*done, *candidates], before) if candidates else None
        if fault is None:
            done.extend(candidates)
            return
        here = [each for each in candidates if each.row in fault.rows]
        if len(candidates) == 1 or 0 < len(here) < len(candidates):
            refused.extend(Refusal(each, fault.why) for each in here or candidates)
            keep([each for each in candidates if here and each.row not in fault.rows])
        else:
            half = len(candidates) // 2
            keep(candidates[:half])
            keep(candidates[half:])

    keep(fitting)
    return Mended(_changed(file, cells, done), tuple(done), tuple(refused))


@dataclass(frozen=True)
class Decision:
    """What became of a proposal: one of ACCEPTED, LEFT and REFUSED, and why it was refused."""

    proposal: Proposal
    decision: str
    why: Message | None = None


ACCEPTED, LEFT, REFUSED = "accepted", "left", "refused"


def mended_in_rounds(
    file: MendableFile, choose: Callable[[tuple[ProblemGroup, ...]], Collection[Proposal]]
) -> tuple[MendableFile, tuple[Decision, ...]]:
    """Offer, mend and read again, until there is nothing new to offer; `choose` returns the accepted proposals."""
    decisions: dict[tuple[int, str, str | None], Decision] = {}
    for _ in range(MOST_ROUNDS):
        groups = offers(problems_in(file), set(decisions))
        accepted = {key_of(each) for each in choose(groups)} if groups else set()
        offered = {key_of(each): each for group in groups for each in group.proposals}
        result = mended(file, [each for key, each in offered.items() if key in accepted])
        decisions |= {key: Decision(each, LEFT) for key, each in offered.items()}
        decisions |= {key_of(each): Decision(each, ACCEPTED) for each in result.done}
        decisions |= {key_of(each.proposal): Decision(each.proposal, REFUSED, each.why) for each in result.refused}
        if not result.done:
            break
        file = result.file
    return file, tuple(decisions.values())


def _changed(file: MendableFile, cells: Cells, proposals: Sequence[Proposal]) -> MendableFile:
    if not proposals:
        return file
    return dataclasses.replace(file, content=cells.changed(*_edits(cells, proposals)))


def _rows_of(file: MendableFile) -> list[int]:
    """The rows of the people who are read."""
    return [int(row) for row in list_content(file.path, file.content, file.settings).rows]


def _faults(problems: Iterable[Problem]) -> Counter[tuple[str, int | None, str]]:
    grave = (each for each in problems if each.severity == ERROR or each.kind in _NEVER)
    return Counter((each.kind, each.row, each.column) for each in grave)


class _Fault(NamedTuple):
    why: Message
    rows: frozenset[int | None] = frozenset()
    """Where the new faults are."""


def _fault(
    file: MendableFile, cells: Cells, proposals: Sequence[Proposal], before: Counter[tuple[str, int | None, str]]
) -> _Fault | None:
    """Why these proposals cannot be carried out together; None if they can."""
    try:
        new = _changed(file, cells, proposals)
        edits, emptied = _edits(cells, proposals)
        if not _only_these_differ(file, new, edits, emptied):
            return _Fault(note("mending.not_written"))
        if not set(_rows_of(file)) - emptied <= set(_rows_of(new)):
            return _Fault(note("mending.loses_people"))
        added = _faults(problems_in(new)) - before
    except PeerfrontError as problem:
        return _Fault(note("mending.unreadable", problem=problem.message))
    rows = frozenset(row for kind, row, _ in added if kind != "cycle")  # a circle may begin with anybody in it
    return _Fault(note("mending.adds", title=KINDS[next(iter(added))[0]].title), rows) if added else None


# Which cells ------------------------------------------------------------------------------------------------------


class _Unfit(Exception):
    """A proposal that does not fit the file."""

    def __init__(self, why: Message) -> None:
        super().__init__(why)
        self.why = why


class _Edits(NamedTuple):
    """The cells to change, and the rows to leave out."""

    cells: dict[tuple[int, str], str]
    emptied: set[int]

    def add(self, cells: Cells, proposal: Proposal) -> None:
        """Add a proposal; raises `_Unfit` for one that does not fit."""
        row, found, new = proposal.row, proposal.found, proposal.proposed
        column, is_part = _column(cells, proposal.column)
        text = self.cells.get((row, column), cells.text(row, column))
        if text is None:
            raise _Unfit(note("mending.no_cell"))
        if cells.others(row, "" if new is None else column):
            raise _Unfit(note("mending.shared_cell"))
        if new is None and not proposal.column:
            self.emptied.add(row)
            return
        code = re.compile(rf"(?<!\w){re.escape(found)}(?!\w)")
        if not (found and len(code.findall(text)) == 1 if is_part else _holds(text, found)):
            raise _Unfit(note("mending.changed_since", text=text))
        if new is None:
            self.emptied.add(row)
        else:
            self.cells[row, column] = code.sub(lambda _: new, text) if is_part else new


def _edits(cells: Cells, proposals: Iterable[Proposal]) -> _Edits:
    edits = _Edits({}, set())
    for each in proposals:
        edits.add(cells, each)
    return edits


def _column(cells: Cells, name: str) -> tuple[str, bool]:
    """The column of the file that is meant, and whether it holds more than was read as this one."""
    if name in cells.columns or not cells.columns:
        return name, False
    if not name:
        return cells.columns[0], False
    ending = [column for column in cells.columns if re.split(r"[/.:-]", column)[-1] == name]
    if len(ending) == 1:
        return ending[0], False
    match = re.fullmatch(r"(.+)[_.]\d+", name)
    if match and match[1] in cells.columns:
        return match[1], True
    raise _Unfit(note("mending.no_column", column=name))


def _holds(text: str, found: str) -> bool:
    return text == found or text.removesuffix(".0") == found or (not found and text in USUAL_MISSING)


def _only_these_differ(before: MendableFile, after: MendableFile, edits: Edits, emptied: Collection[int]) -> bool:
    """Whether the new file holds what it should, and everything else as before."""
    tables = [table_in(each.path, each.content, each.settings) for each in (before, after)]
    if tables[0] is None or tables[1] is None:
        cells = _cells_of(after, {row for row, _ in edits})
        return all(cells.text(row, column) == text for (row, column), text in edits.items() if row not in emptied)
    old, new = (table.frame.set_axis(table.rows, axis=0) for table in tables if table is not None)
    old = old.drop(index=[row for row in emptied if row in old.index])
    for (row, column), text in edits.items():
        if row in old.index:
            old.loc[row, column] = text
    old = old[(old != "").any(axis=1)]
    return old.equals(new)


# The cells of each kind of file -----------------------------------------------------------------------------------


def _text_of(content: bytes) -> tuple[str, Callable[[str], bytes]]:
    """The text of a file, and how it is turned into bytes again."""
    mark, codec = encoding_of(content)

    def encoded(text: str) -> bytes:
        try:
            return mark + text.encode(codec)
        except UnicodeEncodeError:
            raise DataFileError("mending.no_such_letter", encoding=codec) from None

    return content.removeprefix(mark).decode(codec), encoded


def _cells_of(file: MendableFile, wanted: Collection[int]) -> Cells:
    table = table_in(file.path, file.content, file.settings)
    if table is not None and is_workbook(file.content):
        return WorkbookCells(file.path, file.content, table)
    text, encoded = _text_of(file.content)
    if table is not None:
        return table_cells(text, table, wanted, encoded)
    return _app_cells(text, encoded) if text.lstrip()[:1] in ("[", "{") else _rdsat_cells(text, encoded)


def _rdsat_cells(text: str, encoded: Callable[[str], bytes]) -> TextCells:
    names, none, separator = rdsat_columns(text)
    places: dict[int, dict[str, Span]] = {}
    rows: dict[int, Span] = {}
    start = 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        bare = line.rstrip("\r\n")
        spans = [(start + a, start + b) for a, b in cut_line(bare, separator)]
        if number > 2 and len(spans) >= len(names):
            rows[number] = start, start + len(bare)
            places[number] = dict(zip(names, spans, strict=False))
        start += len(line)

    def read(raw: str) -> str:
        return "" if raw == none else raw

    return TextCells(text, tuple(names), places, rows, read, lambda before, new: new or none, encoded)


_SCAN = JSONDecoder()
_BLANKS = re.compile(r"[ \t\r\n]*")


def _app_cells(text: str, encoded: Callable[[str], bytes]) -> TextCells:
    """The values of a survey app's records; each coupon of a list is a cell of its own."""
    start = _blanks(text, 0)
    parts = _members(text, start)
    if text[start] == "{":
        lists = [span for _, span in parts if text[span[0]] == "["]
        parts = _members(text, lists[0][0]) if len(lists) == 1 else [("", (start, len(text.rstrip())))]
    places: dict[int, dict[str, Span]] = {}
    rows = {}
    for number, (_, record) in enumerate(parts, start=1):
        rows[number] = record
        cells: dict[str, Span] = {}
        places[number] = cells
        for name, span in _members(text, record[0]):
            if name == "responses" and text[span[0]] == "{":
                cells.update({key.strip(): place for key, place in _members(text, span[0])})
            elif text[span[0]] == "[":
                codes = enumerate(_members(text, span[0]), start=1)
                cells.update({f"{name}_{number_of}": place for number_of, (_, place) in codes})
            else:
                cells[name] = span
    columns = tuple(dict.fromkeys(name for cells in places.values() for name in cells))

    def written(before: str, new: str) -> str:
        if before[0] in "-0123456789" and re.fullmatch(r"-?(0|[1-9]\d*)", new):
            return new
        return json.dumps(new, ensure_ascii=text.isascii())

    def left_out(record: str) -> str:
        marked, n = re.subn(r'("deletedAt"\s*:\s*)(?:null|"")', r'\1"mended"', record, count=1)
        return marked if n else record.replace("{", '{"deletedAt": "mended", ', 1)

    def read(raw: str) -> str:
        return answer_text(json.loads(raw))

    return TextCells(text, columns, places, rows, read, written, encoded, left_out)


def _members(text: str, start: int) -> list[tuple[str, Span]]:
    """The values of a JSON object or list that begins here, each with its key and where it stands."""
    members, here = [], _blanks(text, start + 1)
    closing = "}" if text[start] == "{" else "]"
    while text[here] != closing:
        key = ""
        if closing == "}":
            key, here = _SCAN.raw_decode(text, here)
            here = _blanks(text, _blanks(text, here) + 1)
        _, end = _SCAN.raw_decode(text, here)
        members.append((key, (here, end)))
        here = _blanks(text, end)
        if text[here] == ",":
            here = _blanks(text, here + 1)
    return members


def _blanks(text: str, start: int) -> int:
    match = _BLANKS.match(text, start)
    assert match is not None, "it matches nothing, too"
    return match.end()


# The copy and its log ---------------------------------------------------------------------------------------------


def copy_beside(file: Path, ending: str = "") -> Path:
    """Where a mended copy goes: study.mended.csv, and study.mended-2.csv for a copy that is mended again."""
    match = _COPY.fullmatch(file.stem)
    stem = f"{match[1]}.mended-{int(match[2] or 1) + 1}" if match else f"{file.stem}.mended"
    return file.with_name(stem + (ending or file.suffix))


def original_stem(file: Path) -> str:
    """The name of a file without its ending, of a mended copy that of its original."""
    match = _COPY.fullmatch(file.stem)
    return match[1] if match else file.stem


def log_beside(copy: Path) -> Path:
    """Where the log of a mended copy's changes is."""
    return copy.with_name(f"{copy.stem}.changes.csv")


def changes_of(file: Path) -> bytes | None:
    """The log of changes of a mended copy; None for a file that is none, or was changed since."""
    if not is_ordinary(file) or not is_ordinary(log := log_beside(file)):
        return None
    try:
        content, digest = file_bytes(log), hashlib.sha256(file_bytes(file)).hexdigest()
    except DataFileError:
        return None  # an empty log, or one that may not be read
    return content if digest.encode() in content else None
