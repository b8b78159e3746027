"""Charts as inline SVG with a table of their numbers: the same in the app, in the live study and in the report.

    chart = Chart(
        say("People who take part, by date"), x=say("date"), y=say("people"),
        series=(
            Series(say("so far"), [Point(date(2026, 3, 2), 6), ...], Kind.STEPS, colour=INK),
            Series(say("expected"), [Point(date(2026, 4, 6), 41, low=35, high=48), ...], band=say("8 of 10")),
        ),
        level=Mark(120, say("target: {n:,}", n=120)), upright=Mark(date(2026, 6, 30), say("last day")),
    )
    context["chart"] = drawn(chart)     # and {{ chart }} in a template of Django or Jinja

What `x` holds decides on the axis: dates, numbers, or names (in the order in which they come). Bars of several series
stand on each other. A series of `Kind.NOTED` is not drawn; it stands beside the others where values are shown.
`drawn(Intervals(...))` draws estimates with intervals, a row each. `tree_pictures.py` draws who recruited whom.

How it is laid out: across, places are shares of the width, and down, pixels. So one drawing fits every width, letters
keep their size, and nothing has to be drawn twice. Titles of axes and the key are text of the page, which wraps. The
values at a place are shown above the plot while it is pointed at, touched or focused, by rules of `charts.css`; so no
script is needed, nor an inline style. Charts run from left to right on every page.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import cached_property
from html import escape
from itertools import pairwise
from textwrap import wrap

from peerfront.foundation.shown import LONGEST_LINE, visible
from peerfront.words.language import Text, in_digits, joined, say

X = float | date | str
INK = 0
"""The colour of letters; 1 to 8 are those of Okabe and Ito, which colour-blind readers tell apart; 9 is grey."""
OTHERS = 9
MOST_VALUES = 24
"""Places of a chart at which values are shown: on a phone a finger finds no more, and Tab stops at each."""
NARROWEST = 280.0
"""Pixels of the narrowest plot for which labels are spaced."""
_LINE, _LETTER = 16, 6.6  # pixels of a line of text, and of a letter
_READOUT, _READOUT_LINES = 40, 2  # letters that fit above the narrowest plot, and lines that are given to them
_HEIGHT = 190
_DAYS = (1, 2, 7, 14, 28)
_FAR = 330  # days of an axis that names years
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 600)


class Html(str):
    """HTML of our own, which templates do not escape."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


class Kind(StrEnum):
    """How a series is drawn."""

    LINE = "line"
    STEPS = "steps"
    BARS = "bars"
    DOTS = "dots"
    NOTED = "noted"


@dataclass(frozen=True)
class Point:
    """A value, with its interval or band if there is one."""

    x: X
    y: float
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float, ...]:
        return tuple(end for end in (self.y, self.low, self.high) if end is not None)


@dataclass(frozen=True)
class Series:
    """Values that belong together."""

    name: object
    points: Sequence[Point]
    kind: Kind = Kind.LINE
    colour: int | None = None
    """By default by the place among the series."""
    band: object = ""
    """What `low` and `high` are."""
    share: bool = False
    """Whether values are shares, shown as percent."""
    digits: int = 0

    def written(self, value: float) -> str:
        return _percent(value) if self.share else shown_number(value, self.digits)


@dataclass(frozen=True)
class Mark:
    """A line across the plot, at a value or at a place."""

    at: X
    name: object


@dataclass(frozen=True)
class Chart:
    """Values by date, by number or by name."""

    title: object
    x: object
    y: object
    series: Sequence[Series]
    level: Mark | None = None
    upright: Mark | None = None
    from_zero: bool = True
    pointer: bool = False
    """Whether there is a dot that a script may move along the first line."""

    @cached_property
    def drawn_series(self) -> list[tuple[Series, int]]:
        """What is drawn, with its colour."""
        there = [each for each in self.series if each.kind is not Kind.NOTED]
        return [(each, number if each.colour is None else each.colour) for number, each in enumerate(there, 1)]

    @cached_property
    def places(self) -> list[X]:
        """Every place that has a value, in order; names stay in the order in which they come."""
        places = dict.fromkeys(point.x for each in self.series for point in each.points)
        return list(places) if any(isinstance(place, str) for place in places) else sorted(places)

    @cached_property
    def values(self) -> list[dict[X, Point]]:
        """The points of each series by place."""
        return [{point.x: point for point in each.points} for each in self.series]


