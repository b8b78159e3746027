"""Filters for templates: text that people typed, and numbers."""

import json
import os
import re
import shlex
from typing import Any

from django import forms, template
from django.utils.formats import number_format

from peerfront.foundation.shown import LONGEST_LINE, visible, visible_message
from peerfront.web.app.column_choices import ColumnsForm

register = template.Library()


@register.filter
def seen(value: Any) -> str:
    """Text as it was typed, with whatever would not be seen (marks of direction, control characters) spelled out."""
    return visible(str(value), LONGEST_LINE)


@register.filter
def message(value: Any) -> str:
    """A message of several lines, with whatever would not be seen spelled out."""
    return visible_message(str(value))


@register.filter
def fields_named(text: str, form: forms.Form | None) -> list[tuple[str, Any]]:
    """Options of commands that a message names, with the label of the form's field that sets the same."""
    fields = form.fields if form is not None else {}
    options = ((f"--{name.replace('_', '-')}", field.label) for name, field in fields.items())
    return [(option, label) for option, label in options if re.search(rf"{option}(?![\w-])", text)]


@register.filter
def columns_named(text: str) -> list[tuple[str, Any]]:
    """Entries of a schema file that a message names, with the label of the field on the page of the columns."""
    fields = {"still_open": "still_open", "valid_days": "valid_for", "--missing": "missing"}
    return [(entry, ColumnsForm.base_fields[name].label) for entry, name in fields.items() if entry in text]


@register.filter
def purpose(progress: str) -> str:
    """What is being done, without the names of the models that are tried for it."""
    return progress.partition(":")[0]


@register.filter
def roughly(seconds: int) -> int:
    """Seconds in steps of five, so that an estimate does not look exact."""
    return max(5 * round(seconds / 5), 5)


@register.filter
def minutes(seconds: int) -> int:
    return round(seconds / 60)


@register.filter
def rounded(value: Any, digits: int = 1) -> str:
    """A number with so many decimals, as the page's language writes it; nothing for no number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return ""
    if number != number:
        return ""
    return str(number_format(round(number, digits), decimal_pos=digits, use_l10n=True, force_grouping=True))


@register.filter
def percentage(value: Any) -> str:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return ""
    return "" if number != number else f"{number:.0%}"


@register.filter
def unlocalized(value: float) -> str:
    """A number for a picture: always with a point."""
    return f"{value:.1f}"


@register.filter
def as_json(value: Any) -> str:
    """A value for a script to read from an attribute."""
    return json.dumps(value)


@register.filter
def cd_to(path: str) -> str:
    """The line that goes to the study's folder."""
    return f"cd {shlex.quote(path)}" if os.name != "nt" else f'cd /d "{path}"'
