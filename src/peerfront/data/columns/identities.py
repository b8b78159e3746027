"""Columns that name one person or one spot: ids, hashes, other people's ids, contacts, names, notes, positions.

Such a column tells nothing about the next person, and would carry identities into a model. Values are looked at first;
names of columns decide where values leave it open (a street, a note) or explain them (an income differs for everybody,
too). A place that many people share is no identity.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.columns.column_names import means_otherwise, speaks_of
from peerfront.data.study import Study
from peerfront.foundation.messages import Message, note
from peerfront.foundation.typed_values import looks_numeric, read_numbers

_LOOKED_AT = 2_000  # cells that are looked at
_LONGEST = 200  # characters of a cell that patterns are compared with
_MOST = 0.8  # share of the values that must look alike
_MANY = 20  # different values: more than categories have
_SEVERAL = 4  # different values from which on a column that is called a name or a street holds some
_FEW_NUMBERS, _NUMBERS = 20, 50  # people from whom on numbers that all differ are no measurements: dense ones, others
_NUMBERS_END = 150  # people from whom on their numbers are not those of ages and scores
_LONG_NUMBER = 6  # digits that measurements have at most, unless they are rounded
_SMALL_NUMBER = re.compile(r"\d{1,4}")
_CELL = re.compile(r"[,;|/\s]+")
_CONTACT = re.compile(r"\S+@\S+\.\w+|(?=(?:\D*\d){7,15}\D*$)[+(0][\d ().-]{6,24}")
_HASH = re.compile(
    r"(?:uuid:)?\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?|(?=.*\d)(?=.*[a-f])[0-9a-f]{8,}"
    r"|(?-i:(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/_-]{16,}={0,2})",
    flags=re.IGNORECASE,
)
_POSITION = re.compile(
    r"-?\d{1,3}[.,]\d{3,}(?:\s*[,;]\s*|\s+)-?\d{1,3}[.,]\d{3,}(?:[\s,;]+-?\d+(?:\.\d+)?){0,2}"
    r"|(?=.*\d)\S*\d+\s*°.*|point ?\(.*\)|[2-9cfghjmpqrvwx]{4,8}\+[2-9cfghjmpqrvwx]{2,3}.*",
    flags=re.IGNORECASE,
)
_DEGREES = re.compile(r"-?\d{1,3}[.,]\d{4,8}")


class Identities:
    """The ids of a study, and which of its columns name one person or one spot."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.columns = list(map(str, study.people.columns))
        self.places = {_key(person): place for place, person in enumerate(study.ids)}
        self.small_ids = all(_SMALL_NUMBER.fullmatch(person) for person in study.ids)
        codes = {_key(code) for code in study.coupons.ravel() if code} if study.coupons is not None else set()
        self.codes = set() if all(_SMALL_NUMBER.fullmatch(code) for code in codes) else codes

    def named_by(self, name: str) -> Message | None:
        """Return whom or what a column names if it tells one person from another; None if it may describe people."""
        values = self.study.people[name].reset_index(drop=True)
        filled = values[values != ""]
        different = filled.drop_duplicates()
        if len(different) < 2:
            return None
        looks = different.head(_LOOKED_AT).str.slice(0, _LONGEST)
        several = len(different) >= max(_SEVERAL, min(0.1 * len(filled), 2 * _SEVERAL))
        if several and _share(looks, _CONTACT) >= _MOST:
            return note("column_reasons.contact")
        if several and _share(looks, _HASH) >= _MOST:
            return note("column_reasons.hash")
        if (several and speaks_of("others", name)) or self._are_ids(filled):
            return note("column_reasons.others_ids")
        if several and (speaks_of("position", name) or _share(looks, _POSITION) >= _MOST or self._are_degrees(name)):
            return note("column_reasons.position")
        if several and speaks_of("address", name):
            return note("column_reasons.address")
        numbers = read_numbers(filled) if looks_numeric(filled) else np.full(len(filled), np.nan)
        finite = numbers[np.isfinite(numbers)]
        if len(finite) >= _MOST * len(filled):
            if len(different) > _MANY and speaks_of("place", name):  # postcodes are no amounts to be cut into bands
                return note("column_reasons.too_many_values", n=len(different))
            return note("column_reasons.identifier") if _number_people(name, finite) else None
        words = filled.head(_LOOKED_AT).str.count(r"\S+")
        if speaks_of("notes", name) and (several or words.max() >= _SEVERAL):
            return note("column_reasons.notes")
        if several and speaks_of("names", name):
            return note("column_reasons.names")
        fewest = 2 if words.mean() >= _SEVERAL else 6  # sentences differ even where hardly anybody wrote one
        return note("column_reasons.free_text") if len(different) >= max(0.5 * len(filled) + 0.5, fewest) else None

    def _are_ids(self, filled: pd.Series) -> bool:
        """Tell whether cells hold ids or coupons of people of the study, one or several.

        Where ids are small numbers, ages and counts are ids of somebody, too: then they must name the recruiter, stand
        several in a cell, or spread over all ids as no count does.
        """
        if filled.nunique() < 3:
            return False
        cells = filled.iloc[:: -(-len(filled) // _LOOKED_AT)]
        found = [[self.places[key] for key in self._keys(cell) if key in self.places] for cell in cells]
        if not self.small_ids:
            known = [bool(at) or _key(cell) in self.codes for cell, at in zip(cells, found, strict=True)]
            return float(np.mean(known)) >= 0.5
        recruiters = self.study.recruiter[cells.index]
        lists = float(np.mean([len(at) > 1 for at in found]))
        if max(_agree(found, cells.index), _agree(found, recruiters), lists) >= _MOST:
            return True
        if np.mean([len(at) == 1 for at in found]) < 0.95 or len(self.places) < _NUMBERS_END:
            return False
        quarters = np.bincount([4 * at[0] // len(self.study) for at in found if at], minlength=4)
        counts = filled.value_counts()
        spread = quarters.min() >= 0.1 * len(cells) and counts.iloc[0] <= max(0.05 * len(filled), 3)
        return bool(spread and len(counts) >= 0.3 * len(filled))

    def _keys(self, cell: str) -> list[str]:
        return [_key(cell)] if _key(cell) in self.places else list(map(_key, _CELL.split(cell)))

    def _are_degrees(self, name: str) -> bool:
        """Tell whether a column and one beside it may be latitude and longitude."""
        place = self.columns.index(name)
        beside = (self.columns[at] for at in (place - 1, place + 1) if 0 <= at < len(self.columns))
        return _in_one_region(self.study.people[name]) and any(_in_one_region(self.study.people[at]) for at in beside)


def is_place(name: str) -> bool:
    """Tell whether a column says where people live or took part."""
    return speaks_of("place", name) or speaks_of("position", name) or speaks_of("address", name)


def _share(texts: pd.Series, pattern: re.Pattern[str]) -> float:
    return float(texts.str.fullmatch(pattern).mean())


def _key(text: object) -> str:
    return str(text).strip().casefold().lstrip("0")


def _agree(found: Sequence[Sequence[int]], people: Iterable[int]) -> float:
    """The share of cells that hold the id of these people."""
    return float(np.mean([person in at for at, person in zip(found, people, strict=True)]))


def _in_one_region(values: pd.Series) -> bool:
    """Tell whether these may be latitudes or longitudes of one region, as phones write them."""
    filled = values[values != ""].drop_duplicates().head(_LOOKED_AT).str.slice(0, _LONGEST)
    if len(filled) < _SEVERAL or _share(filled, _DEGREES) < _MOST:
        return False
    numbers = read_numbers(filled)
    numbers = numbers[np.isfinite(numbers)]
    middle = np.quantile(numbers, [0.05, 0.95])
    return bool(np.abs(numbers).max() <= 180.0 and middle[1] - middle[0] < 2.0)


def _number_people(name: str, numbers: NDArray[np.float64]) -> bool:
    """Tell whether whole numbers that (nearly) all differ number people, and measure nothing."""
    if len(numbers) < _FEW_NUMBERS or means_otherwise("number", name) or not (numbers == np.floor(numbers)).all():
        return False
    different = len(np.unique(numbers))
    if (numbers % 10 == 0).mean() > 0.5:  # rounded, as amounts are
        return False
    if different == len(numbers) and (len(numbers) >= _NUMBERS or np.ptp(numbers) <= 1.5 * len(numbers)):
        return True
    long = np.median(np.abs(numbers)) >= 10.0**_LONG_NUMBER
    return bool(different >= (0.2 if long else 0.9) * len(numbers) and (long or speaks_of("number", name)))
