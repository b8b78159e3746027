"""The settings of the study with the questions of its interview, changed with a reason; and its sites, which stay.

The forms are made from `rules.study_settings.Settings`, and become such settings.
"""

import re
from dataclasses import asdict, replace
from decimal import Decimal
from functools import cache
from typing import Any, cast
from zoneinfo import available_timezones

from django import forms
from django.conf import settings as django_settings
from django.contrib import messages
from django.db.models import Count
from django.forms.formsets import BaseFormSet
from django.forms.utils import flatatt
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.operations.study_files import question_name
from peerfront.web.live.planning.kept_models import Compared, KeptModel
from peerfront.web.live.records.database import DatabaseRecords, link_of
from peerfront.web.live.records.models import Event, Member, Person, Site
from peerfront.web.live.records.recording import clock_state
from peerfront.web.live.rules.codes import new_prefix
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.events import SettingsChanged
from peerfront.web.live.rules.refusals import Reason
from peerfront.web.live.rules.requests import AcceptClock, AddSite, BeginStudy, ChangeSettings, Wish
from peerfront.web.live.rules.study_rules import fingerprint
from peerfront.web.live.rules.study_settings import LONGEST_TEXT, MOST_QUESTIONS, Question, QuestionKind, Settings
from peerfront.web.live.screens.audit import changed_settings, settings_before
from peerfront.web.live.screens.form_pages import PageForm, why_field
from peerfront.web.live.screens.page_frame import study_or_404, time_text
from peerfront.web.live.screens.page_words import decimals, refusal_words
from peerfront.web.live.screens.staff_requests import RequestForm

GROUPS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (_("The study"), ("name", "timezone", "target", "deadline")),
    (_("Coupons"), ("budget", "cap", "valid_days", "active_after_days")),
    (_("Payments"), ("currency", "interview_payment", "recruiting_payment")),
    (_("Plans"), ("at_least_one", "rounds", "plan_strata", "plan_randomise")),
    (_("Clocks of tablets"), ("clock_ahead_minutes", "clock_behind_hours")),
)
"""Fields of the form under their headings: all settings but the questions."""
_PAYMENTS = ("interview_payment", "recruiting_payment")
_YES, _NO = "yes", "no"


def _is_yes(text: str) -> bool:
    return text == _YES


@cache
def _zones() -> list[str]:
    """Names of time zones, by place; reading them from the disk takes a while."""
    return sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))


