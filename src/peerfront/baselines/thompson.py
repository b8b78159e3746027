"""Thompson sampling while the study recruits, after RL-RDS (Weltz, Yoon, Zhang, Volfovsky and Laber 2025).

The policy knows nothing of a world but its fields, and learns from the study it plays. Its working model is a branching
process: somebody with covariates x and k coupons brings

    N(k) ~ Binomial(k, p),   logit p = a + b . x + c log k,

and a recruit's category in a field depends on the recruiter's category in that field. Each round the posterior given
all referrals so far is approximated, one model is drawn from it, every rule of a class is played to the end of the
study in that model, and the best rule says who gets how many coupons now. With a small chance a rule is drawn by lot
instead ("clipping"), so that every rule keeps a chance.

What the paper leaves open where it could be read, and what was chosen: docs/explanation/deviations.md, entry 38.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import most_likely_used
from peerfront.foundation.binomials import binomial_quantile
from peerfront.foundation.checked_calls import checked_late
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck, fold
from peerfront.foundation.settings import at_least, check_fields, one_or_more, proportion, several
from peerfront.problem import Allocation, History, Seen, State

Array = NDArray[np.float64]
_MEANS = (0.0, 0.0, -0.5)  # prior means of a, of b . x and of c: a further coupon is used less often
_SPREADS = (1.0, 1.0, 0.5)  # prior standard deviations of a, of b . x and of c
_PEOPLE_LIKE_ALL = 2.0  # people in the prior of whom a category of recruiters brings
_STEPS = 12  # of Newton's method
_CLOSE = 1e-4
_TOGETHER = 32  # studies planned at a time, so that memory stays small


@dataclass(frozen=True)
class ThompsonSettings:
    """What is tried in the drawn model, and how often chance decides."""

    explore: float = 0.1
    """Chance of a rule by lot in a round."""
    plays: int = 16
    """Simulated studies for each rule."""
    cutoffs: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
    """A further coupon is given where the drawn model expects at least this from it..."""
    shares: tuple[float, ...] = (0.02, 0.08, 0.2)
    """...and at least this share of the study's coupons is spent in a round."""
    most_each: int = 3
    """Coupons for one person in a round: what studies give. With more, the first round wastes most of a budget."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            "thompson",
            explore=proportion,
            plays=one_or_more,
            cutoffs=several(proportion),
            shares=several(proportion),
            most_each=at_least(1, 100),
        )


@dataclass(frozen=True)
class Posterior:
    """What is believed of the working model's parameters: a normal distribution, and counts of categories."""

    mean: Array  # [parameters]: a, b, c
    precision: Array  # [parameters, parameters]
    inherited: tuple[Array, ...]  # one for each field, [recruiter's category, recruit's category]
    everybody: tuple[Array, ...]  # one for each field, [categories], people seen


def prior(schema: Schema) -> Posterior:
    """What is believed before anybody was seen: one coupon is used or not, a further one less often."""
    of_category = _SPREADS[1] / np.sqrt(len(schema.fields))
    spreads = np.concatenate([[_SPREADS[0]], np.full(schema.columns, of_category), [_SPREADS[2]]])
    return Posterior(
        np.concatenate([[_MEANS[0]], np.full(schema.columns, _MEANS[1]), [_MEANS[2]]]),
        np.diag(spreads**-2.0),
        tuple(np.zeros((size, size)) for size in schema.sizes),
        tuple(np.zeros(size) for size in schema.sizes),
    )


def updated(posterior: Posterior, schema: Schema, seen: Seen | History) -> Posterior:
    """The posterior after these referrals: Laplace's approximation, and counts."""
    rows = np.flatnonzero(seen.coupons > 0)
    design = _design(schema, seen.referrers[rows], seen.coupons[rows])
    coupons, recruits = seen.coupons[rows].astype(np.float64), seen.recruits[rows].astype(np.float64)
    mean, precision = posterior.mean.copy(), posterior.precision
    for _ in range(_STEPS if len(rows) else 0):
        chance = 1.0 / (1.0 + np.exp(-(design @ mean)))
        slope = design.T @ (recruits - coupons * chance) - posterior.precision @ (mean - posterior.mean)
        precision = posterior.precision + (design * (coupons * chance * (1.0 - chance))[:, None]).T @ design
        step = np.linalg.solve(precision, slope)
        mean = mean + step / max(1.0, float(np.abs(step).max()))  # never more than 1 at once
        if np.abs(step).max() < _CLOSE:
            break
    inherited, everybody = [], []
    for number, size in enumerate(schema.sizes.tolist()):
        parents, children = seen.parents[:, number], seen.children[:, number]
        known = (parents >= 0) & (children >= 0)
        pairs = np.bincount(parents[known].astype(np.int64) * size + children[known], minlength=size * size)
        inherited.append(posterior.inherited[number] + pairs.reshape(size, size))
        people = np.concatenate([seen.referrers[:, number], children])
        everybody.append(posterior.everybody[number] + np.bincount(people[people >= 0], minlength=size))
    return Posterior(mean, precision, tuple(inherited), tuple(everybody))


