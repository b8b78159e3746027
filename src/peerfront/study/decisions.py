"""Who gets how many coupons, and how that was decided: by the plan, by lot among people with equal claims, or at random
to find out what a coupon does. The probability of every number is kept: later estimates from the study need it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Kinds, kinds_of
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Measured, Message, Remedy, n_coupons, note
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.blocks import greedy_at_in_blocks, majorants, rises, whole_blocks, worth_of_kinds
from peerfront.gfp.explained_plan import Plan, worth_by_kind, worth_of_each
from peerfront.gfp.floored_greedy import greedy_with_floors
from peerfront.gfp.greedy import greedy_at
from peerfront.gfp.lottery import Lottery, draw_ties, person_luck, uncovered_by
from peerfront.gfp.paper import expected_future_value, expected_recruits
from peerfront.gfp.planner import Planner
from peerfront.gfp.restricted import RestrictedPlan
from peerfront.gfp.updating import Design, DesignWorth, designs, worth_of_designs
from peerfront.models.belief.belief_world import draw_of_episode
from peerfront.problem import Allocation
from peerfront.study.artifacts import Fit
from peerfront.study.floors import FloorTask, floor_task, read_floors
from peerfront.study.orders import AVERAGE, BELIEF, Task
from peerfront.study.restrictions import Restriction, draw_within, planned_within, restriction_of
from peerfront.study.stories import can_be_simulated
from peerfront.study.uncertainty import drawn_chances, gain_noise, relative_errors, unequal_groups

BY_PLAN, BY_LOT, AT_RANDOM, BY_HAND = "plan", "lot", "random", "hand"
_STUDIES = 100  # simulated studies that choose whether numbers are drawn by lot
_NO_COST = 0.005  # recruits
_NEAR = 0.005  # share of the value by which plans hardly differ
_CLEAR = 1.0  # standard errors by which a share must be better to be used


@dataclass(frozen=True, eq=False)
class Decision:
    """Coupons of one round, and how each number came about."""

    plan: Plan
    """The final plan: its allocation is handed out."""
    planned: Allocation
    """The plan before floors, lots and random numbers."""
    decided_by: NDArray[np.object_]  # [people], BY_PLAN, BY_LOT, AT_RANDOM or BY_HAND
    probability: Array  # [people], of the number each person got, before lots and random numbers were drawn
    notes: tuple[Message, ...]
    learning: tuple[DesignWorth, ...] = ()
    """What the plan and designs to find out would bring; empty unless they were considered."""
    stratum: tuple[str, ...] = ()
    """Everybody's stratum, [people], if coupons may differ only between strata."""
    tied_with: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """How many others took part in each person's lottery, [people]; 0 if coupons differ only between strata."""
    chances: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By stratum: everybody's chance of 0, 1, ... coupons; empty without strata."""


