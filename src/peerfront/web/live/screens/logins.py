"""Log in and out; a form that cannot be taken now (session ended, page too old, no site chosen) can be sent again.

What was typed travels through the browser, encrypted with the server's key, and is never stored on the server: some of
it is contact details, which are kept encrypted or not at all. A failed login leaves it out (AXES_SENSITIVE_PARAMETERS).
"""

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.operations.staff import FAILED_LOGINS, note_login
from peerfront.web.live.operations.tries import (
    OF_ADDRESS,
    OF_ALL,
    OF_NAME,
    OF_OWN_BROWSER,
    About,
    TooMany,
    Tries,
    address_of,
)
from peerfront.web.live.records.database import member_from
from peerfront.web.live.records.models import Member

LONGEST = 300_000
"""Characters of all entries together; larger forms have to be typed again."""
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


def _box() -> Fernet:
    """Encrypts entries with a key of their own, made from the study's secret key."""
    return Fernet(base64.urlsafe_b64encode(salted_hmac("peerfront.entries", "", algorithm="sha256").digest()))


def sealed(entries: Entries | None) -> str:
    """Entries as text for a hidden field, which nobody else can make or read; empty for none."""
    if entries is None:
        return ""
    return _box().encrypt(zlib.compress(json.dumps([entries.path, entries.fields]).encode())).decode()


def opened(text: str) -> Entries | None:
    """Entries from a hidden field; None if there are none, or if they are old or forged."""
    try:
        path, fields = json.loads(zlib.decompress(_box().decrypt(text, ttl=_HOURS * 3600)))
    except (InvalidToken, ValueError):  # a ValueError for letters that no token has
        return None
    return Entries(path, tuple((name, value) for name, value in fields))


def send_again(request: HttpRequest, entries: Entries, *, at_once: bool, status: int = 200) -> HttpResponse:
    """A page with the same form to be sent again; `at_once` by itself, where scripts run."""
    context: dict[str, Any] = {"entries": entries, "at_once": at_once}
    return render(request, "screens/send_again.html", context, status=status)


_LAST = "peerfront_last_user"
"""The cookie that tells who logged in last in this browser, and who before."""
_MOST_USERS = 20
_REMEMBERED = 90 * 24 * 3600  # seconds


def _users_before(request: HttpRequest) -> list[str]:
    """The keys of users who have logged in in this browser, the last one first."""
    text = request.get_signed_cookie(_LAST, default="", salt=_LAST, max_age=_REMEMBERED) or ""
    return [key for key in text.split(".") if key]


def is_own_browser(request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
    """Whether the user who logs in has done so in this browser before."""
    name = (credentials or {}).get("username") or request.POST.get("username", "")
    users = _users_before(request)
    return bool(users) and User.objects.filter(pk__in=users, username=name).exists()


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

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Log in, unless there were too many tries: then nothing is looked up and no password is hashed."""
        name = request.POST.get("username", "").strip().casefold()
        limits = [(OF_OWN_BROWSER, name)]
        if not is_own_browser(request):
            limits = [(OF_ADDRESS, address_of(request)), (OF_NAME, name), (OF_ALL, "")]
        try:
            tries = Tries(limits)
        except TooMany as many:
            return too_many_logins(request, many)
        try:
            response = super().post(request, *args, **kwargs)
        except TooMany as busy:
            tries.succeeded()  # no password was tried
            return too_many_logins(request, busy)
        if request.user.is_authenticated:
            tries.succeeded()
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        carried = self.request.POST.get("carried", "")
        return super().get_context_data(**kwargs) | {"carried": sealed(opened(carried))}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response, who = super().form_valid(form), str(form.get_user().pk)
        note_login("logged in", member_from(Member.objects.get(user=form.get_user())))
        entries = opened(self.request.POST.get("carried", ""))
        if entries is not None:
            # Tablets are shared: what one person typed is not recorded in another's name without a click.
            response = send_again(self.request, entries, at_once=_users_before(self.request)[:1] == [who])
        return remember_user(self.request, response, who)


def remember_user(request: HttpRequest, response: HttpResponse, who: str) -> HttpResponse:
    """Remember in the browser that a user has logged in in it."""
    users = list(dict.fromkeys([who, *_users_before(request)]))[:_MOST_USERS]
    response.set_signed_cookie(
        _LAST,
        ".".join(users),
        salt=_LAST,
        max_age=_REMEMBERED,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )
    return response


def too_many_logins(request: HttpRequest, many: TooMany) -> HttpResponse:
    """The login page with the time to wait; what was carried along is not lost."""
    carried = opened(request.POST.get("carried", ""))
    return _login_page(request, carried, request.POST.get("next", ""), ended=False, many=many)


def locked_out(request: HttpRequest, _response: object, _credentials: object = None) -> HttpResponse:
    """The answer to a name that is locked for an address, and to the last wrong password before."""
    return too_many_logins(request, TooMany(About.LOGINS, settings.AXES_COOLOFF_TIME * 3600))


def too_many(request: HttpRequest, many: TooMany) -> HttpResponse:
    """A page that says how long to wait; what was typed, passwords apart, can be sent again from it."""
    context = {"many": many, "entries": entries_of(request), "path": request.get_full_path()}
    return _wait(render(request, "screens/too_many.html", context, status=many.status), many)


def _wait(response: HttpResponse, many: TooMany) -> HttpResponse:
    response["Retry-After"] = str(many.seconds)
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


def _login_page(
    request: HttpRequest, entries: Entries | None, next_page: str, *, ended: bool = True, many: TooMany | None = None
) -> HttpResponse:
    context = {"form": LoginForm(request), "next": next_page, "carried": sealed(entries), "ended": ended, "many": many}
    response = render(request, "screens/login.html", context, status=many.status if many else 403)
    return _wait(response, many) if many else response
