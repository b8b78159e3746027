"""Records as the texts of exported tables: days of the study's calendar, codes in groups, nothing that is misread."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from peerfront.data.read.listing import USUAL_MISSING
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.settings import Settings

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")


def days_of(settings: Settings) -> Callable[[datetime], str]:
    """Write a moment as the day of the study's own calendar."""
    zone = ZoneInfo(settings.timezone)
    return lambda at: at.astimezone(zone).date().isoformat()


def written_ids(ids: Iterable[str]) -> Mapping[str, str]:
    """Ids as they are written: one that readers take for "not known", such as NA, gets underscores at its end."""
    known = list(ids)
    taken, written = set(known), {}
    for each in known:
        text = each
        while text in USUAL_MISSING or (text != each and text in taken):
            text += "_"
        taken.add(text)
        written[each] = text
    return written


def code_text(code: str) -> str:
    """A code in groups, so that a spreadsheet does not take it for a number."""
    text = shown_code(code)
    return f"{text}_" if text in USUAL_MISSING else text


def one_line(text: str) -> str:
    """One line of text: control characters would break the file or hide in it."""
    return _CONTROLS.sub(" ", text).strip()


def mark(yes: bool) -> str:
    """A yes or no."""
    return "yes" if yes else "no"


def number_text(value: float | None) -> str:
    """A number in a few digits; nothing where it is not known."""
    return "" if value is None else f"{value:.6g}"