def decide(fit: Fit, planner: Planner, task: Task, *, every_spend: bool) -> Decision:
    """Plan a round, draw ties by lot, and draw random numbers if the order asks for them."""
    state, order = task.state, task.order
    if order.learn is not None and order.at_least:
        raise SettingError("orders.random_and_floors", random=Remedy("learn", True), floors=Remedy("at_least"))
    restriction = restriction_of(order, fit)
    people, most, least = state.frontier.covariates, state.most_per_person, order.min_per_person
    floors = floor_task(
        read_floors(order.at_least, fit.schema),
        fit.schema,
        people,
        spendable=state.spendable,
        most_per_person=most,
        least_per_person=least,
    )
    plan = planner.plan(state, every_spend=every_spend)
    kinds = kinds_of(people)
    tables = planner.tables(kinds.rows, most)
    weights, anyway = planner.weights_and_base(state)
    notes = list(floors.notes)

    def handed_out(coupons: NDArray[np.int64]) -> Plan:
        return _with(plan, tables, kinds.kind, weights, anyway, planner.discount, coupons)

    if restriction.is_any:
        return _restricted(planner, task, restriction, plan, floors, tables, kinds, notes)
    planned, everybody, usual = plan, tables.take(kinds.kind), None
    concave = majorants(everybody)[0] if floors.floors and rises(everybody) else everybody
    if restriction.usual:
        usual = _usual_by_lot(restriction.usual, task, tables.gains[kinds.kind, 0])
        planned = handed_out(usual.coupons)
    elif order.spend is not None:
        planned = handed_out(_exactly(order.spend, planner, task, plan, everybody))
        notes.append(_cost_of_spend(order.spend, plan))
    elif soon := _as_good_now(plan):
        planned = handed_out(_exactly(soon, planner, task, plan, everybody))
    if floors.floors and order.spend is not None and not floors.groups.met(planned.allocation.coupons):
        floored = greedy_with_floors(
            concave, weights, planner.discount, floors.groups, spendable=state.spendable,
            most_per_person=most, least_per_person=least, spends=[order.spend], base=anyway,
        )  # fmt: skip
        planned = handed_out(floored.plan.coupons)
    elif floors.floors and order.spend is None:
        floored = greedy_with_floors(
            concave,
            weights,
            planner.discount,
            floors.groups,
            spendable=state.spendable,
            most_per_person=most,
            least_per_person=least,
            base=anyway,
        )
        planned = handed_out(floored.plan.coupons)
        if concave is not everybody:
            blocks = handed_out(_whole_within(floors, everybody, weights, planner.discount, planned, least))
            planned = max(planned, blocks, key=lambda each: each.value)
    worth = planner.discount * weights[state.remaining_budget - planned.spend]
    chances, shares = drawn_chances(planner.stories, kinds.rows)
    errors = relative_errors(chances[:, kinds.kind], shares)
    drawn = usual or draw_ties(
        tables,
        worth,
        planned.allocation.coupons,
        gain_noise(errors, tables, worth, planned.allocation.coupons, kinds.kind),
        state.frontier.ids,
        most_per_person=most,
        least_per_person=least,
        seed=order.seed,
        kind=kinds.kind,
        within=floors.labels if floors.floors else None,
    )
    by, first_of_lots = np.where(drawn.drawn, BY_LOT, BY_PLAN).astype(object), len(notes)
    coupons, probability = drawn.coupons, drawn.probability
    worths: tuple[DesignWorth, ...] = ()
    design: Design | None = None
    if order.learn is not None and state.rounds_left == 1:
        notes.append(note("learning.last_round"))
    elif not restriction.usual and _may_find_out(fit, task):
        worths = _worths(fit, planner, task, planned)
        design = _best_design(worths, order.learn)
        if design is not None:
            allocation, probability = design.drawn(
                _in_order(planned, tables, kinds), named_luck(("numbers by lot", order.seed), 1)
            )
            coupons, by = allocation.coupons, np.where(allocation.coupons > 0, AT_RANDOM, BY_PLAN).astype(object)
        notes += _learning_notes(worths, design)
    if design is None:
        notes[first_of_lots:first_of_lots] = _lots(drawn, order.seed)
    notes += unequal_groups(fit.schema, people, coupons, chances[:, kinds.kind], shares)
    return Decision(
        handed_out(coupons), plan.allocation, by, probability, tuple(notes), worths,
        tied_with=drawn.tied_with,
    )  # fmt: skip


def with_numbers(decision: Decision, planner: Planner, task: Task, coupons: NDArray[np.int64]) -> Decision:
    """The decision with numbers that somebody chose by hand, [people]."""
    state, before, spend = task.state, decision.plan.allocation.coupons, int(coupons.sum())
    if spend > task.spendable:
        raise SettingError("orders.spend_too_large", spend=n_coupons(spend), most=task.spendable)
    kinds = kinds_of(state.frontier.covariates)
    tables, (weights, anyway) = planner.tables(kinds.rows, state.most_per_person), planner.weights_and_base(state)
    by = np.where(coupons == before, decision.decided_by, BY_HAND).astype(object)
    plan = _with(decision.plan, tables, kinds.kind, weights, anyway, planner.discount, coupons)
    return replace(decision, plan=plan, decided_by=by)


