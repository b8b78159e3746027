"""The page of one coupon: its life in time order, and what a coordinator can do with it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

from django import forms
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords, link_of
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.chain import kind_name
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.events import (
    ClockAccepted,
    CouponExtended,
    CouponScanned,
    CouponsIssued,
    CouponVoided,
    Event,
    Fact,
    PaymentMade,
    PersonEnrolled,
    PersonImported,
    RequestRefused,
    SeedAdded,
)
from peerfront.web.live.rules.records import CouponRow, StudyRow
from peerfront.web.live.rules.requests import ExtendCoupon, VoidCoupon
from peerfront.web.live.screens.audit import sentence
from peerfront.web.live.screens.coupon_board import STATES, CouponState, shown_state, state_of
from peerfront.web.live.screens.form_pages import PageForm, why_field
from peerfront.web.live.screens.page_frame import (
    coupon_in_sight,
    may,
    sites_in_sight,
    study_or_404,
    time_text,
    today_of,
)
from peerfront.web.live.screens.page_words import details, reason_lines

_KINDS = (CouponsIssued, CouponScanned, PersonEnrolled, PersonImported, SeedAdded, CouponVoided, CouponExtended,
          PaymentMade, RequestRefused)  # fmt: skip
_TONES: dict[type[Fact], str] = {
    CouponsIssued: "good", PersonEnrolled: "good", SeedAdded: "good", CouponExtended: "care", CouponVoided: "bad",
    RequestRefused: "bad",
}  # fmt: skip
_MOST_SHOWN = 200


@dataclass(frozen=True)
class Moment:
    """Something that happened to a coupon."""

    at: datetime
    when: str
    what: str
    who: str = ""
    site: str = ""
    lines: tuple[str, ...] = field(default=())
    """More about it."""
    tone: str = "plain"


def events_about(coupon: CouponRow) -> list[Event]:
    """What was recorded about a coupon, the newest of very many, in time order.

    Texts of events are searched only where nothing else says at what time, or by which request, they were recorded.
    """
    used = models.Redemption.objects.filter(pk=coupon.code).select_related("person").first()
    times = {coupon.issued_at, *models.Payment.objects.filter(coupon=coupon.code).values_list("at", flat=True)}
    times |= {at for at in (coupon.voided_at, None if used is None else used.at) if at is not None}
    scanned = Q(kind=kind_name(CouponScanned))
    if not models.Event.objects.filter(kind=kind_name(ClockAccepted)).exists():  # otherwise times may have gone back
        scanned &= Q(at__gte=coupon.issued_at)
        if used is not None:
            scanned &= Q(at__lte=used.at)
    refused = models.Refusal.objects.filter(code=coupon.code).order_by("-at")[:_MOST_SHOWN]
    where = [
        Q(at__in=times),
        scanned,
        Q(kind=kind_name(CouponExtended)),
        Q(request_key__in=[each.request_key for each in refused]),
    ]
    if coupon.imported or (used is not None and used.person.imported):
        where.append(Q(kind=kind_name(PersonImported)))
    written = json.dumps(coupon.code, ensure_ascii=False)
    about = {
        each.number: each
        for condition in where
        for each in models.Event.objects.filter(condition, data__contains=written).order_by("-number")[:_MOST_SHOWN]
    }
    newest = sorted(about, reverse=True)[:_MOST_SHOWN]
    return [event for number in reversed(newest) if isinstance((event := link_of(about[number]).event).fact, _KINDS)]


def life_of(
    coupon: CouponRow, events: Iterable[Event], study: StudyRow, today: date, sites: dict[str, str]
) -> list[Moment]:
    """The life of a coupon; `sites` are names of the sites in sight. What staff did at other sites is left out."""
    moments = []
    for event in events:
        fact, stamp = event.fact, event.stamp
        if not _concerns(fact, coupon.code):
            continue
        # An import is done for the whole study; the person is of one site.
        site = fact.site if isinstance(fact, PersonImported) else stamp.site or ""
        what, who = sentence(event), stamp.actor
        lines = (*reason_lines(fact), *details(fact)) if isinstance(fact, CouponsIssued) else ()
        if site and site not in sites:
            what, who = what if isinstance(fact, CouponsIssued) else _elsewhere(event), ""
        tone = _TONES.get(type(fact), "plain")
        when = time_text(study, stamp.server_time)
        moments.append(Moment(stamp.server_time, when, what, who, sites.get(site, ""), lines, tone))
    return sorted(moments + _days(coupon, study, today), key=lambda moment: moment.at)


def _concerns(fact: Fact, code: str) -> bool:
    if isinstance(fact, PersonImported):
        return code == fact.code or any(each.code == code for each in fact.coupons)
    return code == getattr(fact, "code", "") or code in getattr(fact, "codes", ())


def _elsewhere(event: Event) -> str:
    if isinstance(event.fact, PersonEnrolled | PersonImported):
        return gettext("Used: somebody was enrolled with it at another site.")
    if isinstance(event.fact, PaymentMade):
        return gettext("A payment was made at another site.")
    return gettext("Shown at another site.")


def _days(coupon: CouponRow, study: StudyRow, today: date) -> list[Moment]:
    """The days on which a coupon became valid and expired, if they have come."""
    zone = ZoneInfo(study.settings.timezone)
    if coupon.holder is None or coupon.voided_at is not None:
        return []
    moments = []
    if coupon.first_day <= today:
        begin = max(datetime.combine(coupon.first_day, time.min, zone), coupon.issued_at + timedelta(microseconds=1))
        moments.append(Moment(begin, coupon.first_day.isoformat(), gettext("Valid from this day on.")))
    if coupon.last_day < today:
        end = datetime.combine(coupon.last_day, time.max, zone)
        moments.append(Moment(end, coupon.last_day.isoformat(), gettext("The last day on which it was valid.")))
    return moments


def coupon(request: HttpRequest, code: str) -> HttpResponse:
    """Show one coupon: its state, its days, and what happened to it."""
    row = coupon_in_sight(request, code, Action.SEE_BOARD)
    study = study_or_404()
    today = today_of(study)
    redemption = DatabaseRecords().redemption(row.code)
    sites = sites_in_sight(request, Action.SEE_BOARD)
    state = shown_state(row, redemption is not None, today)
    words, tone = STATES[state]
    unused = row.holder is not None and state not in (CouponState.USED, CouponState.VOID)
    used_by = None if redemption is None else DatabaseRecords().person(redemption.person)
    context = {
        "coupon": row,
        "state_words": words if row.holder is not None else gettext("Code of a seed"),
        "tone": tone,
        "site_name": sites.get(row.site, row.site),
        "used_by": used_by,
        "used_by_in_sight": used_by is not None and may(request, Action.SEE_PEOPLE, used_by.site),
        "life": life_of(row, events_about(row), study, today, sites),
        "may_void": unused and may(request, Action.VOID_COUPON, row.site),
        "may_extend": unused and may(request, Action.EXTEND_COUPON, row.site),
    }
    return render(request, "screens/coupon.html", context)


class CouponForm(PageForm):
    """A form for one coupon, which leads back to its page."""

    action: ClassVar[Action]
    back_label = "%(code)s"

    def __init__(self, request: HttpRequest, code: str) -> None:
        super().__init__(request)
        self.coupon = coupon_in_sight(request, code, self.action)
        self.site, self.names = self.coupon.site, {"code": shown_code(code)}
        self.back = reverse("coupon", args=[code])

    def facts(self) -> list[tuple[str, object]]:
        used = DatabaseRecords().redemption(self.coupon.code) is not None
        return [
            (gettext("State"), STATES[state_of(self.coupon, used, today_of(study_or_404()))][0]),
            (gettext("Handed out to"), self.coupon.holder or ""),
            (gettext("Valid from"), self.coupon.first_day.isoformat()),
            (gettext("Valid until"), self.coupon.last_day.isoformat()),
        ]


class VoidForm(CouponForm):
    """Make a coupon void: nobody can come with it any more."""

    action = Action.VOID_COUPON
    title = _("Make coupon %(code)s void")
    lead = _("Nobody can come with a void coupon. This cannot be undone.")
    button = _("Make it void")
    done = _("Coupon %(code)s is void.")
    danger = True

    why = why_field()

    def wish(self) -> VoidCoupon:
        return VoidCoupon(self.coupon.code, self.cleaned_data["why"])


class ExtendForm(CouponForm):
    """Let a coupon be valid longer, also if it has expired."""

    action = Action.EXTEND_COUPON
    title = _("Extend coupon %(code)s")
    button = _("Extend it")
    done = _("Coupon %(code)s is valid longer.")

    last_day = forms.DateField(
        label=_("Valid until"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    why = why_field()

    def __init__(self, request: HttpRequest, code: str) -> None:
        super().__init__(request, code)
        self.initial["last_day"] = max(self.coupon.last_day, today_of(study_or_404())) + timedelta(days=7)

    def wish(self) -> ExtendCoupon:
        return ExtendCoupon(self.coupon.code, self.cleaned_data["last_day"], self.cleaned_data["why"])
