"""Earlier plans with what was really handed out, what differs between two plans, the curve of coupons, the forecast."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db.models import Count, F, Q, Sum
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.models import Decision, Override, Plan
from peerfront.web.live.rules.events import DecidedBy
from peerfront.web.live.rules.records import PlanStatus

STATUS_WORDS: dict[str, Promise | str] = {
    PlanStatus.PROPOSED: _("Waits for approval"),
    PlanStatus.APPROVED: _("Approved, in use"),
    PlanStatus.CLOSED: _("Replaced by a later plan"),
    PlanStatus.STOPPED: _("Stopped"),
}
STATUS_TONES = {
    PlanStatus.PROPOSED: "care",
    PlanStatus.APPROVED: "good",
    PlanStatus.CLOSED: "plain",
    PlanStatus.STOPPED: "bad",
}


@dataclass(frozen=True)
class PastPlan:
    """A plan in the list of plans."""

    plan: Plan
    people: int
    coupons: int
    changed: int
    """Lines that the coordinator changed before approval."""
    handed_out: int | None
    """Coupons handed out in its round; None if it was never approved."""
    to_arrivals: int
    """Of these, to people who came after the plan was made."""
    overridden: int

    @property
    def otherwise(self) -> int:
        """People for whom somebody decided on another number, before or after approval."""
        return self.changed + self.overridden

    @property
    def proposed_at(self) -> datetime:
        return self.plan.proposed_at

    @property
    def words(self) -> Promise | str:
        return STATUS_WORDS[self.plan.status]

    @property
    def tone(self) -> str:
        return STATUS_TONES[PlanStatus(self.plan.status)]


def past_plans(most: int = 30) -> list[PastPlan]:
    """The newest plans, with what came of them."""
    plans = list(
        Plan.objects.annotate(
            people=Count("lines"),
            coupons=Sum("lines__coupons", default=0),
            changed=Count("lines", filter=~Q(lines__coupons=F("lines__planned"))),
        ).order_by("-plan")[:most]
    )
    rounds = [plan.round for plan in plans if plan.round is not None]
    counts = (
        Decision.objects.filter(round__in=rounds)
        .values_list("round")
        .annotate(
            given=Sum("coupons"), arrivals=Sum("coupons", filter=Q(decided_by=DecidedBy.ARRIVAL.value), default=0)
        )
    )
    handed_out = {number: (given, arrivals) for number, given, arrivals in counts}
    overrides = dict(Override.objects.filter(round__in=rounds).values_list("round").annotate(Count("pk")))
    return [_past(plan, handed_out, overrides) for plan in plans]


def _past(plan: Plan, handed_out: dict[int, tuple[int, int]], overrides: dict[int, int]) -> PastPlan:
    counted = vars(plan)  # what `past_plans` adds up
    given, arrivals = (None, 0) if plan.round is None else handed_out.get(plan.round, (0, 0))
    return PastPlan(
        plan,
        counted["people"],
        counted["coupons"],
        counted["changed"],
        given,
        arrivals,
        0 if plan.round is None else overrides.get(plan.round, 0),
    )


WIDTH, HEIGHT, MARGIN = 640, 220, 12
"""Of the picture, in its own units."""
MOST_ROWS = 13
"""Rows of the short table."""


@dataclass(frozen=True)
class Spend:
    """One number of coupons for the whole round."""

    coupons: int
    expected: float
    """Recruits expected in all, by the plan's own value."""
    fewer: float
    """Recruits fewer than with the planned number."""
    is_plan: bool
    in_short: bool


@dataclass(frozen=True)
class Curve:
    """All numbers that were looked at, from the fewest coupons on."""

    spends: tuple[Spend, ...]
    points: str
    """Of the picture's line."""
    plan_x: float
    plan_y: float

    @property
    def least(self) -> int:
        return self.spends[0].coupons

    @property
    def most(self) -> int:
        return self.spends[-1].coupons

    @property
    def planned(self) -> Spend:
        return next(each for each in self.spends if each.is_plan)


@dataclass(frozen=True)
class Expected:
    """People who have taken part by a day."""

    day: str
    expected: float
    low: float
    high: float


def curve_of(rows: list[tuple[int, float]], planned: int) -> Curve | None:
    """The curve around a plan that spends this number; None if it has one point or the plan's is not among them."""
    rows = sorted(rows)
    by_spend = dict(rows)
    if len(rows) < 2 or planned not in by_spend:
        return None
    kept = set(_spread([spend for spend, _ in rows])) | {planned}
    best = by_spend[planned]
    spends = tuple(
        Spend(spend, value, max(best - value, 0.0), spend == planned, spend in kept) for spend, value in rows
    )
    low, high = min(by_spend.values()), max(by_spend.values())
    first, last = rows[0][0], rows[-1][0]

    def place(spend: int, value: float) -> tuple[float, float]:
        x = MARGIN + (WIDTH - 2 * MARGIN) * (spend - first) / (last - first)
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * ((value - low) / (high - low) if high > low else 0.5)
        return round(x, 1), round(y, 1)

    points = " ".join(f"{x},{y}" for x, y in (place(*row) for row in rows))
    return Curve(spends, points, *place(planned, by_spend[planned]))


def read_curve(path: Path, planned: int) -> Curve | None:
    """The curve that was kept with a plan; None where there is none."""
    rows = [(int(row["spend"]), float(row["value"])) for row in _rows(path)]
    return curve_of(rows, planned)


def read_forecast(path: Path) -> list[Expected]:
    """What to expect by date, as it was kept with a plan; empty where there is nothing."""
    return [Expected(row["date"], float(row["expected"]), float(row["low"]), float(row["high"])) for row in _rows(path)]


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return list(csv.DictReader(lines))
    except FileNotFoundError:
        return []


def _spread(numbers: list[int]) -> list[int]:
    """Some of many numbers, evenly from the first to the last."""
    if len(numbers) <= MOST_ROWS:
        return numbers
    return [numbers[round(place * (len(numbers) - 1) / (MOST_ROWS - 1))] for place in range(MOST_ROWS)]


MOST_NAMED = 30
"""People whom a list of differences names."""


@dataclass(frozen=True)
class Differences:
    """People of a plan who are new, gone, or get another number than in the plan before."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    other: tuple[tuple[str, int, int], ...]
    """Person, number before, number now."""
    same: int

    @property
    def is_any(self) -> bool:
        return bool(self.new or self.gone or self.other)

    @property
    def new_named(self) -> tuple[str, ...]:
        return self.new[:MOST_NAMED]

    @property
    def gone_named(self) -> tuple[str, ...]:
        return self.gone[:MOST_NAMED]

    @property
    def other_named(self) -> tuple[tuple[str, int, int], ...]:
        return self.other[:MOST_NAMED]

    @property
    def others_left_out(self) -> int:
        return len(self.other) - len(self.other_named)

    @property
    def new_left_out(self) -> int:
        return len(self.new) - len(self.new_named)

    @property
    def gone_left_out(self) -> int:
        return len(self.gone) - len(self.gone_named)


def differences(before: Mapping[str, int], now: Mapping[str, int]) -> Differences:
    """Compare two plans, each of people with their numbers of coupons."""
    both = sorted(before.keys() & now.keys())
    other = tuple((person, before[person], now[person]) for person in both if before[person] != now[person])
    new, gone = tuple(sorted(now.keys() - before.keys())), tuple(sorted(before.keys() - now.keys()))
    return Differences(new, gone, other, len(both) - len(other))
