"""Charts: everything lies in its frame, marks are round and cover, the table has every number, words stay words."""

import math
import xml.etree.ElementTree as ElementTree
from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.words.charts import (
    MOST_VALUES,
    Chart,
    Interval,
    Intervals,
    Kind,
    Mark,
    Point,
    Series,
    day_ticks,
    drawn,
    ticks,
)
from peerfront.words.language import Medium, Speaker, say, speaking
from peerfront.words.tree_pictures import Shape, TreePlace, as_file, named_tree, small_tree, tree_rows

DAY = date(2026, 3, 2)
VALUES = st.floats(0, 1e6, allow_subnormal=False)


def _parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


def _table(figure: ElementTree.Element) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in figure.iter("tr")]


@st.composite
def charts(draw):
    places = draw(st.sampled_from(["days", "numbers", "names"]))
    count = draw(st.integers(1, 60))
    x = {
        "days": [DAY + timedelta(days=3 * n) for n in range(count)],
        "numbers": list(range(5, 5 + count)),
        "names": [f"week {n} <&>" for n in range(count)],
    }[places]
    y = draw(st.lists(VALUES, min_size=count, max_size=count))
    banded = draw(st.booleans())
    points = [Point(a, b, b / 2 if banded else None, 2 * b if banded else None) for a, b in zip(x, y, strict=True)]
    kind = draw(st.sampled_from([Kind.LINE, Kind.STEPS, Kind.BARS, Kind.DOTS]))
    noted = Series("noted", [Point(a, n / 100) for n, a in enumerate(x)], Kind.NOTED, share=True)
    level = draw(st.none() | st.builds(Mark, VALUES, st.just("target")))
    upright = Mark(DAY + timedelta(days=200), "last day") if places == "days" else None
    return Chart("A <title>", "x", "y", (Series("one", points, kind, digits=2), noted), level, upright,
                 draw(st.booleans()))  # fmt: skip


@given(charts())
def test_everything_lies_in_the_frame_and_is_text_without_styles_or_scripts(chart) -> None:
    html = drawn(chart)
    figure = _parsed(html)
    assert all(word not in html for word in ("style=", "<script", "href", "<title>A"))
    plot = figure.find("div/svg")
    height = float(plot.get("height"))
    for part in plot.iter():
        for name in ("y", "y1", "y2", "cy"):
            assert 0 <= float(part.get(name, 0)) <= height, (part.tag, part.attrib)
        for name in ("x", "x1", "x2", "cx"):
            if part.get(name, "").endswith("%"):
                assert -0.01 <= float(part.get(name)[:-1]) <= 100.01, (part.tag, part.attrib)
        for point in part.get("points", "").split():
            across, down = map(float, point.split(","))
            assert -0.1 <= across <= 1000.1
            assert 0 <= down <= height


@given(charts())
def test_the_table_has_every_number_and_values_are_shown_at_few_places(chart) -> None:
    figure = _parsed(drawn(chart))
    head, *rows = _table(figure)
    points = chart.series[0].points
    assert len(rows) == len(points)
    assert len(head) == len(rows[0])
    assert [row[1] for row in rows] == [f"{point.y:,.2f}" for point in points]
    assert [row[-1] for row in rows] == [f"{point.y:.0%}" for point in chart.series[1].points]
    values = [each for each in figure.iter("g") if each.get("class") == "value"]
    assert 1 <= len(values) <= MOST_VALUES
    assert all(each.get("tabindex") == "0" and each.find("title").text for each in values)
    assert f"{points[-1].y:,.2f}" in values[-1].find("title").text


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.booleans())
def test_marks_are_round_few_and_cover(low, span, whole) -> None:
    high = low + span
    marks = ticks(low, high, whole=whole)
    near = 1e-6 * max(abs(low), abs(high), 1)
    assert marks[0] <= low + near
    assert marks[-1] >= high - near
    assert 2 <= len(marks) <= 7
    step = marks[1] - marks[0]
    if step > 1e-4:
        assert round(step / 10 ** math.floor(math.log10(step) + 1e-6), 3) in (1, 2, 5)
    assert not whole or step >= 1


