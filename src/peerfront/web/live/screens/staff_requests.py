"""Requests of people who are logged in: which pages they may open, where they work, and asking the rules for them.

Access to pages is derived from the declarations of actions (`rules.actions`). A page of no action and no audience is
closed for everybody. The rules decide again on what a form of a page asks for.
"""

import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from functools import cached_property, wraps
from typing import Any, Self, cast
from zoneinfo import ZoneInfo

from django import forms
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.http import url_has_allowed_host_and_scheme

from peerfront.web.live.operations.tries import OF_CODES, TooMany
from peerfront.web.live.records.database import DatabaseRecords, member_from
from peerfront.web.live.records.models import Event, Site
from peerfront.web.live.records.models import Member as StoredMember
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.actions import Action, Member, Scope, roles_allowed
from peerfront.web.live.rules.deciding import Accepted, Answer, Refused
from peerfront.web.live.rules.refusals import Reason
from peerfront.web.live.rules.requests import Request, Wish
from peerfront.web.live.screens.logins import entries_of, login_again, too_many


class Audience(StrEnum):
    """For whom a page is that belongs to no action."""

    EVERYBODY = "everybody"
    """Without logging in."""
    MEMBERS = "members"
    """Whoever has logged in."""


PAGES: dict[str, Audience | Action] = {
    **dict.fromkeys(("login", "first_login", "healthz", "set_language"), Audience.EVERYBODY),
    **dict.fromkeys(("logout", "home", "password", "work_at"), Audience.MEMBERS),
    **{page: action for action in Action for page in action.declared.pages.split()},
}
"""What must be allowed, at one's own site, to open a page."""


SCANNING = frozenset({"home", "arrive", "enrol", "pay"})
"""Pages with a box for codes, which may use the camera."""
_WRONG_CODE = frozenset({Reason.MISTYPED, Reason.UNLISTED, Reason.OTHER_STUDY, Reason.UNKNOWN})


class StudyNotBegun(Http404):
    """A page needs the study, which the manager has not begun."""


class AtWork(HttpRequest):
    """A request of somebody who has logged in, as `AccessMiddleware` completes it."""

    member: Member
    work_site: str | None
    """Where they work now; None if their role is for all sites and they have not chosen one."""


def may_open(page: str, member: Member | None) -> bool:
    """Look up the table, for the sites of the member's role; None for somebody who has not logged in."""
    needed = PAGES.get(page)
    if needed is Audience.EVERYBODY:
        return True
    if needed is None or member is None:
        return False
    if not isinstance(needed, Action):
        return True
    own_site = needed.declared.scope is not Scope.STUDY or member.covers(None)
    return member.may(needed, own_site=own_site)


def count_wrong_code(member: Member, answered: Answer) -> None:
    """Count a code that is no coupon of the study: after many of them the next one has to wait."""
    if isinstance(answered, Refused) and answered.refusal.reason in _WRONG_CODE:
        OF_CODES.count(member.name)


