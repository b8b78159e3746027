"""Bootstraps of a referral sample: how often everybody, and every recruitment, counts in each replicate.

- **Neighbourhood** (Yauck and others 2022): draw people with replacement, and count everybody who is next to them in
  the tree. As many are drawn as give the sample's number of pairs; a pair counts once for each end drawn.
- **Tree** (Baraff, McCormick and Raftery 2016): draw seeds with replacement, then for every copy of a person as many
  recruits as they had, with replacement, down the tree.
- **Salganik** (2006): walk from recruit to recruit; the next one is drawn from the recruits of people who are in the
  same state as the last.
- **SS** (Gile 2011): make a population of copies of the sample's people, and draw samples with the sample's trees from
  it, without replacement: the state of each recruit by the chain and by what is left, the person in proportion to
  network size.

The last two follow the chain on the states of the stratified estimators: outcome x stratum.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from peerfront.estimates.recruitment_chain import Pairs, fit_depletion
from peerfront.estimates.sample import UNKNOWN, Floats, Ints, Replicates, Sample, the_sample
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Remedy
from peerfront.foundation.recruitment_trees import NOBODY

NEIGHBOURHOOD, TREE, SALGANIK, SUCCESSIVE = "neighbourhood", "tree", "salganik", "ss"
BOOTSTRAPS = (NEIGHBOURHOOD, TREE, SALGANIK, SUCCESSIVE)
_BATCH_CELLS = 2_000_000  # people times replicates at once: 16 MB an array
_LARGEST_POPULATION = 100_000_000  # of copies; nobody is missed in a larger one either

Drawing = Callable[[int, np.random.Generator], Replicates]


def drawing(kind: str, sample: Sample, state: Ints, population: int | None) -> Drawing:
    """Return what draws replicates of a sample; `state` is everybody's state of the chain."""
    if kind == NEIGHBOURHOOD:
        return partial(neighbourhood_bootstrap, sample)
    if kind == TREE:
        return partial(tree_bootstrap, sample)
    if kind == SALGANIK:
        return partial(salganik_bootstrap, sample, state)
    if population is None:
        raise SettingError("estimators.bootstrap_needs_population", remedy=Remedy("population"))
    return CopiedPopulation.of(sample, state, population).draw


