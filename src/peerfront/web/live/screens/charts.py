"""Charts as pictures: a curve with a band and marks, and bars; for pages, so each has a table beside it.

Here is where things stand; the templates `pictures/*.svg` draw them, in Okabe and Ito's colours, which colour-blind
readers tell apart.
"""

import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.template.loader import render_to_string
from django.utils.formats import number_format

WIDTH, HEIGHT = 720, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, WIDTH - 24, 34, HEIGHT - 44
_STEPS = (1, 2, 5, 7, 14, 28, 56, 91, 182, 364)  # days between dates on an axis


@dataclass(frozen=True)
class Expected:
    """People who have taken part by a day."""

    day: date
    expected: float
    low: float
    high: float


def ticks(most: float, wanted: int = 5) -> list[float]:
    """Round numbers from 0 to at least `most`, about as many as wanted."""
    if most < 1e-9:
        return [0.0, 1.0]
    raw = most / wanted
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw)
    return [step * place for place in range(math.ceil(most / step - 1e-9) + 1)]


def day_ticks(first: date, last: date, wanted: int = 6) -> list[date]:
    """Days between two days, evenly, about as many as wanted."""
    days = max((last - first).days, 1)
    step = next((step for step in _STEPS if days / step <= wanted), math.ceil(days / wanted))
    return [first + timedelta(days=step * place) for place in range(days // step + 1)]


def day_curve(
    title: str,
    description: str,
    numbers: Sequence[tuple[date, int]],
    line_words: str,
    *,
    band: Sequence[Expected] = (),
    band_words: str = "",
    target: int | None = None,
    target_words: str = "",
    deadline: date | None = None,
    deadline_words: str = "",
) -> str:
    """Draw a number by day: a line in steps, the band of what is expected behind it, target and deadline as lines."""
    days = [*(day for day, _ in numbers), *(each.day for each in band), *([deadline] if deadline else [])]
    first, last = min(days), max(max(days), min(days) + timedelta(days=7))
    most = max([*(number for _, number in numbers), *(each.high for each in band), target or 0, 1])
    marks = ticks(1.1 * most)  # room for the words above the highest line
    y = _height(marks[-1])

    def x(day: date) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * (day - first).days / (last - first).days, 1)

    def points(places: Sequence[tuple[date, float]]) -> str:
        return " ".join(f"{x(day)},{y(number)}" for day, number in places)

    upper, lower = [(each.day, each.high) for each in band], [(each.day, each.low) for each in band]
    before = [number for _, number in numbers[:1]] + [number for _, number in numbers[:-1]]
    steps = [place for (day, number), was in zip(numbers, before, strict=True) for place in ((day, was), (day, number))]
    context = {
        # The last day would be cut off in the middle.
        "days": [(x(day), day.isoformat(), "end" if day == last else "middle") for day in day_ticks(first, last)],
        "band": points([*upper, *reversed(lower)]),
        "expected": points([(each.day, each.expected) for each in band]),
        "target_y": None if target is None else y(target),
        "target_words": target_words,
        "deadline_x": None if deadline is None else x(deadline),
        "deadline_words": deadline_words,
        "line": points(steps),
        "line_words": line_words,
        "band_words": band_words,
        "band_key": _LEFT + 50 + 7 * len(line_words),
    }
    return _chart("curve", title, description, [(y(mark), _number(mark)) for mark in marks], context)


def bars(
    title: str, description: str, numbers: Sequence[tuple[str, float]], axis_words: str = "", *, shares: bool = False
) -> str:
    """Draw bars by their labels, with their numbers (`shares` as percent) above them where there is room."""
    marks = ticks(max([*(number for _, number in numbers), 0.01 if shares else 1.0]))
    y, write = _height(marks[-1]), _percent if shares else _number
    room = (_RIGHT - _LEFT) / max(len(numbers), 1)
    every = max(1, math.ceil(max((len(label) for label, _ in numbers), default=1) * 7.5 / room))
    drawn = [
        {
            "left": round(_LEFT + room * (place + 0.12), 1),
            "middle": round(_LEFT + room * (place + 0.5), 1),
            "width": round(room * 0.76, 1),
            "top": y(number),
            "height": round(_BOTTOM - y(number), 1),
            "number": write(number) if room >= 8 * len(write(number)) + 6 else "",
            "label": label if place % every == 0 else "",
        }
        for place, (label, number) in enumerate(numbers)
    ]
    context = {"bars": drawn, "axis_words": axis_words}
    return _chart("bars", title, description, [(y(mark), write(mark)) for mark in marks], context)


def picture(template: str, width: int, height: int, title: str, description: str, context: dict[str, Any]) -> str:
    """The whole file, with its title and description for those who do not see it."""
    frame = {"width": width, "height": height, "title": title, "description": description}
    return render_to_string(f"screens/pictures/{template}.svg", context | frame)


def as_address(picture: str) -> str:
    """A picture within a page."""
    return f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"


def _chart(
    template: str, title: str, description: str, marks: Sequence[tuple[float, str]], context: dict[str, Any]
) -> str:
    frame = {"left": _LEFT, "right": _RIGHT, "bottom": _BOTTOM, "marks": marks}
    return picture(template, WIDTH, HEIGHT, title, description, context | frame)


def _height(most: float) -> Callable[[float], float]:
    return lambda value: round(_BOTTOM - (_BOTTOM - _TOP) * value / most, 1)


def _number(value: float) -> str:
    shown = int(value) if value == int(value) else round(value, 2)
    return str(number_format(shown, use_l10n=True, force_grouping=True))


def _percent(value: float) -> str:
    return f"{number_format(round(100 * value), use_l10n=True)}\u00a0%"
