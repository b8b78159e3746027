"""Progress: people by date with what was expected, arrivals, waves, what a coupon brings, coupons left; by site."""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from peerfront.foundation.errors import DamagedFile
from peerfront.foundation.own_files import own_bytes
from peerfront.web.live.planning.kept_models import KeptModel
from peerfront.web.live.planning.planning_inputs import numbers_of
from peerfront.web.live.records.database import DatabaseRecords, open_after
from peerfront.web.live.records.models import HANDED_OUT, Coupon, Plan, Site
from peerfront.web.live.records.recruitment import Counts, recruitment_now
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.records import PlanRow, PlanStatus, StudyRow
from peerfront.web.live.screens.coupon_board import STATES, CouponState, counts_by_state
from peerfront.web.live.screens.page_frame import site_filter, sites_in_sight, study_or_404, today_of
from peerfront.words.charts import Chart, Kind, Point, Series, drawn
from peerfront.words.language import say
from peerfront.words.study_charts import people_chart

FEWEST_COUPONS = 5
"""With fewer coupons no share is shown: it would mean nothing."""
LONGEST_SHOWN = 60
"""Days since issue that are shown."""


@dataclass(frozen=True)
class Week:
    """Who came in a week."""

    monday: date
    came: int
    so_far: int


@dataclass(frozen=True)
class ReturnDay:
    """What coupons bring on a day since they were handed out."""

    age: int
    out: int
    """Coupons that were handed out at least so long ago and not used before."""
    used: int
    """Of these, used on this day."""
    share: float
    """Estimated share of coupons used up to this day."""


@dataclass(frozen=True)
class Standing:
    """How far the study, or one of its sites, is."""

    name: str
    people: int
    seeds: int
    days: tuple[tuple[date, int], ...]
    """People so far at the end of each day on which somebody came."""
    weeks: tuple[Week, ...]
    waves: tuple[tuple[int, int], ...]
    """People by wave; seeds are wave 0."""
    coupons: dict[str, int]
    """By state."""
    open: int
    """Coupons with which somebody may come after today, as plans count them."""
    ended: int
    """Coupons whose last day has passed, used or not; void ones could not be used."""
    ended_used: int
    returns: tuple[ReturnDay, ...]

    @property
    def recruits(self) -> int:
        return self.people - self.seeds

    @property
    def handed_out(self) -> int:
        return sum(self.coupons[state] for state in CouponState)

    @property
    def share_used(self) -> float | None:
        """Recruits that a coupon brought, among those whose last day has passed; None with too few of them."""
        return self.ended_used / self.ended if self.ended >= FEWEST_COUPONS else None


def standings(study: StudyRow, today: date) -> dict[str | None, Standing]:
    """How far the study is, by None, and each of its sites, by their short names."""
    names: dict[str | None, str] = {None: ""}
    names.update((each.site, each.name) for each in Site.objects.all())
    last = study.settings.active_after_days + study.settings.valid_days
    by_site: dict[str | None, Standing] = {}
    with recruitment_now(study) as recruitment:
        states = counts_by_state(study, today)
        present = Coupon.objects.filter(HANDED_OUT, voided_at=None, last_day__gte=today)
        out, used, still_open = map(
            _by_site,
            (present, present.filter(redemption__isnull=False), present.filter(open_after(today), redemption=None)),
        )
        for site, name in names.items():
            counts = recruitment.counts.get(site) or Counts()
            unused = counts.void + Counter({max((today - day).days, 0): n for day, n in counts.unused.items()})
            by_site[site] = Standing(
                name=name,
                people=counts.days.total(),
                seeds=counts.seeds,
                days=so_far(counts.days),
                weeks=weekly(counts.days, today),
                waves=tuple(sorted(counts.waves.items())),
                coupons=states.get(site) or dict.fromkeys(map(str, STATES), 0),
                open=still_open[site],
                ended=counts.unused.total() + counts.used.total() - out[site],
                ended_used=counts.used.total() - used[site],
                returns=returns_by_age(counts.used, unused, last),
            )
    return by_site


def _by_site(coupons: QuerySet[Coupon]) -> Counter[str | None]:
    """How many coupons there are by site, and by None at all sites."""
    numbers: Counter[str | None] = Counter()
    days = coupons.order_by().values_list("last_day", "first_day", "site")  # as they stand in an index
    for _, _, site, number in days.annotate(Count("pk")):
        numbers[site] += number
        numbers[None] += number
    return numbers


def so_far(days: Mapping[date, int]) -> tuple[tuple[date, int], ...]:
    """The total at the end of each day on which somebody came."""
    total, totals = 0, []
    for day, number in sorted(days.items()):
        total += number
        totals.append((day, total))
    return tuple(totals)


def weekly(days: Mapping[date, int], today: date) -> tuple[Week, ...]:
    """Who came in each week from the first to today's; weeks begin on Monday."""
    if not days:
        return ()
    counts: Counter[date] = Counter()
    for day, number in days.items():
        counts[day - timedelta(days=day.weekday())] += number
    monday, last = min(counts), max(max(counts), today - timedelta(days=today.weekday()))
    weeks: list[Week] = []
    while monday <= last:
        before = weeks[-1].so_far if weeks else 0
        weeks.append(Week(monday, counts[monday], before + counts[monday]))
        monday += timedelta(days=7)
    return tuple(weeks)