class AccessMiddleware:
    """Refuse pages by the table, and tell views who asks and where they work."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        page = request.resolver_match.view_name if request.resolver_match else ""
        camera = "self" if page in SCANNING else ""
        response.headers["Permissions-Policy"] = f"camera=({camera}), microphone=(), geolocation=()"
        if response.status_code == 405 and request.method == "GET":
            return redirect("home")  # the address of a form, loaded as a page: it would be empty
        if hasattr(request, "member") and request.method == "GET":
            # The back button of a shared tablet shows nothing to whoever comes next. The answer to a form stays with
            # the browser, which would otherwise show an error of its own in its place.
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponseBase | None:
        page = request.resolver_match.view_name if request.resolver_match else ""
        member = member_of(request)
        at_work = cast(AtWork, request)
        if member is not None:
            at_work.member = member
            at_work.work_site = _work_site(request, member)
            timezone.activate(_StudyZone())  # pages tell days and times there
        if may_open(page, member):
            if member is not None and page in SCANNING and (request.method == "POST" or request.GET):
                try:
                    OF_CODES.check(member.name)
                except TooMany as many:
                    return too_many(request, many)
            return None
        if member is None:
            return login_again(request)
        needed = PAGES.get(page)
        allowed = sorted(roles_allowed(needed)) if isinstance(needed, Action) else []
        context = {"allowed": allowed, "of_all_sites": may_open(page, replace(member, site=None))}
        return render(request, "screens/not_allowed.html", context, status=403)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, StudyNotBegun):
            return render(request, "screens/not_begun.html", status=409)
        if isinstance(exception, TooMany):
            return too_many(request, exception)
        return None


class StaffBackend(ModelBackend):
    """Names and passwords of users; who is logged in is read together with their role."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **_: Any
    ) -> User | None:
        """The user with this name and password; a name that nobody has costs as much as one of the users' names."""
        if username is None or password is None:
            return None
        user = User.objects.filter(username=username).first()
        if user is None:
            check_password(password, _hash_like(username))
            return None
        return user if _has_password(user, password) and self.user_can_authenticate(user) else None

    def get_user(self, user_id: int) -> User | None:
        user = User.objects.select_related("member").filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None


def _has_password(user: User, password: str) -> bool:
    """Whether this is the password of a user. A hash of an earlier version is written anew, with its seal, and once."""

    def write_anew(password: str) -> None:
        before, fresh = user.password, make_password(password)  # which takes a while, before others have to wait
        with transaction.atomic():
            stored = User.objects.select_for_update().get(pk=user.pk)
            if stored.password == before:  # otherwise another login of the same moment was faster
                stored.password = fresh
                stored.save(update_fields=["password"])
        user.password = stored.password  # with which the session begins

    return check_password(password, user.password, write_anew)


def _hash_like(name: str) -> str:
    """The stored hash of a user drawn for an invented name: hashes of earlier versions take longer to check."""
    users = User.objects.order_by("pk")
    drawn = int(salted_hmac(__name__, name).hexdigest(), 16) % max(users.count(), 1)
    return users.values_list("password", flat=True)[drawn : drawn + 1].first() or ""


def member_of(request: HttpRequest) -> Member | None:
    """Who asks, by their login; None for nobody, or for somebody who works here no more."""
    user = request.user
    stored: StoredMember | None = getattr(user, "member", None)
    if not user.is_authenticated or not user.is_active or stored is None:
        return None
    return member_from(stored)


class _StudyZone(tzinfo):
    """The study's own time zone, read when a page needs it."""

    @cached_property
    def zone(self) -> tzinfo:
        study = DatabaseRecords().study()
        return UTC if study is None else ZoneInfo(study.settings.timezone)

    def utcoffset(self, at: datetime | None) -> timedelta | None:
        return self.zone.utcoffset(at)

    def dst(self, at: datetime | None) -> timedelta | None:
        return self.zone.dst(at)

    def tzname(self, at: datetime | None) -> str | None:
        return self.zone.tzname(at)

    def fromutc(self, at: datetime) -> datetime:
        return self.zone.fromutc(at.replace(tzinfo=self.zone))


def _work_site(request: HttpRequest, member: Member) -> str | None:
    if member.site is not None:
        return member.site
    site: str | None = request.session.get("work_site")
    sites = list(Site.objects.values_list("site", flat=True)[:2]) if site is None else []
    return sites[0] if len(sites) == 1 else site


def work_at(request: HttpRequest) -> HttpResponse:
    """Somebody with a role for all sites says where they work now."""
    site = request.POST.get("site", "")
    if request.method == "POST" and cast(AtWork, request).member.site is None:
        if Site.objects.filter(site=site).exists():
            request.session["work_site"] = site
        elif not site:
            request.session.pop("work_site", None)
    return redirect(safe_next(request))


