"""Where a study's file stands on its day, for plans and forecasts by date."""

from dataclasses import replace
from datetime import timedelta

import numpy as np

from peerfront.data.calendar.dates import EPOCH
from peerfront.data.calendar.study_calendar import waiting_people
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study
from peerfront.foundation.errors import SettingError
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.models.returns.return_times import NEVER, ReturnTimes
from peerfront.problem import Frontier
from peerfront.study.artifacts import Fit
from peerfront.study.coupon_calendar import coupons_seen, why_undated
from peerfront.study.day_simulator import SharesLeft
from peerfront.study.orders import PlanOrder
from peerfront.study.population import check_target, found_shares, read_population
from peerfront.study.standing import Standing


def standing_of(study: Study, schema: StudySchema, times: ReturnTimes) -> Standing:
    """Who waits and what is open on the study's day; `times` are those that the forecast will use."""
    need_dates(study)
    assert study.day is not None, "`need_dates` refuses it"
    codes = encode_study(study, schema)
    seen, rows = coupons_seen(study)
    waits = np.flatnonzero(waiting_people(study)[0])
    settings = study.settings
    usual = NEVER if settings.valid_days is None else settings.valid_days - settings.active_after_days
    if settings.valid_days is None and len(seen):
        usual = float(np.median(seen.validity))  # the file's own column
    return Standing(
        today=EPOCH + timedelta(days=int(np.floor(study.day))),
        waiting=Frontier(study.ids[waits], codes[waits]),
        seen=with_sites(seen, times.sites),
        holders=codes[rows],
        enrolled=len(study),
        valid_days=usual,
        active_after_days=int(settings.active_after_days),
    )


def need_dates(study: Study) -> None:
    """Refuse a study whose file does not say when coupons were issued and used."""
    if study.day is None or study.issued_days is None:
        raise SettingError(
            f"{study.source} has no dates, so nothing can be said by date. Name their column (--map date=COLUMN), or "
            "forecast by rounds with a file of the people who wait."
        )
    if not study.settings.open_by_dates:
        raise SettingError(
            f"still_open = {study.settings.still_open!r} says whose coupons are open in {study.source}; by date the "
            "dates must decide. Leave still_open out, and say how long coupons are valid (valid_days)."
        )


def times_of(fit: Fit, study: Study) -> ReturnTimes:
    """When people return: as the model knows it, or, where it does not, as the study shows it."""
    if fit.returns is not None:
        return fit.returns
    why = why_undated(study)
    if why:
        raise SettingError(
            f"Nothing says when people return: the model does not know it, and in {study.source} {why}. Correct the "
            "dates and fit again, or forecast by rounds."
        )
    from peerfront.models.returns.return_fit import fit_return_times  # only here: it needs torch

    return fit_return_times(coupons_seen(study)[0]).times


def share_left_of(fit: Fit, standing: Standing, order: PlanOrder, target: float | None = None) -> SharesLeft | None:
    """How the order's population runs out while people come; None where nothing is said about it.

    Recruits are taken to come from its groups in proportion to their sizes. A target above the population is refused.
    """
    if not order.population:
        return None
    people = standing.waiting if len(standing.waiting) else Frontier.of(standing.holders)
    if not len(people):
        return None
    counted = order if order.already is not None else replace(order, already=standing.enrolled)
    population = read_population(counted, fit, people)
    assert population is not None, "the order has one"
    check_target(target, round(population.sizes.sum()))
    return found_shares(population, fit, people)


def with_sites(seen: CouponsSeen, sites: tuple[str, ...]) -> CouponsSeen:
    """The same holders with the numbers of other sites; those that are not listed are unknown."""
    if seen.sites == sites:
        return seen
    place = np.array([sites.index(name) if name in sites else -1 for name in seen.sites] + [-1])
    return replace(seen, site=place[seen.site_codes], sites=sites)