class LongSelect(forms.Select):
    """A list of some hundred options, written at once: Django's own asks for a template for each."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        options = [(key, mark_safe(" selected") if key == value else "", label) for key, label in self.choices]
        own, listed = flatatt(self.build_attrs(self.attrs, attrs)), '<option value="{}"{}>{}</option>'
        return format_html('<select name="{}"{}>{}</select>', name, own, format_html_join("", listed, options))


class SettingsForm(RequestForm):
    """All settings but the questions."""

    shown = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)
    """The fingerprint of the settings that the page showed, so that no change made meanwhile is undone."""

    name = forms.CharField(label=_("Name of the study"), max_length=100, help_text=_("On pages, coupons and reports."))
    timezone = forms.ChoiceField(label=_("Time zone"), help_text=_("Days on coupons are days here."), widget=LongSelect)
    target = forms.IntegerField(label=_("People wanted in all"), required=False, min_value=1)
    deadline = forms.DateField(
        label=_("Last day of recruitment"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    budget = forms.IntegerField(label=_("Coupons for the whole study"), help_text=_("Codes of seeds do not count."))
    cap = forms.IntegerField(label=_("Most coupons for one person"), min_value=1)
    valid_days = forms.IntegerField(
        label=_("Days on which a coupon is valid"), help_text=_("Coupons handed out already keep their days.")
    )
    active_after_days = forms.IntegerField(
        label=_("Days until a coupon becomes valid"), help_text=_("0: on the day on which it is handed out.")
    )
    currency = forms.CharField(label=_("Currency"), max_length=3, help_text=_("Three capital letters, such as EUR."))
    interview_payment = forms.DecimalField(
        label=_("For an interview"), help_text=_("0 if nothing is paid."), max_digits=15
    )
    recruiting_payment = forms.DecimalField(
        label=_("For each recruit"), help_text=_("To the person who gave the coupon."), max_digits=15
    )
    at_least_one = forms.TypedChoiceField(
        label=_("Everybody gets at least one coupon, while coupons last"),
        required=False,
        empty_value=None,
        coerce=_is_yes,
        choices=[("", _("not decided yet")), (_NO, _("no: as plans find best")), (_YES, _("yes"))],
        help_text=_("Somebody who gets none stays on the list for the next plan. Each plan says what one each costs."),
    )
    rounds = forms.IntegerField(label=_("Rounds that plans look ahead"), help_text=_("This one included. 5 is usual."))
    plan_strata = forms.MultipleChoiceField(
        label=_("Groups in which everybody is planned alike"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Groups by the answers to these questions keep estimates valid. New questions can be chosen once they are"
            " saved."
        ),
    )
    plan_randomise = forms.DecimalField(
        label=_("Share of people who get a random number of coupons, in percent"),
        min_value=0,
        max_value=50,
        help_text=_("From them the study learns what a coupon does. 0: nobody."),
    )
    clock_ahead_minutes = forms.IntegerField(label=_("Refuse a tablet whose clock is ahead by more minutes than"))
    clock_behind_hours = forms.IntegerField(label=_("Refuse what was recorded more hours ago than"))
    why = forms.CharField(
        label=_("Reason for the change"), max_length=LONGEST_TEXT, help_text=_("It stays in the audit."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )  # fmt: skip

    def __init__(self, *args: Any, begun: bool, questions: tuple[Question, ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        present = self.initial.get("timezone", "UTC")
        cast(forms.ChoiceField, self.fields["timezone"]).choices = [
            (name, name.replace("_", " ")) for name in dict.fromkeys(["UTC", present, *_zones()])
        ]
        names = [(each.name, f"{each.name}: {each.text}") for each in questions]
        cast(forms.MultipleChoiceField, self.fields["plan_strata"]).choices = names
        if not names:
            del self.fields["plan_strata"]
        if not begun:
            del self.fields["why"]

    def clean(self) -> dict[str, Any]:
        entries = cast(dict[str, Any], super().clean())
        places = decimals(str(entries.get("currency", "")).strip().upper())
        for name in _PAYMENTS:
            amount: Decimal | None = entries.get(name)
            if amount is not None and amount != round(amount, places):
                words = gettext("This currency has at most {places} digits after the point.")
                self.add_error(name, words.format(places=places))
        return entries

    def groups(self) -> list[tuple[Any, list[forms.BoundField]]]:
        """The fields under their headings."""
        return [(heading, [self[name] for name in names if name in self.fields]) for heading, names in GROUPS]

    def settings(self, present: Settings, questions: tuple[Question, ...]) -> Settings:
        """The present settings with what was typed; the rules judge it."""
        entries = {name: self.cleaned_data[name] for _, names in GROUPS for name in names if name in self.fields}
        currency = entries["currency"].strip().upper()
        asked = {each.name for each in questions}
        payments = {name: entries[name].scaleb(decimals(currency)) for name in _PAYMENTS}
        return replace(
            present,
            **entries
            | {name: int(payment.to_integral_value()) for name, payment in payments.items()}
            | {
                "currency": currency,
                "name": entries["name"].strip(),
                "questions": questions,
                "plan_strata": tuple(name for name in entries.get("plan_strata", ()) if name in asked),
                "plan_randomise": float(entries["plan_randomise"] / 100),
            },
        )


def initial_of(settings: Settings) -> dict[str, Any]:
    """What the form shows at first."""
    places = decimals(settings.currency)
    fields = {name: getattr(settings, name) for _, names in GROUPS for name in names}
    return (
        fields
        | {name: Decimal(fields[name]).scaleb(-places) for name in _PAYMENTS}
        | {
            "shown": fingerprint(settings),
            "plan_randomise": Decimal(str(round(settings.plan_randomise * 100, 6))).normalize().__format__("f"),
            "plan_strata": list(settings.plan_strata),
            "at_least_one": {None: "", True: _YES, False: _NO}[settings.at_least_one],
        }
    )


class QuestionForm(forms.Form):
    """One question of the interview."""

    text = forms.CharField(label=_("Question, as it is asked"), max_length=LONGEST_TEXT, required=False)
    name = forms.CharField(
        label=_("Name of the column"), max_length=40, required=False,
        help_text=_("Small letters, digits and _. Made from the question if it is empty."),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"}),
    )  # fmt: skip
    kind = forms.ChoiceField(
        label=_("Answered by"),
        choices=[
            (QuestionKind.CHOICE.value, _("choosing one of several")),
            (QuestionKind.NUMBER.value, _("a number")),
            (QuestionKind.TEXT.value, _("words")),
        ],
    )
    choices = forms.CharField(
        label=_("Choices, one on each line"), required=False, widget=forms.Textarea(attrs={"rows": 4})
    )
    for_planning = forms.BooleanField(
        label=_("Plans may use the answers"), required=False, initial=True,
        help_text=_("Leave sensitive questions out unless there is a reason."),
    )  # fmt: skip

    @property
    def is_blank(self) -> bool:
        entries = getattr(self, "cleaned_data", {})
        return not any(entries.get(name, "").strip() for name in ("text", "name", "choices"))

    def question(self) -> Question:
        entries = self.cleaned_data
        kind = QuestionKind(entries["kind"])
        lines = [line.strip() for line in entries["choices"].splitlines() if line.strip()]
        choices = tuple(dict.fromkeys(lines)) if kind is QuestionKind.CHOICE else ()
        text = entries["text"].strip()
        return Question(entries["name"].strip() or question_name(text), text, kind, choices, entries["for_planning"])

    def clean(self) -> dict[str, Any]:
        entries = cast(dict[str, Any], super().clean())
        if self.errors or self.is_blank or entries.get("DELETE"):
            return entries
        errors = {
            "question_name": (
                "name",
                gettext("Give a short name: small letters, digits and _, beginning with a letter."),
            ),
            "question_text": ("text", gettext("Write the question as it is asked.")),
            "choices": ("choices", gettext("Give at least two different choices, each of at most 100 characters.")),
        }
        if fault := self.question().fault:
            self.add_error(*errors[fault])
        return entries


class Questions(BaseFormSet):  # type: ignore[type-arg]
    """All rows of questions."""

    def add_fields(self, form: QuestionForm, index: int | None) -> None:
        super().add_fields(form, index)
        form.fields["ORDER"].label = gettext("Place in the interview")
        form.fields["DELETE"].label = gettext("Remove this question")

    def clean(self) -> None:
        names = [each.question().name for each in self.asked()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise forms.ValidationError(
                gettext("Two questions have the same name: {names}.").format(names=", ".join(twice))
            )

    def asked(self) -> list[QuestionForm]:
        """Rows that are filled in and stay, in their order."""
        rows = [
            form for form in self.forms if form.is_valid() and not form.is_blank and not form.cleaned_data.get("DELETE")
        ]
        return sorted(rows, key=lambda form: form.cleaned_data.get("ORDER") or MOST_QUESTIONS)


QuestionRows = forms.formset_factory(
    QuestionForm, formset=Questions, extra=0, can_delete=True, can_order=True, max_num=MOST_QUESTIONS,
    absolute_max=MOST_QUESTIONS + 1,
)  # fmt: skip


def rows_of(questions: tuple[Question, ...]) -> list[dict[str, Any]]:
    """What the rows show at first."""
    return [asdict(each) | {"choices": "\n".join(each.choices)} for each in questions]


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
    shown = form.cleaned_data["shown"]
    settings = form.settings(present, tuple(each.question() for each in rows.asked()))
    wish: Wish = (
        BeginStudy(settings, new_prefix(), django_settings.KEYS.checks)
        if row is None
        else ChangeSettings(settings, form.cleaned_data["why"], shown)
    )
    answered = form.ask(request, wish)
    if isinstance(answered, Accepted):
        messages.success(request, gettext("The settings are saved."))
        return redirect("settings")
    form.with_new_key()
    return _page(request, form, rows, **refused_change(shown, answered))


_MOST_CHANGES = 20  # that are shown


def refused_change(shown: str, answered: Refused) -> dict[str, Any]:
    """Why a change of the settings is refused; and what others changed after the page was opened, newest first."""
    changes = []
    if answered.refusal.reason is Reason.SETTINGS_CHANGED:
        for stored in Event.objects.filter(kind="settings_changed").order_by("-number")[:_MOST_CHANGES]:
            fact, before = link_of(stored).event.fact, settings_before(number__lt=stored.number)
            assert isinstance(fact, SettingsChanged)
            assert before is not None, "the study began with settings"
            changes.append({"event": stored, "why": fact.why, "rows": changed_settings(before, fact.settings)})
            if fingerprint(before) == shown:
                break
    return refusal_words(answered.refusal) | {"changes": changes}


def _page(request: HttpRequest, form: SettingsForm, rows: Any, **more: Any) -> HttpResponse:
    if price := _price_of_one_each():
        values = {"recruits": f"{price.recruits:.0f}", "plan": f"{price.recruits + price.lead:.0f}"}
        form.fields["at_least_one"].help_text = (
            gettext("The newest plan expects %(plan)s recruits, and %(recruits)s with at least one each.") % values
        )
    return render(request, "screens/management/settings.html", {"form": form, "rows": rows} | more)


def _price_of_one_each() -> Compared | None:
    """What the newest plan says about at least one coupon each."""
    study = DatabaseRecords().study()
    plan = None if study is None else DatabaseRecords().plan(study.last_plan)
    summary = None if plan is None else KeptModel(plan.model).plan(plan.seed).summary
    return None if summary is None or summary.expected is None else summary.expected.one_each


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
    all_rows = QuestionRows(initial=[*rows, {"for_planning": True, "kind": QuestionKind.CHOICE}], prefix="questions")
    return SettingsForm(**how | {"initial": typed}), all_rows


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


class ClockForm(PageForm):
    """The server's clock, and the manager's word that it is right."""

    title = _("Clock of the server")
    lead = _(
        "Times of all records are those of the server's clock. If it jumps, nothing more is recorded until it is put"
        " right, or until somebody who compared it with another clock says here that it is right."
    )
    button = _("The clock is right: go on by it")
    done = _("What comes is recorded by this clock.")
    back_label = _("Settings")
    danger = True

    why = why_field()

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.study, self.names, self.back = study_or_404(), {}, reverse("settings")

    def facts(self) -> list[tuple[str, object]]:
        state = clock_state()
        times = [(gettext("It says"), state.now), (gettext("Last record"), state.last_time)]
        if state.expected is not None:
            times.append((gettext("By the time that has passed it should say"), state.expected))
        fault = refusal_words(state.fault).get("found") or gettext("Nothing speaks against it.")
        zone = self.study.settings.timezone
        shown = [(name, f"{time_text(self.study, at)} ({zone})") for name, at in times]
        return [*shown, (gettext("Finding"), fault)]

    def wish(self) -> AcceptClock:
        return AcceptClock(self.cleaned_data["why"])


class SiteForm(RequestForm):
    """A new site."""

    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("As people know it, such as North clinic."))
    short = forms.CharField(
        label=_("Short name"),
        max_length=40,
        help_text=_(
            "Letters, digits, - and _ without blanks, such as north. It stands in the exported data and stays."
        ),
        widget=forms.TextInput(attrs={"autocapitalize": "none"}),
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
    people, users = (
        dict(table.objects.order_by().values_list("site").annotate(Count("pk"))) for table in (Person, Member)
    )
    context["places"] = [(each, people.get(each.site, 0), users.get(each.site, 0)) for each in Site.objects.all()]
    return render(request, "screens/management/sites.html", context)
