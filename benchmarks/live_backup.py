"""How long back-up, restore and verification take with 100,000 events, on SQLite (or the database of DATABASE_URL).

    python benchmarks/live_backup.py [EVENTS]

The study is made in memory by the rules' own effects and the hash chain, and loaded in large parts.
"""

import itertools
import random
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from peerfront.web.live.folder import LiveFolder, Serving
from peerfront.web.live.operations.opening import new_folder
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.chain import FIRST, Link, committed, linked
from peerfront.web.live.rules.codes import new_code
from peerfront.web.live.rules.events import (
    AnswersRecorded,
    CouponScanned,
    CouponsIssued,
    DecidedBy,
    Event,
    Fact,
    PaymentKind,
    PaymentMade,
    PersonEnrolled,
    PlanApproved,
    PlanProposed,
    SeedAdded,
    SiteAdded,
    Stamp,
    StudyBegun,
)
from peerfront.web.live.rules.study_settings import Settings

BEGAN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SETTINGS = Settings(budget=10_000_000, cap=3, interview_payment=2000, recruiting_payment=500)
ANSWERS = tuple((f"question_{number}", "an answer") for number in range(10))


def facts(draw: random.Random):
    """One person after the other: scanned, enrolled, interviewed, given coupons, paid."""
    yield StudyBegun("K7", SETTINGS)
    yield SiteAdded("north", "North clinic")
    yield PlanProposed(1, "model", 1, ())
    yield PlanApproved(1, 1)
    codes: list[tuple[str, str]] = []
    taken: set[str] = set()

    def fresh() -> str:
        while (code := new_code("K7", draw.choice)) in taken:
            pass
        taken.add(code)
        return code

    for number in itertools.count(1):
        person = f"P{number:06d}"
        if codes:
            code, holder = codes.pop(draw.randrange(len(codes)))
            yield CouponScanned(code)
            yield PersonEnrolled(person, code, holder)
        else:
            code = fresh()
            yield SeedAdded(person, code)
        yield committed(AnswersRecorded(person, 10, ANSWERS), f"{draw.getrandbits(128):032x}")
        given = (fresh(), fresh(), fresh())
        day = BEGAN.date()
        issued = CouponsIssued(
            person, 1, given, 3, 3, DecidedBy.ARRIVAL, "model", 1, "north", 0.5, "about as likely as others to bring "
            "somebody", "", day, day + timedelta(days=28),
        )  # fmt: skip
        yield committed(issued, f"{draw.getrandbits(128):032x}")
        codes += [(code, person) for code in given]
        yield PaymentMade(code, PaymentKind.INTERVIEW, person, 2000, "EUR")


def chain(n_events: int) -> list[Link]:
    links: list[Link] = []
    before = FIRST
    for number, fact in enumerate(itertools.islice(facts(random.Random(1)), n_events), start=1):
        links.append(linked(number, before, _event(number, fact)))
        before = links[-1].hash
    return links


def _event(number: int, fact: Fact) -> Event:
    at = BEGAN + timedelta(seconds=20 * number)
    site = None if isinstance(fact, StudyBegun | SiteAdded | PlanProposed | PlanApproved) else "north"
    return Event(Stamp("somebody", Role.INTERVIEWER, site, at, at, f"request-{number}", f"{number:016x}"), 1, fact)


def main() -> None:
    n_events = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as top:
        folder = LiveFolder(Path(top) / "study")
        with new_folder(folder, Serving()):
            from django.db import connections

            from peerfront.web.live.folder import sqlite
            from peerfront.web.live.operations.backup_files import BackupFile
            from peerfront.web.live.operations.backups import load, restore, write_backup
            from peerfront.web.live.operations.opening import migrate
            from peerfront.web.live.operations.verification import verify

            def timed(what, work):
                began, busy = time.perf_counter(), time.process_time()
                result = work()
                took, busy = time.perf_counter() - began, time.process_time() - busy
                print(f"{what:<10} {took:6.1f} s, {busy:6.1f} s of the processor", flush=True)
                return result

            links = timed("make", lambda: chain(n_events))
            timed("load", lambda: load(links))
            assert timed("verify", verify).whole
            path = timed("back up", lambda: write_backup(folder, Path(top) / "backup.zip"))
            print(f"{path.stat().st_size / 1e6:.1f} MB")
            connections.close_all()
            other = LiveFolder(Path(top) / "restored")
            other.create(Serving(), folder.keys)
            connections.settings["default"] |= sqlite(other.path / "study.sqlite3")
            del connections["default"]
            migrate()
            restored = timed("restore", lambda: restore(BackupFile(path), other))
            print(f"{restored.events:,} events, {restored.rows:,} rows")
            connections.close_all()


if __name__ == "__main__":
    main()
