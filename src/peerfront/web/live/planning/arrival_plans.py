"""Plan at once, with the approved model, for one person who came after the approved plan was made.

The number is that of a sheet for this person alone, without simulating the rest of the study and without bounds. If
coupons may differ only between strata, a person of a stratum in the approved plan gets a number drawn with the chances
of that stratum, so that people of a stratum stay alike.

The model is loaded once for a process, and its compiled parts are warmed up when the server starts and when a plan is
approved. Nothing is written and no lock is held: the rules check the number again when coupons are handed out.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from django.db import connection, connections
from django.utils import timezone

from peerfront.foundation.covariates import UNKNOWN, Codes
from peerfront.foundation.errors import PeerfrontError
from peerfront.foundation.randomness import named_key
from peerfront.gfp.backup import Array
from peerfront.gfp.lottery import person_luck
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.problem import Frontier
from peerfront.study.artifacts import Fit
from peerfront.study.day_policies import coming_of
from peerfront.study.decisions import AT_RANDOM, decide
from peerfront.study.model import Model
from peerfront.study.orders import PlanOrder, task_of, usual_instead
from peerfront.study.outlook import horizon_of
from peerfront.study.reasons import Facts, Reason, ReasonCode, alike, reason_for_one
from peerfront.study.restrictions import restriction_of
from peerfront.study.stories import ordered_planner
from peerfront.study.study_state import OpenHolders
from peerfront.study.week_plan import USUAL_EACH
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL, KeptModel, PlanSummary, loaded_model
from peerfront.web.live.planning.planning_inputs import codes_of, is_over, open_holders, order_of, today_of, usable_days
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.records import PersonRow, PlanRow, StudyRow
from peerfront.web.live.rules.requests import PlanForOne
from peerfront.web.live.rules.study_settings import LONGEST_TEXT
from peerfront.words.stored_text import reason_as_text

_LARGEST_SEED = 10**18 - 1


@dataclass(frozen=True)
class OnePlan:
    """A number of coupons, the chance that this person would get it, and why."""

    coupons: int
    probability: float
    stratum: str
    reason: Reason


def seed_for(plan_seed: int, person: str) -> int:
    """A random seed for each person who comes after a plan was made, so that draws differ between people."""
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
        chances = (strata or {}).get(name)
        if chances is not None:
            luck = float(person_luck([person], order.seed).uniform("number")[0])
            return of_stratum(name, chances, luck, order)
    return _by_the_model(fit, person, codes, order, coming)


def of_stratum(stratum: str, chances: Sequence[float], luck: float, order: PlanOrder) -> OnePlan:
    """Draw a number with the chances of a stratum, but at most the number of free coupons.

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
    code = ReasonCode.STRATUM if probability == 1.0 else ReasonCode.STRATUM_CHANCES
    fewer = bool(kept[most:].sum() != kept[most])
    reason = Reason(code, coupons, round(probability, 4), stratum=stratum, fewer_free=fewer)
    return OnePlan(coupons, probability, stratum, reason)


def same_for_all(free: int, cap: int) -> OnePlan:
    """The number in a study too small for a model: the same for everybody, as far as coupons last."""
    wanted = min(USUAL_EACH, cap)
    coupons = max(min(wanted, free), 0)
    code = ReasonCode.NO_MORE_FREE if coupons < wanted else ReasonCode.SAME_FOR_ALL
    return OnePlan(coupons, 1.0, "", Reason(code, coupons))


def _no_coupon(because: str) -> OnePlan:
    return OnePlan(0, 1.0, "", Reason(ReasonCode.NOTHING, because=because))


def _stratum(fit: Fit, order: PlanOrder, codes: Codes) -> tuple[str, Codes]:
    """The name of a person's stratum, and their codes with all other fields unknown, so that it alone decides."""
    restriction = restriction_of(order, fit)
    only = np.full_like(codes, UNKNOWN)
    only[list(restriction.columns)] = codes[list(restriction.columns)]
    return restriction.strata(only[None])[1][0], only


def _by_the_model(fit: Fit, person: str, codes: Codes, order: PlanOrder, coming: Mapping[str, Array] | None) -> OnePlan:
    frontier = Frontier(np.array([person], dtype=object), codes[None])
    task = task_of(fit, frontier, order)
    if task.nothing_because:
        return _no_coupon(task.nothing_because.code)
    planner = ordered_planner(fit, task).with_coming(coming)
    decision = decide(fit, planner, task, every_spend=True)
    coupons = decision.plan.allocation.coupons
    kinds = alike(frontier.covariates, coupons)
    tables = planner.tables(kinds.rows[:, :-1].astype(np.int16), task.state.most_per_person)
    reason = reason_for_one(Facts.of(fit, planner, task, decision.plan, kinds, tables))
    if decision.decided_by[0] == AT_RANDOM:
        reason = Reason(ReasonCode.RANDOM, int(coupons[0]))
    elif usual_instead(fit, order):
        reason = Reason(ReasonCode.USUAL, int(coupons[0]))
    stratum = decision.stratum[0] if decision.stratum else ""
    return OnePlan(int(coupons[0]), float(decision.probability[0]), stratum, reason)


