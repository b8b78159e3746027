"""What a file lists about each person, whatever its layout, before anybody has checked it."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import Problem
from peerfront.data.read_settings import COUPONS, RECRUITER, Columns, ReadSettings
from peerfront.data.text_tables import TextTable
from peerfront.errors import DataFileError, SettingError

Texts = NDArray[np.object_]  # an array of str; "" for nothing

USUAL_MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", ".")


@dataclass(frozen=True)
class Listing:
    """One entry per person, all of it text as in the file except the counts."""

    source: str
    """Name of the file."""
    format: str
    place: str
    """What its entries are called: row, line or record."""
    rows: NDArray[np.int64]  # [people], place in the file
    ids: Texts  # [people]
    people: pd.DataFrame  # [people, columns]: everything that is neither id, coupon nor recruiter
    columns: Columns
    """Which column of the file is what."""
    recruiters: Texts | None = None  # [people], ids
    own_coupons: Texts | None = None  # [people]
    coupons: Texts | None = None  # [people, slots], issued
    issued: NDArray[np.int64] | None = None  # [people], where a column says how many
    problems: tuple[Problem, ...] = ()


def without_missing(frame: pd.DataFrame, codes: Iterable[str]) -> pd.DataFrame:
    """The table with every code that means "not known" replaced by nothing."""
    return frame.mask(frame.isin([*USUAL_MISSING, *codes]), "")


def texts(frame: pd.DataFrame, name: str) -> Texts:
    return frame[name].to_numpy(dtype=object)


def list_table(table: TextTable, columns: Columns, format: str, settings: ReadSettings, source: str) -> Listing:
    """The listing of a coupon or recruiter-id table whose columns are known."""
    frame = without_missing(table.frame, settings.missing)
    spoken_for = {name for role in ("id", "own_coupon", "coupons", "recruiter") for name in columns.get(role, ())}
    problems = list(table.problems)
    coupons = own = recruiters = issued = None
    ids = texts(frame, columns["id"][0])
    if "recruiter" in columns:
        recruiters = texts(frame, columns["recruiter"][0])
    if format == COUPONS:
        own = texts(frame, columns["own_coupon"][0])
        coupons = frame[list(columns["coupons"])].to_numpy(dtype=object)
        if settings.coupons_each is not None:
            raise SettingError(
                f"{source} lists the coupons issued to each person, so the same number for everybody would contradict "
                "it. Leave --coupons-each out, or read the recruiter ids instead with --format recruiter."
            )
    else:
        if "coupons_issued" in columns and settings.coupons_each is None:
            issued, faults = _counts(texts(frame, columns["coupons_issued"][0]), table.rows, ids)
            problems += faults
        elif "coupons" in columns and settings.coupons_each is None:
            coupons = frame[list(columns["coupons"])].to_numpy(dtype=object)
        elif settings.coupons_each is None:
            raise DataFileError(
                f"{source} says who recruited whom, and not how many coupons each person was issued. Somebody who "
                "brought nobody may have had three coupons or none, and without that nothing can be learned about how "
                "many people recruit. Name the column that holds it (--map coupons_issued=COLUMN), or say how many "
                "everybody got, for example --coupons-each 3."
            )
        else:
            issued = np.full(len(frame), settings.coupons_each, dtype=np.int64)
    if "coupons_issued" in columns:
        spoken_for.add(columns["coupons_issued"][0])
    people = frame[[name for name in frame.columns if name not in spoken_for]]
    used = {COUPONS: ("id", "own_coupon", "coupons", "recruiter"), RECRUITER: ("id", "recruiter", "coupons_issued")}
    shown = {role: names for role, names in columns.items() if role in (*used[format], "network_size", "date")}
    if coupons is not None:
        shown["coupons"] = columns["coupons"]
    return Listing(
        source, format, "row", table.rows, ids, people, shown, recruiters, own, coupons, issued, tuple(problems)
    )


def _counts(values: Texts, rows: NDArray[np.int64], ids: Texts) -> tuple[NDArray[np.int64], list[Problem]]:
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=float)
    with np.errstate(invalid="ignore"):
        wrong = ~((numbers >= 0) & (numbers == np.floor(numbers)) & (numbers < 1e9))
    problems = [
        Problem("bad-count", int(rows[i]), ids[i], f"Coupons issued to {ids[i]!r}: {values[i]!r} is no whole number.")
        for i in np.flatnonzero(wrong)
    ]
    return np.where(wrong, 0, numbers).astype(np.int64), problems
