"""Where somebody works: pages on which something is done need a site."""

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Site
from peerfront.web.live.screens.access import AtWork
from peerfront.web.live.screens.resending import entries_of
from peerfront.web.live.screens.sight import study_or_404

_CHOSEN = "work_at_site"

View = Callable[..., HttpResponse]


def at_a_site(view: View) -> View:
    """Open a page for somebody who has said where they work; ask the others first, and lose nothing they typed."""

    @wraps(view)
    def checked(request: HttpRequest, *arguments: object, **named: object) -> HttpResponse:
        at_work = cast(AtWork, request)
        study_or_404()
        chosen = request.POST.get(_CHOSEN, "")
        if at_work.work_site is None and chosen and Site.objects.filter(site=chosen).exists():
            at_work.work_site = request.session["work_site"] = chosen
        if at_work.work_site is None:
            entries = entries_of(request)
            fields = [each for each in entries.fields if each[0] != _CHOSEN] if entries else []
            context = {"fields": fields, "choice": _CHOSEN, "path": request.get_full_path()}
            return render(request, "screens/choose_site.html", context)
        return view(request, *arguments, **named)

    return checked


def site_name(site: str) -> str:
    """What people call a site."""
    row = DatabaseRecords().site(site)
    return site if row is None else row.name
