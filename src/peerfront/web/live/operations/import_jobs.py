"""Import a file that a browser sent: small ones at once, large ones in a process of their own with limits.

A large file takes more than a gigabyte and more than a minute, which people at work would feel. Its process may use so
much memory and time and no more; whatever ends it, everything is recorded or nothing. The file waits in the folder of
the job (`planning_jobs.job_files`), so that an import that was killed can be tried again.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from peerfront.foundation.errors import SettingError
from peerfront.foundation.files import write_bytes, write_text
from peerfront.foundation.messages import Message
from peerfront.web.live.operations.staff import accepted
from peerfront.web.live.operations.study_files import FromFile, file_for_study, import_study
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.records.models import JobKind, PlanningJob
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.actions import Action, Member
from peerfront.web.live.rules.deciding import Accepted, Answer
from peerfront.web.live.rules.requests import Request, Wish
from peerfront.words.stored_text import as_data, from_data

LARGEST_INSIDE = 100_000
"""Bytes of a text file that is imported within the server: about 2,000 people, in about three seconds."""
LARGEST_WORKBOOK_INSIDE = 20_000
"""Bytes of an Excel file, which is compressed."""
MEGABYTES, SECONDS = "PEERFRONT_LIVE_IMPORT_MB", "PEERFRONT_LIVE_IMPORT_SECONDS"
"""The environment variables that set how much memory and time the process of an import may use."""
MOST_MEGABYTES, LONGEST = 2_000, 20 * 60
"""These limits, where the environment names none: a file of 20 MB needs about 1,200 MB."""
MOST_SHOWN = 10  # problems of a file


def is_small(name: str, size: int) -> bool:
    """Whether a file is imported within the server."""
    return size <= (LARGEST_WORKBOOK_INSIDE if name.lower().endswith(".xlsx") else LARGEST_INSIDE)


@dataclass(frozen=True)
class ImportOrder:
    """What was asked for with a file, as it is kept beside the file."""

    name: str
    """The file's own name."""
    site: str | None
    key: str
    """The request key: what was recorded once is not recorded again."""
    look: bool = False
    """Look at the file without importing it."""
    device_time: str = ""


@dataclass(frozen=True)
class Look:
    """What a file would bring, or has brought, to the study."""

    name: str
    people: int
    """Everybody in the file; after an import those who are new."""
    there: int | None = None
    """Who was there already; None if nothing was imported."""
    questions: tuple[str, ...] = ()
    warnings: int = 0
    notes: tuple[Message, ...] = ()

    @classmethod
    def at(cls, study: Any, file: FromFile, name: str) -> "Look":
        """What a file would bring."""
        shown = tuple(each.message for each in study.problems[:MOST_SHOWN])
        questions = tuple(each.name for each in file.questions)
        return cls(name, len(file.people), None, questions, len(study.problems), (*file.notes, *shown))


def read_sent(file: Path, schema: Path | None) -> Any:
    """Read a study's file, with its schema if there is one."""
    from peerfront.data.read.read_settings import ReadSettings
    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema

    return read_study(file, ReadSettings() if schema is None else read_schema(schema).reading)


def put_sent(folder: Path, file: Any, schema: Any) -> tuple[Path, Path | None]:
    """Write files that a browser sent into a folder, readable by their owner only; return their paths."""
    path = folder / f"study{Path(str(file.name)).suffix.lower()}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as copy:
        _write_all(copy.write, file.chunks())
    if schema is None:
        return path, None
    write_bytes(folder / "schema.toml", schema.read(), private=True)
    return path, folder / "schema.toml"


def _write_all(write: Callable[[bytes], object], parts: Iterable[bytes]) -> None:
    for part in parts:
        write(part)


def start(asked_by: str, order: ImportOrder, file: Any, schema: Any) -> PlanningJob:
    """Start to import a file in a process of its own."""

    def put(folder: Path) -> None:
        put_sent(folder, file, schema)
        write_text(folder / "order.json", json.dumps(asdict(order)), private=True)

    return jobs.start_import(asked_by, __name__, put)


def can_be_tried_again(job: PlanningJob) -> bool:
    """Whether the file of an import that failed is still there."""
    return job.state == jobs.FAILED and (jobs.job_files(job.pk) / "order.json").exists()


