"""The settings of the study: shown, changed with a reason; questions are edited row by row, without scripts."""

from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.codes import new_prefix
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.requests import BeginStudy, ChangeSettings, Wish
from peerfront.web.live.rules.study_settings import MOST_QUESTIONS, Settings
from peerfront.web.live.screens.form_pages import ask_whole, asked_before
from peerfront.web.live.screens.page_words import found_and_to_do
from peerfront.web.live.screens.settings_forms import (
    QuestionRows,
    Questions,
    SettingsForm,
    fingerprint,
    initial_of,
    rows_of,
)

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
    if form.cleaned_data["shown"] not in ("", fingerprint(present)) and not asked_before(form):
        found = gettext("Somebody changed the settings after you opened this page. Nothing of yours is saved yet.")
        to_do = gettext("Open the settings again, look at what is new, and make your changes there.")
        return _page(request, form, rows, found=found, to_do=to_do)
    settings = form.settings(tuple(each.question() for each in rows.asked()))
    wish: Wish = (
        BeginStudy(settings, new_prefix()) if row is None else ChangeSettings(settings, form.cleaned_data["why"])
    )
    answered = ask_whole(form, request, wish)
    if isinstance(answered, Accepted):
        messages.success(request, gettext("The settings are saved."))
        return redirect("settings")
    form.with_new_key()
    found, to_do = found_and_to_do(answered.refusal)
    return _page(request, form, rows, found=found, to_do=to_do)


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