def safe_next(request: HttpRequest) -> str:
    """The page of this site to which a form wants to return; home if it names another site."""
    wanted = request.POST.get("next", "")
    return wanted if url_has_allowed_host_and_scheme(wanted, {request.get_host()}) else reverse("home")


def new_key() -> str:
    """A request key: made once when a form is shown, sent with it, the same however often it is sent."""
    return secrets.token_hex(16)


class RequestForm(forms.Form):
    """A form with a request key and the device's clock; forms of screens inherit these two fields."""

    # Shorter than a request's key may be: keys of several requests are made from one form's.
    key = forms.CharField(max_length=80, widget=forms.HiddenInput, initial=new_key)
    device_time = forms.CharField(max_length=40, required=False, widget=forms.HiddenInput)

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for field in self.fields.values():  # tablets are shared: what one person typed is not offered to the next
            if isinstance(field.widget, forms.TextInput | forms.NumberInput | forms.Textarea):
                field.widget.attrs.setdefault("autocomplete", "off")
            if type(field) is forms.IntegerField:
                field.widget.attrs.setdefault("inputmode", "numeric")

    def ask(
        self,
        request: HttpRequest,
        wish: Wish,
        *,
        ending: str = "",
        site: str | None = None,
        alongside: Callable[[Accepted], None] | None = None,
    ) -> Answer:
        """Ask the rules as the person who is logged in, at the site where they work (or at another, if it is named).

        `ending` tells several requests of one form apart; `alongside` is done in the same transaction.
        """
        at_work, key = cast(AtWork, request), self.cleaned_data["key"] + ending
        where = None if wish.action.declared.scope is Scope.STUDY else site or at_work.work_site
        answered = answer(Request(key, at_work.member, where, self.device_clock, wish), alongside=alongside)
        count_wrong_code(at_work.member, answered)
        return answered

    @property
    def asked_before(self) -> bool:
        """Whether this very form was sent before; for wishes that change from one moment to the next."""
        return Event.objects.filter(request_key=self.cleaned_data["key"]).exists()

    def with_new_key(self, **changed: str) -> Self:
        """The same entries, or some changed, to be sent again after a refusal, as a new request."""
        entries = cast(QueryDict, self.data).copy()
        for name, text in (changed | {"key": new_key()}).items():
            entries[name] = text
        self.data = entries
        return self

    @property
    def device_clock(self) -> datetime | None:
        """The time of the device's clock; None if it was not sent or cannot be read."""
        try:
            moment = datetime.fromisoformat(self.cleaned_data.get("device_time", ""))
            return moment.astimezone(UTC) if moment.tzinfo else None
        except (ValueError, OverflowError):  # the first and the last day of the calendar may have no time in UTC
            return None


_SITE_FIELD = "work_at_site"

View = Callable[..., HttpResponse]


def at_a_site(view: View) -> View:
    """Open a page for somebody who has said where they work; ask the others first, and lose nothing they typed."""

    @wraps(view)
    def checked(request: HttpRequest, *arguments: object, **named: object) -> HttpResponse:
        at_work = cast(AtWork, request)
        is_left_to_the_rules = request.method == "POST" and at_work.work_site is not None
        if not is_left_to_the_rules and DatabaseRecords().study() is None:
            raise StudyNotBegun
        wanted = request.POST.get(_SITE_FIELD, "")
        if at_work.work_site is None and wanted and Site.objects.filter(site=wanted).exists():
            at_work.work_site = request.session["work_site"] = wanted
        if at_work.work_site is None:
            entries = entries_of(request)
            fields = [each for each in entries.fields if each[0] != _SITE_FIELD] if entries else []
            context = {"fields": fields, "choice": _SITE_FIELD, "path": request.get_full_path()}
            return render(request, "screens/choose_site.html", context)
        return view(request, *arguments, **named)

    return checked


def site_name(site: str) -> str:
    """What people call a site."""
    row = DatabaseRecords().site(site)
    return site if row is None else row.name
