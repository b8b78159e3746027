"""The first page after logging in: what is next, for each role; and the page by which a monitor sees the server."""

from datetime import datetime, time
from typing import Any, cast

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone

from peerfront.web.live.operations.backups import listed
from peerfront.web.live.planning.kept_models import live_folder
from peerfront.web.live.records.database import DatabaseRecords, waiting, without_coupons
from peerfront.web.live.records.models import Coupon, Event, Person, Plan, Site
from peerfront.web.live.records.models import Member as StoredMember
from peerfront.web.live.rules.records import PlanStatus, StudyRow
from peerfront.web.live.screens.arrival import ScanForm
from peerfront.web.live.screens.coupon_board import EXPIRING, in_state
from peerfront.web.live.screens.page_frame import today_of
from peerfront.web.live.screens.payments import LookUpForm, OwedPayments
from peerfront.web.live.screens.staff_requests import PAGES, AtWork, may_open

MOST_LISTED = 20


def home(request: HttpRequest) -> HttpResponse:
    """What is next for the person who is logged in."""
    at_work = cast(AtWork, request)
    member, study = at_work.member, DatabaseRecords().study()
    has_sites = Site.objects.exists()
    context: dict[str, Any] = {"has_sites": has_sites, "is_ready": study is not None and has_sites}
    if study is not None and has_sites:
        site = member.site or at_work.work_site
        if may_open("arrive", member):
            context |= _interviewer(study, site)
        if may_open("pay", member):
            owed = OwedPayments(study.settings, site)
            context |= {"owed": owed.newest(MOST_LISTED), "n_owed": owed.count(), "look_up": LookUpForm()}
        if may_open("add_seed", member):
            context |= _coordinator(study, member.site)
        if may_open("backups", member):
            never = StoredMember.objects.filter(user__is_active=True, user__last_login__isnull=True).count()
            context |= {"never_logged_in": never, "backups": listed(live_folder())}
    context["may_open"] = {page for page in PAGES if may_open(page, member)}
    context["at_counter"] = not context["may_open"].isdisjoint(("arrive", "pay"))
    return render(request, "screens/home.html", context)


def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the database answers, and say nothing about the study."""
    Event.objects.order_by("-number").values_list("number").first()
    return JsonResponse({"status": "ok"})


def _here(people: QuerySet[Person], site: str | None) -> QuerySet[Person]:
    """People who take part, at one site or (None) at all."""
    people = people.filter(withdrawn_at__isnull=True)
    return people if site is None else people.filter(site=site)


def _interviewer(study: StudyRow, site: str | None) -> dict[str, Any]:
    """The newest people whose answers are missing, and those who came today and have no coupons yet."""
    unanswered = _here(Person.objects.filter(answers__isnull=True), site)
    today = timezone.make_aware(datetime.combine(timezone.localdate(), time.min))
    came = _here(without_coupons(study).filter(enrolled_at__gte=today), site)
    return {
        "form": ScanForm(),
        "unanswered": unanswered.order_by("-enrolled_at")[:MOST_LISTED],
        "without_coupons": came.order_by("-enrolled_at")[:MOST_LISTED],
    }


def _coordinator(study: StudyRow, site: str | None) -> dict[str, Any]:
    here = {} if site is None else {"site": site}
    expiring = Coupon.objects.filter(in_state(EXPIRING, today_of(study)), holder__isnull=False, **here)
    return {
        "proposed": Plan.objects.filter(status=PlanStatus.PROPOSED.value).count(),
        "waiting": waiting(study.settings).filter(**here).count(),
        "expiring": expiring.count(),
        "coordinates": True,
    }
