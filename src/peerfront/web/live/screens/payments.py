"""Pay what is owed, once for each kind, and print a receipt: for interviews, and for recruiting those who came."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Payment, Person
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
from peerfront.web.live.screens.page_frame import list_page, person_in_sight, study_or_404
from peerfront.web.live.screens.page_words import refusal_words
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, at_a_site, site_name

_RECEIVER = {PaymentKind.INTERVIEW: "person", PaymentKind.RECRUITING: "recruiter"}
"""Who is paid, seen from the person who came with a coupon."""


KINDS: dict[PaymentKind, Promise | str] = {
    PaymentKind.INTERVIEW: _("For the interview"),
    PaymentKind.RECRUITING: _("For recruiting"),
}
MOST_PAID = 50
"""Payments that are made together; more are paid in a second step."""
LOOK_UP_BOX = SCAN_BOX | {"class": "scan as-typed", "autocapitalize": "none"}
"""A field for codes and pseudonyms, which may have small letters."""


class LookUpForm(forms.Form):
    """A coupon, or a person, for which something may be owed."""

    typed = forms.CharField(label=_("Coupon code or pseudonym"), widget=forms.TextInput(attrs=LOOK_UP_BOX))


class PayForm(RequestForm):
    """Payments to be made together: the coupon and the kind of each, in pairs."""

    def clean(self) -> dict[str, Any]:
        entries = cast(QueryDict, self.data)
        codes, kinds = entries.getlist("typed"), entries.getlist("kind")
        if len(codes) != len(kinds) or len(codes) > MOST_PAID or not all(codes) or not set(kinds) <= set(PaymentKind):
            raise forms.ValidationError("")  # no form of ours
        self.pairs = [(code[:LONGEST_KEPT], PaymentKind(kind)) for code, kind in zip(codes, kinds, strict=True)]
        return super().clean() or self.cleaned_data


@dataclass(frozen=True)
class Due:
    """A payment for a coupon that is to be made, or the reason why none is owed."""

    code: str
    kind: PaymentKind
    person: str = ""
    amount: int = 0
    since: datetime | None = None
    refusal: Refusal | None = None

    @property
    def words(self) -> Promise | str:
        return KINDS[self.kind]

    @property
    def refused(self) -> dict[str, str]:
        return refusal_words(self.refusal) | receipt_after(self.refusal, self.code, self.kind)


@dataclass(frozen=True)
class Bill:
    """Payments to one person that are made together."""

    person: str
    dues: tuple[Due, ...]

    @property
    def total(self) -> int:
        return sum(due.amount for due in self.dues)

    @property
    def form(self) -> PayForm:
        return PayForm(auto_id=False)  # several on one page


@dataclass(frozen=True)
class OwedPayments:
    """All payments that are owed at one site, or (None) at all; to one person if one is named."""

    settings: Settings
    site: str | None = None
    person: str | None = None

    def count(self) -> int:
        return len(self.rows)

    def total(self) -> int:
        return sum(self._amounts[kind] for *_, kind in self.rows)

    def newest(self, number: int) -> list[Due]:
        """The last few, newest first."""
        return [self.due(*row) for row in self.rows[:number]]

    @cached_property
    def rows(self) -> list[tuple[str, str, datetime, PaymentKind]]:
        """Code, receiver, time and kind of each, newest first.

        All of them are read: few payments are owed at a time, and to count them takes as long as to read them.
        """
        rows = [
            (code, receiver, at, kind)
            for kind in self._amounts
            for code, receiver, at in self._unpaid(kind).values_list("code", _RECEIVER[kind], "enrolled_at")
        ]
        return sorted(rows, key=lambda row: row[2], reverse=True)

    def due(self, code: str, receiver: str, at: datetime, kind: PaymentKind) -> Due:
        return Due(code, kind, receiver, self._amounts[kind], at)

    @property
    def _amounts(self) -> dict[PaymentKind, int]:
        """What is paid for each kind, without those for which nothing is."""
        amounts = {
            PaymentKind.INTERVIEW: self.settings.interview_payment,
            PaymentKind.RECRUITING: self.settings.recruiting_payment,
        }
        return {kind: amount for kind, amount in amounts.items() if amount}

    def _unpaid(self, kind: PaymentKind) -> QuerySet[Person]:
        """People for whom, or for recruiting whom, nobody was paid. Their recruiter had the code they came with."""
        paid = Payment.objects.filter(coupon=OuterRef("code"), kind=kind.value)
        people = Person.objects.filter(~Exists(paid), answers__isnull=False).order_by()
        is_recruiting = kind is PaymentKind.RECRUITING
        if is_recruiting:
            people = people.filter(recruiter__isnull=False)
        if self.site is not None:
            people = people.filter(**{"recruiter__site" if is_recruiting else "site": self.site})
        return people if self.person is None else people.filter(**{_RECEIVER[kind]: self.person})


def bill_of(study: StudyRow, person: str) -> Bill:
    """What somebody is owed now."""
    return Bill(person, tuple(OwedPayments(study.settings, person=person).newest(MOST_PAID)))


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
    """Payments that were made to one person, to be printed and signed."""
    study = study_or_404()
    codes, kinds = request.GET.getlist("code"), request.GET.getlist("kind")
    if not codes or len(codes) != len(kinds) or len(codes) > MOST_PAID or not set(kinds) <= set(PaymentKind):
        raise Http404
    payments = []
    for code, kind in zip(codes, kinds, strict=True):
        coupon = find_coupon(DatabaseRecords(), study, code[:LONGEST_KEPT])
        payment = None if coupon is None else DatabaseRecords().payment(coupon.code, PaymentKind(kind))
        if payment is None:
            raise Http404
        person_in_sight(request, payment.person, Action.PAY)
        payments.append(payment)
    first = payments[0]
    if any((each.person, each.currency) != (first.person, first.currency) for each in payments):
        raise Http404
    numbered = [(f"{shown_code(each.code)}-{each.kind.value[0].upper()}", each) for each in payments]
    total = sum(each.amount for each in payments)
    context = {"payments": numbered, "first": first, "total": total, "site": site_name(first.site)}
    return render(request, "screens/receipt.html", context)


def receipt_address(*payments: tuple[str, PaymentKind]) -> str:
    """The page with the receipt of payments, each named by its coupon and kind."""
    pairs = [pair for code, kind in payments for pair in (("code", code), ("kind", kind.value))]
    return f"{reverse('receipt')}?{urlencode(pairs)}"


def receipt_after(refusal: Refusal | None, code: str, kind: PaymentKind) -> dict[str, str]:
    """The receipt of a payment that is refused because it was made before."""
    paid = refusal is not None and refusal.reason is Reason.PAID
    return {"receipt": receipt_address((code, kind))} if paid else {}


def _paid(request: HttpRequest, study: StudyRow) -> HttpResponse:
    """Pay, each payment as a request of its own; what was refused beside something paid is told on the receipt."""
    form = PayForm(request.POST)
    if not form.is_valid():
        return _page(request, study, request.POST.get("typed", "")[:LONGEST_KEPT])
    paid, refused = [], []
    for number, (typed, kind) in enumerate(form.pairs):
        answered = form.ask(request, Pay(typed, kind), ending=f"-{number}" if number else "")
        if isinstance(answered, Accepted):
            fact = answered.events[0].fact
            assert isinstance(fact, PaymentMade)
            paid.append((fact.code, fact.kind))
        else:
            refused.append((typed, kind, answered.refusal))
    if not paid:
        typed, kind, refusal = refused[0]
        return _page(request, study, typed, (kind, refusal))
    for _typed, _kind, refusal in refused:
        messages.warning(request, " ".join(refusal_words(refusal).values()))
    return redirect(receipt_address(*paid))


def _page(
    request: HttpRequest, study: StudyRow, typed: str, refused: tuple[PaymentKind, Refusal] | None = None
) -> HttpResponse:
    """The page with what is owed to whom was typed or came with the coupon; and to the others of this site."""
    site = cast(AtWork, request).work_site
    owed = OwedPayments(study.settings, site)
    page = list_page(request, owed.rows)
    page.object_list = [owed.due(*row) for row in page.object_list]
    context = {"look_up": LookUpForm(), "page": page, "site_name": site_name(site or "")}
    coupon = find_coupon(DatabaseRecords(), study, typed) if typed else None
    if refused is not None:
        kind, refusal = refused
        context |= refusal_words(refusal) | (receipt_after(refusal, coupon.code, kind) if coupon else {})
    if coupon is not None:
        context |= _of_coupon(request, study, coupon)
        if refused is not None and refused[0] is PaymentKind.INTERVIEW:
            context["told"] = None  # the same reason stands above
    elif typed:
        context |= _person_or_refusal(request, study, typed)
    return render(request, "screens/pay.html", context)


def _of_coupon(request: HttpRequest, study: StudyRow, coupon: CouponRow) -> dict[str, object]:
    """What the person who came with a coupon is owed; and apart, what the one who handed it on is."""
    interview, recruiting = (_due(request, coupon, kind) for kind in PaymentKind)
    redemption = DatabaseRecords().redemption(coupon.code)
    came = None if redemption is None else DatabaseRecords().person(redemption.person)
    is_ours = came is not None and cast(AtWork, request).member.covers(came.site)
    bill = bill_of(study, came.person) if came is not None and is_ours else None
    return {
        "coupon": coupon,
        "told": interview if interview.refusal else None,
        "bill": bill if bill and bill.dues else None,
        "apart": recruiting,
        "apart_bill": None if recruiting.refusal else Bill(recruiting.person, (recruiting,)),
    }


def _due(request: HttpRequest, coupon: CouponRow, kind: PaymentKind) -> Due:
    seen = would_answer(request, Pay(coupon.code, kind))
    if isinstance(seen, Refused):
        return Due(coupon.code, kind, refusal=seen.refusal)
    fact = seen.events[0].fact
    assert isinstance(fact, PaymentMade)
    return Due(coupon.code, kind, fact.person, fact.amount)


def _person_or_refusal(request: HttpRequest, study: StudyRow, typed: str) -> dict[str, object]:
    """What is owed to a person of this site, or why what was typed is neither a coupon nor such a person."""
    person = person_typed(typed, cast(AtWork, request).member.site)
    if person is None:
        answered = would_answer(request, Pay(typed, PaymentKind.INTERVIEW))
        assert not isinstance(answered, Accepted), "there is no such coupon"
        words = refusal_words(answered.refusal)
        if answered.refusal.reason is Reason.UNLISTED:  # it does not look like a code, so it may be a pseudonym
            words = {
                "found": gettext("This is neither a coupon nor a person of your sites."),
                "to_do": gettext("Compare it with the coupon or with the person's papers, and type it again."),
            }
        return words | {"look_up": LookUpForm(initial={"typed": typed})}
    return {"bill": bill_of(study, person.person)}