def try_again(job: PlanningJob, asked_by: str) -> PlanningJob | None:
    """Start an import again, with the same file; None if the file is gone."""

    def move(folder: Path) -> None:
        before = jobs.job_files(job.pk)
        for path in before.iterdir():
            path.rename(folder / path.name)
        before.rmdir()
        # A refusal is the answer to its key for good, and the time of the tablet was that of the first try.
        order = replace(_order_in(folder), key=uuid4().hex, device_time="")
        write_text(folder / "order.json", json.dumps(asdict(order)), private=True)

    return jobs.start_import(asked_by, __name__, move) if can_be_tried_again(job) else None


def _order_in(folder: Path) -> ImportOrder:
    return ImportOrder(**json.loads((folder / "order.json").read_text("utf-8")))


def result_of(job: PlanningJob) -> Look | None:
    """What an import that is done has brought, or a look at a file found."""
    if job.state != jobs.DONE or not job.message:
        return None
    data = json.loads(job.message)
    lists = {"questions": tuple(data["questions"]), "notes": tuple(from_data(data["notes"]))}
    return Look(**data | lists)


def run_alone(job_id: int) -> None:
    """Do the work of an import in a process of its own."""
    limit_memory()
    jobs.run_alone(job_id, _import_file, _limit(SECONDS, LONGEST))


def _limit(variable: str, usual: int) -> int:
    try:
        return max(int(os.environ.get(variable, usual)), 1)
    except ValueError:
        return usual


def limit_memory() -> None:
    """Let this process have so much memory and no more, where the operating system can see to that."""
    if sys.platform == "win32":
        return
    import resource

    most, (_, hard) = _limit(MEGABYTES, MOST_MEGABYTES) * 1_000_000, resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _import_file(job_id: int, heart: jobs.Heart) -> None:
    """Read the file of a job and import it, or look at it."""
    try:
        _read_and_import(PlanningJob.objects.get(pk=job_id), heart)
    except MemoryError:
        raise SettingError("live_import.too_much_memory", megabytes=_limit(MEGABYTES, MOST_MEGABYTES)) from None


def _read_and_import(job: PlanningJob, heart: jobs.Heart) -> None:
    folder = jobs.job_files(job.pk)
    order = _order_in(folder)
    member = jobs.member_named(job.asked_by)
    if member is None or not member.may(Action.IMPORT_STUDY, own_site=member.covers(None)):
        raise jobs.NotAllowed("live_import.may_not", name=job.asked_by)
    heart.progress(0.05, "reading")
    (path,) = (each for each in folder.iterdir() if each.stem == "study")
    schema = folder / "schema.toml"
    study = read_sent(path, schema if schema.exists() else None)
    heart.progress(0.4, "checking")
    if order.look:
        look = Look.at(study, file_for_study(study, order.site), order.name)
        heart.stop()
        jobs.done(job.pk, result=_data(look))
        return

    def ask(wish: Wish, *, ending: str = "", alongside: Callable[[Accepted], None] | None = None) -> Answer:
        def also(answered: Accepted) -> None:
            if alongside is None:  # the questions, within the import
                return
            alongside(answered)
            heart.last()
            jobs.done(job.pk)

        return answer(_request(order, member, ending, wish), alongside=also)

    imported = import_study(study, order.name, order.site, ask)
    heart.stop()
    accepted(imported.answer)
    new, there = imported.counts
    if imported.answer.repeated:
        jobs.done(job.pk)
    look = Look(order.name, new, there, notes=imported.file.notes)
    PlanningJob.objects.filter(pk=job.pk).update(message=json.dumps(_data(look), ensure_ascii=False))


def _request(order: ImportOrder, member: Member, ending: str, wish: Wish) -> Request:
    clock = datetime.fromisoformat(order.device_time) if order.device_time else None
    return Request(order.key + ending, member, None, clock, wish)


def _data(look: Look) -> dict[str, Any]:
    return asdict(replace(look, notes=())) | {"notes": as_data(look.notes)}


def newest() -> PlanningJob | None:
    """The newest import that was not done within the server."""
    return jobs.newest(JobKind.IMPORT)
