"""What every page knows: the study's name, who is logged in, where they work, and which pages they may open."""

from typing import Any

from django.http import HttpRequest

from peerfront.live.records.database import DatabaseRecords
from peerfront.live.records.models import Site
from peerfront.live.screens.access import may_open_as
from peerfront.live.screens.menu import MENU


def study(request: HttpRequest) -> dict[str, Any]:
    member = getattr(request, "member", None)
    row = DatabaseRecords().study()
    page = request.resolver_match.view_name if request.resolver_match else ""
    return {
        "study": row,
        "study_name": row.settings.name if row else "peerfront",
        "member": member,
        "work_site": getattr(request, "work_site", None),
        "sites": list(Site.objects.all()) if member is not None and member.site is None else [],
        "menu": [(name, label, name == page) for name, label in MENU if member and may_open_as(name, member)],
    }
