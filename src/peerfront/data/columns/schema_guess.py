"""Schemas made from a study: a first guess of what each column holds, and one that may leave the house with a model."""

import hashlib
import re
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.columns.column_findings import Against, column_findings
from peerfront.data.read.read_settings import ANSWER_ROLES, APP, RDSAT, ReadSettings
from peerfront.data.study import Study
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.checked_calls import checked
from peerfront.foundation.covariates import categories_in
from peerfront.foundation.messages import Message, note
from peerfront.foundation.stored import FEWEST
from peerfront.foundation.typed_values import looks_numeric, read_numbers

OTHER = "other"
_MOST_CATEGORIES = 20  # a column with more common values is left out
_MOST_NUMBERS = 8  # numbers with more different values are cut into bands
_BANDS = 4  # bands of about as many people each
_RARE_PEOPLE, _RARE_SHARE = 5, 0.02  # a value of fewer people than both joins `other`; in a small study nothing is rare


@dataclass(frozen=True)
class Guess:
    """A guessed schema, and why columns are left out of it."""

    schema: StudySchema
    reasons: dict[str, Message]
    """By the name of the column."""


@checked
def guess_schema(study: Study) -> Guess:
    """Guess which columns tell people apart, and how; a person can edit the result.

    Columns that are known only afterwards or say how the data were collected are left out, and so are sensitive ones
    (HIV, race, religion, ...) until the schema says `use = true` of them.

    >>> guess = pf.guess_schema(study)
    >>> guess.schema.schema.names
    ('gender', 'age_group', 'district', 'housing', 'acquaintances')
    >>> sorted(guess.reasons)  # columns left out, and why
    ['date']
    """
    findings = column_findings(study)
    fields: list[FieldRule] = []
    reasons: dict[str, Message] = {}
    exclude: list[str] = []
    seen: dict[bytes, str] = {}
    for name in map(str, study.people.columns):
        values = study.people[name]
        finding = findings.get(name)
        # These get a block of their own, so that one word in the schema file uses them.
        on_request = finding is not None and finding.against in (Against.SENSITIVE, Against.IMPLAUSIBLE)
        reason = finding.reason if finding is not None and not on_request else None
        digest = hashlib.blake2b("\0".join(values).encode("utf-8", "surrogatepass")).digest()
        if reason is None and digest in seen:
            reason = note("column_reasons.same_as", column=seen[digest])
        rule = reason or _rule(name, values)
        if isinstance(rule, Message):
            reasons[name] = rule
            exclude.append(name)
            continue
        seen[digest] = name
        rule = replace(rule, missing=study.not_known.get(name, ()))
        if finding is not None and on_request:
            rule = replace(rule, use=False)
            reasons[name] = finding.reason
        fields.append(rule)
    schema = StudySchema(tuple(fields), tuple(exclude), _reading(study), note("schema.guessed", source=study.source))
    return Guess(schema, reasons)


def _reading(study: Study) -> ReadSettings:
    """Return the settings that read the file again in the same way, guessed columns included."""
    settings = study.settings
    of_answers = {role: names for role, names in study.columns.items() if role in ANSWER_ROLES}
    columns = {RDSAT: {}, APP: of_answers}.get(study.format, study.columns)
    columns = {**{role: () for role, names in settings.columns.items() if not names}, **columns}  # "there is none"
    return replace(settings, format=study.format, columns=columns, strict=False)


def _rule(name: str, values: pd.Series) -> FieldRule | Message:
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
        if different > _MOST_NUMBERS:
            return _bands(name, numbers)
    rare = counts[(counts < _RARE_PEOPLE) & (counts < _RARE_SHARE * len(values))].index
    common = [str(value) for value in counts.index if value not in rare and value != OTHER]
    if len(common) > _MOST_CATEGORIES:
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


def _bands(name: str, numbers: np.ndarray) -> FieldRule:
    """Cut numbers into bands of about as many people each."""
    whole = bool(np.all(numbers == np.floor(numbers)))
    shares = np.arange(1, _BANDS) / _BANDS
    cuts = [float(f"{cut:.4g}") if not whole else float(np.ceil(cut)) for cut in np.quantile(numbers, shares)]
    kept = sorted({cut for cut in cuts if numbers.min() < cut <= numbers.max()})
    if not kept:  # more than three quarters share the lowest value
        kept = [float(np.unique(numbers)[1])]
    return FieldRule(name, band_names(kept, whole), tuple(kept))


