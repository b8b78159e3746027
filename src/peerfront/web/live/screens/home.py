"""The first page after logging in: what is next, for each role; and the page by which a monitor sees the server."""

from dataclasses import dataclass
from datetime import datetime, time
from typing import Any, cast

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from peerfront.web.live.operations.backups import listed
from peerfront.web.live.planning.kept_models import live_folder
from peerfront.web.live.records.database import DatabaseRecords, waiting
from peerfront.web.live.records.models import Coupon, Decision, Event, Person, Plan, Site
from peerfront.web.live.records.models import Member as StoredMember
from peerfront.web.live.rules.actions import Member, Role
from peerfront.web.live.rules.records import PlanStatus, StudyRow
from peerfront.web.live.screens.arrival import ScanForm
from peerfront.web.live.screens.coupon_board import EXPIRING, in_state
from peerfront.web.live.screens.page_frame import today_of
from peerfront.web.live.screens.payments import LookUpForm, OwedPayments
from peerfront.web.live.screens.staff_requests import AtWork, may_open_as

MOST_LISTED = 20


@dataclass(frozen=True)
class Figure:
    """A number of the first page with what it counts, and the page that tells more."""

    number: int | str
    words: Promise | str
    address: str | None
    urgent: bool = False


def home(request: HttpRequest) -> HttpResponse:
    """What is next for the person who is logged in."""
    at_work = cast(AtWork, request)
    member, study = at_work.member, DatabaseRecords().study()
    context: dict[str, Any] = {"first_steps": _first_steps(study, member.role)}
    if study is not None and not context["first_steps"]:
        site = member.site or at_work.work_site
        match member.role:
            case Role.INTERVIEWER:
                context |= {"form": ScanForm()} | _interviewer(study, site)
            case Role.CASHIER:
                context |= _cashier(study, site)
            case Role.COORDINATOR:
                context |= {"form": ScanForm(), "figures": _coordinator(study, member.site)} | _interviewer(study, site)
            case Role.ANALYST:
                context["links"] = _links(member, "progress", "estimates", "people", "plan", "export")
            case Role.MANAGER:
                context["figures"] = _manager() if member.covers(None) else []
                context["links"] = _links(member, "users", "sites", "settings", "backups", "verify", "audit")
    return render(request, "screens/home.html", context)


def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the database answers, and say nothing about the study."""
    Event.objects.order_by("-number").values_list("number").first()
    return JsonResponse({"status": "ok"})


PAGE_WORDS: dict[str, Promise | str] = {
    "progress": _("How far the study is"),
    "estimates": _("What the sample says about the population"),
    "people": _("People and their trees"),
    "plan": _("The plan of this round"),
    "export": _("Download the data, without contact details"),
    "users": _("Users and their roles"),
    "sites": _("Sites"),
    "settings": _("Settings of the study"),
    "backups": _("Back-ups"),
    "verify": _("Check that the records are whole"),
    "audit": _("Who did what"),
}


def _links(member: Member, *pages: str) -> list[tuple[str, Promise | str]]:
    return [(reverse(page), PAGE_WORDS[page]) for page in pages if may_open_as(page, member)]


def _first_steps(study: StudyRow | None, role: Role) -> list[tuple[Promise | str, str | None, bool]]:
    """What is to be done before anybody can be enrolled: words, page, whether it is done; nothing once it is."""
    begun, has_sites = study is not None, Site.objects.exists()
    if begun and has_sites:
        return []
    steps = [
        (_("Say what the study is like: name, budget, questions, payments."), "settings", True, begun),
        (_("Add the sites where people come."), "sites", begun, has_sites),
        (_("Add those who work for the study, each with a role."), "users", has_sites, False),
    ]
    manager = role is Role.MANAGER
    return [(words, reverse(page) if manager and shown else None, done) for words, page, shown, done in steps]


def _start_of_today() -> datetime:
    return timezone.make_aware(datetime.combine(timezone.localdate(), time.min))


def _here(people: QuerySet[Person], site: str | None) -> QuerySet[Person]:
    """People who take part, at one site or (None) at all."""
    people = people.filter(withdrawn_at__isnull=True)
    return people if site is None else people.filter(site=site)


def _without_coupons(study: StudyRow, site: str | None) -> QuerySet[Person]:
    """People who answered and have no decision in this round."""
    decided = Decision.objects.filter(person=OuterRef("pk"), round=study.rounds)
    return _here(Person.objects.filter(answers__isnull=False), site).exclude(Exists(decided))


def _interviewer(study: StudyRow, site: str | None) -> dict[str, Any]:
    unanswered = _here(Person.objects.filter(answers__isnull=True), site).order_by("-enrolled_at")
    today = _without_coupons(study, site).filter(enrolled_at__gte=_start_of_today()).order_by("-enrolled_at")
    return {"unanswered": list(unanswered[:MOST_LISTED]), "without_coupons": list(today[:MOST_LISTED])}


def _cashier(study: StudyRow, site: str | None) -> dict[str, Any]:
    owed = OwedPayments(study.settings, site)
    return {"owed": owed.newest(MOST_LISTED), "n_owed": owed.count(), "look_up": LookUpForm()}


def _coordinator(study: StudyRow, site: str | None) -> list[Figure]:
    today = today_of(study)
    proposed = Plan.objects.filter(status=PlanStatus.PROPOSED.value).count()
    here = {} if site is None else {"site": site}
    expiring = Coupon.objects.filter(in_state(EXPIRING, today), holder__isnull=False, **here).count()
    never = waiting(study.settings).filter(**here).count()
    return [
        Figure(
            proposed, ngettext("plan waits for approval", "plans wait for approval", proposed), reverse("plan"),
            urgent=proposed > 0,
        ),
        Figure(
            never, ngettext("person waits for coupons", "people wait for coupons", never),
            f"{reverse('people')}?show=waiting",
        ),
        Figure(
            expiring, ngettext("open coupon expires within a week", "open coupons expire within a week", expiring),
            f"{reverse('board')}?state={EXPIRING}",
        ),
        Figure(
            study.kept, ngettext("coupon of the budget is left", "coupons of the budget are left", study.kept),
            reverse("progress"), urgent=study.kept == 0,
        ),
    ]  # fmt: skip


def _manager() -> list[Figure]:
    never = StoredMember.objects.filter(user__is_active=True, user__last_login__isnull=True).count()
    words = ngettext("user has never logged in", "users have never logged in", never)
    last = max((each.created_at for each in listed(live_folder())), default=None)
    backup = Figure(0, _("back-ups were made"), reverse("backups"), urgent=True)
    if last is not None:
        day = date_format(timezone.localtime(last), "SHORT_DATE_FORMAT")
        backup = Figure(day, _("was the last back-up"), reverse("backups"))
    return [Figure(never, words, reverse("users")), backup]
