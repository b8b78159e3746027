"""The number of coupons for somebody who came after the approved plan was made: at once, by the approved model.

The model is loaded once for a process, and its compiled parts are warmed up when the server starts and when a plan is
approved. Nothing is written and no lock is held: the rules check the number again when coupons are handed out.
"""

import logging
import threading
from dataclasses import dataclass
from datetime import date

import numpy as np
from django.db import connection, connections
from django.utils import timezone

from peerfront.foundation.covariates import UNKNOWN, Codes
from peerfront.foundation.errors import PeerfrontError
from peerfront.study.day_policies import coming_of
from peerfront.study.model import Model
from peerfront.study.orders import PlanOrder
from peerfront.study.standing import OpenHolders, generation_days, rounds_until
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL, KeptModel, PlanSummary, loaded_model
from peerfront.web.live.planning.one_person import OnePlan, plan_alone, same_for_all, seed_for
from peerfront.web.live.planning.open_holders import codes_of, open_holders
from peerfront.web.live.planning.study_order import is_over, order_of, today_of, usable_days
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.records import PersonRow, PlanRow, StudyRow
from peerfront.web.live.rules.requests import PlanForOne
from peerfront.web.live.rules.settings import LONGEST_TEXT

log = logging.getLogger(__name__)
_NOBODY = "nobody"  # for whom kernels are warmed up


@dataclass(frozen=True)
class Approved:
    """The approved plan, on one day."""

    study: StudyRow
    plan: PlanRow
    today: date

    @property
    def free(self) -> int:
        """Coupons that nobody has and nobody was promised."""
        return max(self.study.kept - self.plan.promised, 0)


def plan_for_one(person: str) -> PlanForOne | None:
    """The number of coupons for a person whom the approved plan does not know, and who has had none.

    None if there is no approved plan or its model is missing, if the plan or the coordinator gives a number already,
    or if the person cannot get one (unknown, without answers, withdrawn, had coupons in an earlier round: more of
    them are the coordinator's decision).
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
        f"Came after plan {approved.plan.plan} was made. {planned.reason}"[:LONGEST_TEXT],
    )  # fmt: skip


def warm_up() -> bool:
    """Load the approved model and compile what a plan for one runs through; whether there is such a model."""
    approved = _approved()
    if approved is None:
        return False
    nobody = PersonRow(_NOBODY, "", "", None, approved.plan.proposed_at, answers=())
    return _planned(approved, nobody, warming=True) is not None


def warm_up_in_background() -> threading.Thread:
    """Warm up in a thread of this process; a fault is logged and harms nothing."""

    def work() -> None:
        try:
            warm_up()
        except Exception:  # whatever it is: the number for the next person is planned without it
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
        return OnePlan(0, 1.0, "", f"No coupon: recruitment ends on {settings.deadline}.")
    if plan.model == SAME_FOR_ALL:
        return same_for_all(free, settings.cap)
    try:
        model = loaded_model(plan.model)
        if model is None:
            return None
        summary = KeptModel(plan.model).plan(plan.seed).summary
        if summary is None:
            log.error("What plan %d says beside its lines is missing or spoilt: nobody gets a number.", plan.plan)
            return None  # it tells the groups in which people must be planned alike
        holders = _holders(approved, model)
        codes = codes_of(settings, model.schema, [(row.answers or (), row.network_size)])[0]
        if warming and not len(holders):
            holders = _somebody(model, codes)
        return plan_one(approved, model, summary, holders, row.person, codes)
    except PeerfrontError:
        log.exception("No plan for one person could be made with model %s.", plan.model)
        return None


def plan_one(
    approved: Approved, model: Model, summary: PlanSummary | None, holders: OpenHolders, person: str, codes: Codes
) -> OnePlan:
    """Plan for a person with these codes, and with these coupons still open."""
    settings, fit = approved.study.settings, model.fit
    strata = tuple(name for name in strata_of(summary) if name in fit.schema.names)
    left = min(approved.free, fit.planner.budget)
    asked = order_of(settings, left, seed_for(approved.plan.seed, person), strata, cap=settings.cap)
    order: PlanOrder = asked.plan_order(left, None, 0, 1)
    coming = None
    if fit.returns is not None:
        days = (asked.last_day(approved.today) - approved.today).days
        rounds = rounds_until(days, generation_days(fit.returns, usable_days(settings)), fit.rules.rounds)
        order = asked.plan_order(left, rounds, 0, 1)
        coming = coming_of(fit.planner, holders, fit.returns, days)
    return plan_alone(fit, person, codes, order, coming, None if summary is None else summary.strata)


def strata_of(summary: PlanSummary | None) -> tuple[str, ...]:
    """The columns of which the strata of a plan are made; none where it has no strata."""
    return () if summary is None else summary.strata_columns


def _holders(approved: Approved, model: Model) -> OpenHolders:
    sites = () if model.fit.returns is None else model.fit.returns.sites
    return open_holders(approved.study.settings, model.schema, sites, approved.today, approved.plan)


def _somebody(model: Model, codes: Codes) -> OpenHolders:
    """A made-up holder, so that everything is compiled that a plan with open coupons needs."""
    from peerfront.models.returns.coupons_seen import CouponsSeen

    none = np.zeros(0)
    seen = CouponsSeen(np.ones(1, np.int64), np.zeros(1), none.astype(np.int64), none, np.full(1, 7.0))
    return OpenHolders(seen, np.full_like(codes, UNKNOWN)[None])
