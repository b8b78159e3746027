"""Fit return times to a study that is still running, so that open coupons are no failures.

Whether coupons are used and when are fitted together (`return_likelihood`): somebody with open coupons says only that
nobody has come yet. Seen early, the two are hard to tell apart: many slow returns look like few fast ones. Three
decisions follow.

1. Times have a prior, from the two lags that were published: an electronic study with a median of 20 days and quartiles
   of 10 and 40, and a field study with 36%, 55% and 72% of the returns within 7, 14 and 21 days. These are lognormals
   with medians of 20 and 12 days and spreads of 1.03 and 1.17. The geometric mean of the medians is 15.5 days, that of
   the spreads 1.1. What two studies say of a third: its log median and log spread deviate from these by .43 and .11
   (the standard deviation of the two, times the root of 1 + 1/2), here .45 and .15; 80% of studies have medians
   between 9 and 28 days.
2. The share of coupons that is used has a flat prior on its log scale, so that it pulls times neither way: a uniform
   share would make slow returns more likely the fewer have come.
3. Only how many were used tells about times, not how they are spread over holders. Thinned counts look ever more
   Poisson, so that a family of counts whose shape is a little off would set the clock. The counts are binomial, with a
   rate for each number of coupons and a dispersion estimated from the data: a quasi-likelihood, whose estimates rest
   on means. What somebody's coupons do is fitted afterwards, with `History.exposure` from the times.

The family of times is chosen by the likelihood of holders left out: lognormal, unless another is clearly better; those
that fit worse than lognormal to everybody are not tried on holders left out, which saves most of the time. What is not
known is drawn from the posterior by importance sampling, adapted in rounds from its mode.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.settings import among, check_fields, one_or_more, positive, seed_number
from peerfront.foundation.threads import one_thread
from peerfront.foundation.time_families import DESCRIPTIONS, TIME_FAMILIES
from peerfront.models.coupons_seen import CouponsSeen
from peerfront.models.response_choice import SURE, clearly, total_error
from peerfront.models.return_posterior import Posterior
from peerfront.models.return_times import NEVER, ReturnTimes

Array = NDArray[np.float64]
SITE_SPREADS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)
"""How much log medians may differ between sites: the one that makes the data most likely is taken."""


_NEAR = 2.0  # units of log-likelihood by which a family may fit worse and still be tried on holders left out


@dataclass(frozen=True)
class ReturnSettings:
    """How return times are fitted. The prior is that of the two published lags."""

    family: str = "auto"
    """lognormal, weibull, gamma, or auto: by the likelihood of holders left out."""
    prior_median: float = 15.5
    """Days; the median of the prior of the median."""
    prior_variation: float = 0.45
    """Standard deviation of the log median between studies."""
    prior_spread: float = 1.1
    """The median of the prior of the spread (standard deviation of log times)."""
    prior_spread_variation: float = 0.15
    """Standard deviation of the log spread between studies."""
    folds: int = 5
    """Parts of the holders that are left out in turn, to choose the family."""
    draws: int = 200
    """Draws of what is not known."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            family=among("family of return times", (*TIME_FAMILIES, "auto")),
            prior_median=positive,
            prior_variation=positive,
            prior_spread=positive,
            prior_spread_variation=positive,
            folds=one_or_more,
            draws=one_or_more,
            seed=seed_number,
        )


@dataclass(frozen=True, eq=False)
class ReturnFit:
    """Return times, with the share of coupons that is used in the end."""

    times: ReturnTimes
    numbers: NDArray[np.int64]  # [numbers], of coupons that holders had
    shares: Array  # [draws, numbers], of the coupons of holders of so many; one row for each of `times.draws`
    dispersion: float
    """Variance of the counts of used coupons, over the binomial one."""
    reason: str
    held_out: dict[str, float]
    """Held-out log-likelihood of the families of times that were compared; empty where the others fit far worse."""
    effective: float
    """Effective number of proposals behind the draws; few (under 50) mean that intervals are rough."""

    def used(self, coupons: NDArray[np.int64]) -> Array:
        """The share of these people's coupons that is used in the end, all together, by each draw, [draws]."""
        if not np.isin(coupons, self.numbers).all():
            raise SettingError(f"Shares are known of holders of {', '.join(map(str, self.numbers.tolist()))} coupons.")
        own = np.searchsorted(self.numbers, coupons)
        shares: Array = (self.shares[:, own] * coupons).sum(axis=1) / coupons.sum()
        return shares

    def to_come(self, seen: CouponsSeen, days: float = NEVER) -> Array:
        """Recruits still to come within so many days, all together, one number drawn by chance for each draw, [draws].

        As if every coupon were used on its own: a first answer, before a response model is fitted (`open_coupons`).
        """
        if self.times.draws is None:
            raise SettingError("These return times have no draws: how well they are known is not known.")
        own, rng = np.searchsorted(self.numbers, seen.coupons), named_generator("recruits to come")
        totals = np.empty(len(self.shares))
        for number, shares in enumerate(self.shares):
            times = self.times.draw(number)
            chances = times.chance_by(seen.ages + days, seen.ages, shares[own], seen.validity, seen.site_codes)
            totals[number] = rng.binomial(seen.open, chances).sum()
        return totals


