"""Planning jobs and imports: at most one of each at a time, in a process of its own, so that the site stays usable.

Processes communicate only through the row of a job (`PlanningJob`). The worker writes a heartbeat every few seconds; a
job whose process ended without a result, or has had no heartbeat for long, has failed. A job that somebody stopped ends
at the worker's next heartbeat.

Files on which a job works lie in a folder of its own, which is removed when the job is done, or a day after it failed.

A thread of the server asks for a plan each night, at an hour at which nobody works with the last plan. With several
server processes each has such a thread; the database lets one of them start the job.
"""

import json
import logging
import math
import os
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime, time, timedelta
from pathlib import Path
from time import monotonic
from zoneinfo import ZoneInfo

from django.contrib.sessions.models import Session
from django.db import OperationalError, connections, transaction
from django.utils import timezone

from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.locks import remove_leftovers
from peerfront.foundation.messages import Message, note
from peerfront.web.live.folder import FOLDER, WithoutPersonalData
from peerfront.web.live.planning.arrival_plans import warm_up_in_background
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL, KeptModel, forget_models, forget_people, live_folder
from peerfront.web.live.planning.planning_inputs import is_over, numbers_of, today_of
from peerfront.web.live.records.database import DatabaseRecords, member_from, one_at_a_time, readable_facts
from peerfront.web.live.records.leftovers import wipe
from peerfront.web.live.records.models import Event, JobKind, Person, Plan, PlanningJob
from peerfront.web.live.records.models import Member as StoredMember
from peerfront.web.live.rules.actions import Action, Member, Role
from peerfront.web.live.rules.chain import kind_name
from peerfront.web.live.rules.events import AnswersErased, Erasable
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
FILES_KEPT = timedelta(days=1)
"""How long the files of a job that failed are kept, so that it can be tried again."""
DIED = {
    JobKind.PLAN: note("live_planning.process_died"),
    JobKind.IMPORT: note("live_import.process_died"),
}
SILENT = {
    JobKind.PLAN: note("live_planning.process_silent"),
    JobKind.IMPORT: note("live_import.process_silent"),
}
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
    start_or_fail(job, __name__)
    return job


def start_import(asked_by: str, module: str, put_files: Callable[[Path], None]) -> PlanningJob:
    """Start an import by `run_alone` of a module, with files in a folder of its own; refuse while another runs."""
    with transaction.atomic():
        one_at_a_time(_JOBS)
        settle()
        if under_way(JobKind.IMPORT) is not None:
            raise PlanningBusy("live_import.busy")
        job = PlanningJob.objects.create(kind=JobKind.IMPORT, asked_by=asked_by, asked_at=timezone.now(), state=WAITING)
    folder = job_files(job.pk)
    try:
        folder.mkdir(parents=True, mode=0o700)
        put_files(folder)
    except OSError as problem:
        fail(job.pk, note("live_import.cannot_start", problem=problem.strerror or str(problem)))
    except DataFileError as problem:  # such as a full disk, in words of its own
        fail(job.pk, problem.message)
    else:
        start_or_fail(job, module)
    return job


def start_or_fail(job: PlanningJob, module: str) -> None:
    """Start the process of a job, which calls `run_alone` of a module."""
    try:
        start_worker(job, module)
    except OSError as problem:
        code = "live_import.cannot_start" if job.kind == JobKind.IMPORT else "live_planning.cannot_start"
        fail(job.pk, note(code, problem=str(problem)))


def under_way(kind: JobKind = JobKind.PLAN) -> PlanningJob | None:
    """The job of a kind that is waiting or running, if there is one."""
    return PlanningJob.objects.filter(kind=kind, state__in=UNDER_WAY).order_by("-pk").first()


def newest(kind: JobKind = JobKind.PLAN) -> PlanningJob | None:
    """The newest job of a kind, with dead jobs marked as failed."""
    settle()
    return PlanningJob.objects.filter(kind=kind).order_by("-pk").first()


def job_files(number: int) -> Path:
    """The folder of the files on which a job works."""
    return live_folder().path / "jobs" / str(number)


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
            for job in PlanningJob.objects.filter(pk=number):
                fail(number, DIED[JobKind(job.kind)])
            _processes.pop(number, None)
    for job in PlanningJob.objects.filter(state__in=UNDER_WAY):
        if now - (job.seen_at or job.asked_at) > SILENT_FOR:
            fail(job.pk, SILENT[JobKind(job.kind)])
    _forget_files(now)


def _forget_files(now: datetime) -> None:
    """Remove the files of jobs that are done, were stopped, or failed long ago."""
    for folder in job_files(0).parent.glob("[0-9]*"):
        job = PlanningJob.objects.filter(pk=int(folder.name)).first()
        is_needed = job is not None and (
            job.state in UNDER_WAY or (job.state == FAILED and now - (job.ended_at or now) < FILES_KEPT)
        )
        if not is_needed:
            shutil.rmtree(folder, ignore_errors=True)


def member_named(name: str) -> Member | None:
    """The member with this user name; the nightly plan acts as a coordinator of the whole study."""
    if name == NIGHTLY:
        return Member(NIGHTLY, (Role.COORDINATOR,), None)
    stored = StoredMember.objects.filter(user__username=name, user__is_active=True).select_related("user").first()
    return None if stored is None else member_from(stored)


def start_worker(job: PlanningJob, module: str = __name__) -> None:
    """Start the process of a job, independent of this one; its output goes to a file of its own."""
    folder = live_folder()
    folder.logs.mkdir(exist_ok=True)
    for old in sorted(folder.logs.glob("planning-*.log"), key=lambda path: path.stat().st_mtime)[:-_LOGS_KEPT]:
        old.unlink(missing_ok=True)
    code = f"import django; django.setup(); from {module} import run_alone; run_alone({job.pk})"
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


