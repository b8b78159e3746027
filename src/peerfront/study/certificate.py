"""How far from the best possible a sheet can be: bounds for a study that ends.

Four numbers that no plan can exceed, of which the smallest is reported:

- what the budget and the limits alone allow;
- the clairvoyant bound (`bounds.certificate`);
- the price bound: the smallest over prices m of m * r + sum_i J_T(x_i, m), where J knows the deadline; a limit of this
  round adds a price of its own. J is an exact table (`bounds.price_table`) where recruits inherit their fields one by
  one and few of them matter, as in most fitted models; elsewhere regressions (`bounds.price_regression`) estimate it;
- the lookahead bound (`bounds.lookahead`): the price of later coupons knows how this round turned out. Never above the
  price bound but for chance, and usually far below, so it is computed wherever the frontier is not large.

**Choice and evaluation.** The smallest of noisy numbers is too small on average, and no bound. So the price, the
price rule of the lookahead and which of the four is reported are chosen by one set of samples, and the reported
number and its standard error come from another. An exact table needs no sample for the price bound. Regressions only
choose: what is reported of the price bound is then a mean of independent nested samples (`bounds.price_audit`), which
end at the deadline and err upwards whatever the regressions say. All bounds are statements about the fitted models.
"""

import numpy as np
from numpy.typing import NDArray

from peerfront.bounds.certificate import Caps, Certificate, Estimate, budget_bounds, clairvoyant_returns
from peerfront.bounds.lookahead import can_look_ahead, lookahead_bound
from peerfront.bounds.price_audit import audited_values
from peerfront.bounds.price_index import BoundSettings
from peerfront.bounds.price_regression import fit_price_regressions
from peerfront.bounds.price_table import inherited_price_index
from peerfront.bounds.surplus import Chances, chances_that_matter
from peerfront.foundation.covariates import Codes, Kinds, kinds_of
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.gfp.states import StateBatch
from peerfront.gfp.story import PersonView
from peerfront.problem import OffspringModel, ResponseModel, State
from peerfront.study.artifacts import Fit

Array = NDArray[np.float64]
_TREES, _FEWEST_TREES, _TREE_PEOPLE = 400, 20, 200_000
_AUDIT_CHILDREN, _AUDIT_WIDTH, _AUDIT_DEPTH = 32, 2, 8
_AUDITED_RECRUITS = 80_000  # recruits sampled in an audit of the frontier, about
_MOST_AUDITS, _FEWEST_AUDITS = 32, 2
_LOOKAHEAD_PEOPLE, _OUTCOMES, _AUDITED_OUTCOMES = 200, 600, 24
_CAPPED_PRICES = 64  # prices of either kind that are tried before those near the best of them
_COUNTED_BY_KIND = 1_000  # people above which those who are alike are counted together
_NAME = "certificate of a sheet"


def certify_sheet(fit: Fit, state: State) -> dict[str, Certificate]:
    """Find the tightest bound by each story, the most believed first; empty where there is nothing to bound.

    The same state gives the same certificates.
    """
    certificates = {}
    for name, response in fit.responses.items():
        inputs = fit.planner.only(name).story.surrogate.inputs
        certificate = certify_state(state, response, fit.offspring, inputs, fit.discount)
        if certificate is not None:
            certificates[name] = certificate
    return certificates


