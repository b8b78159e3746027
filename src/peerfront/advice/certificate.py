"""How far from the best possible a sheet can be: the price bound for a study that ends.

`bounds.price_index` explains the price relaxation: with a price m on every coupon instead of a limit on their number,

    D(m) = m * r + sum_i J_T(x_i, m),    J_t(x, m) = sum_l max(0, p_x(l) * (1 + gamma * A_{t-1}(x, m)) - m),

bounds every policy, where A_t(x, m) = E[J_t(recruit of x, m / gamma)] and A_0 = 0; a limit of this round adds a price
of its own. With few rounds the recursion is short, so A_1 .. A_{T-2} are ridge regressions on what the planner's
networks see of a person, one after another, each on sampled recruits of people met over the generations; A_{T-1} of the
people on the frontier comes from fresh recruits. This knows the deadline, is tight at a discount of 1 where the index
for any number of rounds is not, and takes a second. Regressions are not proofs: with more than two rounds left the
bound is *estimated*. The clairvoyant bound and that of the budget stand beside it, and the smallest is taken. All of
them are statements about the fitted models.
"""

import numpy as np
from numpy.typing import NDArray

from peerfront.artifacts import Fit
from peerfront.bounds.certificate import Caps, Certificate, Estimate, budget_bounds, clairvoyant_bound
from peerfront.bounds.surplus import Chances, chances_that_matter
from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.problem import State
from peerfront.value.states import StateBatch, generations, sampled_recruits

Array = NDArray[np.float64]
_PRICES = np.concatenate([np.geomspace(0.01, 0.1, 8, endpoint=False), np.linspace(0.1, 1.0, 61)])
_LEARNED_FROM = 1500  # people the regressions are fitted to
_CHILDREN, _FRESH_CHILDREN = 12, 64  # sampled recruits of each: for the regressions, and of the frontier
_FRESH_PEOPLE = 1000  # larger frontiers are judged by regression alone
_TREES, _FEWEST_TREES, _TREE_PEOPLE = 400, 20, 200_000
_RIDGE = 1e-3
_NAME = "certificate of a sheet"


