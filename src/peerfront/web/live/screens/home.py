"""The first page after logging in: today, and what is next, for each role; and the page by which a monitor sees us."""

import math
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from enum import StrEnum
from threading import Lock
from typing import Any, TypeVar, cast
from uuid import uuid4

import numpy as np
from django.contrib.sessions.models import Session
from django.db import DatabaseError, OperationalError, transaction
from django.db.models import Model, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone

from peerfront.web.live.operations import import_jobs
from peerfront.web.live.operations.backups import listed
from peerfront.web.live.planning.kept_models import live_folder
from peerfront.web.live.records.database import (
    DatabaseRecords,
    is_busy,
    link_of,
    short_wait,
    waiting,
    without_coupons,
)
from peerfront.web.live.records.models import Coupon, Event, Payment, Person, Plan, Redemption, Site
from peerfront.web.live.records.models import Member as StoredMember
from peerfront.web.live.rules.events import CouponScanned, PaymentKind
from peerfront.web.live.rules.records import PlanStatus, StudyRow
from peerfront.web.live.screens.arrival import ScanForm
from peerfront.web.live.screens.coupon_board import EXPIRING, in_state
from peerfront.web.live.screens.page_frame import today_of
from peerfront.web.live.screens.payments import LookUpForm, OwedPayments
from peerfront.web.live.screens.progress_page import newest_outlook
from peerfront.web.live.screens.staff_requests import PAGES, AtWork, may_open

MOST_LISTED = 20
M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Here:
    """Somebody who is not finished, and what is next."""

    name: str
    """The pseudonym; before they are enrolled, the coupon."""
    since: datetime
    step: str
    """The page of the next step."""
    amount: int = 0
    """What is owed, if they are to be paid."""


def home(request: HttpRequest) -> HttpResponse:
    """What is next for the person who is logged in."""
    at_work = cast(AtWork, request)
    member, study = at_work.member, DatabaseRecords().study()
    has_sites = Site.objects.exists()
    may = {page for page in PAGES if may_open(page, member)}
    context: dict[str, Any] = {"has_sites": has_sites, "is_ready": study is not None and has_sites, "may_open": may}
    if study is not None and has_sites:
        site = member.site or at_work.work_site
        came = _day_start(timezone.localdate())
        here: dict[str, Here] = {}
        if "arrive" in may:
            here |= {each.name: each for each in _at_the_counter(study, site, came)}
            context |= {"form": ScanForm(), **_enrolled(study, member.site)}
        if "pay" in may:
            owed = OwedPayments(study.settings, site)
            for due in owed.newest(2 * MOST_LISTED):  # of both kinds
                if due.kind is PaymentKind.INTERVIEW and due.since is not None and due.since >= came:
                    here.setdefault(due.person, Here(due.person, due.since, "pay", due.amount))
            paid = _at(Payment.objects.filter(at__gte=came), site).aggregate(paid=Sum("amount"))["paid"]
            context |= {"look_up": LookUpForm(), "owed": owed.total(), "paid": paid or 0}
        if "add_seed" in may:
            context |= _coordinator(study, member.site)
        if "backups" in may:
            never = StoredMember.objects.filter(user__is_active=True, user__last_login__isnull=True).count()
            context |= {"never_logged_in": never, "backups": listed(live_folder())}
        context |= {"here": sorted(here.values(), key=lambda each: each.since, reverse=True), "today": came}
    context["at_counter"] = not may.isdisjoint(("arrive", "pay"))
    return render(request, "screens/home.html", context)


LEAST_FREE = 50_000_000
"""Bytes on the disk of the study's folder with which something can still be recorded for a while."""
LONGEST_BUSY = import_jobs.LONGEST
"""Seconds for which somebody else may write, as a large import does, before this is taken for a fault."""
_BYTES_WRITTEN = 100_000
_LOOKED_FOR = 10.0
"""Seconds for which the answer holds, so that nobody makes the server write or wait by asking."""
_PATIENCE = 1_000
"""Milliseconds to wait for others who write."""
_looking = Lock()


class Health(StrEnum):
    """Whether something can be recorded."""

    OK = "ok"
    BUSY = "busy"
    """Nothing is wrong, but somebody else is writing, and everybody waits."""
    BROKEN = "cannot write"


@dataclass
class _Look:
    """What was found when the server last looked, and since when it has found others writing each time."""

    at: float = -math.inf
    health: Health = Health.OK
    busy_since: float | None = None

    def again(self) -> None:
        health, now = _health(), time.monotonic()
        self.busy_since = (self.busy_since or now) if health is Health.BUSY else None
        is_stuck = self.busy_since is not None and now - self.busy_since >= LONGEST_BUSY
        self.at, self.health = now, Health.BROKEN if is_stuck else health


