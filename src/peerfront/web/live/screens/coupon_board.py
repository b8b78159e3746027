"""The states of a coupon on a day, and the board: every coupon that was handed out, by state, site and code."""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, cast

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.models import HANDED_OUT, Coupon
from peerfront.web.live.records.recruitment import recruitment_now
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.records import CouponRow, StudyRow
from peerfront.web.live.screens.page_frame import like_code, list_filters, list_page, study_or_404, today_of

SOON = timedelta(days=7)
"""Valid coupons that expire within this time are counted separately."""


class CouponState(StrEnum):
    """Every coupon that was handed out is in one state: what a scan of it would find today."""

    VALID = "valid"
    NOT_YET = "not_yet"
    USED = "used"
    EXPIRED = "expired"
    VOID = "void"


EXPIRING = "expiring"
"""Valid coupons that expire soon: a part of the valid ones."""
STATES: dict[str, tuple[Promise | str, str]] = {
    CouponState.VALID: (_("Valid"), "good"),
    EXPIRING: (_("Valid, expires within a week"), "care"),
    CouponState.NOT_YET: (_("Not yet valid"), "plain"),
    CouponState.USED: (_("Used"), "plain"),
    CouponState.EXPIRED: (_("Expired"), "plain"),
    CouponState.VOID: (_("Void"), "bad"),
}
"""Words and colour of each state."""


def state_of(coupon: CouponRow | Coupon, used: bool, today: date) -> CouponState:
    """The state of a coupon on a day."""
    if used:
        return CouponState.USED
    if coupon.voided_at is not None:
        return CouponState.VOID
    if today < coupon.first_day:
        return CouponState.NOT_YET
    return CouponState.VALID if today <= coupon.last_day else CouponState.EXPIRED


def shown_state(coupon: CouponRow | Coupon, used: bool, today: date) -> str:
    """The state, or `EXPIRING` for valid coupons that expire soon: a key of `STATES`."""
    state = state_of(coupon, used, today)
    return EXPIRING if state is CouponState.VALID and coupon.last_day < today + SOON else state.value


def in_state(state: str, today: date) -> Q:
    """The condition of a query for coupons that are in a state of `STATES` on a day."""
    unused = Q(redemption__isnull=True, voided_at__isnull=True)
    valid = unused & Q(first_day__lte=today, last_day__gte=today)
    return {
        CouponState.USED: Q(redemption__isnull=False),
        CouponState.VOID: Q(redemption__isnull=True, voided_at__isnull=False),
        CouponState.NOT_YET: unused & Q(first_day__gt=today),
        CouponState.VALID: valid,
        EXPIRING: valid & Q(last_day__lt=today + SOON),
        CouponState.EXPIRED: unused & Q(first_day__lte=today, last_day__lt=today),
    }[state]


@dataclass(frozen=True)
class ShownCoupon:
    """A coupon in a list."""

    row: Coupon
    words: Promise | str
    tone: str
    used_by: str


def board(request: HttpRequest) -> HttpResponse:
    """Show how many coupons are in each state, and list those that the address asks for."""
    study = study_or_404()
    today = today_of(study)
    context = list_filters(request, Action.SEE_BOARD, "state", STATES)
    coupons = Coupon.objects.filter(HANDED_OUT)
    coupons = coupons if context["site"] is None else coupons.filter(site=context["site"])
    by_site = counts_by_state(study, today)
    counts = by_site.get(context["site"], dict.fromkeys(map(str, STATES), 0))
    number = counts[context["state"]] if context["state"] else sum(counts[state] for state in CouponState)
    if context["state"]:
        coupons = coupons.filter(in_state(context["state"], today))
    if search := context["search"]:
        coupons = coupons.filter(Q(holder_id=search) | like_code(search))
    page = list_page(
        request,
        coupons.order_by("-issued_at", "code"),
        shown=Coupon.objects.select_related("redemption", "site"),
        count=None if search else number,
    )
    context |= {
        "cards": [(state, *STATES[state], counts[state], state == context["state"]) for state in STATES],
        "issued": study.settings.budget - study.kept,
        "kept": study.kept,
        "budget": study.settings.budget,
        "page": page,
        "coupons": [shown_coupon(each, today, context["site_choices"]) for each in page.object_list],
    }
    return render(request, "screens/board.html", context)


def counts_by_state(study: StudyRow, today: date) -> dict[str | None, dict[str, int]]:
    """How many of the coupons that were handed out are in each state, by site and (None) at all sites.

    Most coupons of a large study are used or have expired. Those are not looked at one by one: how many are used or
    void is kept, and what has no other state has expired.
    """
    states = {
        state: Count("pk", filter=in_state(state, today))
        for state in (str(CouponState.VALID), EXPIRING, str(CouponState.NOT_YET))
    }
    counts: dict[str | None, dict[str, int]] = {}
    with recruitment_now(study) as recruitment:
        present = Coupon.objects.filter(HANDED_OUT, voided_at=None, redemption=None, last_day__gte=today)
        days = (
            present.order_by().values("last_day", "first_day", "site").annotate(**states)
        )  # as they stand in an index
        for row in cast(Iterable[dict[str, Any]], days):
            for site in (None, row["site"]):
                own = counts.setdefault(site, dict.fromkeys(map(str, STATES), 0))
                for state in states:
                    own[state] += row[state]
        for site, kept in recruitment.counts.items():
            own = counts.setdefault(site, dict.fromkeys(map(str, STATES), 0))
            own[CouponState.USED], own[CouponState.VOID] = kept.used.total(), kept.void.total()
            own[CouponState.EXPIRED] = kept.unused.total() - own[CouponState.VALID] - own[CouponState.NOT_YET]
    return counts


def shown_coupon(stored: Coupon, today: date, sites: Container[str]) -> ShownCoupon:
    """A stored coupon with its state; who used it is named if they are of one of these sites."""
    redemption = getattr(stored, "redemption", None)
    used_by = "" if redemption is None else str(redemption.person_id)
    if redemption is not None and redemption.site_id not in sites:
        used_by = gettext("somebody at another site")
    return ShownCoupon(stored, *STATES[shown_state(stored, redemption is not None, today)], used_by)
