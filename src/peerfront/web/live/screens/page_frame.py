"""What pages share: frame and menu, long lists in pages, what somebody may see, and the pages for errors.

Pages for errors (400, 403, 404, 413, 500, 503) say nothing about what was sent, and read nothing from the database,
which may be what went wrong.
"""

import errno
import sys
from collections.abc import Callable, Container, Sequence
from datetime import date, datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.core.paginator import Page, Paginator
from django.db import OperationalError
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Site
from peerfront.web.live.rules.actions import Action, Member
from peerfront.web.live.rules.codes import foreign_code, plain_characters
from peerfront.web.live.rules.records import CouponRow, PersonRow, StudyRow
from peerfront.web.live.screens.staff_requests import AtWork, StudyNotBegun, may_open

MENU: list[tuple[str, Promise | str]] = [
    ("arrive", _("Arrive")),
    ("pay", _("Pay")),
    ("board", _("Coupons")),
    ("people", _("People")),
    ("plan", _("Plan")),
    ("progress", _("Progress")),
    ("estimates", _("Estimates")),
    ("export", _("Export")),
    ("settings", _("Settings")),
    ("users", _("Users")),
    ("sites", _("Sites")),
    ("backups", _("Back-ups")),
    ("audit", _("Audit")),
    ("export_codes", _("Export with codes")),
]
"""Name of the page and what the menu calls it; who may not open a page does not see it."""


def study(request: HttpRequest) -> dict[str, Any]:
    """Give every template of a page what its frame shows."""
    member = getattr(request, "member", None)
    row = DatabaseRecords().study()
    page = request.resolver_match.view_name if request.resolver_match else ""
    return {
        "study": row,
        "study_name": row.settings.name if row else "peerfront",
        "member": member,
        "work_site": getattr(request, "work_site", None),
        "sites": list(Site.objects.all()) if member is not None and _chooses_site(member) else [],
        "menu": [(name, label, name == page) for name, label in MENU if member and may_open(name, member)],
    }


def _chooses_site(member: Member) -> bool:
    """Whether somebody says where they work now: with a role for all sites, and work that is done at a site."""
    return member.site is None and any(may_open(page, member) for page in ("arrive", "pay"))


PER_PAGE = 50
LONGEST_SEARCH = 60


def list_page(
    request: HttpRequest,
    rows: QuerySet[Any] | Sequence[Any],
    *,
    shown: QuerySet[Any] | None = None,
    count: int | None = None,
) -> Page[Any]:
    """The page of a list that the address names; the last one if there are fewer.

    With `shown`, only the keys of `rows` are sorted and cut, and the rows of the page are read by it: joins and counts
    are then made for this page alone. `count` is the number of rows, where it is known already.
    """
    pages = Paginator(
        rows.values_list("pk", flat=True) if isinstance(rows, QuerySet) and shown is not None else rows, PER_PAGE
    )
    if count is not None:
        pages.count = count  # a cached property
    page = pages.get_page(request.GET.get("page"))
    if shown is not None:
        keys = list(page.object_list)
        by_key = shown.in_bulk(keys)
        page.object_list = [by_key[key] for key in keys if key in by_key]
    return page


def list_filters(request: HttpRequest, action: Action, name: str, states: Container[str]) -> dict[str, Any]:
    """By what the address filters a list: one of some states, under this name; a search; the site."""
    state = request.GET.get(name, "")
    return {
        name: state if state in states else "",
        "search": request.GET.get("search", "")[:LONGEST_SEARCH].strip(),
        "site": site_filter(request, action),
        "only_site": only_site(request, action),
        "site_choices": sites_in_sight(request, action),
    }


def like_code(search: str) -> Q:
    """Codes that begin as somebody typed, with blanks, hyphens and look-alikes."""
    own, foreign = plain_characters(search), foreign_code(search)
    condition = Q(code__startswith=own) if own else Q()
    return condition | Q(code__startswith=foreign) if foreign else condition


def may(request: HttpRequest, action: Action, site: str | None) -> bool:
    """Whether the person who asks may do something at a site."""
    member = cast(AtWork, request).member
    return member.may(action, own_site=member.covers(site))


def only_site(request: HttpRequest, action: Action) -> str | None:
    """The one site that somebody may see; None for all sites."""
    member = cast(AtWork, request).member
    return None if member.may(action, own_site=False) else member.site


def sites_in_sight(request: HttpRequest, action: Action) -> dict[str, str]:
    """Names of the sites that somebody may see, by their short names."""
    only = only_site(request, action)
    sites = Site.objects.all() if only is None else Site.objects.filter(site=only)
    return {each.site: each.name for each in sites}


def site_filter(request: HttpRequest, action: Action) -> str | None:
    """The site by which a page is filtered: the only one, the one of the address, or None for all."""
    only = only_site(request, action)
    wanted = request.GET.get("site", "")
    if only is not None:
        return only
    return wanted if wanted and Site.objects.filter(site=wanted).exists() else None


def study_or_404() -> StudyRow:
    """The study; before it begins, a page says so."""
    study = DatabaseRecords().study()
    if study is None:
        raise StudyNotBegun
    return study


def person_in_sight(request: HttpRequest, person: str, action: Action) -> PersonRow:
    """A person for whom one may do something; for others there is no page."""
    row = DatabaseRecords().person(person)
    if row is None or not may(request, action, row.site):
        raise Http404
    return row


def coupon_in_sight(request: HttpRequest, code: str, action: Action) -> CouponRow:
    """A coupon with which one may do something; for others there is no page."""
    row = DatabaseRecords().coupon(code)
    if row is None or not may(request, action, row.site):
        raise Http404
    return row


def day_of(study: StudyRow, at: datetime) -> date:
    """The day of the study's own calendar."""
    return at.astimezone(ZoneInfo(study.settings.timezone)).date()


def today_of(study: StudyRow) -> date:
    return day_of(study, timezone.now())


def time_text(study: StudyRow, at: datetime) -> str:
    """A moment in the study's own time zone: 2026-03-02 14:05."""
    return at.astimezone(ZoneInfo(study.settings.timezone)).strftime("%Y-%m-%d %H:%M")


def fault_page(status: int) -> Callable[[HttpRequest, Exception], HttpResponse]:
    """The view that shows that something went wrong."""
    return lambda request, exception: _page(status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What cannot be understood; or a session that could not be written, of which Django says that it was deleted."""
    return _cannot_write(request) if _is_not_written(exception) else _page(400)


def server_fault(request: HttpRequest) -> HttpResponse:
    """An error of the program, or a disk or database that cannot be written (full, a lost connection)."""
    return _cannot_write(request) if _is_not_written(sys.exc_info()[1]) else _page(500)


_FULL = {errno.ENOSPC, errno.EROFS, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}


def _is_not_written(problem: BaseException | None) -> bool:
    """Whether an error comes of a database or a disk that cannot be written."""
    while problem is not None:
        if isinstance(problem, OperationalError) or (isinstance(problem, OSError) and problem.errno in _FULL):
            return True
        problem = problem.__context__
    return False


def _cannot_write(request: HttpRequest) -> HttpResponse:
    """Ask to send the form again: some of it may be recorded, as by an earlier transaction of the same form."""
    response = _page(503)
    response["Retry-After"] = "60"
    if hasattr(request, "session"):
        request.session.modified = False  # such as a login that could not be noted
    request.META["CSRF_COOKIE_NEEDS_UPDATE"] = False
    return response


def _page(status: int) -> HttpResponse:
    return HttpResponse(render_to_string(f"{status}.html"), status=status)