_last_look = _Look()


def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if something can be recorded or others write, 503 for a full or read-only disk; no word of a study."""
    if time.monotonic() - _last_look.at >= _LOOKED_FOR and _looking.acquire(blocking=False):
        try:
            _last_look.again()
        finally:
            _looking.release()
    health = _last_look.health
    return JsonResponse({"status": health.value}, status=503 if health is Health.BROKEN else 200)


def _health() -> Health:
    """Whether the folder's disk takes a file, and the database a row (which go again)."""
    folder = live_folder().path
    try:
        if shutil.disk_usage(folder).free < LEAST_FREE:
            return Health.BROKEN
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x" * _BYTES_WRITTEN)
        with short_wait(_PATIENCE), transaction.atomic():
            # It has ended when it is written, so that no browser can use it.
            row = Session.objects.create(
                session_key=uuid4().hex, session_data="x" * _BYTES_WRITTEN, expire_date=timezone.now()
            )
            row.delete()
    except OperationalError as problem:
        return Health.BUSY if is_busy(problem) else Health.BROKEN
    except (OSError, DatabaseError):
        return Health.BROKEN
    return Health.OK


def _day_start(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time_of_day.min))


def _at(rows: QuerySet[M], site: str | None) -> QuerySet[M]:
    """Rows of one site or (None) of all."""
    return rows if site is None else rows.filter(site=site)


def _at_the_counter(study: StudyRow, site: str | None, came: datetime) -> Iterator[Here]:
    """Who came today and was not enrolled or got no coupons, and whoever's answers are missing."""
    scanned = _at(Event.objects.filter(kind="coupon_scanned", at__gte=came), site).order_by("-at", "-number")
    facts = [(link_of(event).event.fact, event.at) for event in reversed(scanned[:MOST_LISTED])]
    shown = {fact.code: at for fact, at in facts if isinstance(fact, CouponScanned)}
    used = set(Redemption.objects.filter(coupon__in=shown).values_list("coupon_id", flat=True))
    for code, at in shown.items():
        if code not in used:
            yield Here(code, at, "enrol")
    unanswered = Person.objects.filter(answers__isnull=True, withdrawn_at__isnull=True)
    without = without_coupons(study).filter(enrolled_at__gte=came)
    for step, people in (("answers", unanswered), ("hand_out", without)):
        newest = _at(people, site).order_by("-enrolled_at")[:MOST_LISTED]
        for person, at in newest.values_list("person", "enrolled_at"):
            yield Here(person, at, step)


def _enrolled(study: StudyRow, site: str | None) -> dict[str, Any]:
    """How many were enrolled today and this week; and in the whole study, what was expected of this week."""
    today = timezone.localdate()
    monday = today - timedelta(days=today.weekday())
    people = _at(Person.objects.all(), site)
    before = people.filter(enrolled_at__lt=_day_start(monday)).count()
    is_whole = site is None or Site.objects.count() == 1
    return {
        "enrolled_today": people.filter(enrolled_at__gte=_day_start(today)).count(),
        "enrolled_this_week": people.count() - before,
        **(_expected(study, monday, before) if is_whole else {}),
    }


def _expected(study: StudyRow, monday: date, before: int) -> dict[str, int]:
    """People whom the newest forecast expects this week; without one, those whom the target needs in each week."""
    _, forecast = newest_outlook(study)
    people = {each.x.toordinal(): each.y for each in forecast if isinstance(each.x, date)}
    end = (monday + timedelta(days=7)).toordinal()
    if people and min(people) <= end <= max(people):
        return {"expected": max(0, round(float(np.interp(end, list(people), list(people.values()))) - before))}
    target, deadline = study.settings.target, study.settings.deadline
    if target is None or deadline is None or deadline < monday:
        return {}
    return {"needed": max(0, math.ceil((target - before) * 7 / ((deadline - monday).days + 1)))}


def _coordinator(study: StudyRow, site: str | None) -> dict[str, Any]:
    expiring = _at(Coupon.objects.filter(in_state(EXPIRING, today_of(study)), holder__isnull=False), site)
    return {
        "proposed": Plan.objects.filter(status=PlanStatus.PROPOSED.value).count(),
        "waiting": _at(waiting(study.settings), site).count(),
        "expiring": expiring.count(),
        "coordinates": True,
    }
