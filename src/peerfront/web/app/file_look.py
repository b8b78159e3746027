"""What pages show about the study's file: its contents, its faults, the roles of its columns.

Part of the work of a step (`step_work.read`); it also writes the schema by which later steps read the file.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from peerfront.data.columns.column_findings import is_sensitive, vetted
from peerfront.data.columns.identities import is_place
from peerfront.data.columns.schema_guess import Guess, guess_schema
from peerfront.data.mending import changes_of, log_beside
from peerfront.data.problems import ERROR, FaultyStudy, Problem, ProblemGroup, Proposal, grouped, offers
from peerfront.data.read.dates import date_text
from peerfront.data.read.listing import guess_columns
from peerfront.data.read.other_rows import meant
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.read.recognition import recognised, suggested_columns
from peerfront.data.read.shaping import shape
from peerfront.data.read.sheets import holds_sheets, open_book
from peerfront.data.reading import format_by_beginning, misfit
from peerfront.data.schema_file import schema_text
from peerfront.data.study import Study, Summary, summarise
from peerfront.data.study_schema import FieldRule, StudySchema, history_of
from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.files import decoded, file_bytes, write_text
from peerfront.foundation.messages import note
from peerfront.foundation.shown import visible
from peerfront.foundation.text_tables import Book, TextTable, read_table
from peerfront.study.study_sample import groups_of, outcome_of
from peerfront.study.week_changes import read_running_study
from peerfront.web.app.app_folder import AppFolder
from peerfront.words.commands import SCHEMA
from peerfront.words.study_check import check_sections, offer_text, verdict

_MOST_PROBLEMS, _MOST_COLUMNS = 1_000, 1_000  # most that pages list
_EXAMPLES = 3  # example values of a column, and messages of a problem
_MOST_ROWS = 12  # rows of a problem that pages list
_MOST_OFFERS = 20  # different changes for the same problem; the others can be accepted with them
_BEFORE = "app/schema-before.toml"


@dataclass(frozen=True)
class Look:
    """What was read from a file, or why it cannot be read."""

    contents: dict[str, Any]
    """What pages show: values, messages, rows."""
    error: PeerfrontError | None = None
    parts: tuple[Study, Summary, Guess] | None = None


def look(folder: AppFolder, choices: Mapping[str, Any]) -> Look:
    """Read a file by the user's choices, and write its schema; a file with faults is described, too."""
    file = str(choices["file"])
    path = Path(file)
    reading, ticks = dict(choices.get("reading", {})), dict(choices.get("ticks", {}))
    header = _header_of(path, reading)
    notes = []
    if reading.get("sheet", "") not in ("", *header.sheets):  # left over from another workbook
        reading["sheet"] = ""
    if header.names and not set(choices.get("columns", ())) <= set(header.names):
        notes.append(note("work.other_columns"))
        reading, ticks = {}, {}
        header = _header_of(path, reading)
    contents: dict[str, Any] = {
        "file": file,
        "digest": folder.digest(file),
        "reading": reading,
        "ticks": ticks,
        "notes": notes,
        "columns": [{"name": name, "examples": list(values)} for name, values in header.columns[:_MOST_COLUMNS]],
        "recognised": {role: list(names) for role, names in (header.recognised or {}).items()},
        "sheets": list(header.sheets),
        "error": None,
        "log": log_beside(path).as_posix() if changes_of(path) is not None else "",
        **_problems(()),
        "place": "row",
    }
    try:
        study = read_running_study(path, read_settings_of(reading), folder.path)
        guessed = guess_schema(study)
        guess = _without_places(study, guessed)
        schema = _ticked(guess.schema, ticks)
        allowed = vetted(study, schema)
        history_of(study, allowed.schema)
    except FaultyStudy as faults:
        return Look({**contents, "error": faults.message, **_problems(faults.problems)}, faults)
    except PeerfrontError as problem:
        suggested = {role: list(names) for role, names in suggested_columns(problem.remedies).items()}
        return Look({**contents, "error": problem.message, "suggested": suggested}, problem)
    _keep_schema(folder, schema_text(schema, guess.reasons, study.source))
    summary = summarise(study)
    contents |= {
        **_problems(study.problems),
        **_contents(study, summary, guess),
        "place": study.place,
        "fields": _fields(study, guess, schema),
        "warnings": list(allowed.notes),
    }
    return Look(contents, parts=(study, summary, guessed))


