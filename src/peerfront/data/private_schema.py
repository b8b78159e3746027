"""A schema that may leave the house with a model: no category of it is the answer of one to four people."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from peerfront.data.schema_guess import OTHER
from peerfront.data.study import Study
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.messages import Message, note
from peerfront.foundation.privacy import FEWEST


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
