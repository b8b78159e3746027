"""Where a study stands on one day: who waits for coupons, whose coupons are out and since when, how many took part."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

import numpy as np

from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_times import NEVER, ReturnTimes
from peerfront.problem import Frontier


@dataclass(frozen=True, eq=False)
class Standing:
    """A study on the day of its data, as plans and forecasts by date see it."""

    today: date
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

    def __post_init__(self) -> None:
        if len(self.seen) != len(self.holders):
            raise SettingError(
                f"There are {len(self.seen)} holders of coupons and {len(self.holders)} covariate rows; give one each."
            )

    @cached_property
    def open(self) -> "OpenHolders":
        """Holders whose coupons may still be used."""
        rows = np.flatnonzero(self.seen.open > 0)
        return OpenHolders(part_of(self.seen, rows), self.holders[rows])

    @property
    def coupons_open(self) -> int:
        """Coupons in people's hands that may still be used."""
        return int(self.seen.open.sum())

    def on(self, days: float) -> date:
        """The date so many days from today."""
        return self.today + timedelta(days=int(days))


@dataclass(frozen=True, eq=False)
class OpenHolders:
    """Holders of open coupons."""

    seen: CouponsSeen
    covariates: Codes  # [holders, fields]

    def __len__(self) -> int:
        return len(self.seen)

    def ages(self) -> dict[str, int]:
        """Open coupons by age, for a table: weeks since issue, and how many."""
        weeks = (self.seen.ages // 7).astype(np.int64)
        return {
            f"{week} to {week + 1} weeks": int(self.seen.open[weeks == week].sum())
            for week in np.unique(weeks).tolist()
        }


def part_of(seen: CouponsSeen, rows: np.ndarray) -> CouponsSeen:
    """What is seen of some of the holders."""
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

    A value that was learned for rounds of a generation is asked with as many.
    """
    return int(np.clip(np.floor(days_left / generation + 0.5), 1, max(most, 1)))
