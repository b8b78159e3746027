"""Read a study's file, or a file of people who wait for coupons, and check it.

A study's file is listed (one entry per person, whatever the layout), linked (who recruited whom) and checked; errors
stop with a list of all of them. A frontier's file is a plain table: an id, and the columns that the schema uses.
"""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.links import Links, link_coupons, link_recruiters
from peerfront.data.listing import (
    Listing,
    each,
    guess_columns,
    layout_of,
    list_table,
    need_columns,
    texts,
    without_missing,
)
from peerfront.data.problems import Problem, in_file_order, noted, stop_on
from peerfront.data.rdsat import list_rdsat
from peerfront.data.read_settings import APP, AUTO, COUPONS, RDSAT, RECRUITER, ReadSettings, settle_with
from peerfront.data.study import NOBODY, Study, Trees, trees_of
from peerfront.data.study_schema import StudySchema
from peerfront.data.survey_app import list_app
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.text_files import decoded, file_bytes
from peerfront.foundation.text_tables import TextTable, read_table, read_table_file
from peerfront.foundation.typed_values import FIRST_YEAR, LAST_YEAR, read_days, read_numbers
from peerfront.problem import Frontier

_SHOWN_OF_CIRCLE = 8
MOST_KNOWN = 100_000
"""People whom one person can know; more is a typing error."""


def read_study(file: Path | str | pd.DataFrame, settings: ReadSettings | None = None) -> Study:
    """Read and check a study: a file of any known format, or a pandas table, which is read as its CSV file would be.

    Errors stop the reading, with all of them in one message; warnings are kept in `problems`.

    >>> study = pf.read_study(pf.demo_study(people=120).study)  # or a file: pf.read_study("study.csv")
    >>> len(study), len(study.problems)
    (..., 0)
    """
    if isinstance(file, pd.DataFrame):
        return study_from_table(file, settings)
    path, settings = Path(file), settings or ReadSettings()
    text, notes = decoded(path, file_bytes(path))
    return _checked(_list_text(path, text, settings, noted(notes)), settings)


def study_from_table(table: pd.DataFrame, settings: ReadSettings | None = None, name: str = "the table") -> Study:
    """Read a study from a pandas table, as from its CSV file; messages count rows from 2 and call it `name`."""
    settings = settings or ReadSettings()
    return _checked(_list_text(Path(name), csv_text(table), settings, ()), settings)


def _checked(listing: Listing, settings: ReadSettings) -> Study:
    """Link the people of a listing, look for every kind of fault, and make the study."""
    links = link_recruiters(listing) if listing.format in (RECRUITER, APP) else link_coupons(listing)
    trees = trees_of(links.recruiter)
    days, date_faults = _dates(listing, links.recruiter)
    network_size, size_faults = _network_sizes(listing)
    problems = [*listing.problems, *links.problems, *_circles(listing, trees), *date_faults, *size_faults]
    problems += _too_many_recruits(listing, links)
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
        people=listing.people.reset_index(drop=True),
        days=days,
        network_size=network_size,
        own_coupons=listing.own_coupons,
        coupons=listing.coupons,
        still_open=_still_open(settings, days, trees.wave, listing.source),
        problems=in_file_order(problems),
    )


def detect(path: Path | str) -> str:
    """Detect the format of a file: coupons, recruiter, rdsat or app."""
    path = Path(path)
    text, _ = decoded(path, file_bytes(path))
    format = _format_by_beginning(text)
    if format:
        return format
    header = list(read_table(path, text).frame.columns)
    return layout_of(guess_columns(header, {}, path.name), path.name, header)


def _list_text(path: Path, text: str, settings: ReadSettings, problems: tuple[Problem, ...]) -> Listing:
    """List the people of a file in whatever format it is; `problems` are those of the file itself."""
    format = settings.format if settings.format != AUTO else _format_by_beginning(text)
    if format == RDSAT:
        return list_rdsat(path, text, settings, problems)
    if format == APP:
        return list_app(path, text, settings, problems)
    table = read_table(path, text)
    header = list(table.frame.columns)
    columns = guess_columns(header, settings.columns, path.name)
    format = format or layout_of(columns, path.name, header)
    need_columns(
        columns, {COUPONS: ("id", "own_coupon", "coupons"), RECRUITER: ("id", "recruiter")}[format], path.name, header
    )
    listing = list_table(table, columns, format, settings, path.name)
    return dataclasses.replace(listing, problems=(*problems, *listing.problems))


def _format_by_beginning(text: str) -> str:
    """Recognise RDSAT and JSON by their first characters; return "" for tables, whose columns decide."""
    beginning = text.lstrip()
    if re.match(r"rds[ \t]*(?:\r|\n|$)", beginning[:100], flags=re.IGNORECASE):
        return RDSAT
    return APP if beginning.startswith(("[", "{")) else ""


def _circles(listing: Listing, trees: Trees) -> list[Problem]:
    faults = []
    for circle in trees.circles:
        shown = [repr(str(listing.ids[person])) for person in (*circle, circle[0])]
        if len(shown) > _SHOWN_OF_CIRCLE:
            shown = [*shown[: _SHOWN_OF_CIRCLE - 2], "...", shown[-1]]
        text = f"Recruiters in a circle of {len(circle):,}: {' <- '.join(shown)}."
        faults += each(listing, "cycle", np.array(circle[:1], dtype=np.intp), [text])
    return faults