def _design(schema: Schema, covariates: Codes, coupons: NDArray[np.int64]) -> Array:
    """1, the one-hot row and log k of each row, [rows, parameters]."""
    ends = np.ones((len(covariates), 1)), np.log(np.maximum(coupons, 1))[:, None]
    return np.concatenate([ends[0], schema.one_hot(covariates).astype(np.float64), ends[1]], axis=1)


@dataclass(frozen=True)
class DrawnModels:
    """One working model for each of several studies."""

    schema: Schema
    parameters: Array  # [studies, parameters]
    cumulative: tuple[Array, ...]  # one for each field, [studies, recruiter's category, recruit's category]

    @classmethod
    def of(cls, schema: Schema, posteriors: Sequence[Posterior], lucks: Sequence[Luck]) -> "DrawnModels":
        """Draw a model from each posterior."""
        parameters, tables = [], [[] for _ in schema.fields]  # type: ignore[var-annotated] # lists of arrays
        for posterior, luck in zip(posteriors, lucks, strict=True):
            generator = luck.generator("thompson")
            root = np.linalg.cholesky(posterior.precision)
            parameters.append(posterior.mean + np.linalg.solve(root.T, generator.standard_normal(len(posterior.mean))))
            for number, (pairs, people) in enumerate(zip(posterior.inherited, posterior.everybody, strict=True)):
                alike = (people + 1.0) / (people + 1.0).sum()
                weights = generator.standard_gamma(pairs + _PEOPLE_LIKE_ALL * alike) + 1e-300
                tables[number].append(np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1))
        return cls(schema, np.stack(parameters), tuple(np.stack(table) for table in tables))

    def chances(self, study: NDArray[np.int64], covariates: Codes, most: int) -> Array:
        """The chance that each of k coupons is used, k = 1 .. most, [people, most]."""
        places = np.where(covariates >= 0, 1 + self.schema.offsets + covariates, 0)
        scores = self.parameters[study, 0] + np.where(
            covariates >= 0, self.parameters[study[:, None], places], 0.0
        ).sum(axis=1)
        slopes = self.parameters[study, -1]
        logits = scores[:, None] + slopes[:, None] * np.log(np.arange(1, most + 1))
        chances: Array = 1.0 / (1.0 + np.exp(-logits))
        return chances

    def children(self, study: NDArray[np.int64], parents: Codes, luck: Luck) -> Codes:
        """One recruit for each parent, [parents, fields]."""
        uniforms = luck.uniforms("categories", len(self.schema.fields))
        children = np.empty_like(parents)
        for number, table in enumerate(self.cumulative):
            category = np.maximum(parents[:, number], 0)  # of a recruiter who is not known: any will do
            below = table[study, category] < uniforms[:, number, None]
            children[:, number] = np.minimum(below.sum(axis=1), table.shape[2] - 1)
        return children


def further_gains(chances: Array) -> Array:
    """What each further coupon adds to the expected recruits k p(k), never more than the one before, [people, most]."""
    expected = chances * np.arange(1, chances.shape[1] + 1)
    gains = np.diff(expected, axis=1, prepend=0.0)
    falling: Array = np.minimum.accumulate(np.maximum(gains, 0.0), axis=1)
    return falling


