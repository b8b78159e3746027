"""What somebody may see: the people and coupons of their own sites, or of all sites where the table says so."""

from datetime import date, datetime
from typing import cast
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest
from django.utils import timezone

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Site
from peerfront.web.live.rules.actions import Action, is_allowed
from peerfront.web.live.rules.records import CouponRow, PersonRow, StudyRow
from peerfront.web.live.screens.staff_requests import AtWork, StudyNotBegun


def may(request: HttpRequest, action: Action, site: str | None) -> bool:
    """Whether the person who asks may do something at a site."""
    member = cast(AtWork, request).member
    return is_allowed(action, member.role, own_site=member.covers(site))


def only_site(request: HttpRequest, action: Action) -> str | None:
    """The one site that somebody may see; None for all sites."""
    member = cast(AtWork, request).member
    return None if is_allowed(action, member.role, own_site=False) else member.site


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
