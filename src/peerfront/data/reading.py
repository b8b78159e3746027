"""Read a study's file and check it, whatever it is: a workbook, a table of text, an RDSAT file or a survey app's JSON.

It is listed (one entry per person, whatever the layout), linked (who recruited whom) and checked; errors stop with a
list of all of them. A file of people who wait for coupons is a table with an id and the columns that the schema uses;
it may be an export or a workbook like the study's own file, and is brought into the same shape.
"""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import Problem, at, in_file_order, noted, stop_on
from peerfront.data.read.answers import MOST_KNOWN, plain_answers
from peerfront.data.read.coupon_codes import NOT_SAID, seed_marks
from peerfront.data.read.dates import read_dates
from peerfront.data.read.fixed_layouts import list_app, list_rdsat
from peerfront.data.read.links import Links, link_coupons, link_recruiters
from peerfront.data.read.listing import Listing, guess_columns, list_table, of_people, texts
from peerfront.data.read.other_rows import meant
from peerfront.data.read.plausibility import half_read
from peerfront.data.read.read_settings import APP, AUTO, RDSAT, RECRUITER, Columns, ReadSettings
from peerfront.data.read.recognition import layout_in, recognised
from peerfront.data.read.shaping import Shaped, shape
from peerfront.data.read.sheets import holds_sheets, sheet_of
from peerfront.data.study import Study
from peerfront.data.study_calendar import still_open
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.checked_calls import checked
from peerfront.foundation.errors import DataFileError, PeerfrontError, SettingError, UnknownName
from peerfront.foundation.files import decoded, file_bytes
from peerfront.foundation.messages import Lines, Message, Remedy, first_of, note
from peerfront.foundation.recruitment_trees import NOBODY, Trees, trees_of
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.text_tables import TextTable, read_table
from peerfront.foundation.typed_values import read_numbers
from peerfront.problem import Frontier

# List the people of a file ----------------------------------------------------------------------------------------


def list_content(path: Path, content: bytes, settings: ReadSettings) -> Listing:
    """List the people of a file that is given as bytes; messages call it `path`."""
    if not holds_sheets(content):
        text, notes = decoded(path, content)
        return list_text(path, text, settings, noted(notes))
    if settings.format in (RDSAT, APP):
        wrong = Remedy("format", settings.format)
        raise SettingError("recognition.is_workbook", source=path.name, format=settings.format, wrong=wrong)
    table, steps = sheet_of(path, content, settings.sheet, lambda table: misfit(table, settings, path))
    return _list_table(path, table, settings, (), steps)


def table_in(path: Path, content: bytes, settings: ReadSettings) -> TextTable | None:
    """The table of a file that is read as a study, as it stands there; None for files of a fixed layout."""

    def unfit(table: TextTable) -> Message | None:
        return misfit(table, settings, path)

    if holds_sheets(content):
        return meant(sheet_of(path, content, settings.sheet, unfit)[0], unfit, path.name)
    text, _ = decoded(path, content)
    fixed = (settings.format if settings.format != AUTO else format_by_beginning(text)) in (RDSAT, APP)
    return None if fixed else meant(read_table(path, text), unfit, path.name)


def list_text(path: Path, text: str, settings: ReadSettings, problems: tuple[Problem, ...]) -> Listing:
    """List the people of a text; `problems` are those of the file itself, and messages call it `path`."""
    format = settings.format if settings.format != AUTO else format_by_beginning(text)
    if format == RDSAT:
        return list_rdsat(path, text, settings, problems)
    if format == APP:
        return list_app(path, text, settings, problems)
    return _list_table(path, read_table(path, text), settings, problems, ())


def _list_table(
    path: Path, table: TextTable, settings: ReadSettings, problems: tuple[Problem, ...], steps: tuple[Message, ...]
) -> Listing:
    shaped, columns, assumed, format = _columns_of(path, table, settings)
    used = {name for names in columns.values() for name in names}
    frame = shaped.table.frame
    unused = [name for name in frame.columns if name in shaped.own and name not in used]
    kept = dataclasses.replace(shaped.table, frame=frame.drop(columns=unused))
    listing = list_table(kept, columns, format, settings, path.name)
    sheet = table.sheet or settings.sheet
    again = dataclasses.replace(settings, sheet=sheet, preset=shaped.preset, checkboxes=shaped.checkboxes)
    problems = (*problems, *shaped.problems, *listing.problems)
    steps = (*steps, *shaped.steps, *assumed)
    return dataclasses.replace(listing, settings=again, problems=problems, steps=steps)


