"""Answers that can be erased from events without breaking the chain.

Events stay for ever, answers must not: a person may ask that they be erased. So the chain does not hash the answers of
an event but a commitment to them, the hash of the answers and of a salt that nobody can guess. As long as they are
there, the commitment shows that nobody changed them. When they are erased, the salt goes with them, and the commitment
that stays tells nothing: without the salt not even a guess can be checked. Requests are told apart without the answers
for the same reason (`requests.ERASABLE`).
"""

import hashlib
from dataclasses import replace

from peerfront.foundation.chained_log import one_spelling
from peerfront.live.rules.events import Answers, AnswersCorrected, AnswersRecorded, Event, Fact, PersonImported

WITH_ANSWERS = (AnswersRecorded, AnswersCorrected, PersonImported)
NOT_HASHED = frozenset({"answers", "salt"})
"""Fields of these facts for which the commitment stands in the chain."""


def commitment(salt: str, answers: Answers | None) -> str:
    """What stands for answers in the chain."""
    return hashlib.sha256(one_spelling({"salt": salt, "answers": answers})).hexdigest()


def has_answers_of(fact: Fact, person: str) -> bool:
    """Whether a fact holds answers of a person that were not erased."""
    return isinstance(fact, WITH_ANSWERS) and fact.person == person and bool(fact.salt)


def without_answers(event: Event, person: str) -> Event:
    """The event with the answers of a person erased; others stay as they are."""
    fact = event.fact
    if isinstance(fact, WITH_ANSWERS) and has_answers_of(fact, person):
        return replace(event, fact=replace(fact, answers=None, salt=""))
    return event


def fault_of_answers(fact: Fact) -> str | None:
    """What is wrong with the answers of a fact, if they are neither as they were recorded nor erased."""
    if not isinstance(fact, WITH_ANSWERS):
        return None
    if not fact.salt:
        return None if fact.answers is None else "its answers have no salt"
    return None if fact.commitment == commitment(fact.salt, fact.answers) else "its answers do not give their hash"
