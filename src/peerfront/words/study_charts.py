"""Charts that several pages show: people by date with what is expected, other numbers of coupons, estimates."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from peerfront.words.charts import INK, OTHERS, Chart, Interval, Intervals, Kind, Mark, Point, Series, full_day
from peerfront.words.language import joined, say

if TYPE_CHECKING:
    from peerfront.study.outlook import Outlook

_MOST_ANSWERS = 6


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
        from_zero=bool(so_far),
    )


def outlook_facts(outlook: "Outlook") -> dict[str, Any]:
    """What `outlook_charts` needs, as plain values that can be stored: the plan's path first, then those of rivals."""
    rivals = {gain.policy for gain in outlook.gains.shown}
    rows: list[Any] = list(outlook.summary.itertuples(index=False))
    columns = ["step", "until", "total", "total_p10", "total_p90", "recruits", "p10", "p90", "queue"]
    return {
        "today": None if outlook.today is None else outlook.today.isoformat(),
        "already": outlook.already,
        "target": outlook.target if outlook.still_wanted else None,
        "limit": outlook.interviews_per_week,
        "paths": [
            {"name": row.described, "steps": outlook.steps_of(row.policy)[columns].to_dict("records")}
            for number, row in enumerate(rows)
            if number == 0 or row.policy in rivals
        ],
    }


def outlook_charts(facts: Mapping[str, Any], deadline: date | None = None) -> tuple[Chart, Chart]:
    """People in all, with rivals, target and deadline; and recruits by week or round, with limit and queue."""
    plan, *others = facts["paths"]
    people = people_chart(
        _totals(facts, plan["steps"], banded=True),
        others=[(each["name"], _totals(facts, each["steps"])) for each in others],
        target=facts["target"],
        deadline=deadline,
    )
    by_day = facts["today"] is not None
    came = [Point(_place(facts, row), row["recruits"], row["p10"], row["p90"]) for row in plan["steps"]]
    series = [Series(say("expected"), came, colour=1, band=say("8 of 10 simulated studies"))]
    limit = facts["limit"]
    if limit is not None:
        queue = [Point(_place(facts, row), row["queue"]) for row in plan["steps"]]
        series.append(Series(say("waiting for an interview"), queue, colour=5))
    steps = Chart(
        say("Recruits by week (at its last day)") if by_day else say("Recruits by round"),
        say("last day of the week") if by_day else say("round from now on"),
        say("recruits a week") if by_day else say("recruits"),
        series,
        level=None if limit is None else Mark(limit, say("{limit:g} interviews a week", limit=limit)),
    )
    return people, steps


def _totals(facts: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], *, banded: bool = False) -> list[Point]:
    already = facts["already"]
    now = 0 if facts["today"] is None else date.fromisoformat(facts["today"])
    ends = ("total", "total_p10", "total_p90") if banded else ("total",)
    return [Point(now, *(already for _ in ends))] + [
        Point(_place(facts, row), *(already + row[end] for end in ends)) for row in steps
    ]


def _place(facts: Mapping[str, Any], row: Mapping[str, Any]) -> date | float:
    return float(row["step"]) if facts["today"] is None else date.fromisoformat(row["until"])


def spend_chart(values: Mapping[int, float], chosen: int) -> Chart:
    """The recruits expected in all by the coupons given out this round, with the best number and the chosen one."""
    points = {spend: Point(spend, value) for spend, value in sorted(values.items())}
    best = max(points, key=lambda spend: points[spend].y)
    fewer = [Point(spend, points[best].y - point.y) for spend, point in points.items()]
    marked = [Series(say("the best number"), [points[best]], Kind.DOTS, 3, digits=1)]
    if chosen in points and chosen != best:
        marked.append(Series(say("this sheet"), [points[chosen]], Kind.DOTS, INK, digits=1))
    return Chart(
        say("Recruits expected in all, by coupons given out this round"),
        say("coupons given out this round"),
        say("recruits expected in all"),
        [
            Series(say("expected"), list(points.values()), digits=1),
            Series(say("fewer than the best"), fewer, Kind.NOTED, digits=1),
            *marked,
        ],
        from_zero=False,
        pointer=True,
    )


def estimates_chart(outcome: object, rows: Iterable[Mapping[str, Any]], *, numeric: bool) -> Intervals:
    """Every estimate for everybody with its interval; those to use stand out, those that are not valid here are grey.

    A row has what, estimator, estimate, low, high, valid and best. Of two answers the first is the rest of the second.
    """
    known = [row for row in rows if _is_number(row["estimate"])]
    answers = list(dict.fromkeys(row["what"] for row in known))
    shown = answers[1:] if len(answers) == 2 else answers[:_MOST_ANSWERS]
    drawn_rows = [
        Interval(
            row["estimator"] if len(shown) == 1 else joined([row["what"], row["estimator"]], ", "),
            row["estimate"],
            row["low"] if _is_number(row["low"]) else None,
            row["high"] if _is_number(row["high"]) else None,
            2 if row["best"] else 1 if row["valid"] else OTHERS,
        )
        for row in sorted(known, key=lambda row: not row["best"])
        if row["what"] in shown
    ]
    title = outcome if numeric or len(shown) != 1 else joined([outcome, shown[0]], " = ")
    most = max((abs(row.value) for row in drawn_rows), default=1.0)
    digits = max(0, 2 - math.floor(math.log10(max(most, 0.01))))  # three that matter
    x = joined([title, say("95% interval")], ", ")
    return Intervals(title, x, drawn_rows, share=not numeric, digits=digits)


def _is_number(value: float | None) -> bool:
    return value is not None and value == value