def certify_sheet(fit: Fit, state: State) -> Certificate | None:
    """Find the tightest of three bounds; None where there is nothing to bound. The same state, the same certificate."""
    if state.is_terminal:
        return None
    codes, caps = state.frontier.covariates, Caps.of(state.rules)
    rounds, budget = state.rounds_left, state.remaining_budget
    alone = StateBatch(np.array([budget]), np.array([0, len(codes)]), codes)
    most = float(budget_bounds(alone, fit.discount, rounds, caps)[0])
    priced, price = price_bound(fit, state)
    bounds = {"budget": Estimate(most, 0.0), "price": priced}
    trees = min(_TREE_PEOPLE // (len(codes) + budget), _TREES)
    if trees >= _FEWEST_TREES:  # larger states would take long, and the price is tighter there anyway
        luck = named_luck((_NAME, "trees"), 1)
        bounds["clairvoyant"] = clairvoyant_bound(
            fit.capacity, fit.offspring, codes, budget, fit.discount, rounds, luck, trees, caps
        )
    which, best = min(bounds.items(), key=lambda each: each[1].mean)
    proof = {"budget": "exact", "clairvoyant": "statistical", "price": _proof(rounds)}[which]
    return Certificate(best.mean, which, price, best.standard_error, proof, most, _WORDS[which])


_WORDS = {
    "budget": "a coupon brings at most one recruit, so coupons and limits alone allow no more",
    "clairvoyant": "even somebody who knew in advance whom everybody brings could not expect more",
    "price": "even if coupons could be bought and sold at one fair price, nobody could expect more",
}


def price_bound(fit: Fit, state: State) -> tuple[Estimate, float]:
    """The smallest D over prices, with the error that sampled recruits leave, and its price."""
    codes, rounds, budget = state.frontier.covariates, state.rounds_left, state.remaining_budget
    most = state.most_per_person
    later = _later_values(fit, codes, rounds, most)
    if rounds == 1:
        worth = np.ones((1, len(codes), len(_PRICES)))
    elif len(codes) <= _FRESH_PEOPLE:
        luck = named_luck((_NAME, "fresh"), len(codes))
        worth = 1.0 + fit.discount * _from_children(fit, codes, later, rounds - 1, most, _FRESH_CHILDREN, luck)
        # Halves: the price is chosen by one and judged by the other, because the smallest of noisy sums is too small.
        halves = [worth[:, : _FRESH_CHILDREN // 2].mean(axis=1), worth[:, _FRESH_CHILDREN // 2 :].mean(axis=1)]
        worth = np.stack(halves)
    else:
        worth = 1.0 + fit.discount * later(rounds - 1, codes)[None]
    chances = _chances(fit, codes, most, rounds)
    duals = np.stack([_duals(chances, each, budget, state.rules.max_per_round) for each in worth])
    now, price = np.unravel_index(int(duals[0].argmin()), duals.shape[1:])
    both = duals[:, now, price]
    error = abs(float(both[0] - both[-1])) / 2.0
    return Estimate(float(both.mean()), error), float(_PRICES[price])


def _duals(chances: Chances, worth: Array, budget: int, cap: int | None) -> Array:
    """D for every price of this round (rows) and of the later ones (columns), [1 or prices, prices].

    Where this round has a limit, its coupons may cost more than m: q - m for each of them, paid back for `cap` coupons.
    """
    if cap is None or cap >= budget:
        alone: Array = budget * _PRICES + chances.surplus(worth, _PRICES).sum(axis=0)
        return alone[None]
    duals = np.full((len(_PRICES), len(_PRICES)), np.inf)
    for row, now in enumerate(_PRICES):
        later = now >= _PRICES
        paid_back = budget * _PRICES[later] + cap * (now - _PRICES[later])
        each = np.ascontiguousarray(worth[:, later])
        duals[row, later] = paid_back + chances.surplus(each, np.full(later.sum(), now)).sum(axis=0)
    return duals


class _LaterValues:
    """A_t(x, m) at the grid of prices, for t = 1, 2, ...: [inputs, prices] coefficients each."""

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        self.coefficients: list[Array] = []

    def __call__(self, rounds: int, people: Codes) -> Array:
        if rounds == 0:
            return np.zeros((len(people), len(_PRICES)))
        values: Array = np.maximum(self.inputs(people) @ self.coefficients[rounds - 1], 0.0)
        return values

    def inputs(self, people: Codes) -> Array:
        rows = self.fit.planner.surrogate.inputs.rows(people).astype(np.float64)
        return np.concatenate([np.ones((len(people), 1)), rows], axis=1)


def _later_values(fit: Fit, codes: Codes, rounds: int, most: int) -> _LaterValues:
    later = _LaterValues(fit)
    if rounds < 3 and len(codes) <= _FRESH_PEOPLE:
        return later  # fresh recruits of the frontier are enough
    people = generations(fit.capacity, fit.offspring, codes[:_LEARNED_FROM], _LEARNED_FROM, 0)
    inputs = later.inputs(people)
    gram = inputs.T @ inputs + _RIDGE * len(people) * np.eye(inputs.shape[1])
    for number in range(1, rounds):
        luck = named_luck((_NAME, "recruits", number), len(people))
        targets = _from_children(fit, people, later, number, most, _CHILDREN, luck).mean(axis=1)
        later.coefficients.append(np.linalg.solve(gram, inputs.T @ targets))
    return later


def _from_children(
    fit: Fit, people: Codes, later: _LaterValues, rounds: int, most: int, each: int, luck: Luck
) -> Array:
    """J_t(recruit, m / gamma) of `each` recruits of everybody, [people, each, prices]; they have `rounds` = t left."""
    children, _ = sampled_recruits(fit.offspring, people, each, luck)
    prices = np.minimum(_PRICES / fit.discount, 1.0)  # from price 1 on nobody is worth anything
    beyond = later(rounds - 1, children)
    if fit.discount < 1.0:  # A falls and is convex in the price, so a line between two prices lies above it
        beyond = np.stack([np.interp(prices, _PRICES, row) for row in beyond])
    worth = _chances(fit, children, most, rounds).surplus(1.0 + fit.discount * beyond, prices)
    return worth.reshape(len(people), each, len(_PRICES))


def _chances(fit: Fit, people: Codes, most: int, rounds: int) -> Chances:
    return chances_that_matter(fit.capacity, people, most, float(_PRICES[0]), float(rounds * max(most, 1)))


def _proof(rounds: int) -> str:
    return "exact" if rounds == 1 else "statistical" if rounds == 2 else "estimated"
