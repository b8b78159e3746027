"""When people return: the time from a coupon's issue to its use, for coupons that are used.

Ages are differences of dates, in whole days: an age of t days stands for a time between t - 1/2 and t + 1/2. Times have
one of the families of `foundation.time_families`, shared spread, and a median that a site may shift. A coupon that
expires after V days is used within V days or never: "used" means used in time, and times are truncated at expiry,

    F(t) = P(age <= t | used) = F0(t + 1/2) / F0(V + 1/2),     t <= V.

Whether a coupon is used at all is the response model's business (`models.response`). Together they are a cure model: a
share of the coupons never returns, however long one waits. `return_fit` fits times, `private_returns` rounds them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerfront.foundation import time_families
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import note
from peerfront.foundation.randomness import Luck, named_generator
from peerfront.foundation.settings import among, between, check_fields, text_list
from peerfront.foundation.stored import FEWEST, Stored, rounded_count
from peerfront.foundation.time_families import LARGEST_SPREAD, SMALLEST_SPREAD, TIME_FAMILIES

Array = NDArray[np.float64]
Sites = NDArray[np.int64]
NEVER = np.inf
"""The validity of coupons that do not expire."""
SHORTEST_MEDIAN, LONGEST_MEDIAN = 0.1, 3650.0
HALF_DAY = 0.5
_LEAST_STEP = 0.01  # to which private return times are rounded
_MOST_STEP = 0.25  # with very few returns times are the prior's, and tell nobody's


@dataclass(frozen=True, eq=False)
class ReturnTimes:
    """Times from issue to use. `valid_days` (`NEVER`: no expiry) and `site` (a code, -1 unknown) broadcast with ages.

    >>> from peerfront.models.returns.return_times import ReturnTimes
    >>> times = ReturnTimes("lognormal", median=20.0, spread=1.03)
    >>> times.cdf([7, 14, 28, 60]).round(2).tolist(), int(times.quantile(0.5))
    ([0.17, 0.38, 0.63, 0.86], 20)
    """

    family: str
    median: float
    """In days, of coupons that never expire."""
    spread: float
    """Standard deviation of log times; 1 means that one quarter return before half of the median."""
    sites: tuple[str, ...] = ()
    shifts: Array | None = None  # [sites], added to the log median; None without sites
    draws: Array | None = None
    """[draws, 2 + sites]: log median, log spread and shifts that fit the data about as well; None if unknown."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            family=among(note("kinds.family_of_times"), TIME_FAMILIES),
            median=between(SHORTEST_MEDIAN, LONGEST_MEDIAN),
            spread=between(SMALLEST_SPREAD, LARGEST_SPREAD),
            sites=text_list,
        )
        shifts = np.zeros(len(self.sites)) if self.shifts is None else np.asarray(self.shifts, dtype=np.float64)
        if shifts.shape != (len(self.sites),) or not np.isfinite(shifts).all():
            raise SettingError("return_times.shifts_do_not_match", sites=len(self.sites), shifts=shifts.tolist())
        object.__setattr__(self, "shifts", shifts)
        if self.draws is not None and (
            self.draws.ndim != 2 or self.draws.shape[1] != 2 + len(shifts) or not np.isfinite(self.draws).all()
        ):
            raise SettingError("return_times.impossible_draws", columns=2 + len(shifts), shape=self.draws.shape)

    # Of coupons that are used ---------------------------------------------------------------------------------------

    def cdf(self, ages: ArrayLike, valid_days: ArrayLike = NEVER, site: Sites | int = -1) -> Array:
        """P(used by this age | used), elementwise; 1 from expiry on."""
        age, valid = np.asarray(ages, dtype=np.float64), np.asarray(valid_days, dtype=np.float64)
        whole = time_families.cdf(self.family, self._log_ratio(valid, site), self.spread)
        chances = time_families.cdf(self.family, self._log_ratio(np.minimum(age, valid), site), self.spread) / whole
        return np.where(age >= valid, 1.0, np.minimum(chances, 1.0))

    def survival(self, ages: ArrayLike, valid_days: ArrayLike = NEVER, site: Sites | int = -1) -> Array:
        """P(used after this age | used), elementwise; 0 from expiry on, and precise in the far tail."""
        age, valid = np.asarray(ages, dtype=np.float64), np.asarray(valid_days, dtype=np.float64)
        now, at_expiry = self._log_ratio(np.minimum(age, valid), site), self._log_ratio(valid, site)
        in_time = time_families.cdf(self.family, at_expiry, self.spread)
        # The difference of the two small ones: nothing cancels in either tail.
        from_below = in_time - time_families.cdf(self.family, now, self.spread)
        from_above = time_families.survival(self.family, now, self.spread)
        from_above = from_above - time_families.survival(self.family, at_expiry, self.spread)
        chances = np.where(at_expiry > 0.0, from_above, from_below) / in_time
        return np.where(age >= valid, 0.0, np.clip(chances, 0.0, 1.0))

    def quantile(self, shares: ArrayLike, valid_days: ArrayLike = NEVER, site: Sites | int = -1) -> Array:
        """The first whole day by which this share of those who come has come, elementwise."""
        share, valid = np.asarray(shares, dtype=np.float64), np.asarray(valid_days, dtype=np.float64)
        if not bool(((share >= 0.0) & (share <= 1.0)).all()):
            raise SettingError("return_times.no_shares")
        whole = time_families.cdf(self.family, self._log_ratio(valid, site), self.spread)
        log_time = time_families.quantile(self.family, share * whole, self.spread) + self._log_median(site)
        with np.errstate(over="ignore"):
            days = np.ceil(np.exp(log_time) - HALF_DAY)
        return np.clip(days, 0.0, valid)

    def sample(self, luck: Luck, returns: int, valid_days: ArrayLike = NEVER, site: Sites | int = -1) -> Array:
        """Ages at return in whole days, [people, returns], by inversion of each person's own luck."""
        return self.quantile(luck.uniforms("return time", returns), _column(valid_days), _sites_column(site))

    # Of coupons that are open ---------------------------------------------------------------------------------------

    def chance_by(
        self,
        days: ArrayLike,
        ages: ArrayLike,
        use: ArrayLike = 1.0,
        valid_days: ArrayLike = NEVER,
        site: Sites | int = -1,
    ) -> Array:
        """P(used by age `days` | open at `ages`) of a coupon that is used at all with chance `use`, elementwise.

        With `use` = 1 it is known that the coupon will be used; what is left is when.
        """
        chance = np.asarray(use, dtype=np.float64)
        open_now = self.survival(ages, valid_days, site)
        later = open_now - self.survival(np.maximum(days, ages), valid_days, site)
        still_open = chance * open_now + (1.0 - chance)  # used later, or never
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(open_now > 0.0, chance * later / still_open, 0.0)

    def sample_open(
        self, luck: Luck, returns: int, ages: ArrayLike, valid_days: ArrayLike = NEVER, site: Sites | int = -1
    ) -> Array:
        """Ages at which open coupons that will be used are used, [people, returns]; NaN for expired ones."""
        age, valid, code = _column(ages), _column(valid_days), _sites_column(site)
        past = self.cdf(age, valid, code)
        uniforms = luck.uniforms("return time", returns)
        drawn = self.quantile(np.minimum(past + uniforms * (1.0 - past), 1.0), valid, code)
        # Far out in the tail rounding could give a day that has passed, or none at all.
        later = np.where(np.isfinite(drawn), np.maximum(drawn, age + 1.0), age + 1.0)
        return np.where(age < valid, np.minimum(later, valid), np.nan)

    # What is not known, and keeping --------------------------------------------------------------------------------

    def draw(self, number: int) -> "ReturnTimes":
        """Times as in one of the draws: to carry into a forecast what is not known about them."""
        if self.draws is None:
            raise SettingError("return_times.no_draws")
        log_median, log_spread, *shifts = self.draws[number].tolist()
        return replace(
            self,
            median=float(np.clip(np.exp(log_median), SHORTEST_MEDIAN, LONGEST_MEDIAN)),
            spread=float(np.clip(np.exp(log_spread), SMALLEST_SPREAD, LARGEST_SPREAD)),
            shifts=np.array(shifts),
            draws=None,
        )

    def interval(self, share: float, level: float = 0.8) -> tuple[float, float]:
        """Ends of the interval, of this level, of the day by which the share has come."""
        if self.draws is None:
            return float("nan"), float("nan")
        days = [float(self.draw(number).quantile(share)) for number in range(len(self.draws))]
        low, high = np.quantile(days, [0.5 - level / 2, 0.5 + level / 2])
        return float(low), float(high)

    def stored(self) -> Stored:
        """Everything, as data."""
        assert self.shifts is not None, "__post_init__ fills it in"
        settings = {"family": self.family, "median": self.median, "spread": self.spread, "sites": list(self.sites)}
        arrays = {"shifts": self.shifts.copy()} if self.sites else {}
        return Stored(settings, arrays if self.draws is None else arrays | {"draws": self.draws.copy()})

    @classmethod
    def restored(cls, stored: Stored) -> "ReturnTimes":
        sites = stored.texts("sites")
        draws = None
        if "draws" in stored.arrays:
            draws = stored.array("draws", (None, 2 + len(sites)))
        try:
            return cls(
                family=stored.setting("family", str),
                median=stored.setting("median", float),
                spread=stored.setting("spread", float),
                sites=sites,
                shifts=stored.array("shifts", (len(sites),)) if sites else None,
                draws=draws,
            )
        except SettingError as problem:
            raise DataFileError("return_times.impossible", place=stored.place, problem=problem.message) from None

    def _log_median(self, site: Sites | int) -> Array:
        assert self.shifts is not None, "__post_init__ fills it in"
        codes = np.asarray(site)
        if not bool(((codes >= -1) & (codes < len(self.sites))).all()):
            raise SettingError("return_times.no_such_site", last=len(self.sites) - 1)
        return np.log(self.median) + np.append(self.shifts, 0.0)[codes]

    def _log_ratio(self, ages: Array, site: Sites | int) -> Array:
        """Log of the ends of days over the median: -inf before the day of issue."""
        with np.errstate(divide="ignore"):
            ends = np.log(np.maximum(ages + HALF_DAY, 0.0))
        return ends - self._log_median(site)