def _usual_by_lot(usual: int, task: Task, first: Array) -> Lottery:
    """The usual number while coupons last, for those first whose first coupon is likelier used; lots among equals.

    `first` [people] are chances that a first coupon is used. The order's minimum for everybody is kept.
    """
    state, people, least = task.state, len(first), task.order.min_per_person
    _, group = np.unique(np.round(-first, 9), return_inverse=True)
    lots = person_luck([str(person) for person in state.frontier.ids.tolist()], task.order.seed).uniform("lot")
    more = max(min(usual, state.most_per_person) - least, 0)
    coupons = np.empty(people, np.int64)
    left = state.spendable - least * people - more * np.arange(people)
    coupons[np.lexsort((lots, group))] = least + np.clip(left, 0, more)
    having = np.zeros((group.max() + 1, coupons.max() + 1))  # people of each group with each number
    np.add.at(having, (group, coupons), 1.0)
    size, fewest = having.sum(axis=1)[group], (having > 0).argmax(axis=1)[group]
    most = having.shape[1] - 1 - (having > 0)[:, ::-1].argmax(axis=1)[group]
    drawn, otherwise = most > fewest, np.where(coupons == most, fewest, most)
    tied_with = np.where(drawn, size - 1, 0).astype(np.int64)
    return Lottery(coupons, drawn, drawn, having[group, coupons] / size, otherwise, True, 0.0, tied_with)


def _as_good_now(plan: Plan) -> int:
    """The most coupons to give out where the plan would keep all of them and hardly anything is lost by giving some.

    Where others are about to come, the value of keeping all or giving some may differ by less than it is known; people
    who wait should not go home with nothing for that.
    """
    if plan.spend or plan.bound is not None:
        return 0
    near = np.flatnonzero(np.nan_to_num(plan.values, nan=-np.inf) >= (1.0 - _NEAR) * plan.value)
    return int(near.max(initial=0))


def _exactly(spend: int, planner: Planner, task: Task, plan: Plan, everybody: Tables) -> NDArray[np.int64]:
    """The best way to give out this number of coupons, [people]."""
    if plan.bound is not None:
        raise SettingError("orders.too_large_for_spend", spend=Remedy("spend"), cap=Remedy("round_cap"))
    weights, anyway = planner.weights_and_base(task.state)
    most, least = task.state.most_per_person, task.order.min_per_person
    (coupons,), _ = greedy_at_in_blocks(everybody, weights, planner.discount, [spend], most, least, anyway)
    if coupons.sum() < spend:  # whole blocks leave some over
        (coupons,), _ = greedy_at(majorants(everybody)[0], weights, planner.discount, [spend], most, least, anyway)
    exactly: NDArray[np.int64] = coupons
    return exactly


def _whole_within(
    floors: FloorTask, everybody: Tables, weights: Array, discount: float, plan: Plan, least: int
) -> NDArray[np.int64]:
    """The plan's coupons with whole blocks, given among people of the same groups; as planned where a floor breaks."""
    coupons, ends = plan.allocation.coupons.copy(), majorants(everybody)[1]
    worth = discount * weights[len(weights) - 1 - plan.spend]
    for label in np.unique(floors.labels):
        own, others = np.flatnonzero(floors.labels == label), np.flatnonzero(floors.labels != label)
        left = uncovered_by(everybody, others, coupons[others])
        coupons[own] = whole_blocks(everybody.take(own), worth * left, coupons[own], ends[own], least)
    return coupons if floors.groups.met(coupons) else plan.allocation.coupons


def _cost_of_spend(spend: int, best: Plan) -> Message:
    values = {"coupons": n_coupons(spend), "best": best.spend}
    lost = best.value - float(best.values[spend])
    if np.isnan(lost):
        return note("spend_as_asked.cost_unknown", **values)
    if spend == best.spend or lost < _NO_COST:
        return note("spend_as_asked.as_good", **values)
    return note("spend_as_asked.worse", lost=lost, **values)


def _lots(lottery: Lottery, seed: int) -> list[Message]:
    people, winners = int(lottery.drawn.sum()), int((lottery.drawn & (lottery.coupons > lottery.otherwise)).sum())
    if not people:
        return []
    several = bool((np.abs(lottery.coupons - lottery.otherwise)[lottery.drawn] > 1).any())
    code = "lots.more_coupons" if several else "lots.one_winner" if winners == 1 else "lots.winners"
    return [note(code, winners=winners, people=people, seed=seed)]