log = logging.getLogger(__name__)
_NOBODY = "nobody"  # the made-up person of the warm-up


@dataclass(frozen=True)
class Approved:
    """The approved plan, on one day."""

    study: StudyRow
    plan: PlanRow
    today: date

    @property
    def free(self) -> int:
        """Coupons that are neither handed out nor promised."""
        return max(self.study.kept - self.plan.promised, 0)


def plan_for_one(person: str) -> PlanForOne | None:
    """The number of coupons for a person who is not in the approved plan, and has had no coupons.

    None if there is no approved plan or its model is missing, if the plan or the coordinator has already decided on a
    number, or if the person cannot get coupons (unknown, without answers, withdrawn) or had some in an earlier round,
    so that the coordinator decides.
    """
    if connection.in_atomic_block:
        raise RuntimeError("Plan for a person before the transaction begins: nobody else could write meanwhile.")
    approved = _approved()
    row = None if approved is None else DatabaseRecords().person(person)
    if approved is None or row is None or not _may_be_planned(approved, row):
        return None
    planned = _planned(approved, row)
    if planned is None:
        return None
    seed = seed_for(approved.plan.seed, person)
    return PlanForOne(
        approved.plan.model, seed, planned.coupons, planned.stratum[:LONGEST_TEXT], planned.probability,
        reason_as_text(planned.reason),
    )  # fmt: skip


def warm_up() -> bool:
    """Load the approved model and compile the code of a plan for one person; return whether there is a model."""
    approved = _approved()
    if approved is None:
        return False
    nobody = PersonRow(_NOBODY, "", "", None, approved.plan.proposed_at, answers=())
    return _planned(approved, nobody, warming=True) is not None


def warm_up_in_background() -> threading.Thread:
    """Warm up in a thread of this process; a failure is logged and does no harm."""

    def work() -> None:
        try:
            warm_up()
        except Exception:  # the next person is planned without the warm-up
            log.exception("The approved model could not be warmed up.")
        finally:
            connections.close_all()

    thread = threading.Thread(target=work, name="warm up the approved model", daemon=True)
    thread.start()
    return thread


def _approved() -> Approved | None:
    records = DatabaseRecords()
    study = records.study()
    plan = None if study is None or study.approved_plan is None else records.plan(study.approved_plan)
    if study is None or plan is None:
        return None
    return Approved(study, plan, today_of(study.settings, timezone.now()))


def _may_be_planned(approved: Approved, row: PersonRow) -> bool:
    if row.answers is None or row.withdrawn_at is not None or row.coupons > 0:
        return False
    records, current = DatabaseRecords(), approved.study.rounds
    return (
        records.plan_line(approved.plan.plan, row.person) is None
        and records.override(current, row.person) is None
        and records.decision(current, row.person) is None
    )


def _planned(approved: Approved, row: PersonRow, *, warming: bool = False) -> OnePlan | None:
    settings, plan, free = approved.study.settings, approved.plan, approved.free
    if is_over(settings, approved.today):
        return _no_coupon("nothing_to_plan.recruitment_over")
    if plan.model == SAME_FOR_ALL:
        return same_for_all(free, settings.cap)
    try:
        model = loaded_model(plan.model)
        if model is None:
            return None
        summary = KeptModel(plan.model).plan(plan.seed).summary
        if summary is None:
            log.error("What plan %d says beside its lines is missing or spoilt: nobody gets a number.", plan.plan)
            return None  # the strata, in which people must be planned alike, are unknown without it
        sites = () if model.fit.returns is None else model.fit.returns.sites
        holders = open_holders(settings, model.schema, sites, approved.today, plan)
        codes = codes_of(settings, model.schema, [(row.answers or (), row.network_size)])[0]
        if warming and not len(holders):
            holders = _somebody(codes)
        return _with_model(approved, model, summary, holders, row.person, codes)
    except PeerfrontError:
        log.exception("No plan for one person could be made with model %s.", plan.model)
        return None


def _with_model(
    approved: Approved, model: Model, summary: PlanSummary, holders: OpenHolders, person: str, codes: Codes
) -> OnePlan:
    """Plan for a person with these codes, and with these coupons still open."""
    settings, fit = approved.study.settings, model.fit
    strata = tuple(name for name in summary.strata_columns if name in fit.schema.names)
    left = min(approved.free, fit.planner.budget)
    asked = order_of(settings, left, seed_for(approved.plan.seed, person), strata, people=1)
    order, coming = asked.plan_order(left, 1, with_deadline=fit.returns is not None), None
    if fit.returns is not None:
        horizon = horizon_of(fit, approved.today, usable_days(settings), order, fit.returns)
        order = replace(order, rounds_left=horizon.rounds)
        coming = coming_of(fit.planner, holders, fit.returns, horizon.days)
    return plan_alone(fit, person, codes, order, coming, summary.strata)


def _somebody(codes: Codes) -> OpenHolders:
    """A made-up holder, so that the code for open coupons is compiled, too."""
    none = np.zeros(0)
    seen = CouponsSeen(np.ones(1, np.int64), np.zeros(1), none.astype(np.int64), none, np.full(1, 7.0))
    return OpenHolders(seen, np.full_like(codes, UNKNOWN)[None])
