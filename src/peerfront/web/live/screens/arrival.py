"""A person arrives with a coupon: scan or type it, and see whether it can be used and what to do next."""

from itertools import count
from typing import cast
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Person
from peerfront.web.live.rules.actions import Member
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.effects import to_get
from peerfront.web.live.rules.events import CouponScanned
from peerfront.web.live.rules.records import PersonRow, StudyRow
from peerfront.web.live.rules.refusals import Reason, Refusal
from peerfront.web.live.rules.requests import ScanCoupon
from peerfront.web.live.rules.situation import find_coupon
from peerfront.web.live.screens.page_frame import study_or_404
from peerfront.web.live.screens.page_words import refusal_words
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, at_a_site, new_key


def next_step(study: StudyRow, person: PersonRow, member: Member) -> str | None:
    """The page on which to record answers, hand out coupons, or print those that somebody has again.

    None for somebody who withdrew, and for people of a site that is not the member's.
    """
    if person.withdrawn_at is not None or not member.covers(person.site):
        return None
    if person.answers is None:
        return "answers"
    return "print_coupons" if person.coupons and not to_get(DatabaseRecords(), study, person) else "hand_out"


LONGEST_KEPT = 100
"""Characters of what was typed that go further; a code is shorter."""
SCAN_BOX = {
    "class": "scan",
    "autofocus": True,
    "autocomplete": "off",
    "autocapitalize": "characters",
    "spellcheck": "false",
    "data-select": "yes",
}
"""A field into which a scanner types."""


class ScanForm(RequestForm):
    """One coupon."""

    typed = forms.CharField(label=_("Coupon code"), widget=forms.TextInput(attrs=SCAN_BOX))

    def clean_typed(self) -> str:
        return str(self.cleaned_data["typed"])[:LONGEST_KEPT]


@at_a_site
def arrive(request: HttpRequest) -> HttpResponse:
    """Ask whether a coupon can be used; from one that can, go on to enrolment."""
    if request.method != "POST":
        return render(request, "screens/arrive.html", {"form": ScanForm()})
    form = ScanForm(request.POST)
    if not form.is_valid():
        return render(request, "screens/arrive.html", {"form": form})
    answered = form.ask(request, ScanCoupon(form.cleaned_data["typed"]))
    if isinstance(answered, Accepted):
        fact = answered.events[0].fact
        assert isinstance(fact, CouponScanned)
        return redirect(f"{reverse('enrol')}?{urlencode({'code': fact.code})}")
    return refused_coupon(request, form.cleaned_data["typed"], answered.refusal)


def refused_coupon(request: HttpRequest, typed: str, refusal: Refusal) -> HttpResponse:
    """Say why a coupon cannot be used and what to do, ready for the next one."""
    mend = refusal.reason in (Reason.MISTYPED, Reason.UNLISTED)  # typed again with one character mended
    form = ScanForm(initial={"typed": typed if mend else "", "key": new_key()})
    context = {"form": form} | step_after_use(request, typed) | refusal_words(refusal)
    return render(request, "screens/arrive.html", context)


def step_after_use(request: HttpRequest, typed: str) -> dict[str, str | None]:
    """For the coupon of somebody whose enrolment here was interrupted: where to go on, and with whom."""
    coupon = find_coupon(DatabaseRecords(), study_or_404(), typed)
    redemption = None if coupon is None else DatabaseRecords().redemption(coupon.code)
    return {} if redemption is None else step_of(request, redemption.person)


def step_of(request: HttpRequest, person: str) -> dict[str, str | None]:
    """Where to go on with somebody, for the template of a page."""
    row, member = DatabaseRecords().person(person), cast(AtWork, request).member
    return {} if row is None else {"step": next_step(study_or_404(), row, member), "step_person": person}


def propose_pseudonym(about: str) -> str:
    """A pseudonym that nobody has: P and five digits, more where these are nearly used up.

    It is the same each time until somebody has it, so that loading a page again changes nothing. `about` is the coupon,
    or the login of whoever adds a seed; nobody without the server's key can tell it from the pseudonym.
    """
    for attempt in count():
        number = int(salted_hmac(__name__, f"{about} {attempt}").hexdigest(), 16)
        digits = 5 + attempt // 20
        proposed = f"P{number % 10**digits:0{digits}}"
        if not Person.objects.filter(person=proposed).exists():
            return proposed
    raise AssertionError("not reached")


def person_typed(typed: str, site: str | None) -> PersonRow | None:
    """Find the person of a site, or (None) of any, with a pseudonym; capitals matter only where two differ in them."""
    typed = typed.strip()
    people = Person.objects.all() if site is None else Person.objects.filter(site=site)
    alike = list(people.filter(person__iexact=typed).values_list("person", flat=True)[:2])
    name = alike[0] if len(alike) == 1 else typed
    return DatabaseRecords().person(name) if people.filter(person=name).exists() else None
