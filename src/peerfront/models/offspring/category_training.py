"""Training of the generators that are networks of categories: per-field softmax and masked diffusion.

Both minimise the cross-entropy of the recruit's fields and stop on held-out pairs. Masked diffusion hides a random
share of a recruit's fields and weighs the loss of the hidden ones by one over that share, which bounds the likelihood.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.messages import Progress, silent
from peerfront.foundation.networks import Backward, EpochSettings, Perceptron, Rows, train_epochs
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.settings import (
    check_fields,
    layer_widths,
    not_negative,
    one_or_more,
    seed_number,
    share,
    step_size,
)
from peerfront.models.offspring.category_networks import (
    FillingNetwork,
    MaskedDiffusion,
    SoftmaxOffspring,
    filling_inputs,
)
from peerfront.models.offspring.inheritance_tables import InheritanceTable, fit_inheritance
from peerfront.models.offspring.pairs import Pairs

Slopes = Callable[[], list[Rows]]  # of a loss in the parameters of a network; computed when they are asked for
_MASKS_PER_PAIR = 4  # of each held-out pair, drawn once: the held-out loss of every epoch is of the same masks


def field_loss(schema: Schema, logits: Rows, codes: Codes, weights: Rows) -> tuple[float, Rows]:
    """Cross-entropy summed over fields, each with its weight, and its slope in the logits, [rows, columns].

    `weights` are [rows, fields]; unknown categories count nothing.
    """
    total, slope, rows = 0.0, np.empty_like(logits), np.arange(len(codes))
    weights = np.where(codes >= 0, weights, np.float32(0.0))
    for f, (start, size) in enumerate(zip(schema.offsets.tolist(), schema.sizes.tolist(), strict=True)):
        target, weight = np.maximum(codes[:, f], 0), weights[:, f]
        logs = log_softmax(logits[:, start : start + size], axis=1)
        total -= float((weight * logs[rows, target]).sum())
        of_field = np.exp(logs)
        of_field[rows, target] -= np.float32(1.0)
        slope[:, start : start + size] = of_field * weight[:, None]
    return total, slope


# Per-field softmax -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SoftmaxSettings:
    """How a per-field softmax is fitted."""

    hidden: tuple[int, ...] = ()
    """Hidden layers; none makes it a multinomial logit for each field."""
    epochs: int = 300
    batch: int = 256
    learning_rate: float = 1e-2
    held_out: float = 0.1
    """Share of the pairs on which training is stopped."""
    patience: int = 15
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            hidden=layer_widths,
            epochs=one_or_more,
            batch=one_or_more,
            learning_rate=step_size,
            held_out=share,
            patience=one_or_more,
            seed=seed_number,
        )


def fit_softmax(pairs: Pairs, settings: SoftmaxSettings | None = None, progress: Progress = silent) -> SoftmaxOffspring:
    """Fit a per-field softmax to the pairs."""
    settings, schema = settings or SoftmaxSettings(), pairs.schema
    training, held_out = pairs.split(settings.held_out, settings.seed)
    network = Perceptron.started([schema.columns, *settings.hidden, schema.columns], settings.seed, "gelu")
    parents, judged_parents = (schema.one_hot(data.parents) for data in (training, held_out))

    def loss(rows: Rows, codes: Codes) -> tuple[float, Slopes]:
        logits, backward = network.traced(rows)
        value, slope = field_loss(schema, logits, codes, np.full(codes.shape, 1.0 / len(codes), dtype=np.float32))
        return value, partial(backward, slope)

    train_epochs(
        network.parameters,
        lambda part: loss(parents[part], training.children[part])[1](),
        len(training),
        EpochSettings(settings.epochs, settings.batch, settings.learning_rate, settings.patience),
        named_generator("softmax", settings.seed),
        held_out_loss=lambda: loss(judged_parents, held_out.children)[0],
        progress=progress,
    )
    # No loss has moved the logits of a field known of no recruit: they are still random.
    unknown = np.repeat(~training.known_fields, schema.sizes)
    for parameter in network.parameters[-2:]:
        parameter[..., unknown] = 0.0
    return SoftmaxOffspring(schema, network.frozen())


# Masked diffusion --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MaskedSettings:
    """How a masked diffusion is fitted and sampled."""

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


class TrainedFilling:
    """The filling network while it is trained.

    The tables are fixed and the perceptron starts at zero, so training can only leave the plain tables for something
    that held-out recruiters confirm.
    """

    def __init__(self, tables: InheritanceTable, hidden: tuple[int, ...], seed: int) -> None:
        schema = tables.schema
        unknown = np.concatenate([np.log(table[-1]) for table in tables.tables])
        of_recruiter = np.zeros((schema.columns, schema.columns))
        for start, size, table in zip(schema.offsets, schema.sizes, tables.tables, strict=True):
            of_recruiter[start : start + size, start : start + size] = np.log(table[:-1]) - np.log(table[-1])
        self.unknown = unknown.astype(np.float32)
        self.known = of_recruiter.astype(np.float32)
        self.deep = Perceptron.started([filling_inputs(schema), *hidden, schema.columns], seed, "gelu")
        for parameter in self.deep.parameters[-2:]:
            parameter[...] = 0.0

    def traced(self, parents: Rows, child: Rows, hidden_fields: NDArray[np.bool_]) -> tuple[Rows, Backward]:
        """Logits of every category, and the way back to the perceptron's parameters."""
        logits, backward = self.deep.traced(np.concatenate([parents, child, hidden_fields.astype(np.float32)], axis=1))
        return self.unknown + parents @ self.known + logits, backward

    def frozen(self) -> FillingNetwork:
        return FillingNetwork(self.unknown, self.known, self.deep.frozen())


