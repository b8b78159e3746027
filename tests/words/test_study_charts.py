"""Charts that several pages show say what their results say."""

import math
from datetime import date

from peerfront.words.charts import OTHERS, Kind, Point, drawn
from peerfront.words.study_charts import estimates_chart, people_chart, spend_chart

DAY = date(2026, 3, 2)


def test_people_have_band_target_and_deadline() -> None:
    chart = people_chart([Point(DAY, 40, 35, 48)], so_far=[Point(DAY, 40)], target=120, deadline=date(2026, 6, 30))
    html = drawn(chart)
    for words in ("target: 120", "last day: 30 Jun 2026", "8 of 10 simulated studies", "so far", "40 (35 to 48)"):
        assert words in html
    assert people_chart([Point(1, 40)], deadline=DAY).upright is None  # rounds have no dates


def test_spends_have_the_best_and_the_chosen_number_marked() -> None:
    values = {spend: 9 - (spend - 6) ** 2 / 10 for spend in range(12)}
    chart = spend_chart(values, 3)
    dots = {str(each.name): each.points[0].x for each in chart.series if each.kind is Kind.DOTS}
    assert dots == {"the best number": 6, "this sheet": 3}
    fewer = {point.x: point.y for point in chart.series[1].points}
    assert fewer[6] == 0
    assert math.isclose(fewer[3], 0.9)
    assert len(spend_chart(values, 6).series) == 3


def test_estimates_to_use_stand_out_and_those_not_valid_are_grey() -> None:
    names = ("what", "estimator", "estimate", "low", "high", "valid", "best")
    rows = [
        ("no", "SS", 0.7, 0.6, 0.8, True, True),
        ("yes", "mean", 0.4, math.nan, math.nan, False, False),
        ("yes", "SS", 0.3, 0.2, 0.4, True, True),
        ("yes", "RDS-II", 0.31, 0.2, 0.4, True, False),
        ("yes", "RDS-I", math.nan, math.nan, math.nan, False, False),
    ]
    chart = estimates_chart("hiv", [dict(zip(names, row, strict=True)) for row in rows], numeric=False)
    assert str(chart.title) == "hiv = yes"
    assert [(str(row.name), row.colour, row.low) for row in chart.rows] == [
        ("SS", 2, 0.2), ("mean", OTHERS, None), ("RDS-II", 1, 0.2),
    ]  # fmt: skip
