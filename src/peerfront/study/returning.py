"""When the people of a study return: fitted to its dates, rounded for privacy, and what it says about open coupons."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from peerfront.data.calendar.dates import date_text
from peerfront.data.study import Study
from peerfront.foundation.covariates import Codes
from peerfront.foundation.privacy import FEWEST, rounded_count
from peerfront.models.returns.coupons_seen import CouponsSeen, count_chances, still_to_come
from peerfront.models.returns.return_times import ReturnTimes, private_returns
from peerfront.problem import ResponseModel
from peerfront.study.coupon_calendar import coupons_seen, exposure_of, why_undated

if TYPE_CHECKING:
    from peerfront.models.returns.return_fit import ReturnSettings

FEW_RETURNS = 30
"""Returns of known age below which times rest mostly on what other studies published."""


@dataclass(frozen=True, eq=False)
class Returning:
    """Return times fitted to a study, and what its coupons looked like on its day."""

    times: ReturnTimes
    seen: CouponsSeen
    rows: NDArray[np.int64]  # [holders], rows in the study
    exposure: NDArray[np.float64]  # [people], nan where dates do not say
    day: str

    @property
    def dated_returns(self) -> int:
        return int(np.isfinite(self.seen.return_ages).sum())

    @property
    def share_seen(self) -> float:
        """The share of the recruits of coupons given out so far that have come, if all bring equally many."""
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
        """The same, by the least and the most that 8 of 10 draws say."""
        draws = self.times.draws
        if draws is None:
            return self.days(share), self.days(share)
        each = [float(self.times.draw(n).quantile(share, self.usual_validity)) for n in range(len(draws))]
        low, high = np.quantile(each, [0.1, 0.9])
        return float(low), float(high)

    def expected(self, responses: Mapping[str, ResponseModel], weights: Mapping[str, float], people: Codes) -> float:
        """Open coupons that will be used, by each story's model weighed, given the codes of everybody in the study."""
        total = 0.0
        for name, weight in weights.items():
            chances = count_chances(responses[name], people[self.rows], self.seen.coupons)
            more = still_to_come(chances, self.seen, self.times)
            total += weight * float((more * np.arange(more.shape[1])).sum())
        return total

    def scores(self, expected: float) -> dict[str, Any]:
        """The same as a saved fit keeps it: nothing about fewer than five coupons."""
        is_open = rounded_count(self.open_coupons)
        return {
            "family": self.times.family,
            "day": self.day,
            "days": {f"{share:g}": self.days(share) for share in (0.1, 0.25, 0.5, 0.75, 0.9)},
            "returns": rounded_count(self.dated_returns),
            "open_coupons": is_open,
            "expected_of_open": round(expected) if is_open >= FEWEST else None,
        }


def fitted_returns(study: Study, settings: "ReturnSettings | None" = None) -> tuple[Returning | None, str]:
    """Fit return times to the study's dates; None, and why, where they do not suffice (`why_undated`).

    `settings` hold what is expected before; None for what was published.
    """
    why = why_undated(study)
    if why:
        return None, why
    from peerfront.models.returns.return_fit import fit_return_times  # only here: it needs torch

    seen, rows = coupons_seen(study)
    dated = int(np.isfinite(seen.return_ages).sum())
    times = private_returns(fit_return_times(seen, settings).times, dated)
    assert study.day is not None, "why_undated asks for it"
    day = date_text(study.day, study.numbered_days)
    return Returning(times, seen, rows, exposure_of(study, times), day), ""
