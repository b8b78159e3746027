"""What a study's dates show about coupons, as models of return times see it, and whether the dates suffice."""

import numpy as np
from numpy.typing import NDArray

from peerfront.data.calendar.dates import FEW_MISSING
from peerfront.data.study import NOBODY, Study
from peerfront.foundation.errors import SettingError
from peerfront.foundation.privacy import FEWEST
from peerfront.foundation.words import percent
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_times import ReturnTimes

FEWEST_DATED = 10
"""Holders of coupons with a date of issue below which return times are not fitted."""


def why_undated(study: Study) -> str:
    """Why return times cannot be fitted to a study; "" if they can.

    The settings must leave it to the dates which coupons are open (`still_open = "auto"`), at least 10 people with
    coupons must have a date of issue, and at least 8 of 10 people with coupons; and somebody must have come.
    """
    if not study.settings.open_by_dates:
        return f"still_open = {study.settings.still_open!r} says whose coupons are open"
    if study.day is None or study.issued_days is None or study.redeemed_days is None:
        return "the file has no dates"
    holders = _holders(study)
    dated = holders & np.isfinite(study.issued_days)
    if dated.sum() < FEWEST_DATED:
        return f"fewer than {FEWEST_DATED} people with coupons have a date"
    share = dated.sum() / holders.sum()
    if share < 1.0 - FEW_MISSING:
        return f"only {percent(float(share))} of the people with coupons have a date"
    came = study.recruiter[study.recruiter != NOBODY]
    return "" if dated[came].any() else "nobody has come yet with a coupon that has a date"


def coupons_seen(study: Study) -> tuple[CouponsSeen, NDArray[np.int64]]:
    """What the study shows on its day about holders with a known date of issue, and their rows in the study.

    Left out are people who brought more than they had coupons for. Ages count from the day on which coupons can first
    be used (`active_after_days`). Returns whose dates are unknown, or contradict the issue, are returns of unknown age.
    """
    if study.day is None or study.issued_days is None or study.redeemed_days is None or study.valid_days is None:
        raise SettingError(f"{study.source} has no dates, so nobody knows when coupons were issued or used.")
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
    """The chance that somebody who will come with a person's coupon has come, [people]; nan where dates do not say.

    In steps of 1%, and at least one: people of about the same age are then alike, and models are fitted faster.
    """
    seen, rows = coupons_seen(study)
    exposure = np.full(len(study), np.nan)
    chances = times.cdf(seen.ages, seen.validity, _site_codes(study, rows, times.sites))
    exposure[rows] = np.maximum(np.round(chances, 2), 0.01)
    return exposure


def _holders(study: Study) -> NDArray[np.bool_]:
    return (study.issued > 0) & (study.recruits <= study.issued)


def _sites(study: Study, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The sites of some people, [rows], and their names: those where at least five of them took part."""
    if "site" not in study.columns:
        return np.full(len(rows), -1), ()
    names = study.people[study.columns["site"][0]].to_numpy(dtype=object)[rows]
    different, people = np.unique(names[names != ""].astype(str), return_counts=True)
    sites = tuple(different[people >= FEWEST].tolist())
    if len(sites) < 2:
        return np.full(len(rows), -1), ()
    return _site_codes(study, rows, sites), sites


def _site_codes(study: Study, rows: NDArray[np.int64], sites: tuple[str, ...]) -> NDArray[np.int64]:
    """Places of people's sites among those that are known, [rows]; -1 for others."""
    if not sites or "site" not in study.columns:
        return np.full(len(rows), -1)
    code = {name: number for number, name in enumerate(sites)}
    names = study.people[study.columns["site"][0]].to_numpy(dtype=object)[rows]
    return np.array([code.get(name, -1) for name in names], dtype=np.int64)