def run_alone(job_id: int, work: "Work | None" = None, longest: float = math.inf) -> None:
    """Do the work of a job (a plan, unless another is named) in a process of its own, within a time limit."""
    if hasattr(os, "nice"):
        os.nice(max(NICER - os.nice(0), 0))
    handler = logging.StreamHandler()
    handler.setFormatter(WithoutPersonalData("%(asctime)sZ %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    try:
        run(job_id, work or _make_plan, longest)
    except Exception:  # such as a lost database; Python's own traceback might quote somebody's entry
        log.exception("Job %s could not be ended.", job_id)
        sys.exit(1)


def run(job_id: int, work: "Work | None" = None, longest: float = math.inf) -> None:
    """Do the work of a job."""
    began = PlanningJob.objects.filter(pk=job_id, state=WAITING).update(state=RUNNING, seen_at=timezone.now())
    if not began:
        log.info("Job %d is not waiting any more.", job_id)
        return
    heart = Heart(job_id, longest)
    heart.start()
    try:
        (work or _make_plan)(job_id, heart)
    except Stopped:
        log.info("Job %d was stopped.", job_id)
    except PeerfrontError as problem:
        fail(job_id, problem.message)
    except Exception as fault:
        log.exception("Job %d failed.", job_id)
        fail(job_id, note("live_planning.fault", fault=f"{type(fault).__name__}: {fault}"[:500]))
        raise SystemExit(1) from None
    finally:
        heart.stop()


class Stopped(Exception):
    """Somebody stopped the job before its result was written."""


def _make_plan(job_id: int, heart: "Heart") -> None:
    from peerfront.web.live.planning.making import look_again, make_plan, propose  # slow to load

    read_at = timezone.now()
    row = DatabaseRecords().study()
    if row is None:
        raise PeerfrontError("live_planning.not_begun")
    job = PlanningJob.objects.get(pk=job_id)
    if job.plan is not None:
        look_again(row, job.plan, effort(), heart.progress)
        heart.stop()
        done(job_id, plan=job.plan.plan)
        return
    member = member_named(job.asked_by)
    if member is None:
        raise NotAllowed("live_planning.works_no_more")
    seed = secrets.randbelow(LARGEST_SEED + 1)
    proposal = make_plan(row, today_of(row.settings, timezone.now()), seed, effort(), heart.progress)
    heart.stop()
    propose(proposal, member, f"planning-{job_id}-{seed}", read_at, alongside=lambda plan: done(job_id, plan=plan))
    forget_models(_plans_in_use())


def done(job_id: int, *, plan: int | None = None, result: object = "") -> None:
    """End the job in the transaction in which its result is written, so that a stopped job writes nothing."""
    message = json.dumps(result, ensure_ascii=False) if result else ""
    columns = {"state": DONE, "share": 1.0, "plan": plan, "message": message, "step": "", "ended_at": timezone.now()}
    if not PlanningJob.objects.filter(pk=job_id, state=RUNNING).update(**columns):
        raise Stopped


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


class Heart:
    """Writes heartbeat and progress to the database every few seconds; ends the worker if somebody stopped the job."""

    def __init__(self, job_id: int, longest: float = math.inf) -> None:
        self._job_id, self._share, self._step = job_id, 0.0, ""
        self._longest, self._began = longest, monotonic()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def progress(self, share: float, step: object) -> None:
        self._share, self._step = share, str(step)

    def start(self) -> None:
        self._thread.start()

    def last(self) -> None:
        """No heartbeat after this; for the transaction that ends the job, which a heartbeat may be waiting for."""
        self._end.set()

    def stop(self) -> None:
        self.last()
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
                if self._end.is_set():
                    return
                if heard and monotonic() - self._began > self._longest:
                    fail(self._job_id, note("live_import.too_long", minutes=round(self._longest / 60)))
                    os._exit(0)  # what the job has begun to write is not committed
                if not heard:
                    log.info("Job %d was stopped.", self._job_id)
                    os._exit(0)
        finally:
            connections.close_all()


Work = Callable[[int, Heart], None]


def fail(job_id: int, message: Message) -> None:
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


def forget_erased() -> None:
    """Take out of the results of plans what they say about people whose answers or network size were erased."""
    facts = readable_facts(Event.objects.filter(kind=kind_name(AnswersErased)))
    erasures = [fact for fact in facts if isinstance(fact, AnswersErased)]
    telling = {Erasable.ANSWERS, Erasable.NETWORK_SIZE}
    if erased := {each.person for each in erasures if not telling.isdisjoint(each.what)}:
        forget_people(erased)


def tidy_up() -> None:
    """Remove sessions that have ended, what killed drills and back-ups left, and what was erased but could not go then.

    A plan that was made while something was erased has it in its results.
    """
    ended = Session.objects.filter(expire_date__lt=timezone.now())
    if ended.exists():  # a deletion would lock the database each minute
        ended.delete()
    remove_leftovers(live_folder().path, live_folder().backups)
    wipe()
    forget_erased()


def start_nights() -> Callable[[], None]:
    """Warm up the approved model, and check in a thread each minute whether a plan is due; return what stops it.

    The thread also tidies up.
    """
    warm_up_in_background()
    end = threading.Event()

    def watch() -> None:
        while not end.wait(LOOKS_EVERY):
            try:
                ask_if_due()
                settle()
                tidy_up()
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
