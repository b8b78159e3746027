"""Estimates of a running study, worked out in a thread, one after the other, and kept for those who asked."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connections
from django.utils import timezone

from peerfront.foundation.errors import PeerfrontError
from peerfront.foundation.messages import Message, note
from peerfront.web.live.exporting import answer_columns, live_study, study_settings

log = logging.getLogger(__name__)
MOST_PEOPLE = 20_000
"""People of the largest study that a page estimates; larger ones are exported."""
BOOTSTRAPS = 1_000
_MOST_KEPT = 50


@dataclass(frozen=True)
class EstimateOrder:
    """What to estimate: questions by their names."""

    outcome: str
    by: str = ""
    population: int | None = None

    @property
    def details(self) -> tuple[tuple[str, str], ...]:
        """For the note of the audit."""
        entries = {"outcome": self.outcome, "by": self.by, "population": str(self.population or "")}
        return tuple((name, text) for name, text in entries.items() if text)

    @classmethod
    def of(cls, details: Mapping[str, str]) -> "EstimateOrder":
        population = details.get("population", "")
        return cls(details.get("outcome", ""), details.get("by", ""), int(population) if population else None)


@dataclass(frozen=True)
class Estimated:
    """The result: a row for each group, category and estimator, and sentences."""

    at: datetime
    people: int
    numeric: bool
    best: str | None
    rows: tuple[dict[str, Any], ...]
    words: tuple[object, ...]
    """Sentences, in the language in use when they are shown."""


@dataclass
class EstimateJob:
    """A piece of work: not ended, or with a result, or with what went wrong."""

    ended: threading.Event = field(default_factory=threading.Event)
    result: Estimated | None = None
    fault: Message | None = None


_jobs: OrderedDict[str, EstimateJob] = OrderedDict()
_lock = threading.Lock()
_one_at_a_time = threading.Lock()


def job_for(key: str, order: EstimateOrder, wait: float) -> EstimateJob:
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


def _work(job: EstimateJob, order: EstimateOrder) -> None:
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


def estimated(order: EstimateOrder) -> Estimated:
    """Estimate as `peerfront estimate` does from the export; strata are those by which plans gave out coupons."""
    from peerfront.foundation.errors import SettingError
    from peerfront.study.estimation import estimate

    study, settings = live_study(), study_settings()
    if len(study) > MOST_PEOPLE:
        raise SettingError("live_estimates.large_study", people=len(study), most=MOST_PEOPLE)
    columns = answer_columns(settings, ())
    estimates = estimate(
        study,
        columns[order.outcome],
        by=(columns[order.by],) if order.by else (),
        strata=[columns[name] for name in settings.plan_strata],
        population=order.population,
        bootstraps=BOOTSTRAPS,
    )
    (one,) = estimates.outcomes
    rows = tuple({str(name): value for name, value in row.items()} for row in estimates.table.to_dict("records"))
    lines = tuple(estimates.lines())
    return Estimated(timezone.now(), len(study), one.outcome.numeric, one.verdict.best, rows, lines)