def _without_places(study: Study, guess: Guess) -> Guess:
    """Leave places unticked: where people live decides about coupons only if the user wants it."""
    sites = study.columns.get("site", ())
    places = {rule.name for rule in guess.schema.used if rule.name in sites or is_place(rule.name)}
    fields = tuple(replace(rule, use=False) if rule.name in places else rule for rule in guess.schema.fields)
    reasons = guess.reasons | dict.fromkeys(places, note("column_reasons.place"))
    return Guess(replace(guess.schema, fields=fields), reasons)


def _ticked(schema: StudySchema, ticks: Mapping[str, Any]) -> StudySchema:
    """The guessed schema with the user's choices of columns to use and to leave out."""
    use, leave = set(ticks.get("use", ())), set(ticks.get("leave", ()))

    def decided(rule: FieldRule) -> FieldRule:
        if rule.name in leave:
            return replace(rule, use=False)
        return replace(rule, use=True) if rule.name in use and rule.use is False else rule

    return replace(schema, fields=tuple(map(decided, schema.fields)))


def _keep_schema(folder: AppFolder, text: str) -> None:
    """Write the schema; copy an existing one that differs to the app's own files."""
    place = folder.path / SCHEMA
    if place.exists():
        before = place.read_bytes()
        if before == text.encode():
            return
        (folder.path / _BEFORE).write_bytes(before)
    write_text(place, text, private=True)


# What is in it -------------------------------------------------------------------------------------------------------


def _problems(problems: tuple[Problem, ...]) -> dict[str, Any]:
    """The same problem in many rows as one, and the changes that would mend some."""
    groups = grouped(problems)
    offered = offers(problems)
    return {
        "problem_count": len(groups),
        "error_count": sum(group.first.severity == ERROR for group in groups),
        "problems": [
            {
                **{name: getattr(group.first, name) for name in ("kind", "severity", "title", "remedy")},
                **_rows(group.rows),
                "count": len(group.problems),
                "what": [problem.message for problem in group.problems[:_EXAMPLES]],
            }
            for group in groups[:_MOST_PROBLEMS]
        ],
        "offers": [{"title": group.first.title, "kind": group.first.kind, **_offers(group)} for group in offered],
    }


def _offers(group: ProblemGroup) -> dict[str, Any]:
    """The changes that are offered for the same problem: what would be changed, why, and in which rows."""
    same: dict[tuple[Any, ...], list[Proposal]] = {}
    for each in group.proposals:
        same.setdefault(offer_key(group, each), []).append(each)
    items = [
        {
            "key": list(key),
            "offer": offer_text(alike[0]),
            "why": alike[0].why,
            **_rows([each.row for each in alike]),
        }
        for key, alike in list(same.items())[:_MOST_OFFERS]
    ]
    return {"alike": alike_key(group), "count": len(group.proposals), "different": len(same), "items": items}


def _rows(rows: Sequence[int]) -> dict[str, Any]:
    different = list(dict.fromkeys(rows))
    return {"rows": different[:_MOST_ROWS], "more_rows": len(different) > _MOST_ROWS}


def alike_key(group: ProblemGroup) -> list[str]:
    """What tells a group of alike offers from the others."""
    return [group.first.kind, group.first.column, group.first.message.code]


def offer_key(group: ProblemGroup, proposal: Proposal) -> tuple[Any, ...]:
    """What tells a change from others: the same change of one column in many rows is one."""
    row = proposal.row if proposal.proposed is None else 0
    return (group.first.kind, proposal.column, proposal.found, proposal.proposed, row)


def _contents(study: Study, summary: Summary, guess: Guess) -> dict[str, Any]:
    sections = check_sections(study, summary, guess.schema, guess.reasons, guessed=True, block="█")
    return {
        "roles": {role: list(names) for role, names in study.columns.items()},
        "people": len(study),
        "waiting": len(study.waiting),
        "day": None if study.day is None or study.numbered_days else date_text(study.day),
        "verdict": verdict(summary),
        "sections": [vars(section) for section in sections[:-1]],  # the last one is on the page of the columns
        "outcomes": _fit_for(outcome_of, study),
        "subgroups": _fit_for(groups_of, study),
    }


