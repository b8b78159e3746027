"""How to reach a person: shown only on a click that the audit notes, written, and deleted."""

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
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.refusals import Reason, refusal
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.screens.form_pages import FormPage, answer_form
from peerfront.web.live.screens.page_words import found_and_to_do
from peerfront.web.live.screens.staff_requests import RequestForm, ask, ask_with, new_key
from peerfront.web.live.screens.visibility import may, person_in_sight

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
            told = contacts.read_contact(row.person)
            context |= {
                "shown": True,
                "told": [(ContactForm.base_fields[name].label, told[name]) for name in contacts.FIELDS if name in told]
                if told
                else [],
                "write_form": ContactForm(initial=told or {}, auto_id="write_%s"),
                "may_write": row.withdrawn_at is None and may(request, Action.WRITE_CONTACT, row.site),
                "may_delete": bool(told) and may(request, Action.DELETE_CONTACT, row.site),
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
