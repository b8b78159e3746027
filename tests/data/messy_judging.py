"""Read a messy file as somebody would who accepts every offer, and compare what was read with the truth."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.messy_files import MessyFile, same_id
from hostile.runner import Hang, alarm
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.mending import ACCEPTED, mendable, mended_in_rounds
from peerfront.data.read.dates import date_text
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.read.recognition import suggested_columns
from peerfront.data.reading import read_study
from peerfront.data.study import Study
from peerfront.foundation.errors import PeerfrontError
from peerfront.foundation.messages import Message, Remedy

AT_ONCE, AFTER_OFFERS, REFUSED = "right at once", "right after offers", "refused in words"
IN_DOUBT, HALF_READ, SILENT, CRASHED = "in doubt, and said", "HALF READ", "SILENTLY WRONG", "CRASHED"
OUTCOMES = (AT_ONCE, AFTER_OFFERS, REFUSED, IN_DOUBT, HALF_READ, SILENT, CRASHED)
TOLERATED = 0.01  # share of people who may be wrong without a word
MOST_IN_DOUBT = {"people": 0.1, "recruiter": 0.1, "seed": 0.1, "coupons": 0.1, "date": 0.5}
"""Shares of the people beyond which a file whose problems are said should still have been refused."""
LIMIT = 30  # seconds
_ROUNDS = 4  # offers accepted one after the other
_BENIGN = ("encoding", "merged-cells", "unnamed-column", "several-rows", "fixed-places", "row-count")
"""Kinds of problems of a whole file that put no value in doubt."""


@dataclass(frozen=True)
class Verdict:
    """What came of a file."""

    outcome: str
    detail: str
    offers: int = 0
    """Offers that were accepted: cells mended, and lines pasted."""


@dataclass(frozen=True)
class Difference:
    """A person whose value is not the true one."""

    field: str
    """extra (no person at all), people (lost), recruiter, seed, coupons, date, size or categories."""
    row: int | None
    found: object
    true: object


def judged(file: MessyFile, folder: Path) -> Verdict:
    """Write a file, read it, accept what is offered, and compare."""
    path = folder / f"study{file.suffix}"
    path.write_bytes(file.content)
    settings, offers = ReadSettings(), 0
    try:
        with alarm(LIMIT):
            for _ in range(_ROUNDS):
                study, error = _read(path, settings)
                problems = study.problems if study else getattr(error, "problems", ())
                if study is not None:
                    differences = compared(study, file)
                    if not differences:
                        return Verdict(AFTER_OFFERS if offers else AT_ONCE, "", offers)
                if any(problem.proposal for problem in problems):
                    path, accepted = _mended(path, settings, folder / f"mended{offers}{file.suffix}")
                    offers += accepted
                    if accepted:
                        continue
                remedies = error.remedies if error else [r for p in problems for r in p.remedies]
                pasted = _pasted(path, settings, remedies)
                if pasted == settings:
                    break
                settings, offers = pasted, offers + 1
            if error is not None:
                return Verdict(REFUSED, " ".join(str(error).split())[:300], offers)
            silent, said = _in_doubt(study, differences, file)
            wrong = _told(differences)
            allowed = TOLERATED * len(file.truth.people)
            counts = Counter(difference.field for difference in silent)
            if any(number > (0 if field == "extra" else allowed) for field, number in counts.items()):
                return Verdict(SILENT, f"{_told(silent)}{' (said: ' + _told(said) + ')' if said else ''}", offers)
            shares = {f: sum(d.field == f for d in differences) / len(file.truth.people) for f in MOST_IN_DOUBT}
            half = any(share > MOST_IN_DOUBT[field] for field, share in shares.items())
            return Verdict(HALF_READ if half else IN_DOUBT, wrong, offers)
    except Hang:
        return Verdict(CRASHED, f"more than {LIMIT} seconds", offers)
    except Exception as problem:
        return Verdict(CRASHED, f"{type(problem).__name__}: {problem}"[:300], offers)


def _read(path: Path, settings: ReadSettings) -> tuple[Study | None, Any]:
    try:
        return read_study(path, settings), None
    except PeerfrontError as error:
        return None, error


def _mended(path: Path, settings: ReadSettings, out: Path) -> tuple[Path, int]:
    """A copy of the file in which every proposal is accepted, and how many were; the file itself without any."""
    file, decisions = mended_in_rounds(
        mendable(path, settings), lambda groups: [each for group in groups for each in group.proposals]
    )
    accepted = sum(each.decision == ACCEPTED for each in decisions)
    if not accepted:
        return path, 0
    out.write_bytes(file.content)
    return out, accepted


def _pasted(path: Path, settings: ReadSettings, remedies: Sequence[Remedy]) -> ReadSettings:
    """The settings with what is offered: everything at once, or the first that can be read."""
    remedies = [remedy for remedy in remedies if remedy.setting != "read_anyway"]  # an order against advice, no offer
    choices = [remedies, *([remedy] for remedy in remedies)]
    made = [each for each in (_with(settings, choice) for choice in choices) if each != settings]
    return next((each for each in made if _read(path, each)[0] is not None), made[0] if made else settings)


def _with(settings: ReadSettings, remedies: Sequence[Remedy]) -> ReadSettings:
    columns = {**settings.columns, **suggested_columns(remedies)}
    changes: dict[str, Any] = {"columns": columns}
    for remedy in remedies:
        if remedy.value is None or remedy.setting in ("map", "strict", "columns"):
            continue
        if remedy.setting == "missing":
            if remedy.value != "CODE":
                changes["missing"] = (*settings.missing, str(remedy.value))
        elif remedy.setting in {field.name for field in dataclasses.fields(ReadSettings)}:
            changes[remedy.setting] = remedy.value
    try:
        return dataclasses.replace(settings, **changes)
    except PeerfrontError:
        return settings


# Compare with the truth -----------------------------------------------------------------------------------------------


def compared(study: Study, file: MessyFile) -> list[Difference]:
    """Everything that is not as it was: the tree, coupon counts, seeds, dates, network sizes, categories."""
    people = file.truth.people
    places = file.truth.places
    by_name = {same_id(person.name): place for place, person in enumerate(people)}
    at = [places.get(same_id(text), by_name.get(same_id(text))) for text in study.ids]
    rows = [int(row) for row in study.rows]
    differences = [
        Difference("extra", row, str(id), "nobody") for row, id, n in zip(rows, study.ids, at, strict=True) if n is None
    ]
    differences += [
        Difference("people", None, "nobody", people[n].id) for n in sorted(set(range(len(people))) - set(at))
    ]
    for n, place in enumerate(at):
        if place is None:
            continue
        person = people[place]
        recruiter = at[study.recruiter[n]] if study.recruiter[n] >= 0 else None
        date = None if study.days is None or np.isnan(study.days[n]) else date_text(study.days[n], study.numbered_days)
        size = None if study.network_size is None or np.isnan(study.network_size[n]) else study.network_size[n]
        values = {
            "recruiter": (recruiter, person.recruiter),
            "seed": (bool(study.seed[n]), person.recruiter is None),
            "coupons": (int(study.issued[n]), len(person.coupons)),
            "date": (date, person.date.isoformat() if person.dated else None),
            "size": (size, person.size),
        }
        differences += [Difference(f, rows[n], found, true) for f, (found, true) in values.items() if found != true]
    names = file.column_names
    schema = guess_schema(study).schema if file.mess.categories and not differences else None
    for field, number in (("sex", 2), ("site", 3)):
        rule = next((rule for rule in schema.used if rule.name == names[field]), None) if schema else None
        if rule is not None and len(rule.categories) != number:
            differences += [Difference("categories", None, list(rule.categories), number)] * len(people)
    return differences


def _in_doubt(
    study: Study, differences: Sequence[Difference], file: MessyFile
) -> tuple[list[Difference], list[Difference]]:
    """Differences that nothing speaks of, and those of rows or columns that a problem names."""
    named: set[int] = set()
    left_out: set[int] = set()
    columns: set[str] = set()
    for problem in study.problems:
        rows = [] if problem.row is None else [problem.row]
        named.update(rows)
        if problem.proposal is not None:
            left_out.update(rows)  # it is offered to leave them out
        if not rows and problem.kind not in _BENIGN:
            columns.add(problem.column)
    of_steps = {text for step in study.steps for value in step.arguments.values() for text in _texts(value)}
    names = file.column_names
    of_field = {
        "date": {names["date"]},
        "size": {names["size"]},
        "coupons": {names["cell"], names["issued"], names["c"].format(1)},
        "recruiter": {names["own"], names["recruiter"]},
        "seed": {names["own"], names["recruiter"]},
    }
    beyond = len(named - {int(row) for row in study.rows})
    silent: list[Difference] = []
    said: list[Difference] = []
    lost = 0
    for difference in differences:
        if difference.field == "extra":
            doubted = difference.row in left_out
        elif difference.field == "people":
            lost += 1
            doubted = lost <= beyond
        else:
            spoken = columns | of_steps if difference.field in ("date", "size") else columns
            doubted = difference.row in named or bool(spoken & of_field.get(difference.field, set()))
        (said if doubted else silent).append(difference)
    return silent, said


def _texts(value: object) -> Iterator[str]:
    """Texts in an argument of a message, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Message):
        yield from (text for each in value.arguments.values() for text in _texts(each))
    elif isinstance(value, list | tuple):
        yield from (text for each in value for text in _texts(each))


def _told(differences: Sequence[Difference]) -> str:
    parts = []
    for field in dict.fromkeys(d.field for d in differences):
        these = [d for d in differences if d.field == field]
        first = "; ".join(f"row {d.row}: {d.found} for {d.true}" for d in these[:2])
        parts.append(f"{len(these)} {field} ({first})")
    return ", ".join(parts)
