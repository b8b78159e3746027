"""What every page has: its frame and menu, its language, long lists in pages, and the pages for errors.

Pages for errors (400, 403, 404, 413, 500, 503) say nothing about what was sent, and read nothing from the database,
which may be what went wrong.
"""

import sys
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.paginator import Page, Paginator
from django.db import OperationalError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import check_for_language
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Site
from peerfront.web.live.rules.actions import Member
from peerfront.web.live.screens.staff_requests import may_open_as, safe_next

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
        "menu": [(name, label, name == page) for name, label in MENU if member and may_open_as(name, member)],
    }


def _chooses_site(member: Member) -> bool:
    """Whether somebody says where they work now: with a role for all sites, and work that is done at a site."""
    return member.site is None and any(may_open_as(page, member) for page in ("arrive", "pay"))


def set_language(request: HttpRequest) -> HttpResponse:
    """Show pages in the chosen language from now on, if there is a translation."""
    response = redirect(safe_next(request))
    code = request.POST.get("language", "")
    if request.method == "POST" and code in dict(settings.LANGUAGES) and check_for_language(code):
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME, code, max_age=365 * 24 * 3600, httponly=True, samesite="Lax",
            secure=settings.SESSION_COOKIE_SECURE,
        )  # fmt: skip
    return response


PER_PAGE = 50


@dataclass(frozen=True)
class ListPage:
    """One page of a list, and the addresses of its neighbours."""

    page: Page[Any]
    before: str
    """The address of the page before; empty on the first."""
    after: str

    @property
    def rows(self) -> list[Any]:
        return list(self.page.object_list)

    @property
    def count(self) -> int:
        return self.page.paginator.count


def list_page(request: HttpRequest, rows: QuerySet[Any]) -> ListPage:
    """The page of a list that the address names; the last one if there are fewer."""
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))

    def address(number: int) -> str:
        entries = request.GET.copy()
        entries["page"] = str(number)
        return f"?{entries.urlencode()}"

    before = address(page.previous_page_number()) if page.has_previous() else ""
    return ListPage(page, before, address(page.next_page_number()) if page.has_next() else "")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("400.html", 400)


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("403.html", 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("404.html", 404)


def server_fault(request: HttpRequest) -> HttpResponse:
    """An error of the program, or a database that cannot be written (a full disk, a lost connection)."""
    if isinstance(sys.exc_info()[1], OperationalError):
        response = _page("503.html", 503)
        response["Retry-After"] = "60"
        return response
    return _page("500.html", 500)


def _page(template: str, status: int) -> HttpResponse:
    return HttpResponse(render_to_string(template), status=status)
