"""Certify states: compute the four bounds of `certificate` and report the tightest.

Which bound is reported is decided before the samples behind the reported number are drawn (the price by the fitted
index, the clairvoyant's first half of trees, the sample that the lookahead's price rule is chosen on), because the
smaller of two noisy bounds is no bound. A network counts only at prices it was checked at, unless no trees are grown.

The lookahead is for exact tables. With a network it would be no better proved than the price bound, which is already
tight where networks are needed: in the paper's world it is .2% lower at a discount of .9 and not lower at 1
(docs/results/bounds.md).
"""

import numpy as np

from peerfront.bounds.certificate import (
    BOUNDS,
    Array,
    Caps,
    Certificate,
    Certificates,
    budget_bounds,
    clairvoyant_returns,
)
from peerfront.bounds.dual import smallest_duals
from peerfront.bounds.lookahead import can_look_ahead, lookahead_bound
from peerfront.bounds.price_audit import auditable_price, audited_duals
from peerfront.bounds.price_index import PriceIndex
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import whole_number
from peerfront.gfp.states import StateBatch
from peerfront.problem import OffspringModel, ResponseModel, Rules, State

_CLAIRVOYANT_LUCK, _AUDIT_LUCK, _LOOKAHEAD_LUCK = (
    1 << 40,
    1 << 41,
    1 << 43,
)  # branches of a state's luck, far above any number of people


def certify(
    state: State,
    price_index: PriceIndex,
    response: ResponseModel,
    offspring: OffspringModel,
    luck: Luck,
    *,
    samples: int = 400,
    audits: int = 16,
    outcomes: int = 200,
) -> Certificate:
    """Certify one state; `luck` has one row. See `certify_many` for `samples`, `audits` and `outcomes`."""
    codes = state.frontier.covariates
    states = StateBatch(np.array([state.remaining_budget]), np.array([0, len(codes)]), codes)
    certificates = certify_many(
        states, price_index, response, offspring, luck,
        rules=state.rules, rounds_left=state.rounds_left, samples=samples, audits=audits, outcomes=outcomes,
    )  # fmt: skip
    return certificates.row(0)


