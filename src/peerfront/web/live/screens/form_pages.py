"""A page with one form that asks the rules for one thing: shown, sent, refused and shown again, or done."""

from collections.abc import Callable
from dataclasses import dataclass, field

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.requests import Wish
from peerfront.web.live.screens.staff_requests import RequestForm, ask_with
from peerfront.web.live.screens.words import found_and_to_do


@dataclass(frozen=True)
class FormPage:
    """The words of the page."""

    title: str
    button: str
    done: str
    """Said after it was done."""
    back: str
    """The address to which the form leads."""
    back_label: str
    lead: str = ""
    facts: tuple[tuple[str, str], ...] = field(default=())
    danger: bool = False


def answer_form(
    request: HttpRequest,
    form: RequestForm,
    page: FormPage,
    wish: Callable[[], Wish],
    *,
    site: str,
    alongside: Callable[[Accepted], None] | None = None,
    template: str = "screens/form_page.html",
) -> HttpResponse:
    """Show the form, or ask for what it wishes; after a refusal show it again as it was typed, with a new key."""
    found = to_do = ""
    if request.method == "POST" and form.is_valid():
        answered = ask_with(form, request, wish(), site=site, alongside=alongside)
        if isinstance(answered, Accepted):
            if not answered.repeated:
                messages.success(request, page.done)
            return redirect(page.back)
        found, to_do = found_and_to_do(answered.refusal)
        form = form.with_new_key()
    return render(request, template, {"form": form, "ask": page, "found": found, "to_do": to_do})