@dataclass(frozen=True)
class Interval:
    """An estimate in a row of its own."""

    name: object
    value: float
    low: float | None = None
    high: float | None = None
    colour: int = 1


@dataclass(frozen=True)
class Intervals:
    """Estimates with their intervals, one below the other on one axis."""

    title: object
    x: object
    rows: Sequence[Interval]
    share: bool = False
    digits: int = 1
    upright: Mark | None = None


def drawn(chart: Chart | Intervals, *, caption: bool = False) -> Html:
    """Draw a chart with its key, and its numbers as a table in a fold; `caption` shows its title."""
    body, key, table = _plot(chart) if isinstance(chart, Chart) else _intervals(chart)
    shown = f"<figcaption>{shown_text(chart.title)}</figcaption>" if caption else ""
    return Html(f'<figure class="chart">{shown}{body}{key}{_fold(chart.title, table)}</figure>')


# Scales ---------------------------------------------------------------------------------------------------------------


def ticks(low: float, high: float, *, wanted: int = 4, whole: bool = False) -> list[float]:
    """Round numbers from `low` or below to `high` or above, about as many as wanted."""
    raw = max(high - low, 1e-9) / wanted
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * (1 - 1e-9))
    step = max(step, 1.0) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * place, 12) for place in range(first, max(last, first + 1) + 1)]


