"""Why each person gets their number of coupons, as data: codes and numbers. `words.reason_words` writes the sentences.

People with the same answers and the same number of coupons are of one kind and share their reason. In a large file the
work depends on the number of kinds, not of people.
"""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Kinds, kinds_of
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.blocks import majorants, rises
from peerfront.gfp.explained_plan import Plan
from peerfront.gfp.planner import Planner
from peerfront.study.artifacts import Fit
from peerfront.study.orders import Task

MIN_EFFECT_TO_MENTION = 0.03
"""Texts name a field only if it moves the chance that a coupon is used by at least this much."""
_ABOUT_AS_LIKELY = 0.05  # chances within this share of the median are "about as likely"
_MOST_ONE_BY_ONE = 20_000  # up to this many people, everybody is a kind of their own
_BELOW_ONE, _ABOVE_ZERO = 1.0 - 1e-12, 1e-300  # keep logarithms and quotients finite


class ReasonCode(StrEnum):
    """Why somebody gets a number of coupons: how likely they are to bring somebody, or a rule that holds for many."""

    MORE_LIKELY = "more_likely"
    LESS_LIKELY = "less_likely"
    AS_LIKELY = "as_likely"
    ALONE = "alone"
    """Planned alone, and so not compared with others."""
    STRATUM = "stratum"
    """Everybody in the stratum gets this number."""
    STRATUM_LOT = "stratum_lot"
    """Lots were drawn within the stratum."""
    STRATUM_CHANCES = "stratum_chances"
    """The number was drawn with the chances of everybody in the stratum."""
    RANDOM = "random"
    """Drawn at random, so that estimates from the study stay possible."""
    USUAL = "usual"
    """Counts contradict the belief, and everybody gets the usual number while coupons last."""
    SAME_FOR_ALL = "same_for_all"
    """The study is too small to tell people apart."""
    SAME_FOR_ALL_LOT = "same_for_all_lot"
    """The study is too small, and lots decide who gets one more."""
    NO_MORE_FREE = "no_more_free"
    """The study is too small, and coupons do not last for everybody."""
    NOTHING = "nothing"
    """Nobody gets anything; `because` says why."""


class Limit(StrEnum):
    """Why somebody gets no more."""

    PERSON = "person"
    """Nobody may have more."""
    LATER = "later"
    """A coupon brings more in a later round."""
    ROUND = "round"
    """The round's limit is reached."""
    BUDGET = "budget"
    """No coupons are left."""
    NO_GAIN = "no_gain"
    """One more would bring hardly anything, in the last round."""


class Draw(StrEnum):
    """What was left to chance."""

    LOT = "lot"
    TO_LEARN = "to_learn"
    """A random number, to find out what a coupon does."""


