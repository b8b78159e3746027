"""What other numbers of coupons would lose this round, as a table, and as the points of a picture; and the forecast."""

import csv
from dataclasses import dataclass
from pathlib import Path

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
    """The curve around a plan that spends so many; None if it has one point or the plan's is not among them."""
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