def day_ticks(first: date, last: date, wanted: int = 4) -> list[date]:
    """Days from the first to the last, evenly, at most as many as wanted; firsts of months if they are far apart."""
    days = (last - first).days
    for step in _DAYS:
        if days < step * wanted:
            return [first + timedelta(days=step * place) for place in range(days // step + 1)]
    start, end = (12 * day.year + day.month - 1 for day in (first, last))
    start += first.day > 1
    step = next(step for step in _MONTHS if end - start < step * wanted)
    return [date(month // 12, month % 12 + 1, 1) for month in range(-(-start // step) * step, end + 1, step)]


class _Scale:
    """Where things stand across: a share of the width for each place, and the labelled ones."""

    def __init__(self, places: Sequence[X], chart: Chart) -> None:
        self.named = {place: number for number, place in enumerate(places) if isinstance(place, str)}
        extra = [] if chart.upright is None or self.named else [chart.upright.at]
        ends = [_number(place) for place in (*places, *extra) if not isinstance(place, str)]
        self.low, self.high = min(ends, default=0.0), max(ends, default=1.0)
        self.bars = any(each.kind is Kind.BARS for each, _ in chart.drawn_series)
        self.is_days = any(isinstance(place, date) for place in places)
        self.step = min((b - a for a, b in pairwise(sorted(set(ends)))), default=1.0) if self.bars else 0.0
        if self.bars and not self.named:
            self.low, self.high = self.low - self.step / 2, self.high + self.step / 2
        if self.high == self.low:
            self.high = self.low + (7.0 if self.is_days else 1.0)
        self.labels = self._labels(list(places))

    def at(self, place: X) -> float:
        """The share of the width, 0 to 1."""
        if isinstance(place, str):
            return (self.named[place] + 0.5) / len(self.named)
        return (_number(place) - self.low) / (self.high - self.low)

    @property
    def room(self) -> float:
        """The share of the width that a bar has."""
        return 1 / max(len(self.named), 1) if self.named else self.step / (self.high - self.low)

    def _labels(self, places: list[X]) -> list[tuple[float, str]]:
        if self.named:
            longest = max(len(str(place)) for place in places) + 1
            every = max(1, math.ceil(longest * _LETTER * len(places) / NARROWEST))
            return [(self.at(place), str(place)) for place in places[::every]]
        if self.is_days:
            within = self.step / 2 if self.bars else 0.0  # bars reach further than their days
            first, last = (date.fromordinal(round(end)) for end in (self.low + within, self.high - within))
            far = (last - first).days > _FAR
            return [(self.at(day), str(short_day(day, with_year=far))) for day in day_ticks(first, last)]
        whole = all(float(_number(place)).is_integer() for place in places)
        marks = ticks(self.low, self.high, whole=whole)
        return [(self.at(mark), _plain(mark)) for mark in marks if self.low - 1e-9 <= mark <= self.high + 1e-9]


def _number(place: X) -> float:
    return float(place.toordinal()) if isinstance(place, date) else float(place)


# A chart --------------------------------------------------------------------------------------------------------------


def _plot(chart: Chart) -> tuple[str, str, list[list[str]]]:
    scale = _Scale(chart.places, chart)
    readouts = {place: _readout(chart, place) for place in _shown_places(chart)}
    top = _LINE * max((len(lines) for lines in readouts.values()), default=0) + 6
    bottom = top + _HEIGHT
    tops = [end for each, _ in chart.drawn_series for point in each.points for end in point.ends]
    tops += [] if chart.level is None else [_number(chart.level.at)]
    tops += [sum(heights.values()) for heights in _stacks(chart).values()]
    low, high = (min([0.0, *tops]) if chart.from_zero else min(tops, default=0.0)), max(tops, default=1.0)
    first = chart.drawn_series[0][0] if chart.drawn_series else Series("", ())
    whole = not first.share and not first.digits
    marks = ticks(low, high if high > low else low + 1.0, whole=whole)

    def down(value: float) -> float:
        return round(bottom - (bottom - top) * (value - marks[0]) / (marks[-1] - marks[0]), 1)

    write: Callable[[float], str] = _percent if first.share else _plain
    parts = [_rule(down(mark), write(mark)) for mark in marks]
    for place, label in scale.labels:
        anchor = "middle" if scale.named else "start" if place < 0.03 else "end" if place > 0.97 else "middle"
        parts.append(f'<text x="{_share(place)}" y="{bottom + _LINE}" class="{anchor}">{shown_text(label)}</text>')
    parts += _bars(chart, scale, down)
    parts.append(_stretched(chart, scale, down, bottom + 4))
    parts += _dots(chart, scale, down)
    if chart.level is not None:
        y = down(_number(chart.level.at))
        parts.append(f'<line class="level" x2="100%" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="halo" x="4" y="{y - 5}">{shown_text(chart.level.name)}</text>')
    if chart.upright is not None:
        at = scale.at(chart.upright.at)
        parts.append(f'<line class="upright" x1="{_share(at)}" x2="{_share(at)}" y1="{top}" y2="{bottom}"/>')
        side, shift = ("end", -5) if at > 0.5 else ("start", 5)
        name = shown_text(chart.upright.name)
        parts.append(f'<text class="halo {side}" x="{_share(at)}" dx="{shift}" y="{bottom - 7}">{name}</text>')
    if chart.pointer:
        parts.append('<circle class="pointer" r="0"/>')
    parts += _values(chart, scale, readouts, down, top, bottom)
    y_title = f'<p class="axis">{shown_text(chart.y)}</p>'
    x_title = f'<p class="axis x">{shown_text(chart.x)}</p>' if chart.x else ""
    return y_title + _svg(chart.title, bottom + _LINE + 6, parts) + x_title, _key(chart), _table(chart)


def _rule(y: float, label: str) -> str:
    """A value of the axis at the left, with its line."""
    words = f'<text class="end" x="-6" y="{y + 4}">{shown_text(label)}</text>'
    return f'<line class="rule" x2="100%" y1="{y}" y2="{y}"/>{words}'


def _stacks(chart: Chart) -> dict[X, dict[int, float]]:
    """Heights of the bars at each place, by the number of the series, from below."""
    stacks: dict[X, dict[int, float]] = {}
    for number, (each, _) in enumerate(chart.drawn_series):
        for point in each.points if each.kind is Kind.BARS else ():
            stacks.setdefault(point.x, {})[number] = point.y
    return stacks


def _bars(chart: Chart, scale: _Scale, down: Callable[[float], float]) -> list[str]:
    bars, width = [], scale.room * 0.76
    for place, heights in _stacks(chart).items():
        below, left = 0.0, _share(scale.at(place) - width / 2)
        for number, height in heights.items():
            top, colour = down(below + height), chart.drawn_series[number][1]
            size = f'width="{_share(width)}" height="{down(below) - top:.1f}"'
            bars.append(f'<rect class="bar c{colour}" x="{left}" y="{top}" {size}/>')
            below += height
    return bars


def _stretched(chart: Chart, scale: _Scale, down: Callable[[float], float], height: float) -> str:
    """Bands and lines: a picture within the picture that is as wide as the plot, 1,000 units whatever its width."""
    parts = []
    for each, colour in chart.drawn_series:
        if each.kind not in (Kind.LINE, Kind.STEPS):
            continue
        points = sorted(each.points, key=lambda point: scale.at(point.x))
        banded = [(scale.at(p.x), p.low, p.high) for p in points if p.low is not None and p.high is not None]
        if banded:
            ends = [(x, high) for x, _, high in banded] + [(x, low) for x, low, _ in reversed(banded)]
            parts.append(f'<polygon class="band c{colour}" points="{_points(ends, down)}"/>')
        places = [(scale.at(point.x), point.y) for point in points]
        if each.kind is Kind.STEPS:
            places = places[:1] + [at for (_, was), (x, y) in pairwise(places) for at in ((x, was), (x, y))]
        parts.append(f'<polyline class="line c{colour}" points="{_points(places, down)}"/>')
    inner = f'<svg width="100%" height="{height}" viewBox="0 0 1000 {height}" preserveAspectRatio="none">'
    return f"{inner}{''.join(parts)}</svg>" if parts else ""


def _points(places: Iterable[tuple[float, float]], down: Callable[[float], float]) -> str:
    return " ".join(f"{1000 * x:.1f},{down(y)}" for x, y in places)


def _dots(chart: Chart, scale: _Scale, down: Callable[[float], float]) -> list[str]:
    dots = []
    for each, colour in chart.drawn_series:
        for point in each.points if each.kind is Kind.DOTS else ():
            x = _share(scale.at(point.x))
            if point.low is not None and point.high is not None:
                ends = f'y1="{down(point.low)}" y2="{down(point.high)}"'
                dots.append(f'<line class="reach c{colour}" x1="{x}" x2="{x}" {ends}/>')
            dots.append(f'<circle class="dot c{colour}" cx="{x}" cy="{down(point.y)}" r="5"/>')
    return dots


def _shown_places(chart: Chart) -> list[X]:
    """Places at which values are shown: all, or evenly chosen ones, with the last and those of single dots."""
    places = chart.places
    if len(places) <= MOST_VALUES:
        return places
    few = {point.x for each, _ in chart.drawn_series if each.kind is Kind.DOTS for point in each.points[:3]}
    every = math.ceil(len(places) / (MOST_VALUES - len(few)))
    return [place for number, place in enumerate(places[::-1]) if number % every == 0 or place in few][::-1]


def _readout(chart: Chart, place: X) -> list[str]:
    """The values at a place, in lines that fit above the plot; those of later series may be left to the table."""
    there = [(each, points[place]) for each, points in zip(chart.series, chart.values, strict=True) if place in points]
    parts = [_in_words(each, point, len(chart.series) > 1) for each, point in there]
    for shown in range(len(parts), 0, -1):
        lines = wrap(f"{_place_text(place)}: {' · '.join(parts[:shown])}", _READOUT)
        if len(lines) <= _READOUT_LINES:
            break
    return lines


def _in_words(each: Series, point: Point, named: bool) -> str:
    words = each.written(point.y)
    if point.low is not None and point.high is not None:
        values = {"middle": words, "low": each.written(point.low), "high": each.written(point.high)}
        words = str(say("{middle} ({low} to {high})", **values))
    return f"{visible(str(each.name), LONGEST_LINE)} {words}" if named else words


def _values(
    chart: Chart,
    scale: _Scale,
    readouts: Mapping[X, Sequence[str]],
    down: Callable[[float], float],
    top: float,
    bottom: float,
) -> list[str]:
    """What is shown of a place while it is pointed at, touched or focused."""
    at = [scale.at(place) for place in readouts]
    halves = [0.0, *((one + two) / 2 for one, two in pairwise(at)), 1.0]
    parts = []
    for (place, lines), middle, (left, right) in zip(readouts.items(), at, pairwise(halves), strict=bool(at)):
        x = _share(middle)
        dots = "".join(
            f'<circle class="c{colour}" cx="{x}" cy="{down(point.y)}" r="4"/>'
            for each, colour in chart.drawn_series
            if each.kind in (Kind.LINE, Kind.STEPS)
            for point in each.points
            if point.x == place
        )
        words = "".join(
            f'<text x="0" y="{_LINE * number - 4}">{escape(line)}</text>' for number, line in enumerate(lines, 1)
        )
        parts.append(
            f'<g class="value" tabindex="0" role="img"><title>{escape(" ".join(lines))}</title>'
            f'<rect x="{_share(left)}" width="{_share(right - left)}" y="{top}" height="{bottom - top}"/>'
            f'<line x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>{dots}{words}</g>'
        )
    return parts


def _key(chart: Chart) -> str:
    """What colours and shapes mean, if there is more than one thing to tell apart."""
    entries = []
    for each, colour in chart.drawn_series:
        shape = {Kind.BARS: "bar", Kind.DOTS: "dot"}.get(each.kind, "line")
        entries.append((shape, colour, each.name))
        if each.band and any(point.low is not None for point in each.points):
            entries.append(("band", colour, each.band))
    if len(entries) < 2:
        return ""
    return key_of(entries)


def key_of(entries: Iterable[tuple[str, int, object]]) -> Html:
    """What colours mean: shapes (line, band, bar, dot), colours and names."""
    items = "".join(
        f'<li><svg width="22" height="12" aria-hidden="true">{_swatch(shape, colour)}</svg>'
        f" <bdi>{shown_text(name)}</bdi></li>"
        for shape, colour, name in entries
    )
    return Html(f'<ul class="key">{items}</ul>')


def _swatch(shape: str, colour: int) -> str:
    if shape == "line":
        return f'<path class="line c{colour}" d="M1 6h20"/>'
    if shape == "dot":
        return f'<circle class="dot c{colour}" cx="11" cy="6" r="5"/>'
    return f'<rect class="{shape} c{colour}" x="1" y="1" width="20" height="10"/>'


def _table(chart: Chart) -> list[list[str]]:
    """Every number of the chart, the headings first."""
    banded = [any(point.low is not None for point in each.points) for each in chart.series]
    headings = [str(chart.x)]
    for each, has_band in zip(chart.series, banded, strict=True):
        headings += [str(each.name), *([str(say("low")), str(say("high"))] if has_band else [])]
    rows = []
    for place in chart.places:
        row = [_place_text(place)]
        for each, has_band, points in zip(chart.series, banded, chart.values, strict=True):
            point = points.get(place)
            ends = (None, None, None) if point is None else (point.y, point.low, point.high)
            row += ["" if end is None else each.written(end) for end in ends[: 3 if has_band else 1]]
        rows.append(row)
    return [headings, *rows]


# Estimates ------------------------------------------------------------------------------------------------------------


def _intervals(chart: Intervals) -> tuple[str, str, list[list[str]]]:
    written = Series("", (), share=chart.share, digits=chart.digits).written
    ends = [end for row in chart.rows for end in (row.value, row.low, row.high) if end is not None]
    ends += [] if chart.upright is None else [_number(chart.upright.at)]
    marks = ticks(min(ends, default=0.0), max(ends, default=1.0), whole=not chart.share and not chart.digits)
    row_height, top = 2.5 * _LINE, (_LINE if chart.upright else 0) + 2
    bottom = round(top + row_height * len(chart.rows), 1)

    def across(value: float) -> str:
        return _share((value - marks[0]) / (marks[-1] - marks[0]))

    parts = []
    for mark in marks:
        x, anchor = across(mark), "start" if mark == marks[0] else "end" if mark == marks[-1] else "middle"
        words = _percent(mark) if chart.share else _plain(mark)
        parts.append(f'<line class="rule" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>')
        parts.append(f'<text class="{anchor}" x="{x}" y="{bottom + _LINE}">{shown_text(words)}</text>')
    if chart.upright is not None:
        x = across(_number(chart.upright.at))
        parts.append(f'<line class="upright" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>')
        parts.append(f'<text x="0" y="{_LINE - 4}">{shown_text(chart.upright.name)}</text>')
    table = [[str(chart.x), str(say("estimate")), str(say("low")), str(say("high"))]]
    for number, row in enumerate(chart.rows):
        y = round(top + row_height * number + _LINE, 1)
        point = Point(0, row.value, row.low, row.high)
        words = _in_words(Series(row.name, (), share=chart.share, digits=chart.digits), point, True)
        parts.append(f'<text class="halo" x="4" y="{y}">{escape(words)}</text>')
        if row.low is not None and row.high is not None:
            x_ends = f'x1="{across(row.low)}" x2="{across(row.high)}"'
            parts.append(f'<line class="reach c{row.colour}" {x_ends} y1="{y + 11}" y2="{y + 11}"/>')
        parts.append(f'<circle class="dot c{row.colour}" cx="{across(row.value)}" cy="{y + 11}" r="5"/>')
        cells = ["" if end is None else written(end) for end in (row.value, row.low, row.high)]
        table.append([visible(str(row.name), LONGEST_LINE), *cells])
    picture = _svg(chart.title, bottom + _LINE + 6, parts, "flush", "img")
    return f'{picture}<p class="axis x">{shown_text(chart.x)}</p>', "", table


# HTML and words -------------------------------------------------------------------------------------------------------


def _svg(title: object, height: float, parts: Iterable[str], look: str = "", role: str = "group") -> str:
    """The picture; its group has parts that can be focused, so it is no single image."""
    return (
        f'<div class="plot {look}" dir="ltr"><svg width="100%" height="{height:g}" role="{role}"'
        f' aria-label="{shown_text(title)}">{"".join(parts)}</svg></div>'
    )


def _fold(title: object, table: Sequence[Sequence[str]]) -> str:
    first, *others = (shown_text(each) for each in table[0])
    headings = f'<th scope="col">{first}</th>' + "".join(
        f'<th scope="col" class="number">{each}</th>' for each in others
    )

    def cells(row: Sequence[str]) -> str:
        return f'<th scope="row">{escape(row[0])}</th>' + "".join(
            f'<td class="number">{escape(each)}</td>' for each in row[1:]
        )

    body = "".join(f"<tr>{cells(row)}</tr>" for row in table[1:])
    return (
        f'<details class="numbers"><summary>{shown_text(say("The numbers"))}</summary>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{shown_text(title)}">'
        f"<table><thead><tr>{headings}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


def shown_text(value: object) -> str:
    """Text of a page, with nothing in it that is not text."""
    return escape(visible(str(value), LONGEST_LINE))


def _share(share: float) -> str:
    return f"{100 * share:.2f}%"


def _place_text(place: X) -> str:
    if isinstance(place, date):
        return str(full_day(place))
    return visible(place, LONGEST_LINE) if isinstance(place, str) else _plain(place)


def _percent(share: float) -> str:
    return f"{shown_number(100 * share, 0)}%"


def _plain(value: float) -> str:
    """A round number with the decimals that it needs."""
    digits = next((digits for digits in range(7) if math.isclose(value, round(value, digits), abs_tol=1e-9)), 7)
    return shown_number(value, digits)


def shown_number(value: float, digits: int) -> str:
    """A number with this many decimals, as the language in use writes it."""
    return str(in_digits(value, f",.{digits}f"))


def short_day(day: date, *, with_year: bool = False) -> Text:
    """A day on an axis: 2 Mar; or Mar 2026."""
    months = (
        say("Jan"), say("Feb"), say("Mar"), say("Apr"), say("May"), say("Jun"),
        say("Jul"), say("Aug"), say("Sep"), say("Oct"), say("Nov"), say("Dec"),
    )  # fmt: skip
    month = months[day.month - 1]
    return joined([month, str(day.year)]) if with_year else say("{day} {month}", day=day.day, month=month)


def full_day(day: date) -> Text:
    """A day as values name it: 2 Mar 2026."""
    return joined([short_day(day), str(day.year)])
