"""Training of the generators that are networks of categories: per-field softmax and masked diffusion.

Both minimise the cross-entropy of the recruit's fields and stop on held-out pairs. Masked diffusion hides a random
share of a recruit's fields and weighs the loss of the hidden ones by one over that share, which bounds the likelihood.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from peerfront.foundation.covariates import Schema
from peerfront.foundation.messages import Progress, silent
from peerfront.foundation.networks import EpochSettings, frozen, perceptron, train_epochs
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

_MASKS_PER_PAIR = 4  # of each held-out pair, drawn once: the held-out loss of every epoch is of the same masks


def _field_losses(schema: Schema, logits: Tensor, codes: Tensor, counted: Tensor) -> Tensor:
    """Cross-entropy of each row summed over its counted fields, [rows]; unknown categories count nothing."""
    total = torch.zeros(len(codes))
    for f, (start, size) in enumerate(zip(schema.offsets.tolist(), schema.sizes.tolist(), strict=True)):
        target = codes[:, f]
        use = counted[:, f] & (target >= 0)
        losses = nn.functional.cross_entropy(logits[:, start : start + size], target.clamp(min=0), reduction="none")
        total = total + torch.where(use, losses, 0.0)
    return total


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
    network = perceptron([schema.columns, *settings.hidden, schema.columns], settings.seed, "gelu")
    parents, judged_parents = (torch.as_tensor(schema.one_hot(data.parents)) for data in (training, held_out))
    codes, judged_codes = (torch.as_tensor(data.children, dtype=torch.int64) for data in (training, held_out))

    def loss(rows: Tensor, targets: Tensor) -> Tensor:
        return _field_losses(schema, network(rows), targets, torch.ones_like(targets, dtype=torch.bool)).mean()

    train_epochs(
        network,
        lambda part: loss(parents[part], codes[part]),
        len(training),
        EpochSettings(settings.epochs, settings.batch, settings.learning_rate, settings.patience),
        named_generator("softmax", settings.seed),
        held_out_loss=lambda: float(loss(judged_parents, judged_codes)),
        progress=progress,
    )
    with torch.no_grad():  # no loss has moved the logits of a field known of no recruit: they are still random
        for f in np.flatnonzero(~training.known_fields):
            start = int(schema.offsets[f])
            for parameter in network[-1].parameters():
                parameter[start : start + int(schema.sizes[f])] = 0.0
    return SoftmaxOffspring(schema, frozen(network, "gelu"))


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


class _TrainedFilling(nn.Module):
    """The filling network while it is trained.

    The tables are fixed and the perceptron starts at zero, so training can only leave the plain tables for something
    that held-out recruiters confirm.
    """

    def __init__(self, tables: InheritanceTable, hidden: tuple[int, ...], seed: int) -> None:
        super().__init__()
        schema = tables.schema
        unknown = np.concatenate([np.log(table[-1]) for table in tables.tables])
        of_recruiter = np.zeros((schema.columns, schema.columns))
        for start, size, table in zip(schema.offsets, schema.sizes, tables.tables, strict=True):
            of_recruiter[start : start + size, start : start + size] = np.log(table[:-1]) - np.log(table[-1])
        self.unknown = torch.as_tensor(unknown, dtype=torch.float32)
        self.known = torch.as_tensor(of_recruiter, dtype=torch.float32)
        self.deep = perceptron([filling_inputs(schema), *hidden, schema.columns], seed, "gelu")
        with torch.no_grad():
            for parameter in self.deep[-1].parameters():
                parameter.zero_()

    def forward(self, parents: Tensor, child: Tensor, hidden_fields: Tensor) -> Tensor:
        visible = torch.cat([parents, child, hidden_fields.float()], dim=1)
        logits: Tensor = self.unknown + parents @ self.known + self.deep(visible)
        return logits

    def frozen(self) -> FillingNetwork:
        return FillingNetwork(self.unknown.numpy(), self.known.numpy(), frozen(self.deep, "gelu"))


def fit_masked(
    pairs: Pairs,
    settings: MaskedSettings | None = None,
    progress: Progress = silent,
    tables: Callable[[Pairs], InheritanceTable] = fit_inheritance,
) -> MaskedDiffusion:
    """Fit a masked diffusion to the pairs, starting from `tables` of them."""
    settings, schema, fields = settings or MaskedSettings(), pairs.schema, len(pairs.schema.fields)
    training, held_out = pairs.split(settings.held_out, settings.seed)
    network = _TrainedFilling(tables(training), settings.hidden, settings.seed)
    rng = named_generator("masked", settings.seed)

    def loss_of(data: Pairs, rows: NDArray[np.int64], masks: NDArray[np.bool_]) -> Tensor:
        children = data.children[rows]
        visible = np.where(masks, np.int16(-1), children)
        parents, child = (torch.as_tensor(schema.one_hot(codes)) for codes in (data.parents[rows], visible))
        hidden = torch.as_tensor(masks)
        codes = torch.as_tensor(children, dtype=torch.int64)
        losses = _field_losses(schema, network(parents, child, hidden), codes, hidden)
        return (losses * fields / hidden.sum(dim=1).clamp(min=1)).mean()

    everybody = np.tile(np.arange(len(held_out)), _MASKS_PER_PAIR)
    masks = _random_masks(len(everybody), fields, named_generator("masked", settings.seed, "held out"))
    train_epochs(
        network,
        lambda part: loss_of(training, part.numpy(), _random_masks(len(part), fields, rng)),
        len(training),
        EpochSettings(
            settings.epochs, settings.batch, settings.learning_rate, settings.patience, settings.weight_decay
        ),
        rng,
        held_out_loss=lambda: float(loss_of(held_out, everybody, masks)),
        progress=progress,
    )
    return MaskedDiffusion(schema, network.frozen(), settings.steps)


def _random_masks(count: int, fields: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Hide k fields at random, k uniform on 1 .. fields, [count, fields]."""
    hide = rng.integers(1, fields + 1, count)
    ranks = np.argsort(np.argsort(rng.random((count, fields)), axis=1), axis=1)
    masks: NDArray[np.bool_] = ranks < hide[:, None]
    return masks
