"""Ask the rules for something that concerns the whole study, wherever somebody works."""

from collections.abc import Callable
from typing import cast

from django.conf import settings
from django.http import HttpRequest

from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.records.models import Event
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.deciding import Accepted, Answer
from peerfront.web.live.rules.requests import Request, Wish
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm


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
