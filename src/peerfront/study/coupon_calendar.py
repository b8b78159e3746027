"""What a study's dates show about coupons, whether they suffice to fit return times, and these return times."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from peerfront.data.read.dates import FEW_MISSING, date_remedies, date_text
from peerfront.data.study import Study
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, note
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.stored import FEWEST, rounded_count
from peerfront.models.returns.coupons_seen import CouponsSeen, count_chances, still_to_come
from peerfront.models.returns.return_times import ReturnTimes, private_returns
from peerfront.problem import ResponseModel

if TYPE_CHECKING:
    from peerfront.models.returns.return_fit import ReturnSettings

FEWEST_DATED = 10
"""Holders of coupons with a date of issue below which return times are not fitted."""
LEAST_GENERATION = 7.0
"""Days that a generation by the calendar takes at least."""
_EXPOSURE_DRAWS = 6  # draws of return times over which the exposure of open coupons is averaged
FEW_RETURNS = 30
"""Returns of known age below which times rest mostly on what other studies published."""


def why_no_dates(study: Study) -> Message:
    """Say that no column is the day people took part, and which may be."""
    if not study.other_dates:
        columns = [name for role in ("date", "issued_date", "redeemed_date") for name in study.columns.get(role, ())]
        return note("undated.unread", columns=columns) if columns else note("undated.no_dates")
    return note("undated.other_dates", columns=list(study.other_dates), remedies=date_remedies(study.other_dates))


def why_undated(study: Study) -> Message | None:
    """Why return times cannot be fitted to a study; None if they can.

    Needed are `still_open = "auto"` (the dates decide which coupons are open), a date of issue for at least 10 people
    and 80% of the people with coupons, and at least one recruit.
    """
    if not study.settings.open_by_dates:
        return note("undated.still_open", still_open=study.settings.still_open)
    if study.day is None or study.issued_days is None or study.redeemed_days is None:
        return why_no_dates(study)
    holders = _holders(study)
    dated = holders & np.isfinite(study.issued_days)
    if dated.sum() < FEWEST_DATED:
        return note("undated.few_dates", fewest=FEWEST_DATED)
    share = dated.sum() / holders.sum()
    if share < 1.0 - FEW_MISSING:
        return note("undated.few_of_the_people", share=float(share))
    came = study.recruiter[study.recruiter != NOBODY]
    return None if dated[came].any() else note("undated.nobody_came")


def coupons_seen(study: Study) -> tuple[CouponsSeen, NDArray[np.int64]]:
    """Coupons of holders with a known date of issue, as on the study's day, and the holders' rows in the study.

    People who brought more recruits than they had coupons are left out. Ages count from the day on which coupons can be
    used (`active_after_days`). Returns with unknown dates, or dates before the issue, count as returns of unknown age.
    """
    if study.day is None or study.issued_days is None or study.redeemed_days is None or study.valid_days is None:
        raise SettingError("undated.needed", source=study.source)
    rows = np.flatnonzero(_holders(study) & np.isfinite(study.issued_days))
    place = np.full(len(study) + 1, NOBODY)
    place[rows] = np.arange(len(rows))
    begins = study.issued_days[rows] + study.settings.active_after_days
    ages = np.maximum(study.day - begins, 0.0)
    came = np.flatnonzero(place[study.recruiter] != NOBODY)  # a recruiter of -1 is the last place: nobody
    holder = place[study.recruiter[came]]
    taken = study.redeemed_days[came] - study.issued_days[rows][holder]
    with np.errstate(invalid="ignore"):
        return_ages = np.where(taken >= 0.0, np.maximum(taken - study.settings.active_after_days, 0.0), np.nan)
        return_ages = np.where(return_ages <= ages[holder], return_ages, np.nan)
    valid = np.maximum(study.valid_days[rows] - study.settings.active_after_days, 0.0)
    site, sites = _sites(study, rows)
    return CouponsSeen(study.issued[rows], ages, holder, return_ages, valid, site, sites), rows


def exposure_of(study: Study, times: ReturnTimes) -> NDArray[np.float64]:
    """The expected share of each person's eventual recruits who have come already, [people]; nan without dates.

    In steps of 1%, at least 1%: coupons of about the same age are then alike, and models are fitted faster.
    """
    seen, rows = coupons_seen(study)
    exposure = np.full(len(study), np.nan)
    chances = times.cdf(seen.ages, seen.validity, _site_codes(study, rows, times.sites))
    exposure[rows] = np.maximum(np.round(chances, 2), 0.01)
    return exposure


def calendar_step(times: ReturnTimes) -> float:
    """Days of a generation by the calendar: the median return time, at least a week."""
    return max(float(times.quantile(0.5)), LEAST_GENERATION)


def generations_of(study: Study, times: ReturnTimes) -> NDArray[np.int64]:
    """The generation of each person's coupons by the calendar, [people]: 0 of the first, the last ends today.

    Studies slow down by the calendar more than by steps from the seeds: benchmarks/forecasts.py measured both.
    """
    assert study.day is not None, "return times need it"
    assert study.issued_days is not None, "and these"
    back = np.floor(np.nan_to_num(study.day - study.issued_days) / calendar_step(times)).astype(np.int64)
    generation: NDArray[np.int64] = back.max(initial=0) - np.maximum(back, 0)
    return generation


def _holders(study: Study) -> NDArray[np.bool_]:
    return (study.issued > 0) & (study.recruits <= study.issued)


def _sites(study: Study, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The sites of these people, [rows], and the names of sites with at least five of them."""
    if "site" not in study.columns:
        return np.full(len(rows), -1), ()
    names = study.people[study.columns["site"][0]].to_numpy(dtype=object)[rows]
    different, people = np.unique(names[names != ""].astype(str), return_counts=True)
    sites = tuple(different[people >= FEWEST].tolist())
    if len(sites) < 2:
        return np.full(len(rows), -1), ()
    return _site_codes(study, rows, sites), sites