def fit_return_times(seen: CouponsSeen, settings: ReturnSettings | None = None) -> ReturnFit:
    """Fit return times and the mean use of coupons to what a study shows today."""
    if not len(seen):
        raise SettingError("Nobody has a coupon with a date of issue, so that nothing says when people return.")
    with one_thread(training=True):
        return _fitted(Posterior(seen, settings or ReturnSettings()))


def _fitted(posterior: Posterior) -> ReturnFit:
    """Choose the family, then how much sites differ, then draw what is not known."""
    seen, settings, sites = posterior.seen, posterior.settings, posterior.cells.sites
    families = TIME_FAMILIES if settings.family == "auto" else (settings.family,)
    dispersion = posterior.pearson_dispersion(posterior.mode(families[0], 0.0, 1.0, posterior.everybody))
    family, why = families[0], f"{DESCRIPTIONS[families[0]]}, as asked."
    held_out: dict[str, float] = {}
    folds = min(settings.folds, len(seen))
    if len(families) > 1 and folds > 1 and not np.isnan(seen.return_ages).all():
        family, held_out, why = _choice(posterior, families, dispersion, folds)
    elif len(families) > 1:
        why = f"{DESCRIPTIONS[family]}: too little was seen to compare it with others."
    site_spreads = SITE_SPREADS if sites > 1 else (0.0,)
    modes = [posterior.mode(family, spread, dispersion, posterior.everybody) for spread in site_spreads]
    best = max(modes, key=posterior.evidence) if len(modes) > 1 else modes[0]
    points, effective = posterior.draws(best)
    why = f"{why[0].upper()}{why[1:]}"
    if sites > 1:
        why += f" Log medians of sites vary by about {best.site_spread:g}."
    return ReturnFit(
        posterior.times(points, best),
        posterior.cells.numbers,
        posterior.shares(points),
        dispersion,
        why,
        held_out,
        effective,
    )


def _choice(
    posterior: Posterior, families: tuple[str, ...], dispersion: float, folds: int
) -> tuple[str, dict[str, float], str]:
    """The first family that is not clearly below the best, by holders left out."""
    fold = named_generator("return times", posterior.settings.seed).permutation(len(posterior.seen)) % folds
    modes = {family: posterior.mode(family, 0.0, dispersion, posterior.everybody) for family in families}
    # All families have as many parameters, so one that fits clearly worse to everybody predicts no better.
    fits = {family: posterior.by_holder(mode) for family, mode in modes.items()}
    first = families[0]
    rivals = [family for family in families[1:] if (fits[family] - fits[first]).sum() > -_NEAR]
    if not rivals:
        rival = max(families[1:], key=lambda family: float(fits[family].sum()))
        gain = fits[first] - fits[rival]
        why = (
            f"{DESCRIPTIONS[first]}: {gain.sum():+.1f} +- {total_error(gain):.1f} units of log-likelihood against "
            f"{DESCRIPTIONS[rival]}, which was not tried on holders left out."
        )
        return first, {}, why
    families = (first, *rivals)
    logs = {family: np.zeros(len(posterior.seen)) for family in families}
    for family, own in logs.items():
        for number in range(folds):
            mode = posterior.mode(family, 0.0, dispersion, fold != number, modes[family].point)
            own[fold == number] = posterior.by_holder(mode)[fold == number]
    best = max(families, key=lambda family: float(logs[family].sum()))
    chosen = next(family for family in families if not clearly(logs[best] - logs[family], SURE))
    rival = max((family for family in families if family != chosen), key=lambda family: float(logs[family].sum()))
    gain = logs[chosen] - logs[rival]
    why = (
        f"{DESCRIPTIONS[chosen]}: {gain.sum():+.1f} +- {total_error(gain):.1f} units of held-out log-likelihood "
        f"against {DESCRIPTIONS[rival]}."
    )
    return chosen, {family: float(own.sum()) for family, own in logs.items()}, why
