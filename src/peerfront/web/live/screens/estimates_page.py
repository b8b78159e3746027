"""Estimates: what the sample says about the population for one question, and which estimator is valid here.

They are worked out in a thread, one after the other, and kept for those who asked.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from django import forms
from django.db import connections
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from peerfront.foundation.errors import PeerfrontError
from peerfront.foundation.messages import Message, note
from peerfront.web.live.exporting import answer_columns, live_study, study_settings
from peerfront.web.live.records.database import link_of
from peerfront.web.live.records.models import Event
from peerfront.web.live.rules.actions import Action, Member
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.events import ActionNoted
from peerfront.web.live.rules.requests import NoteAction
from peerfront.web.live.rules.study_settings import QuestionKind, Settings
from peerfront.web.live.screens.page_frame import study_or_404
from peerfront.web.live.screens.page_words import refusal_words
from peerfront.web.live.screens.staff_requests import AtWork, RequestForm
from peerfront.web.pages.shown_estimates import shown_outcomes

log = logging.getLogger(__name__)
MOST_PEOPLE = 20_000
"""People of the largest study that a page estimates; larger ones are exported."""
BOOTSTRAPS = 1_000
_MOST_KEPT = 50


Order = Mapping[str, str]
"""What to estimate, as the audit notes it: questions by their names (outcome, by), and the population."""


@dataclass(frozen=True)
class Estimated:
    """The result: what `words.estimates.outcome_results` tells, and sentences on how it was estimated."""

    at: datetime
    people: int
    outcomes: list[dict[str, Any]]
    words: list[object]


@dataclass
class EstimateJob:
    """A piece of work: not ended, or with a result, or with what went wrong."""

    ended: threading.Event = field(default_factory=threading.Event)
    result: Estimated | None = None
    fault: Message | None = None


_jobs: OrderedDict[str, EstimateJob] = OrderedDict()
_lock = threading.Lock()
_one_at_a_time = threading.Lock()


def job_for(key: str, order: Order, wait: float) -> EstimateJob:
    """The work for a request, which begins when it is asked for first; wait for it at most this many seconds."""
    with _lock:
        job = _jobs.get(key)
        if job is None:
            job = _jobs[key] = EstimateJob()
            threading.Thread(target=_work, args=(job, order), name="estimates", daemon=True).start()
        while len(_jobs) > _MOST_KEPT:
            _jobs.popitem(last=False)
    job.ended.wait(wait)
    return job


def _work(job: EstimateJob, order: Order) -> None:
    try:
        with _one_at_a_time:
            job.result = estimated(order)
    except PeerfrontError as problem:
        job.fault = problem.message
    except Exception:
        log.exception("Estimates could not be worked out.")
        job.fault = note("live_estimates.defect")
    finally:
        connections.close_all()
        job.ended.set()


def estimated(order: Order) -> Estimated:
    """Estimate as `peerfront estimate` does from the export; strata are those by which plans gave out coupons."""
    from peerfront.foundation.errors import SettingError
    from peerfront.study.estimation import estimate
    from peerfront.words.estimates import common_lines, outcome_results

    study, settings = live_study(), study_settings()
    if len(study) > MOST_PEOPLE:
        raise SettingError("live_estimates.large_study", people=len(study), most=MOST_PEOPLE)
    columns = answer_columns(settings, ())
    estimates = estimate(
        study,
        columns[order["outcome"]],
        by=(columns[order["by"]],) if "by" in order else (),
        strata=[columns[name] for name in settings.plan_strata],
        population=int(order["population"]) if "population" in order else None,
        bootstraps=BOOTSTRAPS,
    )
    return Estimated(timezone.now(), len(study), outcome_results(estimates), common_lines(estimates))


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
    def order(self) -> Order:
        entries = {name: self.cleaned_data[name] for name in ("outcome", "by", "population")}
        return {name: str(entry) for name, entry in entries.items() if entry not in (None, _NOTHING)}


def estimates(request: HttpRequest) -> HttpResponse:
    """Ask for estimates, which the audit notes; the note names what was asked for, so its page can be loaded again."""
    study = study_or_404()
    member = cast(AtWork, request).member
    form = EstimateForm(study.settings, member, request.POST or None)
    context: dict[str, Any] = {"form": form, "questions": form.questions}
    if request.method == "POST" and form.is_valid():
        answered = form.ask(request, NoteAction(Action.SEE_ESTIMATES, "", tuple(form.order.items())))
        if isinstance(answered, Accepted):
            return redirect(f"{reverse('estimates')}?asked={form.cleaned_data['key']}")
        context |= refusal_words(answered.refusal)
        form.with_new_key()
    asked = request.GET.get("asked", "")
    if asked and request.method == "GET":
        order = _order(request, asked)
        job = job_for(asked, order, 0.0 if request.headers.get("X-Part") else _WAIT)
        if request.headers.get("X-Part"):
            return render(request, "screens/estimates_part.html", {"done": job.ended.is_set()})
        context["form"] = EstimateForm(study.settings, member, initial={"by": _NOTHING} | dict(order))
        text = {each.name: each.text for each in study.settings.questions}
        context |= {"asked": asked, "working": not job.ended.is_set(), "fault": job.fault, "result": job.result,
                    "question": text.get(order["outcome"], order["outcome"])}  # fmt: skip
        if job.result is not None:
            context["outcomes"] = shown_outcomes(job.result.outcomes)
    return render(request, "screens/estimates.html", context)


def _order(request: HttpRequest, asked: str) -> Order:
    """What somebody asked for, as the audit noted it; others cannot open the page by its address."""
    member = cast(AtWork, request).member
    stored = Event.objects.filter(request_key=asked, kind="action_noted", actor=member.name).first()
    fact = None if stored is None else link_of(stored).event.fact
    if not isinstance(fact, ActionNoted) or fact.action is not Action.SEE_ESTIMATES:
        raise Http404
    return dict(fact.details)
