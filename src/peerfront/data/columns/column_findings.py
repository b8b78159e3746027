"""What speaks against using a column: it is known only afterwards, says how data were collected, names one person or
is sensitive.

The findings depend on the study alone, so that `check`, `fit` and a schema that somebody wrote meet the same ones.

Columns that say how the data were collected (staff, devices, records, times, weights, seeds) may well predict
recruitment in the file (late interviews bring fewer recruits, because the study ended), and say nothing about the
people who wait now. Names are recognised by their words; what a name leaves open, the values decide.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.columns.column_names import MEANING, means_otherwise, sensitive_topic, speaks_of
from peerfront.data.columns.identities import Identities
from peerfront.data.columns.leaks import find_leaks
from peerfront.data.read.listing import describes_the_tree
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, note, warning
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.typed_dates import read_days
from peerfront.foundation.typed_values import looks_numeric, read_numbers


class Against(Enum):
    """The kinds of reasons not to use a column, from the strongest on."""

    OUTCOME = "outcome"
    """Never used, whatever a schema says."""
    IMPLAUSIBLE = "implausible"
    """It predicts recruits too well to be known before: `fit` stops unless the schema says `use = true`."""
    COLLECTION = "collection"
    """It says how data were collected, how recruitment went, or who one person is: left out unless the schema says
    `use = true`."""
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
    identities = Identities(study)
    findings: dict[str, Finding] = {}
    for name in map(str, people.columns):
        finding = _of_the_tree(study, name, people[name])
        if finding is None:
            role = role_of(study, name, people[name]) or identities.named_by(name)
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


# How data were collected ---------------------------------------------------------------------------------------------


_LIGHTEST_BODY = 25.0  # a median below this is no adult's weight, in whatever unit
# The years 2000 to 2039 since 1970 in s, ms (or since 1960, as Stata counts), us, ns, and in s since 1582 (SPSS).
_EPOCHS = ((9.5e8, 2.2e9), (9.5e11, 2.6e12), (9.5e14, 2.2e15), (9.5e17, 2.2e18), (1.31e10, 1.45e10))
_DAY_NUMBERS = ((36_526.0, 51_502.0), (10_957.0, 29_220.0))  # the same in days: spreadsheets; since 1970 or 1960
_DIFFERENT = 8  # different values below which numbers are no times
_DATES = 0.9  # share of dates from which on a column holds dates
_RISING_PAIRS = 30
_RISING = 0.95  # share of recruits with more than their recruiter, among those who differ
_WITH_TIME = 0.5  # rank correlation with the wave, the place in the file or the date
_A_DATE = re.compile(r".*\d.*[-/.: ].*\d.*|(?:19|20)\d{6}", flags=re.DOTALL)


def role_of(study: Study, name: str, values: pd.Series) -> Message | None:
    """Return what a column is if it says how the data were collected; None if it may say who a person is."""
    if speaks_of("staff", name):
        return note("column_reasons.staff")
    if speaks_of("device", name):
        return note("column_reasons.device")
    if speaks_of("record", name):
        return note("column_reasons.record")
    if speaks_of("seed", name) or _same_people(study.seed, values):
        return note("column_reasons.seeds")
    if speaks_of("afterwards", name):
        return note("column_reasons.afterwards")
    filled = values[values != ""]
    if not len(filled):
        return None
    numbers = read_numbers(values) if looks_numeric(filled) else np.full(len(values), np.nan)
    if _is_weight(study, name, numbers):
        return note("column_reasons.weight")
    return _time(study, name, values, numbers)


def _same_people(marked: NDArray[np.bool_], values: pd.Series) -> bool:
    """Tell whether a column of two values (or one, and nothing) parts people as `marked` does."""
    codes, different = pd.factorize(values.to_numpy(dtype=object))
    if len(different) != 2 or min(marked.sum(), (~marked).sum()) < 2:
        return False
    return bool(np.array_equal(codes == codes[0], marked == marked[0]))


def _is_weight(study: Study, name: str, numbers: NDArray[np.float64]) -> bool:
    finite = np.isfinite(numbers)
    if means_otherwise("weight", name):
        return False
    if speaks_of("weight", name):
        return bool(finite.any())
    if speaks_of("bare_weight", name):
        return bool(finite.any()) and float(np.median(numbers[finite])) < _LIGHTEST_BODY
    sizes = study.network_size
    if sizes is None:
        return False
    both = finite & np.isfinite(sizes) & (sizes > 0) & (numbers != 0)
    if both.sum() < _RISING_PAIRS or len(np.unique(numbers[both])) < 3:
        return False
    product = numbers[both] * sizes[both]  # RDS-II weights are the inverse of the network size, times a constant
    return bool(np.ptp(product) <= 1e-3 * abs(product.mean()))


def _time(study: Study, name: str, values: pd.Series, numbers: NDArray[np.float64]) -> Message | None:
    filled = (values != "").to_numpy()
    texts = values[filled]
    finite = numbers[np.isfinite(numbers)]
    if len(finite) >= _DATES * filled.sum():
        different = len(np.unique(finite))
        if any(((first <= finite) & (finite <= last)).mean() >= _DATES for first, last in _EPOCHS):
            return note("column_reasons.epoch")
        named = speaks_of("time", name)
        low, high = float(finite.min()), float(finite.max())
        serial = different >= _DIFFERENT and any(first <= low and high <= last for first, last in _DAY_NUMBERS)
        rising = _rises(study, numbers)
        if serial and (named or rising):
            return note("column_reasons.day_number")
        if texts.str.fullmatch(r"(?:19|20)[0-9]{6}").all() and np.isfinite(read_days(texts)).mean() >= _DATES:
            return note("column_reasons.date")
        if named and different >= _DIFFERENT:
            return note("column_reasons.time")
        return note("column_reasons.rises") if rising else None
    if not texts.head(100).str.fullmatch(_A_DATE).mean() >= _DATES:
        return None
    share = np.isfinite(read_days(texts)).mean()
    if share < _DATES:
        return None
    return note("column_reasons.birth_date" if means_otherwise("birth", name) else "column_reasons.date")


def _rises(study: Study, numbers: NDArray[np.float64]) -> bool:
    """Tell whether numbers grow along the recruitment trees, as dates, record numbers and waves do."""
    recruits = np.flatnonzero(study.recruiter != NOBODY)
    steps = numbers[recruits] - numbers[study.recruiter[recruits]]
    steps = steps[np.isfinite(steps)]
    moved = steps[steps != 0]
    if len(moved) < max(_RISING_PAIRS, 0.5 * len(steps)) or (moved > 0).mean() < _RISING:
        return False
    finite = np.isfinite(numbers)
    # The place in the file is one of them: files are often in the order of interviews.
    clocks = [study.trees.wave.astype(np.float64), np.arange(len(study), dtype=np.float64)]
    if study.days is not None:
        finite &= np.isfinite(study.days)
        clocks.append(study.days)
    if finite.sum() < _RISING_PAIRS:
        return False
    ranks = pd.Series(numbers[finite]).rank().to_numpy()
    with np.errstate(invalid="ignore"):  # the same day for everybody
        alike = [float(np.nan_to_num(np.corrcoef(ranks, pd.Series(clock[finite]).rank())[0, 1])) for clock in clocks]
    return max(alike) >= _WITH_TIME


# Schemas that somebody wrote -----------------------------------------------------------------------------------------


PEOPLE_PER_CATEGORY = 10
"""People with usable counts for each category beside the first of its column, below which a schema has too many."""


def too_many_categories(study: Study, schema: StudySchema) -> tuple[Message, ...]:
    """Warn of a schema with more categories than the people can tell about."""
    categories = sum(len(rule.categories) - 1 for rule in schema.used)
    needed = PEOPLE_PER_CATEGORY * categories
    if study.informative.sum() >= needed:
        return ()
    counts = {"columns": len(schema.used), "categories": categories, "needed": needed, "each": PEOPLE_PER_CATEGORY}
    return (warning("column_reasons.too_many_categories", **counts),)


@dataclass(frozen=True)
class Vetted:
    """A schema that may be fitted, and what there is to say about it."""

    schema: StudySchema
    reasons: dict[str, Message]
    """Why columns with a block of their own are not used, by column."""
    notes: tuple[Message, ...]
    """Warnings about columns that are used because the schema says `use = true`, and about too many categories."""
    accepted: tuple[str, ...] = ()
    """Columns that predict too well and are used because the schema says so."""


def vetted(study: Study, schema: StudySchema) -> Vetted:
    """Leave out what a schema names and does not say `use = true` of; refuse columns that are the outcome.

    Columns that the schema leaves out anyway are not looked at.
    """
    findings = column_findings(study)
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
            code = "column_reasons.refused_unless_known" if implausible else "column_reasons.refused"
            of_column = {"column": rule.name, "reason": finding.reason}
            raise DataFileError(code, schema=schema.source, source=study.source, **of_column)
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
    allowed = replace(schema, fields=fields)
    return Vetted(allowed, reasons, (*notes, *too_many_categories(study, allowed)), tuple(accepted))
