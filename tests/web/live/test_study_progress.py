"""Progress: numbers that add up, charts with a table each, and the forecast beside the model."""

import re
from collections import Counter
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_study import PLAYED, PlayedStudy

from peerfront.data.study_calendar import coupon_counts
from peerfront.web.live.exporting import live_study
from peerfront.web.live.planning.kept_models import KeptModel
from peerfront.web.live.records import models
from peerfront.web.live.records.recruitment import Recruitment, recruitment_now
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.requests import VoidCoupon, WithdrawPerson
from peerfront.web.live.screens.coupon_board import STATES, in_state
from peerfront.web.live.screens.page_frame import study_or_404, today_of
from peerfront.web.live.screens.progress_page import FEWEST_COUPONS, returns_by_age, so_far, standings, weekly

DAY = date(2026, 3, 2)


def _returns(ages, last):
    """The shares of coupons, given as their age and the age at which they were used, if they were."""
    used = Counter(used for _, used in ages if used is not None)
    return returns_by_age(used, Counter(age for age, used in ages if used is None), last)


def _chart(page, name: str) -> str:
    """A chart of a page, which shows it as it is."""
    chart = page.context["charts"][name]
    assert chart in page.content.decode()
    return chart


@given(st.lists(st.integers(0, 200), max_size=50), st.integers(0, 60))
def test_days_and_weeks_add_up(offsets, later) -> None:
    days = [DAY + timedelta(days=offset) for offset in offsets]
    today = max([DAY, *days]) + timedelta(days=later)
    assert [number for _, number in so_far(Counter(days))][-1:] == ([len(days)] if days else [])
    weeks = weekly(Counter(days), today)
    assert sum(week.came for week in weeks) == len(days)
    assert all(week.monday.weekday() == 0 for week in weeks)
    if days:
        assert weeks[-1].so_far == len(days)
        assert weeks[-1].monday <= today < weeks[-1].monday + timedelta(days=7)


def test_the_share_used_by_age_is_that_of_kaplan_and_meier() -> None:
    # 10 coupons: two used on day 1, one on day 3; five are 2 days old, the others 9.
    ages = [(9, 1), (9, 1), (9, 3), (9, None), (9, None), *[(2, None)] * 5]
    days = {each.age: each for each in _returns(ages, last=5)}
    assert days[0].out == 10
    assert days[1].share == pytest.approx(2 / 10)
    assert days[2].out == 8
    assert 3 not in days  # three coupons are left, too few to tell
    many = [pair for pair in ages for _ in range(10)]
    days = {each.age: each for each in _returns(many, last=5)}
    assert days[3].out == 30
    assert days[3].share == pytest.approx(1 - 0.8 * (2 / 3))
    assert max(days) == 5


@given(st.lists(st.tuples(st.integers(0, 30), st.none() | st.integers(0, 30)), max_size=60))
def test_shares_never_fall_and_every_use_counts_once(coupons) -> None:
    ages = [(age, None if used is None or used > age else used) for age, used in coupons]
    days = _returns(ages, last=20)
    shares = [each.share for each in days]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    assert all(each.out >= FEWEST_COUPONS for each in days)


@pytest.mark.usefixtures("one_database")
def test_numbers_of_the_study_are_those_of_its_sites_together() -> None:
    played = PlayedStudy().play(weeks=4)
    void = models.Coupon.objects.filter(redemption=None).exclude(holder=None).first()
    played.do(VoidCoupon(void.code, "lost"), site=void.site_id)
    study = study_or_404()
    found = standings(study, today_of(study))
    whole, north, south = (found[site] for site in (None, "north", "south"))
    assert whole.people == models.Person.objects.count() == north.people + south.people
    assert whole.seeds == 6
    assert sum(number for _, number in whole.waves) == whole.people
    assert dict(whole.waves)[0] == 6
    assert whole.handed_out == PLAYED.budget - study.kept == north.handed_out + south.handed_out
    assert whole.coupons["used"] == whole.recruits
    used_of_ended = models.Redemption.objects.filter(coupon__last_day__lt=today_of(study)).exclude(coupon__holder=None)
    assert whole.ended_used == used_of_ended.count()
    assert sum(each.used for each in whole.returns) == whole.recruits


