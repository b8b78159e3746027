"""What speaks against using a column: it is known only afterwards, says how data were collected, or is sensitive.

The findings depend on the study alone, so that `check`, `fit` and a schema that somebody wrote meet the same ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import pandas as pd

from peerfront.data.column_roles import role_of
from peerfront.data.leaks import find_leaks
from peerfront.data.listing import describes_the_tree
from peerfront.data.sensitive import MEANING, SENSITIVE, sensitive_topic
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.typed_values import looks_numeric, read_numbers


class Against(Enum):
    """The kinds of reasons not to use a column, from the strongest on."""

    OUTCOME = "is the outcome"
    """Never used, whatever a schema says."""
    IMPLAUSIBLE = "predicts recruits too well to be known before"
    """A schema that names it needs `use = true`; otherwise `fit` stops."""
    COLLECTION = "says how data were collected, or how recruitment went"
    """Left out unless the schema says `use = true`."""
    SENSITIVE = "is sensitive"
    """Left out unless the schema says `use = true`."""


_CALENDAR = {
    "date": "a date",
    "issued_date": "a date",
    "redeemed_date": "a date",
    "expiry_date": "a date",
    "valid_days": "for how long coupons are valid, not who the person is",
    "waiting": "tells how recruitment went",
}
"""Parts of the calendar that say nothing about a person; a site may."""


@dataclass(frozen=True)
class Finding:
    """What speaks against a column, in words that follow its name."""

    against: Against
    reason: str


def column_findings(study: Study) -> dict[str, Finding]:
    """Find what speaks against the columns of a study, by column."""
    people = study.people
    found: dict[str, Finding] = {}
    for name in map(str, people.columns):
        finding = _of_the_tree(study, name, people[name])
        if finding is None:
            role = role_of(study, name, people[name])
            finding = Finding(Against.COLLECTION, role) if role else None
        if finding is not None:
            found[name] = finding
    for name, leak in find_leaks(study, found).items():
        if name not in found or found[name].against is not Against.OUTCOME:
            found[name] = Finding(Against.OUTCOME if leak.certain else Against.IMPLAUSIBLE, leak.reason)
    for name in map(str, people.columns):
        values = people[name]
        topic = "" if name in found else sensitive_topic(name, values[values != ""].unique())
        if topic:
            found[name] = Finding(Against.SENSITIVE, f"{SENSITIVE}{topic}")
    return found


def _of_the_tree(study: Study, name: str, values: pd.Series) -> Finding | None:
    """Return what a column says about how recruitment went, if it says that plainly."""
    role = next((role for role in _CALENDAR if (name,) == study.columns.get(role)), "")
    if role:
        return Finding(Against.COLLECTION, _CALENDAR[role])
    numbers = read_numbers(values) if looks_numeric(values) else np.zeros(0)
    facts = {
        "the number of recruits": (study.recruits, Against.OUTCOME),
        "the wave": (study.trees.wave, Against.COLLECTION),
        "the number of coupons issued": (study.issued, Against.COLLECTION),
    }
    for fact, (counts, against) in facts.items():
        if len(np.unique(counts)) > 1 and np.array_equal(numbers, counts):
            return Finding(against, f"is {fact}")
    if describes_the_tree(name):
        return Finding(Against.COLLECTION, "tells how recruitment went")
    if np.array_equal(values.to_numpy(dtype=object), study.ids[study.trees.root]):
        return Finding(Against.COLLECTION, "names the seed")
    return None


@dataclass(frozen=True)
class Vetted:
    """A schema that may be fitted, and what there is to say about it."""

    schema: StudySchema
    reasons: dict[str, str]
    """Why columns with a block of their own are not used, by column."""
    notes: tuple[str, ...]
    """Warnings about columns that are used because the schema says `use = true`."""
    accepted: tuple[str, ...] = ()
    """Columns that predict too well and are used because the schema says so."""


def vetted(study: Study, schema: StudySchema, found: Mapping[str, Finding] | None = None) -> Vetted:
    """Leave out what a schema names and does not say `use = true` of; refuse columns that are the outcome.

    Columns that the schema leaves out anyway are not looked at.
    """
    found = column_findings(study) if found is None else found
    reasons: dict[str, str] = {}
    notes: list[str] = []
    accepted: list[str] = []
    sensitive: list[str] = []
    for rule in schema.used:
        finding = found.get(rule.name)
        if finding is None:
            continue
        if finding.against is Against.OUTCOME or (finding.against is Against.IMPLAUSIBLE and not rule.use):
            raise DataFileError(_refused(study, schema, rule.name, finding))
        if not rule.use:
            reasons[rule.name] = finding.reason
        elif finding.against is Against.SENSITIVE:
            sensitive.append(rule.name)
        else:
            kept = "It is used because the schema says use = true."
            notes.append(f"Warning: column {rule.name!r}: {finding.reason}. {kept}")
            accepted += [rule.name] if finding.against is Against.IMPLAUSIBLE else []
    if sensitive:
        notes.append(f"Warning: sensitive columns are used ({', '.join(map(repr, sensitive))}). {MEANING}")
    fields = tuple(replace(rule, use=False) if rule.name in reasons else rule for rule in schema.fields)
    return Vetted(replace(schema, fields=fields), reasons, tuple(notes), tuple(accepted))


def _refused(study: Study, schema: StudySchema, name: str, finding: Finding) -> str:
    words = (
        f"{schema.source} uses the column {name!r} of {study.source}, and must not: it {finding.reason}. The people "
        "who wait for coupons cannot have it yet, so every plan made with it would be wrong. Remove its block "
        f'[[field]] from the schema file, or add "{name}" to exclude there.'
    )
    if finding.against is Against.IMPLAUSIBLE:
        words += (
            " If it really was known before people got their coupons, write use = true into its block: fit then goes "
            "on, and warns."
        )
    return words
