"""Planning jobs: at most one at a time, each in a process of its own, so that the site stays usable.

Processes communicate only through the row of a job (`PlanningJob`). The worker writes a heartbeat every few seconds; a
job whose process ended without a result, or has had no heartbeat for long, has failed. A job that somebody stopped ends
at the worker's next heartbeat.

A thread of the server asks for a plan each night, at an hour at which nobody works with the last plan. With several
server processes each has such a thread; the database lets one of them start the job.
"""

import json
import logging
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db import OperationalError, connections, transaction
from django.utils import timezone

from peerfront.foundation.errors import PeerfrontError
from peerfront.foundation.messages import Message, note
from peerfront.web.live.folder import FOLDER, WithoutPersonalData
from peerfront.web.live.planning.arrival_plans import warm_up_in_background
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL, KeptModel, forget_models, live_folder
from peerfront.web.live.planning.planning_inputs import is_over, numbers_of, today_of
from peerfront.web.live.records.database import DatabaseRecords, member_from, one_at_a_time
from peerfront.web.live.records.models import Event, Person, Plan, PlanningJob
from peerfront.web.live.records.models import Member as StoredMember
from peerfront.web.live.rules.actions import Action, Member, Role
from peerfront.words.stored_text import as_data, from_data

log = logging.getLogger(__name__)
NIGHTLY = "nightly plan"
"""Who asks for the plans that nobody asks for."""
EFFORT = "PEERFRONT_LIVE_EFFORT"
"""The environment variable that scales how much is simulated for a fit; 1 is usual, 0.1 a first look."""
WAITING, RUNNING, DONE, FAILED, STOPPED = "waiting", "running", "done", "failed", "stopped"
UNDER_WAY = (WAITING, RUNNING)
SILENT_FOR = timedelta(seconds=120)
"""A job that was not heard of for longer has failed."""
HEARTBEAT = 2.0  # seconds between two heartbeats
NICER = 10
"""How far a worker steps back behind those who serve the site."""
NIGHT_BEGINS = time(2, 0)
"""In the time zone of the study."""
NIGHT_LASTS = timedelta(hours=3)
"""A server that was off during these hours waits for the next night, so that no plan changes while people work."""
QUIET_FOR = timedelta(days=180)
"""A study in which nothing was recorded for longer gets no plan; so a server whose clock jumped far ahead asks for none
by itself."""
LOOKS_EVERY = 60.0  # seconds between two looks whether a nightly plan is due
LARGEST_SEED = 2**31 - 1
DIED, SILENT = note("live_planning.process_died"), note("live_planning.process_silent")
_JOBS = 0x706C616E  # number of the PostgreSQL lock for starting a job
_LOGS_KEPT = 20
_PLANS_KEPT = 10  # newest plans whose models stay, approved or not
_processes: dict[int, subprocess.Popen[bytes]] = {}


class PlanningBusy(PeerfrontError):
    """A plan is being made already."""


class NotAllowed(PeerfrontError):
    """This user may not propose a plan for the whole study."""


def ask_for_plan(asked_by: str, *, if_still: Callable[[], bool] | None = None) -> PlanningJob:
    """Start a job for a user who may propose plans; refuse while another one is under way.

    `if_still` is called under the lock, and says whether the job is still wanted.
    """
    member = member_named(asked_by)
    if member is None or not member.may(Action.PROPOSE_PLAN, own_site=member.covers(None)):
        raise NotAllowed("live_planning.may_not_propose", name=asked_by)
    return _start(asked_by, if_still=if_still)


def look_again_if_changed(number: int, asked_by: str) -> PlanningJob | None:
    """Start to work out what to expect of a plan some of whose numbers were chosen by hand.

    None if that is known, if the plan has no model, or while another plan is being made.
    """
    plan = Plan.objects.get(plan=number)
    summary = KeptModel(plan.model).plan(plan.seed).summary
    if summary is None or plan.model == SAME_FOR_ALL or summary.by_hand == numbers_of(plan)[1]:
        return None
    try:
        return _start(asked_by, plan)
    except PlanningBusy:
        return None


def _start(asked_by: str, plan: Plan | None = None, *, if_still: Callable[[], bool] | None = None) -> PlanningJob:
    """Start a job that makes a plan, or looks again at one; a job that looks again gives way to it."""
    with transaction.atomic():
        one_at_a_time(_JOBS)
        settle()
        for each in PlanningJob.objects.filter(state__in=UNDER_WAY, plan__isnull=False):
            stop(each)
        if under_way() is not None or (if_still is not None and not if_still()):
            raise PlanningBusy("live_planning.busy")
        job = PlanningJob.objects.create(asked_by=asked_by, asked_at=timezone.now(), state=WAITING, plan=plan)
    try:
        start_worker(job)
    except OSError as problem:
        _fail(job.pk, note("live_planning.cannot_start", problem=str(problem)))
    return job


