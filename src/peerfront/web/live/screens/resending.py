"""Forms that cannot be taken now (nobody is logged in, the page is old, no site is chosen): keep what was typed.

The entries travel through the browser, sealed with the server's key, and are never stored on the server: some of them
are contact details, which are kept encrypted or not at all.
"""

from dataclasses import dataclass
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

LONGEST = 300_000
"""Characters of all entries together; larger forms have to be typed again."""
_SALT = "peerfront.web.live.screens.resending"
_HOURS = 12


@dataclass(frozen=True)
class Entries:
    """What somebody typed, and where it was to be sent."""

    path: str
    fields: tuple[tuple[str, str], ...]


def entries_of(request: HttpRequest) -> Entries | None:
    """What a form sent; None for what is not to be kept (passwords) or cannot be (files, very long text)."""
    fields = tuple(
        (name, str(value)) for name, values in request.POST.lists() for value in values if name != "csrfmiddlewaretoken"
    )
    secret = any("password" in name.lower() for name, _ in fields)
    size = sum(len(name) + len(value) for name, value in fields)
    if request.method != "POST" or not fields or secret or request.FILES or size > LONGEST:
        return None
    return Entries(request.get_full_path(), fields)


def sealed(entries: Entries | None) -> str:
    """Entries as text for a hidden field, which nobody else can make; empty for none."""
    return "" if entries is None else signing.dumps([entries.path, entries.fields], salt=_SALT, compress=True)


def opened(text: str) -> Entries | None:
    """Entries from a hidden field; None if there are none, or if they are old or forged."""
    try:
        path, fields = signing.loads(text, salt=_SALT, max_age=_HOURS * 3600) if text else (None, ())
    except signing.BadSignature:
        return None
    return None if path is None else Entries(path, tuple((name, value) for name, value in fields))


def send_again(request: HttpRequest, entries: Entries, *, at_once: bool, status: int = 200) -> HttpResponse:
    """A page with the same form to be sent again; `at_once` by itself, where scripts run."""
    context: dict[str, Any] = {"entries": entries, "at_once": at_once}
    return render(request, "screens/send_again.html", context, status=status)