def _column(values: ArrayLike) -> Array:
    """One value for each person, as a column; a single one stays as it is."""
    array = np.asarray(values, dtype=np.float64)
    return array[:, None] if array.ndim == 1 else array


def _sites_column(site: Sites | int) -> Sites:
    array = np.asarray(site, dtype=np.int64)
    return array[:, None] if array.ndim == 1 else array


def private_returns(times: ReturnTimes, returns: int) -> ReturnTimes:
    """Round return times that were fitted to this number of returns, by what five people move.

    With n returns of known age, one return that comes at another time moves the log median by about spread / n and the
    log spread by about 1 / n; no parameter is kept more exactly than five times that. Draws keep how they differ from
    their mean, in steps, rounded up or down by chance so that their spread stays what it is (as in `private_response`).
    """
    assert times.shifts is not None, "ReturnTimes fills it in"
    people = max(rounded_count(returns), FEWEST)
    by_five = float(np.clip(FEWEST / people, _LEAST_STEP, _MOST_STEP))
    steps = np.array([by_five * min(times.spread, 1.0), by_five, *(by_five for _ in times.sites)])
    steps = np.maximum(steps, _LEAST_STEP)
    middle = np.array([np.log(times.median), np.log(times.spread), *times.shifts])
    kept: Array = steps * np.round(middle / steps)
    draws = None
    if times.draws is not None:
        chance = named_generator("private return times", 0)
        apart = (times.draws - times.draws.mean(axis=0)) / steps
        draws = np.round(kept + steps * np.floor(apart + chance.random(apart.shape)), 6)
    return replace(
        times,
        median=round(float(np.clip(np.exp(kept[0]), SHORTEST_MEDIAN, LONGEST_MEDIAN)), 4),
        spread=round(float(np.clip(np.exp(kept[1]), SMALLEST_SPREAD, LARGEST_SPREAD)), 4),
        shifts=np.round(kept[2:], 6),
        draws=draws,
    )
