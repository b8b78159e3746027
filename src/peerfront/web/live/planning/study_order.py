"""What the settings of a study ask of a plan, in the words of the planner; and the days on which it counts."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from peerfront.problem.limits import MOST_COUPONS_FITTED
from peerfront.study.week_plan import WeekOrder
from peerfront.web.live.rules.settings import Settings


def order_of(settings: Settings, budget: int, seed: int, strata: tuple[str, ...] = (), *, cap: int) -> WeekOrder:
    """The standing order of a plan with so many coupons left, at most `cap` for a person; `strata` are columns.

    `Settings.plan_randomise` is the share of people who get a random number; the planner asks for the chance of each
    number from 0 to the cap, of which there are one more than the cap.
    """
    return WeekOrder(
        budget=budget,
        deadline="" if settings.deadline is None else settings.deadline.isoformat(),
        target=settings.target,
        max_per_person=cap,
        strata=strata,
        randomise=settings.plan_randomise / (cap + 1),
        seed=seed,
    )


def plannable(coupons: int) -> int:
    """How many of so many coupons a plan can count on; more than a model can be fitted for are kept back."""
    return min(coupons, MOST_COUPONS_FITTED)


def today_of(settings: Settings, now: datetime) -> date:
    """The day of the study's own calendar."""
    return now.astimezone(ZoneInfo(settings.timezone)).date()


def is_over(settings: Settings, today: date) -> bool:
    """Whether recruitment ends today or has ended, so that no coupon handed out now could be used."""
    return settings.deadline is not None and settings.deadline <= today


def usable_days(settings: Settings) -> float:
    """Days from the first day of a coupon to its last."""
    return float(max(settings.valid_days - 1, 0))
