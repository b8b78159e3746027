"""The state of a study on one day: who waits for coupons, whose coupons are open since when, how many took part."""

from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peerfront.data.read.dates import EPOCH, date_remedies
from peerfront.data.study import Study
from peerfront.data.study_calendar import assumed_days, waiting_people
from peerfront.data.study_schema import StudySchema, encode_study, frontier_of
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, note
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_times import NEVER, ReturnTimes
from peerfront.problem import Frontier
from peerfront.study.artifacts import Fit
from peerfront.study.coupon_calendar import coupons_seen, why_no_dates, why_undated
from peerfront.study.orders import PlanOrder
from peerfront.study.population import check_target, reachable_shares, read_population

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


AT_ONCE = ReturnTimes("lognormal", 0.1, 0.05)
"""Return times by rounds: everybody comes on the first day on which coupons can be used."""


class SharesLeft(Protocol):
    """How a population runs out: the chance that somebody who would be recruited has not been yet."""

    def __call__(self, recruited: Whole, study: Whole) -> Array:
        """The share left, elementwise, by people recruited from today on in a simulated study; it never rises."""
        ...


@dataclass(frozen=True, eq=False)
class Standing:
    """A study on the day of its data, as plans and forecasts by date use it."""

    today: date | None
    """None for a study without dates, in which a round counts as a day."""
    waiting: Frontier
    """People who have enrolled and have had no coupons yet."""
    seen: CouponsSeen
    """Everybody who has had coupons, with ages and returns by today."""
    holders: Codes  # [holders, fields], the covariates of those in `seen`
    enrolled: int
    """People who have taken part so far."""
    valid_days: float = NEVER
    """Days that coupons given out from now on are valid."""
    active_after_days: int = 0
    """Days from a coupon's issue until it can be used, from now on."""
    trees: Whole | None = None  # [holders], a number from 1 for the tree of each; None if not known
    trees_waiting: Whole | None = None  # [waiting], the same numbers; 0 for a tree without holders
    weeks: Whole = field(default_factory=lambda: np.zeros(0, np.int64))
    """Interviews in each whole week so far, the last week last; none without dates."""
    notes: tuple[Message, ...] = ()
    """What is assumed about it."""
    coupons_left: int | None = None
    """Coupons left to give out, where the study's log says."""

    def __post_init__(self) -> None:
        if len(self.seen) != len(self.holders):
            raise ValueError(f"{len(self.seen)} holders of coupons, and {len(self.holders)} rows of covariates")

    @classmethod
    def by_rounds(cls, waiting: Frontier, enrolled: int = 0) -> "Standing":
        """People who wait in a study without dates: who gets coupons today brings people tomorrow."""
        nobody = np.zeros(0, np.int64)
        seen = CouponsSeen(nobody, np.zeros(0), nobody, np.zeros(0))
        return cls(None, waiting, seen, waiting.covariates[:0], enrolled, NEVER, 1)

    @cached_property
    def open(self) -> "OpenHolders":
        """Holders whose coupons may still be used."""
        rows = np.flatnonzero(self.seen.open > 0)
        trees = None if self.trees is None else self.trees[rows]
        return OpenHolders(part_of(self.seen, rows), self.holders[rows], trees)

    @property
    def coupons_open(self) -> int:
        """Coupons in people's hands that may still be used."""
        return int(self.seen.open.sum())


@dataclass(frozen=True, eq=False)
class OpenHolders:
    """Holders of open coupons."""

    seen: CouponsSeen
    covariates: Codes  # [holders, fields]
    trees: Whole | None = None  # [holders], numbers as in `Standing.trees`

    def __len__(self) -> int:
        return len(self.seen)


def part_of(seen: CouponsSeen, rows: np.ndarray) -> CouponsSeen:
    """The coupons of some of the holders."""
    place = np.full(len(seen), -1)
    place[rows] = np.arange(len(rows))
    theirs = place[seen.holder] >= 0
    return CouponsSeen(
        seen.coupons[rows],
        seen.ages[rows],
        place[seen.holder[theirs]],
        seen.return_ages[theirs],
        seen.validity[rows],
        seen.site_codes[rows],
        seen.sites,
    )


def generation_days(times: ReturnTimes, valid_days: float = NEVER, planning_days: int = 7) -> float:
    """Typical days from one generation's coupons to the next one's: the median return, and half a planning interval.

    Recruits wait for the next planning day on average half of the interval between two of them.
    """
    return max(float(times.quantile(0.5, valid_days)), 1.0) + planning_days / 2


def rounds_until(days_left: float, generation: float, most: int) -> int:
    """Rounds left until a deadline: the generations that fit, to the nearest whole number, from 1 to `most`.

    A value is learned for rounds that are one generation each.
    """
    return int(np.clip(np.floor(days_left / generation + 0.5), 1, max(most, 1)))


