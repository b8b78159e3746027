"""The settings of the study, changed with a reason; and its sites, which are added, never removed."""

import re
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Site
from peerfront.web.live.rules.codes import new_prefix
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.requests import AddSite, BeginStudy, ChangeSettings, Wish
from peerfront.web.live.rules.study_settings import MOST_QUESTIONS, Settings
from peerfront.web.live.screens.page_words import refusal_words
from peerfront.web.live.screens.settings_forms import (
    QuestionRows,
    Questions,
    SettingsForm,
    fingerprint,
    initial_of,
    rows_of,
)
from peerfront.web.live.screens.staff_requests import RequestForm

_FIRST = Settings(budget=300, cap=3)  # what a study that has not begun is shown


def settings_page(request: HttpRequest) -> HttpResponse:
    """Show the settings, add an empty row for a question, or change them."""
    row = DatabaseRecords().study()
    present = _FIRST if row is None else row.settings
    how: dict[str, Any] = {"begun": row is not None, "questions": present.questions, "initial": initial_of(present)}
    if request.method != "POST":
        return _page(request, SettingsForm(**how), QuestionRows(initial=rows_of(present.questions), prefix="questions"))
    if "add_row" in request.POST:
        return _page(request, *_with_empty_row(request.POST, how))
    form = SettingsForm(request.POST, **how)
    rows = cast(Questions, QuestionRows(request.POST, prefix="questions"))
    if not (form.is_valid() & rows.is_valid()):
        return _page(request, form, rows)
    if form.cleaned_data["shown"] not in ("", fingerprint(present)) and not form.asked_before:
        found = gettext("Somebody changed the settings after you opened this page. Nothing of yours is saved yet.")
        to_do = gettext("Open the settings again, look at what is new, and make your changes there.")
        return _page(request, form, rows, found=found, to_do=to_do)
    settings = form.settings(tuple(each.question() for each in rows.asked()))
    wish: Wish = (
        BeginStudy(settings, new_prefix()) if row is None else ChangeSettings(settings, form.cleaned_data["why"])
    )
    answered = form.ask(request, wish)
    if isinstance(answered, Accepted):
        messages.success(request, gettext("The settings are saved."))
        return redirect("settings")
    form.with_new_key()
    return _page(request, form, rows, **refusal_words(answered.refusal))


def _page(request: HttpRequest, form: SettingsForm, rows: Any, **more: Any) -> HttpResponse:
    return render(request, "screens/management/settings.html", {"form": form, "rows": rows} | more)


def _with_empty_row(entries: QueryDict, how: dict[str, Any]) -> tuple[SettingsForm, Any]:
    """Both forms as they were typed, not yet checked, with an empty row for a question at the end."""
    typed = how["initial"] | {name: entries.get(name, "") for name in SettingsForm.base_fields if name in entries}
    typed["plan_strata"] = entries.getlist("plan_strata")
    rows = []
    for number in range(min(_whole(entries.get("questions-TOTAL_FORMS", "")), MOST_QUESTIONS)):
        names = ("text", "name", "kind", "choices", "ORDER")
        row: dict[str, Any] = {name: entries.get(f"questions-{number}-{name}", "") for name in names}
        row["for_planning"] = f"questions-{number}-for_planning" in entries
        if f"questions-{number}-DELETE" not in entries:
            rows.append(row)
    rows.sort(key=lambda row: _whole(row["ORDER"]) or MOST_QUESTIONS)
    all_rows = QuestionRows(initial=[*rows, *rows_of((), blank=1)], prefix="questions")
    return SettingsForm(**how | {"initial": typed}), all_rows


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


class SiteForm(RequestForm):
    """A new site."""

    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("As people know it, such as North clinic."))
    short = forms.CharField(
        label=_("Short name"),
        max_length=40,
        help_text=_(
            "Letters, digits, - and _ without blanks, such as north. It stands in the exported data and stays."
        ),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"}),
    )

    def clean_short(self) -> str:
        short: str = self.cleaned_data["short"].strip()
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", short):
            raise forms.ValidationError(gettext("Use letters, digits, - and _ without blanks."))
        return short


def sites(request: HttpRequest) -> HttpResponse:
    """All sites, and a form for a new one."""
    form = SiteForm(request.POST or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        wish = AddSite(form.cleaned_data["short"], form.cleaned_data["name"].strip())
        answered = form.ask(request, wish)
        if isinstance(answered, Accepted):
            messages.success(request, gettext("The site is added."))
            return redirect("sites")
        context |= refusal_words(answered.refusal)
        form.with_new_key()
    context["places"] = Site.objects.annotate(
        n_people=Count("person", distinct=True), n_users=Count("member", distinct=True)
    )
    return render(request, "screens/management/sites.html", context)