def _columns_of(
    path: Path, table: TextTable, settings: ReadSettings
) -> tuple[Shaped, Columns, tuple[Message, ...], str]:
    """The table in shape, its columns by role, what was assumed for that, and the layout they make."""
    table = meant(table, lambda part: misfit(part, settings, path), path.name)
    shaped = shape(table, settings, path.name)
    columns, assumed = recognised(shaped, path.name)
    return shaped, columns, assumed, layout_in(shaped, columns, settings.format, path)


def misfit(table: TextTable, settings: ReadSettings, path: Path) -> Message | None:
    """Say why a table does not tell who recruited whom; None if it does."""
    try:
        _columns_of(path, table, settings)
    except PeerfrontError as problem:
        return fault_of(problem)
    return None


def fault_of(error: PeerfrontError) -> Message:
    """What is wrong with a table, without the name of its file."""
    fault = error.message.arguments.get("fault", error.message)
    assert isinstance(fault, Message)
    return fault


def format_by_beginning(text: str) -> str:
    """Recognise RDSAT and JSON by their first characters; return "" for tables, whose columns decide."""
    beginning = text.lstrip()
    if re.match(r"rds[ \t]*(?:\r|\n|$)", beginning[:100], flags=re.IGNORECASE):
        return RDSAT
    return APP if beginning.startswith(("[", "{")) else ""


# Link and check them ----------------------------------------------------------------------------------------------


_SHOWN_OF_CIRCLE = 8


@checked
def read_study(file: Path | str | pd.DataFrame, settings: ReadSettings | None = None) -> Study:
    """Read and check a study: a file of any known format, or a pandas table, which is read as its CSV file would be.

    Errors stop the reading, with all of them in one message; warnings are kept in `problems`, and what was done to
    bring the file into shape in `steps`.

    >>> study = pf.read_study(pf.demo_study(people=120).study)  # or a file: pf.read_study("study.xlsx")
    >>> len(study), len(study.problems)
    (..., 0)
    """
    if isinstance(file, pd.DataFrame):
        return study_from_table(file, settings)
    path = Path(file)
    return read_content(path, file_bytes(path), settings or ReadSettings())


def read_content(path: Path, content: bytes, settings: ReadSettings) -> Study:
    """Read and check a study that is given as the bytes of its file; messages call it `path`."""
    return _checked(list_content(path, content, settings))


def study_from_table(table: pd.DataFrame, settings: ReadSettings | None = None, name: str = "the table") -> Study:
    """Read a study from a pandas table, as from its CSV file; messages count rows from 2 and call it `name`."""
    return study_from_text(csv_text(table), settings or ReadSettings(), name)


def study_from_text(text: str, settings: ReadSettings, name: str) -> Study:
    """Read a study from the text of its CSV file; messages call it `name`."""
    return _checked(list_text(Path(name), text, settings, ()))


def _checked(listing: Listing) -> Study:
    """Link the people of a listing, look for every kind of fault, and make the study."""
    settings = listing.settings
    listing = plain_answers(listing)
    links = link_recruiters(listing) if listing.format in (RECRUITER, APP) else link_coupons(listing)
    trees = trees_of(links.recruiter)
    dates = read_dates(listing, links.recruiter, links.issued)
    network_size = _network_sizes(listing)
    problems = [*listing.problems, *links.problems, *_circles(listing, trees), *dates.problems]
    problems += [*_too_many_recruits(listing, links), *_unclear_marks(listing)]
    problems += half_read(listing, links, problems)
    stop_on(problems, listing.source, listing.place, strict=settings.strict)
    return Study(
        source=listing.source,
        format=listing.format,
        place=listing.place,
        settings=settings,
        columns=listing.columns,
        rows=listing.rows,
        ids=listing.ids,
        recruiter=links.recruiter,
        seed=links.seed,
        issued=links.issued,
        people=listing.people,
        days=dates.taken_part,
        network_size=network_size,
        own_coupons=links.own,
        coupons=listing.coupons,
        still_open=still_open(settings, dates.taken_part, trees.wave, dates.last, listing.source, dates.unused),
        problems=in_file_order(problems),
        steps=(*listing.steps, *links.steps, *_nobody_known(listing, links, network_size)),
        not_known=listing.not_known,
        day=dates.last,
        issued_days=dates.issued,
        issue_known=dates.issue_known,
        redeemed_days=dates.redeemed,
        valid_days=dates.valid_days,
        numbered_days=dates.numbered,
        other_dates=dates.unused,
    )