@dataclass(frozen=True, eq=False)
class Thompson:
    """Each round: draw a model from the posterior, play every rule in it, follow the best."""

    schema: Schema
    discount: float
    before: Posterior
    """What is believed when a study begins."""
    settings: ThompsonSettings = field(default_factory=ThompsonSettings)
    name: str = "thompson"
    learns: bool = True

    @cached_property
    def rules(self) -> tuple[Array, Array]:
        """The cutoff, and the least share of the coupons in a round, of every rule."""
        pairs = np.array(list(product(self.settings.cutoffs, self.settings.shares)))
        return pairs[:, 0], pairs[:, 1]

    @checked_late
    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        """One allocation for each state; each draws a model of its own."""
        made: list[Allocation] = []
        for first in range(0, len(states), _TOGETHER):
            made += self._allocations(states[first : first + _TOGETHER], lucks[first : first + _TOGETHER])
        return made

    def _allocations(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        posteriors = [
            self.before if state.seen is None else updated(self.before, self.schema, state.seen) for state in states
        ]
        models = DrawnModels.of(self.schema, posteriors, lucks)
        n_rules = len(self.rules[0])
        lots = np.array([luck.uniforms("explore", 2)[0] for luck in lucks]).reshape(-1, 2)
        best = self._worth(models, states, lucks).argmax(axis=1)
        rule = np.where(lots[:, 0] < self.settings.explore, (lots[:, 1] * n_rules).astype(np.int64), best)
        made = []
        for study, state in enumerate(states):
            own = np.full(len(state.frontier), study)
            most = self._most_each(state)
            gains = further_gains(models.chances(own, state.frontier.covariates, most))
            likely = gains >= self.rules[0][rule[study]]
            least = self._least(state)[rule[study]]
            spend = min(max(int(likely.sum()), int(least)), state.spendable, gains.size)
            made.append(Allocation(np.bincount(most_likely_used(gains, spend), minlength=len(gains))))
        return made

    def _most_each(self, state: State) -> int:
        return min(state.most_per_person, self.settings.most_each)

    def _least(self, state: State) -> NDArray[np.int64]:
        """What each rule spends in a round at least, [rules]."""
        return np.maximum(1, np.rint(self.rules[1] * state.rules.budget)).astype(np.int64)

    def _worth(self, models: DrawnModels, states: Sequence[State], lucks: Sequence[Luck]) -> Array:
        """Mean discounted recruits of every rule from here to the end, in each state's model, [states, rules]."""
        n_rules, plays = len(self.rules[0]), self.settings.plays
        each = n_rules * plays  # simulated studies of a state: all plays of the first rule, then of the second, ...
        study_of = np.repeat(np.arange(len(states)), each)  # [simulated studies]
        rule_of = np.tile(np.repeat(np.arange(n_rules), plays), len(states))
        remaining = np.repeat([state.remaining_budget for state in states], each)
        rounds_left = np.repeat([state.rounds_left for state in states], each)
        cap = states[0].rules.max_per_round
        least = np.concatenate([np.repeat(self._least(state), plays) for state in states])
        most = max(self._most_each(state) for state in states)
        sizes = np.repeat([len(state.frontier) for state in states], each)
        simulated = np.repeat(np.arange(len(sizes)), sizes)
        covariates = np.concatenate([np.tile(state.frontier.covariates, (each, 1)) for state in states])
        # The plays of all rules share their luck: the same people bring the same recruits.
        roots = np.concatenate(
            [np.tile(fold(np.repeat(luck.keys, plays), np.arange(plays)), n_rules) for luck in lucks]
        )
        first = np.cumsum(sizes) - sizes
        keys = fold(roots[simulated], np.arange(len(simulated)) - first[simulated])
        worth, weight, number = np.zeros(len(sizes)), 1.0, 0
        while len(simulated):
            studies = study_of[simulated]
            chances = models.chances(studies, covariates, most)
            allowed = remaining if cap is None else np.minimum(remaining, cap)
            cutoffs = self.rules[0][rule_of]
            coupons = _by_cutoff(further_gains(chances), simulated, cutoffs, least, allowed)
            used = chances[np.arange(len(coupons)), np.maximum(coupons, 1) - 1]
            recruits = binomial_quantile(Luck(keys).uniform("recruits"), coupons, used)
            worth += weight * np.bincount(simulated, weights=recruits, minlength=len(worth))
            remaining = remaining - np.bincount(simulated, weights=coupons, minlength=len(worth)).astype(np.int64)
            weight, number = weight * self.discount, number + 1
            parent = np.repeat(np.arange(len(simulated)), recruits)
            goes_on = ((remaining > 0) & (rounds_left > number))[simulated[parent]]
            parent, ordinal = (
                parent[goes_on],
                (np.arange(len(parent)) - (np.cumsum(recruits) - recruits)[parent])[goes_on],
            )
            keys = fold(keys[parent], ordinal)
            covariates = models.children(studies[parent], covariates[parent], Luck(keys))
            simulated = simulated[parent]
        return worth.reshape(len(states), n_rules, plays).mean(axis=2)


def _by_cutoff(
    gains: Array,
    study: NDArray[np.int64],
    cutoffs: Array,
    least: NDArray[np.int64],
    allowed: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Coupons of everybody in many studies at once: the largest gains of a study, as many as its rule spends.

    `study` [people] is nondecreasing; the others have an entry for each study, gains [people, coupons] never rise.
    """
    coupons: NDArray[np.int64] = (gains >= cutoffs[study][:, None]).sum(axis=1)
    n_studies, most = len(cutoffs), gains.shape[1]
    wanted = np.bincount(study, weights=coupons, minlength=n_studies).astype(np.int64)
    spend = np.minimum(np.maximum(wanted, least), allowed)
    other = (spend != wanted)[study]  # people of studies whose rule spends more or less than the cutoff says
    if other.any():
        people = np.flatnonzero(other)
        order = np.lexsort((-gains[people].reshape(-1), np.repeat(study[people], most)))
        owner = np.repeat(study[people], most)  # sorted already, so the order within a study is all that changed
        begins = np.searchsorted(owner, np.arange(n_studies))
        rank = np.arange(len(order)) - begins[owner]
        chosen = order[rank < spend[owner]] // most
        coupons[people] = np.bincount(chosen, minlength=len(people))
    return coupons
