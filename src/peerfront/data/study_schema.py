"""The schema of a study: which columns of its file describe a person, and how their text becomes a category.

A column holds categories, or numbers that are cut into bands. Missing values become "not known" (or a category of their
own, where the schema names one); rare values may share the category `other`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import at
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.study import Study
from peerfront.data.study_calendar import waiting_people
from peerfront.foundation.covariates import UNKNOWN, Codes, Field, Schema
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.messages import Lines, Message, note
from peerfront.foundation.typed_values import means_not_known, read_numbers, rough_number, unified
from peerfront.problem import Frontier, History

_THIS_SCHEMA = note("schema.this")
_MOST_LISTED = 10  # faulty values that a message lists
EVERYBODY = Field("everybody", ("person",))
"""The only field where no column describes people: everybody is in its one category."""


@dataclass(frozen=True)
class FieldRule:
    """How one column becomes a field."""

    name: str
    """The column of the file."""
    categories: tuple[str, ...]
    """In the order of their codes; for bands, from the lowest to the highest."""
    cuts: tuple[float, ...] = ()
    """Where bands begin: the second band holds numbers from the first cut on. Empty for plain categories."""
    missing: tuple[str, ...] = ()
    """Values of this column that mean "not known"."""
    missing_category: str | None = None
    """The category for values that are not known; None leaves them unknown."""
    other: str | None = None
    """The category for values that are not listed; None makes them errors."""
    others_unknown: bool = False
    """Whether values that are not listed count as not known, instead."""
    use: bool | None = None
    """False leaves the column out; True uses it although it is sensitive or looks as if it must not be used."""

    def __post_init__(self) -> None:
        Field(self.name, self.categories)  # checks the name and the categories
        named = {"missing_category": self.missing_category, "other": self.other}
        bands = [c for c in self.categories if not (self.cuts and c == self.missing_category)]
        for key, category in named.items():
            if category is not None and category not in self.categories:
                raise SettingError(
                    "schema.category_absent",
                    name=self.name,
                    key=key,
                    category=category,
                    categories=list(self.categories),
                )
        if self.cuts and (self.other is not None or self.others_unknown):
            raise SettingError("schema.other_of_bands", name=self.name)
        if self.other is not None and self.others_unknown:
            raise SettingError("schema.other_or_unknown", name=self.name, other=self.other)
        rising = all(a < b for a, b in pairwise(self.cuts)) and np.isfinite(self.cuts).all()
        if not rising:
            raise SettingError("schema.cuts_fall", name=self.name, cuts=[f"{c:g}" for c in self.cuts])
        if self.cuts and len(bands) != len(self.cuts) + 1:
            raise SettingError(
                "schema.bands_unnamed", name=self.name, cuts=len(self.cuts), bands=len(self.cuts) + 1, n=len(bands)
            )

    def encode(self, values: pd.Series) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
        """Return the codes [people], and the places of values that the field does not allow [people]."""
        places, different = pd.factorize(values.to_numpy(dtype=object))
        codes, wrong = self._encode(different)
        return codes[places], wrong[places]

    def _encode(self, texts: NDArray[np.object_]) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
        """Encode each different text once. Case, blanks and accents count only where categories differ in them."""
        values = pd.Series(texts, dtype=object)
        words = means_not_known(text for text in texts if text not in self.categories)
        absent = ((values == "") | values.isin([*self.missing, *words])).to_numpy()
        if self.cuts:
            numbers = read_numbers(values)
            for i in np.flatnonzero(np.isnan(numbers) & ~absent):
                low, high = rough_number(texts[i]) or (np.nan, np.nan)
                numbers[i] = low if low == high else np.nan
            wrong = np.isnan(numbers) & ~absent
            bands = [n for n, c in enumerate(self.categories) if c != self.missing_category]
            codes = np.array(bands)[np.searchsorted(self.cuts, numbers, side="right").clip(max=len(self.cuts))]
        else:
            code_of = {category: code for code, category in enumerate(self.categories)}
            writings = [unified(category) for category in self.categories]
            alike = {key: code for code, key in enumerate(writings) if writings.count(key) == 1}
            codes = np.array([code_of.get(text, alike.get(unified(text), -1)) for text in texts], dtype=np.int64)
            if self.other is not None:
                codes = np.where(codes < 0, self.categories.index(self.other), codes)
            wrong = (codes < 0) & ~absent & (not self.others_unknown)
        if self.others_unknown:
            absent = absent | (codes < 0)
        unknown = UNKNOWN if self.missing_category is None else self.categories.index(self.missing_category)
        return np.where(absent, unknown, codes).astype(np.int16), wrong


@dataclass(frozen=True)
class StudySchema:
    """How a study's file is read, and what is known about each person in it."""

    fields: tuple[FieldRule, ...]
    exclude: tuple[str, ...] = ()
    """Columns that must not be used; they win over `fields`."""
    reading: ReadSettings = dataclass_field(default_factory=ReadSettings)
    source: str | Message = _THIS_SCHEMA
    """Where it comes from, for messages."""

    def __post_init__(self) -> None:
        _ = self.schema  # checks the fields together
        both = next((rule.name for rule in self.fields if rule.use and rule.name in self.exclude), None)
        if both is not None:
            raise SettingError("schema.used_and_excluded", column=both)

    @cached_property
    def used(self) -> tuple[FieldRule, ...]:
        return tuple(rule for rule in self.fields if rule.name not in self.exclude and rule.use is not False)

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are excluded, or whose block says `use = false`."""
        return self.exclude + tuple(r.name for r in self.fields if r.use is False and r.name not in self.exclude)

    @cached_property
    def schema(self) -> Schema:
        """The fields as models and planners see them; `EVERYBODY` alone if no column is used."""
        return Schema(tuple(Field(rule.name, rule.categories) for rule in self.used) or (EVERYBODY,))

    def encode(self, table: pd.DataFrame, rows: NDArray[np.int64], source: str, place: str) -> Codes:
        """Turn a table of text into category codes, [people, fields]; messages name the `rows` of `source`."""
        absent = [rule.name for rule in self.used if rule.name not in table.columns]
        if absent:
            raise DataFileError(
                "schema.columns_missing",
                source=source,
                columns=list(absent),
                schema=self.source,
                header=list(map(str, table.columns)) or note("recognition.nothing"),
            )
        codes = np.zeros((len(table), len(self.schema.fields)), dtype=np.int16)
        faults: list[tuple[int, Message]] = []
        for number, rule in enumerate(self.used):
            values = table[rule.name].reset_index(drop=True)
            codes[:, number], wrong = rule.encode(values)
            allowed = note("settings.number") if rule.cuts else list(rule.categories)
            for person in np.flatnonzero(wrong):
                row, value = int(rows[person]), values[person]
                fault = note("schema.unknown_value", at=at(place, row), column=rule.name, value=value, allowed=allowed)
                faults.append((row, fault))
        if faults:
            listed = [fault for _, fault in sorted(faults, key=lambda each: each[0])[:_MOST_LISTED]]
            if len(faults) > _MOST_LISTED:
                listed.append(note("problems.more", n=len(faults) - _MOST_LISTED))
            raise DataFileError(
                "schema.unknown_values", source=source, n=len(faults), schema=self.source, faults=Lines(listed)
            )
        return codes

    def check_columns(self, study: Study) -> None:
        """Refuse names in `exclude` that are no column: they are typing errors that somebody relies on."""
        columns = {*study.people.columns, *(name for names in study.columns.values() for name in names)}
        for name in self.exclude:
            if name not in columns:
                raise UnknownName(note("schema.excluded_column", source=study.source), name, columns)


def encode_study(study: Study, schema: StudySchema) -> Codes:
    """Return the category codes of everybody in the study, [people, fields]."""
    return schema.encode(study.people, study.rows, study.source, study.place)


def history_of(
    study: Study,
    schema: StudySchema,
    exposure: NDArray[np.float64] | None = None,
    *,
    exposure_draws: NDArray[np.float64] | None = None,
    wave: NDArray[np.int64] | None = None,
    planned: Mapping[str, int] | None = None,
) -> History:
    """Return what models learn from: censored triples (x, k, y) of informative people, and recruiter-recruit pairs.

    With an `exposure` (`History.exposure`), [people], open coupons count for as long as they were out; people whose
    exposure is nan are left out. `exposure_draws` [people, draws] and `wave` [people] are those of the history (by
    default waves of the trees); `planned` are numbers of coupons that a plan or a lot gave, by id.
    """
    codes = encode_study(study, schema)
    informative = study.informative if exposure is None else study.informative & ~np.isnan(exposure)
    recruits = np.flatnonzero(study.recruiter >= 0)
    return History(
        schema.schema,
        codes[informative],
        study.issued[informative],
        study.recruits[informative],
        codes[study.recruiter[recruits]],
        codes[recruits],
        None if exposure is None else exposure[informative],
        (study.trees.wave if wave is None else wave)[informative],
        None
        if planned is None
        else np.array([planned.get(str(id), -1) for id in study.ids[informative]], dtype=np.int64),
        None if exposure_draws is None else exposure_draws[informative],
    )


def frontier_of(study: Study, schema: StudySchema) -> Frontier:
    """Return the people who wait for coupons, as `Study.waiting` has them."""
    waits, _ = waiting_people(study)
    return Frontier(study.ids[waits], encode_study(study, schema)[waits])
