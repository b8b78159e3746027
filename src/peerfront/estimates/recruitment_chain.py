"""Recruitment as a Markov chain on a few states: its counts, its stationary distribution, and what it needs.

Whom a person recruits depends on what they are like, not on how many coupons they had. So the share of recruits in each
state, given the recruiter's state, is right whatever the coupon rule was, as long as the rule is the same for all
people of a state. Where ties are mutual, the stationary distribution of these shares is each state's share of all ties
(Salganik and Heckathorn 2004), and the chain is balanced: as many ties lead from one state to another as back.
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
