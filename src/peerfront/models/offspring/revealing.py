"""Recruits of a masked diffusion in bulk: what `MaskedDiffusion.sample_plainly` does, at a fraction of the work.

The first layer of the network sees one-hot rows, so a revealed field changes its sums by two rows of weights, and of
the last layer only the categories of the fields being revealed are needed. Sums are in the network's own precision, in
another order; a recruit differs from the plain one where its uniform falls within some 1e-6 of a boundary.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import nn

from peerfront.covariates import Codes, Schema

Rows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Revealer:
    """The weights of a filling network, taken apart."""

    parent: Rows  # [columns, first], what each category of the recruiter adds to the first layer's sums
    child: Rows  # [columns, first], what each revealed category of the recruit adds
    hidden: Rows  # [fields, first], what each hidden field adds
    bias: Rows  # [first]
    middle: nn.Module  # from the first layer's sums to the last layer's inputs
    last: Rows  # [columns, last], weights of each category's logit
    unknown: Rows  # [columns], each category's logit when nothing is known
    known: Rows  # [columns, columns], what each category of the recruiter adds to it

    @classmethod
    def of(cls, schema: Schema, unknown: Rows, known: Rows, deep: nn.Sequential) -> "Revealer":
        columns = schema.columns
        weights, bias = _rows(deep[0].weight.T), _rows(deep[0].bias)
        last = np.eye(columns, dtype=np.float32)  # of a network without hidden layers: its first sums are its logits
        if len(deep) > 1:
            last, unknown = _rows(deep[-1].weight), unknown + _rows(deep[-1].bias)
        recruiter, recruit, hidden = np.split(weights, [columns, 2 * columns])
        return cls(recruiter, recruit, hidden, bias, deep[1:-1], last, unknown, known)

    def sample(
        self, schema: Schema, parents: Codes, turns: NDArray[np.int64], uniforms: NDArray[np.float64], steps: int
    ) -> Codes:
        """Recruits whose field f is revealed at step turns[:, f] by its uniform; both are [recruits, fields]."""
        offsets, sizes = schema.offsets.astype(np.int64), schema.sizes.astype(np.int64)
        children = np.full(parents.shape, -1, dtype=np.int16)
        sums = np.empty((len(parents), len(self.bias)), dtype=np.float32)
        _begin(sums, self.bias + self.hidden.sum(axis=0), self.parent, parents, offsets)
        for step in range(steps):
            with torch.inference_mode():
                seen = self.middle(torch.from_numpy(sums)).numpy()
            _reveal(step, turns, uniforms, seen, self.last, self.unknown, self.known, parents, offsets, sizes, children)
            if step < steps - 1:
                _add(step, turns, sums, self.child, self.hidden, children, offsets)
        return children


def _rows(weights: Any) -> Rows:
    rows: Rows = np.ascontiguousarray(weights.detach().numpy(), dtype=np.float32)
    return rows


@njit(cache=True, nogil=True)
def _begin(sums: Rows, start: Rows, rows: Rows, parents: Codes, offsets: NDArray[np.int64]) -> None:
    """The first layer's sums while every field of the recruit is hidden."""
    for i in range(len(sums)):
        for h in range(len(start)):
            sums[i, h] = start[h]
        for f in range(len(offsets)):
            if parents[i, f] >= 0:
                row = offsets[f] + parents[i, f]
                for h in range(len(start)):
                    sums[i, h] += rows[row, h]


@njit(cache=True, nogil=True)
def _add(
    step: int,
    turns: NDArray[np.int64],
    sums: Rows,
    child: Rows,
    hidden: Rows,
    children: Codes,
    offsets: NDArray[np.int64],
) -> None:
    """Add to the first layer's sums what was revealed in this step, and take away that it was hidden."""
    for i in range(len(sums)):
        for f in range(len(offsets)):
            if turns[i, f] == step:
                row = offsets[f] + children[i, f]
                for h in range(sums.shape[1]):
                    sums[i, h] += child[row, h] - hidden[f, h]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _reveal(
    step: int,
    turns: NDArray[np.int64],
    uniforms: NDArray[np.float64],
    seen: Rows,
    last: Rows,
    unknown: Rows,
    known: Rows,
    parents: Codes,
    offsets: NDArray[np.int64],
    sizes: NDArray[np.int64],
    children: Codes,
) -> None:
    """Draw the fields whose turn it is: the category at which the summed chances reach the uniform."""
    chances = np.empty(sizes.max())
    width = seen.shape[1]
    for i in range(len(parents)):
        for f in range(len(offsets)):
            if turns[i, f] != step:
                continue
            start, size = offsets[f], sizes[f]
            largest = -np.inf
            for c in range(size):
                logit = unknown[start + c]
                if parents[i, f] >= 0:
                    logit += known[start + parents[i, f], start + c]
                for h in range(width):
                    logit += seen[i, h] * last[start + c, h]
                chances[c] = logit
                largest = max(largest, chances[c])
            total = 0.0
            for c in range(size):
                chances[c] = np.exp(chances[c] - largest)
                total += chances[c]
            wanted = uniforms[i, f] * total
            summed, drawn = chances[0], 0
            while drawn < size - 1 and wanted > summed:
                drawn += 1
                summed += chances[drawn]
            children[i, f] = drawn