def under_way() -> PlanningJob | None:
    """The job that is waiting or running, if there is one."""
    return PlanningJob.objects.filter(state__in=UNDER_WAY).order_by("-pk").first()


def newest() -> PlanningJob | None:
    """The newest job, with dead jobs marked as failed."""
    settle()
    return PlanningJob.objects.order_by("-pk").first()


def stop(job: PlanningJob) -> bool:
    """Stop a job; return whether it was under way."""
    stopped = PlanningJob.objects.filter(pk=job.pk, state__in=UNDER_WAY).update(
        state=STOPPED, ended_at=timezone.now(), step=""
    )
    return stopped == 1


def settle(now: datetime | None = None) -> None:
    """Mark dead jobs as failed: at once if this process started them, else after a while without heartbeat."""
    now = now or timezone.now()
    for number, process in list(_processes.items()):
        if process.poll() is not None:
            _fail(number, DIED)
            _processes.pop(number, None)
    for job in PlanningJob.objects.filter(state__in=UNDER_WAY):
        if now - (job.seen_at or job.asked_at) > SILENT_FOR:
            _fail(job.pk, SILENT)


def member_named(name: str) -> Member | None:
    """The member with this user name; the nightly plan acts as a coordinator of the whole study."""
    if name == NIGHTLY:
        return Member(NIGHTLY, (Role.COORDINATOR,), None)
    stored = StoredMember.objects.filter(user__username=name, user__is_active=True).select_related("user").first()
    return None if stored is None else member_from(stored)


def start_worker(job: PlanningJob) -> None:
    """Start the process of a job, independent of this one; its output goes to a file of its own."""
    folder = live_folder()
    folder.logs.mkdir(exist_ok=True)
    for old in sorted(folder.logs.glob("planning-*.log"), key=lambda path: path.stat().st_mtime)[:-_LOGS_KEPT]:
        old.unlink(missing_ok=True)
    code = f"import django; django.setup(); from {__name__} import run_alone; run_alone({job.pk})"
    with (folder.logs / f"planning-{job.pk}.log").open("ab") as output:
        _processes[job.pk] = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={
                **os.environ, FOLDER: str(folder.path), "DJANGO_SETTINGS_MODULE": "peerfront.web.live.django_settings",
            },
        )  # fmt: skip


