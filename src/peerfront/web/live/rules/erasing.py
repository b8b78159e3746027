"""Erase what somebody answered from events without breaking the chain.

Events stay for ever, answers must not: a person may ask that they be erased. The same holds for what tells answers: the
strata and the reasons of plans and decisions. So the chain does not hash these texts but a commitment to them, the
hash of the texts and of a salt that nobody can guess. As long as they are there, the commitment shows that nobody
changed them. When they are erased, the salt goes with them, and the commitment that stays tells nothing: without the
salt not even a guess can be checked. Requests are told apart without these texts for the same reason
(`events.ERASABLE`).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from peerfront.foundation.chained_log import one_spelling
from peerfront.web.live.rules.events import (
    AnswersCorrected,
    AnswersRecorded,
    CouponsIssued,
    Fact,
    PersonImported,
    PlannedCoupons,
    PlanProposed,
)
from peerfront.web.live.rules.stored_events import KINDS

Told = AnswersRecorded | AnswersCorrected | PersonImported | CouponsIssued | PlannedCoupons
"""What holds texts of one person that can be erased: a fact, or a line of a plan."""
T = TypeVar("T", AnswersRecorded, AnswersCorrected, PersonImported, CouponsIssued, PlannedCoupons)

_ANSWERS: dict[str, Any] = {"answers": None}
_DECISION: dict[str, Any] = {"stratum": "", "reason": ""}
ERASED: dict[type, dict[str, Any]] = {
    AnswersRecorded: _ANSWERS,
    AnswersCorrected: _ANSWERS,
    PersonImported: _ANSWERS,
    CouponsIssued: _DECISION,
    PlanProposed: _DECISION,
}
"""By kind of fact: the texts that can be erased, and what stands there afterwards; those of a plan are in its lines."""


def committed(told: T, salt: str) -> T:
    """Add a salt, and the commitment to what can be erased."""
    return replace(told, salt=salt, commitment=commitment(salt, **texts(told)))


def commitment(salt: str, **texts: Any) -> str:
    """Hash a salt and the texts for which it stands in the chain."""
    return hashlib.sha256(one_spelling({"salt": salt, **texts})).hexdigest()


def texts(told: Told) -> dict[str, Any]:
    """Return by name what can be erased."""
    return {name: getattr(told, name) for name in _once_erased(told)}


def told_by(fact: Fact) -> tuple[Told, ...]:
    """List the parts of a fact under whose commitments texts can be erased."""
    if isinstance(fact, PlanProposed):
        return tuple(line for line in fact.lines if line.commitment)
    if isinstance(fact, Told) and fact.commitment:
        return (fact,)
    return ()


def fault_of_texts(fact: Fact) -> str | None:
    """Say what is wrong if texts of a fact are neither as they were recorded nor erased."""
    for told in told_by(fact):
        found = texts(told)
        names = " and ".join(found)
        if not told.salt and found != _once_erased(told):
            return f"its {names} have no salt"
        if told.salt and told.commitment != commitment(told.salt, **found):
            return f"its {names} do not give their hash"
    return None


def erased_data(data: Mapping[str, Any], person: str) -> dict[str, Any]:
    """Erase from an event, as plain data, what tells answers of a person; all that is hashed stays as it is."""
    fact = data["fact"]
    kind = KINDS[data["kind"]]
    if kind is PlanProposed:
        fact = {**fact, "lines": [_erased(line, _DECISION, person) for line in fact["lines"]]}
    elif kind in ERASED:
        fact = _erased(fact, ERASED[kind], person)
    return {**data, "fact": fact}


def hashed_data(data: Any) -> Any:
    """Leave out of an event, as plain data, what its commitments stand for; data that are no event stay as they are."""
    if not isinstance(data, dict) or not isinstance(fact := data.get("fact"), dict):
        return data
    kind = KINDS.get(data["kind"], object) if isinstance(data.get("kind"), str) else object
    if kind is PlanProposed and isinstance(fact.get("lines"), list):
        return {**data, "fact": {**fact, "lines": [_hashed(line, _DECISION) for line in fact["lines"]]}}
    return {**data, "fact": _hashed(fact, ERASED[kind])} if kind in ERASED else data


def _once_erased(told: Told) -> dict[str, Any]:
    return _DECISION if isinstance(told, PlannedCoupons) else ERASED[type(told)]


def _erased(told: Mapping[str, Any], erased: Mapping[str, Any], person: str) -> Mapping[str, Any]:
    return {**told, **erased, "salt": ""} if told["person"] == person and told.get("commitment") else told


def _hashed(told: Any, erased: Mapping[str, Any]) -> Any:
    if not isinstance(told, dict) or not told.get("commitment"):
        return told
    return {name: value for name, value in told.items() if name not in erased and name != "salt"}
