"""Access to the pages: only from this computer, only with the link from the terminal, and no huge uploads.

The first request with the link's token sets a signed cookie. A page of another site cannot read it (SameSite=Strict),
and requests under another host name that points here (DNS rebinding) are refused by the Host header.
"""

from collections.abc import Callable

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language_from_request, override
from django.utils.translation import gettext as _

from peerfront.web.app.app_server import HOSTS, serving
from peerfront.web.app.file_pages import field_labels
from peerfront.web.pages.speaking import InTheLanguageOfThePage

Answer = Callable[[HttpRequest], HttpResponse]
LARGEST_UPLOAD = 100_000_000
"""Bytes of the largest file that the pages take."""
_COOKIE_DAYS = 30
_SALT = "peerfront.web.app.link"


class OnlyThisComputer:
    """Refuse requests whose Host is not this computer's own name."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        host = request.META.get("HTTP_HOST", "")
        if host.rpartition(":")[0] not in HOSTS and host not in HOSTS:
            with override(get_language_from_request(request)):  # this comes before Django chooses a language
                refusal = _("This address is not served here. Use the link that the terminal shows.")
            return HttpResponse(f"{refusal}\n", status=400, content_type="text/plain; charset=utf-8")
        response = self.answer(request)
        # Pages hold participants' ids: only the browser itself may keep them, for its back button.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


class OnlyWithTheLink:
    """Refuse everybody who did not come by the link, showing nothing of the study, and uploads that are too large."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith("/open/"):
            return _open(request, request.path.removeprefix("/open/"))
        if not _came_by_the_link(request):
            return render(request, "app/refused.html", {"title": _("Use the link from the terminal")}, status=403)
        size = request.META.get("CONTENT_LENGTH") or "0"
        if request.method == "POST" and size.isdigit() and int(size) > LARGEST_UPLOAD:  # before anything reads it
            megabytes = {"found": int(size) // 1_000_000, "allowed": LARGEST_UPLOAD // 1_000_000}
            return render(request, "app/too_large.html", megabytes, status=413)
        return self.answer(request)


class InTheLanguageOfTheApp(InTheLanguageOfThePage):
    """Let messages name settings by the labels of the app's forms."""

    fields = field_labels()


def _cookie_name() -> str:
    return f"peerfront_app_{serving().port}"


def _open(request: HttpRequest, token: str) -> HttpResponse:
    """Exchange the link's token for a cookie, and redirect to an address without the token."""
    if not serving().opens(token):
        if _came_by_the_link(request):
            return redirect("home")
        return render(request, "app/refused.html", {"title": _("This link is of an earlier run")}, status=403)
    response = redirect("home")
    response.set_cookie(
        _cookie_name(),
        signing.dumps("opened", salt=_SALT),
        max_age=_COOKIE_DAYS * 86_400,
        httponly=True,
        samesite="Strict",
    )
    return response


def _came_by_the_link(request: HttpRequest) -> bool:
    try:
        signing.loads(request.COOKIES.get(_cookie_name(), ""), salt=_SALT, max_age=_COOKIE_DAYS * 86_400)
    except signing.BadSignature:  # includes expired signatures
        return False
    return True


def form_expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form without a valid token: it comes from an earlier run of the app, or cookies are off."""
    return render(request, "app/form_expired.html", status=403)
