"""Why each person gets that many coupons: one or two sentences, made of facts of the plan.

People with the same answers and the same number of coupons share their sentences. In a large file they are counted by
kind, so that a million people need no more work than the kinds among them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Kinds, kinds_of
from peerfront.foundation.words import n_coupons, ordinal, percent
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.planner import Plan, Planner
from peerfront.study.artifacts import Fit
from peerfront.study.orders import Task

MIN_EFFECT_TO_MENTION = 0.03
"""Texts name a field only if it moves the chance that a coupon is used by at least this much."""
_ABOUT_AS_LIKELY = 0.05  # chances within this share of the median are "about as likely"
_MOST_ONE_BY_ONE = 20_000  # people up to whom everybody is looked at, alike or not
_BELOW_ONE, _ABOVE_ZERO = 1.0 - 1e-12, 1e-300  # keep logarithms and quotients finite


def alike(covariates: Codes, coupons: NDArray[np.int64]) -> Kinds:
    """People by what their sentences depend on: answers and, in the last column of `rows`, coupons.

    In a small file everybody is a kind of their own.
    """
    together = np.column_stack([covariates.astype(np.int64), coupons])
    if len(coupons) > _MOST_ONE_BY_ONE:
        return kinds_of(together)
    return Kinds(together, np.arange(len(coupons)), np.ones(len(coupons), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Facts:
    """What the sentences say of people who are alike."""

    number: NDArray[np.int64]  # [kinds], people of each kind
    coupons: NDArray[np.int64]  # [kinds], of each of them
    chance: Array  # [kinds], that a first coupon is used
    later: Array  # [kinds], expected recruits of later rounds from these coupons
    next_chance: Array  # [kinds], that one more coupon would be used
    next_gain: Array  # [kinds], recruits in all that one more coupon would bring
    twin_has_more: NDArray[np.bool_]  # [kinds], somebody with the same answers got more
    answers: list[str]  # [kinds], the answer that moves the chance most; "" if none does by much
    weakest: float
    """What the weakest coupon on the sheet brings in all."""
    most: int
    least: int
    kept: int
    """Coupons to plan with that stay unspent this round."""
    at_round_cap: bool
    last_round: bool
    shown: int | None
    """The most coupons that the study shows anything about; None if that is not known."""

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
        # What is covered together is shared by how much each covers alone: people alike are worth alike.
        later = (shares / np.maximum(covered, _ABOVE_ZERO)) @ (worth * (1.0 - left))
        level = np.minimum(coupons, levels - 1)
        more = coupons < levels
        next_chance = np.where(more, gains[everybody, level], 0.0)
        next_later = np.where(more, covers[everybody, level] @ (worth * left), 0.0)
        return cls(
            number=number,
            coupons=coupons,
            chance=gains[:, 0],
            later=later,
            next_chance=next_chance,
            next_gain=next_chance + next_later,
            twin_has_more=_twins(covariates, coupons),
            answers=_strongest_answers(planner, covariates, number, gains[:, 0]),
            weakest=_weakest(plan, coupons, gains, covers, worth * left),
            most=state.most_per_person,
            least=task.order.min_per_person,
            kept=state.remaining_budget - plan.spend,
            at_round_cap=state.rules.max_per_round is not None and plan.spend == state.rules.max_per_round,
            last_round=state.rounds_left == 1,
            shown=fit.most_shown,
        )


def _weakest(plan: Plan, coupons: NDArray[np.int64], gains: Array, covers: Array, slope: Array) -> float:
    """What the weakest coupon brings in all. By price there is no last coupon: the one that would be missed least."""
    if plan.bound is None:
        return float((plan.now + plan.later).min(initial=np.inf))
    getting = np.flatnonzero(coupons)
    last = np.minimum(coupons[getting], gains.shape[1]) - 1
    missed = covers[getting, last] / np.maximum(
        1.0 - covers[getting, last], 1.0 - _BELOW_ONE
    )  # tau(k - 1) / tau(k) - 1
    brought = np.where(coupons[getting] <= gains.shape[1], gains[getting, last] + missed @ slope, 0.0)
    return float(brought.min(initial=np.inf))


def reasons_of(facts: Facts) -> list[str]:
    """A reason for each kind of people, also for those who get nothing."""
    middle = float(np.median(np.repeat(facts.chance, facts.number)))
    return [_reason(facts, person, middle) for person in range(len(facts.coupons))]


def reason_for_one(facts: Facts) -> str:
    """The reason for somebody who is planned alone, and so is compared with nobody."""
    chance = percent(float(facts.chance[0]))
    return f"{chance} likely to bring somebody with one coupon. {_why_not_more(facts, 0)}{_beyond(facts, 0)}"


def _reason(facts: Facts, person: int, middle: float) -> str:
    return f"{_who(facts, person, middle)} {_why_not_more(facts, person)}{_beyond(facts, person)}"


def _beyond(facts: Facts, person: int) -> str:
    """Say so where somebody gets more coupons than the study shows anything about."""
    if facts.shown is None or facts.coupons[person] <= facts.shown:
        return ""
    return f" What coupons after the {ordinal(facts.shown)} do is extrapolated: hardly anybody has had more."


def _who(facts: Facts, person: int, middle: float) -> str:
    chance = float(facts.chance[person])
    if abs(chance - middle) <= _ABOUT_AS_LIKELY * middle:
        return f"About as likely as others here to bring somebody ({percent(chance)} with one coupon)."
    answer = facts.answers[person]
    because = f", above all because {answer}" if answer else ""
    side = "More" if chance > middle else "Less"
    return f"{side} likely than most here to bring somebody ({percent(chance)} with one coupon){because}."


def _why_not_more(facts: Facts, person: int) -> str:
    coupons = int(facts.coupons[person])
    if coupons == facts.most:
        return f"Gets {'the one coupon' if coupons == 1 else f'all {coupons}'} a person may have."
    least = coupons > 0 and coupons == facts.least and bool(facts.next_gain[person] < facts.weakest)
    given = f"Gets the {n_coupons(coupons)} that everybody gets. " if least else ""
    one_more = (
        f"A {ordinal(coupons + 1)} coupon would bring {facts.next_gain[person]:.2f} recruits in all "
        f"({percent(float(facts.next_chance[person]))} chance of use)"
    )
    twin = facts.twin_has_more[person]
    if facts.kept and not facts.at_round_cap:
        if facts.last_round:
            return f"{given}{one_more}."
        end = "kept for a later round it brings more"
    else:
        end = "the round's limit is reached" if facts.at_round_cap and facts.kept else "no coupons are left"
        end += (
            "" if twin or not facts.coupons.any() else f", and those given out bring {facts.weakest:.2f} or more each"
        )
    return f"{given}{one_more}; {end}." + (_TWIN if twin else "")


_TWIN = " Somebody with the same answers gets more."


def _twins(covariates: NDArray[np.int16], coupons: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether somebody with the same answers got more, for each row."""
    kinds = kinds_of(covariates)
    most = np.zeros(len(kinds.number), dtype=np.int64)
    np.maximum.at(most, kinds.kind, coupons)
    more: NDArray[np.bool_] = coupons < most[kinds.kind]
    return more


def _strongest_answers(
    planner: Planner, covariates: Codes, number_alike: NDArray[np.int64], chance: Array
) -> list[str]:
    """For each kind the answer that most explains why their chance differs from the others' here."""
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
    answers = []
    for person, number in enumerate(strongest.tolist()):
        field = planner.schema.fields[number]
        large = apart[person, number] >= MIN_EFFECT_TO_MENTION
        answers.append(f"{field.name} is {field.categories[covariates[person, number]]!r}" if large else "")
    return answers


def chance_if(planner: Planner, people: Codes, field: int, code: int) -> Array:
    """The chance that a first coupon is used if everybody had this category, averaged over the stories, [people]."""
    changed = people.copy()
    changed[:, field] = code
    return planner.gains(changed, 1)[:, 0]