def _restricted(
    planner: Planner,
    task: Task,
    restriction: Restriction,
    free: Plan,
    floors: FloorTask,
    tables: Tables,
    kinds: Kinds,
    notes: list[Message],
) -> Decision:
    """Plan a round within strata, or with random numbers for everybody; `tables` are by kind."""
    state, order = task.state, task.order
    people, most, least = state.frontier.covariates, state.most_per_person, order.min_per_person
    names = restriction.strata(people)[1] if restriction.fields else ()
    within = planned_within(planner, task, restriction, floors=floors.groups if floors.floors else None)
    chances, shares = drawn_chances(planner.stories, kinds.rows)
    weights, anyway = planner.weights_and_base(state)
    ties = None
    if within.label is None:  # without strata, ties are drawn by lot as in every plan
        worth = planner.discount * weights[state.remaining_budget - min(int(within.planned.sum()), state.spendable)]
        errors = relative_errors(chances[:, kinds.kind], shares)
        noise = gain_noise(errors, tables, worth, within.planned, kinds.kind)
        ties = draw_ties(
            tables, worth, within.planned, noise, state.frontier.ids,
            most_per_person=most, least_per_person=least, seed=order.seed, kind=kinds.kind, only_exact=True,
        )  # fmt: skip
        assert within.floor is not None, "without strata there are random numbers"
        if within.floor.worst_cases(len(people)).suffices(ties.coupons, state.spendable):
            notes += _lots(ties, order.seed)
        else:
            ties = None
    drawn = draw_within(within, ties, names, restriction, state.frontier.ids, order.seed)
    by = np.where(drawn.at_random, AT_RANDOM, np.where(drawn.by_lot, BY_LOT, BY_PLAN)).astype(object)
    notes += [*drawn.notes, *unequal_groups(restriction.schema, people, drawn.coupons, chances[:, kinds.kind], shares)]
    handed_out = _with(free, tables, kinds.kind, weights, anyway, planner.discount, drawn.coupons)
    values = np.full(state.spendable + 1, np.nan)
    if within.floor is None:  # with a floor, how many coupons go out is left to chance
        values[: len(within.values)] = within.values
    if np.isnan(values[handed_out.spend]):
        values[handed_out.spend] = within.value
    plan = replace(handed_out, values=values)
    by_stratum = _by_stratum(within, names)
    return Decision(
        plan, free.allocation, by, drawn.probability, tuple(notes), (), drawn.stratum,
        np.zeros(len(people), np.int64) if ties is None else ties.tied_with, by_stratum,
    )  # fmt: skip


