"""Try faults of every kind on a live study, and count what it survives; one row for each part.

    python benchmarks/live_faults.py clock --database sqlite
    python benchmarks/live_faults.py handlers --database postgresql --tries 1000
    python benchmarks/live_faults.py server --tries 100
    python benchmarks/live_faults.py postgresql --tries 20
    python benchmarks/live_faults.py disk --database postgresql
    python benchmarks/live_faults.py access

clock       ten jumps of the clock, each while the computer runs and while it is off (it is started by a wrong clock).
            By the wrong clock somebody tries to add a seed, and a back-up is noted; then the clock is put right, and
            the next seed is added: at once, or after the manager accepted the clock.
handlers    a process in the midst of a request is killed (`live_killed_handlers.py`).
server      the server is killed under load (`live_soak.py`).
postgresql  PostgreSQL is killed under load; the server goes on without a restart (`live_soak.py`).
disk        the disk is full, or so full that some of a step finds room (`live_full_disk.py`).
access      every page by every role at every site (`live_access.py`).

A fault is survived if the same request then works, nothing acknowledged is lost, nothing is recorded twice, and the
tables equal what the events rebuild.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from live_site import PostgreSQL, begin, fill
from peerfront.web.live.folder import LiveFolder

HOURS = (0.25, 12, 24, 24 * 400, 24 * 365 * 30, -0.25, -12, -24, -24 * 400, -24 * 365 * 30)


@dataclass(frozen=True)
class Order:
    """What to try, in a study that `begin` made in a folder."""

    folder: Path
    database: str
    tries: int | None
    clients: int
    luck: random.Random

    @property
    def study(self) -> LiveFolder:
        return LiveFolder(self.folder / "study")


@dataclass(frozen=True)
class Row:
    """How many faults were tried, and what came of it."""

    what: str
    tried: int
    survived: int
    faults: list[str] = field(default_factory=list)
    """What was lost, done twice or wrong otherwise, in words."""
    about: str = ""

    @property
    def line(self) -> str:
        lost = max(self.tried - self.survived, len(self.faults))
        return f"{self.what} | {self.tried} | {self.survived} | {lost}" + f"\n  ({self.about})" * bool(self.about)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--tries", type=int, help="kills, or steps of work with a full disk; otherwise as in the pages")
    parser.add_argument("--clients", type=int, default=20, help="under load")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="peerfront-faults-", ignore_cleanup_errors=True) as folder:
        order = Order(Path(folder), chosen.database, chosen.tries, chosen.clients, random.Random(chosen.seed))
        if chosen.part != "disk":  # which makes a disk first
            begin(order.folder, order.database)
        row = PARTS[chosen.part](order)
    print(f"what | tried | survived | lost\n{order.database}, {row.line}")
    for fault in row.faults[:20]:
        print(f"  LOST: {fault}")
    raise SystemExit(1 if row.faults or row.survived != row.tried else 0)


def handlers(order: Order) -> Row:
    """Kill processes in the midst of a request."""
    from live_killed_handlers import kill_handlers
    from live_steps import Work

    found = kill_handlers(Work(order.study, order.luck), order.tries or 1000, order.luck)
    tried, counts = found.kills.total(), found.kills.most_common()
    about = (
        f"{len(counts)} kinds of requests, {counts[0][1]} ({counts[0][0]}) to {counts[-1][1]} ({counts[-1][0]}) each; "
        f"{found.recorded} were recorded before the kill, {found.in_part} in part; {found.answered_first} more were "
        f"answered before; verified {found.verified} times"
    )
    return Row("request handlers killed", tried, max(tried - len(found.lost), 0), found.lost, about)


def server(order: Order) -> Row:
    """Kill the server under load."""
    return _under_load(order, order.tries or 100, "server killed under load")


def postgresql(order: Order) -> Row:
    """Kill PostgreSQL under load; the server is not started again."""
    if order.database != "postgresql":
        raise SystemExit("Say --database postgresql.")
    return _under_load(order, order.tries or 20, "PostgreSQL killed under load", PostgreSQL(order.folder))


def _under_load(order: Order, kills: int, what: str, database: PostgreSQL | None = None) -> Row:
    from live_soak import soak, wrong

    coupons = kills * (5 if database is None else 20)
    found = soak(order.clients, coupons, 3, kills, database, rest=2.0)
    faults = [f"{name}: {found.get(name)}" for name in wrong(found)]
    if crashed := found["counts"].get("status 500", 0):
        faults.append(f"the server answered 500 {crashed} times")
    about = f"{order.clients} clients, {coupons} coupons, {found['acknowledged']} acknowledged; " + ", ".join(
        f"{number} {name}" for name, number in sorted(found["counts"].items())
    )
    return Row(what, found["kills"], 0 if faults else found["kills"], faults, about)


def disk(order: Order) -> Row:
    """Fill the disk at each step."""
    from live_full_disk import fill_disks

    found = fill_disks(order.folder, order.database, order.luck, begin, order.tries)
    about = f"{len(found.by_step)} kinds of steps and commands; " + ", ".join(
        f"{number} {name}" for name, number in found.told.most_common()
    )
    return Row("steps with a full disk", found.tried, max(found.tried - len(found.lost), 0), found.lost, about)


def access(order: Order) -> Row:
    """Ask for every page."""
    from live_access import pages, walk_everywhere

    cells = walk_everywhere()
    wrong = [str(cell) for cell in cells if cell.fault]
    number_open = sum(cell.is_open for cell in cells)
    about = f"{len(pages())} pages; {number_open} cells that are open, {len(cells) - number_open} that are closed"
    return Row("cells of page, role and site asked for", len(cells), len(cells) - len(wrong), wrong, about)


def clock(order: Order) -> Row:
    """Each jump, while the computer runs and while it is off."""
    fill(10, 1)
    from django.utils import timezone

    from peerfront.web.live.operations.staff import answer_here
    from peerfront.web.live.operations.verification import verify
    from peerfront.web.live.records import models, recording
    from peerfront.web.live.rules.actions import Action, Member, Role
    from peerfront.web.live.rules.deciding import Accepted, Answer
    from peerfront.web.live.rules.requests import AcceptClock, AddSeed, NoteAction, Request

    real, set_by, boot = timezone.now, timedelta(), 0
    timezone.now = lambda: real() + set_by
    recording.this_boot = lambda: (f"start {boot}", timedelta(seconds=time.monotonic()))
    coordinator, seeds = Member("coordinator", (Role.COORDINATOR,), None), iter(range(10**6))
    recorded: set[str] = set()

    def add_seed() -> Answer:
        person = f"jump{next(seeds)}"
        answered = recording.answer(Request(person, coordinator, "north", None, AddSeed(person)))
        if isinstance(answered, Accepted):
            recorded.add(person)
        return answered

    add_seed()  # by a right clock
    at_once = accepted = stopped = by_wrong_clock = 0
    for is_off in (False, True):
        for hours in HOURS:
            boot += is_off
            set_by = timedelta(hours=hours)
            by_wrong_clock += isinstance(add_seed(), Accepted)
            note = answer_here(NoteAction(Action.BACK_UP, "wrong.zip"))
            assert isinstance(note, Accepted), "notes are taken by any clock"
            set_by = timedelta()
            if isinstance(add_seed(), Accepted):
                at_once += 1
            elif isinstance(answer_here(AcceptClock("compared")), Accepted) and isinstance(add_seed(), Accepted):
                accepted += 1
            else:
                stopped += 1
    missing = recorded - set(models.Person.objects.values_list("person", flat=True))
    faults = [f"{stopped} jumps stopped the study"] * (stopped > 0) + [f"lost {each}" for each in sorted(missing)]
    faults += [str(each) for each in verify().faults]
    about = f"{by_wrong_clock} with a record by the wrong clock; {at_once} at once, {accepted} after it was accepted"
    return Row("jumps of the clock", 2 * len(HOURS), at_once + accepted, faults, about)


PARTS: dict[str, Callable[[Order], Row]] = {
    "clock": clock,
    "handlers": handlers,
    "server": server,
    "postgresql": postgresql,
    "disk": disk,
    "access": access,
}

if __name__ == "__main__":
    main()
