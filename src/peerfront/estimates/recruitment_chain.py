"""Recruitment as a Markov chain on a few states: its counts, its stationary distribution, and what it needs.

Whom a person recruits depends on what they are like, not on how many coupons they had. So the share of recruits in each
state, given the recruiter's state, is right whatever the coupon rule was, as long as the rule is the same for all
people of a state. Where ties are mutual, the stationary distribution of these shares is each state's share of all ties
(Salganik and Heckathorn 2004), and the chain is balanced: as many ties lead from one state to another as back.

Samples that are a good part of their population: people who took part cannot come again.

Gile's successive sampling (2011): people are drawn one after another, in proportion to their network sizes, among those
who are left. The chance to be drawn at all is 1 - exp(-size * reach), to a very good approximation (Rosen 1972), where
`reach` makes the expected sample as large as the sample. The sizes of the population are not known; they are
those of the sample, each divided by its chance, which is solved by repetition. R's RDS package simulates these chances.

`fit_depletion` does the same state by state for a chain of recruitments: within a state people are drawn in proportion
to their network sizes, and the chain says how many ties each state has. So neither the coupon rule nor the finite
population biases it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from peerfront.estimates.sample import UNKNOWN, Floats, Ints, Sample
from peerfront.foundation.messages import Message, first_of, note

_TINY = 1e-300
_STEPS = 400
_ENOUGH = 1e-7
_ENOUGH_FOR_MANY = 1e-6  # replicates are there for their spread, which is ten thousand times as large
SMOOTHING = 0.5
"""Recruits added to those of every state, spread like all recruits, because few recruits say little."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Recruiter-recruit pairs in which the state of both is known."""

    child: Ints  # [pairs], places in the sample
    source: Ints  # [pairs], state of the recruiter
    target: Ints  # [pairs], state of the recruit
    n_states: int

    @classmethod
    def of(cls, sample: Sample, state: Ints, n_states: int) -> "Pairs":
        """The pairs, in the order in which recruits came."""
        child = sample.recruited[np.argsort(sample.arrival[sample.recruited], kind="stable")]
        source, target = state[sample.recruiter[child]], state[child]
        both = (source != UNKNOWN) & (target != UNKNOWN)
        return cls(child[both], source[both], target[both], n_states)

    def counts(self, multiplicity: Floats) -> Floats:
        """Recruitments from state to state, [replicates, states, states]; multiplicity is [replicates, people]."""
        cells = summed(multiplicity[:, self.child], self.source * self.n_states + self.target, self.n_states**2)
        return cells.reshape(-1, self.n_states, self.n_states)


def summed(values: Floats, codes: Ints, n_codes: int, weights: Floats | None = None) -> Floats:
    """Sum columns with the same code, [replicates, codes]; columns with the code UNKNOWN are left out."""
    kept = np.flatnonzero(codes != UNKNOWN)
    data = np.ones(len(kept)) if weights is None else weights[kept]
    table = csr_matrix((data, (codes[kept], kept)), shape=(n_codes, len(codes)))
    return np.asarray((table @ values.T).T)


def stationary(counts: Floats) -> Floats:
    """Return the stationary distribution of row-normalised counts, [replicates, states].

    Every state needs recruits and must be reached from every other (`irreducible`).
    """
    n_states = counts.shape[-1]
    if n_states == 1:
        return np.ones(counts.shape[:-1])
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), _TINY)
    equations = np.swapaxes(shares, -1, -2) - np.eye(n_states)
    equations[..., -1, :] = 1.0  # one of the equations follows from the others; instead, shares add up to 1
    wanted = np.zeros((*counts.shape[:-1], 1))
    wanted[..., -1, 0] = 1.0
    return np.asarray(np.linalg.solve(equations, wanted)[..., 0])


def irreducible(counts: Floats) -> bool:
    """Whether every state can be reached from every other by recruitments that were seen, [states, states]."""
    return bool(connected_components(csr_matrix(counts), connection="strong")[0] == 1)


