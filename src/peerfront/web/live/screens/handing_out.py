"""Hand out coupons: how many a person gets, why, and by whom it was decided; fewer with a reason; and print them.

They are printed on A4, Letter or 62 mm labels, each with its QR code; printing them again is noted for the audit.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.conf import settings as django_settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.events import ActionNoted, CouponsIssued
from peerfront.web.live.rules.records import CouponRow, PersonRow, StudyRow
from peerfront.web.live.rules.refusals import Reason, Refusal
from peerfront.web.live.rules.requests import IssueCoupons, NoteAction, PlanForOne
from peerfront.web.live.rules.study_settings import LARGEST_CAP, LONGEST_TEXT
from peerfront.web.live.screens.coupon_board import CouponState, state_of
from peerfront.web.live.screens.coupon_text import LAYOUTS, shown_text
from peerfront.web.live.screens.form_pages import would_answer
from peerfront.web.live.screens.page_frame import may, person_in_sight, study_or_404, today_of
from peerfront.web.live.screens.page_words import refusal_words, spoken_words
from peerfront.web.live.screens.payments import bill_of
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, at_a_site, new_key, site_name

_OPEN_FOR = timedelta(hours=2)


def print_address(person: str, request_key: str, **wanted: str) -> str:
    """The page with the coupons that a request handed out, or that it noted to be printed again.

    With `now` the browser's print dialog opens by itself.
    """
    return f"{reverse('print_coupons', args=[person])}?{urlencode({'request': request_key} | wanted)}"


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
            answered = form.ask(request, noted)
            if not isinstance(answered, Refused):
                return redirect(print_address(row.person, form.cleaned_data["key"], now="yes"))
            context = {"person": row, "held": held, "form": form.with_new_key()} | refusal_words(answered.refusal)
            return render(request, "screens/print_again.html", context)
    key = request.GET.get("request", "")
    codes = _codes_of(request, row.person, key)
    if codes is None:
        return render(request, "screens/print_again.html", {"person": row, "held": held, "form": RequestForm()})
    wanted = request.GET.get("layout", "") or request.session.get("coupon_layout", "")
    layout = wanted if wanted in LAYOUTS else "a4"
    if request.session.get("coupon_layout") != layout:
        request.session["coupon_layout"] = layout
    coupons = [(each, site_name(each.site)) for each in held if not codes or each.code in codes]
    context = {
        "person": row,
        "coupons": coupons,
        "layout": layout,
        "style": f"pages/print_{layout}.css",
        "layouts": [(name, label, print_address(row.person, key, layout=name)) for name, label in LAYOUTS.items()],
        "languages": _languages(study, row.person, key),
        **shown_text(study.settings, request.GET.get("language", "")),
        "now": "now" in request.GET,
        "bill": bill_of(study, row.person),
        "may_pay": may(request, Action.PAY, row.site),
    }
    return render(request, "screens/print_coupons.html", context)


def _languages(study: StudyRow, person: str, key: str) -> list[tuple[str, str, str]]:
    """Languages in which coupons have a text: code, name, and the address of the page with it."""
    names = {"": gettext("All languages")} | dict(django_settings.LANGUAGES)
    codes = [each.language for each in study.settings.coupon_texts]
    return [(code, names.get(code, code), print_address(person, key, language=code)) for code in codes]


def _can_be_used(coupon: CouponRow, study: StudyRow) -> bool:
    used = DatabaseRecords().redemption(coupon.code) is not None
    return state_of(coupon, used, today_of(study)) in (CouponState.VALID, CouponState.NOT_YET)


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


class HandOutForm(RequestForm):
    """The number that the page showed; sent as it is, or fewer with a reason."""

    decided = forms.IntegerField(min_value=0, max_value=LARGEST_CAP, widget=forms.HiddenInput)
    coupons = forms.IntegerField(min_value=0, max_value=LARGEST_CAP, label=_("Number of coupons"), required=False)
    why_fewer = forms.CharField(label=_("Why fewer"), max_length=LONGEST_TEXT, required=False)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        fewer = cleaned.get("coupons")
        if fewer is not None and fewer < cleaned.get("decided", 0) and not cleaned.get("why_fewer"):
            self.add_error("why_fewer", _("Write in a few words why."))
        return cleaned

    @property
    def number(self) -> int:
        """How many are handed out."""
        fewer: int | None = self.cleaned_data["coupons"]
        decided: int = self.cleaned_data["decided"]
        return decided if fewer is None else fewer


@dataclass(frozen=True)
class Preview:
    """What the rules would do for a person now."""

    issued: CouponsIssued | None
    """The decision with its reasons; None if there is none."""
    refusal: Refusal | None
    """Why the number that was decided cannot be handed out."""

    @property
    def most(self) -> int:
        """The largest number that can be handed out now."""
        if self.issued is None:
            return 0
        if self.refusal is None:
            return self.issued.decided
        arguments = dict(self.refusal.arguments)
        if self.refusal.reason is Reason.OVER_BUDGET:
            return max(0, int(arguments["free"]))
        if self.refusal.reason is Reason.OVER_CAP:
            return max(0, int(arguments["cap"]) - (int(arguments["coupons"]) - self.issued.decided))
        return 0

    @property
    def fewer(self) -> list[int]:
        """Smaller numbers that can be handed out with a reason, largest first."""
        decided = self.issued.decided if self.issued else 0
        return list(range(min(self.most, decided - 1), -1, -1))


@at_a_site
def hand_out(request: HttpRequest, person: str) -> HttpResponse:
    """Show how many coupons a person gets and why; hand them out, once in a round."""
    row = person_in_sight(request, person, Action.ISSUE_COUPONS)
    study = study_or_404()
    for_one = _plan_for_one(study, row)
    if request.method != "POST":
        return _page(request, row, _preview(request, person, for_one))
    form = HandOutForm(request.POST)
    if not form.is_valid():
        return _page(request, row, _preview(request, person, for_one), form)
    wish = IssueCoupons(person, form.number, form.cleaned_data["why_fewer"], for_one)
    answered = form.ask(request, wish)
    if isinstance(answered, Refused):
        seen = _preview(request, person, for_one)
        form.with_new_key()
        return _page(request, row, seen, form, refusal=answered.refusal)
    issued = answered.events[0].fact
    assert isinstance(issued, CouponsIssued)
    if not issued.codes:
        messages.success(request, gettext("It is recorded that %(person)s gets no coupons.") % {"person": person})
        return redirect("home")
    words = ngettext("%(person)s gets %(number)d coupon.", "%(person)s gets %(number)d coupons.", len(issued.codes))
    messages.success(request, words % {"person": person, "number": len(issued.codes)})
    return redirect(print_address(person, form.cleaned_data["key"], now="yes"))


def _plan_for_one(study: StudyRow, person: PersonRow) -> PlanForOne | None:
    """The number for somebody who came after the approved plan; made before the transaction, which must be short."""
    records = DatabaseRecords()
    if (
        study.approved_plan is None
        or person.answers is None
        or records.plan_line(study.approved_plan, person.person) is not None
        or records.override(study.rounds, person.person) is not None
        or records.decision(study.rounds, person.person) is not None
    ):
        return None
    from peerfront.web.live.planning.arrival_plans import plan_for_one  # heavy: only for those who need it

    return plan_for_one(person.person)


def _preview(request: HttpRequest, person: str, for_one: PlanForOne | None) -> Preview:
    whole = would_answer(request, IssueCoupons(person, plan_for_one=for_one))
    if isinstance(whole, Accepted):
        fact = whole.events[0].fact
        assert isinstance(fact, CouponsIssued)
        return Preview(fact, None)
    # None at all is within every budget and cap, so this tells whether a number was decided.
    none = would_answer(request, IssueCoupons(person, 0, "-", for_one))
    decided = none.events[0].fact if isinstance(none, Accepted) else None
    return Preview(decided if isinstance(decided, CouponsIssued) else None, whole.refusal)


def _page(
    request: HttpRequest, row: PersonRow, seen: Preview, form: HandOutForm | None = None,
    refusal: Refusal | None = None,
) -> HttpResponse:  # fmt: skip
    decided = seen.issued.decided if seen.issued else None
    shown_before = form.data.get("decided") if form is not None else None
    changed = decided is not None and shown_before not in (None, str(decided))
    if form is None or changed or (decided is None and not form.errors):
        form = HandOutForm(initial={"decided": decided})
    why = refusal or seen.refusal
    if changed and refusal is not None and refusal.reason in (Reason.OVER_DECISION, Reason.NO_REASON):
        why = seen.refusal  # the page says that the number changed, which explains it better
    context = refusal_words(why) | {
        "person": row,
        "seen": seen,
        "issued": seen.issued,
        "why": spoken_words(seen.issued.reason, seen.issued.decided_by) if seen.issued else "",
        "form": form,
        "fewer_key": new_key(),
        "changed": changed,
        "reason": why.reason.value if why else "",
        "held": DatabaseRecords().coupons_of(row.person) if row.coupons else [],
    }
    return render(request, "screens/hand_out.html", context)
