"""Ask the rules for something with a form: for one site or the whole study, now or as a preview."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Event
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.deciding import Accepted, Answer, decide
from peerfront.web.live.rules.requests import Request, Wish
from peerfront.web.live.screens.page_words import found_and_to_do
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, ask_with, new_key


def ask_whole(
    form: RequestForm,
    request: HttpRequest,
    wish: Wish,
    *,
    ending: str = "",
    alongside: Callable[[Accepted], None] | None = None,
) -> Answer:
    """Ask with the key and clock of a form that was sent; `ending` tells several wishes of one form apart."""
    member = cast(AtWork, request).member
    key = form.cleaned_data["key"][:80] + ending
    return answer(Request(key, member, None, form.device_clock, wish), alongside=alongside)


def asked_before(form: RequestForm) -> bool:
    """Whether this very form was sent before; for wishes that change from one moment to the next."""
    return Event.objects.filter(request_key=form.cleaned_data["key"][:80]).exists()


def study_folder() -> LiveFolder:
    """The folder of the study that is served."""
    folder: LiveFolder | None = settings.LIVE_FOLDER
    assert folder is not None, "pages are served from a study's folder"
    return folder


def would_answer(request: HttpRequest, wish: Wish) -> Answer:
    """The answer to a request as if it were sent now by the person who is logged in, at the site where they work."""
    at_work = cast(AtWork, request)
    asked = Request(new_key(), at_work.member, at_work.work_site, None, wish)
    return decide(DatabaseRecords(), asked, timezone.now())


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