def fit_masked(
    pairs: Pairs,
    settings: MaskedSettings | None = None,
    progress: Progress = silent,
    tables: Callable[[Pairs], InheritanceTable] = fit_inheritance,
) -> MaskedDiffusion:
    """Fit a masked diffusion to the pairs, starting from `tables` of them."""
    settings, schema, fields = settings or MaskedSettings(), pairs.schema, len(pairs.schema.fields)
    training, held_out = pairs.split(settings.held_out, settings.seed)
    network = TrainedFilling(tables(training), settings.hidden, settings.seed)
    rng = named_generator("masked", settings.seed)

    def loss_of(data: Pairs, rows: NDArray[np.int64], masks: NDArray[np.bool_]) -> tuple[float, Slopes]:
        children = data.children[rows]
        visible = np.where(masks, np.int16(-1), children)
        logits, backward = network.traced(schema.one_hot(data.parents[rows]), schema.one_hot(visible), masks)
        weights = masks * (fields / len(rows) / np.maximum(masks.sum(axis=1, keepdims=True), 1))
        value, slope = field_loss(schema, logits, children, weights.astype(np.float32))
        return value, partial(backward, slope)

    everybody = np.tile(np.arange(len(held_out)), _MASKS_PER_PAIR)
    masks = _random_masks(len(everybody), fields, named_generator("masked", settings.seed, "held out"))
    train_epochs(
        network.deep.parameters,
        lambda part: loss_of(training, part, _random_masks(len(part), fields, rng))[1](),
        len(training),
        EpochSettings(
            settings.epochs, settings.batch, settings.learning_rate, settings.patience, settings.weight_decay
        ),
        rng,
        held_out_loss=lambda: loss_of(held_out, everybody, masks)[0],
        progress=progress,
    )
    return MaskedDiffusion(schema, network.frozen(), settings.steps)


def _random_masks(count: int, fields: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Hide k fields at random, k uniform on 1 .. fields, [count, fields]."""
    hide = rng.integers(1, fields + 1, count)
    ranks = np.argsort(np.argsort(rng.random((count, fields)), axis=1), axis=1)
    masks: NDArray[np.bool_] = ranks < hide[:, None]
    return masks
