"""Generators that are networks of categories: per-field softmax, and masked diffusion. `category_training` fits them.

Per-field softmax: a network maps the recruiter to the chances of every category of every field. Fields of a recruit are
independent given the recruiter. A field known of no recruit is drawn evenly.

Masked diffusion: a discrete diffusion made for categories (Austin et al. 2021, absorbing states).

Noise hides fields; the network fills hidden fields from the recruiter and the fields that are already revealed.
Sampling starts with everything hidden and reveals fields in a random order, a few at a time; unlike the per-field
softmax the recruit's fields can then depend on each other.

There are two samplers. `sample_plainly` runs the whole network at every step: the reference. `sample` gives the same
recruits at a fraction of the work: the first layer sees one-hot rows, so that a revealed field changes its sums by two
rows of weights, and of the last layer only the categories of the fields being revealed are needed. Sums are in the
network's own precision, in another order; a recruit differs from the plain one where its uniform falls within some
1e-6 of a boundary.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import softmax

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.networks import FrozenNetwork
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import check_fields, one_or_more
from peerfront.foundation.stored import Stored
from peerfront.models.offspring.inheritance_tables import draw_categories, draw_fields

Rows = NDArray[np.float32]
_AT_ONCE = 2048  # recruits whose sums stay in the processor's cache from step to step


@dataclass(frozen=True, eq=False)
class SoftmaxOffspring:
    """A fitted per-field softmax."""

    schema: Schema
    network: FrozenNetwork  # from the recruiter's one-hot row to the logits of all categories
    name: str = "softmax"

    def probabilities(self, parents: Codes) -> list[NDArray[np.float64]]:
        """Per field the chances of each category, [children, categories]."""
        self.schema.check(parents)
        first, bias = self.network.weights[0], self.network.biases[0]
        return softmax_by_field(self.schema, self.network.after_first(self.schema.summed_rows(first, parents) + bias))

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        probabilities = self.probabilities(parents)
        luck.check(len(parents))
        return draw_fields(probabilities, luck)

    def stored(self) -> Stored:
        return self.network.stored()

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "SoftmaxOffspring":
        return cls(schema, FrozenNetwork.restored(stored, schema.columns, schema.columns, "gelu"))


def softmax_by_field(schema: Schema, logits: NDArray[np.float32]) -> list[NDArray[np.float64]]:
    """Per field the chances of each category, [rows, categories], from logits [rows, columns]."""
    ends = zip(schema.offsets.tolist(), schema.sizes.tolist(), strict=True)
    return [softmax(logits[:, start : start + size].astype(np.float64), axis=1) for start, size in ends]


# Masked diffusion -----------------------------------------------------------------------------------------------


def filling_inputs(schema: Schema) -> int:
    """Columns of the recruiter and of the recruit, and for each field whether it is hidden."""
    return 2 * schema.columns + len(schema.fields)


@dataclass(frozen=True, eq=False)
class FillingNetwork:
    """Logits of every category: those of the inheritance tables, plus a perceptron's of everything visible."""

    unknown: Rows  # [columns], each category's logit when nothing is known of the recruiter
    known: Rows  # [columns, columns], what each category of the recruiter adds to it
    deep: FrozenNetwork  # from recruiter, recruit and hidden fields (`filling_inputs`) to [columns]

    def __call__(self, parents: Rows, child: Rows, hidden_fields: NDArray[np.bool_]) -> Rows:
        visible = np.concatenate([parents, child, hidden_fields.astype(np.float32)], axis=1)
        return self.unknown + parents @ self.known + self.deep(visible)