def certify_many(
    states: StateBatch,
    price_index: PriceIndex,
    response: ResponseModel,
    offspring: OffspringModel,
    luck: Luck,
    *,
    rules: Rules | None = None,
    rounds_left: int | None = None,
    samples: int = 20,
    audits: int = 0,
    outcomes: int = 0,
) -> Certificates:
    """Certify states with the same rules and rounds left (None: all of the rules'); a row of luck per state.

    `samples` trees per state estimate the clairvoyant bound (half of them only to choose); 0 leaves it out. With
    `audits` nested samples per person (0.1 to 1 s a state) a price bound that comes from a network is proved but for
    chance; with 0 it is what the network says, scaled by its check, in bulk and at once. With `outcomes` sampled rounds
    per state (60: 0.1 s a state) the lookahead bound is tried where the index is an exact table.
    """
    samples, audits = whole_number("samples", samples, 0), whole_number("audits", audits, 0)
    outcomes = whole_number("outcomes", outcomes, 0)
    rules = rules or Rules()
    left = rules.rounds if rounds_left is None else rounds_left
    discount, caps = price_index.discount, Caps.of(rules)
    budget = budget_bounds(states, discount, left, caps)
    audited = audits > 0 and left > 1 and price_index.kind != "table"
    floor = auditable_price(price_index) if audited else 0.0
    duals = smallest_duals(price_index, states, left, caps.per_person, floor)
    check = price_index.check if left > 1 else None
    checked = duals.prices >= (np.inf if check is None else check.lowest_price)
    priced = duals.bounds * np.where(checked, 1.0 if check is None else check.factor, 1.0)
    clairvoyant = np.full(len(states), np.inf)
    trees = np.zeros((len(states), 0))
    if samples:
        branch = luck.members(np.full(len(states), _CLAIRVOYANT_LUCK))
        both = max(samples, 4)  # two to choose by, two for a standard error
        trees = clairvoyant_returns(response, offspring, states, discount, left, branch, both, caps)
        first, trees = trees[:, : both // 2], trees[:, both // 2 :]
        clairvoyant = first.mean(axis=1) + _standard_errors(first)  # a noisy bound has to be clearly better
    believed = checked | (price_index.kind != "network" or audited or left <= 1 or samples == 0)
    ahead = _Lookaheads(len(states))
    if outcomes and price_index.kind == "table":
        branch = luck.members(np.full(len(states), _LOOKAHEAD_LUCK))
        ahead.compute(states, price_index, offspring, branch, left, caps, outcomes)
    candidates = np.stack([budget, clairvoyant, np.where(believed, priced, np.inf), ahead.choice])
    # No tree ever holds more than the budget, so the clairvoyant wins ties with it: trees not yet grown may hold less.
    which = np.where(clairvoyant <= candidates.min(axis=0), 1, candidates.argmin(axis=0))

    bounds, prices = np.where(which == 0, budget, priced), duals.prices.copy()
    errors = np.zeros(len(states))
    proofs = np.where(which == 0, "exact", _proof(price_index, left)).astype("U11")
    by_trees = which == 1
    if by_trees.any():
        bounds[by_trees] = trees[by_trees].mean(axis=1)
        errors[by_trees] = _standard_errors(trees[by_trees])
        proofs[by_trees] = "statistical"
        always = by_trees & (errors == 0.0) & (bounds >= budget)
        which[always], proofs[always], bounds[always] = 0, "exact", budget[always]
    by_outcome = which == 3
    bounds[by_outcome], errors[by_outcome] = ahead.bounds[by_outcome], ahead.errors[by_outcome]
    prices[by_outcome], proofs[by_outcome] = ahead.prices[by_outcome], "statistical"
    by_price = np.flatnonzero(which == 2)
    shared = np.zeros(len(states))
    if check is not None:
        scaled = (which == 2) & checked
        errors[scaled], shared[scaled] = np.outer([check.spread, check.standard_error], duals.bounds[scaled])
    if audited and len(by_price):
        branch = Luck(luck.keys[by_price]).members(np.full(len(by_price), _AUDIT_LUCK))
        audited_bounds = audited_duals(
            price_index, offspring, states.take(by_price), duals.prices[by_price], branch, audits, caps.per_person
        )
        bounds[by_price], errors[by_price] = audited_bounds.mean(axis=1), _standard_errors(audited_bounds)
        shared[by_price], proofs[by_price] = 0.0, "statistical"
    return Certificates(bounds, np.array(BOUNDS)[which], prices, errors, proofs, budget, shared)


class _Lookaheads:
    """Lookahead bounds of some states: what they are chosen by, what is reported of them, and its errors."""

    def __init__(self, states: int) -> None:
        self.choice = np.full(states, np.inf)
        self.bounds, self.errors, self.prices = np.zeros(states), np.zeros(states), np.zeros(states)

    def compute(
        self,
        states: StateBatch,
        index: PriceIndex,
        offspring: OffspringModel,
        luck: Luck,
        rounds_left: int,
        caps: Caps,
        outcomes: int,
    ) -> None:
        for state in range(len(states)):
            codes = states.covariates[states.first[state] : states.first[state + 1]]
            budget = int(states.budgets[state])
            if not can_look_ahead(codes, budget, rounds_left):
                continue
            chosen, fresh = lookahead_bound(
                index, offspring, codes, budget, rounds_left, luck.row(state), caps, outcomes=outcomes
            )
            self.choice[state] = chosen.bound.mean + chosen.bound.standard_error
            self.bounds[state], self.errors[state] = fresh.bound.mean, fresh.bound.standard_error
            self.prices[state] = fresh.price


def _standard_errors(samples: Array) -> Array:
    """Of the mean of each row, [rows]."""
    if samples.shape[1] < 2:
        return np.full(len(samples), np.inf)
    errors: Array = samples.std(axis=1, ddof=1) / np.sqrt(samples.shape[1])
    return errors


def _proof(index: PriceIndex, rounds_left: int) -> str:
    return "exact" if index.kind == "table" or rounds_left <= 1 else "estimated"
