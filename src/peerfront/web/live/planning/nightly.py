"""A plan each night: a thread of the server starts it at an hour at which nobody works with the last plan.

With several server processes each has such a thread; the database lets one of them start the job.
"""

import logging
import threading
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db import connections
from django.utils import timezone

from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.planning.arrival_plans import warm_up_in_background
from peerfront.web.live.planning.planning_inputs import is_over, today_of
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Event, Person, Plan, PlanningJob

log = logging.getLogger(__name__)
BEGINS = time(2, 0)
"""In the time zone of the study."""
LASTS = timedelta(hours=3)
"""A server that was off during these hours waits for the next night, so that no plan changes while people work."""
QUIET_FOR = timedelta(days=180)
"""A study in which nothing was recorded for longer gets no plan. So a server whose clock jumps ahead does not record
one by itself either: until that time had come, nothing could be recorded after it."""
LOOKS_EVERY = 60.0  # seconds


def due(now: datetime) -> bool:
    """Whether tonight's plan is due: the hour has come, there is none yet, and something happened since the last one.

    It is never due while nobody takes part, or after the last day of recruitment, because it could only fail.
    """
    study = DatabaseRecords().study()
    if study is None or now - study.last_time > QUIET_FOR:
        return False
    if is_over(study.settings, today_of(study.settings, now)) or not Person.objects.exists():
        return False
    local = now.astimezone(ZoneInfo(study.settings.timezone))
    begins = datetime.combine(local.date(), BEGINS, local.tzinfo)
    if not begins <= local < begins + LASTS:
        return False
    if PlanningJob.objects.filter(asked_by=jobs.NIGHTLY, asked_at__gte=begins).exists():
        return False
    last = Plan.objects.order_by("-plan").values_list("proposed_at", flat=True).first()
    return last is None or Event.objects.filter(at__gt=last).exists()


def run_if_due(now: datetime | None = None) -> PlanningJob | None:
    """Start tonight's job if it is due; None if it is not, or another job is under way."""
    at = now or timezone.now()
    if not due(at):
        return None
    try:
        return jobs.ask_for_plan(jobs.NIGHTLY, if_still=lambda: due(at))
    except jobs.PlanningBusy:
        return None


class Nightly:
    """The thread; `stop` ends it."""

    def __init__(self) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="nightly plan", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(LOOKS_EVERY):
            try:
                run_if_due()
                jobs.settle()
            except Exception:  # the database may be unreachable for a while
                log.exception("Whether a plan is due could not be looked up.")
            finally:
                connections.close_all()


def start() -> Nightly:
    """Start the thread that checks every minute whether a plan is due, and warm up the approved model."""
    warm_up_in_background()
    return Nightly()
