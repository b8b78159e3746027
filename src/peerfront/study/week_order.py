"""What a coordinator asks for once, and keeps from week to week: coupons, deadline, target, limits."""

from dataclasses import asdict, dataclass, fields, replace
from datetime import date, timedelta
from typing import Any

from peerfront.foundation.errors import SettingError
from peerfront.foundation.settings import (
    among,
    at_least,
    between,
    check_fields,
    one_or_more,
    optional,
    optional_day,
    positive,
    seed_number,
)
from peerfront.problem.limits import MOST_COUPONS
from peerfront.study.orders import RESPONSES, PlanOrder

USUAL_WEEKS = 8
"""Weeks that are looked ahead where no deadline is given."""


@dataclass(frozen=True)
class WeekOrder:
    """The standing order of a study. Its fields are kept in the log, and stay until another value is given.

    >>> from peerfront.study.week_order import WeekOrder
    >>> order = WeekOrder(budget=200, deadline="2026-06-30", target=300)
    >>> order.changed(target=320).target
    320
    """

    budget: int
    """Coupons that were left to give out on the day of the first week."""
    deadline: str = ""
    """The study's last day, year-month-day; empty if it has none."""
    target: int | None = None
    """People wanted in all."""
    max_per_person: int | None = None
    min_per_person: int = 0
    round_cap: int | None = None
    """Most coupons in one week."""
    reserve: int = 0
    response: str = "average"
    at_least: tuple[str, ...] = ()
    valid_days: float | None = None
    """Days from issue until coupons expire; None as the schema file or a column says."""
    interviews_per_week: float | None = None
    population: tuple[str, ...] = ()
    """People in the population, as in `PlanOrder`; empty if it is not known."""
    strata: tuple[str, ...] = ()
    """Fields between whose categories alone coupons may differ, as in `PlanOrder`."""
    randomise: float = 0.0
    """Chance that everybody has of each allowed number, at least."""
    prior: tuple[str, ...] = ()
    """Folders of models of earlier studies, which help as far as they agree."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            budget=at_least(0, MOST_COUPONS),
            deadline=optional_day,
            target=optional(one_or_more),
            max_per_person=optional(one_or_more),
            min_per_person=at_least(0),
            round_cap=optional(at_least(0)),
            reserve=at_least(0, MOST_COUPONS),
            response=among("response", RESPONSES),
            at_least=_texts,
            valid_days=optional(positive),
            interviews_per_week=optional(positive),
            population=_texts,
            strata=_texts,
            prior=_texts,
            randomise=between(0.0, 0.5, "a chance from 0 to 0.5, such as 0.1"),
            seed=seed_number,
        )

    def changed(self, **given: Any) -> "WeekOrder":
        """The same order with what was given this week; None leaves a field as it was."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    @classmethod
    def from_log(cls, entry: dict[str, Any]) -> "WeekOrder":
        """An order as a week's entry keeps it; fields that this version does not know are left out."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in entry.items() if name in known})

    def for_log(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def last_day(self, today: date) -> date:
        """The last day that is looked ahead to."""
        if not self.deadline:
            return today + timedelta(weeks=USUAL_WEEKS)
        last = date.fromisoformat(self.deadline)
        if last <= today:
            raise SettingError(
                f"The deadline, {self.deadline}, is not after {today.isoformat()}, the day of this plan: nothing is "
                "left to plan. Give a later one (--deadline), or an earlier day (--date)."
            )
        return last

    def plan_order(self, left: int, rounds_left: int | None, already: int, number: int) -> PlanOrder:
        """The order for the sheet of week `number`, with so many coupons left and people who have taken part.

        Every week draws its lots with a seed of its own: who loses one is not sure to lose the next.
        """
        return PlanOrder(
            left,
            max_per_person=self.max_per_person,
            min_per_person=self.min_per_person,
            round_cap=self.round_cap,
            rounds_left=rounds_left,
            reserve=min(self.reserve, left),
            response=self.response,
            at_least=self.at_least,
            seed=self.seed + number - 1,
            population=self.population,
            already=already if self.population else None,
            strata=self.strata,
            randomise=self.randomise,
        )


def _texts(_: str, value: Any) -> tuple[str, ...]:
    """Rule: one text or several."""
    several = value if isinstance(value, list | tuple) else () if value is None else (value,)
    return tuple(str(each) for each in several)