def _dates(listing: Listing, recruiter: NDArray[np.int64]) -> tuple[NDArray[np.float64] | None, list[Problem]]:
    if "date" not in listing.columns:
        return None, []
    name = listing.columns["date"][0]
    texts = listing.people[name].reset_index(drop=True)
    days, unsure = read_days(texts)
    unreadable = np.flatnonzero(np.isnan(days) & (texts != "").to_numpy())
    said = [f"{name}: {texts[i]!r} is not understood as a date from {FIRST_YEAR} to {LAST_YEAR}." for i in unreadable]
    faults = each(listing, "bad-date", unreadable, said)
    if unsure:
        example = texts[texts != ""].iloc[0]
        text = f"{name}: {example!r} and the others were read as day, then month."
        faults.append(Problem("unsure-dates", None, "", text))
    came = recruiter != NOBODY
    with np.errstate(invalid="ignore"):
        early = np.flatnonzero(came & (days < days[recruiter]))
    ids = listing.ids
    said = [
        f"{ids[i]!r} ({texts[i]}) is dated before their recruiter {ids[recruiter[i]]!r} ({texts[recruiter[i]]})."
        for i in early
    ]
    return days, faults + each(listing, "before-recruiter", early, said)


def _network_sizes(listing: Listing) -> tuple[NDArray[np.float64] | None, list[Problem]]:
    if "network_size" not in listing.columns:
        return None, []
    name = listing.columns["network_size"][0]
    texts = listing.people[name].reset_index(drop=True)
    sizes = read_numbers(texts)
    with np.errstate(invalid="ignore"):
        impossible = ~((sizes >= 0) & (sizes <= MOST_KNOWN))
    unreadable = np.flatnonzero(impossible & (texts != "").to_numpy())
    said = [f"{name}: {texts[i]!r} is not a number from 0 to {MOST_KNOWN:,}." for i in unreadable]
    return np.where(impossible, np.nan, sizes), each(listing, "bad-network-size", unreadable, said)


def _too_many_recruits(listing: Listing, links: Links) -> list[Problem]:
    recruits = np.bincount(links.recruiter[links.recruiter != NOBODY], minlength=len(listing.ids))
    people = np.flatnonzero(recruits > links.issued)
    said = [f"{listing.ids[i]!r} brought {recruits[i]} people with {links.issued[i]} coupons." for i in people]
    return each(listing, "too-many-recruits", people, said)


def _still_open(
    settings: ReadSettings, days: NDArray[np.float64] | None, wave: NDArray[np.int64], source: str
) -> NDArray[np.bool_]:
    """Mark the people whose coupons may still be used, [people]. Somebody without a date counts as finished."""
    if settings.open_last_wave:
        return np.asarray(wave == wave.max(initial=0))
    window = settings.open_days
    if window is None:
        return np.zeros(len(wave), dtype=bool)
    if days is None or not np.isfinite(days).any():
        raise SettingError(
            f"Coupons still open for {window:g} days: {source} has no dates to count from. Name their column: "
            f"{settle_with('--map date=COLUMN')}. Or use --still-open last-wave (still_open in a schema file)."
        )
    with np.errstate(invalid="ignore"):
        return np.asarray(days > np.nanmax(days) - window)


def read_frontier(file: Path | str | pd.DataFrame, schema: StudySchema, id_column: str | None = None) -> Frontier:
    """Read the people who wait for coupons, in their order: ids, and categories of the schema's columns.

    `file` is a CSV file or a pandas table; other columns are ignored.

    >>> frontier = pf.read_frontier(pf.demo_study(people=120).frontier, model.schema)
    >>> frontier.covariates.shape == (len(frontier), 5)
    True
    """
    if isinstance(file, pd.DataFrame):
        return frontier_from_table(file, schema, id_column)
    path = Path(file)
    return _frontier(path, read_table_file(path, may_be_empty=True), schema, id_column)


def frontier_from_table(
    table: pd.DataFrame, schema: StudySchema, id_column: str | None = None, name: str = "the table"
) -> Frontier:
    """Read the same from a pandas table, as from its CSV file; messages count rows from 2 and call it `name`."""
    text_table = read_table(Path(name), csv_text(table), may_be_empty=True)
    return _frontier(Path(name), text_table, schema, id_column)


def _frontier(path: Path, table: TextTable, schema: StudySchema, id_column: str | None) -> Frontier:
    if not len(table.rows):
        raise DataFileError(f"{path}: there is a header and nobody below it: nobody is on the frontier. Add people.")
    frame = without_missing(table.frame, schema.reading.missing)
    ids = texts(frame, _id_column(path, list(frame.columns), schema, id_column))
    faults = [f"row {row:,}: the id is empty." for row in table.rows[ids == ""]]
    again = np.flatnonzero(pd.Series(ids, dtype=object).duplicated().to_numpy() & (ids != ""))
    faults += [f"row {table.rows[i]:,}: id {ids[i]!r} stands already above." for i in again]
    if faults:
        more = f"\n  ... and {len(faults) - 10:,} more." if len(faults) > 10 else ""
        listed = "\n  ".join(faults[:10])
        raise DataFileError(f"{path}: everybody needs a row and an id of their own.\n  {listed}{more}")
    return Frontier(ids, schema.encode(frame, table.rows, str(path), "row"))


def _id_column(path: Path, header: list[str], schema: StudySchema, named: str | None) -> str:
    """Return the column that the caller named, or that the study uses, or that looks like an id."""
    if named is not None:
        if named not in header:
            raise UnknownName(f"column in {path}", named, header)
        return named
    of_study = schema.reading.columns.get("id", ())
    if of_study and of_study[0] in header:
        return of_study[0]
    guessed = guess_columns(header, {}, path.name).get("id")
    if guessed is None:
        raise DataFileError(f"{path}: there is no id column. Name one column 'id'. Found: {', '.join(header)}.")
    return guessed[0]
