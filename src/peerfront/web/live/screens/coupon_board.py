"""The states of a coupon on a day, and the board: every coupon that was handed out, by state, site and code."""

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import row_of
from peerfront.web.live.records.models import Coupon
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.codes import foreign_code, plain_characters, shown_code
from peerfront.web.live.rules.records import CouponRow, StudyRow
from peerfront.web.live.screens.page_frame import (
    day_of,
    list_page,
    only_site,
    site_filter,
    sites_in_sight,
    study_or_404,
    today_of,
)

SOON = timedelta(days=7)
"""Open coupons that expire within this time are counted separately."""


class CouponState(StrEnum):
    """Every coupon that was handed out is in one state."""

    OPEN = "open"
    NOT_YET = "not_yet"
    USED = "used"
    EXPIRED = "expired"
    VOID = "void"


EXPIRING = "expiring"
"""Open coupons that expire soon: a part of the open ones."""
WORDS: dict[str, Promise | str] = {
    CouponState.OPEN: _("Open"),
    EXPIRING: _("Open, expires within a week"),
    CouponState.NOT_YET: _("Not yet valid"),
    CouponState.USED: _("Used"),
    CouponState.EXPIRED: _("Expired"),
    CouponState.VOID: _("Void"),
}
TONES = {
    CouponState.OPEN: "good",
    EXPIRING: "care",
    CouponState.NOT_YET: "plain",
    CouponState.USED: "plain",
    CouponState.EXPIRED: "plain",
    CouponState.VOID: "bad",
}
"""Which colour a state has on a page."""


def state_of(coupon: CouponRow, used: bool, today: date) -> CouponState:
    """The state of a coupon on a day."""
    if used:
        return CouponState.USED
    if coupon.voided_at is not None:
        return CouponState.VOID
    if today < coupon.first_day:
        return CouponState.NOT_YET
    return CouponState.OPEN if today <= coupon.last_day else CouponState.EXPIRED


def shown_state(coupon: CouponRow, used: bool, today: date) -> str:
    """The state, or `EXPIRING` for open coupons that expire soon: a key of `WORDS`."""
    state = state_of(coupon, used, today)
    return EXPIRING if state is CouponState.OPEN and coupon.last_day < today + SOON else state.value


def in_state(state: str, today: date) -> Q:
    """The condition of a query for coupons that are in a state of `WORDS` on a day."""
    unused = Q(redemption__isnull=True, voided_at__isnull=True)
    is_open = unused & Q(first_day__lte=today, last_day__gte=today)
    return {
        CouponState.USED: Q(redemption__isnull=False),
        CouponState.VOID: Q(redemption__isnull=True, voided_at__isnull=False),
        CouponState.NOT_YET: unused & Q(first_day__gt=today),
        CouponState.OPEN: is_open,
        EXPIRING: is_open & Q(last_day__lt=today + SOON),
        CouponState.EXPIRED: unused & Q(first_day__lte=today, last_day__lt=today),
    }[state]


LONGEST_SEARCH = 60


@dataclass(frozen=True)
class ShownCoupon:
    """A line of the board."""

    row: CouponRow
    code: str
    issued: date
    site: str
    state: str
    used_by: str

    @property
    def words(self) -> Promise | str:
        return WORDS[self.state]

    @property
    def tone(self) -> str:
        return TONES[self.state]


@dataclass(frozen=True)
class StateCard:
    """The number of coupons in a state, and whether the page lists them."""

    state: str
    count: int
    is_selected: bool

    @property
    def words(self) -> Promise | str:
        return WORDS[self.state]

    @property
    def tone(self) -> str:
        return TONES[self.state]


def board(request: HttpRequest) -> HttpResponse:
    """Show how many coupons are in each state, and list those that the address asks for."""
    study = study_or_404()
    today = today_of(study)
    site = site_filter(request, Action.SEE_BOARD)
    sites = sites_in_sight(request, Action.SEE_BOARD)
    state = request.GET.get("state", "")
    state = state if state in WORDS else ""
    search = request.GET.get("search", "")[:LONGEST_SEARCH].strip()
    handed_out = Coupon.objects.exclude(holder=None)
    handed_out = handed_out if site is None else handed_out.filter(site=site)
    counts = counts_by_state(handed_out, today)
    coupons = handed_out.filter(in_state(state, today)) if state else handed_out
    coupons = coupons.filter(like_code(search)) if search else coupons
    page = list_page(request, coupons.select_related("redemption").order_by("-issued_at", "code"))
    return render(
        request,
        "screens/board.html",
        {
            "cards": [StateCard(each, counts[each], each == state) for each in WORDS],
            "issued": study.settings.budget - study.kept,
            "kept": study.kept,
            "budget": study.settings.budget,
            "state": state,
            "search": search,
            "site": site,
            "only_site": only_site(request, Action.SEE_BOARD),
            "site_choices": sites,
            "page": page,
            "coupons": [shown_coupon(each, study, sites) for each in page.rows],
        },
    )


def counts_by_state(coupons: QuerySet[Coupon], today: date) -> dict[str, int]:
    """How many coupons are in each state, in one query."""
    return coupons.aggregate(**{state: Count("pk", filter=in_state(state, today)) for state in map(str, WORDS)})


def like_code(search: str) -> Q:
    """Codes that begin as somebody typed, with blanks, hyphens and look-alikes; or those of a holder."""
    own, foreign = plain_characters(search), foreign_code(search)
    condition = Q(holder_id=search)
    condition |= Q(code__startswith=own) if own else Q()
    return condition | Q(code__startswith=foreign) if foreign else condition


def shown_coupon(stored: Coupon, study: StudyRow, sites: dict[str, str]) -> ShownCoupon:
    """A stored coupon as a line of the board."""
    row = row_of(CouponRow, stored)
    redemption = getattr(stored, "redemption", None)
    used_by = "" if redemption is None else str(redemption.person_id)
    if redemption is not None and redemption.site_id not in sites:
        used_by = gettext("somebody at another site")
    state = shown_state(row, redemption is not None, today_of(study))
    issued = day_of(study, row.issued_at)
    return ShownCoupon(row, shown_code(row.code), issued, sites.get(row.site, row.site), state, used_by)
