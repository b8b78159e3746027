"""A certificate for every plan: no policy whatever can expect more than this from a state.

Four upper bounds on the discounted recruits of any policy, of which the tightest is reported:

- **budget** (`budget_bounds`): a recruit costs a coupon, early ones count most; caps limit how many there can be in a
  round;
- **clairvoyant** (`clairvoyant_bound`): what somebody would earn who knew in advance whom everybody can bring;
- **price** (`price_index`): the budget priced instead of limited, min over m of m * r + sum_i J(x_i, m);
- **lookahead** (`lookahead`): the price of later coupons depends on how the next round or two turn out.

All of them are statements about a capacity and an offspring model: with the true ones a fact about the world, with
learned ones a model-based certificate. How sure the reported number is, `Certificate.proof` says:

- *exact*: proved, up to rounding (budget; price from a table with given transition probabilities, or one round left);
- *statistical*: the number is a mean of samples whose expectation is proved to be a bound (clairvoyant; lookahead from
  an exact table; price from any index, audited), so `high` is a bound but for chance;
- *estimated*: a fitted number (price from a network, scaled by what a check at held-out people found, or from a table
  with sampled transitions).

**The clairvoyant bound.** Give everybody all the coupons they can use and the referral tree grows by itself; its levels
Z_1, Z_2, ... are a matter of luck alone. Whatever a policy does with the same luck, its recruits of round t are among
Z_{t+1}, at most r in total (a recruit costs a coupon) and at most a round's cap in one round. Rewards only fall with
time, so the best that these limits allow takes recruits as early as it can:

    E[sum over t of gamma^t * n_t],    n_t = min(Z_{t+1}, what is left of r, the round's cap).

Caps per person hold in the tree too. Without a cap per round the bound is exact where capacities are certain; it is
good at gamma = 1, where a wasted coupon is all that can go wrong, and loose where chance decides. It is estimated by
growing trees, each only until it holds r people. A round's cap can leave a tree growing while few of it are taken: once
a level has `_SATURATED_FACTOR` times more people than r, later levels count as full, which can only raise the bound.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck, fold
from peerfront.foundation.settings import checked_discount, whole_number
from peerfront.gfp.states import StateBatch
from peerfront.problem import OffspringModel, ResponseModel, Rules

Array = NDArray[np.float64]
BOUNDS = ("budget", "clairvoyant", "price", "lookahead")
_INTERVAL_ERRORS = 2.0  # standard errors on either side of an interval
_SATURATED_FACTOR = 4
_TREES_AT_ONCE = 4000
_NO_LIMIT = 1 << 40


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and how far off chance may have put it."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, sample: Array) -> "Estimate":
        error = float(sample.std(ddof=1) / np.sqrt(len(sample))) if len(sample) > 1 else np.inf
        return cls(float(sample.mean()), error)


@dataclass(frozen=True, slots=True)
class Caps:
    """Most coupons per person and per round; None for no cap."""

    per_person: int | None = None
    per_round: int | None = None

    @classmethod
    def of(cls, rules: Rules) -> "Caps":
        return cls(rules.max_per_person, rules.max_per_round)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The tightest bound of a state, and how sure it is."""

    bound: float
    which: str
    """budget, clairvoyant, price or lookahead."""
    price: float
    """What one more coupon can be worth at most, about: the price that balances demand and budget."""
    standard_error: float
    proof: str
    """exact, statistical or estimated."""
    budget_bound: float
    explanation: str

    @property
    def low(self) -> float:
        return max(self.bound - _INTERVAL_ERRORS * self.standard_error, 0.0)

    @property
    def high(self) -> float:
        """Two standard errors above, never more than the budget allows."""
        return min(self.bound + _INTERVAL_ERRORS * self.standard_error, self.budget_bound)

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
            _explanation(bound, which, price, error, proof),
        )


