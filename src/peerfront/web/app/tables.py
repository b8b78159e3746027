"""The tables that commands wrote, read for pages: the sheet, the curve of spends, the forecast, the estimates."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerfront.foundation.spreadsheets import as_typed

_WIDTH, _HEIGHT, _EDGE = 640, 150, 8


def rows_of(file: Path) -> list[dict[str, str]]:
    """The rows of a CSV file of ours; none if there is no such file."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return []
    reader = csv.DictReader(io.StringIO(text, newline=""))
    return [{as_typed(name): as_typed(value or "") for name, value in row.items() if name} for row in reader]


def estimates_of(rows: Iterable[dict[str, str]]) -> list[dict[str, Any]]:
    """Estimates with what a page needs: whether one is a share or a mean, and the valid ones of each quantity first."""
    told = [{**row, "is_mean": row.get("category") == "mean", "is_valid": row.get("valid") == "True"} for row in rows]
    places: dict[tuple[Any, ...], int] = {}
    for each in told:
        places.setdefault(_quantity(each), len(places))
    return sorted(told, key=lambda each: (places[_quantity(each)], not each["is_valid"]))


def _quantity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in ("outcome", "group", "category"))


@dataclass(frozen=True)
class PersonOnSheet:
    """A row of the coupon sheet."""

    person: str
    coupons: int
    chance_used: str
    expected_now: float
    decided_by: str
    probability: float
    reason: str


def people_on(rows: Iterable[dict[str, str]], by: str = "coupons") -> list[PersonOnSheet]:
    """The people of a sheet: those who get the most coupons first, or by name; nobody if it is no sheet of ours."""
    try:
        people = [
            PersonOnSheet(
                row["person"],
                int(row["coupons"]),
                row.get("chance_used", ""),
                float(row.get("expected_now") or 0.0),
                row.get("decided_by", ""),
                float(row.get("probability") or 1.0),
                row.get("reason", ""),
            )
            for row in rows
        ]
    except (KeyError, ValueError):  # saved again by a spreadsheet: with semicolons, or other numbers
        return []
    return sorted(people, key=lambda each: each.person) if by == "person" else sorted(people, key=lambda p: -p.coupons)


@dataclass(frozen=True)
class Alternative:
    """Another number of coupons this round, and what it would lose."""

    spend: int
    value: float
    lost: float


@dataclass(frozen=True)
class Curve:
    """What every number of coupons this round would bring, and a picture of it."""

    alternatives: tuple[Alternative, ...]
    chosen: int

    @property
    def best(self) -> Alternative:
        return max(self.alternatives, key=lambda each: each.value)

    @property
    def low(self) -> int:
        return self.alternatives[0].spend

    @property
    def high(self) -> int:
        return self.alternatives[-1].spend

    @property
    def points(self) -> str:
        return " ".join(f"{self._x(each.spend):.1f},{self._y(each.value):.1f}" for each in self.alternatives)

    @property
    def marks(self) -> list[tuple[float, float, str]]:
        """Where the best and the chosen number lie in the picture, and which is which."""
        places = {each.spend: each for each in self.alternatives}
        chosen = places.get(self.chosen, self.best)
        return [
            (self._x(self.best.spend), self._y(self.best.value), "best"),
            (self._x(chosen.spend), self._y(chosen.value), "chosen"),
        ]

    @property
    def losses(self) -> dict[str, float]:
        """What each number loses, for the slider."""
        return {str(each.spend): round(each.lost, 2) for each in self.alternatives}

    def _x(self, spend: int) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * (spend - self.low) / max(self.high - self.low, 1)

    def _y(self, value: float) -> float:
        least = min(each.value for each in self.alternatives)
        return _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * (value - least) / max(self.best.value - least, 1e-9)


def curve_of(rows: list[dict[str, str]], chosen: int) -> Curve | None:
    """The curve of spends; None where there is nothing to choose."""
    try:
        values = sorted((int(row["spend"]), float(row["value"])) for row in rows)
    except (KeyError, ValueError):  # saved again by a spreadsheet
        return None
    if len(values) < 2:
        return None
    best = max(value for _, value in values)
    return Curve(tuple(Alternative(spend, value, best - value) for spend, value in values), chosen)
