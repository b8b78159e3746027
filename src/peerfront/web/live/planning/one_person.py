"""A plan for one person, by a model and the coupons that are free: pure, and quick enough to wait for.

Everything is as in a sheet for this person alone (`advice.sheet.plan_coupons`), without playing the rest of the study
and without bounds. Where coupons may differ only between strata, a person of a stratum that the approved plan knows
gets a number with the chances that everybody of the stratum had, so that people of a stratum stay alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from peerfront.foundation.covariates import UNKNOWN, Codes
from peerfront.foundation.randomness import named_key
from peerfront.foundation.words import n_coupons, percent
from peerfront.gfp.backup import Array
from peerfront.gfp.lottery import person_luck
from peerfront.problem import Frontier
from peerfront.study.artifacts import Fit
from peerfront.study.decisions import AT_RANDOM, decide
from peerfront.study.orders import PlanOrder, task_of
from peerfront.study.reasons import Facts, alike, reason_for_one
from peerfront.study.restrictions import restriction_of
from peerfront.study.stories import ordered_planner
from peerfront.study.week_plan import USUAL_EACH

_LARGEST_SEED = 10**18 - 1


@dataclass(frozen=True)
class OnePlan:
    """A number of coupons, the chance that this person would get it, and why."""

    coupons: int
    probability: float
    stratum: str
    reason: str


def seed_for(plan_seed: int, person: str) -> int:
    """A seed of their own for everybody who comes after a plan was made: whose number is random differs."""
    return int(named_key("plan for one", plan_seed, person)) % (_LARGEST_SEED + 1)


def plan_alone(
    fit: Fit,
    person: str,
    codes: Codes,
    order: PlanOrder,
    coming: Mapping[str, Array] | None = None,
    strata: Mapping[str, Sequence[float]] | None = None,
) -> OnePlan:
    """Plan for one person with these codes [fields]; `strata` are the chances of each number in the approved plan."""
    if order.strata:
        name, codes = _stratum(fit, order, codes)
        known = (strata or {}).get(name)
        if known is not None:
            luck = float(person_luck([person], order.seed).uniform("number")[0])
            return of_stratum(name, known, luck, order)
    return _planned(fit, person, codes, order, coming)


def of_stratum(stratum: str, chances: Sequence[float], luck: float, order: PlanOrder) -> OnePlan:
    """Draw a number with the chances of a stratum; numbers that are not free any more become the largest that is.

    `luck` is a uniform number from 0 to 1.
    """
    most = min(order.available, len(chances) - 1)
    if order.max_per_person is not None:
        most = min(most, order.max_per_person)
    kept = np.asarray(chances, dtype=np.float64)
    limited = np.append(kept[:most], kept[most:].sum())
    limited /= limited.sum()
    coupons = min(int(np.searchsorted(np.cumsum(limited), luck, side="right")), most)
    while limited[coupons] <= 0.0:  # rounding at the very end
        coupons -= 1
    probability = float(limited[coupons])
    fewer = "" if kept[most:].sum() == kept[most] else " Fewer coupons are free than the plan could give."
    if probability == 1.0:
        words = f"Everybody in {stratum} gets {n_coupons(coupons)}: coupons differ only between strata."
    else:
        words = (
            f"The number was drawn with the chances of everybody in {stratum}: {percent(probability)} for "
            f"{n_coupons(coupons)}."
        )
    return OnePlan(coupons, probability, stratum, words + fewer)


def same_for_all(free: int, cap: int) -> OnePlan:
    """The number while a study is too small for a model: the same for everybody, as far as coupons last."""
    wanted = min(USUAL_EACH, cap)
    coupons = max(min(wanted, free), 0)
    if coupons < wanted:
        return OnePlan(coupons, 1.0, "", f"{n_coupons(coupons)}: no more are free.")
    return OnePlan(coupons, 1.0, "", f"{n_coupons(coupons)}, as for everybody: the study is too small to tell apart.")


def _stratum(fit: Fit, order: PlanOrder, codes: Codes) -> tuple[str, Codes]:
    """The name of a person's stratum, and their codes with everything else unknown, so that it alone decides."""
    restriction = restriction_of(order, fit.schema)
    only = np.full_like(codes, UNKNOWN)
    only[list(restriction.columns)] = codes[list(restriction.columns)]
    return restriction.strata(only[None])[1][0], only


def _planned(fit: Fit, person: str, codes: Codes, order: PlanOrder, coming: Mapping[str, Array] | None) -> OnePlan:
    frontier = Frontier(np.array([person], dtype=object), codes[None])
    task = task_of(fit, frontier, order)
    if task.nothing_because:
        return OnePlan(0, 1.0, "", f"No coupon: {task.nothing_because}.")
    planner = ordered_planner(fit, task).with_coming(coming)
    decision = decide(fit, planner, task, every_spend=True)
    coupons = decision.plan.allocation.coupons
    kinds = alike(frontier.covariates, coupons)
    tables = planner.tables(kinds.rows[:, :-1].astype(np.int16), task.state.most_per_person)
    reason = str(reason_for_one(Facts.of(fit, planner, task, decision.plan, kinds, tables)))
    if decision.decided_by[0] == AT_RANDOM:
        reason = "The number was drawn at random, so that estimates from the study stay possible."
    stratum = decision.stratum[0] if decision.stratum else ""
    return OnePlan(int(coupons[0]), float(decision.probability[0]), stratum, reason)
