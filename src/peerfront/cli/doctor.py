"""`peerfront doctor` and `peerfront live doctor`: what to mend before it matters; `live drill`: a restore on trial."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from peerfront.cli.live_records import FOLDER, KEY_FILE, opened, secret_of
from peerfront.cli.screen import cell, new_screen, show, tell
from peerfront.foundation.messages import note
from peerfront.words.language import LANGUAGES, say, speaker

if TYPE_CHECKING:
    from peerfront.foundation.checkup import CheckUp, Finding
    from peerfront.web.live.operations.drill import Drill


def doctor_command() -> object:
    """Look whether peerfront can work here: Python, packages, the build of torch, compiled code, browser, folders.

    Each line says ok, care or bad, and what to do. Exit code 1 if something is bad. `live doctor` looks at a study.
    """
    from peerfront.foundation.checkup import CheckUp, installation

    return _shown(CheckUp((*installation(), *_language())))


def _language() -> "Iterator[Finding]":
    from peerfront.foundation.checkup import care, ok

    subject, own = note("doctor_subjects.language"), speaker().language
    yield ok(subject, note("doctor.language", language=own, others=[each for each in LANGUAGES if each != own]))
    encoding = sys.stdout.encoding or "utf-8"  # none where nothing is printed
    if encoding.lower().replace("-", "") != "utf8":
        yield care(subject, note("doctor.encoding", encoding=encoding))


def live_doctor_command(folder: FOLDER) -> object:
    """Look after a study on its server: database, disk, clock, keys, back-ups, planning, HTTPS, permissions.

    Each line says ok, care or bad, and what to do. Exit code 1 if something is bad. Nothing is changed. `live verify`
    compares every row with the events.
    """
    from peerfront.web.live.operations.study_checkup import study_check_up

    return _shown(study_check_up(folder))


def _shown(result: "CheckUp") -> "CheckUp":
    from rich import box
    from rich.table import Table

    from peerfront.foundation.checkup import Condition

    conditions = {
        Condition.OK: cell(say("ok"), "green"),
        Condition.CARE: cell(say("care"), "bold yellow"),
        Condition.BAD: cell(say("bad"), "bold red"),
    }
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    for column in range(3):
        table.add_column(no_wrap=column < 2, overflow="fold")
    for each in result.findings:
        table.add_row(conditions[each.condition], cell(each.subject), cell(each.message))
    new_screen().print(table)
    counts = [sum(each.condition is kind for each in result.findings) for kind in (Condition.BAD, Condition.CARE)]
    tell("To mend: {bad}. To look after: {care}.", bad=counts[0], care=counts[1])
    return result


def drill_command(folder: FOLDER, key_file: KEY_FILE = None) -> object:
    """Restore the newest back-up beside the study, verify it, and remove it again; exit code 1 if anything is wrong.

    The result is noted in the audit, and `live doctor` says when a drill is due. The server may go on meanwhile.
    """
    study = opened(folder)
    from peerfront.web.live.operations.drill import hold_drill

    drill: Drill = hold_drill(study, lambda: secret_of(key_file))
    tell(
        "{name}: {events:,} events, {rows:,} rows, {staff:,} users, {contacts:,} contact details, in {seconds:.1f} s.",
        name=drill.backup, events=drill.events, rows=drill.rows, staff=drill.staff, contacts=drill.contacts,
        seconds=drill.seconds,
    )  # fmt: skip
    for fault in drill.faults:
        show(f"- {fault}", err=True)
    if drill.faults:
        show(say("This back-up cannot be relied on. Make a new one, and hold another drill."), err=True)
    else:
        tell(
            "Restored, verified and removed again. Events that the study has recorded since: {newer:,}.",
            newer=drill.newer,
        )
    return drill
