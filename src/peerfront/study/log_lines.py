"""The lines of a running study's log, and what they must hold: each follows from those before it.

Hashes show that a line was changed, not that somebody made the whole chain anew. So no week has more coupons left than
its order has, no sheet plans more than are left, weeks follow each other, and models are those of the study's weeks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from peerfront.foundation.messages import note
from peerfront.foundation.own_files import (
    COUNT,
    TEXT,
    TRUTH,
    Kind,
    Shape,
    check_shape,
    day,
    exactly,
    maybe,
    number,
    whole,
)
from peerfront.problem.state import MOST_COUPONS

SCHEMA, PEOPLE, MODEL = "schema.toml", "people.csv", "model"
WEEK, DECISION, GIVEN, UNDO = "week", "decision", "given", "undo"
"""Kinds of entries."""


@dataclass(frozen=True)
class Week:
    """A week, as recorded in the log."""

    number: int
    day: str
    """The day of its plan, year-month-day."""
    folder: str
    facts: Mapping[str, Any]
    """Everything else in its entry: file, digest, model, order ..."""
    decisions: tuple[Mapping[str, Any], ...]
    """The planned coupons: person, planned, decided_by, probability, stratum, reason."""


FITTED_TO = {"day": TEXT, "holders": COUNT, "recruits": COUNT, "chosen_at": COUNT}
"""The shape of `week_model.FittedTo`."""
_TEXTS = [TEXT]
_ORDER = {
    "prior_belief?": Kind(lambda value: value is None or type(value) is dict, note("stored_fit.table")),
    "at_least?": _TEXTS, "population?": _TEXTS, "strata?": _TEXTS, "prior?": _TEXTS,
}  # fmt: skip
_WEEK = {
    "study": TEXT, "file": TEXT, "digest": TEXT, "people": COUNT, "last_date?": TEXT, "model": TEXT, "refitted": TRUTH,
    "fitted": FITTED_TO, "order": _ORDER,
    "sha256?": {f"{PEOPLE}?": TEXT, f"{SCHEMA}?": TEXT}, "decided?": COUNT,
}  # fmt: skip
_DECISION = {
    "probability": number(0, 1 + 1e-6), "decided_by?": TEXT, "stratum?": maybe(TEXT), "reason?": TEXT, "model?": TEXT
}  # fmt: skip


class LogLines:
    """The lines of a log, one by one. Each must follow from those before it, whatever its hash says."""

    def __init__(self) -> None:
        self._weeks: list[Week] = []
        self._decided: list[dict[str, Mapping[str, Any]]] = []  # decisions of each week, by person
        self._left = 0  # coupons of the last week that are not planned yet

    @property
    def weeks(self) -> tuple[Week, ...]:
        both = zip(self._weeks, self._decided, strict=True)
        return tuple(replace(week, decisions=tuple(own.values())) for week, own in both)

    def add(self, entry: Mapping[str, Any]) -> None:
        """Take in the next line, or refuse it."""
        following = {WEEK: self._week, DECISION: self._decision, GIVEN: self._given, UNDO: self._undo}
        _check(entry, kind=exactly(*following if self._weeks else (WEEK,)))
        following[entry["kind"]](entry)

    def _week(self, entry: Mapping[str, Any]) -> None:
        last = self._weeks[-1] if self._weeks else None
        before, budget = ("", 0) if last is None else (last.day, last.facts["order"]["budget"])
        _check(entry, number=exactly(len(self._weeks) + 1), day=day(before))
        _check(entry, order={"budget": whole(budget, MOST_COUPONS)})
        _check(entry, folder=_name(entry), coupons_left=whole(0, entry["order"]["budget"]), **_WEEK)
        kept = {week.facts["model"]: week.facts["model_folder"] for week in self._weeks} | {"": ""}
        if entry["refitted"]:
            kept = {entry["model"]: f"{entry['folder']}/{MODEL}"}
        _check(entry, model=exactly(*kept), model_folder=exactly(kept.get(entry["model"], "")))
        facts = {key: value for key, value in entry.items() if key not in ("kind", "number", "day", "folder")}
        self._weeks.append(Week(entry["number"], entry["day"], entry["folder"], facts, ()))
        self._decided.append({})
        self._left = entry["coupons_left"]

    def _decision(self, entry: Mapping[str, Any]) -> None:
        new = Kind(lambda person: _is_new(person, self._decided[-1]), note("study_folder.new_person"))
        _check(entry, week=exactly(len(self._weeks)), person=new, planned=whole(0, self._left), **_DECISION)
        self._decided[-1][entry["person"]] = {k: value for k, value in entry.items() if k not in ("kind", "week")}
        self._left -= entry["planned"]

    def _given(self, entry: Mapping[str, Any]) -> None:
        _check(entry, week=exactly(len(self._weeks)), person=TEXT, given=maybe(whole(0, MOST_COUPONS)))
        _check(entry, planned=exactly(self._decided[-1].get(entry["person"], {}).get("planned")))

    def _undo(self, entry: Mapping[str, Any]) -> None:
        _check(entry, week=exactly(len(self._weeks)), folder=exactly(self._weeks[-1].folder))
        self._weeks.pop()
        self._decided.pop()


def _check(entry: Mapping[str, Any], **shape: Shape) -> None:
    check_shape(entry, shape, "")


def _is_new(person: Any, decided: Mapping[str, Any]) -> bool:
    return TEXT.fits(person) and person not in decided


def _name(entry: Mapping[str, Any]) -> Kind:
    """The name of a week's folder, as `free_name` gives it."""
    name = f"week-{entry['number']:02d}_{entry['day']}"
    return Kind(lambda value: TEXT.fits(value) and re.fullmatch(rf"{name}(_[1-9][0-9]*)?", value) is not None, name)
