"""The price index of a large covariate space: one network for everybody and every price.

With unlimited rounds the child value A(x, m) = E[J(child of x, m / gamma)] depends on person and price alone, so that
one fit serves every state and budget of a study. Its logarithm is a cubic spline in the log-odds of m / gamma (A
vanishes like a power of 1 - m / gamma), whose coefficients are a network of the person:

    A(x, m) = exp(sum_k u_k(x) * B_k(s)),    s = log((1 - m / gamma) / (m / gamma)),    and 0 for m >= gamma.

**Fitted iteration.** Children of the training people are sampled once. Again and again the network gives their A, the
surplus their J at m / gamma, the average over some children the target of the parent, and the network follows. The
loss A - y log A (Poisson) makes it follow the mean of the noisy targets, errors counted in proportion; it starts small,
so that where the recursion has several solutions (gamma = 1) the smallest is approached, which is the true one.

**What is proved.** Nothing yet: a network may be wrong anywhere. The fit therefore ends with an audit (`price_audit`)
of frontiers of people held out of it: the factor by which nested sampling, which errs only upwards, exceeds the
network's bounds. A certificate is scaled by it (`PriceCheck`), or has its own frontier audited. At gamma = 1 no audit
comes to an end; there the budget and the clairvoyant bound are proved, the price bound of a network is not.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import BSpline

from peerfront.bounds.dual import smallest_duals
from peerfront.bounds.price_audit import auditable_price, audited_duals
from peerfront.bounds.price_index import BoundSettings, PriceCheck, PriceIndex
from peerfront.bounds.surplus import Array, chances_that_matter
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.networks import FrozenNetwork, Rows, frozen, gradient_steps, perceptron
from peerfront.foundation.progress import Progress, silent
from peerfront.foundation.randomness import Luck, named_generator, named_key, named_luck
from peerfront.gfp.states import StateBatch, sampled_recruits
from peerfront.gfp.surrogate import PersonInputs
from peerfront.problem import OffspringModel, ResponseModel

if TYPE_CHECKING:
    import torch

_NEAREST = 0.999  # m / gamma of the last knot; between it and 1 the child value is next to nothing
_LOGARITHMS = (-25.0, 12.0)  # what log A may be
_START = -3.0  # log A at even odds before the first fit
_FIRST_SEARCH = 96  # prices of the first search for the smallest bound
_CHECKED_FRONTIERS, _CHECK_AUDITS = 32, 5
_FEWEST_LOW = 6  # frontiers of a price below `auditable_price` that make a check of such prices
_STEADY = 0.01  # the largest standard error of their factor at which it is believed


@dataclass(frozen=True, eq=False)
class PriceSpline:
    """Basis functions of the price."""

    discount: float
    smallest_price: float
    knots: int

    @property
    def ends(self) -> tuple[float, float]:
        """Log-odds of the dearest and of the cheapest price."""
        cheapest = min(self.smallest_price / self.discount, 0.5)
        return float(_log_odds(np.array(_NEAREST))), float(_log_odds(np.array(cheapest)))

    def basis(self, prices: Array) -> Array:
        """B_k(s), [..., knots], for prices of any shape."""
        low, high = self.ends
        inner = np.linspace(low, high, self.knots - 2)
        knots = np.concatenate([np.full(3, low), inner, np.full(3, high)])
        shares = np.clip(prices / self.discount, 1e-6, 1.0 - 1e-6)
        points = np.clip(_log_odds(shares), low, high)
        dense: Array = BSpline.design_matrix(points.ravel(), knots, 3).toarray()
        return dense.reshape(*points.shape, self.knots)

    @property
    def start(self) -> Array:
        """Coefficients of log A = s + constant, [knots]: the shape A has before anything is known of it."""
        low, high = self.ends
        points = np.linspace(low, high, 4 * self.knots)
        prices = self.discount / (1.0 + np.exp(points))
        return np.asarray(np.linalg.lstsq(self.basis(prices), points + _START, rcond=None)[0], dtype=np.float64)

    def spread(self, count: int, shift: float) -> Array:
        """Prices evenly spread in the log-odds, rising, the grid shifted by a share of its step, [count]."""
        low, high = self.ends
        points = low + (np.arange(count) + shift) * (high - low) / count
        return np.sort(self.discount / (1.0 + np.exp(points)))


def _log_odds(shares: Array) -> Array:
    odds: Array = np.log1p(-shares) - np.log(shares)
    return odds


@dataclass(frozen=True, eq=False)
class NetworkChildValues:
    """The fitted A, as arrays."""

    inputs: PersonInputs
    spline: PriceSpline
    network: FrozenNetwork
    kind: str = "network"

    @property
    def prices(self) -> Array:
        inside = self.spline.spread(_FIRST_SEARCH, 0.5)
        beyond = np.linspace(self.spline.discount, 1.0, 17)[:: 1 if self.spline.discount < 1.0 else 16]
        return np.unique(np.concatenate([[self.spline.smallest_price], inside, beyond]))

    def expected(self, covariates: Codes, prices: Array, rounds_left: int | None) -> Array:
        return self.of_rows(self.inputs.rows(covariates), prices)

    def of_rows(self, rows: Rows, prices: Array) -> Array:
        """A of people described by `inputs.rows`, [people, prices]."""
        coefficients = self.network(rows).astype(np.float64)
        basis = self.spline.basis(prices)
        logarithms = coefficients @ basis.T if prices.ndim == 1 else np.einsum("ik,ijk->ij", coefficients, basis)
        values: Array = np.where(prices < self.spline.discount, np.exp(np.clip(logarithms, *_LOGARITHMS)), 0.0)
        return values


def fit_price_network(
    response: ResponseModel,
    offspring: OffspringModel,
    people: Codes,
    schema: Schema,
    discount: float,
    settings: BoundSettings,
    checked_at: Codes | None = None,
    progress: Progress = silent,
) -> PriceIndex:
    """Fit the network at some of the people and check it at others."""
    rng = named_generator("price network", settings.seed)
    order = rng.permutation(len(people))
    if checked_at is None:
        held_out = people[order[: min(settings.held_out, len(people) // 4)]]
        order = order[len(held_out) :]
    else:
        held_out = checked_at[: settings.held_out]
    trained = people[order[: settings.people]]
    trainer = _Trainer(response, offspring, trained, schema, discount, settings)
    for refresh in range(settings.refreshes):
        progress(0.9 * refresh / settings.refreshes, f"price index: generation {refresh + 1} of {settings.refreshes}")
        trainer.refresh(refresh / settings.refreshes)
    index = PriceIndex(response, schema, discount, settings, trainer.child_values())
    if not len(held_out) or discount == 1.0:  # at which no audit comes to an end
        return index
    progress(0.9, "price index: checking frontiers of people held out")
    return replace(index, check=check_index(index, offspring, held_out))


class _Trainer:
    def __init__(
        self,
        response: ResponseModel,
        offspring: OffspringModel,
        people: Codes,
        schema: Schema,
        discount: float,
        settings: BoundSettings,
    ) -> None:
        import torch

        self.settings, self.discount = settings, discount
        self.rng = named_generator("price training", settings.seed)
        self.inputs = PersonInputs(schema, response)
        self.spline = PriceSpline(discount, settings.smallest_price, settings.knots)
        self.parents = torch.as_tensor(self.inputs.rows(people))
        luck = named_luck(("price children", settings.seed), len(people))
        children, _ = sampled_recruits(offspring, people, settings.children, luck)
        self.children = self.inputs.rows(children)
        self.chances = chances_that_matter(
            response, children, settings.most_per_person, settings.smallest_price, 1.0 + settings.largest_budget
        )
        sizes = [self.inputs.width, settings.hidden, settings.hidden, settings.knots]
        self.network = perceptron(sizes, named_key("price network", settings.seed) % 2**63)
        last = self.network[-1]
        assert isinstance(last, torch.nn.Linear), "a perceptron ends with a linear layer"
        with torch.no_grad():
            last.weight.mul_(0.1)
            last.bias.copy_(torch.as_tensor(self.spline.start))
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate)

    def child_values(self) -> NetworkChildValues:
        return NetworkChildValues(self.inputs, self.spline, frozen(self.network))

    def refresh(self, done: float) -> None:
        """New targets from the network as it is, and some steps towards them; slower steps towards the end."""
        import torch

        for group in self.optimiser.param_groups:
            group["lr"] = self.settings.learning_rate * min(1.0, 2.0 * (1.0 - done)) ** 1.5
        prices = self.spline.spread(self.settings.prices, float(self.rng.random()))
        targets = torch.as_tensor(self.targets(prices), dtype=torch.float32)
        basis = torch.as_tensor(self.spline.basis(prices).T, dtype=torch.float32)
        weights = 1.0 / (targets.mean(dim=0) + 1e-6)  # every price counts alike, whatever J is there

        def loss() -> "torch.Tensor":
            batch = torch.as_tensor(self.rng.integers(len(self.parents), size=self.settings.batch))
            logarithms = (self.network(self.parents[batch]) @ basis).clamp(*_LOGARITHMS)
            return ((logarithms.exp() - targets[batch] * logarithms) * weights).mean()

        gradient_steps(self.optimiser, loss, self.settings.steps)

    def targets(self, prices: Array) -> Array:
        """The mean J(child, m / gamma) of some children of each parent, [parents, prices]."""
        parents, each = len(self.parents), min(self.settings.children_per_refresh, self.settings.children)
        offsets = self.rng.integers(self.settings.children, size=(parents, each))
        sampled = (np.arange(parents)[:, None] * self.settings.children + offsets).ravel()
        later = prices / self.discount
        crude = self.settings.largest_budget * np.maximum(1.0 - later / self.discount, 0.0)
        child = np.minimum(self.child_values().of_rows(self.children[sampled], later), crude)
        values = self.chances.take(sampled).surplus(1.0 + self.discount * child, later)
        values = np.minimum(values, self.settings.largest_budget * np.maximum(1.0 - later, 0.0))
        means: Array = values.reshape(parents, each, len(prices)).mean(axis=1)
        return means


def check_index(index: PriceIndex, offspring: OffspringModel, people: Codes) -> PriceCheck:
    """Audited over fitted bounds of random frontiers of these people, of many sizes and budgets.

    Every frontier is audited several times, and counts with the *median* of its audits. Corrections multiply from
    generation to generation, so one audit in a hundred may say ten times too much, and a mean would be a matter of
    whether one such was drawn. The mean of the audits is proved to err upwards; their median, where they are skewed,
    lies below their mean (by at most their standard deviation). So the factor is an estimate of how far the index is
    off, and a bound scaled by it is *estimated*; proved is only the mean over audits of a state's own frontier.

    Frontiers whose best price lies below `auditable_price` are checked there too, by audits whose last generation
    trusts the index. They count if their factor is steady; if not, or if there are too few, these frontiers are checked
    at `auditable_price`, and no lower price counts as checked.
    """
    seed, largest = index.settings.seed, index.settings.largest_budget
    rng = named_generator("price check", seed)
    sizes = rng.integers(3, 21, size=_CHECKED_FRONTIERS)
    states = StateBatch(
        rng.integers(max(largest // 4, 1), largest + 1, size=_CHECKED_FRONTIERS),
        np.concatenate([[0], np.cumsum(sizes)]),
        people[rng.integers(len(people), size=int(sizes.sum()))],
    )
    luck = named_luck(("price check", seed), len(states))
    cap, proved = index.settings.max_per_person, auditable_price(index)
    fitted = smallest_duals(index, states, max_per_person=cap)
    low = fitted.prices < proved
    lowest = float(fitted.prices.min())
    audited = _audits(index, offspring, states, fitted.prices, luck)
    if low.any() and (low.sum() < _FEWEST_LOW or not _ratio(audited[low], fitted.bounds[low])[1] <= _STEADY):
        few = np.flatnonzero(low)
        limited = smallest_duals(index, states.take(few), max_per_person=cap, at_least=proved)
        fitted.bounds[few], fitted.prices[few] = limited.bounds, limited.prices
        audited[few] = _audits(index, offspring, states.take(few), limited.prices, Luck(luck.keys[few]))
        lowest = proved
    factor, error = _ratio(audited, fitted.bounds)
    return PriceCheck(factor, error, _spread(np.median(audited, axis=1) / fitted.bounds), min(lowest, proved))


def _audits(index: PriceIndex, offspring: OffspringModel, states: StateBatch, prices: Array, luck: Luck) -> Array:
    return audited_duals(index, offspring, states, prices, luck, _CHECK_AUDITS, index.settings.max_per_person)


def _ratio(audited: Array, fitted: Array) -> tuple[float, float]:
    """Sums of median audits (of [frontiers, audits]) over fitted bounds [frontiers], and the standard error."""
    medians = np.median(audited, axis=1)
    factor = float(medians.sum() / fitted.sum())
    # Of a ratio of sums: the spread of what each frontier adds to it.
    return factor, float(np.sqrt(np.square(medians - factor * fitted).sum()) / fitted.sum())


def _spread(numbers: Array) -> float:
    """A standard deviation that outliers do not move: half of the range that holds the middle 68%."""
    low, high = np.quantile(numbers, [0.16, 0.84])
    return float(high - low) / 2.0
