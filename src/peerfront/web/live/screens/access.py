"""Who may open which page: derived from the declarations of actions (`rules.actions`), enforced for every request.

A page of no action and no audience is closed for everybody. The rules decide again on what a form of it asks for.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import cast
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Member as StoredMember
from peerfront.web.live.records.models import Site
from peerfront.web.live.rules.actions import Action, Member, Role, Scope, is_allowed, roles_allowed
from peerfront.web.live.screens.logins import login_again


class Audience(StrEnum):
    """For whom a page is that belongs to no action."""

    EVERYBODY = "everybody"
    """Without logging in."""
    MEMBERS = "members"
    """Whoever has logged in."""


PAGES: dict[str, Audience | Action] = {
    **dict.fromkeys(("login", "first_login", "healthz", "set_language"), Audience.EVERYBODY),
    **dict.fromkeys(("logout", "home", "password", "work_at"), Audience.MEMBERS),
    **{page: action for action in Action for page in action.declared.pages},
}
"""What must be allowed, at one's own site, to open a page."""


class StudyNotBegun(Http404):
    """A page needs the study, which the manager has not begun."""


class AtWork(HttpRequest):
    """A request of somebody who has logged in, as `AccessMiddleware` completes it."""

    member: Member
    work_site: str | None
    """Where they work now; None if their role is for all sites and they have not chosen one."""


def may_open(page: str, role: Role | None) -> bool:
    """Look up the table; None for somebody who has not logged in."""
    needed = PAGES.get(page)
    if needed is Audience.EVERYBODY:
        return True
    if needed is None or role is None:
        return False
    return not isinstance(needed, Action) or is_allowed(needed, role, own_site=True)


def may_open_as(page: str, member: Member) -> bool:
    """Look up the table for somebody who has logged in, with the sites of their role."""
    needed = PAGES.get(page)
    if isinstance(needed, Action) and needed.declared.scope is Scope.STUDY:
        return is_allowed(needed, member.role, own_site=member.covers(None))
    return may_open(page, member.role)


def missing_pages() -> list[str]:
    """Names of pages that the table does not have."""
    return sorted(page_names() - PAGES.keys())


@cache
def page_names() -> frozenset[str]:
    """All pages of the site."""

    def names(patterns: list[URLPattern | URLResolver]) -> set[str]:
        found = set()
        for each in patterns:
            found |= names(each.url_patterns) if isinstance(each, URLResolver) else {each.name or str(each.pattern)}
        return found

    return frozenset(names(get_resolver().url_patterns))


class AccessMiddleware:
    """Refuse pages by the table, and tell views who asks and where they work."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
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
            _show_times_of_study()
        if may_open(page, None) if member is None else may_open_as(page, member):
            return None
        if member is None:
            return login_again(request)
        needed = PAGES.get(page)
        allowed = sorted(roles_allowed(needed)) if isinstance(needed, Action) else []
        context = {"allowed": allowed, "of_all_sites": may_open(page, member.role)}
        return render(request, "screens/not_allowed.html", context, status=403)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, StudyNotBegun):
            return render(request, "screens/not_begun.html", status=409)
        return None


def member_of(request: HttpRequest) -> Member | None:
    """Who asks, by their login; None for nobody, or for somebody who works here no more."""
    user = request.user
    if not user.is_authenticated or not user.is_active:
        return None
    stored = StoredMember.objects.filter(user=user).first()
    return None if stored is None else Member(user.get_username(), Role(stored.role), stored.site_id)


def _show_times_of_study() -> None:
    """Pages tell days and times in the study's own time zone."""
    study = DatabaseRecords().study()
    if study is not None:
        timezone.activate(ZoneInfo(study.settings.timezone))


def _work_site(request: HttpRequest, member: Member) -> str | None:
    if member.site is not None:
        return member.site
    chosen: str | None = request.session.get("work_site")
    sites = list(Site.objects.values_list("site", flat=True)[:2]) if chosen is None else []
    return sites[0] if len(sites) == 1 else chosen


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
    from django.urls import reverse
    from django.utils.http import url_has_allowed_host_and_scheme

    wanted = request.POST.get("next", "")
    return wanted if url_has_allowed_host_and_scheme(wanted, {request.get_host()}) else reverse("home")