def parts(counts: Floats) -> Ints:
    """Groups of states that recruitments connect, in whichever direction, as codes from 0 on, [states]."""
    return connected_components(csr_matrix(counts), directed=False)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Depletion:
    """How much of each state was left when pairs were made: people who took part can no longer be recruited."""

    period: Ints  # [pairs], period of the study in which the recruit came
    left: Floats  # [periods, states], share of the state's ties that led to people who had not taken part

    @classmethod
    def none(cls, n_pairs: int, n_states: int) -> "Depletion":
        """A population so large that nobody is missed."""
        return cls(np.zeros(n_pairs, dtype=np.int64), np.ones((1, n_states)))


def balanced(
    pairs: Pairs, multiplicity: Floats, depletion: Depletion, start: Floats | None = None, steps: int = _STEPS
) -> Floats:
    """Return the ties between states under balance, symmetric and adding up to 1, [replicates, states, states].

    This is the likeliest balanced chain for recruitments given their recruiters' states. Where people who took part
    are missing among those who could be recruited, recruitments that would have gone to them are filled in with their
    expected number (an EM algorithm), from the shares of `depletion`.
    """
    n_states, n_periods = pairs.n_states, len(depletion.left)
    counts = pairs.counts(multiplicity)
    everybody = np.bincount(pairs.target, minlength=n_states) + _TINY
    counts += SMOOTHING * everybody / everybody.sum()
    left, gone = depletion.left, 1.0 - depletion.left
    by_period = summed(
        multiplicity[:, pairs.child], depletion.period * n_states + pairs.source, n_periods * n_states
    ).reshape(-1, n_periods, n_states)
    fills = bool((gone > 0).any())
    ties = counts + np.swapaxes(counts, 1, 2) if start is None else np.broadcast_to(start, counts.shape)
    ties = ties / ties.sum(axis=(1, 2), keepdims=True)
    enough = _ENOUGH if len(counts) == 1 else _ENOUGH_FOR_MANY
    for _ in range(steps):
        ends = np.maximum(ties.sum(axis=2), _TINY)
        filled = counts
        if fills:
            shares = ties / ends[:, :, None]
            chance = shares @ left.T  # [replicates, states, periods], that a tie leads to somebody who can come
            missed = (np.swapaxes(by_period, 1, 2) / np.maximum(chance, 1e-9)) @ gone
            filled = counts + missed * shares
        rate = filled.sum(axis=2) / ends
        new = (filled + np.swapaxes(filled, 1, 2)) / np.maximum(rate[:, :, None] + rate[:, None, :], _TINY)
        new /= new.sum(axis=(1, 2), keepdims=True)
        moved = float(np.abs(new - ties).max())
        ties = new
        if moved < enough:
            break
    return np.asarray(ties)


def unconnected(counts: Floats, names: tuple[str, ...], balanced_chain: bool) -> Message | None:
    """Why a chain cannot be estimated; None if it can. Counts are [states, states] of states that occur."""
    if len(names) == 1:
        return None
    silent = [name for name, row in zip(names, counts, strict=True) if not row.any()]
    if silent and not balanced_chain:
        return note("estimators.answers_without_recruits", answers=first_of(silent, 3))
    if parts(counts).any() if balanced_chain else not irreducible(counts):
        never = [name for name, column in zip(names, counts.T, strict=True) if not column.any()]
        if never:
            return note("estimators.answers_never_recruited", answers=first_of(never, 3))
        return note("estimators.groups_apart")
    return None


def expected_by_wave(counts: Floats, start: Floats, waves: int) -> Floats:
    """Return the composition that the chain gives wave by wave from the seeds' composition, [waves + 1, states]."""
    shares: NDArray[np.float64] = counts / np.maximum(counts.sum(axis=1, keepdims=True), _TINY)
    rows = [start]
    for _ in range(waves):
        rows.append(rows[-1] @ shares)
    return np.stack(rows)


# People who took part cannot come again -------------------------------------------------------------------------------


_PERIODS = 12
_LEAST_LEFT = 0.02
_ROUNDS = 60
_STEPS_A_ROUND = 12  # what is left changes again anyway
_ENOUGH_LEFT = 1e-6
_NUDGE = 0.01
_NOTHING = 1e-9


