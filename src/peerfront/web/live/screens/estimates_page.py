"""Estimates: what the sample says about the population for one question, and which estimator is valid here."""

import math
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.database import link_of
from peerfront.web.live.records.models import Event
from peerfront.web.live.rules.actions import Action, Member
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.events import ActionNoted
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.rules.study_settings import QuestionKind, Settings
from peerfront.web.live.screens.estimate_jobs import Estimated, EstimateOrder, job_for
from peerfront.web.live.screens.page_words import found_and_to_do
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm, ask_with
from peerfront.web.live.screens.visibility import study_or_404, time_text

_WAIT = 4.0  # seconds before a page says that it is being worked out
_NOTHING = "-"
LARGEST_POPULATION = 100_000_000


class EstimateForm(RequestForm):
    outcome = forms.ChoiceField(label=_("Question"))
    by = forms.ChoiceField(label=_("Also for each answer to"))
    population = forms.IntegerField(
        label=_("People in the population"),
        help_text=_("How many people the study is about, whether they take part or not."),
        min_value=1,
        max_value=LARGEST_POPULATION,
        required=False,
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )

    def __init__(self, settings: Settings, member: Member, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # Estimates of free text show what people of all sites wrote, so they are not for a role for one site.
        self.questions = [
            each for each in settings.questions if each.kind is not QuestionKind.TEXT or member.covers(None)
        ]
        asked = [(each.name, each.text) for each in self.questions]
        choices = [(each.name, each.text) for each in settings.questions if each.kind is QuestionKind.CHOICE]
        cast(forms.ChoiceField, self.fields["outcome"]).choices = asked
        cast(forms.ChoiceField, self.fields["by"]).choices = [(_NOTHING, _("Nothing else")), *choices]

    @property
    def order(self) -> EstimateOrder:
        entries = self.cleaned_data
        by = "" if entries["by"] == _NOTHING else entries["by"]
        return EstimateOrder(entries["outcome"], by, entries["population"])


@dataclass(frozen=True)
class ShownEstimate:
    """A row of the table."""

    what: str
    group: str
    estimator: str
    estimate: str
    interval: str
    off_by: str
    why: str
    best: bool
    valid: bool


def estimates(request: HttpRequest) -> HttpResponse:
    """Ask for estimates, which the audit notes; the note names what was asked for, so its page can be loaded again."""
    study = study_or_404()
    member = cast(AtWork, request).member
    form = EstimateForm(study.settings, member, request.POST or None)
    context: dict[str, Any] = {"form": form, "questions": form.questions}
    if request.method == "POST" and form.is_valid():
        answered = ask_with(form, request, NoteAction(Action.SEE_ESTIMATES, "", form.order.details))
        if isinstance(answered, Accepted):
            return redirect(f"{reverse('estimates')}?asked={form.cleaned_data['key']}")
        context["found"], context["to_do"] = found_and_to_do(answered.refusal)
        form.with_new_key()
    asked = request.GET.get("asked", "")
    if asked and request.method == "GET":
        order = _order(request, asked)
        job = job_for(asked, order, 0.0 if request.headers.get("X-Part") else _WAIT)
        if request.headers.get("X-Part"):
            return render(request, "screens/estimates_part.html", {"done": job.ended.is_set()})
        context["form"] = EstimateForm(
            study.settings,
            member,
            initial={"outcome": order.outcome, "by": order.by or _NOTHING, "population": order.population},
        )
        text = {each.name: each.text for each in study.settings.questions}
        context |= {"asked": asked, "working": not job.ended.is_set(), "fault": job.fault, "result": job.result,
                    "question": text.get(order.outcome, order.outcome)}  # fmt: skip
        if job.result is not None:
            rows = _rows(job.result)
            at = time_text(study, job.result.at)
            context |= {"rows": rows, "has_bias": any(row.off_by for row in rows), "at": at}
    return render(request, "screens/estimates.html", context)


def _order(request: HttpRequest, asked: str) -> EstimateOrder:
    """What somebody asked for, as the audit noted it; others cannot open the page by its address."""
    member = cast(AtWork, request).member
    stored = Event.objects.filter(request_key=asked, kind="action_noted", actor=member.name).first()
    fact = None if stored is None else link_of(stored).event.fact
    if not isinstance(fact, ActionNoted) or fact.action is not Action.SEE_ESTIMATES:
        raise Http404
    return EstimateOrder.of(dict(fact.details))


def _rows(result: Estimated) -> list[ShownEstimate]:
    return [
        ShownEstimate(
            what=gettext("Mean") if result.numeric else str(row["category"]),
            group="" if row["group"] == "everybody" else str(row["group"]),
            estimator=str(row["estimator"]),
            estimate=_shown(row["estimate"], result.numeric),
            interval=_interval(row["low"], row["high"], result.numeric),
            off_by=_off(row["likely_bias"], result.numeric),
            why=str(row["why"] or ""),
            best=row["estimator"] == result.best,
            valid=bool(row["valid"]),
        )
        for row in result.rows
    ]


def _shown(value: float, numeric: bool) -> str:
    if math.isnan(value):
        return ""
    shown = value if numeric else 100 * value
    return f"{number_format(round(shown, 1), decimal_pos=1, use_l10n=True)}{'' if numeric else chr(0xA0) + '%'}"


def _interval(low: float, high: float, numeric: bool) -> str:
    if math.isnan(low) or math.isnan(high):
        return ""
    return gettext("%(low)s to %(high)s") % {"low": _shown(low, numeric), "high": _shown(high, numeric)}


def _off(bias: float, numeric: bool) -> str:
    if math.isnan(bias):
        return ""
    sign = "+" if bias > 0 else ""
    return sign + _shown(bias, numeric)
