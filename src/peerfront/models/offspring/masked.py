"""Masked diffusion: a discrete diffusion made for categories (Austin et al. 2021, absorbing states).

Noise hides fields; the network fills hidden fields from the recruiter and the fields that are already known. Training
hides a random share of a child's fields and weighs the loss by one over that share, which bounds the likelihood.
Sampling starts with everything hidden and reveals fields in a random order, a few at a time; unlike the per-field
softmax the recruit's fields can then depend on each other.

Recruits of a masked diffusion in bulk: what `MaskedDiffusion.sample_plainly` does, at a fraction of the work.

The first layer of the network sees one-hot rows, so a revealed field changes its sums by two rows of weights, and of
the last layer only the categories of the fields being revealed are needed. Sums are in the network's own precision, in
another order; a recruit differs from the plain one where its uniform falls within some 1e-6 of a boundary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor, nn

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck, named_generator
from peerfront.foundation.settings import (
    check_fields,
    layer_widths,
    not_negative,
    one_or_more,
    seed_number,
    share,
    step_size,
)
from peerfront.foundation.stored import Stored
from peerfront.models.checks import check_luck, check_people
from peerfront.models.offspring.inheritance import InheritanceTable, draw_categories, fit_inheritance
from peerfront.models.offspring.networks import (
    field_losses,
    one_hot,
    perceptron,
    restored_perceptron,
    stored_perceptron,
    train,
)
from peerfront.models.offspring.pairs import Pairs

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


_AT_ONCE = 2048  # recruits whose sums stay in the processor's cache from step to step


@dataclass(frozen=True)
class MaskedSettings:
    hidden: tuple[int, ...] = (128,)
    epochs: int = 200
    batch: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.05
    held_out: float = 0.1
    """Share of the pairs on which training is stopped."""
    patience: int = 20
    steps: int = 8
    """Reveals per child; as many as fields is exact, fewer is faster."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            hidden=layer_widths,
            epochs=one_or_more,
            batch=one_or_more,
            learning_rate=step_size,
            weight_decay=not_negative,
            held_out=share,
            patience=one_or_more,
            steps=one_or_more,
            seed=seed_number,
        )


def filling_inputs(schema: Schema) -> int:
    """Columns of the recruiter and of the recruit, and for each field whether it is hidden."""
    return 2 * schema.columns + len(schema.fields)


class FillingNetwork(nn.Module):
    """Logits of every category: those of the inheritance tables, plus what a perceptron makes of all that is known.

    The tables are fixed and the perceptron starts at zero, so training can only leave the plain tables for something
    that held-out recruiters confirm.
    """

    def __init__(self, unknown: Tensor, known: Tensor, deep: nn.Sequential) -> None:
        super().__init__()
        self.unknown: Tensor
        self.known: Tensor
        self.register_buffer("unknown", unknown)
        self.register_buffer("known", known)
        self.deep = deep

    @classmethod
    def of_tables(cls, tables: InheritanceTable, hidden: tuple[int, ...], seed: int) -> "FillingNetwork":
        schema = tables.schema
        unknown = np.concatenate([np.log(table[-1]) for table in tables.tables])
        known = np.zeros((schema.columns, schema.columns))
        for start, size, table in zip(schema.offsets, schema.sizes, tables.tables, strict=True):
            known[start : start + size, start : start + size] = np.log(table[:-1]) - np.log(table[-1])
        deep = perceptron(filling_inputs(schema), hidden, schema.columns, seed)
        with torch.no_grad():
            for parameter in deep[-1].parameters():
                parameter.zero_()
        return cls(torch.as_tensor(unknown, dtype=torch.float32), torch.as_tensor(known, dtype=torch.float32), deep)

    def forward(self, parents: Tensor, child: Tensor, hidden_fields: Tensor) -> Tensor:
        seen = torch.cat([parents, child, hidden_fields.float()], dim=1)
        logits: Tensor = self.unknown + parents @ self.known + self.deep(seen)
        return logits


