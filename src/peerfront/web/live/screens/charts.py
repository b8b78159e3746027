"""Charts as pictures: a curve with a band and marks, and bars; for pages, so each has a table beside it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from django.utils.formats import number_format

from peerfront.web.live.screens import svg

WIDTH, HEIGHT = 720.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 24.0, 34.0, 44.0
_STEPS = (1, 2, 5, 7, 14, 28, 56, 91, 182, 364)  # days between dates on an axis


@dataclass(frozen=True)
class Band:
    """What is expected by day, with low and high."""

    days: tuple[date, ...]
    expected: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class DayCurve:
    """A number by day, with what is expected, a wanted number and a last day."""

    title: str
    description: str
    line_words: str
    days: tuple[date, ...]
    numbers: tuple[float, ...]
    band: Band | None = None
    band_words: str = ""
    target: float | None = None
    target_words: str = ""
    deadline: date | None = None
    deadline_words: str = ""


@dataclass(frozen=True)
class Bars:
    """Bars with a label each."""

    title: str
    description: str
    labels: tuple[str, ...]
    numbers: tuple[float, ...]
    axis_words: str = ""
    shares: bool = False
    """Whether the numbers are shares, written as percent."""
    colour: str = field(default=svg.COLOURS[0])


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


def day_curve(curve: DayCurve) -> str:
    """Draw a number by day: a line in steps, the band behind it, target and deadline as marked lines."""
    band = curve.band
    days = [*curve.days, *(band.days if band else ()), *([curve.deadline] if curve.deadline else [])]
    first, last = min(days), max(max(days), min(days) + timedelta(days=7))
    most = max([*curve.numbers, *(band.high if band else ()), curve.target or 0.0, 1.0])
    marks = ticks(1.1 * most)  # room for the words above the highest line
    x, y = _scale(0.0, float((last - first).days), marks[-1])

    def at(day: date) -> float:
        return x(float((day - first).days))

    parts = _frame(marks, y)
    for day in day_ticks(first, last):
        parts.append(svg.element("line", x1=at(day), x2=at(day), y1=y(0), y2=y(0) + 5, stroke=svg.INK))
        anchor = "end" if day == last else "middle"  # the last one would be cut off
        parts.append(svg.label(at(day), y(0) + 20, day.isoformat(), size=12, anchor=anchor))
    if band:
        upper = [f"{at(day):.1f},{y(high):.1f}" for day, high in zip(band.days, band.high, strict=True)]
        lower = [f"{at(day):.1f},{y(low):.1f}" for day, low in zip(band.days, band.low, strict=True)]
        parts.append(svg.element("polygon", points=" ".join([*upper, *reversed(lower)]), fill="#0072B2", opacity=0.2))
        middle = " ".join(f"{at(d):.1f},{y(n):.1f}" for d, n in zip(band.days, band.expected, strict=True))
        parts.append(_line(middle, svg.COLOURS[0], dash="6 4"))
    if curve.target is not None:
        parts.append(svg.element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y(curve.target), y2=y(curve.target),
                                 stroke=svg.COLOURS[2], stroke_width=2, stroke_dasharray="2 3"))  # fmt: skip
        parts.append(svg.label(_LEFT + 6, y(curve.target) - 6, curve.target_words, size=12, fill="#00563f"))
    if curve.deadline is not None:
        spot = at(curve.deadline)
        parts.append(svg.element("line", x1=spot, x2=spot, y1=_TOP, y2=y(0), stroke="#9b1111", stroke_width=2))
        parts.append(svg.label(spot - 6, y(0) - 8, curve.deadline_words, size=12, anchor="end", fill="#9b1111"))
    points: list[str] = []
    for place, (day, number) in enumerate(zip(curve.days, curve.numbers, strict=True)):
        points += [f"{at(day):.1f},{y(curve.numbers[place - 1]):.1f}"] if place else []
        points.append(f"{at(day):.1f},{y(number):.1f}")
    parts.append(_line(" ".join(points), svg.INK, width=2.5))
    parts += _key(curve.line_words, curve.band_words if band else "")
    return svg.picture(WIDTH, HEIGHT, curve.title, curve.description, parts)


def bars(chart: Bars) -> str:
    """Draw bars, with their numbers above them where there is room."""
    marks = ticks(max([*chart.numbers, 0.01 if chart.shares else 1.0]))
    count = max(len(chart.numbers), 1)
    x, y = _scale(0.0, float(count), marks[-1])
    room = (WIDTH - _LEFT - _RIGHT) / count
    write = _percent if chart.shares else _number
    parts = _frame(marks, y, write)
    every = max(1, math.ceil(max((len(text) for text in chart.labels), default=1) * 7.5 / room))
    for place, (label, number) in enumerate(zip(chart.labels, chart.numbers, strict=True)):
        left, width = x(place) + room * 0.12, room * 0.76
        parts.append(svg.element("rect", x=left, y=y(number), width=width, height=y(0) - y(number), fill=chart.colour))
        middle = left + width / 2
        if room >= 8 * len(write(number)) + 6:
            parts.append(svg.label(middle, y(number) - 5, write(number), size=12, anchor="middle"))
        if place % every == 0:
            parts.append(svg.label(middle, y(0) + 18, label, size=12, anchor="middle"))
    parts.append(svg.label(WIDTH - _RIGHT, HEIGHT - 6, chart.axis_words, size=12, anchor="end", fill=svg.QUIET))
    return svg.picture(WIDTH, HEIGHT, chart.title, chart.description, parts)


def _scale(low: float, high: float, most: float) -> tuple[Callable[[float], float], Callable[[float], float]]:
    across, up = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    return (
        lambda value: _LEFT + across * (value - low) / (high - low),
        lambda value: HEIGHT - _BOTTOM - up * value / most,
    )


def _frame(
    marks: Sequence[float], y: Callable[[float], float], write: Callable[[float], str] | None = None
) -> list[str]:
    parts = []
    for mark in marks:
        parts.append(svg.element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y(mark), y2=y(mark), stroke=svg.LINE))
        words = (write or _number)(mark)
        parts.append(svg.label(_LEFT - 8, y(mark) + 4, words, size=12, anchor="end"))
    return [*parts, svg.element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y(0), y2=y(0), stroke=svg.INK)]


def _line(points: str, colour: str, *, width: float = 2.0, dash: str | None = None) -> str:
    return svg.element("polyline", points=points, fill="none", stroke=colour, stroke_width=width, stroke_dasharray=dash)


def _key(line_words: str, band_words: str) -> list[str]:
    parts = [_line(f"{_LEFT},16 {_LEFT + 24},16", svg.INK, width=2.5), svg.label(_LEFT + 30, 20, line_words, size=12)]
    if band_words:
        start = _LEFT + 50 + 7.2 * len(line_words)
        parts.append(svg.element("rect", x=start, y=9, width=24, height=14, fill="#0072B2", opacity=0.2))
        parts.append(_line(f"{start},16 {start + 24},16", svg.COLOURS[0], dash="6 4"))
        parts.append(svg.label(start + 30, 20, band_words, size=12))
    return parts


def _number(value: float) -> str:
    return str(
        number_format(int(value) if value == int(value) else round(value, 2), use_l10n=True, force_grouping=True)
    )


def _percent(value: float) -> str:
    return f"{number_format(round(100 * value), use_l10n=True)}\u00a0%"