@dataclass(frozen=True)
class Reason:
    """Why somebody gets this number of coupons. As text it is a sentence or two in the language in use."""

    code: ReasonCode
    coupons: int = 0
    chance: float | None = None
    """The chance that a first coupon is used; for a draw within a stratum, the chance of this number."""
    field: str | None = None
    """The field that sets this person apart most, if one does."""
    category: str | None = None
    limit: Limit | None = None
    next_gain: float | None = None
    """Recruits in all that one more coupon would bring."""
    weakest: float | None = None
    """Recruits that the weakest coupon on the sheet brings, if that is why this person gets no more."""
    is_minimum: bool = False
    """Whether this is the least number that everybody gets."""
    twin_has_more: bool = False
    """Whether somebody with the same answers gets more."""
    most_shown: int | None = None
    """The most coupons that the study has data about, if this person gets more."""
    draw: Draw | None = None
    tied_with: int = 0
    """Others who took part in the same lottery."""
    stratum: str = ""
    because: str = ""
    """Code of the message that says why nobody gets anything."""
    fewer_free: bool = False
    """Whether the plan could have given out more coupons than were free."""

    def as_data(self) -> dict[str, Any]:
        """The fields that are not empty, as JSON can hold them."""
        values = ((each.name, getattr(self, each.name), each.default) for each in fields(self))
        return {
            name: value.value if isinstance(value, StrEnum) else value
            for name, value, default in values
            if value != default
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Reason":
        """Make the reason again from what `as_data` returned."""
        kinds: dict[str, type[StrEnum]] = {"code": ReasonCode, "limit": Limit, "draw": Draw}
        names = {each.name for each in fields(cls)}
        values: dict[str, Any] = {name: value for name, value in data.items() if name in names}
        return cls(**values | {name: kind(values[name]) for name, kind in kinds.items() if name in values})

    def __str__(self) -> str:
        # This package must not import `words` at the top; it is needed only when somebody reads the reason.
        return str(import_module("peerfront.words.reason_words").reason_text(self))


def alike(covariates: Codes, coupons: NDArray[np.int64]) -> Kinds:
    """Group people by what their reason depends on: answers and, in the last column of `rows`, coupons.

    In a small file everybody is a kind of their own.
    """
    together = np.column_stack([covariates.astype(np.int64), coupons])
    if len(coupons) > _MOST_ONE_BY_ONE:
        return kinds_of(together)
    return Kinds(together, np.arange(len(coupons)), np.ones(len(coupons), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Facts:
    """Numbers of a plan that reasons are made of, for each kind of people."""

    number: NDArray[np.int64]  # [kinds], people of each kind
    coupons: NDArray[np.int64]  # [kinds], of each of them
    chance: Array  # [kinds], that a first coupon is used
    later: Array  # [kinds], expected recruits of later rounds from these coupons
    next_gain: Array  # [kinds], recruits in all that one more coupon would bring
    inside_block: NDArray[np.bool_]  # [kinds], more coupons motivate, and these are too few (`gfp.blocks`)
    twin_has_more: NDArray[np.bool_]  # [kinds], somebody with the same answers got more
    answers: list[tuple[str, str] | None]  # [kinds], field and category that move the chance most, if any does by much
    weakest: float
    """What the weakest coupon on the sheet brings in all; where more coupons motivate, the mean of its block."""
    most: int
    least: int
    kept: int
    """Coupons to plan with that stay unspent this round."""
    at_round_cap: bool
    last_round: bool
    most_shown: int | None
    """The most coupons that the study has data about; None if unknown."""

    @classmethod
    def of(cls, fit: Fit, planner: Planner, task: Task, plan: Plan, kinds: Kinds, tables: Tables) -> "Facts":
        """The facts of a plan, with tables by kind."""
        state, coupons, number = task.state, kinds.rows[:, -1].astype(np.int64), kinds.number
        covariates: Codes = kinds.rows[:, :-1].astype(np.int16)
        people, levels = tables.gains.shape
        everybody = np.arange(people)
        weights = planner.weights_with(state.rounds_left - 1)
        worth = fit.discount * weights[state.remaining_budget - plan.spend]
        gains, covers = tables.gains, tables.covers
        given = np.arange(levels) < coupons[:, None]
        shares = -np.where(given[:, :, None], np.log1p(-np.minimum(covers, _BELOW_ONE)), 0.0).sum(axis=1)
        covered = (shares * number[:, None]).sum(axis=0)
        left = np.exp(-covered)  # [latent]
        # The joint gain is divided in proportion to what each covers alone: people alike are worth alike.
        later = (shares / np.maximum(covered, _ABOVE_ZERO)) @ (worth * (1.0 - left))
        level = np.minimum(coupons, levels - 1)
        more = coupons < levels
        next_chance = np.where(more, gains[everybody, level], 0.0)
        next_later = np.where(more, covers[everybody, level] @ (worth * left), 0.0)
        motivate = rises(tables)
        concave, ends = majorants(tables)
        return cls(
            number=number,
            coupons=coupons,
            chance=gains[:, 0],
            later=later,
            next_gain=next_chance + next_later,
            inside_block=motivate & more & (ends[everybody, np.minimum(coupons, levels)] > coupons),
            twin_has_more=_twins(covariates, coupons),
            answers=_strongest_answers(planner, covariates, number, gains[:, 0]),
            weakest=_weakest(plan, coupons, concave if motivate else tables, worth * left, not motivate),
            most=state.most_per_person,
            least=task.order.min_per_person,
            kept=state.remaining_budget - plan.spend,
            at_round_cap=state.rules.max_per_round is not None and plan.spend == state.rules.max_per_round,
            last_round=state.rounds_left == 1,
            most_shown=fit.most_shown,
        )


def _weakest(plan: Plan, coupons: NDArray[np.int64], tables: Tables, slope: Array, in_order: bool) -> float:
    """What the weakest coupon brings in all: the last one given, or in a plan by price or in blocks (whose coupons are
    not in order) the one that adds least."""
    gains, covers = tables.gains, tables.covers
    if in_order and plan.bound is None:
        return float((plan.now + plan.later).min(initial=np.inf))
    getting = np.flatnonzero(coupons)
    last = np.minimum(coupons[getting], gains.shape[1]) - 1
    missed = covers[getting, last] / np.maximum(
        1.0 - covers[getting, last], 1.0 - _BELOW_ONE
    )  # tau(k - 1) / tau(k) - 1
    brought = np.where(coupons[getting] <= gains.shape[1], gains[getting, last] + missed @ slope, 0.0)
    return float(brought.min(initial=np.inf))


def reasons_of(facts: Facts) -> list[Reason]:
    """A reason for each kind of people, also for those who get nothing."""
    middle = float(np.median(np.repeat(facts.chance, facts.number)))
    return [_reason(facts, kind, _compared(facts, kind, middle)) for kind in range(len(facts.coupons))]


def reason_for_one(facts: Facts) -> Reason:
    """The reason for a person who is planned alone, and so is not compared with others."""
    return _reason(facts, 0, Reason(ReasonCode.ALONE))


def _compared(facts: Facts, kind: int, middle: float) -> Reason:
    """How likely these people are to bring somebody, compared with the others, and what sets them apart."""
    chance = float(facts.chance[kind])
    if abs(chance - middle) <= _ABOUT_AS_LIKELY * middle:
        return Reason(ReasonCode.AS_LIKELY)
    field, category = facts.answers[kind] or (None, None)
    code = ReasonCode.MORE_LIKELY if chance > middle else ReasonCode.LESS_LIKELY
    return Reason(code, field=field, category=category)


def _reason(facts: Facts, kind: int, compared: Reason) -> Reason:
    coupons, next_gain = int(facts.coupons[kind]), float(facts.next_gain[kind])
    limit, twin = _limit(facts, coupons), bool(facts.twin_has_more[kind])
    beyond = facts.most_shown is not None and coupons > facts.most_shown
    reason = replace(
        compared,
        coupons=coupons,
        chance=round(float(facts.chance[kind]), 4),
        limit=limit,
        most_shown=facts.most_shown if beyond else None,
    )
    if limit is Limit.PERSON:
        return reason
    all_given = limit in (Limit.ROUND, Limit.BUDGET) and bool(facts.coupons.any())
    return replace(
        reason,
        next_gain=round(next_gain, 4),
        weakest=round(facts.weakest, 4) if all_given and not twin else None,
        is_minimum=0 < coupons == facts.least and (next_gain < facts.weakest or bool(facts.inside_block[kind])),
        twin_has_more=twin,
    )


def _limit(facts: Facts, coupons: int) -> Limit:
    if coupons == facts.most:
        return Limit.PERSON
    if facts.kept and not facts.at_round_cap:
        return Limit.NO_GAIN if facts.last_round else Limit.LATER
    return Limit.ROUND if facts.at_round_cap and facts.kept else Limit.BUDGET


def _twins(covariates: NDArray[np.int16], coupons: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether somebody with the same answers got more, for each row."""
    kinds = kinds_of(covariates)
    most = np.zeros(len(kinds.number), dtype=np.int64)
    np.maximum.at(most, kinds.kind, coupons)
    more: NDArray[np.bool_] = coupons < most[kinds.kind]
    return more


def _strongest_answers(
    planner: Planner, covariates: Codes, number_alike: NDArray[np.int64], chance: Array
) -> list[tuple[str, str] | None]:
    """For each kind, the field and category that best explain why its chance differs from the others'."""
    people, fields = covariates.shape
    moved = np.zeros((people, fields))
    for number in range(fields):
        answered = covariates[:, number] >= 0
        codes, code_of = np.unique(covariates[answered, number], return_inverse=True)
        counts = np.bincount(code_of.reshape(-1), weights=number_alike[answered])
        if len(codes) < 2:
            continue
        average = sum(
            share * chance_if(planner, covariates, number, int(code))
            for code, share in zip(codes, counts / counts.sum(), strict=True)
        )
        moved[:, number] = np.where(covariates[:, number] >= 0, chance - average, 0.0)
    middle = np.median(np.repeat(chance, number_alike))
    apart = moved * np.where(chance > middle, 1.0, -1.0)[:, None]
    strongest = apart.argmax(axis=1)
    answers: list[tuple[str, str] | None] = []
    for person, number in enumerate(strongest.tolist()):
        field = planner.schema.fields[number]
        large = apart[person, number] >= MIN_EFFECT_TO_MENTION
        answers.append((field.name, field.categories[covariates[person, number]]) if large else None)
    return answers


def chance_if(planner: Planner, people: Codes, field: int, code: int) -> Array:
    """The chance that a first coupon is used if everybody had this category, averaged over the stories, [people]."""
    changed = people.copy()
    changed[:, field] = code
    return planner.gains(changed, 1)[:, 0]