def band_names(cuts: list[float], whole: bool) -> tuple[str, ...]:
    """Name bands by where they begin and end."""

    def number(value: float) -> str:
        return f"{value:.0f}" if value == int(value) else f"{value:g}"

    inner = [
        (number(low) if high - low == 1 else f"{number(low)} to {number(high - 1)}")
        if whole
        else f"{number(low)} to under {number(high)}"
        for low, high in pairwise(cuts)
    ]
    return (f"under {number(cuts[0])}", *inner, f"{number(cuts[-1])} or more")


# A schema in which no category is the answer of one to four people ------------------------------------------------


def private_schema(study: Study, schema: StudySchema) -> tuple[StudySchema, dict[str, Message]]:
    """Merge categories that fewer than five people of the study share, and leave out columns that then say nothing.

    Answers of few people become `other` if they are five or more together, and count as not known otherwise; bands
    are joined with a neighbour. Categories that nobody has stay: they may come. Also returned: what was done, by
    column, without naming an answer. Columns that are excluded are left out altogether.
    """
    fields: list[FieldRule] = []
    excluded: list[str] = list(schema.left_out)
    done: dict[str, Message] = {}
    for rule in schema.used:
        codes, _ = rule.encode(study.people[rule.name].reset_index(drop=True))
        counts = np.bincount(codes[codes >= 0], minlength=len(rule.categories))
        kept = _without_few(rule, counts)
        if kept is None:
            excluded.append(rule.name)
            done[rule.name] = note("column_reasons.few_differ")
            continue
        if kept != rule:
            done[rule.name] = note("column_reasons.few_merged")
        fields.append(kept)
    reading = schema.reading
    return StudySchema(tuple(fields), tuple(excluded), reading, schema.source), done


def _without_few(rule: FieldRule, counts: NDArray[np.int64]) -> FieldRule | None:
    """The rule without categories of one to four people; None if nothing is left to tell people apart by."""
    if rule.missing_category is not None:
        place = rule.categories.index(rule.missing_category)
        if 0 < counts[place] < FEWEST:
            rest = tuple(c for c in rule.categories if c != rule.missing_category)
            if not rest:
                return None
            other = None if rule.other == rule.missing_category else rule.other
            unlisted = rule.others_unknown or (rule.other is not None and other is None)
            rule = replace(rule, categories=rest, missing_category=None, other=other, others_unknown=unlisted)
            counts = np.delete(counts, place)
    rule, counts = _joined_bands(rule, counts) if rule.cuts else _pooled(rule, counts)
    return rule if (counts > 0).sum() > 1 else None


def _pooled(rule: FieldRule, counts: NDArray[np.int64]) -> tuple[FieldRule, NDArray[np.int64]]:
    """Plain categories: those of one to four people become `other`, or not known if they are too few even so."""
    few = (counts > 0) & (counts < FEWEST)
    if not few.any():
        return rule, counts
    if rule.other is not None:
        few[rule.categories.index(rule.other)] = True
    elif OTHER in rule.categories:
        few[rule.categories.index(OTHER)] = True  # one name for both
    together = int(counts[few].sum())
    kept = tuple(c for c, one_of_few in zip(rule.categories, few, strict=True) if not one_of_few)
    if together < FEWEST:
        return replace(rule, categories=kept or (OTHER,), other=None, others_unknown=True), counts[~few]
    name = rule.other or OTHER
    return replace(rule, categories=(*kept, name), other=name, others_unknown=False), np.append(counts[~few], together)


def _joined_bands(rule: FieldRule, counts: NDArray[np.int64]) -> tuple[FieldRule, NDArray[np.int64]]:
    """Bands of one to four people join the smaller of their neighbours, until there is none."""
    missing = rule.missing_category
    names = [c for c in rule.categories if c != missing]
    people = [int(n) for n, c in zip(counts, rule.categories, strict=True) if c != missing]
    cuts = list(rule.cuts)
    while len(people) > 1 and any(0 < n < FEWEST for n in people):
        band = next(i for i, n in enumerate(people) if 0 < n < FEWEST)
        beside = [i for i in (band - 1, band + 1) if 0 <= i < len(people)]
        low = min(band, min(beside, key=lambda i: people[i]))
        names[low : low + 2] = [f"{names[low]} or {names[low + 1]}"]
        people[low : low + 2] = [people[low] + people[low + 1]]
        del cuts[low]
    if missing is not None:
        names, people = [*names, missing], [*people, int(counts[rule.categories.index(missing)])]
    if not cuts:
        return rule, np.array([sum(people)])  # one band: nothing to tell apart
    return replace(rule, categories=tuple(names), cuts=tuple(cuts)), np.array(people)