def _fit_for(read: Callable[[Study, str], object], study: Study) -> list[str]:
    """Columns that can be estimated or grouped by: those with at least two answers, and not too many."""
    names = []
    for name in map(str, study.people.columns[:_MOST_COLUMNS]):
        with suppress(PeerfrontError):
            read(study, name)
            names.append(name)
    return names


def _fields(study: Study, guess: Guess, schema: StudySchema) -> list[dict[str, Any]]:
    """Every column that describes people: whether it is used, and reasons against it."""
    missing = {str(name): int(count) for name, count in (study.people == "").sum().items()}
    rules = {rule.name: rule for rule in schema.fields}
    used = {rule.name for rule in schema.used}
    listed = []
    for name in map(str, study.people.columns):
        rule, reason = rules.get(name), guess.reasons.get(name)
        listed.append(
            {
                "name": name,
                "can": rule is not None,
                "used": name in used,
                "sensitive": is_sensitive(reason),
                "reason": reason or "",
                "categories": [] if rule is None else list(rule.categories[:50]),
                "missing": missing.get(name, 0),
            }
        )
    return listed[:_MOST_COLUMNS]


# Its columns, also of a file that cannot be read as a study yet -------------------------------------------------------


@dataclass(frozen=True)
class _Header:
    """The columns of a file, whether or not it can be read as a study."""

    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Name and some of the values."""
    recognised: Mapping[str, tuple[str, ...]] | None = None
    """Columns by role, recognised by their names and content alone."""
    sheets: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


def _header_of(path: Path, reading: Mapping[str, Any]) -> _Header:
    """The columns of the file; none if its layout is fixed, or nothing can be read."""
    try:
        content = file_bytes(path)
        sheets: tuple[str, ...] = ()
        if holds_sheets(content):
            book = open_book(path, content)
            sheets = book.names
            table = _meant_table(book, reading, path)
        else:
            text = decoded(path, content)[0]
            if format_by_beginning(text):
                return _Header()
            table = read_table(path, text)
    except PeerfrontError:
        return _Header()
    if table is None:
        return _Header(sheets=sheets)
    try:
        settings = read_settings_of({**reading, "sheet": ""})
        table = meant(table, lambda part: misfit(part, settings, path), path.name)
        shaped = shape(table, ReadSettings(missing=tuple(reading.get("missing", ()))), path.name)
        frame = shaped.table.frame
        names = [name for name in map(str, frame.columns) if name not in shaped.own or name in shaped.instead.values()]
    except PeerfrontError:
        frame, names = table.frame, list(map(str, table.frame.columns))
        return _Header(_with_examples(frame, names), {}, sheets)
    try:
        columns, _ = recognised(shaped, path.name)
    except PeerfrontError:
        columns = guess_columns(names, {}, path.name)
    return _Header(_with_examples(frame, names), columns, sheets)


def _meant_table(book: Book, reading: Mapping[str, Any], path: Path) -> TextTable | None:
    """The named sheet, or the first that shows who recruited whom, or the first that holds a table."""
    wanted = str(reading.get("sheet") or "")
    settings = read_settings_of({**reading, "sheet": ""})
    first = None
    for name in (wanted,) if wanted in book.names else book.names:
        try:
            table = book.read(name)
        except DataFileError:
            continue
        if not misfit(table, settings, path):
            return table
        first = first or table
    return first


def read_settings_of(reading: Mapping[str, Any]) -> ReadSettings:
    """The settings of reading, from the choices in the form of the columns."""
    fields = {
        name: reading[name]
        for name in ("coupons_each", "still_open", "valid_days", "sheet", "read_anyway")
        if reading.get(name)
    }
    columns = {role: tuple(names) for role, names in reading.get("columns", {}).items()}
    return ReadSettings(columns=columns, missing=tuple(reading.get("missing", ())), **fields)


def _with_examples(frame: pd.DataFrame, names: list[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    columns = []
    for name in names[:_MOST_COLUMNS]:
        values = frame[name].head(200)
        different = values[values != ""].drop_duplicates().head(_EXAMPLES)
        columns.append((name, tuple(visible(str(value), 40) for value in different)))
    return tuple(columns)
