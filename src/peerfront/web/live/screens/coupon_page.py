"""The page of one coupon: its life, and what a coordinator can do with it."""

from datetime import timedelta

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.records import CouponRow
from peerfront.web.live.rules.requests import ExtendCoupon, VoidCoupon
from peerfront.web.live.rules.study_settings import LONGEST_TEXT
from peerfront.web.live.screens.coupon_life import events_about, life_of
from peerfront.web.live.screens.coupon_states import TONES, WORDS, CouponState, shown_state, state_of
from peerfront.web.live.screens.form_pages import FormPage, answer_form
from peerfront.web.live.screens.staff_requests import RequestForm
from peerfront.web.live.screens.visibility import coupon_in_sight, may, sites_in_sight, study_or_404, today_of


def why_field() -> forms.CharField:
    """A reason, which is recorded for ever."""
    return forms.CharField(
        label=_("Why"),
        help_text=_("It is kept in the audit. Write no names and no telephone numbers."),
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off"}),
    )


class VoidForm(RequestForm):
    why = why_field()


class ExtendForm(RequestForm):
    last_day = forms.DateField(
        label=_("Valid until"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    why = why_field()


def coupon(request: HttpRequest, code: str) -> HttpResponse:
    """Show one coupon: its state, its days, and what happened to it."""
    row = coupon_in_sight(request, code, Action.SEE_BOARD)
    study = study_or_404()
    today = today_of(study)
    redemption = DatabaseRecords().redemption(row.code)
    sites = sites_in_sight(request, Action.SEE_BOARD)
    state = shown_state(row, redemption is not None, today)
    unused = row.holder is not None and state not in (CouponState.USED, CouponState.VOID)
    used_by = None if redemption is None else DatabaseRecords().person(redemption.person)
    return render(
        request,
        "screens/coupon.html",
        {
            "coupon": row,
            "code": shown_code(row.code),
            "state_words": WORDS[state] if row.holder is not None else gettext("Code of a seed"),
            "tone": TONES[state],
            "site_name": sites.get(row.site, row.site),
            "used_by": used_by,
            "used_by_in_sight": used_by is not None and may(request, Action.SEE_PEOPLE, used_by.site),
            "life": life_of(row, events_about(row), study, today, sites),
            "may_void": unused and may(request, Action.VOID_COUPON, row.site),
            "may_extend": unused and may(request, Action.EXTEND_COUPON, row.site),
        },
    )


def void_coupon(request: HttpRequest, code: str) -> HttpResponse:
    """Make a coupon void: nobody can come with it any more."""
    row = coupon_in_sight(request, code, Action.VOID_COUPON)
    form = VoidForm(request.POST or None)
    page = FormPage(
        title=gettext("Make coupon %(code)s void") % {"code": shown_code(row.code)},
        lead=gettext("Nobody can come with a void coupon. This cannot be undone."),
        button=gettext("Make it void"),
        done=gettext("Coupon %(code)s is void.") % {"code": shown_code(row.code)},
        back=reverse("coupon", args=[row.code]),
        back_label=shown_code(row.code),
        facts=_facts(row),
        danger=True,
    )
    return answer_form(request, form, page, lambda: VoidCoupon(row.code, form.cleaned_data["why"]), site=row.site)


def extend_coupon(request: HttpRequest, code: str) -> HttpResponse:
    """Let a coupon be valid longer, also if it has expired."""
    row = coupon_in_sight(request, code, Action.EXTEND_COUPON)
    today = today_of(study_or_404())
    likely = max(row.last_day, today) + timedelta(days=7)
    form = ExtendForm(request.POST or None, initial={"last_day": likely})
    page = FormPage(
        title=gettext("Extend coupon %(code)s") % {"code": shown_code(row.code)},
        button=gettext("Extend it"),
        done=gettext("Coupon %(code)s is valid longer.") % {"code": shown_code(row.code)},
        back=reverse("coupon", args=[row.code]),
        back_label=shown_code(row.code),
        facts=_facts(row),
    )

    def wish() -> ExtendCoupon:
        return ExtendCoupon(row.code, form.cleaned_data["last_day"], form.cleaned_data["why"])

    return answer_form(request, form, page, wish, site=row.site)


def _facts(row: CouponRow) -> tuple[tuple[str, str], ...]:
    used = DatabaseRecords().redemption(row.code) is not None
    state = state_of(row, used, today_of(study_or_404()))
    return (
        (gettext("State"), str(WORDS[state])),
        (gettext("Handed out to"), row.holder or ""),
        (gettext("Valid from"), row.first_day.isoformat()),
        (gettext("Valid until"), row.last_day.isoformat()),
    )