def run_alone(job_id: int) -> None:
    """Do the work of a job in a process of its own."""
    if hasattr(os, "nice"):
        os.nice(max(NICER - os.nice(0), 0))
    handler = logging.StreamHandler()
    handler.setFormatter(WithoutPersonalData("%(asctime)sZ %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    try:
        run(job_id)
    except Exception:  # such as a lost database; Python's own traceback might quote somebody's entry
        log.exception("Job %s could not be ended.", job_id)
        sys.exit(1)


def run(job_id: int) -> None:
    """Do the work of a job."""
    began = PlanningJob.objects.filter(pk=job_id, state=WAITING).update(state=RUNNING, seen_at=timezone.now())
    if not began:
        log.info("Job %d is not waiting any more.", job_id)
        return
    heart = _Heart(job_id)
    heart.start()
    try:
        _work(job_id, heart)
    except _Stopped:
        log.info("Job %d was stopped.", job_id)
    except PeerfrontError as problem:
        _fail(job_id, problem.message)
    except Exception as fault:
        log.exception("Job %d failed.", job_id)
        _fail(job_id, note("live_planning.fault", fault=f"{type(fault).__name__}: {fault}"[:500]))
        raise SystemExit(1) from None
    finally:
        heart.stop()


class _Stopped(Exception):
    """Somebody stopped the job before its plan was proposed."""


def _work(job_id: int, heart: "_Heart") -> None:
    from peerfront.web.live.planning.making import look_again, make_plan, propose  # slow to load

    read_at = timezone.now()
    row = DatabaseRecords().study()
    if row is None:
        raise PeerfrontError("live_planning.not_begun")
    job = PlanningJob.objects.get(pk=job_id)
    if job.plan is not None:
        look_again(row, job.plan, effort(), heart.progress)
        heart.stop()
        _done(job_id, job.plan.plan)
        return
    member = member_named(job.asked_by)
    if member is None:
        raise NotAllowed("live_planning.works_no_more")
    seed = secrets.randbelow(LARGEST_SEED + 1)
    proposal = make_plan(row, today_of(row.settings, timezone.now()), seed, effort(), heart.progress)
    heart.stop()
    propose(proposal, member, f"planning-{job_id}-{seed}", read_at, alongside=lambda plan: _done(job_id, plan))
    forget_models(_plans_in_use())


def _done(job_id: int, plan: int) -> None:
    """End the job in the transaction in which its plan is proposed, so that a stopped job proposes nothing."""
    done = {"state": DONE, "share": 1.0, "plan": plan, "message": "", "step": "", "ended_at": timezone.now()}
    if not PlanningJob.objects.filter(pk=job_id, state=RUNNING).update(**done):
        raise _Stopped


def _plans_in_use() -> set[tuple[str, int]]:
    """Models and seeds of plans by which coupons were handed out, and of the newest plans."""
    values = Plan.objects.order_by("-plan").values_list("model", "seed")
    return {*values[:_PLANS_KEPT], *values.filter(round__isnull=False)}


def effort() -> float:
    """How much is simulated, as a share of the usual amount."""
    try:
        return min(max(float(os.environ.get(EFFORT, "1")), 0.01), 10.0)
    except ValueError:
        raise PeerfrontError("live_planning.bad_effort", variable=EFFORT) from None


class _Heart:
    """Writes heartbeat and progress to the database every few seconds; ends the worker if somebody stopped the job."""

    def __init__(self, job_id: int) -> None:
        self._job_id, self._share, self._step = job_id, 0.0, ""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def progress(self, share: float, step: object) -> None:
        self._share, self._step = share, str(step)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._end.wait(HEARTBEAT):
                values = {"seen_at": timezone.now(), "share": self._share, "step": self._step}
                try:
                    heard = PlanningJob.objects.filter(pk=self._job_id, state=RUNNING).update(**values)
                except OperationalError:  # a long write, or the database is unreachable: try again a little later
                    log.warning("Job %d could not say that it lives.", self._job_id)
                    connections.close_all()
                    continue
                if not heard:
                    log.info("Job %d was stopped.", self._job_id)
                    os._exit(0)
        finally:
            connections.close_all()


def _fail(job_id: int, message: Message) -> None:
    PlanningJob.objects.filter(pk=job_id, state__in=UNDER_WAY).update(
        state=FAILED, ended_at=timezone.now(), step="", message=json.dumps(as_data(message), ensure_ascii=False)
    )


def message_of(job: PlanningJob) -> Message | str:
    """Why a job failed, as a message; plain text for jobs of earlier versions."""
    try:
        message = from_data(json.loads(job.message))
    except ValueError:
        return job.message
    return message if isinstance(message, Message) else job.message


def nightly_plan_is_due(now: datetime) -> bool:
    """Whether tonight's plan is due: the hour has come, there is none yet, and something happened since the last one.

    It is never due while nobody takes part, or after the last day of recruitment, because it could only fail.
    """
    study = DatabaseRecords().study()
    if study is None or now - study.last_time > QUIET_FOR:
        return False
    if is_over(study.settings, today_of(study.settings, now)) or not Person.objects.exists():
        return False
    local = now.astimezone(ZoneInfo(study.settings.timezone))
    begins = datetime.combine(local.date(), NIGHT_BEGINS, local.tzinfo)
    if not begins <= local < begins + NIGHT_LASTS:
        return False
    if PlanningJob.objects.filter(asked_by=NIGHTLY, asked_at__gte=begins).exists():
        return False
    last = Plan.objects.order_by("-plan").values_list("proposed_at", flat=True).first()
    return last is None or Event.objects.filter(at__gt=last).exists()


def ask_if_due(now: datetime | None = None) -> PlanningJob | None:
    """Start tonight's job if it is due; None if it is not, or another job is under way."""
    at = now or timezone.now()
    if not nightly_plan_is_due(at):
        return None
    try:
        return ask_for_plan(NIGHTLY, if_still=lambda: nightly_plan_is_due(at))
    except PlanningBusy:
        return None


def start_nights() -> Callable[[], None]:
    """Warm up the approved model, and check in a thread each minute whether a plan is due; return what stops it."""
    warm_up_in_background()
    end = threading.Event()

    def watch() -> None:
        while not end.wait(LOOKS_EVERY):
            try:
                ask_if_due()
                settle()
            except Exception:  # the database may be unreachable for a while
                log.exception("Whether a plan is due could not be looked up.")
            finally:
                connections.close_all()

    def stop_nights() -> None:
        end.set()
        thread.join()

    thread = threading.Thread(target=watch, name="nightly plan", daemon=True)
    thread.start()
    return stop_nights