@dataclass(frozen=True, eq=False)
class MaskedDiffusion:
    """A fitted masked diffusion."""

    schema: Schema
    network: FillingNetwork
    steps: int
    name: str = "masked"

    def __post_init__(self) -> None:
        check_fields(self, steps=one_or_more)

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        self.schema.check(parents)
        luck.check(len(parents))
        turns, uniforms, steps = self._turns(luck)
        children = np.empty(parents.shape, dtype=np.int16)
        for start in range(0, len(parents), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            children[part] = self._revealer.sample(parents[part], turns[part], uniforms[part], steps)
        return children

    def sample_plainly(self, parents: Codes, luck: Luck) -> Codes:
        """The same with the whole network at every step: the reference of `sample`."""
        turns, uniforms, steps = self._turns(luck)
        children = np.full(parents.shape, -1, dtype=np.int16)
        rows = self.schema.one_hot(parents)
        for step in range(steps):
            logits = self.network(rows, self.schema.one_hot(children), children < 0)
            for f, chances in enumerate(softmax_by_field(self.schema, logits)):
                now = np.flatnonzero(turns[:, f] == step)
                children[now, f] = draw_categories(chances[now], uniforms[now, f])
        return children

    def _turns(self, luck: Luck) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
        """The step at which each field is revealed and the uniform that decides it, [recruits, fields]; the steps."""
        fields = len(self.schema.fields)
        steps = min(self.steps, fields)
        uniforms = luck.uniforms("offspring", 2 * fields)
        ranks = np.argsort(np.argsort(uniforms[:, :fields], axis=1), axis=1)
        return ranks * steps // fields, uniforms[:, fields:], steps

    @cached_property
    def _revealer(self) -> "_Revealer":
        return _Revealer.of(self.schema, self.network)

    def stored(self) -> Stored:
        tables = Stored({}, {"unknown": self.network.unknown, "known": self.network.known})
        return Stored.of_parts({"steps": self.steps}, tables=tables, deep=self.network.deep.stored())

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "MaskedDiffusion":
        columns, tables = schema.columns, stored.part("tables")
        unknown = tables.array("unknown", (columns,), np.float32, largest=1e6)
        known = tables.array("known", (columns, columns), np.float32, largest=1e6)
        deep = FrozenNetwork.restored(stored.part("deep"), filling_inputs(schema), columns, "gelu")
        return cls(schema, FillingNetwork(unknown, known, deep), stored.setting("steps", int))


# The quick sampler -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Revealer:
    """The weights of a filling network, taken apart."""

    offsets: NDArray[np.int64]  # [fields], the first category of each
    sizes: NDArray[np.int64]  # [fields], categories of each
    start: Rows  # [first], the first layer's sums when everything is hidden and nothing known of the recruiter
    parent: Rows  # [columns, first], what each category of the recruiter adds to the first layer's sums
    child: Rows  # [columns, first], what each revealed category of the recruit adds
    hidden: Rows  # [fields, first], what each hidden field adds
    middle: tuple[tuple[Rows, Rows], ...] | None  # layers between the first and the last; None if they are the same
    last: Rows  # [columns, last], weights of each category's logit
    unknown: Rows  # [columns], each category's logit when nothing is known
    known: Rows  # [columns, columns], what each category of the recruiter adds to it

    @classmethod
    def of(cls, schema: Schema, network: FillingNetwork) -> "_Revealer":
        columns, deep = schema.columns, network.deep
        parent, child, hidden = np.split(np.ascontiguousarray(deep.weights[0]), [columns, 2 * columns])
        middle, last, unknown = None, np.eye(columns, dtype=np.float32), network.unknown
        if len(deep.weights) > 1:
            middle = tuple(zip(deep.weights[1:-1], deep.biases[1:-1], strict=True))
            last, unknown = np.ascontiguousarray(deep.weights[-1].T), unknown + deep.biases[-1]
        return cls(
            offsets=schema.offsets.astype(np.int64),
            sizes=schema.sizes.astype(np.int64),
            start=deep.biases[0] + hidden.sum(axis=0),
            parent=parent,
            child=child,
            hidden=hidden,
            middle=middle,
            last=last,
            unknown=unknown,
            known=np.ascontiguousarray(network.known),
        )

    def sample(self, parents: Codes, turns: NDArray[np.int64], uniforms: NDArray[np.float64], steps: int) -> Codes:
        """Recruits whose field f is revealed at step turns[:, f] by its uniform; both are [recruits, fields]."""
        children = np.full(parents.shape, -1, dtype=np.int16)
        sums, outputs = (np.empty((len(parents), len(self.start)), dtype=np.float32) for _ in range(2))
        _begin(sums, self.start, self.parent, parents, self.offsets)
        for step in range(steps):
            _reveal(
                step,
                turns,
                uniforms,
                self._features(sums, outputs),
                self.last,
                self.unknown,
                self.known,
                parents,
                self.offsets,
                self.sizes,
                children,
            )
            if step < steps - 1:
                _add(step, turns, sums, self.child, self.hidden, children, self.offsets)
        return children

    def _features(self, sums: Rows, outputs: Rows) -> Rows:
        """The last layer's inputs, from the first layer's sums; its outputs are written to `outputs`."""
        if self.middle is None:
            return sums
        _gelu(sums, outputs)
        for weights, biases in self.middle:
            sums = outputs @ weights + biases
            outputs = np.empty_like(sums)
            _gelu(sums, outputs)
        return outputs


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


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")  # a division by zero check is a branch
def _gelu(sums: Rows, outputs: Rows) -> None:
    """Write x (1 + erf(x / sqrt 2)) / 2 to `outputs`, with Eigen's rational approximation of erf on [-4, 4].

    All in single precision and without branches, so that the compiler makes vector instructions of it.
    """
    half, one, end, scale = np.float32(0.5), np.float32(1.0), np.float32(4.0), np.float32(0.70710678)
    for i in range(sums.shape[0]):
        for h in range(sums.shape[1]):
            z = min(max(sums[i, h] * scale, -end), end)
            square = z * z
            over = np.float32(-2.72614225801306e-10) * square + np.float32(2.77068142495902e-08)
            over = over * square + np.float32(-2.10102402082508e-06)
            over = over * square + np.float32(-5.69250639462346e-05)
            over = over * square + np.float32(-7.34990630326855e-04)
            over = over * square + np.float32(-2.95459980854025e-03)
            over = over * square + np.float32(-1.60960333262415e-02)
            under = np.float32(-1.45660718464996e-05) * square + np.float32(-2.13374055278905e-04)
            under = under * square + np.float32(-1.68282697438203e-03)
            under = under * square + np.float32(-7.37332916720468e-03)
            under = under * square + np.float32(-1.42647390514189e-02)
            outputs[i, h] = half * sums[i, h] * (one + z * over / under)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _reveal(
    step: int,
    turns: NDArray[np.int64],
    uniforms: NDArray[np.float64],
    features: Rows,
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
    width = features.shape[1]
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
                    logit += features[i, h] * last[start + c, h]
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
