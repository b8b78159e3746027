"""How far the study is, in numbers: people by day and wave, what coupons bring, coupons left; by site."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from peerfront.web.live.records.models import Coupon, Person, Site
from peerfront.web.live.rules.records import StudyRow
from peerfront.web.live.screens.chains import Forest, Recruited
from peerfront.web.live.screens.coupon_board import CouponState, counts_by_state

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
    day = _day_reader(study)
    columns = ("person", "recruiter_id", "site_id", "enrolled_at")
    forest = Forest(Recruited(*row) for row in Person.objects.values_list(*columns).iterator(chunk_size=2_000))
    handed_out = Coupon.objects.exclude(holder=None)
    dated = handed_out.values_list("site_id", "issued_at", "redemption__at", "voided_at", "last_day")
    coupons = [_coupon(*row, today, day) for row in dated.iterator(chunk_size=2_000)]
    names: dict[str | None, str] = {None: ""}
    names.update((each.site, each.name) for each in Site.objects.all())
    last = study.settings.active_after_days + study.settings.valid_days
    by_site: dict[str | None, Standing] = {}
    for site, name in names.items():
        people = [each for each in forest.people.values() if site in (None, each.site)]
        days = [day(each.enrolled_at) for each in people]
        own = [each for each in coupons if site in (None, each.site)]
        ended = [each for each in own if each.ended]
        by_site[site] = Standing(
            name=name,
            people=len(people),
            seeds=sum(each.recruiter is None for each in people),
            days=so_far(days),
            weeks=weekly(days, today),
            waves=tuple(sorted(Counter(forest.waves[each.person] for each in people).items())),
            coupons=counts_by_state(handed_out if site is None else handed_out.filter(site=site), today),
            ended=len(ended),
            ended_used=sum(each.used is not None for each in ended),
            returns=returns_by_age([(each.age, each.used) for each in own], last),
        )
    return by_site


@dataclass(frozen=True)
class _Coupon:
    site: str
    age: int
    """Days since it was handed out; until it was made void."""
    used: int | None
    """The age at which it was used."""
    ended: bool
    """Whether its last day has passed, and it was not made void."""


def _coupon(
    site: str, issued: datetime, used: datetime | None, void: datetime | None, last_day: date, today: date,
    day: Callable[[datetime], date],
) -> _Coupon:  # fmt: skip
    begin = day(issued)
    age = max(((today if void is None else day(void)) - begin).days, 0)
    return _Coupon(
        site, age, None if used is None else max((day(used) - begin).days, 0), void is None and last_day < today
    )


def _day_reader(study: StudyRow) -> Callable[[datetime], date]:
    """The day of the study's calendar of many moments; looked up once for each quarter of an hour."""
    zone = ZoneInfo(study.settings.timezone)

    @cache
    def day(quarter: datetime) -> date:
        return quarter.astimezone(zone).date()

    return lambda at: day(at.replace(minute=at.minute - at.minute % 15, second=0, microsecond=0))


def so_far(days: Sequence[date]) -> tuple[tuple[date, int], ...]:
    """The total at the end of each day on which somebody came."""
    total, totals = 0, []
    for day, number in sorted(Counter(days).items()):
        total += number
        totals.append((day, total))
    return tuple(totals)


def weekly(days: Sequence[date], today: date) -> tuple[Week, ...]:
    """Who came in each week from the first to today's; weeks begin on Monday."""
    if not days:
        return ()
    counts = Counter(day - timedelta(days=day.weekday()) for day in days)
    monday, last = min(counts), max(max(counts), today - timedelta(days=today.weekday()))
    weeks: list[Week] = []
    while monday <= last:
        before = weeks[-1].so_far if weeks else 0
        weeks.append(Week(monday, counts[monday], before + counts[monday]))
        monday += timedelta(days=7)
    return tuple(weeks)


def returns_by_age(ages: Sequence[tuple[int, int | None]], last: int) -> tuple[ReturnDay, ...]:
    """The share of coupons used by each age in days, up to `last` (Kaplan and Meier's estimate).

    Each coupon is its age, today or when it was made void, and its age when it was used, if it was. A coupon counts for
    as long as it has been out, so young ones do not make the share smaller.
    """
    used_on = Counter(used for _, used in ages if used is not None)
    gone = Counter(age if used is None else used for age, used in ages)
    oldest = min(max((*used_on, last)), LONGEST_SHOWN)
    days, unused, out = [], 1.0, len(ages)
    for age in range(oldest + 1):
        if out < FEWEST_COUPONS:
            break
        unused *= 1 - used_on[age] / out
        days.append(ReturnDay(age, out, used_on[age], 1 - unused))
        out -= gone[age]
    return tuple(days)