def returns_by_age(used_on: Counter[int], not_used: Counter[int], last: int) -> tuple[ReturnDay, ...]:
    """The share of coupons used by each age in days, up to `last` (Kaplan and Meier's estimate).

    Coupons are counted by their age: the used ones when they were used, the others today or when they were made void.
    A coupon counts for as long as it has been out, so young ones do not make the share smaller.
    """
    gone = used_on + not_used
    oldest = min(max((*used_on, last)), LONGEST_SHOWN)
    days, unused, out = [], 1.0, gone.total()
    for age in range(oldest + 1):
        if out < FEWEST_COUPONS:
            break
        unused *= 1 - used_on[age] / out
        days.append(ReturnDay(age, out, used_on[age], 1 - unused))
        out -= gone[age]
    return tuple(days)


def progress(request: HttpRequest) -> HttpResponse:
    """Show how far the study or one of its sites is, with each picture's numbers as a table."""
    study = study_or_404()
    today = today_of(study)
    site = site_filter(request, Action.SEE_PROGRESS)
    numbers = standings(study, today)
    now = numbers[site]
    plan = None if study.approved_plan is None else DatabaseRecords().plan(study.approved_plan)
    deadline = study.settings.deadline
    ahead, forecast = newest_outlook(study) if site is None else (None, [])
    summary = None if ahead is None else KeptModel(ahead.model).plan(ahead.seed).summary
    by_hand = {} if ahead is None else numbers_of(Plan.objects.get(plan=ahead.plan))[1]
    looked = None if summary is None else summary.expected
    expected = looked if looked is not None and looked.low is not None and looked.until else None
    sites = sites_in_sight(request, Action.SEE_PROGRESS)
    context = {
        "now": now,
        "site": site,
        "site_choices": sites,
        "charts": {name: drawn(chart) for name, chart in _charts(study, today, now, forecast).items()},
        "target": study.settings.target if site is None else None,
        "days_left": None if deadline is None else max((deadline - today).days, 0),
        "this_week": now.weeks[-1].came if now.weeks else 0,
        "promised": 0 if plan is None else plan.promised,
        "share_used": now.share_used,
        "forecast": forecast,
        "expected": expected,
        "until": None if expected is None else date.fromisoformat(expected.until),
        "before_change": summary is not None and summary.by_hand != by_hand,
        "by_site": [(each, numbers[each]) for each in sites] if site is None and len(sites) > 1 else [],
        "fewest": FEWEST_COUPONS,
    }
    return render(request, "screens/progress.html", context)


def read_forecast(path: Path) -> list[Point]:
    """What was expected by date, as it was kept with a plan; empty where there is nothing."""
    try:
        rows = csv.DictReader(own_bytes(path).decode("utf-8-sig").splitlines())
        columns = ("expected", "low", "high")
        return [Point(date.fromisoformat(row["date"]), *(float(row[name]) for name in columns)) for row in rows]
    except (DamagedFile, ValueError, KeyError, TypeError):
        return []


def newest_outlook(study: StudyRow) -> tuple[PlanRow | None, list[Point]]:
    """The newest plan that looks ahead and was not stopped, otherwise the approved one; and what it expects by date."""
    for number in (study.last_plan, study.approved_plan):
        plan = DatabaseRecords().plan(number) if number else None
        if plan is not None and plan.status is not PlanStatus.STOPPED:
            forecast = read_forecast(KeptModel(plan.model).plan(plan.seed).forecast)
            if forecast:
                return plan, forecast
    return None, []


def _charts(study: StudyRow, today: date, now: Standing, forecast: Sequence[Point]) -> dict[str, Chart]:
    so_far = [Point(day, number) for day, number in now.days]
    if now.days and now.days[-1][0] < today:
        so_far.append(Point(today, now.people))
    people = people_chart(
        forecast,
        so_far=so_far or [Point(today, 0)],
        target=None if now.name else study.settings.target,
        deadline=study.settings.deadline,
    )
    weeks = (
        Series(say("came"), [Point(week.monday, week.came) for week in now.weeks], Kind.BARS),
        Series(say("so far"), [Point(week.monday, week.so_far) for week in now.weeks], Kind.NOTED),
    )
    waves = (Series(say("people"), [Point(wave, number) for wave, number in now.waves], Kind.BARS),)
    returns = (
        Series(say("used by then"), [Point(each.age, each.share) for each in now.returns], Kind.BARS, share=True),
        Series(say("used that day"), [Point(each.age, each.used) for each in now.returns], Kind.NOTED),
        Series(say("out until then"), [Point(each.age, each.out) for each in now.returns], Kind.NOTED),
    )
    days = say("days since the coupon was handed out")
    return {
        "people": people,
        "weeks": Chart(say("Who came each week"), say("week that begins on"), say("people"), weeks),
        "waves": Chart(say("People by wave"), say("wave (seeds are wave 0)"), say("people"), waves),
        "returns": Chart(say("What one coupon brings"), days, say("share of coupons used"), returns),
    }