def inclusion_chances(sizes: Floats, population: int) -> Floats:
    """Return everybody's chance to be in the sample by successive sampling, [people]; `sizes` are network sizes."""
    if population <= len(sizes):
        return np.ones(len(sizes))
    size, people = np.unique(sizes, return_counts=True)
    reach = len(sizes) / population / float(len(sizes) / (1.0 / sizes).sum())
    for _ in range(500):
        # The people of the population must add up: sum of people / chance = population. The left side falls in `reach`.
        represented = float((people / -np.expm1(-size * reach)).sum())
        new = reach * represented / population
        if abs(new - reach) < 1e-12 * reach:
            break
        reach = new
    return np.asarray(-np.expm1(-sizes * reach))


@dataclass(frozen=True, eq=False)
class FinitePopulation:
    """What a chain needs to know about a population of known size."""

    depletion: Depletion
    weights: Floats  # [people], people of the population for whom each person stands; 0 where they are not used
    ties: Floats  # [states, states], of the sample
    response: Floats  # [states, states], what a change of the states' ties comes to when depletion follows it
    stretch: Floats  # [states, states], by how much people per tie of a state change with the states' ties, in logs
    least: Floats  # [states], the share of the population, seeds aside, that has come: no state is smaller


def fit_depletion(sample: Sample, state: Ints, pairs: Pairs, population: int, multiplicity: Floats) -> FinitePopulation:
    """Find how many people each recruit stands for, and how much of each state was left, period by period.

    Three things are made to agree by repetition: the chain's share of ties of each state, given what was left of it;
    the people for whom recruits stand, so that the ties add up in each state and the people to the population; and what
    was left, which is what there is less those who have come. Seeds stand for themselves.
    """
    people = _People.of(sample, state, pairs, population)
    left = np.ones((_PERIODS, pairs.n_states))
    ties = balanced(pairs, multiplicity, Depletion(people.period, left))[0]
    for _ in range(_ROUNDS):
        new = people.left(ties.sum(axis=1))
        moved = float(np.abs(new - left).max())
        left = np.sqrt(left * new)  # half a step: whole ones swing to and fro
        ties = balanced(pairs, multiplicity, Depletion(people.period, left), ties, _STEPS_A_ROUND)[0]
        if moved < _ENOUGH_LEFT:
            break
    ties = balanced(pairs, multiplicity, Depletion(people.period, left), ties)[0]
    shares = ties.sum(axis=1)
    columns, stretches = [], []
    for one in np.eye(pairs.n_states):
        nudged = shares + _NUDGE * (one - shares)
        depletion = Depletion(people.period, people.left(nudged))
        moved_ties = balanced(pairs, multiplicity, depletion, ties)[0].sum(axis=1)
        columns.append((moved_ties - shares) / _NUDGE)
        stretches.append(np.log(people.per_tie(nudged) / people.per_tie(shares)) / _NUDGE)
    # More ties in a state leave more of it, so fewer recruitments are filled in: a change is answered by a smaller one.
    response = np.linalg.pinv(np.eye(pairs.n_states) - np.column_stack(columns))
    weights = people.weights(shares)
    least = np.bincount(people.state, weights=people.count, minlength=pairs.n_states) / people.wanted
    return FinitePopulation(Depletion(people.period, left), weights, ties, response, np.column_stack(stretches), least)


