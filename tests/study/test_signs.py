"""Signs that a study slows down, on made studies where a reason is true and where it is not."""

import heapq
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from data.dated_studies import day_text
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import study_from_table
from peerfront.data.study import Study
from peerfront.data.study_schema import frontier_of, history_of
from peerfront.models.belief.belief_fit import learned_belief
from peerfront.models.belief.prior import Prior
from peerfront.models.returns.return_times import ReturnTimes
from peerfront.study.artifacts import Fit
from peerfront.study.coupon_calendar import exposure_of, generations_of
from peerfront.study.fit_models import counts_of
from peerfront.study.signs import Signs, signs_of
from peerfront.study.study_state import AT_ONCE, Standing, standing_of
from peerfront.words.charts import Chart, drawn
from peerfront.words.outlook_words import doubt_lines, outlook_details, outlook_lines
from peerfront.words.report_charts import sign_chart
from peerfront.words.sign_words import sign_line
from study.small_advice import a_fit, a_study
from study.small_outlook import advice_by_date

TIMES = ReturnTimes("lognormal", 10.0, 0.6)
DAYS = 120


def made_study(falls: float = 0.0, limit: int | None = None, lucky: bool = False, valid: int = 60) -> Study:
    """A study of ten seeds and 120 days: each wave brings less, staff hold so many interviews a week, or one seed's
    tree goes on and the others end."""
    rng = np.random.default_rng(1)
    waiting = [(float(rng.uniform(0, 7)), n, "seed", n, 0) for n in range(10)]
    heapq.heapify(waiting)
    rows: list[tuple[str, ...]] = []
    held: dict[int, int] = {}
    drawn = len(waiting)
    while waiting:
        day, _, recruiter, tree, wave = heapq.heappop(waiting)
        week = int(day // 7)
        if day >= DAYS:
            break
        if limit is not None and held.get(week, 0) >= limit:
            heapq.heappush(waiting, (7.0 * (week + 1), drawn, recruiter, tree, wave))
            drawn += 1
            continue
        held[week] = held.get(week, 0) + 1
        person, coupons = f"p{len(rows)}", 3 if day < DAYS - 4 else 0
        rows.append((person, recruiter, str(coupons), day_text(int(day)), "fm"[len(rows) % 2], "north"))
        use = 0.5 * (1.0 - falls) ** wave if not lucky or tree == 0 or wave < 1 else 0.1
        use *= 0.8 if lucky else 1.0
        for _ in range(int(rng.binomial(coupons, use))):
            lag = 10.0 * float(np.exp(0.6 * rng.standard_normal()))
            if lag < valid:
                heapq.heappush(waiting, (day + lag, drawn, person, tree, wave + 1))
                drawn += 1
    table = pd.DataFrame(rows, columns=["id", "recruiter.id", "coupons.issued", "date", "sex", "town"])
    return study_from_table(table, ReadSettings(valid_days=valid))


def fit_of(study: Study, *, dated: bool = True) -> Fit:
    """A model whose belief is learned from a study."""
    schema = a_study()[1]
    known = {"exposure": exposure_of(study, TIMES), "wave": generations_of(study, TIMES)} if dated else {}
    counts = counts_of(history_of(study, schema, **known))
    return replace(a_fit(), belief=learned_belief(counts, replace(Prior(), answers_matter=1e-6), draws=100))


@cache
def signs(queue: float = 0.0, population: int | None = None, **made: float) -> Signs:
    study = made_study(**made)  # type: ignore[arg-type]
    standing = standing_of(study, a_study()[1], TIMES)
    return signs_of(
        fit_of(study), standing, TIMES, study,
        recruits=100.0, queue=queue, generations=5.0, population=population,
    )  # fmt: skip


def test_recruits_per_coupon_that_fall_and_that_do_not() -> None:
    falls, steady = signs(falls=0.12).drift, signs(valid=14).drift
    assert falls is not None
    assert falls.matters
    assert falls.low < -0.1 < falls.high < 0.0  # a wave takes about 12 days, a generation of the calendar 10
    assert falls.chance > 0.95
    assert str(sign_line(falls)) == "Recruits per coupon fell by 8% a wave of 10 days (80%: 4% to 12%)."
    assert steady is not None
    assert not steady.matters
    assert steady.low < 0.0 < steady.high
    assert "do not clearly fall" in str(sign_line(steady))


def test_recruits_per_coupon_of_open_coupons_are_not_counted_too_low() -> None:
    drift = signs(valid=14).drift
    assert drift is not None
    *_, before, last = drift.generations
    assert last.come < 0.5 < before.come
    assert last.recruits < 0.5 * before.recruits * last.coupons / before.coupons  # many are still to come
    for each in drift.generations[1:]:
        assert each.low is not None
        assert each.high is not None
        assert each.low < 0.42
        assert each.high > 0.32  # half of the coupons would be used, 71% of these within 14 days


def test_generations_since_the_fit_are_shown_too() -> None:
    study = made_study(limit=8)
    kept, standing = fit_of(study), standing_of(study, a_study()[1], TIMES)
    earlier = replace(kept, belief=replace(kept.belief, waves=6))
    drift = signs_of(earlier, standing, TIMES, study, recruits=9.0, queue=0.0, generations=2.0).drift
    assert drift is not None
    assert len(drift.generations) == generations_of(study, TIMES).max() + 1 > 6
    assert sum(each.coupons for each in drift.generations) == study.issued[study.recruits <= study.issued].sum()


def test_interviews_at_a_limit_and_without() -> None:
    limited, free = signs(limit=8), signs(falls=0.12)
    assert limited.pace is not None
    assert limited.pace.limit == pytest.approx(8.0, abs=0.2)
    assert limited.strongest is limited.pace  # before the drift that it causes
    assert limited.drift is not None
    assert limited.pace.lost == limited.drift.lost
    assert str(sign_line(limited.pace)) == "Interviews look like the limit: 8 a week (chance over 99%)."
    assert free.pace is not None
    assert not free.pace.matters
    assert free.pace.limit is None
    assert "hardly the limit" in str(sign_line(free.pace))


def test_one_tree_that_carries_the_study_and_several() -> None:
    one, several = signs(lucky=True).tree, signs(limit=8).tree
    assert one is not None
    assert one.matters
    assert one.share > 0.9
    assert one.share_of_last == 1.0
    assert sum(map(sum, one.sizes)) == 63 - 10  # all recruits
    assert several is not None
    assert not several.matters


def test_coupons_that_expire_soon_and_late() -> None:
    short, long = signs(valid=14).expiry, signs(limit=8).expiry
    assert short is not None
    assert short.matters
    assert short.soon == short.open == sum(short.weeks[:2])
    assert 0.0 < short.recruits < short.open
    assert long is not None
    assert not long.matters
    assert long.soon == sum(long.weeks[:2]) < long.open == sum(long.weeks)


def test_people_who_run_out_and_who_do_not() -> None:
    many, few = signs(limit=8).reach, signs(limit=8, population=300).reach
    assert many is not None
    assert not many.matters
    assert many.people[0] > many.took_part
    assert few is not None
    assert few.matters
    assert few.people == (300,) * 5
    assert few.lost == pytest.approx(50 / (300 - few.took_part))
    assert str(sign_line(few)).startswith("People may run out: 48% of those")


def test_people_who_wait_and_know_nobody_who_is_left() -> None:
    study = made_study(limit=8)
    standing = standing_of(study, a_study()[1], TIMES)
    left = np.arange(len(standing.waiting)) - 1  # unknown, 0, 1, ...
    asked = replace(standing, waiting=replace(standing.waiting, left=left))
    reach = signs_of(fit_of(study), asked, TIMES, study, recruits=10.0, queue=0.0, generations=3.0).reach
    assert reach is not None
    assert reach.nobody_left == 1 / (len(left) - 1)


def test_a_study_by_waves_and_a_list_without_a_study() -> None:
    study, schema = a_study()
    people, fit = frontier_of(study, schema), fit_of(study, dated=False)
    ahead = {"recruits": 50.0, "queue": 0.0, "generations": 4.0}
    by_waves = signs_of(fit, Standing.by_rounds(people, len(study)), AT_ONCE, study, **ahead)
    assert by_waves.drift is not None
    assert by_waves.drift.days is None
    closed = (study.issued > 0) & (study.recruits <= study.issued) & ~study.still_open
    assert sum(each.recruits for each in by_waves.drift.generations) == study.recruits[closed].sum()
    assert all(each.come in (0.0, 1.0) for each in by_waves.drift.generations)
    assert by_waves.tree is not None
    assert by_waves.pace is by_waves.expiry is None
    alone = signs_of(fit, Standing.by_rounds(people), AT_ONCE, **ahead)
    assert alone.drift is not None
    assert alone.drift.generations == ()
    assert alone.reach is alone.tree is alone.pace is None  # nobody says how many took part
    assert all(drawn(sign_chart(each)) for each in alone.each)
    all_open = replace(study, still_open=study.issued > 0)
    nothing = signs_of(fit, Standing.by_rounds(people, len(study)), AT_ONCE, all_open, **ahead).drift
    assert nothing is not None
    assert nothing.generations == ()
    once = replace(fit, belief=replace(fit.belief, waves=1))
    assert signs_of(once, Standing.by_rounds(people), AT_ONCE, **ahead).each == []


def test_the_strongest_sign_is_the_one_line_and_the_others_are_details() -> None:
    own = replace(advice_by_date(studies=20).outlook, signs=signs(limit=8))
    each = [sign_line(sign) for sign in own.signs.each]
    lines, details = outlook_lines(own), outlook_details(own)
    assert [line for line in lines if line in each] == doubt_lines(own) == each[:1]
    assert [line for line in details if line in each] == each[1:]
    calm = replace(own.signs, **{name: replace(getattr(own.signs, name), matters=False) for name in ("pace", "drift")})
    calm_lines = outlook_lines(replace(own, signs=calm))
    assert not [line for line in calm_lines if line in each]
    apart = own.parts.assign(recruits=np.where(own.parts["part"] == own.parts["part"].iloc[0], 1.0, 1e6))
    assert "cannot say yet" in str(doubt_lines(replace(own, parts=apart))[0])  # the larger doubt


def test_published_counts_are_rounded() -> None:
    exact, published = signs(limit=8), signs(limit=8).published()
    assert exact.tree is not None
    for own in (published.pace.weeks, *published.tree.sizes, published.expiry.weeks):  # type: ignore[union-attr]
        assert all(count % 5 == 0 for count in own)
    assert published.tree is not None
    assert published.tree.share_of_last is None or sum(row[-1] for row in published.tree.sizes) >= 25
    drift = published.drift
    assert drift is not None
    assert all(each.coupons % 5 == 0 and each.recruits % 5 == 0 for each in drift.generations)
    assert all(each.per_coupon is None or each.coupons * each.come >= 25 for each in drift.generations)
    assert not all(count % 5 == 0 for row in exact.tree.sizes for count in row)


def test_every_sign_has_a_chart_with_its_numbers() -> None:
    whole = signs(limit=8)
    charts = {str(chart.title): chart for chart in map(sign_chart, whole.each)}
    assert len(charts) == 5
    weeks = charts["Interviews by week"]
    assert isinstance(weeks, Chart)
    assert [point.y for point in weeks.series[0].points] == list(whole.pace.weeks)  # type: ignore[union-attr]
    assert weeks.level is not None
    assert weeks.level.at == pytest.approx(8)
    assert all("<table>" in drawn(chart) for chart in charts.values())
