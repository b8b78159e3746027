"""Pay what is owed, once for each kind, and print a receipt: for interviews, and for recruiting those who came."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Payment, Redemption
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.events import PaymentKind, PaymentMade
from peerfront.web.live.rules.records import CouponRow, StudyRow
from peerfront.web.live.rules.refusals import Reason, Refusal
from peerfront.web.live.rules.requests import Pay
from peerfront.web.live.rules.situation import find_coupon
from peerfront.web.live.rules.study_settings import Settings
from peerfront.web.live.screens.arrival import LONGEST_KEPT, SCAN_BOX, person_typed
from peerfront.web.live.screens.form_pages import would_answer
from peerfront.web.live.screens.page_frame import person_in_sight, study_or_404
from peerfront.web.live.screens.page_words import refusal_words, shown_amount
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, at_a_site, site_name

_RECEIVER = {PaymentKind.INTERVIEW: "person", PaymentKind.RECRUITING: "coupon__holder"}
"""Who is paid, seen from the redemption of a coupon."""


KINDS: dict[PaymentKind, Promise | str] = {
    PaymentKind.INTERVIEW: _("For the interview, to the person who came with the coupon"),
    PaymentKind.RECRUITING: _("For recruiting, to the person who handed the coupon on"),
}
MOST_LISTED = 50
LOOK_UP_BOX = SCAN_BOX | {"class": "scan as-typed", "autocapitalize": "none"}
"""A field for codes and pseudonyms, which may have small letters."""


class LookUpForm(forms.Form):
    """A coupon, or a person, for which something may be owed."""

    typed = forms.CharField(label=_("Coupon code or pseudonym"), widget=forms.TextInput(attrs=LOOK_UP_BOX))


class PayForm(RequestForm):
    """One payment."""

    typed = forms.CharField(max_length=LONGEST_KEPT, widget=forms.HiddenInput)
    kind = forms.ChoiceField(choices=[(kind.value, kind.value) for kind in PaymentKind], widget=forms.HiddenInput)


@dataclass(frozen=True)
class Due:
    """A payment for a coupon that is to be made, or the reason why none is owed."""

    code: str
    kind: PaymentKind
    person: str = ""
    amount: str = ""
    since: datetime | None = None
    refusal: Refusal | None = None

    @property
    def words(self) -> Promise | str:
        return KINDS[self.kind]

    @property
    def form(self) -> PayForm:
        kind = self.kind.value
        return PayForm(initial={"typed": self.code, "kind": kind}, auto_id=f"{self.code}-{kind}-%s")

    @property
    def refused(self) -> dict[str, str]:
        return refusal_words(self.refusal) | receipt_after(self.refusal, self.code, self.kind)


@dataclass(frozen=True)
class OwedPayments:
    """All payments that are owed at one site, or (None) at all; to one person if one is named."""

    settings: Settings
    site: str | None = None
    person: str | None = None

    def count(self) -> int:
        return sum(rows.count() for rows in self._by_kind().values())

    def newest(self, number: int) -> list[Due]:
        """The last few, newest first."""
        payments = [each for kind, rows in self._by_kind().items() for each in self._read(kind, rows[:number])]
        return sorted(payments, key=attrgetter("since"), reverse=True)[:number]

    def _by_kind(self) -> dict[PaymentKind, QuerySet[Redemption]]:
        amounts = {kind: self._amount(kind) for kind in PaymentKind}
        return {kind: self._unpaid(kind) for kind, amount in amounts.items() if amount}

    def _amount(self, kind: PaymentKind) -> int:
        settings = self.settings
        return settings.interview_payment if kind is PaymentKind.INTERVIEW else settings.recruiting_payment

    def _unpaid(self, kind: PaymentKind) -> QuerySet[Redemption]:
        receiver = _RECEIVER[kind]
        paid = Payment.objects.filter(coupon=OuterRef("coupon"), kind=kind.value)
        wanted: dict[str, Any] = {f"{receiver}__isnull": False}
        if self.site is not None:
            wanted[f"{receiver}__site"] = self.site
        if self.person is not None:
            wanted[receiver] = self.person
        return Redemption.objects.filter(~Exists(paid), person__answers__isnull=False, **wanted).order_by("-at")

    def _read(self, kind: PaymentKind, rows: QuerySet[Redemption]) -> Iterator[Due]:
        amount = shown_amount(self._amount(kind), self.settings.currency)
        for code, receiver, at in rows.values_list("coupon_id", _RECEIVER[kind], "at"):
            yield Due(code, kind, receiver, amount, at)


@at_a_site
def pay(request: HttpRequest) -> HttpResponse:
    """Find what is owed for a coupon or to a person, and pay it."""
    study = study_or_404()
    if request.method == "POST" and "kind" in request.POST:
        return _paid(request, study)
    typed = (request.POST if request.method == "POST" else request.GET).get("typed", "").strip()[:LONGEST_KEPT]
    return _page(request, study, typed)


@at_a_site
def receipt(request: HttpRequest) -> HttpResponse:
    """A payment that was made, to be printed and signed."""
    study = study_or_404()
    coupon = find_coupon(DatabaseRecords(), study, request.GET.get("code", "")[:LONGEST_KEPT])
    kind = request.GET.get("kind", "")
    if coupon is None or kind not in set(PaymentKind):
        raise Http404
    payment = DatabaseRecords().payment(coupon.code, PaymentKind(kind))
    if payment is None:
        raise Http404
    person_in_sight(request, payment.person, Action.PAY)
    context = {
        "payment": payment,
        "number": f"{shown_code(payment.code)}-{payment.kind.value[0].upper()}",
        "site": site_name(payment.site),
    }
    return render(request, "screens/receipt.html", context)


def receipt_address(code: str, kind: PaymentKind) -> str:
    """The page with the receipt of a payment."""
    return f"{reverse('receipt')}?{urlencode({'code': code, 'kind': kind.value})}"


def receipt_after(refusal: Refusal | None, code: str, kind: PaymentKind) -> dict[str, str]:
    """The receipt of a payment that is refused because it was made before."""
    paid = refusal is not None and refusal.reason is Reason.PAID
    return {"receipt": receipt_address(code, kind)} if paid else {}


def _paid(request: HttpRequest, study: StudyRow) -> HttpResponse:
    form = PayForm(request.POST)
    if not form.is_valid():
        return _page(request, study, request.POST.get("typed", "")[:LONGEST_KEPT])
    kind, typed = PaymentKind(form.cleaned_data["kind"]), form.cleaned_data["typed"]
    answered = form.ask(request, Pay(typed, kind))
    if isinstance(answered, Accepted):
        fact = answered.events[0].fact
        assert isinstance(fact, PaymentMade)
        return redirect(receipt_address(fact.code, fact.kind))
    return _page(request, study, typed, (kind, answered.refusal))


def _page(
    request: HttpRequest, study: StudyRow, typed: str, refused: tuple[PaymentKind, Refusal] | None = None
) -> HttpResponse:
    """The page with what is owed for what was typed, and what is owed at this site."""
    site = cast(AtWork, request).work_site
    owed = OwedPayments(study.settings, site)
    context = {
        "look_up": LookUpForm(),
        "owed": owed.newest(MOST_LISTED),
        "n_owed": owed.count(),
        "site_name": site_name(site or ""),
    }
    coupon = find_coupon(DatabaseRecords(), study, typed) if typed else None
    if refused is not None:
        kind, refusal = refused
        context |= refusal_words(refusal) | (receipt_after(refusal, coupon.code, kind) if coupon else {})
    if coupon is not None:
        context |= {"coupon": coupon, "dues": [_due(request, coupon, kind) for kind in PaymentKind]}
    elif typed:
        context |= _person_or_refusal(request, study, typed)
    return render(request, "screens/pay.html", context)


def _due(request: HttpRequest, coupon: CouponRow, kind: PaymentKind) -> Due:
    seen = would_answer(request, Pay(coupon.code, kind))
    if isinstance(seen, Refused):
        return Due(coupon.code, kind, refusal=seen.refusal)
    fact = seen.events[0].fact
    assert isinstance(fact, PaymentMade)
    return Due(coupon.code, kind, fact.person, shown_amount(fact.amount, fact.currency))


def _person_or_refusal(request: HttpRequest, study: StudyRow, typed: str) -> dict[str, object]:
    """What is owed to a person of this site, or why what was typed is neither a coupon nor such a person."""
    person = person_typed(typed)
    member = cast(AtWork, request).member
    if person is None or not member.covers(person.site):
        answered = would_answer(request, Pay(typed, PaymentKind.INTERVIEW))
        assert not isinstance(answered, Accepted), "there is no such coupon"
        words = refusal_words(answered.refusal)
        if answered.refusal.reason is Reason.UNLISTED:  # it does not look like a code, so it may be a pseudonym
            words = {
                "found": gettext("This is neither a coupon nor a person of your sites."),
                "to_do": gettext("Compare it with the coupon or with the person's papers, and type it again."),
            }
        return words | {"look_up": LookUpForm(initial={"typed": typed})}
    owed = OwedPayments(study.settings, person=person.person)
    return {"payee": person.person, "payee_dues": owed.newest(MOST_LISTED)}