@dataclass(frozen=True, eq=False)
class _People:
    """The people of a sample by state and network size, and when they came."""

    used: NDArray[np.bool_]  # [people], recruits whose state is known
    cell: Ints  # [used people]
    state: Ints  # [cells]
    size: Floats  # [cells]
    count: Floats  # [cells]
    seed_ties: Floats  # [states]
    wanted: float
    """People of the population beside the seeds."""
    period: Ints  # [pairs]
    come: Floats  # [periods, states], ties of people who had come before

    @classmethod
    def of(cls, sample: Sample, state: Ints, pairs: Pairs, population: int) -> "_People":
        placed = state != UNKNOWN
        used, seeds = placed & ~sample.seed, placed & sample.seed
        cells, cell, count = np.unique(
            np.column_stack([state[used], sample.network_size[used]]), axis=0, return_inverse=True, return_counts=True
        )
        period = np.minimum(np.arange(len(pairs.child)) * _PERIODS // max(len(pairs.child), 1), _PERIODS - 1)
        return cls(
            used,
            cell.reshape(-1),
            cells[:, 0].astype(np.int64),
            cells[:, 1],
            count.astype(np.float64),
            np.bincount(state[seeds], weights=sample.network_size[seeds], minlength=pairs.n_states).astype(np.float64),
            # People whose state is not known came too: the others stand for their part of the population.
            max(population * float(placed.mean()) - int(seeds.sum()), float(used.sum())),
            period,
            _ties_that_came(sample, state, pairs, period),
        )

    def weights(self, shares: Floats) -> Floats:
        """People for whom each person stands if states have these shares of all ties, [people]."""
        weights = np.zeros(len(self.used))
        weights[self.used] = self._cell_weights(shares)[self.cell]
        return weights

    def per_tie(self, shares: Floats) -> Floats:
        """People for each tie of a state, [states]: where much of a state has come, the rest know few."""
        weights = self.count * self._cell_weights(shares)
        number = np.bincount(self.state, weights=weights, minlength=len(shares))
        return np.asarray(
            number / np.maximum(np.bincount(self.state, weights=weights * self.size, minlength=len(shares)), _NOTHING)
            + _NOTHING
        )

    def left(self, shares: Floats) -> Floats:
        """What was left of each state's ties, [periods, states]."""
        ties = self.count * self._cell_weights(shares) * self.size
        there = np.bincount(self.state, weights=ties, minlength=len(shares)) + self.seed_ties
        return np.clip(1.0 - self.come / np.maximum(there, _NOTHING), _LEAST_LEFT, 1.0)

    def _cell_weights(self, shares: Floats) -> Floats:
        """The same by cell: in a state people are drawn by successive sampling, and its ties add up to its share.

        The number of ties in all makes the people add up to the population. If a state has come whole, everybody in it
        stands for themselves.
        """
        n_states = len(shares)
        number = np.bincount(self.state, weights=self.count, minlength=n_states)
        own_ties = np.bincount(self.state, weights=self.count * self.size, minlength=n_states)
        most = 40.0 * np.maximum(number, 1.0) / np.maximum(own_ties, _NOTHING)
        total = self.wanted * float(own_ties.sum()) / float(number.sum())
        reach = np.minimum(number / np.maximum(total * shares, _NOTHING), most)
        chance = np.ones(len(self.state))
        for _ in range(_ROUNDS):
            wanted_ties = np.maximum(total * shares - self.seed_ties, _NOTHING)
            for _ in range(6):
                chance = -np.expm1(-self.size * reach[self.state])
                ties = np.bincount(self.state, weights=self.count * self.size / chance, minlength=n_states)
                reach = np.where(number > 0, np.minimum(reach * ties / wanted_ties, most), reach)
            chance = -np.expm1(-self.size * reach[self.state])
            off = self.wanted / float((self.count / chance).sum())
            total *= off**0.8
            if abs(off - 1.0) < 1e-9:
                break
        return 1.0 / chance


def _ties_that_came(sample: Sample, state: Ints, pairs: Pairs, period: Ints) -> Floats:
    """Ties of people who had come before the pairs of each period were made, on average, [periods, states]."""
    order = np.argsort(sample.arrival, kind="stable")
    rank = np.empty(len(sample), dtype=np.int64)
    rank[order] = np.arange(len(sample))
    placed = state[order] != UNKNOWN
    ties = np.zeros((len(sample) + 1, pairs.n_states))
    ties[1:][placed, state[order][placed]] = sample.network_size[order][placed]
    before = np.cumsum(ties, axis=0)[:-1]  # [rank, states]
    came = np.zeros((_PERIODS, pairs.n_states))
    for number in range(_PERIODS):
        here = rank[pairs.child[period == number]]
        came[number] = before[here].mean(axis=0) if len(here) else came[number - 1]
    return came
