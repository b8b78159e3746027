"""From a form to the rules and back: ask for something, and show the answer or the refusal in the reader's language."""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

from django import forms
from django.http import HttpRequest, QueryDict

from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.deciding import Accepted, Answer
from peerfront.web.live.rules.requests import Request, Wish
from peerfront.web.live.screens.access import AtWork


def new_key() -> str:
    """A request key: made once when a form is shown, sent with it, the same however often it is sent."""
    return secrets.token_hex(16)


class RequestForm(forms.Form):
    """A form with a request key and the device's clock; forms of screens inherit these two fields."""

    key = forms.CharField(max_length=100, widget=forms.HiddenInput, initial=new_key)
    device_time = forms.CharField(max_length=40, required=False, widget=forms.HiddenInput)

    def with_new_key(self) -> "RequestForm":
        """The same entries to be sent again after a refusal, as a new request."""
        entries = cast(QueryDict, self.data).copy()
        entries["key"] = new_key()
        self.data = entries
        return self

    @property
    def device_clock(self) -> datetime | None:
        return device_clock(self.cleaned_data.get("device_time", ""))


def device_clock(text: str) -> datetime | None:
    """What the device's clock said, if its script told and it can be read."""
    try:
        told = datetime.fromisoformat(text)
        return told.astimezone(UTC) if told.tzinfo else None
    except (ValueError, OverflowError):  # the first and the last day of the calendar may have no time in UTC
        return None


def ask(
    request: HttpRequest, wish: Wish, *, key: str, device_time: datetime | None = None, site: str | None = None,
    alongside: Callable[[Accepted], None] | None = None,
) -> Answer:  # fmt: skip
    """Ask the rules as the person who is logged in, at the site where they work (or at another, if it is named)."""
    at_work = cast(AtWork, request)
    where = site if site is not None else at_work.work_site
    return answer(Request(key, at_work.member, where, device_time, wish), alongside=alongside)


def ask_with(form: RequestForm, request: HttpRequest, wish: Wish, **how: Any) -> Answer:
    """Ask with the key and clock of a form that was sent."""
    return ask(request, wish, key=form.cleaned_data["key"], device_time=form.device_clock, **how)