def certify_state(
    state: State,
    response: ResponseModel,
    offspring: OffspringModel,
    inputs: PersonView,
    discount: float,
    seed: int = 0,
) -> Certificate | None:
    """The tightest bound of a state by these models; another seed gives other samples."""
    if state.is_terminal:
        return None
    codes, caps = state.frontier.covariates, Caps.of(state.rules)
    rounds, budget = state.rounds_left, state.remaining_budget
    alone = StateBatch(np.array([budget]), np.array([0, len(codes)]), codes)
    most = float(budget_bounds(alone, discount, rounds, caps)[0])
    priced = PricedState(state, response, offspring, inputs, discount, seed)
    choices, evaluated = {"budget": most, "price": priced.fitted}, {"budget": Estimate(most, 0.0)}
    trees = min(_TREE_PEOPLE // (len(codes) + budget), _TREES)
    if trees >= _FEWEST_TREES:  # larger states would take long, and the price is tighter there anyway
        luck = named_luck((_NAME, "trees", seed), 1)
        grown = clairvoyant_returns(response, offspring, alone, discount, rounds, luck, 2 * trees, caps)[0]
        first, evaluated["clairvoyant"] = Estimate.of(grown[:trees]), Estimate.of(grown[trees:])
        choices["clairvoyant"] = first.mean + first.standard_error
    price = priced.price
    if len(codes) <= _LOOKAHEAD_PEOPLE and can_look_ahead(codes, state.most_per_person, rounds):
        audited = 0 if priced.is_exact or rounds == 2 else _AUDITED_OUTCOMES  # a last round needs no estimate
        luck = named_luck((_NAME, "lookahead", seed), 1)
        chosen, fresh = lookahead_bound(
            priced.index, offspring, codes, budget, rounds, luck, caps, outcomes=_OUTCOMES, audited=audited
        )
        choices["lookahead"], evaluated["lookahead"] = chosen.bound.mean + chosen.bound.standard_error, fresh.bound
        price = fresh.price
    which = min(choices, key=lambda name: choices[name])
    found = priced.audited() if which == "price" else evaluated[which]
    proof = {"budget": "exact", "clairvoyant": "statistical", "price": priced.proof}.get(
        which, "statistical" if priced.is_exact or rounds - 2 <= _AUDIT_DEPTH else "estimated"
    )
    if found.mean >= most:
        found, which, proof = Estimate(most, 0.0), "budget", "exact"
    return Certificate(found.mean, which, price, found.standard_error, proof, most, _WORDS[which])


_WORDS = {
    "budget": "a coupon brings at most one recruit, so coupons and limits alone allow no more",
    "clairvoyant": "even somebody who knew in advance whom everybody brings could not expect more",
    "price": "even if coupons could be bought and sold at one fair price, nobody could expect more",
    "lookahead": "even if coupons could be bought and sold after this round, at a fair price that depends on how it "
    "went, nobody could expect more",
}


class PricedState:
    """The price bound of a state: by an exact table, or chosen by regressions and evaluated by nested samples."""

    def __init__(
        self,
        state: State,
        response: ResponseModel,
        offspring: OffspringModel,
        inputs: PersonView,
        discount: float,
        seed: int = 0,
    ) -> None:
        self.state, self.offspring, self.seed = state, offspring, seed
        self.codes, self.rounds = state.frontier.covariates, state.rounds_left
        settings = BoundSettings(
            largest_budget=max(state.remaining_budget, 1),
            max_per_person=max(state.most_per_person, 1),
            audit_children=_AUDIT_CHILDREN,
            audit_width=_AUDIT_WIDTH,
            audit_depth=min(max(self.rounds - 1, 0), _AUDIT_DEPTH),
            seed=seed,
        )
        table = inherited_price_index(response, offspring, inputs.schema, discount, self.rounds, settings)
        self.is_exact = table is not None or self.rounds == 1
        """Whether the bound needs no samples."""
        self.index = table or fit_price_regressions(
            response, offspring, inputs, self.codes, discount, self.rounds, settings
        )
        prices, kinds = self.index.prices, _kinds(self.codes)
        worth = 1.0 + self.index.child_values(kinds.rows, prices, self.rounds)  # [kinds, prices]
        most, limit = settings.most_per_person, state.rules.max_per_round
        chances = chances_that_matter(response, kinds.rows, most, float(prices[0]), float(worth.max()))
        self.fitted, now, later = _smallest_dual(chances, worth, kinds.number, prices, state.remaining_budget, limit)
        """The bound that the index says."""
        self.price, self.price_now = float(prices[later]), float(prices[now])
        """Of a coupon in the later rounds and in this one, the best by the index."""
        chosen = np.ascontiguousarray(worth[:, later : later + 1])
        self._people = chances.surplus(chosen, np.array([self.price_now]))[kinds.kind, 0]

    @property
    def proof(self) -> str:
        if self.is_exact:
            return "exact"
        deep = self.rounds - 1 <= _AUDIT_DEPTH or self.price >= self.index.discount ** (_AUDIT_DEPTH + 1)
        return "statistical" if deep else "estimated"

    def audited(self) -> Estimate:
        """The bound at the chosen price by fresh nested samples, some people standing for all where there are many.

        Where the index is exact, the bound itself.
        """
        if self.is_exact:
            return Estimate(self.fitted, 0.0)
        each, people = _recruits_of_an_audit(self.rounds), len(self.codes)
        audits = int(np.clip(_AUDITED_RECRUITS // (each * people), _FEWEST_AUDITS, _MOST_AUDITS))
        count = min(people, max(_AUDITED_RECRUITS // (each * audits), 2))
        judged = np.sort(named_generator(_NAME, "judged", self.seed).permutation(people)[:count])
        luck = named_luck((_NAME, "audit", self.seed), count)
        keys = Luck(np.tile(luck.keys, audits)).members(np.repeat(np.arange(audits), count))
        values = audited_values(
            self.index, self.offspring, np.tile(self.codes[judged], (audits, 1)), np.full(count * audits, self.price),
            keys, self.state.most_per_person, rounds_left=self.rounds, price_now=self.price_now,
        ).reshape(audits, count)  # fmt: skip
        more = values.mean(axis=0) - self._people[judged]  # above what the regressions say
        if count == people:
            variance = values.var(axis=0, ddof=1).sum() / audits
        else:
            variance = more.var(ddof=1) * people**2 / count
        return Estimate(self.fitted + float(more.mean() * people), float(np.sqrt(variance)))


def _kinds(codes: Codes) -> Kinds:
    """People by kind where there are many; where there are few, everybody is a kind of their own, in their order."""
    if len(codes) > _COUNTED_BY_KIND:
        return kinds_of(codes)
    return Kinds(codes, np.arange(len(codes)), np.ones(len(codes), dtype=np.int64))


def _smallest_dual(
    chances: Chances, worth: Array, number: NDArray[np.int64], prices: Array, budget: int, cap: int | None
) -> tuple[float, int, int]:
    """The smallest D over prices of this round and of the later ones, with the numbers of these two prices.

    `chances` and `worth` [kinds, prices] are those of the kinds of people, `number` [kinds] says how many there are.
    Where this round has a limit, its coupons may cost more than m: q - m for each of them, paid back for `cap` coupons.
    """
    if cap is None or cap >= budget:
        alone: Array = budget * prices + (number[:, None] * chances.surplus(worth, prices)).sum(axis=0)
        best = int(alone.argmin())
        return float(alone[best]), best, best

    def smallest(now: NDArray[np.int64], later: NDArray[np.int64]) -> tuple[float, int, int]:
        found = (np.inf, 0, 0)
        for row in now:
            columns = later[later <= row]
            if not len(columns):
                continue
            paid_back = budget * prices[columns] + cap * (prices[row] - prices[columns])
            surplus = chances.surplus(np.ascontiguousarray(worth[:, columns]), np.full(len(columns), prices[row]))
            duals = paid_back + (number[:, None] * surplus).sum(axis=0)
            best = int(duals.argmin())
            found = min(found, (float(duals[best]), int(row), int(columns[best])))
        return found

    every = max(len(prices) // _CAPPED_PRICES, 1)
    some = np.arange(len(prices) - 1, -1, -every)[::-1]
    coarse = smallest(some, some)
    # Every pair gives a bound. D is convex in both prices, so the best pair of all is usually near the best of some.
    near = [np.arange(max(at - every + 1, 0), min(at + every, len(prices))) for at in coarse[1:]]
    return min(coarse, smallest(near[0], near[1]))


def _recruits_of_an_audit(rounds: int) -> int:
    """Recruits that one audit of one person samples."""
    chains, width, total = 1, _AUDIT_WIDTH, 1
    for _ in range(min(rounds - 1, _AUDIT_DEPTH) - 1):
        chains, width = chains * width, max(width // 2, 1)
        total += chains
    return total * _AUDIT_CHILDREN
