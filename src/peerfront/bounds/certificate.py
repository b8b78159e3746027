"""A certificate for every plan: no policy whatever can expect more than this from a state.

Four upper bounds on the discounted recruits of any policy, of which the smallest is reported:

- **budget** (`clairvoyant.budget_bound`): a recruit costs a coupon, early ones count most; caps limit how many there
  can be in a round;
- **clairvoyant** (`clairvoyant`): what somebody would earn who knew in advance whom everybody can bring;
- **price** (`dual.smallest_dual`): the budget priced instead of limited, min over m of m * r + sum_i J(x_i, m);
- **lookahead** (`lookahead`): the price of later coupons depends on how the next round or two turn out. Never above the
  price bound but for chance, and usually far below, so it is computed wherever the frontier is not large.

The last two need a price index, which is an exact table (`price_index`). Where no table holds it, there is no
lookahead, and the price bound comes from samples (`dual.sampled_dual`).

**Choice and evaluation.** The smallest of noisy numbers is too small on average, and no bound. So the price rule of the
lookahead and which of the four is reported are chosen by one set of samples, and the reported number and its standard
error come from another. All bounds are statements about a response and an offspring model: with the true ones a fact
about the world, with fitted ones a model-based certificate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.bounds.clairvoyant import Estimate, budget_bound, clairvoyant_returns
from peerfront.bounds.dual import sampled_dual, smallest_dual
from peerfront.bounds.lookahead import can_look_ahead, lookahead_bound
from peerfront.bounds.price_index import BoundSettings, PriceIndex, exact_price_index
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.blocks import majorants
from peerfront.problem import OffspringModel, ResponseModel, State

_INTERVAL_ERRORS = 2.0  # standard errors on either side of an interval
_FEWEST_TREES, _TREE_PEOPLE = 20, 200_000  # larger states would take long, and the price is tighter there anyway
_LOOKAHEAD_PEOPLE = 200
_NAME = "certificate of a sheet"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The tightest bound of a state, and how sure it is."""

    bound: float
    which: str
    """budget, price, clairvoyant or lookahead."""
    price: float | None
    """What one more coupon can be worth at most, about: the price that balances demand and budget; None where no price
    was tried."""
    standard_error: float
    budget_bound: float

    @property
    def proof(self) -> str:
        """Exact: proved, up to rounding. Statistical: a mean of samples whose expectation is proved to be a bound."""
        by_table = self.which == "price" and self.standard_error == 0.0
        return "exact" if self.which == "budget" or by_table else "statistical"

    @property
    def low(self) -> float:
        return max(self.bound - _INTERVAL_ERRORS * self.standard_error, 0.0)

    @property
    def high(self) -> float:
        """Two standard errors above, never more than the budget allows."""
        return min(self.bound + _INTERVAL_ERRORS * self.standard_error, self.budget_bound)


@dataclass(frozen=True)
class Effort:
    """Samples by which bounds are evaluated; as many, or half as many outcomes, choose before."""

    trees: int
    """Of the clairvoyant bound; 0 leaves it out."""
    outcomes: int
    """Sampled rounds of the lookahead bound; 0 leaves it out."""
    price_samples: int = 2
    """Of the price bound where there is no table; 0 leaves it out."""


THOROUGH = Effort(trees=400, outcomes=600, price_samples=20)
"""For one state: about half a second."""
SHARED = Effort(trees=100, outcomes=0, price_samples=6)
"""For one of several draws whose mean is of interest: no round is looked ahead, which takes most of the time and lowers
bounds little."""
QUICK = Effort(trees=10, outcomes=60)
"""For each of hundreds of states, whose mean is of interest: about .1 s."""


def certify_by_story(
    responses: Mapping[str, Sequence[ResponseModel]],
    offspring: OffspringModel,
    schema: Schema,
    discount: float,
    state: State,
) -> dict[str, Certificate]:
    """The certificate of a state by each story of what a coupon does; empty where there is nothing to bound.

    A story is several draws of what may be true. Whoever knew the draw could not expect more than its bound, so that
    nobody can expect more than the mean of the draws' bounds.
    """
    if state.is_terminal:
        return {}
    people, most = state.frontier.covariates, state.most_per_person
    certificates = {}
    for name, draws in responses.items():
        each = []
        for response in draws:
            concave = Concave(response)
            known = concave if concave.rises(people, most) else response
            each.append(certify(state, known, offspring, schema, discount, effort=SHARED))
        bound, least_sure = mean_bound(each), max(each, key=lambda certificate: certificate.standard_error)
        certificates[name] = replace(least_sure, bound=bound.mean, standard_error=bound.standard_error)
    return certificates


