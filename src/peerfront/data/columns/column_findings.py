"""What speaks against using a column: it is known only afterwards, says how data were collected, or is sensitive.

The findings depend on the study alone, so that `check`, `fit` and a schema that somebody wrote meet the same ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import pandas as pd

from peerfront.data.columns.column_roles import role_of
from peerfront.data.columns.leaks import find_leaks
from peerfront.data.columns.sensitive import MEANING, sensitive_topic
from peerfront.data.read.listing import describes_the_tree
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, note, warning
from peerfront.foundation.typed_values import looks_numeric, read_numbers


class Against(Enum):
    """The kinds of reasons not to use a column, from the strongest on."""

    OUTCOME = "outcome"
    """Never used, whatever a schema says."""
    IMPLAUSIBLE = "implausible"
    """It predicts recruits too well to be known before: `fit` stops unless the schema says `use = true`."""
    COLLECTION = "collection"
    """It says how data were collected, or how recruitment went: left out unless the schema says `use = true`."""
    SENSITIVE = "sensitive"
    """Left out unless the schema says `use = true`."""


_CALENDAR = {
    "date": note("column_reasons.date"),
    "issued_date": note("column_reasons.date"),
    "redeemed_date": note("column_reasons.date"),
    "expiry_date": note("column_reasons.date"),
    "valid_days": note("column_reasons.validity"),
    "waiting": note("column_reasons.recruitment"),
}
"""Parts of the calendar that say nothing about a person; a site may."""


@dataclass(frozen=True)
class Finding:
    """What speaks against a column."""

    against: Against
    reason: Message
    """Follows the name of the column."""


def is_sensitive(reason: object) -> bool:
    """Tell whether this is the reason why a sensitive column is left out."""
    return isinstance(reason, Message) and reason.code == "column_reasons.sensitive"


def is_too_good(reason: object) -> bool:
    """Tell whether a column is left out because it predicts recruits too well to be known before."""
    return isinstance(reason, Message) and reason.code == "column_reasons.too_well"


def column_findings(study: Study) -> dict[str, Finding]:
    """Find what speaks against the columns of a study, by column."""
    people = study.people
    findings: dict[str, Finding] = {}
    for name in map(str, people.columns):
        finding = _of_the_tree(study, name, people[name])
        if finding is None:
            role = role_of(study, name, people[name])
            finding = Finding(Against.COLLECTION, role) if role else None
        if finding is not None:
            findings[name] = finding
    for name, leak in find_leaks(study, findings).items():
        if name not in findings or findings[name].against is not Against.OUTCOME:
            findings[name] = Finding(Against.OUTCOME if leak.certain else Against.IMPLAUSIBLE, leak.reason)
    for name in map(str, people.columns):
        values = people[name]
        topic = None if name in findings else sensitive_topic(name, values[values != ""].unique())
        if topic is not None:
            findings[name] = Finding(Against.SENSITIVE, note("column_reasons.sensitive", topic=topic))
    return findings


def _of_the_tree(study: Study, name: str, values: pd.Series) -> Finding | None:
    """Return what a column says about how recruitment went, if it says that plainly."""
    role = next((role for role in _CALENDAR if (name,) == study.columns.get(role)), "")
    if role:
        return Finding(Against.COLLECTION, _CALENDAR[role])
    numbers = read_numbers(values) if looks_numeric(values) else np.zeros(0)
    facts = (
        (note("tree_facts.recruits"), study.recruits, Against.OUTCOME),
        (note("tree_facts.wave"), study.trees.wave, Against.COLLECTION),
        (note("tree_facts.issued"), study.issued, Against.COLLECTION),
    )
    for fact, counts, against in facts:
        if len(np.unique(counts)) > 1 and np.array_equal(numbers, counts):
            return Finding(against, note("column_reasons.is_fact", fact=fact))
    if describes_the_tree(name):
        return Finding(Against.COLLECTION, note("column_reasons.recruitment"))
    if np.array_equal(values.to_numpy(dtype=object), study.ids[study.trees.root]):
        return Finding(Against.COLLECTION, note("column_reasons.names_seed"))
    return None


@dataclass(frozen=True)
class Vetted:
    """A schema that may be fitted, and what there is to say about it."""

    schema: StudySchema
    reasons: dict[str, Message]
    """Why columns with a block of their own are not used, by column."""
    notes: tuple[Message, ...]
    """Warnings about columns that are used because the schema says `use = true`."""
    accepted: tuple[str, ...] = ()
    """Columns that predict too well and are used because the schema says so."""


def vetted(study: Study, schema: StudySchema, findings: Mapping[str, Finding] | None = None) -> Vetted:
    """Leave out what a schema names and does not say `use = true` of; refuse columns that are the outcome.

    Columns that the schema leaves out anyway are not looked at.
    """
    findings = column_findings(study) if findings is None else findings
    reasons: dict[str, Message] = {}
    notes: list[Message] = []
    accepted: list[str] = []
    sensitive: list[str] = []
    for rule in schema.used:
        finding = findings.get(rule.name)
        if finding is None:
            continue
        if finding.against is Against.OUTCOME or (finding.against is Against.IMPLAUSIBLE and not rule.use):
            implausible = finding.against is Against.IMPLAUSIBLE
            raise DataFileError(
                "column_reasons.refused_unless_known" if implausible else "column_reasons.refused",
                schema=schema.source,
                column=rule.name,
                source=study.source,
                reason=finding.reason,
            )
        if not rule.use:
            reasons[rule.name] = finding.reason
        elif finding.against is Against.SENSITIVE:
            sensitive.append(rule.name)
        else:
            notes.append(warning("column_reasons.used_anyway", column=rule.name, reason=finding.reason))
            accepted += [rule.name] if finding.against is Against.IMPLAUSIBLE else []
    if sensitive:
        notes.append(warning("column_reasons.sensitive_used", columns=sensitive, meaning=MEANING))
    fields = tuple(replace(rule, use=False) if rule.name in reasons else rule for rule in schema.fields)
    return Vetted(replace(schema, fields=fields), reasons, tuple(notes), tuple(accepted))
