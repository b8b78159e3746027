"""Refusals and the program's own terms in the reader's language."""

from datetime import date

from django.utils.formats import date_format
from django.utils.translation import get_language_bidi, gettext

from peerfront.foundation.messages import Message
from peerfront.foundation.shown import visible
from peerfront.web.live.rules.events import RequestRefused
from peerfront.web.live.rules.refusals import TERMS, Reason, Refusal
from peerfront.web.pages.speaking import page_speaker
from peerfront.words.language import Text, joined, speaking

DAYS = frozenset({"day", "first_day", "last_day", "latest", "today"})
"""Arguments of refusals that are days, written as 2026-03-02."""


def term(name: str) -> str:
    """A word of the program (a role, an action, a state, a field), or several with commas, as people read them."""
    return ", ".join(gettext(each.replace("_", " ")) for each in name.split(", "))


def found_and_to_do(refusal: Refusal) -> tuple[str, str]:
    """What was found and what to do, in the reader's language."""
    values = {name: typed(_value(name, value)) for name, value in refusal.arguments}
    found, to_do = f"refusal_found.{refusal.reason}", f"refusal_to_do.{refusal.reason}"
    return in_words(Message(found, values)), in_words(Message(to_do, values))


def in_words(message: Message) -> str:
    """A message in the language of the page."""
    with speaking(page_speaker()):
        return str(message)


def typed(text: str) -> Text:
    """Text that somebody typed, a name or a code, as the value of a sentence."""
    return joined([isolated(visible(text))])


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
