"""Log in and out; a form that cannot be taken now (session ended, page too old, no site chosen) can be sent again.

What was typed travels through the browser, sealed with the server's key, and is never stored on the server: some of it
is contact details, which are kept encrypted or not at all.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.contrib.auth.views import LoginView
from django.core import signing
from django.core.exceptions import ValidationError
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.operations.staff import FAILED_LOGINS, note_login
from peerfront.web.live.records.database import member_from
from peerfront.web.live.records.models import Member

LONGEST = 300_000
"""Characters of all entries together; larger forms have to be typed again."""
_SALT = "peerfront.web.live.screens.resending"  # forms that were sealed before an update stay readable
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


_LAST = "peerfront_last_user"
"""The cookie that tells who logged in last in this browser."""


class LoginForm(AuthenticationForm):
    """Name and password of somebody who has a role in the study."""

    def confirm_login_allowed(self, user: User) -> None:
        super().confirm_login_allowed(user)
        if not Member.objects.filter(user_id=user.pk).exists():
            raise ValidationError(_("This user has no role in the study. A manager can give one."), code="no_role")


class Login(LoginView):
    """Ask for name and password; afterwards return to the page, or send what was typed when the session had ended."""

    authentication_form = LoginForm
    template_name = "screens/login.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        carried = self.request.POST.get("carried", "")
        return super().get_context_data(**kwargs) | {"carried": sealed(opened(carried))}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response, who = super().form_valid(form), str(form.get_user().pk)
        note_login("logged in", member_from(Member.objects.get(user=form.get_user())))
        entries = opened(self.request.POST.get("carried", ""))
        if entries is not None:
            # Tablets are shared: what one person typed is not recorded in another's name without a click.
            same = self.request.get_signed_cookie(_LAST, default="", salt=_LAST) == who
            response = send_again(self.request, entries, at_once=same)
        response.set_signed_cookie(
            _LAST, who, salt=_LAST, httponly=True, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
        )
        return response


@receiver(user_login_failed, dispatch_uid="peerfront.login_failed")
def _note_failure(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    if request is not None:
        FAILED_LOGINS.add(str(credentials.get("username", "")), request.META.get("REMOTE_ADDR", ""))


def login_again(request: HttpRequest) -> HttpResponseBase:
    """Send somebody who is not logged in to the login page; entries of a form that was sent come along."""
    page = request.resolver_match.view_name if request.resolver_match else ""
    if page == "logout":
        return redirect("login")
    if request.method != "POST":
        return redirect(f"{reverse('login')}?{urlencode({'next': request.get_full_path()})}")
    return _login_page(request, entries_of(request), request.get_full_path())


def form_expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its token: somebody logged in meanwhile, or cookies are gone. What was typed can be sent again.

    Only a form that the browser says comes from this site is offered again, so no other site can have it sent.
    """
    from_here = request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"
    entries = entries_of(request) if from_here else None
    if not request.user.is_authenticated and from_here:
        if "password" in request.POST:  # the login page itself was old
            return _login_page(request, opened(request.POST.get("carried", "")), reverse("home"), ended=False)
        return _login_page(request, entries, reverse("home"))
    if entries is not None:
        return send_again(request, entries, at_once=False, status=403)
    return render(request, "screens/form_expired.html", status=403)


def _login_page(request: HttpRequest, entries: Entries | None, next_page: str, *, ended: bool = True) -> HttpResponse:
    context = {"form": LoginForm(request), "next": next_page, "carried": sealed(entries), "ended": ended}
    return render(request, "screens/login.html", context, status=403)
