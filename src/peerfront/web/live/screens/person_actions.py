"""Forms for one person: another number of coupons, corrected answers, withdrawal, erasure, contact details.

Contact details are shown only on a click that the audit notes.
"""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache

from peerfront.web.live.records import contacts
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.effects import promised_to
from peerfront.web.live.rules.records import PersonRow
from peerfront.web.live.rules.refusals import Reason, refusal
from peerfront.web.live.rules.requests import CorrectAnswers, EraseAnswers, NoteAction, OverrideCoupons, WithdrawPerson
from peerfront.web.live.rules.study_settings import LARGEST_CAP
from peerfront.web.live.screens.coupon_page import why_field
from peerfront.web.live.screens.enrolment import InterviewForm
from peerfront.web.live.screens.form_pages import FormPage, answer_form
from peerfront.web.live.screens.page_words import found_and_to_do
from peerfront.web.live.screens.staff_requests import RequestForm, ask, ask_with, new_key
from peerfront.web.live.screens.visibility import may, person_in_sight, study_or_404


class OverrideForm(RequestForm):
    coupons = forms.IntegerField(
        label=_("Coupons in this round"),
        min_value=0,
        max_value=LARGEST_CAP,
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    why = why_field()


class WithdrawForm(RequestForm):
    void_coupons = forms.BooleanField(
        label=_("Make the coupons that the person handed on void, too"),
        help_text=_("Leave it empty if others may still come with them."),
        required=False,
    )
    why = why_field()


class EraseForm(RequestForm):
    why = why_field()


class CorrectionForm(InterviewForm):
    """The answers as they are recorded, to be changed; what is left empty is not answered."""

    def __init__(self, person: PersonRow, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        answers = dict(person.answers or ())
        self.initial["network_size"] = person.network_size
        for question, shown in zip(self.questions, list(self.interview_fields())[1:], strict=True):
            answer = answers.get(question.name, "")
            self.initial[shown.name] = answer
            field = self.fields[shown.name]
            if isinstance(field, forms.ChoiceField):
                # The recorded answer may be none of the present choices; an empty one takes the answer back.
                choices = dict.fromkeys([*question.choices, *([answer] if answer else [])])
                field.choices = [*((choice, choice) for choice in choices), ("", _("Not answered"))]
        names = {question.name for question in self.questions}
        self.not_asked = tuple((name, answer) for name, answer in answers.items() if name not in names)
        """Answers to questions that are not asked any more; they stay."""
        self.fields["why"] = why_field()

    def clean(self) -> dict[str, Any]:
        return super(InterviewForm, self).clean() or self.cleaned_data


def override_coupons(request: HttpRequest, person: str) -> HttpResponse:
    """Decide on another number than the plan's, before the person gets coupons in this round."""
    row = person_in_sight(request, person, Action.OVERRIDE_COUPONS)
    study = study_or_404()
    planned = promised_to(DatabaseRecords(), study, row.person)
    form = OverrideForm(request.POST or None, initial={"coupons": planned})
    page = FormPage(
        title=gettext("Another number of coupons for %(person)s") % {"person": row.person},
        lead=gettext("The plan's number stays recorded beside yours, with your reason."),
        button=gettext("Decide"),
        done=gettext("The number for %(person)s is decided.") % {"person": row.person},
        back=reverse("person", args=[row.person]),
        back_label=row.person,
        facts=(
            (gettext("Planned for this round"), gettext("nothing yet") if planned is None else str(planned)),
            (gettext("Got so far"), str(row.coupons)),
            (gettext("Most for one person"), str(study.settings.cap)),
        ),
    )

    def wish() -> OverrideCoupons:
        return OverrideCoupons(row.person, form.cleaned_data["coupons"], form.cleaned_data["why"])

    return answer_form(request, form, page, wish, site=row.site)


def correct_answers(request: HttpRequest, person: str) -> HttpResponse:
    """Replace answers that were recorded; those before stay in the audit."""
    row = person_in_sight(request, person, Action.CORRECT_ANSWERS)
    form = CorrectionForm(row, study_or_404().settings, request.POST or None)
    page = FormPage(
        title=gettext("Correct the answers of %(person)s") % {"person": row.person},
        lead=gettext("The answers as they were stay in the audit."),
        button=gettext("Correct them"),
        done=gettext("The answers of %(person)s are corrected.") % {"person": row.person},
        back=reverse("person", args=[row.person]),
        back_label=row.person,
    )

    def wish() -> CorrectAnswers:
        answers = tuple(sorted(form.answers + form.not_asked))
        return CorrectAnswers(row.person, form.cleaned_data["network_size"], answers, form.cleaned_data["why"])

    return answer_form(request, form, page, wish, site=row.site)


def withdraw_person(request: HttpRequest, person: str) -> HttpResponse:
    """Ask nothing more of somebody who does not want to take part any longer."""
    row = person_in_sight(request, person, Action.WITHDRAW_PERSON)
    form = WithdrawForm(request.POST or None)
    page = FormPage(
        title=gettext("%(person)s withdraws from the study") % {"person": row.person},
        lead=gettext(
            "They get no more coupons and are asked nothing more; what they are owed can still be paid. Their answers "
            "are left out of exports and estimates. This cannot be undone."
        ),
        button=gettext("Record the withdrawal"),
        done=gettext("%(person)s has withdrawn.") % {"person": row.person},
        back=reverse("person", args=[row.person]),
        back_label=row.person,
        danger=True,
    )

    def wish() -> WithdrawPerson:
        return WithdrawPerson(row.person, form.cleaned_data["void_coupons"], form.cleaned_data["why"])

    return answer_form(request, form, page, wish, site=row.site)


def erase_answers(request: HttpRequest, person: str) -> HttpResponse:
    """Erase what somebody who withdrew had answered, from the audit, too."""
    row = person_in_sight(request, person, Action.ERASE_ANSWERS)
    form = EraseForm(request.POST or None)
    page = FormPage(
        title=gettext("Erase the answers of %(person)s") % {"person": row.person},
        lead=gettext(
            "The answers are erased for good, from the audit, too, and with them the reasons and groups of decisions "
            "about them, which may tell an answer. How many people they know stays, and so do their place among "
            "recruiters and recruits and what staff wrote. Back-ups that were made before still hold the answers."
        ),
        button=gettext("Erase them"),
        done=gettext("The answers of %(person)s are erased.") % {"person": row.person},
        back=reverse("person", args=[row.person]),
        back_label=row.person,
        danger=True,
    )
    return answer_form(request, form, page, lambda: EraseAnswers(row.person, form.cleaned_data["why"]), site=row.site)


_LONGEST = {"name": 200, "phone": 100, "note": 1_000}


class ContactForm(RequestForm):
    name = forms.CharField(label=_("Name"), max_length=_LONGEST["name"], required=False)
    phone = forms.CharField(
        label=_("Telephone"),
        max_length=_LONGEST["phone"],
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "tel"}),
    )
    note = forms.CharField(
        label=_("How to reach them"),
        max_length=_LONGEST["note"],
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for name in contacts.FIELDS:
            self.fields[name].widget.attrs["autocomplete"] = "off"

    @property
    def contact(self) -> dict[str, str]:
        return {name: str(self.cleaned_data[name]).strip() for name in contacts.FIELDS}


@never_cache
def contact(request: HttpRequest, person: str) -> HttpResponse:
    """Show how to reach a person, after a click that is noted for the audit."""
    row = person_in_sight(request, person, Action.SEE_CONTACT)
    form = RequestForm(request.POST or None)
    context: dict[str, Any] = {"person": row, "form": form, "back": reverse("person", args=[row.person])}
    if request.method == "POST" and form.is_valid():
        # A key of its own each time: a form that is sent again shows them again, which is noted again.
        noted = NoteAction(Action.SEE_CONTACT, row.person)
        answered = ask(request, noted, key=new_key(), device_time=form.device_clock, site=row.site)
        if isinstance(answered, Refused):
            context["found"], context["to_do"] = found_and_to_do(answered.refusal)
            context["form"] = form.with_new_key()
        else:
            kept = contacts.read_contact(row.person) or {}
            context |= {
                "shown": True,
                "entries": [
                    (ContactForm.base_fields[name].label, kept[name]) for name in contacts.FIELDS if name in kept
                ],
                "write_form": ContactForm(initial=kept, auto_id="write_%s"),
                "may_write": row.withdrawn_at is None and may(request, Action.WRITE_CONTACT, row.site),
                "may_delete": bool(kept) and may(request, Action.DELETE_CONTACT, row.site),
            }
    return render(request, "screens/contact.html", context)


@never_cache
def write_contact(request: HttpRequest, person: str) -> HttpResponse:
    """Write how to reach a person; what was kept before is replaced."""
    row = person_in_sight(request, person, Action.WRITE_CONTACT)
    form = ContactForm(request.POST or None)
    page = FormPage(
        title=gettext("How to reach %(person)s") % {"person": row.person},
        lead=gettext(
            "Write it only if the person agrees. It replaces what was kept before, is encrypted, and is in no export."
        ),
        button=gettext("Keep it"),
        done="",
        back=reverse("person", args=[row.person]),
        back_label=row.person,
    )
    found = to_do = ""
    if request.method == "POST" and form.is_valid():
        typed = form.contact
        kept = ", ".join(name for name in contacts.FIELDS if typed[name]) or "nothing"
        wish = NoteAction(Action.WRITE_CONTACT, row.person, (("kept", kept),))
        answered = ask_with(
            form, request, wish, site=row.site, alongside=lambda _: contacts.write_contact(row.person, typed)
        )
        if isinstance(answered, Accepted) and _is_kept(row.person, typed):
            messages.success(request, gettext("How to reach %(person)s is kept.") % {"person": row.person})
            return redirect(page.back)
        refused = answered.refusal if isinstance(answered, Refused) else refusal(Reason.KEY_REUSED)
        found, to_do = found_and_to_do(refused)
        form.with_new_key()
    return render(request, "screens/form_page.html", {"form": form, "ask": page, "found": found, "to_do": to_do})


def delete_contact(request: HttpRequest, person: str) -> HttpResponse:
    """Forget how to reach a person; everything else stays."""
    row = person_in_sight(request, person, Action.DELETE_CONTACT)
    form = RequestForm(request.POST or None)
    page = FormPage(
        title=gettext("Delete how to reach %(person)s") % {"person": row.person},
        lead=gettext("Name, telephone and note are deleted for good; everything else about the person stays."),
        button=gettext("Delete them"),
        done=gettext("The study does not keep how to reach %(person)s any more.") % {"person": row.person},
        back=reverse("person", args=[row.person]),
        back_label=row.person,
        danger=True,
    )

    def forget(_: Accepted) -> None:
        contacts.delete_contact(row.person)

    def wish() -> NoteAction:
        return NoteAction(Action.DELETE_CONTACT, row.person)

    return answer_form(request, form, page, wish, site=row.site, alongside=forget)


def _is_kept(person: str, typed: dict[str, str]) -> bool:
    """Whether what was typed is what is kept; not so if a form that was sent before is sent with other entries."""
    return (contacts.read_contact(person) or {}) == {name: text for name, text in typed.items() if text}
