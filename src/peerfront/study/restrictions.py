"""Plans within limits: coupons that differ only between strata and random numbers, which keep the study's own estimates
valid; and the usual number for everybody.

An order may say by which fields coupons may differ (strata district+gender), and the least chance that everybody has of
each number (randomise 0.1). This module reads these, plans within them, and draws. Where counts contradict the belief,
plans fall back to the usual number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import WhileTheyLast
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Message, Remedy, n_people, note
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.settings import one_of
from peerfront.gfp.backup import Array
from peerfront.gfp.lottery import Lottery, person_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.restricted import RestrictedPlan, RestrictedPlanner, restricted_plan, strata_of
from peerfront.study.artifacts import Fit
from peerfront.study.orders import PlanOrder, Task, usual_instead
from peerfront.study.study_sample import MOST_STRATA

_NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Restriction:
    """The restrictions of an order, with the positions of their fields in the schema."""

    schema: Schema
    fields: tuple[str, ...] = ()
    chance: float = 0.0
    usual: int = 0
    """The number that everybody gets while coupons last, because counts contradict the belief; 0 if they do not."""

    @property
    def is_any(self) -> bool:
        """Whether the order restricts the plan."""
        return bool(self.fields) or self.chance > 0.0

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(self.schema.names.index(name) for name in self.fields)

    @property
    def label_text(self) -> str:
        return " x ".join(self.fields)

    def policy(self, planner: Planner) -> Planner | RestrictedPlanner | WhileTheyLast:
        """The planner, within these limits in every round."""
        if self.usual:
            return WhileTheyLast.each(self.usual)
        return RestrictedPlanner(planner, self.columns, self.chance) if self.is_any else planner

    def strata(self, covariates: Codes) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Everybody's stratum, [people], and the names of the strata; refuse too many."""
        label = strata_of(covariates, self.columns)
        _, first = np.unique(label, return_index=True)
        names = tuple(self._name(covariates[row]) for row in first.tolist())
        if len(names) > MOST_STRATA:
            raise SettingError("strata.too_many", fields=self.label_text, found=len(names), most=MOST_STRATA)
        return label, names

    def _name(self, row: NDArray[np.int16]) -> str:
        parts = []
        for name, column in zip(self.fields, self.columns, strict=True):
            code = int(row[column])
            parts.append(f"{name}={self.schema.fields[column].categories[code] if code >= 0 else _NOT_KNOWN}")
        return ", ".join(parts)


def read_strata(text: str, schema: Schema) -> tuple[str, ...]:
    """Read FIELD or FIELD+FIELD; a field may have a plus in its own name."""
    names = [text] if text in schema.names else [part.strip() for part in text.split("+")]
    return tuple(one_of("field", name, schema.names) for name in names)


def restriction_of(order: PlanOrder, fit: Fit) -> Restriction:
    """Read an order's restrictions; refuse unknown fields and combinations that are impossible."""
    fields = [name for text in order.strata for name in read_strata(text, fit.schema)]
    if len(set(fields)) < len(fields):
        raise SettingError("strata.field_twice", fields=fields)
    restriction = Restriction(fit.schema, tuple(fields), order.randomise, usual_instead(fit, order))
    if restriction.is_any and order.learn is not None:
        raise SettingError(
            "orders.learn_and_strata",
            learn=Remedy("learn", True), strata=Remedy("strata"), randomise=Remedy("randomise"),
        )  # fmt: skip
    if restriction.chance > 0.0 and order.at_least:
        raise SettingError("orders.random_and_floors", random=Remedy("randomise"), floors=Remedy("at_least"))
    return restriction


@dataclass(frozen=True, eq=False)
class RestrictedCoupons:
    """Coupons handed out within the restrictions."""

    coupons: NDArray[np.int64]  # [people]
    by_lot: NDArray[np.bool_]  # [people]
    at_random: NDArray[np.bool_]  # [people]
    probability: Array  # [people], of each person's number, exact
    stratum: tuple[str, ...]  # [people]; empty where there are no strata
    notes: tuple[Message, ...]


def draw_within(
    plan: RestrictedPlan,
    ties: Lottery | None,
    strata: tuple[str, ...],
    restriction: Restriction,
    ids: Sequence[object] | NDArray[np.generic],
    seed: int,
) -> RestrictedCoupons:
    """Draw lots and random numbers. Without strata, `ties` were already drawn among people alike."""
    luck = person_luck([str(each) for each in ids], seed)
    start = float(named_luck(("random numbers", seed), 1).uniform("start")[0])
    drawn = plan.draw(luck.uniform("lot"), luck.uniform("random number"), start)
    everybody = np.arange(len(drawn.coupons))
    if ties is None:
        coupons, by_lot = drawn.coupons, drawn.by_lot
        probability = plan.chances()[everybody, coupons]
    else:
        coupons = np.where(drawn.at_random, drawn.coupons, ties.coupons)
        by_lot = ties.drawn & ~drawn.at_random
        by_ties = np.where(coupons == ties.coupons, ties.probability, 0.0)
        by_ties += np.where((coupons == ties.otherwise) & (ties.otherwise != ties.coupons), 1.0 - ties.probability, 0.0)
        probability = by_ties
        if plan.floor is not None:
            allowed = (coupons >= plan.floor.least) & (coupons <= plan.floor.most)
            probability = plan.floor.kept * by_ties + plan.floor.chance * allowed
    notes = _notes(plan, strata, restriction, int(drawn.at_random.sum()), seed)
    named = tuple(strata[label] for label in plan.label.tolist()) if plan.label is not None else ()
    return RestrictedCoupons(coupons, by_lot, drawn.at_random, probability, named, tuple(notes))


def _notes(
    plan: RestrictedPlan, strata: tuple[str, ...], restriction: Restriction, n_random: int, seed: int
) -> list[Message]:
    notes = []
    if plan.label is not None:
        size = np.bincount(plan.label, minlength=len(strata))
        notes.append(note("strata.only_between", strata=len(strata), fields=restriction.label_text))
        for place, name in enumerate(strata):
            values = {"stratum": name, "each": int(plan.planned[plan.label == place][0])}
            winners = int(plan.winners[place])
            if winners:
                notes.append(
                    note(
                        "strata.each_and_lot",
                        **values,
                        winners=winners,
                        people=int(size[place]),
                        more=int(plan.more[place]),
                    )
                )
            else:
                notes.append(note("strata.each", **values))
        if not plan.is_best:
            notes.append(note("strata.stepwise"))
        else:
            notes.append(note("strata.best" if plan.floor is None else "strata.best_given_random"))
    if plan.floor is not None:
        chance, least, most = plan.floor.chance, plan.floor.least, plan.floor.most
        drawn = n_people(n_random)
        notes.append(note("random_numbers.drawn", chance=chance, least=least, most=most, people=drawn, seed=seed))
    return notes


def planned_within(planner: Planner, task: Task, restriction: Restriction, **more: object) -> RestrictedPlan:
    """The plan of this round within the restrictions, before anything is drawn."""
    state = task.state
    label = restriction.strata(state.frontier.covariates)[0] if restriction.fields else None
    weights, base = planner.weights_and_base(state)
    return restricted_plan(
        planner.tables(state.frontier.covariates, state.most_per_person),
        weights,
        planner.discount,
        base=base,
        spendable=state.spendable,
        most=state.most_per_person,
        least=task.order.min_per_person,
        label=label,
        chance=restriction.chance,
        **more,  # type: ignore[arg-type] # floors
    )
