"""Charts that several pages show: people by date with what is expected, and what other numbers of coupons bring."""

from collections.abc import Mapping, Sequence
from datetime import date

from peerfront.words.charts import INK, Chart, Kind, Mark, Point, Series, full_day
from peerfront.words.language import say


def people_chart(
    expected: Sequence[Point],
    *,
    so_far: Sequence[Point] = (),
    others: Sequence[tuple[object, Sequence[Point]]] = (),
    target: int | None = None,
    deadline: date | None = None,
) -> Chart:
    """People who have taken part, and what to expect: by date, or by round from now on.

    `expected` are means with the ends of the band of 8 in 10 simulated studies, `others` those of rivals, by name.
    """
    by_day = any(isinstance(point.x, date) for point in (*expected, *so_far))
    series = [Series(say("so far"), so_far, Kind.STEPS, INK)] if so_far else []
    if expected:
        series.append(Series(say("expected"), expected, colour=1, band=say("8 of 10 simulated studies")))
    series += [Series(name, points, colour=number) for number, (name, points) in enumerate(others, 2)]
    return Chart(
        say("People who have taken part"),
        say("date") if by_day else say("round from now on"),
        say("people"),
        series,
        level=None if target is None else Mark(target, say("target: {target:,}", target=target)),
        upright=Mark(deadline, say("last day: {day}", day=full_day(deadline))) if deadline and by_day else None,
    )


def spend_chart(values: Mapping[int, float], chosen: int, best: int) -> Chart:
    """The recruits expected in all by the coupons given out this round, with the best number and the chosen one."""
    points = {spend: Point(spend, value) for spend, value in values.items()}
    marked = [Series(say("the best number"), [points[best]], Kind.DOTS, 3, digits=1)]
    if chosen in points and chosen != best:
        marked.append(Series(say("this sheet"), [points[chosen]], Kind.DOTS, INK, digits=1))
    return Chart(
        say("Recruits expected in all, by coupons given out this round"),
        say("coupons given out this round"),
        say("recruits expected in all"),
        [Series(say("expected"), list(points.values()), digits=1), *marked],
        from_zero=False,
        pointer=True,
    )