# A study's file -----------------------------------------------------------------------------------------------------


def standing_of(study: Study, schema: StudySchema, times: ReturnTimes) -> Standing:
    """Who waits and which coupons are open on the study's day; `times` are the return times of the forecast."""
    need_dates(study)
    assert study.day is not None, "`need_dates` refuses it"
    codes = encode_study(study, schema)
    seen, rows = coupons_seen(study)
    waits = np.flatnonzero(waiting_people(study)[0])
    settings = study.settings
    usual = NEVER if settings.valid_days is None else settings.valid_days - settings.active_after_days
    if settings.valid_days is None and len(seen):
        usual = float(np.median(seen.validity))  # the file's own column
    trees, trees_waiting = trees_of_people(study, rows, waits)
    return Standing(
        today=EPOCH + timedelta(days=int(np.floor(study.day))),
        waiting=Frontier(study.ids[waits], codes[waits]),
        seen=with_sites(seen, times.sites),
        holders=codes[rows],
        enrolled=len(study),
        valid_days=usual,
        active_after_days=int(settings.active_after_days),
        trees=trees,
        trees_waiting=trees_waiting,
        weeks=interviews_by_week(study),
        notes=assumed_days(study),
        coupons_left=study.coupons_left,
    )


def trees_of_people(study: Study, holders: Whole, waiting: Whole) -> tuple[Whole, Whole]:
    """Numbers from 1 for the trees of these holders, and those of these people who wait; 0 for other trees."""
    roots, trees = np.unique(study.trees.root[holders], return_inverse=True)
    own = study.trees.root[waiting]
    place = np.minimum(np.searchsorted(roots, own), max(len(roots) - 1, 0))
    known = roots[place] == own if len(roots) else np.zeros(len(own), bool)
    return trees.reshape(-1) + 1, np.where(known, place + 1, 0)


def interviews_by_week(study: Study) -> Whole:
    """Interviews in each whole week until the study's day, the last week last."""
    assert study.day is not None, "`need_dates` refuses it"
    assert study.days is not None, "`need_dates` refuses it"
    held, today = np.floor(study.days[np.isfinite(study.days)]), np.floor(study.day)
    weeks = int(today - held.min(initial=today) + 1) // 7
    back = ((today - held) // 7).astype(np.int64)
    counts: Whole = np.bincount(back[(back >= 0) & (back < weeks)], minlength=weeks)[::-1]
    return counts


def standing_today(fit: Fit, study: Study, schema: StudySchema) -> tuple[Standing, ReturnTimes, Message | None]:
    """Where the study stands, its return times, and why it is seen by rounds where its dates do not suffice."""
    undated = why_undated(study) if fit.returns is None else None
    if study.day is None or undated or not study.settings.open_by_dates:
        no_dates = study.day is None or undated
        why = undated or why_no_dates(study) if no_dates else note("week.open_by_schema")
        standing = Standing.by_rounds(frontier_of(study, schema), len(study))
        return replace(standing, coupons_left=study.coupons_left), AT_ONCE, why
    times = times_of(fit, study)
    return standing_of(study, schema, times), times, None


def need_dates(study: Study) -> None:
    """Refuse a study whose file does not say when coupons were issued and used."""
    if study.day is None or study.issued_days is None:
        raise SettingError("outlook.no_dates", file=study.source, map=date_remedies(study.other_dates))
    if not study.settings.open_by_dates:
        raise SettingError("outlook.open_by_rule", rule=study.settings.still_open, file=study.source)


def times_of(fit: Fit, study: Study) -> ReturnTimes:
    """The return times of the model; if it has none, those fitted to the study."""
    if fit.returns is not None:
        return fit.returns
    why = why_undated(study)
    if why:
        raise SettingError("outlook.no_return_times", file=study.source, why=why)
    from peerfront.models.returns.return_fit import fit_return_times

    return fit_return_times(coupons_seen(study)[0]).times


def share_left_of(fit: Fit, standing: Standing, order: PlanOrder) -> SharesLeft | None:
    """How the order's population runs out while people come; None if the order has none.

    Recruits are assumed to come from its groups in proportion to their sizes. A target above the population is refused.
    """
    if not order.population:
        return None
    people = standing.waiting if len(standing.waiting) else Frontier.of(standing.holders)
    if not len(people):
        return None
    population = read_population(order, fit, people)
    assert population is not None, "the order has one"
    check_target(order.target, round(population.sizes.sum()))
    return reachable_shares(population, fit, people)


def with_sites(seen: CouponsSeen, sites: tuple[str, ...]) -> CouponsSeen:
    """The same holders with site codes for another list of sites; sites that are not listed become unknown."""
    if seen.sites == sites:
        return seen
    place = np.array([sites.index(name) if name in sites else -1 for name in seen.sites] + [-1])
    return replace(seen, site=place[seen.site_codes], sites=sites)
