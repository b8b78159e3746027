"""Guess a first schema from a study: what each column seems to hold, and why some are excluded."""

import hashlib
import re
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from peerfront.data.column_findings import Against, column_findings
from peerfront.data.read_settings import ANSWER_ROLES, APP, RDSAT, ReadSettings
from peerfront.data.study import Study
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.covariates import categories_in
from peerfront.foundation.messages import Message, note
from peerfront.foundation.settings import at_least, check_fields, proportion
from peerfront.foundation.typed_values import looks_numeric, read_numbers

OTHER = "other"
_IDENTIFIER_PEOPLE = 50  # whole numbers that differ for all of so many people are an identifier, not a measurement


@dataclass(frozen=True)
class GuessSettings:
    """When a column becomes categories, bands, or is left out."""

    most_categories: int = 20
    """A column with more common values is left out."""
    most_numbers: int = 8
    """Numbers with more different values are cut into bands."""
    bands: int = 4
    """How many bands, of about as many people each."""
    rare_people: int = 5
    """A value of fewer people than this, and than the share below, joins `other`."""
    rare_share: float = 0.02
    """See rare_people; in a small study nothing is rare."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            most_categories=at_least(1),
            most_numbers=at_least(1),
            bands=at_least(2),
            rare_people=at_least(0),
            rare_share=proportion,
        )


@dataclass(frozen=True)
class Guess:
    """A guessed schema, and why columns are left out of it."""

    schema: StudySchema
    reasons: dict[str, Message]
    """By the name of the column."""


def guess_schema(study: Study, settings: GuessSettings | None = None) -> Guess:
    """Guess which columns tell people apart, and how; a person can edit the result.

    Columns that are known only afterwards or say how the data were collected are left out, and so are sensitive ones
    (HIV, race, religion, ...) until the schema says `use = true` of them.

    >>> guess = pf.guess_schema(study)
    >>> guess.schema.schema.names
    ('gender', 'age_group', 'district', 'housing', 'acquaintances')
    >>> sorted(guess.reasons)  # columns left out, and why
    ['date']
    """
    settings = settings or GuessSettings()
    found = column_findings(study)
    fields: list[FieldRule] = []
    reasons: dict[str, Message] = {}
    exclude: list[str] = []
    seen: dict[bytes, str] = {}
    for name in map(str, study.people.columns):
        values = study.people[name]
        finding = found.get(name)
        # These get a block of their own, so that one word in the schema file uses them.
        on_request = finding is not None and finding.against in (Against.SENSITIVE, Against.IMPLAUSIBLE)
        reason = finding.reason if finding is not None and not on_request else None
        digest = hashlib.blake2b("\0".join(values).encode("utf-8", "surrogatepass")).digest()
        if reason is None and digest in seen:
            reason = note("column_reasons.same_as", column=seen[digest])
        rule = reason or _rule(name, values, settings)
        if isinstance(rule, Message):
            reasons[name] = rule
            exclude.append(name)
            continue
        seen[digest] = name
        if finding is not None and on_request:
            rule = replace(rule, use=False)
            reasons[name] = finding.reason
        fields.append(rule)
    schema = StudySchema(tuple(fields), tuple(exclude), _reading(study), f"the schema of {study.source}")
    return Guess(schema, reasons)


def _reading(study: Study) -> ReadSettings:
    """Return the settings that read the file again in the same way, guessed columns included."""
    settings = study.settings
    of_answers = {role: names for role, names in study.columns.items() if role in ANSWER_ROLES}
    columns = {RDSAT: {}, APP: of_answers}.get(study.format, study.columns)
    return replace(settings, format=study.format, columns=columns, strict=False)


def _rule(name: str, values: pd.Series, settings: GuessSettings) -> FieldRule | Message:
    """Return how the column becomes a field, or why it does not."""
    filled = values[values != ""]
    counts = filled.value_counts()
    if not len(counts):
        return note("column_reasons.empty")
    if len(counts) == 1:
        return note("column_reasons.same_for_all")
    numbers = read_numbers(filled) if looks_numeric(filled) else np.full(len(filled), np.nan)
    if np.isfinite(numbers).all():
        different = len(np.unique(numbers))
        if different == 1:
            return note("column_reasons.same_for_all")
        if different == len(filled) >= _IDENTIFIER_PEOPLE and (numbers == np.floor(numbers)).all():
            return note("column_reasons.identifier")
        if different > settings.most_numbers:
            return _bands(name, numbers, settings.bands)
    if len(counts) > max(0.5 * len(filled), 5):
        return note("column_reasons.free_text")
    rare = counts[(counts < settings.rare_people) & (counts < settings.rare_share * len(values))].index
    common = [str(value) for value in counts.index if value not in rare and value != OTHER]
    if len(common) > settings.most_categories:
        return note("column_reasons.too_many_values", n=len(counts))
    if not common:
        return note("column_reasons.all_rare", n=len(counts))
    has_other = bool(len(rare)) or OTHER in counts.index
    categories = _in_order(common) + ((OTHER,) if has_other else ())
    return FieldRule(name, categories, other=OTHER if len(rare) else None)


def _in_order(values: list[str]) -> tuple[str, ...]:
    """Sort bands that somebody made already (<30, 30-39, 60+) by their numbers, anything else as categories."""
    starts = [re.match(r"(?:<|≤|>|≥|under |over )?=? ?(\d+(?:\.\d+)?)", value.lower()) for value in values]
    if not all(starts) or not any(value[0] in "<≤uU" for value in values):
        return categories_in(values)
    lowest = {
        value: (float(start[1]), value[0] not in "<≤uU") for value, start in zip(values, starts, strict=True) if start
    }
    return tuple(sorted(values, key=lambda value: (*lowest[value], value)))


def _bands(name: str, numbers: np.ndarray, bands: int) -> FieldRule:
    """Cut numbers into bands of about as many people each."""
    whole = bool(np.all(numbers == np.floor(numbers)))
    shares = np.arange(1, bands) / bands
    cuts = [float(f"{cut:.4g}") if not whole else float(np.ceil(cut)) for cut in np.quantile(numbers, shares)]
    kept = sorted({cut for cut in cuts if numbers.min() < cut <= numbers.max()})
    if not kept:  # more than three quarters share the lowest value
        kept = [float(np.unique(numbers)[1])]
    return FieldRule(name, band_names(kept, whole), tuple(kept))


def band_names(cuts: list[float], whole: bool) -> tuple[str, ...]:
    """Name bands by where they begin and end."""

    def shown(value: float) -> str:
        return f"{value:.0f}" if value == int(value) else f"{value:g}"

    inner = [
        (shown(low) if high - low == 1 else f"{shown(low)} to {shown(high - 1)}")
        if whole
        else f"{shown(low)} to under {shown(high)}"
        for low, high in pairwise(cuts)
    ]
    return (f"under {shown(cuts[0])}", *inner, f"{shown(cuts[-1])} or more")
