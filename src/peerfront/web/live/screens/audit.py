"""The audit: everything that happened, newest first, in plain words; and whether the records are whole."""

import json
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records import models
from peerfront.web.live.records.database import link_of
from peerfront.web.live.records.verification import verify
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.codes import foreign_code, read_code
from peerfront.web.live.rules.deciding import Refused
from peerfront.web.live.rules.events import Event, SettingsChanged, StudyBegun
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.rules.stored_events import KINDS
from peerfront.web.live.rules.study_settings import Settings
from peerfront.web.live.screens.event_words import details, sentence
from peerfront.web.live.screens.form_pages import ask_whole, asked_before
from peerfront.web.live.screens.page_frame import list_page
from peerfront.web.live.screens.page_words import found_and_to_do, term
from peerfront.web.live.screens.staff_requests import RequestForm


class FilterForm(forms.Form):
    """Which events to show."""

    actor = forms.CharField(label=_("Who"), required=False, max_length=150)
    kind = forms.ChoiceField(label=_("What"), required=False)
    site = forms.ChoiceField(label=_("Site"), required=False)
    day = forms.DateField(
        label=_("Day"), required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    person = forms.CharField(label=_("Person"), required=False, max_length=40)
    code = forms.CharField(label=_("Coupon"), required=False, max_length=60)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kinds = [("", gettext("everything")), *((name, term(name)) for name in KINDS)]
        self.fields["kind"].choices = kinds  # type: ignore[attr-defined]
        sites = [("", gettext("all sites")), *models.Site.objects.values_list("site", "name")]
        self.fields["site"].choices = sites  # type: ignore[attr-defined]

    def chosen(self) -> QuerySet[models.Event]:
        """The events that fit, newest first; entries that make no sense are passed over."""
        found = models.Event.objects.order_by("-number")
        entries = self.cleaned_data if self.is_valid() else getattr(self, "cleaned_data", {})
        for name in ("actor", "kind", "site"):
            if value := entries.get(name):
                found = found.filter(**{name: value})
        if (day := entries.get("day")) and 1900 <= day.year < 9000:  # other days may lie outside the calendar in UTC
            begins = timezone.make_aware(datetime.combine(day, time.min))
            found = found.filter(at__gte=begins, at__lt=begins + timedelta(days=1))
        if person := entries.get("person"):
            found = found.filter(data__contains=json.dumps(person.strip(), ensure_ascii=False))
        if code := entries.get("code"):
            known = read_code(code) or foreign_code(code) or code
            found = found.filter(data__contains=json.dumps(known, ensure_ascii=False))
        return found


@dataclass(frozen=True)
class Line:
    """An event as the list shows it."""

    stored: models.Event
    words: str
    details: list[tuple[str, str]]
    role: str
    site: str
    """Its name; empty for the whole study."""
    refused: bool


def audit(request: HttpRequest) -> HttpResponse:
    """Everything that happened, with filters."""
    form = FilterForm(request.GET)
    page = list_page(request, form.chosen())
    sites = dict(models.Site.objects.values_list("site", "name"))
    last = models.Event.objects.order_by("-number").values_list("number", "hash").first()
    context = {
        "form": form,
        "page": page,
        "lines": [_line(stored, sites) for stored in page.rows],
        "filtered": any(request.GET.get(name) for name in form.fields),
        "head": last[1] if last else "",
        "number": last[0] if last else 0,
    }
    return render(request, "screens/management/audit.html", context)


def _line(stored: models.Event, sites: dict[str, str]) -> Line:
    event = link_of(stored).event
    before = _settings_before(stored.number) if isinstance(event.fact, SettingsChanged) else None
    role, site = term(event.stamp.role.value), stored.site or ""
    refused = stored.kind == "request_refused"
    return Line(stored, sentence(event), details(event, before), role, sites.get(site, site), refused)


def _settings_before(number: int) -> Settings | None:
    kinds = ("study_begun", "settings_changed")
    stored = models.Event.objects.filter(number__lt=number, kind__in=kinds).order_by("-number").first()
    event: Event | None = None if stored is None else link_of(stored).event
    fact = None if event is None else event.fact
    return fact.settings if isinstance(fact, StudyBegun | SettingsChanged) else None


def verify_page(request: HttpRequest) -> HttpResponse:
    """Compare every row with the events; what was found is noted in the audit with the hash of the last event."""
    form = RequestForm(request.POST or None)
    context: dict[str, Any] = {"form": RequestForm(), "n_events": models.Event.objects.count()}
    if request.method == "POST" and form.is_valid():
        found = verify()
        noted = (("events", str(found.events)), ("head", found.head), ("whole", "yes" if found.whole else "no"))
        wish = NoteAction(Action.SEE_AUDIT, "verify", noted)
        answered = None if asked_before(form) else ask_whole(form, request, wish)
        if isinstance(answered, Refused):
            context["found"], context["to_do"] = found_and_to_do(answered.refusal)
        context["result"] = found
    return render(request, "screens/management/verify.html", context)
