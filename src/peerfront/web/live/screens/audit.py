"""The audit: everything that happened, in a sentence each, newest first; and whether the records are whole.

Answers are never shown: the audit says that they were recorded, not what they were.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, time, timedelta
from enum import Enum
from typing import Any

from django import forms
from django.db.models import QuerySet, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.foundation.messages import Message
from peerfront.foundation.shown import visible
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.records.database import link_of
from peerfront.web.live.rules import events
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.chain import KINDS, kind_of, plain_value
from peerfront.web.live.rules.codes import foreign_code, read_code, shown_code
from peerfront.web.live.rules.deciding import Refused
from peerfront.web.live.rules.events import Event, Fact, SettingsChanged, StudyBegun
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.rules.study_settings import Settings
from peerfront.web.live.screens.page_frame import list_page
from peerfront.web.live.screens.page_words import (
    in_words,
    reason_words,
    refusal_words,
    refused_words,
    shown_amount,
    term,
    typed,
)
from peerfront.web.live.screens.staff_requests import RequestForm
from peerfront.words.language import joined, n_coupons, n_people
from peerfront.words.messages import sentences

NOT_TOLD = frozenset(
    {
        "answers", "network_size", "salt", "commitment", "size_salt", "size_commitment", "words_salt",
        "words_commitment", "digest", "request_digest", "lines", "settings", "fingerprint", "keys", "users", "contacts",
    }
)  # fmt: skip
"""Fields that details leave out: answers are sensitive, the others long or of no use to a reader."""


def sentence(event: Event) -> str:
    """What happened, in the reader's language: the sentence of the event's kind, or of the action that was noted."""
    fact = event.fact
    if isinstance(fact, events.RequestRefused):
        refused = {"action": term(fact.action.value), "found": joined([refused_words(fact)])}
        return in_words(Message("audit.request_refused", refused))
    if isinstance(fact, events.ActionNoted):
        code = f"audit.{fact.action.value}"
        return in_words(Message(code if code in sentences() else "audit.action_noted", _noted(fact)))
    return in_words(Message(f"audit.{kind_of(fact)}", _values(fact)))


def _values(fact: Fact) -> dict[str, Any]:
    """The fields of a fact as its sentence shows them."""
    plain = {each.name: _shown(getattr(fact, each.name)) for each in fields(fact) if each.name not in NOT_TOLD}
    if "code" in plain:
        plain["code"] = shown_code(plain["code"])
    values: dict[str, Any] = {name: typed(text) for name, text in plain.items()}
    if isinstance(fact, events.WithWords) and fact.words_commitment and not fact.words_salt:
        values["why"] = gettext("the reason was erased")
    match fact:
        case events.AnswersErased():
            values["what"] = joined([term(each.value) for each in fact.what], ", ")
        case events.PlanProposed():
            values["people"] = n_people(len(fact.lines))
            values["coupons"] = n_coupons(sum(line.coupons for line in fact.lines))
        case events.PlanChanged():
            values["people"] = typed(fact.lines[0][0]) if len(fact.lines) == 1 else n_people(len(fact.lines))
        case events.CouponsOverridden():
            values["coupons"] = n_coupons(fact.coupons)
        case events.CouponsIssued():
            values["coupons"] = n_coupons(len(fact.codes))
        case events.RegistersStated():
            values |= {"users": len(fact.users), "contacts": len(fact.contacts)}
        case events.PaymentMade():
            values["amount"] = typed(shown_amount(fact.amount, fact.currency))
    return values


def _noted(fact: events.ActionNoted) -> dict[str, Any]:
    values: dict[str, Any] = {"imported": "?", "there_before": "?", "done": "", "role": "", "site": ""}
    values |= {name: visible(text) for name, text in fact.details}
    site = values["site"] or gettext("all sites")
    nameless = fact.action is Action.LOG_IN and not fact.subject
    subject: object = gettext("a name that nobody has") if nameless else typed(fact.subject)
    terms = {name: term(values[name]) for name in ("done", "role")}
    return values | terms | {"action": term(fact.action.value), "site": site, "subject": subject}


def changed_settings(before: Settings, after: Settings) -> list[tuple[str, str]]:
    """What a change of the settings changed, by name."""
    return _changed(plain_value(before), plain_value(after))


def details(event: Event, before: Settings | None = None) -> list[tuple[str, str]]:
    """The rest of what an event says, by name; `before` are the settings that a change replaced."""
    rows: list[tuple[str, str]] = []
    for each in fields(event.fact):
        if each.name in NOT_TOLD or each.name in ("arguments", "details"):
            continue
        if each.name == "reason" and isinstance(event.fact, events.RequestRefused):
            continue  # the sentence tells it
        value = getattr(event.fact, each.name)
        if value not in (None, "", ()):
            rows.append((term(each.name), visible(reason_words(value)) if each.name == "reason" else _shown(value)))
    rows += [(term(name), visible(text)) for name, text in getattr(event.fact, "details", ())]
    rows += [(term(name), visible(text)) for name, text in getattr(event.fact, "arguments", ())]
    if isinstance(event.fact, events.SettingsChanged) and before is not None:
        rows += _changed(plain_value(before), plain_value(event.fact.settings))
    stamp = event.stamp
    rows.append((gettext("clock of the device"), str(stamp.device_time or gettext("not told"))))
    rows.append((gettext("request"), stamp.request_key))
    return rows


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (term(name), gettext("{before} → {after}").format(before=_brief(before[name]), after=_brief(after[name])))
        for name in after
        if before.get(name) != after[name]
    ]


def _brief(value: Any) -> str:
    if isinstance(value, list):
        return visible(", ".join(map(_named, value))) or "–"  # noqa: RUF001
    return "–" if value is None else visible(str(value))  # noqa: RUF001


def _named(part: Any) -> str:
    """A question by its name, a text on coupons by its words, other parts of settings as they are."""
    if not isinstance(part, dict):
        return str(part)
    return str(part["name"]) if "name" in part else " / ".join(text for text in part.values() if text)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return visible(", ".join(_shown(each) for each in value))
    return term(value.value) if isinstance(value, Enum) else visible(str(value))


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

    def matching_events(self) -> QuerySet[models.Event]:
        """The events that fit, newest first; entries that make no sense are passed over."""
        rows = models.Event.objects.order_by("-number")
        entries = self.cleaned_data if self.is_valid() else getattr(self, "cleaned_data", {})
        for name in ("actor", "kind", "site"):
            if value := entries.get(name):
                rows = rows.filter(**{name: value})
        if (day := entries.get("day")) and 1900 <= day.year < 9000:  # other days may lie outside the calendar in UTC
            begins = timezone.make_aware(datetime.combine(day, time.min))
            rows = rows.filter(at__gte=begins, at__lt=begins + timedelta(days=1))
        code = entries.get("code", "")
        texts = [entries.get("person", "").strip(), code and (read_code(code) or foreign_code(code) or code)]
        for text in filter(None, texts):
            rows = rows.filter(GreaterThan(StrIndex("data", Value(json.dumps(text, ensure_ascii=False))), 0))
        return rows


def audit(request: HttpRequest) -> HttpResponse:
    """Everything that happened, with filters."""
    form = FilterForm(request.GET)
    found = form.matching_events()
    # Where texts are searched, they are searched once, and not again to count the events.
    searched = any(request.GET.get(name) for name in ("person", "code"))
    rows = list(found.values_list("pk", flat=True)) if searched else found
    page = list_page(request, rows, shown=models.Event.objects.all())
    sites = dict(models.Site.objects.values_list("site", "name"))
    context = {
        "form": form,
        "page": page,
        "lines": [_line(stored, sites) for stored in page.object_list],
        "filtered": any(request.GET.get(name) for name in form.fields),
    }
    return render(request, "screens/management/audit.html", context)


def _line(stored: models.Event, sites: dict[str, str]) -> dict[str, Any]:
    """An event as the list shows it; its site is empty for the whole study."""
    event = link_of(stored).event
    before = settings_before(number__lt=stored.number) if isinstance(event.fact, SettingsChanged) else None
    return {
        "stored": stored,
        "words": sentence(event),
        "details": details(event, before),
        "role": event.stamp.role.value,
        "site": sites.get(stored.site or "", stored.site),
    }


def settings_before(**limit: Any) -> Settings | None:
    """The settings as they were before a number (`number__lt`) or at a time (`at__lte`)."""
    kinds = ("study_begun", "settings_changed")
    stored = models.Event.objects.filter(kind__in=kinds, **limit).order_by("-number").first()
    event: Event | None = None if stored is None else link_of(stored).event
    fact = None if event is None else event.fact
    return fact.settings if isinstance(fact, StudyBegun | SettingsChanged) else None


def verify_page(request: HttpRequest) -> HttpResponse:
    """Compare every row with the events; what was found is noted in the audit with the hash of the last event."""
    form = RequestForm(request.POST or None)
    context: dict[str, Any] = {"form": RequestForm(), "n_events": models.Event.objects.count()}
    if request.method == "POST" and form.is_valid():
        result = verify()
        noted = (
            ("events", str(result.events)),
            ("head", result.head),
            ("whole", "yes" if result.whole and result.bound else "no"),
        )
        wish = NoteAction(Action.SEE_AUDIT, "verify", noted)
        answered = None if form.asked_before else form.ask(request, wish)
        if isinstance(answered, Refused):
            context |= refusal_words(answered.refusal)
        context["result"] = result
    return render(request, "screens/management/verify.html", context)
