"""Set the server's clock wrong, in both directions, and see whether the study goes on once it is right again.

python benchmarks/live_faults.py --database sqlite
python benchmarks/live_faults.py --database postgresql

Each of ten jumps happens twice: while the computer runs, and while it is off (it is started by a wrong clock, with
nothing to compare it with). By the wrong clock somebody tries to add a seed, and a back-up is noted; then the clock is
put right, and the next seed is added: at once, or after the manager accepted the clock. A jump is survived if that
works, and nothing is lost if every accepted seed is recorded and the tables equal what the events rebuild.
"""

import argparse
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from live_site import begin, fill

HOURS = (0.25, 12, 24, 24 * 400, 24 * 365 * 30, -0.25, -12, -24, -24 * 400, -24 * 365 * 30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    database = parser.parse_args().database
    with tempfile.TemporaryDirectory(prefix="peerfront-faults-", ignore_cleanup_errors=True) as folder:
        begin(Path(folder), database)
        fill(10, 1)
        jumps(database)


def jumps(database: str) -> None:
    """Each jump, while the computer runs and while it is off."""
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
    at_once = accepted = lost = by_wrong_clock = 0
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
                lost += 1
    missing = recorded - set(models.Person.objects.values_list("person", flat=True))
    result = verify()
    print(f"{database}: {2 * len(HOURS)} jumps of the clock tried, {by_wrong_clock} with a record by the wrong clock;")
    print(f"  survived {at_once + accepted} ({at_once} at once, {accepted} after the manager accepted the clock);")
    print(f"  stopped {lost}; lost records {len(missing)} of {len(recorded)}; tables whole: {result.whole}")


if __name__ == "__main__":
    main()
