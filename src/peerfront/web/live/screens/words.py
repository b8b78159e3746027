"""Refusals and the program's own terms in the reader's language."""

from datetime import date

from django.utils.formats import date_format
from django.utils.translation import get_language_bidi, gettext

from peerfront.foundation.shown import visible
from peerfront.web.live.rules.events import RequestRefused
from peerfront.web.live.rules.refusals import ENGLISH, TERMS, Reason, Refusal

DAYS = frozenset({"day", "first_day", "last_day", "latest", "today"})
"""Arguments of refusals that are days, written as 2026-03-02."""


def term(name: str) -> str:
    """A word of the program (a role, an action, a state, a field), or several with commas, as people read them."""
    return ", ".join(gettext(each.replace("_", " ")) for each in name.split(", "))


def found_and_to_do(refusal: Refusal) -> tuple[str, str]:
    """What was found and what to do, in the reader's language."""
    shown = {name: isolated(visible(_value(name, value))) for name, value in refusal.arguments}
    found, to_do = (gettext(sentence).format_map(shown) for sentence in ENGLISH[refusal.reason])
    return found, to_do


def refused_words(fact: RequestRefused) -> str:
    """What was found when something was refused, as it was recorded; also by another version of the program."""
    try:
        return found_and_to_do(Refusal(Reason(fact.reason), fact.arguments))[0]
    except (ValueError, KeyError):  # a reason that this version does not have, or not with these arguments
        return term(fact.reason)


def isolated(text: object) -> str:
    """Text within a sentence of a right-to-left language, in its own direction: codes, days, what somebody typed."""
    return f"\u2068{text}\u2069" if get_language_bidi() else str(text)


def _value(name: str, value: str) -> str:
    if name in TERMS:
        return term(value)
    return date_format(date.fromisoformat(value), "DATE_FORMAT") if name in DAYS else value