def _site_codes(study: Study, rows: NDArray[np.int64], sites: tuple[str, ...]) -> NDArray[np.int64]:
    """Positions of people's sites among the known ones, [rows]; -1 for others."""
    if not sites or "site" not in study.columns:
        return np.full(len(rows), -1)
    code = {name: number for number, name in enumerate(sites)}
    names = study.people[study.columns["site"][0]].to_numpy(dtype=object)[rows]
    return np.array([code.get(name, -1) for name in names], dtype=np.int64)


# When people return --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Returning:
    """Return times fitted to a study, and its coupons on its day."""

    times: ReturnTimes
    seen: CouponsSeen
    rows: NDArray[np.int64]  # [holders], rows in the study
    exposure: NDArray[np.float64]  # [people], nan without dates
    day: str

    def exposure_draws(self, study: Study) -> NDArray[np.float64] | None:
        """The exposure by some draws of the return times, [people, draws]; None if they are known exactly."""
        draws = self.times.draws
        if draws is None or not len(draws):
            return None
        numbers = np.unique(np.linspace(0, len(draws) - 1, _EXPOSURE_DRAWS).astype(np.int64))
        return np.stack([exposure_of(study, self.times.draw(int(number))) for number in numbers], axis=1)

    @property
    def dated_returns(self) -> int:
        return int(np.isfinite(self.seen.return_ages).sum())

    @property
    def share_seen(self) -> float:
        """The share of all recruits of the coupons given out so far who have come, if everybody brings equally many."""
        return float(np.average(self.exposure[self.rows], weights=self.seen.coupons))

    @property
    def open_coupons(self) -> int:
        return int(self.seen.open.sum())

    @property
    def open_holders(self) -> int:
        return int((self.seen.open > 0).sum())

    @cached_property
    def usual_validity(self) -> float:
        """Days that most coupons are valid; infinite where they do not expire."""
        values, people = np.unique(self.seen.validity, return_counts=True)
        return float(values[np.argmax(people)])

    def days(self, share: float) -> float:
        """The day by which this share of those who come has come."""
        return float(self.times.quantile(share, self.usual_validity))

    def days_interval(self, share: float) -> tuple[float, float]:
        """The 80% interval of `days`."""
        draws = self.times.draws
        if draws is None:
            return self.days(share), self.days(share)
        each = [float(self.times.draw(n).quantile(share, self.usual_validity)) for n in range(len(draws))]
        low, high = np.quantile(each, [0.1, 0.9])
        return float(low), float(high)

    def expected(self, response: ResponseModel, people: Codes) -> float:
        """Expected number of open coupons that will be used; `people` are everybody's codes."""
        chances = count_chances(response, people[self.rows], self.seen.coupons)
        more = still_to_come(chances, self.seen, self.times)
        return float((more * np.arange(more.shape[1])).sum())

    def scores(self, expected: float) -> dict[str, Any]:
        """Numbers for a saved fit; none about fewer than five coupons."""
        is_open = rounded_count(self.open_coupons)
        return {
            "family": self.times.family,
            "day": self.day,
            "days": {f"{share:g}": self.days(share) for share in (0.1, 0.25, 0.5, 0.75, 0.9)},
            "returns": rounded_count(self.dated_returns),
            "open_coupons": is_open,
            "expected_of_open": round(expected) if is_open >= FEWEST else None,
            "median_interval": list(self.days_interval(0.5)),
            "few_returns": self.dated_returns < FEW_RETURNS,
            "expires": bool(np.isfinite(self.usual_validity)),
            "share_seen": round(self.share_seen, 2),
        }


def fitted_returns(study: Study, settings: "ReturnSettings | None" = None) -> tuple[Returning | None, Message | None]:
    """Fit return times to the study's dates; None and the reason if these do not suffice (`why_undated`).

    `settings` hold the prior; None for the published one.
    """
    why = why_undated(study)
    if why is not None:
        return None, why
    from peerfront.models.returns.return_fit import fit_return_times

    seen, rows = coupons_seen(study)
    dated = int(np.isfinite(seen.return_ages).sum())
    times = private_returns(fit_return_times(seen, settings).times, dated)
    assert study.day is not None, "why_undated asks for it"
    day = date_text(study.day, study.numbered_days)
    return Returning(times, seen, rows, exposure_of(study, times), day), None