@dataclass(frozen=True, eq=False)
class Concave:
    """A response whose expected recruits are the least concave majorant: bounds for it are bounds for the response."""

    response: ResponseModel

    @property
    def columns_used(self) -> tuple[int, ...] | None:
        columns: tuple[int, ...] | None = getattr(self.response, "columns_used", None)
        return columns

    def rises(self, covariates: Codes, max_coupons: int) -> bool:
        """Whether some coupon brings more than the one before it."""
        gains = self.response.gains(covariates, max_coupons)
        return bool((np.diff(gains, axis=1) > 1e-12).any())

    def gains(self, covariates: Codes, max_coupons: int) -> Array:
        gains = self.response.gains(covariates, max_coupons)
        return majorants(Tables(gains, np.zeros((*gains.shape, 1))))[0].gains

    def covers(self, covariates: Codes, uncovered: Array, max_coupons: int) -> Array:
        return self.response.covers(covariates, uncovered, max_coupons)

    def counts(self, covariates: Codes, coupons: int) -> Array:
        return self.response.counts(covariates, coupons)

    def sample(self, covariates: Codes, coupons: NDArray[np.int64] | int, luck: Luck) -> NDArray[np.int64]:
        return self.response.sample(covariates, coupons, luck)


def certify(
    state: State,
    response: ResponseModel,
    offspring: OffspringModel,
    schema: Schema,
    discount: float,
    seed: int = 0,
    effort: Effort = THOROUGH,
) -> Certificate:
    """The tightest bound of a state by these models; another seed gives other samples."""
    settings = BoundSettings(max(state.remaining_budget, 1), max(state.most_per_person, 1))
    index = exact_price_index(response, offspring, schema, discount, state.rounds_left, settings)
    trees, rounds = (named_luck((_NAME, purpose, seed), 1) for purpose in ("trees", "lookahead"))
    return certify_with(state, index, response, offspring, discount, trees, rounds, effort)


def certify_with(
    state: State,
    index: PriceIndex | None,
    response: ResponseModel,
    offspring: OffspringModel,
    discount: float,
    trees: Luck,
    rounds: Luck,
    effort: Effort = QUICK,
) -> Certificate:
    """The same with a price index that was made before, if there is one; trees and rounds have a row of luck each."""
    people, most = len(state.frontier), budget_bound(state, discount)
    choices, evaluated, price = {"budget": most}, {"budget": Estimate(most, 0.0)}, None
    if index is not None and not state.is_terminal:
        dual = smallest_dual(index, state)
        choices["price"], evaluated["price"], price = dual.bound, Estimate(dual.bound, 0.0), dual.price
    elif effort.price_samples and not state.is_terminal:
        sampled = sampled_dual(state, response, offspring, discount, rounds, effort.price_samples)
        if sampled is not None:
            choices["price"], evaluated["price"], price = _clearly(sampled.pilot), sampled.bound, sampled.price
    possible_trees = _TREE_PEOPLE // max(people + state.remaining_budget, 1)
    if effort.trees and not state.is_terminal and possible_trees >= _FEWEST_TREES:
        number = min(possible_trees, effort.trees)
        grown = clairvoyant_returns(response, offspring, state, discount, trees, 2 * number)
        first, evaluated["clairvoyant"] = Estimate.of(grown[:number]), Estimate.of(grown[number:])
        choices["clairvoyant"] = _clearly(first)
    few = people <= _LOOKAHEAD_PEOPLE and can_look_ahead(state)
    if effort.outcomes and index is not None and few:
        pilot, fresh = lookahead_bound(index, offspring, state, rounds, outcomes=effort.outcomes)
        choices["lookahead"], evaluated["lookahead"] = _clearly(pilot.bound), fresh.bound
        price = fresh.price
    which = min(choices, key=lambda name: choices[name])
    if evaluated[which].mean >= most:
        which = "budget"
    return Certificate(evaluated[which].mean, which, price, evaluated[which].standard_error, most)


def _clearly(estimate: Estimate) -> float:
    """What a noisy bound is chosen by: it has to be better by more than its standard error."""
    return estimate.mean + estimate.standard_error


def mean_bound(certificates: Sequence[Certificate]) -> Estimate:
    """The mean bound of some states and the error that chance leaves in it (not the spread of the states)."""
    errors = np.array([each.standard_error for each in certificates])
    mean = float(np.mean([each.bound for each in certificates]))
    return Estimate(mean, float(np.sqrt(np.square(errors).sum()) / len(errors)))