def _explanation(bound: float, which: str, price: float, error: float, proof: str) -> str:
    reason = {
        "budget": "one coupon brings at most one recruit, so the coupons and caps alone set this limit",
        "clairvoyant": "even knowing in advance whom everybody can bring, one could not expect more",
        "price": f"even if coupons were unlimited at {price:.2f} recruits each, and {price:.2f} paid back for every "
        "coupon of the budget, one could not expect more",
        "lookahead": "even if coupons could be bought and sold after this round, at a fair price that depends on how "
        "it went, one could not expect more",
    }[which]
    margin = f"give or take {_INTERVAL_ERRORS * error:.2g}"
    surety = {
        "exact": "This is proved for the models used.",
        "statistical": f"It is a mean over samples, {margin}; what it averages to is proved.",
        "estimated": f"It is estimated, {margin} for what was measured, not proved."
        if error
        else "It is estimated, not proved, and nothing was measured of its error.",
    }[proof]
    return f"No policy can expect more than {bound:.1f} discounted recruits from here: {reason}. {surety}"


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


def clairvoyant_bound(
    response: ResponseModel,
    offspring: OffspringModel,
    frontier: Codes,
    budget: int,
    discount: float,
    rounds: int,
    luck: Luck,
    samples: int = 400,
    caps: Caps | None = None,
) -> Estimate:
    """The bound of one state, by `samples` trees; `luck` has one row."""
    first = np.array([0, len(frontier)])
    states = StateBatch(np.array([whole_number("budget", budget, 0)]), first, frontier)
    returns = clairvoyant_returns(response, offspring, states, discount, rounds, luck, samples, caps)
    return Estimate.of(returns[0])


def clairvoyant_returns(
    response: ResponseModel,
    offspring: OffspringModel,
    states: StateBatch,
    discount: float,
    rounds: int,
    luck: Luck,
    samples: int,
    caps: Caps | None = None,
) -> Array:
    """What the clairvoyant earns in each of `samples` trees of each state, [states, samples]; a luck per state."""
    discount = checked_discount(discount)
    rounds, samples = whole_number("rounds", rounds, 0), whole_number("samples", samples, 1)
    limits = caps or Caps()
    returns = np.zeros(len(states) * samples)
    state = np.repeat(np.arange(len(states)), samples)
    keys = fold(luck.keys[state], np.tile(np.arange(samples), len(states)))
    for start in range(0, len(returns), _TREES_AT_ONCE):
        part = slice(start, start + _TREES_AT_ONCE)
        trees = _Trees(states.take(state[part]), Luck(keys[part]))
        returns[part] = trees.grown(response, offspring, discount, rounds, limits)
    return returns.reshape(len(states), samples)


class _Trees:
    """Referral trees that grow in lock step, the living ones of them."""

    def __init__(self, roots: StateBatch, luck: Luck) -> None:
        self.left = roots.budgets.copy()  # [trees], people the tree may still take
        self.tree = roots.owner  # [people of the last level]
        self.covariates = roots.covariates
        self.keys = fold(luck.keys[self.tree], np.arange(len(self.tree)) - roots.first[self.tree])

    def grown(
        self, response: ResponseModel, offspring: OffspringModel, discount: float, rounds: int, caps: Caps
    ) -> Array:
        budgets, count = self.left.copy(), len(self.left)
        total = np.zeros(count)
        per_round = _NO_LIMIT if caps.per_round is None else caps.per_round
        full = np.zeros(count, dtype=bool)  # trees of plenty, which no longer need to be grown
        for number in range(rounds):
            # More than makes a tree one of plenty need not be told apart.
            most = _SATURATED_FACTOR * budgets[self.tree] + 1
            if caps.per_person is not None:
                most = np.minimum(most, caps.per_person)
            brought = response.sample(self.covariates, most, Luck(self.keys))
            level = np.bincount(self.tree, weights=brought, minlength=count).astype(np.int64)
            level[full] = _NO_LIMIT
            taken = np.minimum(np.minimum(level, self.left), per_round)
            total += discount**number * taken
            self.left -= taken
            full |= level > _SATURATED_FACTOR * budgets
            grows = (self.left > 0) & ~full
            if not (full & (self.left > 0)).any() and not (grows & (level > 0)).any():
                break
            self._descend(np.where(grows[self.tree], brought, 0), offspring)
        return total

    def _descend(self, brought: NDArray[np.int64], offspring: OffspringModel) -> None:
        parent = np.repeat(np.arange(len(brought)), brought)
        ordinals = np.arange(len(parent)) - (np.cumsum(brought) - brought)[parent]
        self.keys = fold(self.keys[parent], ordinals)
        self.tree = self.tree[parent]
        self.covariates = offspring.sample(self.covariates[parent], Luck(self.keys))