@given(st.integers(0, 4000), st.integers(2, 8))
def test_days_on_an_axis_are_few_in_order_and_between_its_ends(days, wanted) -> None:
    last = DAY + timedelta(days=days)
    marks = day_ticks(DAY, last, wanted)
    assert 1 <= len(marks) <= wanted
    assert all(sooner < later for sooner, later in pairwise(marks))
    assert marks[0] >= DAY
    assert marks[-1] <= last
    assert days < 28 * wanted or all(mark.day == 1 for mark in marks)


def test_without_values_there_is_an_empty_frame() -> None:
    for series in ((), (Series("s", ()),), (Series("s", (), Kind.BARS, share=True),)):
        assert _table(_parsed(drawn(Chart("t", "x", "y", series))))[1:] == []
    assert _table(_parsed(drawn(Intervals("t", "x", ()))))[1:] == []


def test_bars_of_several_series_stand_on_each_other() -> None:
    series = [Series(name, [Point("a", number)], Kind.BARS) for name, number in (("one", 3), ("two", 4))]
    rects = _parsed(drawn(Chart("t", "x", "y", series))).iter("rect")
    lower, upper = [each for each in rects if "bar" in each.get("class", "")][:2]
    assert float(upper.get("y")) + float(upper.get("height")) == float(lower.get("y"))
    assert float(upper.get("height")) / float(lower.get("height")) == pytest.approx(4 / 3, rel=0.01)


def test_estimates_stand_between_their_ends() -> None:
    rows = [Interval("yes <b>", 0.31, 0.25, 0.38), Interval("plain mean", 0.4)]
    figure = _parsed(drawn(Intervals("HIV", "share", rows, share=True), caption=True))
    assert _table(figure)[1:] == [["yes <b>", "31%", "25%", "38%"], ["plain mean", "40%", "", ""]]
    (reach,) = (each for each in figure.iter("line") if each.get("class") == "reach c1")
    dot = next(each for each in figure.iter("circle"))
    assert float(reach.get("x1")[:-1]) < float(dot.get("cx")[:-1]) < float(reach.get("x2")[:-1])
    assert figure.find("figcaption").text == "HIV"


def test_numbers_are_those_of_the_language() -> None:
    chart = Chart("t", "x", "y", [Series(say("s"), [Point(1.5, 2.5)], digits=1)])
    with speaking(Speaker("es", Medium.PAGE, str, lambda one, many, n: many, marks={ord("."): ","})):
        assert _table(_parsed(drawn(chart)))[1] == ["1,5", "2,5"]


def test_trees_are_small_and_their_people_stand_apart() -> None:
    recruits = {f"p{n}": [f"p{2 * n + 1}", f"p{2 * n + 2}"] for n in range(1500)}
    rows, wave = tree_rows("p0", recruits), {"p0": 0}
    people = [TreePlace(0, rows["p0"], None, Shape.SEED, name="p0")]
    for n in range(1500):
        for each in recruits[f"p{n}"]:
            wave[each] = wave[f"p{n}"] + 1
            people.append(TreePlace(wave[each], rows[each], rows[f"p{n}"], name=f"<{each}>\u202e"))
    assert len({(each.wave, each.row) for each in people}) == len(people) == 3001
    small = small_tree(people)
    assert len(small) < 40_000
    assert ElementTree.fromstring(small).get("aria-hidden") == "true"
    named = named_tree(people[:50], "A & B")
    assert ElementTree.fromstring(as_file(named))[-1].get("aria-label") == "A & B"
    assert "\u202e" not in named  # it would turn the letters around
    assert [each.text for each in ElementTree.fromstring(named).iter("text")][1].startswith("<p1>")


def test_a_chain_of_ten_thousand_waves_has_rows() -> None:
    assert len(tree_rows("0", {str(n): [str(n + 1)] for n in range(10_000)})) == 10_001
