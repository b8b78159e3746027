"""A certificate for every plan: no policy whatever can expect more than this from a state.

Three upper bounds on the discounted recruits of any policy, of which the tightest is reported:

- **budget**: a recruit costs a coupon, early ones count most; caps limit how many there can be in a round;
- **clairvoyant** (`clairvoyant`): capacities and recruits known in advance, estimated by growing referral trees;
- **price** (`price_index`): the budget priced instead of limited, min over m of m * r + sum_i J(x_i, m).

All of them are statements about a capacity and an offspring model: with the true ones a fact about the world, with
learned ones a model-based certificate. How sure the reported number is, `Certificate.proof` says:

- *exact*: proved, up to rounding (budget; price from a table with given transition probabilities, or one round left);
- *statistical*: the number is a mean of samples whose expectation is proved to be a bound (clairvoyant; price from any
  index, audited), so `high` is a bound but for chance;
- *estimated*: a fitted number (price from a network, scaled by what a check at held-out people found, or from a table
  with sampled transitions).

Which bound is reported is decided before the samples behind the reported number are drawn (the price by the fitted
index, the clairvoyant's first half of trees), because the smaller of two noisy bounds is no bound. A network counts
only at prices it was checked at, unless no trees are grown.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.bounds.clairvoyant import Caps, Estimate, clairvoyant_returns
from peerfront.bounds.dual import smallest_duals
from peerfront.bounds.price_audit import auditable_price, audited_duals
from peerfront.bounds.price_index import PriceIndex
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import whole_number
from peerfront.problem import CapacityModel, OffspringModel, Rules, State
from peerfront.value.states import StateBatch

Array = NDArray[np.float64]
BOUNDS = ("budget", "clairvoyant", "price")
_ERRORS = 2.0  # standard errors of an interval
_CLAIRVOYANT_LUCK, _AUDIT_LUCK = 1 << 40, 1 << 41  # branches of a state's luck, far above any number of people


@dataclass(frozen=True, slots=True)
class Certificate:
    """The tightest bound of a state, and how sure it is."""

    bound: float
    which: str
    """budget, clairvoyant or price."""
    price: float
    """What one more coupon can be worth at most, about: the price that balances demand and budget."""
    standard_error: float
    proof: str
    """exact, statistical or estimated."""
    budget_bound: float
    explanation: str

    @property
    def low(self) -> float:
        return max(self.bound - _ERRORS * self.standard_error, 0.0)

    @property
    def high(self) -> float:
        """Two standard errors above, never more than the budget allows."""
        return min(self.bound + _ERRORS * self.standard_error, self.budget_bound)

    def shortfall(self, expected: float) -> float:
        """How far a plan that expects this much can be from the best possible, as a share of it: within 3% is .03."""
        return max(1.0 - expected / self.high, 0.0) if self.high > 0.0 else 0.0

    def verdict(self, expected: float) -> str:
        """The same in words."""
        return f"This plan expects {expected:.1f}: within {self.shortfall(expected):.1%} of the best possible."


@dataclass(frozen=True, eq=False)
class Certificates:
    """Certificates of many states."""

    bounds: Array  # [states]
    which: NDArray[np.str_]  # [states]
    prices: Array  # [states]
    standard_errors: Array  # [states]
    proofs: NDArray[np.str_]  # [states]
    budget_bounds: Array  # [states]
    shared_errors: Array  # [states], the part of the error that states have in common (a network's check)

    def __len__(self) -> int:
        return len(self.bounds)

    @property
    def mean(self) -> Estimate:
        """The mean bound over the states and the error chance leaves in it (not the spread of the states)."""
        own = np.sqrt(np.square(self.standard_errors).sum()) / len(self)
        return Estimate(float(self.bounds.mean()), float(np.hypot(own, self.shared_errors.mean())))

    def row(self, state: int) -> Certificate:
        error = float(np.hypot(self.standard_errors[state], self.shared_errors[state]))
        which, proof = str(self.which[state]), str(self.proofs[state])
        bound, price = float(self.bounds[state]), float(self.prices[state])
        return Certificate(
            bound,
            which,
            price,
            error,
            proof,
            float(self.budget_bounds[state]),
            _words(bound, which, price, error, proof),
        )


def certify(
    state: State,
    price_index: PriceIndex,
    capacity: CapacityModel,
    offspring: OffspringModel,
    luck: Luck,
    *,
    samples: int = 400,
    audits: int = 16,
) -> Certificate:
    """The certificate of one state; `luck` has one row. See `certify_many` for `samples` and `audits`."""
    codes = state.frontier.covariates
    states = StateBatch(np.array([state.remaining_budget]), np.array([0, len(codes)]), codes)
    made = certify_many(
        states, price_index, capacity, offspring, luck,
        rules=state.rules, rounds_left=state.rounds_left, samples=samples, audits=audits,
    )  # fmt: skip
    return made.row(0)


def certify_many(
    states: StateBatch,
    price_index: PriceIndex,
    capacity: CapacityModel,
    offspring: OffspringModel,
    luck: Luck,
    *,
    rules: Rules | None = None,
    rounds_left: int | None = None,
    samples: int = 20,
    audits: int = 0,
) -> Certificates:
    """Certificates of states with the same rules and rounds left (None: all of the rules'); a row of luck per state.

    `samples` trees per state estimate the clairvoyant bound (half of them only to choose); 0 leaves it out. With
    `audits` nested samples per person (0.1 to 1 s a state) a price bound that comes from a network is proved but for
    chance; with 0 it is what the network says, scaled by its check, in bulk and at once.
    """
    whole_number("samples", samples, 0)
    whole_number("audits", audits, 0)
    chosen_rules = rules or Rules()
    left = chosen_rules.rounds if rounds_left is None else rounds_left
    discount, caps = price_index.discount, Caps.of(chosen_rules)
    budget = budget_bounds(states, discount, left, caps)
    audited = audits > 0 and left > 1 and price_index.kind != "table"
    floor = auditable_price(price_index) if audited else 0.0
    duals = smallest_duals(price_index, states, left, caps.per_person, floor)
    check = price_index.check if left > 1 else None
    checked = duals.prices >= (np.inf if check is None else check.lowest_price)
    priced = duals.bounds * np.where(checked, 1.0 if check is None else check.factor, 1.0)
    seen = np.full(len(states), np.inf)
    trees = np.zeros((len(states), 0))
    if samples:
        branch = luck.members(np.full(len(states), _CLAIRVOYANT_LUCK))
        both = max(samples, 4)  # two to choose by, two for a standard error
        trees = clairvoyant_returns(capacity, offspring, states, discount, left, branch, both, caps)
        first, trees = trees[:, : both // 2], trees[:, both // 2 :]
        seen = first.mean(axis=1) + _standard_errors(first)  # a noisy bound has to be clearly better
    believed = checked | (price_index.kind != "network" or audited or left <= 1 or samples == 0)
    known = np.stack([budget, seen, np.where(believed, priced, np.inf)])
    # No tree ever holds more than the budget, so the clairvoyant wins ties with it: trees not yet seen may hold less.
    chosen = np.where(seen <= known.min(axis=0), 1, known.argmin(axis=0))

    bounds = np.where(chosen == 0, budget, priced)
    errors = np.zeros(len(states))
    proofs = np.where(chosen == 0, "exact", _proof(price_index, left)).astype("U11")
    by_trees = chosen == 1
    if by_trees.any():
        bounds[by_trees] = trees[by_trees].mean(axis=1)
        errors[by_trees] = _standard_errors(trees[by_trees])
        proofs[by_trees] = "statistical"
        always = by_trees & (errors == 0.0) & (bounds >= budget)
        chosen[always], proofs[always], bounds[always] = 0, "exact", budget[always]
    by_price = np.flatnonzero(chosen == 2)
    shared = np.zeros(len(states))
    if check is not None:
        scaled = (chosen == 2) & checked
        errors[scaled], shared[scaled] = np.outer([check.spread, check.standard_error], duals.bounds[scaled])
    if audited and len(by_price):
        branch = Luck(luck.keys[by_price]).members(np.full(len(by_price), _AUDIT_LUCK))
        found = audited_duals(
            price_index, offspring, states.take(by_price), duals.prices[by_price], branch, audits, caps.per_person
        )
        bounds[by_price], errors[by_price] = found.mean(axis=1), _standard_errors(found)
        shared[by_price], proofs[by_price] = 0.0, "statistical"
    return Certificates(bounds, np.array(BOUNDS)[chosen], duals.prices, errors, proofs, budget, shared)


def budget_bounds(states: StateBatch, discount: float, rounds_left: int, caps: Caps) -> Array:
    """The most recruits the rules alone allow, each as early as possible, [states]."""
    left = np.where(states.sizes > 0, states.budgets, 0)
    size = states.sizes.astype(np.float64)
    total = np.zeros(len(states))
    for number in range(rounds_left):
        most = left.astype(np.float64)
        if caps.per_person is not None:
            most = np.minimum(most, size * caps.per_person)
        if caps.per_round is not None:
            most = np.minimum(most, caps.per_round)
        total += discount**number * most
        left = left - most.astype(np.int64)
        size = most
        if not left.any() or not most.any():
            break
    return total


def _standard_errors(samples: Array) -> Array:
    """Of the mean of each row, [rows]."""
    if samples.shape[1] < 2:
        return np.full(len(samples), np.inf)
    errors: Array = samples.std(axis=1, ddof=1) / np.sqrt(samples.shape[1])
    return errors


def _proof(index: PriceIndex, rounds_left: int) -> str:
    return "exact" if index.kind == "table" or rounds_left <= 1 else "estimated"


def _words(bound: float, which: str, price: float, error: float, proof: str) -> str:
    reason = {
        "budget": "one coupon brings at most one recruit, so the coupons and caps alone set this limit",
        "clairvoyant": "even knowing in advance whom everybody can bring, one could not expect more",
        "price": f"even if coupons were unlimited at {price:.2f} recruits each, and {price:.2f} paid back for every "
        "coupon of the budget, one could not expect more",
    }[which]
    surety = {
        "exact": "This is proved for the models used.",
        "statistical": f"It is a mean over samples, give or take {_ERRORS * error:.2g}; what it averages to is proved.",
        "estimated": f"It is estimated, give or take {_ERRORS * error:.2g} for what was measured, not proved."
        if error
        else "It is estimated, not proved, and nothing was measured of its error.",
    }[proof]
    return f"No policy can expect more than {bound:.1f} discounted recruits from here: {reason}. {surety}"
