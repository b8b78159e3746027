"""Filters for templates: text that people typed, and numbers."""

import os
import shlex
from math import ceil, isnan, nan
from typing import Any

from django import template
from django.utils.formats import number_format
from django.utils.translation import ngettext

from peerfront.foundation.shown import LONGEST_LINE, visible, visible_message

register = template.Library()
_LONG = 90  # seconds from which a time is told in minutes


@register.filter("visible")
def visible_text(value: Any) -> str:
    """Typed text, with invisible characters (marks of direction, control characters) spelled out."""
    return visible(str(value), LONGEST_LINE)


@register.filter
def message(value: Any) -> str:
    """A message of several lines, with invisible characters spelled out."""
    return visible_message(str(value))


@register.filter
def duration(seconds: float) -> str:
    """A time in words, rounded up so that an estimate neither looks exact nor promises too much."""
    if seconds < _LONG:
        number = max(5 * ceil(seconds / 5), 5)
        return ngettext("%(n)s second", "%(n)s seconds", number) % {"n": number}
    number = ceil(seconds / 60)
    return ngettext("%(n)s minute", "%(n)s minutes", number) % {"n": number}


@register.filter
def rounded(value: Any, digits: int = 1) -> str:
    """A number with this many decimals, in the page's language; empty if there is no number."""
    number = _number(value)
    if isnan(number):
        return ""
    return str(number_format(round(number, digits), decimal_pos=digits, use_l10n=True, force_grouping=True))


@register.filter
def percentage(value: Any) -> str:
    number = _number(value)
    return "" if isnan(number) else f"{number:.0%}"


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return nan


@register.filter
def cd_to(path: str) -> str:
    """The command that changes to the study's folder."""
    return f"cd {shlex.quote(path)}" if os.name != "nt" else f'cd /d "{path}"'
