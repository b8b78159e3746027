"""Per-field softmax: a network maps the recruiter to the chances of every category of every field.

Fields of a recruit are independent given the recruiter. Training stops on held-out pairs. A field known of no recruit
is drawn evenly.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck, named_generator
from peerfront.foundation.settings import check_fields, layer_widths, one_or_more, seed_number, share, step_size
from peerfront.foundation.stored import Stored
from peerfront.models.checks import check_luck, check_people
from peerfront.models.offspring.inheritance import draw_fields
from peerfront.models.offspring.networks import (
    field_losses,
    one_hot,
    perceptron,
    restored_perceptron,
    stored_perceptron,
    train,
)
from peerfront.models.offspring.pairs import Pairs


@dataclass(frozen=True)
class SoftmaxSettings:
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


@dataclass(frozen=True, eq=False)
class SoftmaxOffspring:
    schema: Schema
    network: nn.Sequential
    name: str = "softmax"

    def probabilities(self, parents: Codes) -> list[NDArray[np.float64]]:
        """Per field the chances of each category, [children, categories]."""
        check_people(self.schema, parents)
        with torch.inference_mode():
            logits = self.network(one_hot(self.schema, parents)).double()
        ends = zip(self.schema.offsets.tolist(), self.schema.sizes.tolist(), strict=True)
        return [torch.softmax(logits[:, start : start + size], dim=1).numpy() for start, size in ends]

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        probabilities = self.probabilities(parents)
        check_luck(parents, luck)
        return draw_fields(probabilities, luck)

    def stored(self) -> Stored:
        return stored_perceptron(self.network)

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "SoftmaxOffspring":
        return cls(schema, restored_perceptron(stored, schema.columns, schema.columns))


def fit_softmax(
    pairs: Pairs, settings: SoftmaxSettings | None = None, progress: Callable[[int, int], None] | None = None
) -> SoftmaxOffspring:
    chosen = settings or SoftmaxSettings()
    training, held_out = pairs.split(chosen.held_out, chosen.seed)
    network = perceptron(pairs.schema.columns, chosen.hidden, pairs.schema.columns, chosen.seed)
    inputs, targets = one_hot(pairs.schema, training.parents), torch.as_tensor(training.children, dtype=torch.int64)
    judged, truth = one_hot(pairs.schema, held_out.parents), torch.as_tensor(held_out.children, dtype=torch.int64)
    every, every_held = torch.ones_like(targets, dtype=torch.bool), torch.ones_like(truth, dtype=torch.bool)
    train(
        network,
        lambda part: field_losses(pairs.schema, network(inputs[part]), targets[part], every[part]).mean(),
        len(training),
        epochs=chosen.epochs,
        batch=chosen.batch,
        learning_rate=chosen.learning_rate,
        rng=named_generator("softmax", chosen.seed),
        held_out_loss=lambda: float(field_losses(pairs.schema, network(judged), truth, every_held).mean()),
        patience=chosen.patience,
        progress=progress,
    )
    last = network[-1]
    with torch.no_grad():  # nothing has moved the logits of a field nobody knows: they are still random
        for f in np.flatnonzero(~training.known_fields):
            start = int(pairs.schema.offsets[f])
            for parameter in last.parameters():
                parameter[start : start + int(pairs.schema.sizes[f])] = 0.0
    return SoftmaxOffspring(pairs.schema, network)
