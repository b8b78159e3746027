"""The states of a coupon on a day: used, void, not yet valid, open, expired; as words, as a rule and as a query."""

from datetime import date, timedelta
from enum import StrEnum

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.rules.records import CouponRow

SOON = timedelta(days=7)
"""Coupons that expire within so many days are shown apart."""


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
    """The state, with open coupons that expire soon told apart: a key of `WORDS`."""
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
