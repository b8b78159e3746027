"""Forms for one person: another number of coupons, corrected answers, withdrawal, erasure, contact details.

Contact details are shown only on a click that the audit notes.
"""

from typing import Any, ClassVar, cast

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache

from peerfront.foundation.errors import DataFileError
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.records import contacts
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.leftovers import Leftovers, wipe
from peerfront.web.live.records.recording import recorded_in_clear
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.deciding import Accepted, Answer, Refused
from peerfront.web.live.rules.effects import promised_to
from peerfront.web.live.rules.events import Erasable
from peerfront.web.live.rules.refusals import Reason, refusal
from peerfront.web.live.rules.requests import CorrectAnswers, EraseAnswers, NoteAction, OverrideCoupons, WithdrawPerson
from peerfront.web.live.rules.study_settings import LARGEST_CAP
from peerfront.web.live.screens.enrolment import InterviewForm, contact_fields
from peerfront.web.live.screens.form_pages import PageForm, form_page, why_field
from peerfront.web.live.screens.page_frame import may, person_in_sight, study_or_404
from peerfront.web.live.screens.page_words import in_words, refusal_words
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, new_key


class PersonForm(PageForm):
    """A form for one person, which leads back to their page."""

    action: ClassVar[Action]
    back_label = "%(person)s"

    def __init__(self, request: HttpRequest, person: str, **named: Any) -> None:
        super().__init__(request, **named)
        self.person = person_in_sight(request, person, self.action)
        self.site, self.names = self.person.site, {"person": person}
        self.back = reverse("person", args=[person])


class OverrideForm(PersonForm):
    """Decide on another number than the plan's, before the person gets coupons in this round."""

    action = Action.OVERRIDE_COUPONS
    title = _("Another number of coupons for %(person)s")
    lead = _("The plan's number stays recorded beside yours, with your reason.")
    button = _("Decide")
    done = _("The number for %(person)s is decided.")

    coupons = forms.IntegerField(label=_("Coupons in this round"), min_value=0, max_value=LARGEST_CAP)
    why = why_field()

    def __init__(self, request: HttpRequest, person: str) -> None:
        super().__init__(request, person)
        self.study, self.asked_by = study_or_404(), cast(AtWork, request).member.name
        self.initial["coupons"] = promised_to(DatabaseRecords(), self.study, person)

    def facts(self) -> list[tuple[str, object]]:
        planned = self.initial["coupons"]
        return [
            (gettext("Planned for this round"), gettext("nothing yet") if planned is None else planned),
            (gettext("Got so far"), self.person.coupons),
            (gettext("Most for one person"), self.study.settings.cap),
        ]

    def wish(self) -> OverrideCoupons:
        return OverrideCoupons(self.person.person, self.cleaned_data["coupons"], self.cleaned_data["why"])

    def alongside(self, accepted: Accepted) -> None:
        if (plan := self.study.approved_plan) is not None:
            transaction.on_commit(lambda: jobs.look_again_if_changed(plan, self.asked_by))


class WithdrawForm(PersonForm):
    """Ask nothing more of somebody who does not want to take part any longer."""

    action = Action.WITHDRAW_PERSON
    title = _("%(person)s withdraws from the study")
    lead = _(
        "They get no more coupons and are asked nothing more; what they are owed can still be paid. Their answers "
        "are left out of exports and estimates. This cannot be undone."
    )
    button = _("Record the withdrawal")
    done = _("%(person)s has withdrawn.")
    danger = True

    void_coupons = forms.BooleanField(
        label=_("Make the coupons that the person handed on void, too"),
        help_text=_("Leave it empty if others may still come with them."),
        required=False,
    )
    why = why_field()

    def wish(self) -> WithdrawPerson:
        return WithdrawPerson(self.person.person, self.cleaned_data["void_coupons"], self.cleaned_data["why"])


class WipingForm(PersonForm):
    """A form that erases something, and says whether it is gone from the files of the database, too."""

    def afterwards(self, request: HttpRequest) -> None:
        left = wipe()
        if left is Leftovers.EVERYTHING:
            still = gettext(
                "The files of the database still hold what was erased, because somebody is reading, such as a back-up. "
                "The server tries again each minute."
            )
            messages.warning(request, still)
        elif left is Leftovers.LOG:
            log = gettext(
                "PostgreSQL's log of changes (WAL) may still hold what was erased. Whoever runs the database can "
                "remove it, as the page on protecting data says."
            )
            messages.warning(request, log)


class EraseForm(WipingForm):
    """Erase what somebody who withdrew had answered, or what staff wrote about them, from the audit, too."""

    action = Action.ERASE_ANSWERS
    title = _("Erase what is kept about %(person)s")
    lead = _(
        "What you choose is erased for good, from the audit, too. Their place among recruiters and recruits stays, and "
        "numbers of coupons. Back-ups that were made before still hold what is erased."
    )
    button = _("Erase it")
    done = _("What you chose about %(person)s is erased.")
    danger = True

    what = forms.MultipleChoiceField(
        label=_("What to erase"),
        choices=(
            (Erasable.ANSWERS.value, _("The answers")),
            (Erasable.NETWORK_SIZE.value, _("How many people they know")),
            (Erasable.WORDS.value, _("What staff wrote about them, such as why they got another number")),
        ),
        initial=[Erasable.ANSWERS.value],
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "With either of the first two go the reasons and groups of decisions about them, which may reveal it."
        ),
    )
    why = why_field()

    def facts(self) -> list[tuple[str, object]]:
        number = recorded_in_clear(self.person.person)
        stays = ngettext(
            "how many people they know and words of staff, in %(number)d event of version 0.3",
            "how many people they know and words of staff, in %(number)d events of version 0.3",
            number,
        )
        return [(gettext("Cannot be erased"), stays % {"number": number})] if number else []

    def afterwards(self, request: HttpRequest) -> None:
        try:
            jobs.forget_erased()
        except DataFileError:  # such as a full disk
            still = gettext(
                "The files of plans still hold what was expected of the person's coupons, because they cannot be "
                "written. The server tries again each minute."
            )
            messages.warning(request, still)
        super().afterwards(request)

    def wish(self) -> EraseAnswers:
        chosen = tuple(map(Erasable, self.cleaned_data["what"]))
        return EraseAnswers(self.person.person, self.cleaned_data["why"], chosen)