def batches(
    kind: str, sample: Sample, state: Ints, population: int | None, replicates: int, rng: np.random.Generator
) -> Iterator[Replicates]:
    """Draw replicates some at a time, so that memory does not depend on their number."""
    draw = drawing(kind, sample, state, population)
    most = max(_BATCH_CELLS // len(sample), 1)
    for start in range(0, replicates, most):
        yield draw(min(most, replicates - start), rng)


def tree_bootstrap(sample: Sample, replicates: int, rng: np.random.Generator) -> Replicates:
    """Draw seeds, then recruits of every copy of their recruiter."""
    n_people = len(sample)
    counts = np.zeros((replicates, n_people), dtype=np.int64)
    roots = np.flatnonzero(sample.recruiter == NOBODY)
    counts[:, roots] = rng.multinomial(len(roots), np.full(len(roots), 1.0 / len(roots)), size=replicates)
    for parents, children, place in _waves(sample):
        brought = sample.recruits[parents]
        left = counts[:, parents] * brought  # draws still to be dealt to the recruits of each parent
        for number in range(int(brought.max(initial=0))):
            here = np.flatnonzero(brought > number)
            drawn = rng.binomial(left[:, here], 1.0 / (brought[here] - number))
            counts[:, children[place[here] + number]] = drawn
            left[:, here] -= drawn
    people = counts.astype(np.float64)
    return Replicates(people, np.where(sample.recruiter != NOBODY, people, 0.0))


def _waves(
    sample: Sample,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Go down the tree: parents, their recruits one parent after another, and where each parent's begin."""
    order = np.lexsort((sample.recruiter, sample.trees.wave))
    first = np.searchsorted(sample.trees.wave[order], np.arange(1, int(sample.trees.wave.max(initial=0)) + 2))
    for start, end in pairwise(first):
        children = order[start:end]
        parents, place = np.unique(sample.recruiter[children], return_index=True)
        yield parents, children, place


def neighbourhood_bootstrap(sample: Sample, replicates: int, rng: np.random.Generator) -> Replicates:
    """Draw people, and count their neighbours in the tree."""
    n_people, recruited = len(sample), sample.recruited
    recruiter = sample.recruiter[recruited]
    size = max(round(n_people / 2), 1)  # every pair has two ends, so as many pairs are drawn as there are
    drawn = rng.multinomial(size, np.full(n_people, 1.0 / n_people), size=replicates).astype(np.float64)
    people = np.zeros_like(drawn)
    people[:, recruited] = drawn[:, recruiter]
    order = np.argsort(recruiter, kind="stable")  # recruits, one recruiter's after another
    owners, first = np.unique(recruiter[order], return_index=True)
    if len(owners):
        people[:, owners] += np.add.reduceat(drawn[:, recruited[order]], first, axis=1)
    pairs = np.zeros_like(drawn)
    pairs[:, recruited] = drawn[:, recruited] + drawn[:, recruiter]
    return Replicates(people, pairs)


def salganik_bootstrap(sample: Sample, state: Ints, replicates: int, rng: np.random.Generator) -> Replicates:
    """Walk from recruit to recruit, each drawn from the recruits of people like the last."""
    pairs = Pairs.of(sample, state, int(state.max(initial=0)) + 1)
    n_pairs = len(pairs.child)
    counts = np.zeros((replicates, len(sample)))
    if n_pairs:
        order = np.argsort(pairs.source, kind="stable")
        child, target = pairs.child[order], pairs.target[order]
        number = np.bincount(pairs.source, minlength=pairs.n_states)
        first = np.cumsum(number) - number
        number, first = np.where(number > 0, number, n_pairs), np.where(number > 0, first, 0)  # nobody's: any recruit
        row = np.arange(replicates)
        now = target[rng.integers(n_pairs, size=replicates)]
        for _ in range(n_pairs):
            drawn = first[now] + rng.integers(number[now])
            counts[row, child[drawn]] += 1.0
            now = target[drawn]
    return Replicates(counts, counts)


@dataclass(frozen=True, eq=False)
class CopiedPopulation:
    """A population of copies of the sample's people, each as often as the people they stand for."""

    sample: Sample
    state: Ints  # [people]
    pairs: Pairs
    shares: Floats  # [states, states], of whom people of a state know
    cell: Ints  # [people], people of one state and network size are one cell; UNKNOWN for those who are not copied
    cell_state: Ints  # [cells], rising
    cell_size: Floats  # [cells]
    copies: Ints  # [people]

    @classmethod
    def of(cls, sample: Sample, state: Ints, population: int) -> "CopiedPopulation":
        """Copy people as often as stratified successive sampling says that they stand for others."""
        pairs = Pairs.of(sample, state, int(state.max(initial=0)) + 1)
        whole = the_sample(sample)
        finite = fit_depletion(sample, state, pairs, min(population, _LARGEST_POPULATION), whole.pairs)
        seen = pairs.counts(whole.pairs)[0] > 0  # other recruitments have no pair that could count
        ties = np.where(seen | ~seen.any(axis=1, keepdims=True), finite.ties, 0.0)
        copied = np.flatnonzero((finite.weights > 0) & (sample.recruiter != NOBODY))
        cells, place = np.unique(
            np.column_stack([state[copied], sample.network_size[copied]]), axis=0, return_inverse=True
        )
        cell = np.full(len(sample), UNKNOWN, dtype=np.int64)
        cell[copied] = place.reshape(-1)
        copies = np.zeros(len(sample), dtype=np.int64)
        for number in range(len(cells)):
            members = np.flatnonzero(cell == number)
            total = max(round(float(finite.weights[members].sum())), len(members))
            copies[members] = total // len(members)
            copies[members[: total % len(members)]] += 1
        shares = ties / ties.sum(axis=1, keepdims=True)
        return cls(sample, state, pairs, shares, cell, cells[:, 0].astype(np.int64), cells[:, 1], copies)

    def draw(self, replicates: int, rng: np.random.Generator) -> Replicates:
        """Draw samples with the sample's trees; seeds are the sample's own."""
        sample, n_states = self.sample, self.pairs.n_states
        row = np.arange(replicates)
        copied = self.cell != UNKNOWN
        there = np.bincount(self.cell[copied], weights=self.copies[copied], minlength=len(self.cell_state))
        left = np.tile(there, (replicates, 1)).astype(np.float64)  # [replicates, cells]
        ties = np.zeros((replicates, n_states))  # of those left
        ties += np.bincount(self.cell_state, weights=there * self.cell_size, minlength=n_states)
        at_first = np.maximum(ties[0], 1e-9)
        end = np.searchsorted(self.cell_state, np.arange(n_states), side="right")
        now = np.full((replicates, len(sample)), UNKNOWN, dtype=np.int64)  # states
        counted = np.zeros(left.shape)
        moves = np.zeros((replicates, n_states, n_states))
        is_pair = np.zeros(len(sample), dtype=bool)
        is_pair[self.pairs.child] = True
        overall = ties[0] / ties[0].sum()
        for person in np.lexsort((sample.arrival, sample.trees.wave)):
            recruiter = sample.recruiter[person]
            if recruiter == NOBODY:
                own = self.state[person]
                now[:, person] = rng.choice(n_states, size=replicates, p=overall) if own == UNKNOWN else own
                continue
            source = now[:, recruiter]
            chance = self.shares[source] * (ties / at_first)
            nobody = ~(chance.sum(axis=1) > 0)
            chance[nobody] = ties[nobody]  # nobody of those whom they know is left: somebody else comes
            target = _drawn(np.cumsum(chance, axis=1), rng.random(replicates))
            sizes = np.cumsum(left * self.cell_size, axis=1)
            until = sizes[row, end[target] - 1]
            before = np.where(target > 0, sizes[row, np.maximum(end[target - 1] - 1, 0)], 0.0)
            wanted = before + rng.random(replicates) * (until - before)
            cell = np.minimum((sizes <= wanted[:, None]).sum(axis=1), end[target] - 1)
            left[row, cell] = np.maximum(left[row, cell] - 1.0, 0.0)
            ties[row, target] = np.maximum(ties[row, target] - self.cell_size[cell], 0.0)
            now[:, person] = target
            if self.cell[person] != UNKNOWN:
                counted[row, cell] += 1.0
            if is_pair[person]:
                moves[row, source, target] += 1.0
        return Replicates(self._people(counted, rng), self._pairs(moves))

    def _people(self, counted: Floats, rng: np.random.Generator) -> Floats:
        """Deal the people drawn of each cell to its members, [replicates, people]; roots of trees count once."""
        people = np.zeros((len(counted), len(self.sample)))
        people[:, self.sample.recruiter == NOBODY] = 1.0
        for number in range(len(self.cell_state)):
            members = np.flatnonzero(self.cell == number)
            wanted, others = counted[:, number].astype(np.int64), int(self.copies[members].sum())
            for member in members:
                others -= int(self.copies[member])
                drawn = rng.hypergeometric(
                    self.copies[member], others, np.minimum(wanted, self.copies[member] + others)
                )
                people[:, member] = drawn
                wanted = wanted - drawn
        return people

    def _pairs(self, moves: Floats) -> Floats:
        """Deal recruitments from state to state to the sample's pairs of these states, evenly, [replicates, people]."""
        pairs = np.zeros((len(moves), len(self.sample)))
        source, target = self.pairs.source, self.pairs.target
        there = self.pairs.counts(the_sample(self.sample).pairs)[0]
        pairs[:, self.pairs.child] = moves[:, source, target] / there[source, target]
        return pairs


def _drawn(cumulated: Floats, chance: Floats) -> NDArray[np.int64]:
    """Draw one column of each row by cumulated weights."""
    wanted = chance[:, None] * cumulated[:, -1:]
    return np.asarray(np.minimum((cumulated <= wanted).sum(axis=1), cumulated.shape[1] - 1))
