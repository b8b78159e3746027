"""The number of coupons for somebody who comes between plans: milliseconds, in a process that is warm and in a new one.

python benchmarks/live_plan_for_one.py --people 500
python benchmarks/live_plan_for_one.py --people 3000 --valid-days 365 --database postgresql

A made-up study is imported, a model is fitted to it, a plan is proposed and approved, and people who are not in it come
one by one. With long validity most holders of coupons still count, which is the hard case.
"""

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from live_site import begin

_COLD = """
import sys, time
import django
django.setup()
begun = time.perf_counter()
from peerfront.web.live.planning.arrival_plans import plan_for_one
imported = time.perf_counter()
assert plan_for_one(sys.argv[1]) is not None
first = time.perf_counter()
assert plan_for_one(sys.argv[1]) is not None
second = time.perf_counter()
assert "torch" not in sys.modules
print(*(f"{1000 * each:.0f}" for each in (imported - begun, first - imported, second - first)))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--valid-days", type=int, default=28)
    parser.add_argument("--coupons", type=int, default=400, help="left in the budget")
    parser.add_argument("--arrivals", type=int, default=200)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begin(Path(folder), chosen.database)
        _study(chosen.people, chosen.valid_days, chosen.coupons)
        from peerfront.web.live.planning import arrival_plans
        from peerfront.web.live.records.models import Coupon

        still_open = Coupon.objects.filter(redemption=None, last_day__gt=date.today()).exclude(holder=None).count()
        begun = time.perf_counter()
        assert arrival_plans.warm_up()
        warmed = time.perf_counter() - begun
        taken: list[float] = []
        computed: list[float] = []
        last = ""
        for number in range(chosen.arrivals):
            last = _arrives(number)
            begun, computing = time.perf_counter(), time.process_time()
            assert arrival_plans.plan_for_one(last) is not None
            taken.append(1000 * (time.perf_counter() - begun))
            computed.append(1000 * (time.process_time() - computing))
        ordered = sorted(taken)
        print(f"{chosen.database}, {chosen.people} people, {still_open} open coupons, {chosen.coupons} left:")
        print(
            f"  warm: p50 {statistics.median(ordered):.0f} ms, p95 {ordered[int(0.95 * len(ordered))]:.0f} ms, most "
            f"{ordered[-1]:.0f} ms; of the processor's time p50 {statistics.median(computed):.0f} ms; warmed up in "
            f"{warmed:.1f} s"
        )
        cold = subprocess.run([sys.executable, "-c", _COLD, last], capture_output=True, text=True, check=True).stdout
        imported, first, second = cold.split()
        print(
            f"  a new process: {imported} ms to load the program, {first} ms for the first, {second} ms for the second"
        )


_keys = (f"bench-{number}" for number in itertools.count())


def _do(wish: Any, site: str | None = "north", role: str = "coordinator") -> Any:
    from peerfront.web.live.records.recording import answer
    from peerfront.web.live.rules.actions import Member, Role
    from peerfront.web.live.rules.deciding import Accepted
    from peerfront.web.live.rules.requests import Request

    answered = answer(Request(next(_keys), Member("bench", (Role(role),), None), site, None, wish))
    assert isinstance(answered, Accepted), answered
    return answered.events[0].fact


def _arrives(number: int) -> str:
    """A seed with answers like those of others."""
    from peerfront.web.live.records.models import Person
    from peerfront.web.live.rules.requests import AddSeed, RecordAnswers

    like = Person.objects.exclude(answers=None).order_by("person")[number]
    person = f"new-{number}"
    _do(AddSeed(person))
    _do(RecordAnswers(person, 10, tuple((name, answer) for name, answer in like.answers or ())))
    return person


def _study(people: int, valid_days: int, coupons: int) -> None:
    """Import a made-up study whose last day is today, and approve a plan for it."""
    from django.utils import timezone

    from peerfront.data.reading import read_study
    from peerfront.simulation.demo_study import demo_study
    from peerfront.web.live.operations.study_files import import_here
    from peerfront.web.live.planning.making import make_plan, propose
    from peerfront.web.live.planning.planning_inputs import today_of
    from peerfront.web.live.records.database import DatabaseRecords
    from peerfront.web.live.rules.actions import Member, Role
    from peerfront.web.live.rules.codes import new_prefix
    from peerfront.web.live.rules.requests import AddSite, ApprovePlan, BeginStudy, ChangeSettings
    from peerfront.web.live.rules.study_settings import LARGEST_BUDGET, Settings

    table = demo_study(people=people).study
    days = pd.to_datetime(table["date"])
    table["date"] = (days + (pd.Timestamp(date.today() - timedelta(days=1)) - days.max())).dt.strftime("%Y-%m-%d")
    settings = Settings(budget=LARGEST_BUDGET, cap=3, valid_days=valid_days)
    _do(BeginStudy(settings, new_prefix()), None, "manager")
    _do(AddSite("north", "North clinic"), None, "manager")
    import_here(read_study(table), "made up", "north")
    row = DatabaseRecords().study()
    assert row is not None
    budget = LARGEST_BUDGET - row.kept + coupons
    _do(ChangeSettings(replace(row.settings, budget=budget), "so many are left"), None, "manager")
    row = DatabaseRecords().study()
    assert row is not None
    read_at = timezone.now()
    today = today_of(row.settings, read_at)
    proposal = make_plan(row, today, 1, 0.1, lambda share, step: None)
    plan = propose(proposal, Member("bench", (Role.COORDINATOR,), None), next(_keys), read_at)
    _do(ApprovePlan(plan), None)


if __name__ == "__main__":
    main()