class CorrectionForm(PersonForm, InterviewForm):
    """The answers as they are recorded, to be changed; what is left empty is not answered."""

    action = Action.CORRECT_ANSWERS
    title = _("Correct the answers of %(person)s")
    lead = _("The answers as they were stay in the audit.")
    button = _("Correct them")
    done = _("The answers of %(person)s are corrected.")

    def __init__(self, request: HttpRequest, person: str) -> None:
        super().__init__(request, person, settings=study_or_404().settings)
        answers = dict(self.person.answers or ())
        self.initial["network_size"] = self.person.network_size
        for question, shown in zip(self.questions, list(self.interview_fields())[:-1], strict=True):
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

    def wish(self) -> CorrectAnswers:
        answers = tuple(sorted(self.answers + self.not_asked))
        return CorrectAnswers(self.person.person, self.cleaned_data["network_size"], answers, self.cleaned_data["why"])


class ContactForm(PersonForm):
    """Write how to reach a person; what was kept before is replaced."""

    action = Action.WRITE_CONTACT
    title = _("How to reach %(person)s")
    lead = _("Write it only if the person agrees. It replaces what was kept before, is encrypted, and is in no export.")
    button = _("Keep it")
    done = _("How to reach %(person)s is kept.")

    name, phone, note = contact_fields()

    def clean(self) -> dict[str, Any]:
        entries: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and not self.contact():
            raise forms.ValidationError(
                _("Write something, or leave what is kept as it is. Coordinators can delete it.")
            )
        return entries

    def contact(self) -> dict[str, str]:
        entries = {name: str(self.cleaned_data[name]).strip() for name in contacts.FIELDS}
        return {name: text for name, text in entries.items() if text}

    def wish(self) -> NoteAction:
        person, kept = self.person.person, ", ".join(self.contact())
        self._sealed = contacts.sealed_contact(person, self.contact())
        fingerprint = contacts.fingerprint(person, self._sealed)
        return NoteAction(Action.WRITE_CONTACT, person, (("kept", kept),), fingerprint)

    def alongside(self, accepted: Accepted) -> None:
        contacts.keep_contact(self.person.person, self._sealed)

    def ask(self, *arguments: Any, **named: Any) -> Answer:
        """Refuse a form that was sent before and is sent again with other entries, which the note does not hold."""
        answered = super().ask(*arguments, **named)
        if isinstance(answered, Accepted) and answered.repeated and not self._is_kept():
            return Refused(refusal(Reason.KEY_REUSED), ())
        return answered

    def _is_kept(self) -> bool:
        try:
            return contacts.read_contact(self.person.person) == self.contact()
        except DataFileError:  # with another key than the study's own nobody can tell
            return False


write_contact = never_cache(form_page(ContactForm))


class ForgetForm(WipingForm):
    """Forget how to reach a person; everything else stays."""

    action = Action.DELETE_CONTACT
    title = _("Delete how to reach %(person)s")
    lead = _("Name, telephone and note are deleted for good; everything else about the person stays.")
    button = _("Delete them")
    done = _("The study does not keep how to reach %(person)s any more.")
    danger = True

    def wish(self) -> NoteAction:
        return NoteAction(Action.DELETE_CONTACT, self.person.person)

    def alongside(self, accepted: Accepted) -> None:
        contacts.delete_contact(self.person.person)


@never_cache
def contact(request: HttpRequest, person: str) -> HttpResponse:
    """Show how to reach a person, after a click that is noted for the audit."""
    row = person_in_sight(request, person, Action.SEE_CONTACT)
    form = RequestForm(request.POST or None)
    context: dict[str, Any] = {"person": row, "form": form, "back": reverse("person", args=[row.person])}
    if request.method == "POST" and form.is_valid():
        # A key of its own each time: a form that is sent again shows them again, which is noted again.
        noted = NoteAction(Action.SEE_CONTACT, row.person)
        answered = form.ask(request, noted, ending=f"-{new_key()[:12]}", site=row.site)
        if isinstance(answered, Refused):
            form.with_new_key()
            return render(request, "screens/contact.html", context | refusal_words(answered.refusal))
        has_contact, kept = True, {}
        try:
            found = contacts.read_contact(row.person)
            has_contact, kept = found is not None, found or {}
        except DataFileError as problem:  # the key is lost: whoever runs the server can put it back
            context["problem"] = in_words(problem.message)
        context |= {
            "shown": True,
            "entries": [(ContactForm.base_fields[name].label, kept[name]) for name in contacts.FIELDS if name in kept],
            "write_form": ContactForm(request, row.person, data=None, initial=kept, auto_id="write_%s"),
            "may_write": row.withdrawn_at is None and may(request, Action.WRITE_CONTACT, row.site),
            "may_delete": has_contact and may(request, Action.DELETE_CONTACT, row.site),
        }
    return render(request, "screens/contact.html", context)
