"""What every page knows: the study's name, who is logged in, where they work, and which pages they may open."""

from typing import Any

from django.http import HttpRequest

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Site
from peerfront.web.live.rules.actions import Member
from peerfront.web.live.screens.menu import MENU
from peerfront.web.live.screens.staff_requests import may_open_as


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