@dataclass(frozen=True, eq=False)
class MaskedDiffusion:
    schema: Schema
    network: FillingNetwork
    steps: int
    name: str = "masked"

    def __post_init__(self) -> None:
        check_fields(self, steps=one_or_more)

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        check_people(self.schema, parents)
        check_luck(parents, luck)
        turns, uniforms, steps = self._chances(luck)
        children = np.empty(parents.shape, dtype=np.int16)
        for start in range(0, len(parents), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            children[part] = self._revealer.sample(self.schema, parents[part], turns[part], uniforms[part], steps)
        return children

    def sample_plainly(self, parents: Codes, luck: Luck) -> Codes:
        """The same by the letter, the whole network for every step: the reference of `sample`."""
        schema = self.schema
        turns, uniforms, steps = self._chances(luck)
        children = np.full(parents.shape, -1, dtype=np.int16)
        rows = one_hot(schema, parents)
        for step in range(steps):
            with torch.inference_mode():
                logits = self.network(rows, one_hot(schema, children), torch.as_tensor(children < 0)).double()
            for f, (start, size) in enumerate(zip(schema.offsets.tolist(), schema.sizes.tolist(), strict=True)):
                now = np.flatnonzero(turns[:, f] == step)
                chances = torch.softmax(logits[now, start : start + size], dim=1).numpy()
                children[now, f] = draw_categories(chances, uniforms[now, f])
        return children

    def _chances(self, luck: Luck) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
        """Each recruit's own order of revealing and its own uniform for each field, [recruits, fields]; the steps."""
        fields = len(self.schema.fields)
        steps = min(self.steps, fields)
        uniforms = luck.uniforms("offspring", 2 * fields)
        ranks = np.argsort(np.argsort(uniforms[:, :fields], axis=1), axis=1)
        return ranks * steps // fields, uniforms[:, fields:], steps

    @cached_property
    def _revealer(self) -> Revealer:
        network = self.network
        return Revealer.of(self.schema, network.unknown.numpy(), network.known.numpy(), network.deep)

    def stored(self) -> Stored:
        tables = Stored({}, {"unknown": self.network.unknown.numpy(), "known": self.network.known.numpy()})
        return Stored.of_parts({"steps": self.steps}, tables=tables, deep=stored_perceptron(self.network.deep))

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "MaskedDiffusion":
        columns, tables = schema.columns, stored.part("tables")
        unknown = torch.as_tensor(tables.array("unknown", (columns,), np.float32))
        known = torch.as_tensor(tables.array("known", (columns, columns), np.float32))
        deep = restored_perceptron(stored.part("deep"), filling_inputs(schema), columns)
        return cls(schema, FillingNetwork(unknown, known, deep).eval(), stored.setting("steps", int))


def fit_masked(
    pairs: Pairs, settings: MaskedSettings | None = None, progress: Callable[[int, int], None] | None = None
) -> MaskedDiffusion:
    chosen = settings or MaskedSettings()
    schema, fields = pairs.schema, len(pairs.schema.fields)
    training, held_out = pairs.split(chosen.held_out, chosen.seed)
    network = FillingNetwork.of_tables(fit_inheritance(training), chosen.hidden, chosen.seed)
    rng = named_generator("masked", chosen.seed)

    def loss_of(data: Pairs, part: NDArray[np.int64], masks: NDArray[np.bool_]) -> Tensor:
        children = data.children[part]
        visible = np.where(masks, np.int16(-1), children)
        hidden = torch.as_tensor(masks)
        logits = network(one_hot(schema, data.parents[part]), one_hot(schema, visible), hidden)
        losses = field_losses(schema, logits, torch.as_tensor(children, dtype=torch.int64), hidden)
        return (losses * fields / hidden.sum(dim=1).clamp(min=1)).mean()

    def masks(count: int, source: np.random.Generator) -> NDArray[np.bool_]:
        """Hide k fields at random, k uniform on 1 .. fields."""
        hide = source.integers(1, fields + 1, count)
        ranks = np.argsort(np.argsort(source.random((count, fields)), axis=1), axis=1)
        mask: NDArray[np.bool_] = ranks < hide[:, None]
        return mask

    everybody = np.tile(np.arange(len(held_out)), 4)
    fixed = masks(len(everybody), named_generator("masked", chosen.seed, "held out"))
    train(
        network,
        lambda part: loss_of(training, part.numpy(), masks(len(part), rng)),
        len(training),
        epochs=chosen.epochs,
        batch=chosen.batch,
        learning_rate=chosen.learning_rate,
        weight_decay=chosen.weight_decay,
        rng=rng,
        held_out_loss=lambda: float(loss_of(held_out, everybody, fixed)),
        patience=chosen.patience,
        progress=progress,
    )
    return MaskedDiffusion(schema, network, chosen.steps)