def _by_stratum(plan: RestrictedPlan, names: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """The chances of each number in each stratum: the same for everybody in it."""
    if plan.label is None:
        return {}
    chances = plan.chances()
    _, first = np.unique(plan.label, return_index=True)
    return {name: tuple(chances[row].tolist()) for name, row in zip(names, first.tolist(), strict=True)}


def _with(
    plan: Plan,
    tables: Tables,
    kind: NDArray[np.int64],
    weights: Array,
    anyway: Array | None,
    discount: float,
    coupons: NDArray[np.int64],
) -> Plan:
    """The plan with another allocation and the gains that belong to it; `tables` are by kind."""
    if (coupons == plan.allocation.coupons).all():
        return plan
    everybody, spend = tables.take(kind), int(coupons.sum())
    worth = discount * weights[len(weights) - 1 - spend]
    value = expected_recruits(everybody.gains, coupons) + expected_future_value(everybody.transform(), worth, coupons)
    if anyway is not None:
        value += discount * float(anyway[len(weights) - 1 - spend])
    values = plan.values.copy()
    if np.isnan(values[spend]):  # the other spends' values are those of plans, before floors, lots and random numbers
        values[spend] = value
    if plan.bound is None:
        person, now, later = worth_of_each(everybody, worth, coupons)
    else:
        person, now, later = worth_by_kind(tables.gains, worth_of_kinds(tables, worth, kind, coupons)[1], kind, coupons)
    return replace(
        plan, allocation=Allocation(coupons), value=value, values=values, person=person, now=now, later=later
    )


# Finding out ---------------------------------------------------------------------------------------------------------


def _may_find_out(fit: Fit, task: Task) -> bool:
    """Whether numbers by lot are considered: if the order asks, or if everybody has had the same number so far."""
    order, stories = task.order, fit.scores.get("coupon_stories", {})
    if order.learn is None:
        plain = not order.at_least and order.spend is None and order.response in (AVERAGE, BELIEF)
        same = bool(stories.get("same_coupons")) and not stories.get("pinned")
        return (
            plain
            and same
            and task.state.rounds_left > 1
            and len(fit.planner.stories) > 1
            and can_be_simulated(task.state)
        )
    if stories.get("pinned"):
        raise SettingError("learning.pinned", pinned=Remedy("response", stories["pinned"]))
    if len(fit.planner.stories) < 2:
        raise SettingError("learning.settled", learn=Remedy("learn", True))
    if isinstance(order.learn, str) and not can_be_simulated(task.state):
        raise SettingError("learning.too_large", share=Remedy("learn_share", 0.5))
    return True


def _worths(fit: Fit, planner: Planner, task: Task, plan: Plan) -> tuple[DesignWorth, ...]:
    """What the plan and a few designs of this round bring in simulated studies."""
    state, order = task.state, task.order
    most, fewest = state.most_per_person, max(order.min_per_person, 1)
    people = len(state.frontier)
    tried = designs(people, plan.spend, state.spendable, most, fewest)
    if order.learn is not None and not isinstance(order.learn, str):
        share = float(order.learn)
        number = min(people, int(plan.spend / (share * most + (1.0 - share) * fewest)))
        tried = [Design(share, number, most, fewest)] if 0 < round(share * number) < number else []
    if order.min_per_person:  # of a design for some people the others get nothing
        tried = [design for design in tried if design.people == people]
    if not tried or not can_be_simulated(task.state):
        return tuple(DesignWorth(design, np.nan, np.nan, np.nan, np.nan, np.nan) for design in tried)
    kinds = kinds_of(state.frontier.covariates)
    tables = planner.tables(kinds.rows, most)
    luck = named_luck(("worth of finding out", order.seed), _STUDIES)
    parts = fit.belief.part_of[draw_of_episode(np.arange(_STUDIES), len(fit.belief))]
    names = [story.name for story in planner.stories]
    truth = np.array([names.index(part) if part in names else 0 for part in parts.tolist()])
    world, ranked = fit.world(state.frontier), _in_order(plan, tables, kinds)
    return tuple(worth_of_designs(world, planner, task.rules, [None, *tried], ranked, truth, luck))


def _in_order(plan: Plan, tables: Tables, kinds: Kinds) -> NDArray[np.int64]:
    """People in the plan's order: those with more coupons first, then those whose first coupon brings more."""
    first = tables.gains[kinds.kind, 0]
    return np.lexsort((-first, -plan.allocation.coupons))


def _best_design(worths: tuple[DesignWorth, ...], learn: float | str | None) -> Design | None:
    """The design that brings the most recruits, if it is clearly better than the plan; the one that was asked for."""
    others = [each for each in worths if each.design is not None]
    if not others:
        return None
    if learn is not None and not isinstance(learn, str):
        return others[0].design
    best = max(others, key=lambda each: each.gain - _CLEAR * each.gain_error)
    return best.design if best.gain > _CLEAR * best.gain_error else None


def _learning_notes(worths: tuple[DesignWorth, ...], design: Design | None) -> list[Message]:
    """What finding out costs now, brings in all, and shows; or why nobody gets a number by lot."""
    plain = next((each for each in worths if each.design is None), None)
    if design is None:
        return [] if plain is None else [note("learning.nobody", sure=plain.sure)]
    own = next(each for each in worths if each.design is design)
    values = {"most": design.with_most, "coupons": design.most, "others": design.people - design.with_most}
    notes = [note("learning.drawn", **values, fewest=n_coupons(design.fewest))]
    if plain is not None:
        gain = Measured.of(own.gain, own.gain_error)
        notes.append(note("learning.worth", now=plain.now - own.now, gain=gain, sure=own.sure, without=plain.sure))
    return notes