@pytest.mark.usefixtures("one_database")
def test_open_coupons_are_those_that_a_plan_of_today_counts() -> None:
    """A coupon whose last day is today is valid today, and no plan counts on it."""
    study = PlayedStudy().play(weeks=3)
    today = today_of(study_or_404())
    unused = models.Coupon.objects.filter(redemption=None).exclude(holder=None)
    holder, *others = dict.fromkeys(unused.order_by("holder").values_list("holder", flat=True))
    models.Coupon.objects.filter(holder__in=others[:3]).update(last_day=today + timedelta(days=1))
    models.Coupon.objects.filter(holder=holder).update(last_day=today)
    planned = coupon_counts(live_study().as_of(today)).open
    page = study.client(Role.COORDINATOR).get("/progress/")
    assert page.context["now"].open == planned > 0
    assert sum(each.open for _, each in page.context["by_site"]) == planned
    counts = page.context["now"].coupons
    ends_today = models.Coupon.objects.filter(holder=holder, redemption=None).count()
    assert counts["valid"] + counts["not_yet"] == planned + ends_today


@pytest.mark.usefixtures("one_database")
def test_the_page_has_a_table_beside_each_picture_and_the_forecast_where_there_is_one() -> None:
    study = PlayedStudy().play(weeks=3)
    client = study.client(Role.ANALYST, "north")
    page = client.get("/progress/")
    assert "There is no band yet" in page.content.decode()
    for name in ("people", "weeks", "waves", "returns"):
        assert "<table>" in _chart(page, name)
    assert "polygon" not in _chart(page, "people")
    assert re.search(r"expired unused, and \d+ may still be used", page.content.decode())
    plan = models.Plan.objects.order_by("-plan").first()
    folder = KeptModel(plan.model).plan(plan.seed).folder
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "forecast.csv"
    try:
        today = today_of(study_or_404())
        file.write_text(f"date,expected,low,high\n{today},20.00,20.00,20.00\n{today + timedelta(days=7)},31.5,25,40\n")
        assert "polygon" in _chart(client.get("/progress/"), "people")
        text = client.get("/progress/").content.decode()
        assert "8 of 10 simulated studies" in text
        assert "There is no band yet" not in text
        assert "polygon" not in _chart(client.get("/progress/?site=north"), "people")  # it is of the whole study
        file.write_text("date,expected\nnonsense,1\n")
        assert client.get("/progress/").status_code == 200
    finally:
        file.unlink()


@pytest.mark.usefixtures("one_database")
def test_pictures_are_drawn_anew_when_something_happens() -> None:
    study = PlayedStudy().play(weeks=1)
    client = study.client(Role.MANAGER)
    before = _chart(client.get("/progress/"), "waves")
    assert _chart(client.get("/progress/"), "waves") == before
    study.seed("another")
    assert _chart(client.get("/progress/"), "waves") != before


@pytest.mark.usefixtures("one_database")
def test_a_study_without_people_has_a_page_of_progress() -> None:
    client = PlayedStudy().client(Role.COORDINATOR)
    assert client.get("/progress/").status_code == 200


def _same(counts) -> dict:
    """Counts by site, without what is zero."""
    return {
        site: [each.seeds, *(+number for number in (each.days, each.waves, each.unused, each.used, each.void))]
        for site, each in counts.items()
        if each.days or +each.unused or each.used
    }


@pytest.mark.usefixtures("one_database")
def test_what_is_kept_is_what_the_tables_say() -> None:
    played = PlayedStudy().play(weeks=2)
    study = study_or_404()

    def compare() -> Recruitment:
        read = Recruitment(study)
        with recruitment_now(study) as kept:
            assert _same(kept.counts) == _same(read.counts)
            for site in read.forests:
                own, other = kept.forests[site], read.forests[site]
                assert (own.people, own.recruits, own.waves) == (other.people, other.recruits, other.waves)
                assert own.chains() == other.chains()
            return kept

    first = compare()
    played.play(weeks=2, seeds=0)
    played.seed("another")
    for coupon in models.Coupon.objects.filter(redemption=None, holder__isnull=False, voided_at=None)[:3]:
        played.do(VoidCoupon(coupon.code, "lost"), site=coupon.site_id)
    gone = models.Person.objects.exclude(recruiter=None).first()
    played.do(WithdrawPerson(gone.person, True, "no time"), site=gone.site_id)
    assert compare() is first  # by the new events, not by the tables
    assert first.forests[None].people[gone.person].withdrawn
    today = today_of(study)
    for day in (today - timedelta(days=20), today, today + timedelta(days=20), today + timedelta(days=90)):
        for site, now in standings(study_or_404(), day).items():
            coupons = models.Coupon.objects.exclude(holder=None)
            coupons = coupons if site is None else coupons.filter(site=site)
            ended = coupons.filter(voided_at=None, last_day__lt=day)
            assert now.ended == ended.count()
            assert now.ended_used == ended.exclude(redemption=None).count()
            assert now.open == coupons.filter(voided_at=None, last_day__gt=day, redemption=None).count()
            assert now.coupons == {state: coupons.filter(in_state(state, day)).count() for state in map(str, STATES)}
