"""Enrol somebody on one page: pseudonym, answers and, if they agree, how to reach them; with a coupon or as a seed.

Enrolment and answers are two requests with keys made from the form's key, so that a form that is sent twice, or again
after it was interrupted half-way, does each once.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.forms.boundfield import BoundField
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.contacts import FIELDS, fingerprint, keep_contact, sealed_contact
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.events import Answers
from peerfront.web.live.rules.person_rules import LARGEST_NETWORK
from peerfront.web.live.rules.records import CouponRow, StudyRow
from peerfront.web.live.rules.refusals import Reason, Refusal
from peerfront.web.live.rules.requests import AddSeed, EnrolPerson, NoteAction, RecordAnswers, ScanCoupon
from peerfront.web.live.rules.situation import find_coupon
from peerfront.web.live.rules.study_settings import LONGEST_TEXT, Question, QuestionKind, Settings
from peerfront.web.live.screens.arrival import (
    LONGEST_KEPT,
    person_typed,
    propose_pseudonym,
    refused_coupon,
    step_after_use,
    step_of,
)
from peerfront.web.live.screens.form_pages import would_answer
from peerfront.web.live.screens.page_frame import person_in_sight, study_or_404
from peerfront.web.live.screens.page_words import refusal_words
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, at_a_site

MOST_BUTTONS = 8
"""Choices that are shown as buttons; more are a list to open."""
_PREFIX = "question_"


class InterviewForm(RequestForm):
    """Answers of one person.

    Nobody has to answer, but nothing is left out by mistake: where something is missing, the form is shown once more
    with a box to tick that the person does not answer.
    """

    network_size = forms.IntegerField(
        label=_("How many people do they know who could take part, too?"),
        help_text=_("People they know by name and have met recently, as the study's guide says."),
        min_value=0,
        max_value=LARGEST_NETWORK,
        required=False,
        widget=forms.NumberInput(attrs={"enterkeyhint": "go"}),
    )

    def __init__(self, *arguments: Any, settings: Settings, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.questions = settings.questions
        self.unanswered = False
        """Whether the form was sent with empty answers, without saying that this is meant."""
        for question in self.questions:
            self.fields[_PREFIX + question.name] = _field(question)
        # The number is typed last, so that Enter sends the form.
        self.asked = [*(_PREFIX + question.name for question in self.questions), "network_size"]
        self.fields[self.asked[0]].widget.attrs["autofocus"] = True
        self.order_fields(["person", *self.asked])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        empty = [name for name in self.asked if name not in self.errors and cleaned.get(name) in (None, "")]
        if empty and not self.data.get("without_answers"):
            self.unanswered = True
            for name in empty:
                self.add_error(name, _("Not answered yet."))
        return cleaned

    @property
    def answers(self) -> Answers:
        """Questions with their answers, as they are recorded; what is not answered is left out."""
        answers = ((question.name, self.cleaned_data[_PREFIX + question.name]) for question in self.questions)
        return tuple(sorted((name, _written(answer)) for name, answer in answers if answer not in (None, "")))

    def interview_fields(self) -> Iterator[BoundField]:
        """The fields of the interview, in the order in which they are asked."""
        for name in self.asked:
            yield self[name]


class Choices(forms.RadioSelect):
    """Large choices, of which only the first may have the focus from the start."""

    def create_option(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        option = super().create_option(*arguments, **named)
        if option["index"] != "0":
            option["attrs"].pop("autofocus", None)
        return option


def _field(question: Question) -> forms.Field:
    if question.kind is QuestionKind.CHOICE:
        choices = [(choice, choice) for choice in question.choices]
        if len(choices) > MOST_BUTTONS:
            return forms.ChoiceField(label=question.text, choices=[("", ""), *choices], required=False)
        return forms.ChoiceField(label=question.text, choices=choices, required=False, widget=Choices)
    if question.kind is QuestionKind.NUMBER:
        box = forms.NumberInput(attrs={"step": "any", "inputmode": "decimal", "autocomplete": "off"})
        return forms.DecimalField(label=question.text, max_digits=18, decimal_places=6, required=False, widget=box)
    text = forms.TextInput(attrs={"autocomplete": "off"})
    return forms.CharField(label=question.text, max_length=LONGEST_TEXT, required=False, widget=text)


def _written(answer: object) -> str:
    return format(answer, "f") if not isinstance(answer, str) else answer


def contact_fields() -> tuple[forms.CharField, forms.CharField, forms.CharField]:
    """Fields for the name, the telephone and a note, in the order of `contacts.FIELDS`."""
    secret = {"data-not-kept": True}  # never written to the device
    name, phone = forms.TextInput(attrs=secret), forms.TextInput(attrs=secret | {"inputmode": "tel"})
    note = forms.Textarea(attrs=secret | {"rows": 3})
    return (
        forms.CharField(label=_("Name"), max_length=200, required=False, widget=name),
        forms.CharField(label=_("Telephone"), max_length=100, required=False, widget=phone),
        forms.CharField(label=_("How to reach them"), max_length=1_000, required=False, widget=note),
    )


_PSEUDONYM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class EnrolmentForm(InterviewForm):
    """Everything that is asked when somebody is enrolled."""

    person = forms.CharField(
        label=_("Pseudonym"),
        help_text=_("Write it on the person's papers. Never use a name."),
        max_length=40,
        widget=forms.TextInput(attrs={"spellcheck": "false", "class": "pseudonym"}),
        error_messages={"max_length": _("Use at most 40 characters.")},
    )
    consent = forms.BooleanField(label=_("The person agrees that the study keeps how to reach them."), required=False)
    contact_name, contact_phone, contact_note = contact_fields()

    def clean_person(self) -> str:
        person = str(self.cleaned_data["person"])
        if not _PSEUDONYM.fullmatch(person):
            raise forms.ValidationError(
                _("Use letters a to z, digits, hyphens and underscores only; begin with a letter or a digit.")
            )
        return person

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if any(self.contact.values()) and not cleaned.get("consent"):
            self.add_error("consent", _("Tick this if the person agrees; otherwise empty the fields below."))
        return cleaned

    @property
    def contact(self) -> dict[str, str]:
        """How to reach the person, as it was typed."""
        return {name: str(self.cleaned_data.get(f"contact_{name}", "")) for name in FIELDS}


class KnownPersonForm(RequestForm):
    """Somebody comes with a coupon who takes part already."""

    known = forms.CharField(label=_("Their pseudonym"), max_length=40)

    def __init__(self, site: str | None, data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id="known_%s")  # two forms on one page
        self.site = site
        """Whose people may be named; None for those of all sites."""

    def clean_known(self) -> str:
        row = person_typed(str(self.cleaned_data["known"]), self.site)
        if row is None and self.site is None:
            raise forms.ValidationError(_("Nobody with this pseudonym takes part. Look the person up in the list."))
        if row is None:
            raise forms.ValidationError(
                _(
                    "Nobody with this pseudonym takes part at your site. If they take part at another one, do not enrol"
                    " them: ask somebody with a role for all sites."
                )
            )
        return row.person


@at_a_site
def enrol(request: HttpRequest) -> HttpResponse:
    """Enrol the person who shows a coupon that can be used."""
    study = study_or_404()
    typed = request.GET.get("code", "")[:LONGEST_KEPT]
    coupon = find_coupon(DatabaseRecords(), study, typed)
    if request.method == "POST" and coupon is not None:
        return _came_again(request, study, coupon) if "known" in request.POST else _enrolled(request, study, coupon)
    seen = would_answer(request, ScanCoupon(typed))
    if isinstance(seen, Refused) or coupon is None:
        assert isinstance(seen, Refused), "a coupon that is not found is refused"
        return refused_coupon(request, typed, seen.refusal)
    return _page(request, study, _new_form(request, study, coupon), coupon)


@at_a_site
def add_seed(request: HttpRequest) -> HttpResponse:
    """Enrol somebody without a coupon, from whom others will come."""
    study = study_or_404()
    if request.method != "POST":
        return _page(request, study, _new_form(request, study, None), None)
    return _enrolled(request, study, None)


def _enrolled(request: HttpRequest, study: StudyRow, coupon: CouponRow | None) -> HttpResponse:
    """Enrol somebody with a coupon, or as a seed, and record the answers of the same form."""
    form = EnrolmentForm(request.POST, settings=study.settings)
    if not form.is_valid():
        return _page(request, study, form, coupon)
    person = form.cleaned_data["person"]
    wish = AddSeed(person) if coupon is None else EnrolPerson(coupon.code, person)
    answered = form.ask(request, wish, alongside=_contact_writer(request, form))
    if isinstance(answered, Accepted):
        return _record(request, person, form, "-answers")
    # Somebody else got the pseudonym meanwhile: another is proposed.
    taken = answered.refusal.reason in (Reason.ALREADY_ENROLLED, Reason.PSEUDONYM_TAKEN)
    form.with_new_key(**{"person": _proposed(request, coupon)} if taken else {})
    return _page(request, study, form, coupon, refusal=answered.refusal)


@at_a_site
def answers(request: HttpRequest, person: str) -> HttpResponse:
    """Record the answers of somebody whose enrolment was interrupted."""
    row = person_in_sight(request, person, Action.RECORD_ANSWERS)
    if request.method != "POST" and row.answers is not None:
        return redirect("hand_out", person)
    form = InterviewForm(request.POST or None, settings=study_or_404().settings)
    if not form.is_valid():
        return render(request, "screens/answers.html", {"form": form, "person": person})
    return _record(request, person, form)


def _new_form(request: HttpRequest, study: StudyRow, coupon: CouponRow | None) -> EnrolmentForm:
    return EnrolmentForm(settings=study.settings, initial={"person": _proposed(request, coupon)})


def _proposed(request: HttpRequest, coupon: CouponRow | None) -> str:
    return propose_pseudonym(coupon.code if coupon else f"seed {request.session.session_key}")


def _contact_writer(request: HttpRequest, form: EnrolmentForm) -> Callable[[Accepted], None] | None:
    """Write how to reach the person in the transaction that enrols them, with a note for the audit."""
    person, contact = form.cleaned_data["person"], form.contact
    if not any(contact.values()):
        return None

    def write(_: Accepted) -> None:
        sealed = sealed_contact(person, contact)
        note = NoteAction(Action.WRITE_CONTACT, person, fingerprint=fingerprint(person, sealed))
        noted = form.ask(request, note, ending="-contact", alongside=lambda _: keep_contact(person, sealed))
        assert isinstance(noted, Accepted), noted

    return write


def _record(request: HttpRequest, person: str, form: InterviewForm, ending: str = "") -> HttpResponse:
    """Record answers and go on to the coupons; if they are refused, the page of the answers keeps what was typed."""
    wish = RecordAnswers(person, form.cleaned_data["network_size"], form.answers)
    answered = form.ask(request, wish, ending=ending)
    if isinstance(answered, Accepted):
        if not answered.repeated:
            messages.success(request, gettext("%(person)s is enrolled.") % {"person": person})
        return redirect("hand_out", person)
    words, row = refusal_words(answered.refusal), DatabaseRecords().person(person)
    if row is not None and row.answers is not None:
        messages.warning(request, " ".join(words.values()))
        return redirect("hand_out", person)
    return render(request, "screens/answers.html", words | {"form": form.with_new_key(), "person": person})


def _came_again(request: HttpRequest, study: StudyRow, coupon: CouponRow) -> HttpResponse:
    """Record that somebody who takes part came with a coupon: nobody is enrolled, and the coupon stays unused."""
    known = KnownPersonForm(cast(AtWork, request).member.site, request.POST)
    if not known.is_valid():
        return _page(request, study, _new_form(request, study, coupon), coupon, known=known)
    person = known.cleaned_data["known"]
    answered = known.ask(request, EnrolPerson(coupon.code, person))
    if isinstance(answered, Accepted):  # the key is that of the form by which they were enrolled
        return redirect("hand_out", person)
    return _page(request, study, _new_form(request, study, coupon), coupon, refusal=answered.refusal, came_again=person)


def _page(
    request: HttpRequest, study: StudyRow, form: EnrolmentForm, coupon: CouponRow | None, *,
    refusal: Refusal | None = None, known: KnownPersonForm | None = None, came_again: str | None = None,
) -> HttpResponse:  # fmt: skip
    step: dict[str, str | None] = {}
    if came_again is not None:
        step = step_of(request, came_again)
    elif refusal is not None and refusal.reason is Reason.USED and coupon is not None:
        step = step_after_use(request, coupon.code)
    context = {
        "form": form,
        "coupon": coupon,
        "known_form": known or KnownPersonForm(cast(AtWork, request).member.site),
    }
    return render(request, "screens/enrol.html", context | step | refusal_words(refusal))