def _circles(listing: Listing, trees: Trees) -> list[Problem]:
    faults = []
    for circle in trees.circles:
        names = [repr(str(listing.ids[person])) for person in (*circle, circle[0])]
        if len(names) > _SHOWN_OF_CIRCLE:
            names = [*names[: _SHOWN_OF_CIRCLE - 2], "...", names[-1]]
        first = np.array(circle[:1], dtype=np.intp)
        faults += of_people(listing, "cycle", first, "problems.circle", n=len(circle), names=" <- ".join(names))
    return faults


def _network_sizes(listing: Listing) -> NDArray[np.float64] | None:
    name = listing.columns.get("network_size", ("",))[0]
    return read_numbers(listing.people[name]) if name else None


def _nobody_known(listing: Listing, links: Links, sizes: NDArray[np.float64] | None) -> list[Message]:
    """Say how many people know nobody by their network size, although they recruited or were recruited."""
    linked = links.recruiter != NOBODY
    linked[links.recruiter[linked]] = True
    n = 0 if sizes is None else int((linked & (sizes == 0)).sum())
    return [note("steps.zero_sizes", column=listing.columns["network_size"][0], n=n)] if n else []


def _unclear_marks(listing: Listing) -> list[Problem]:
    """Find what is neither yes nor no in the columns that say who is a seed and who waits."""
    marks = {"seed": listing.seed_marks}
    if "waiting" in listing.columns:
        marks["waiting"] = texts(listing.people, listing.columns["waiting"][0])
    faults = []
    for role, values in marks.items():
        if values is not None:
            unclear = np.flatnonzero((values != "") & (seed_marks(values) == NOT_SAID))
            name = listing.columns.get(role, (role,))[0]
            faults += of_people(listing, "not-yes-or-no", unclear, "problems.not_yes_or_no", name, value=values)
    return faults


def _too_many_recruits(listing: Listing, links: Links) -> list[Problem]:
    recruits = np.bincount(links.recruiter[links.recruiter != NOBODY], minlength=len(listing.ids))
    people = np.flatnonzero(recruits > links.issued)
    counts = {"recruits": recruits, "coupons": links.issued}
    return of_people(listing, "too-many-recruits", people, "problems.too_many_recruits", **counts)


# People who wait --------------------------------------------------------------------------------------------------


_MOST_LISTED = 10
LEFT_COLUMN = "acquaintances left"
"""The column of acquaintances who have not taken part, however it is written (`Acquaintances_Left`)."""


@checked
def read_frontier(
    file: Path | str | pd.DataFrame,
    schema: StudySchema,
    id_column: str | None = None,
    sheet: str = "",
    left_column: str | None = None,
) -> Frontier:
    """Read the people who wait for coupons, in their order: ids, and categories of the schema's columns.

    `file` is a CSV file, an Excel workbook (`sheet` names the sheet, if several would do) or a pandas table; other
    columns are ignored. A column `acquaintances left` (or the one that `left_column` names) says how many of their
    acquaintances have not taken part; it may be empty where nobody asked.

    >>> frontier = pf.read_frontier(pf.demo_study(people=120).frontier, model.schema)
    >>> frontier.covariates.shape == (len(frontier), 5)
    True
    """
    if isinstance(file, pd.DataFrame):
        path = Path("the table")
        table = read_table(path, csv_text(file), may_be_empty=True)
        return _frontier(path, table, schema, id_column, left_column)
    path = Path(file)
    content = file_bytes(path)
    if holds_sheets(content):
        table, _ = sheet_of(
            path, content, sheet, lambda table: _frontier_misfit(path, table, schema, id_column), may_be_empty=True
        )
    elif sheet:
        raise DataFileError("sheets.no_workbook", path=path, sheet=Remedy("sheet", sheet))
    else:
        table = read_table(path, decoded(path, content)[0], may_be_empty=True)
    return _frontier(path, table, schema, id_column, left_column)


