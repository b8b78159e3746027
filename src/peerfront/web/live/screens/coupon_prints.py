"""Print coupons: on A4, Letter or 62 mm labels, each with its QR code; printing them again is noted for the audit."""

from dataclasses import dataclass
from datetime import timedelta
from typing import cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.deciding import Refused
from peerfront.web.live.rules.events import ActionNoted, CouponsIssued
from peerfront.web.live.rules.records import CouponRow, StudyRow
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.screens.coupon_states import CouponState, state_of
from peerfront.web.live.screens.page_words import found_and_to_do
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, ask_with, at_a_site, site_name
from peerfront.web.live.screens.visibility import person_in_sight, study_or_404, today_of
from peerfront.web.pages.qr import qr_picture

LAYOUTS: dict[str, Promise | str] = {"a4": _("A4 sheet"), "letter": _("Letter sheet"), "label": _("62 mm labels")}
"""Each has its own style sheet, `pages/print_<name>.css`."""
_OPEN_FOR = timedelta(hours=2)


@dataclass(frozen=True)
class PrintedCoupon:
    """What stands on one coupon."""

    row: CouponRow
    shown: str
    picture: str
    site: str


def print_address(person: str, request_key: str) -> str:
    """The page with the coupons that a request handed out, or that it noted to be printed again."""
    return f"{reverse('print_coupons', args=[person])}?{urlencode({'request': request_key})}"


@at_a_site
def print_coupons(request: HttpRequest, person: str) -> HttpResponse:
    """Show coupons to be printed, after they were handed out or after it was noted that they are printed again."""
    row = person_in_sight(request, person, Action.PRINT_COUPONS)
    study = study_or_404()
    held = [each for each in DatabaseRecords().coupons_of(row.person) if _can_be_used(each, study)]
    if request.method == "POST":
        form = RequestForm(request.POST)
        if form.is_valid():
            noted = NoteAction(Action.PRINT_COUPONS, row.person, (("coupons", str(len(held))),))
            answered = ask_with(form, request, noted)
            if not isinstance(answered, Refused):
                return redirect(print_address(row.person, form.cleaned_data["key"]))
            found, to_do = found_and_to_do(answered.refusal)
            form.with_new_key()
            context = {"person": row, "held": held, "form": form, "found": found, "to_do": to_do}
            return render(request, "screens/print_again.html", context)
    key = request.GET.get("request", "")
    codes = _codes_of(request, row.person, key)
    if codes is None:
        return render(request, "screens/print_again.html", {"person": row, "held": held, "form": RequestForm()})
    chosen = request.GET.get("layout", "") or request.session.get("coupon_layout", "")
    layout = chosen if chosen in LAYOUTS else "a4"
    if request.session.get("coupon_layout") != layout:
        request.session["coupon_layout"] = layout
    coupons = [_printed(each) for each in held if not codes or each.code in codes]
    here = print_address(row.person, key)
    context = {
        "person": row,
        "coupons": coupons,
        "layout": layout,
        "style": f"pages/print_{layout}.css",
        "layouts": [(name, label, f"{here}&layout={name}") for name, label in LAYOUTS.items()],
    }
    return render(request, "screens/print_coupons.html", context)


def _can_be_used(coupon: CouponRow, study: StudyRow) -> bool:
    used = DatabaseRecords().redemption(coupon.code) is not None
    return state_of(coupon, used, today_of(study)) in (CouponState.OPEN, CouponState.NOT_YET)


def _codes_of(request: HttpRequest, person: str, key: str) -> frozenset[str] | None:
    """Codes that a recent request of this member handed out; empty for all open ones; None if there was no request."""
    for event in DatabaseRecords().events_of(key) if key else ():
        fact, stamp = event.fact, event.stamp
        if stamp.actor != cast(AtWork, request).member.name or timezone.now() - stamp.server_time > _OPEN_FOR:
            continue
        if isinstance(fact, CouponsIssued) and fact.person == person:
            return frozenset(fact.codes)
        if isinstance(fact, ActionNoted) and fact.action is Action.PRINT_COUPONS and fact.subject == person:
            return frozenset()
    return None


def _printed(coupon: CouponRow) -> PrintedCoupon:
    return PrintedCoupon(coupon, shown_code(coupon.code), qr_picture(coupon.code), site_name(coupon.site))
