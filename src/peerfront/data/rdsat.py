"""The text format of the program RDSAT.

Line 1 says `RDS`; line 2 gives the number of people, the most coupons, the code for "none", and the names of the
covariates; then a line per person: id, network size, own coupon, coupons issued, covariates.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.data.listing import Listing, texts, without_missing
from peerfront.data.problems import Problem
from peerfront.data.read_settings import MOST_COUPONS_EACH, RDSAT, ReadSettings
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Remedy, note
from peerfront.foundation.text_tables import MOST_COLUMNS

NETWORK_SIZE = "network.size"
OWN_COUPON = "own.coupon"


def coupon_names(count: int) -> tuple[str, ...]:
    return tuple(f"coupon.{number + 1}" for number in range(count))


def list_rdsat(path: Path, text: str, settings: ReadSettings, problems: tuple[Problem, ...]) -> Listing:
    """List the people of an RDSAT file."""
    if settings.columns:
        raise SettingError("rdsat.fixed_places", source=path.name, map=Remedy("map", ("ROLE",)))
    if settings.coupons_each is not None:
        raise SettingError("rdsat.lists_coupons", source=path.name, coupons_each=Remedy("coupons_each"))
    lines = text.splitlines()
    if len(lines) < 2:
        raise DataFileError("rdsat.short", path=path)
    header = _cut(lines[1], _separator(lines[1:2]))
    try:
        announced, slots, none = _count(header[0]), _count(header[1]), header[2]
    except (IndexError, ValueError):
        raise DataFileError("rdsat.second_line", path=path, line=lines[1].strip()) from None
    if slots > MOST_COUPONS_EACH:
        raise DataFileError("rdsat.too_many_coupons", path=path, coupons=slots, most=MOST_COUPONS_EACH)
    if len(header) - 3 > MOST_COLUMNS:
        raise DataFileError("rdsat.too_many_columns", path=path, n=len(header) - 3, most=MOST_COLUMNS)
    names = ["id", NETWORK_SIZE, OWN_COUPON, *coupon_names(slots), *header[3:]]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataFileError("rdsat.name_twice", path=path, name=repeated[0])
    numbered = [(number, line) for number, line in enumerate(lines[2:], start=3) if line.strip()]
    if not numbered:
        raise DataFileError("rdsat.nobody", path=path)
    separator = _separator([line for _, line in numbered])
    records = []
    for number, line in numbered:
        cells = _cut(line, separator)
        if len(cells) != len(names):
            raise DataFileError(
                "rdsat.cells",
                path=path,
                line=number,
                n=len(cells),
                expected=len(names),
                coupons=slots,
                covariates=len(header) - 3,
                none=none,
            )
        records.append(cells)
    frame = pd.DataFrame(records, columns=names, dtype=object)
    if announced != len(frame):
        fault = note("problems.row_count", announced=announced, people=len(frame))
        problems = (*problems, Problem("row-count", 2, "", fault))
    frame = without_missing(frame, (none, *settings.missing))
    issued = list(coupon_names(slots))
    return Listing(
        source=path.name,
        format=RDSAT,
        place="line",
        rows=np.array([number for number, _ in numbered], dtype=np.int64),
        ids=texts(frame, "id"),
        people=frame[[NETWORK_SIZE, *header[3:]]],
        columns={
            "id": ("id",),
            "own_coupon": (OWN_COUPON,),
            "coupons": tuple(issued),
            "network_size": (NETWORK_SIZE,),
        },
        own_coupons=texts(frame, OWN_COUPON),
        coupons=frame[issued].to_numpy(dtype=object),
        problems=problems,
    )


def _count(text: str) -> int:
    """Read a number of people or coupons, in at most 12 digits."""
    if not re.fullmatch("[0-9]{1,12}", text):
        raise ValueError(text)
    return int(text)


def _separator(lines: list[str]) -> str:
    """Return tabs or commas if every line has them, else "" for any blanks."""
    for separator in ("\t", ","):
        if all(separator in line for line in lines):
            return separator
    return ""


def _cut(line: str, separator: str) -> list[str]:
    if not separator:
        return line.split()
    cells = [cell.strip() for cell in re.split(separator, line)]
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    return cells