def _shaped(path: Path, table: TextTable, schema: StudySchema) -> Shaped:
    """Shape the table as the study's own was; a table of other kind than the study's shows what it is by itself."""
    settings = dataclasses.replace(schema.reading, columns={}, preset=AUTO)
    table = meant(table, lambda part: _frontier_misfit(path, part, schema, None), path.name)
    return shape(table, settings, path.name)


def _frontier_misfit(path: Path, table: TextTable, schema: StudySchema, id_column: str | None) -> Message | None:
    """Say why a table has not an id and every column that the schema uses; None if it has."""
    try:
        shaped = _shaped(path, table, schema)
        _id_column(path, shaped, schema, id_column)
    except PeerfrontError as problem:
        return fault_of(problem)
    absent = [rule.name for rule in schema.used if rule.name not in shaped.table.frame.columns]
    return note("recognition.no_used_column", column=absent[0]) if absent else None


def _frontier(
    path: Path, table: TextTable, schema: StudySchema, id_column: str | None, left_column: str | None = None
) -> Frontier:
    if not len(table.rows):
        raise DataFileError("frontier_file.nobody", path=path)
    shaped = _shaped(path, table, schema)
    frame, rows = shaped.table.frame, shaped.table.rows
    ids = texts(frame, _id_column(path, shaped, schema, id_column))
    faults = [note("frontier_file.no_id_in", at=at("row", row)) for row in rows[ids == ""]]
    again = np.flatnonzero(pd.Series(ids, dtype=object).duplicated().to_numpy() & (ids != ""))
    faults += [note("frontier_file.id_again", at=at("row", rows[i]), id=ids[i]) for i in again]
    if faults:
        listed = faults[:_MOST_LISTED]
        if len(faults) > _MOST_LISTED:
            listed.append(note("problems.more", n=len(faults) - _MOST_LISTED))
        raise DataFileError("frontier_file.faults", path=path, faults=Lines(listed))
    return Frontier(ids, schema.encode(frame, rows, str(path), "row"), _left(path, shaped.table, schema, left_column))


def _left(path: Path, table: TextTable, schema: StudySchema, named: str | None) -> NDArray[np.int64] | None:
    """Acquaintances left, [people], -1 where the cell is empty; None without such a column."""
    header = [str(name) for name in table.frame.columns]
    if named is not None and named not in header:
        raise UnknownName(note("recognition.column_in", source=path), named, header)
    used = {rule.name for rule in schema.used}
    candidates = [name for name in header if _letters(name) == _letters(LEFT_COLUMN) and name not in used]
    column = named if named is not None else candidates[0] if candidates else None
    if column is None:
        return None
    cells = texts(table.frame, column)
    numbers = read_numbers(pd.Series(cells, dtype=object))
    with np.errstate(invalid="ignore"):
        wrong = ~((numbers >= 0) & (numbers <= MOST_KNOWN) & (numbers == np.floor(numbers))) & (cells != "")
    if wrong.any():
        values = [
            note("frontier_file.value_in", value=cells[i], at=at("row", table.rows[i])) for i in np.flatnonzero(wrong)
        ]
        raise DataFileError(
            "frontier_file.acquaintances", path=path, column=column, most=MOST_KNOWN, values=first_of(values, 5)
        )
    return np.where(np.isfinite(numbers), numbers, -1).astype(np.int64)


def _letters(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _id_column(path: Path, shaped: Shaped, schema: StudySchema, named: str | None) -> str:
    """Return the column that the caller named, or that the study uses, or that looks like an id."""
    header = [str(name) for name in shaped.table.frame.columns]
    if named is not None:
        if named not in header:
            raise UnknownName(note("recognition.column_in", source=path), named, header)
        return named
    of_study = schema.reading.columns.get("id", ())
    if of_study and of_study[0] in header:
        return of_study[0]
    guessed = guess_columns([name for name in header if name not in shaped.own], {}, path.name).get("id")
    instead = shaped.instead.get("id")
    if guessed is None and instead is None:
        raise DataFileError("frontier_file.no_id", path=path, header=list(header))
    return guessed[0] if guessed is not None else str(instead)
