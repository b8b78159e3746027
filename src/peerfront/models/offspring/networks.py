"""What the networks of all generators share: the multilayer perceptron, training with held-out stopping."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_key
from peerfront.foundation.stored import Stored, restored_layers, stored_layers


def perceptron(inputs: int, hidden: tuple[int, ...], outputs: int, seed: int) -> nn.Sequential:
    """Linear layers with GELU between them; the weights depend on the seed alone, not on global randomness."""
    widths = [inputs, *hidden, outputs]
    layers: list[nn.Module] = []
    generator = torch.Generator().manual_seed(named_key("perceptron", seed) % 2**63)
    for number, (before, after) in enumerate(pairwise(widths)):
        layer = nn.Linear(before, after)
        with torch.no_grad():
            for parameter in (layer.weight, layer.bias):
                parameter.copy_((2 * torch.rand(parameter.shape, generator=generator) - 1) * before**-0.5)
        layers.append(layer)
        if number < len(widths) - 2:
            layers.append(nn.GELU())
    return nn.Sequential(*layers)


def stored_perceptron(network: nn.Sequential) -> Stored:
    linear = [layer for layer in network if isinstance(layer, nn.Linear)]
    return stored_layers((layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in linear)


def restored_perceptron(stored: Stored, inputs: int, outputs: int) -> nn.Sequential:
    """The perceptron whose layers these are; hidden ones are as wide as the arrays say."""
    layers = restored_layers(stored, inputs, outputs)
    network = perceptron(inputs, tuple(len(bias) for _, bias in layers[:-1]), outputs, seed=0)
    parameters = [torch.as_tensor(array.T.copy()) for layer in layers for array in layer]
    with torch.no_grad():
        for parameter, value in zip(network.parameters(), parameters, strict=True):
            parameter.copy_(value)
    return network.eval()


def one_hot(schema: Schema, codes: Codes) -> Tensor:
    return torch.as_tensor(schema.one_hot(codes))


def field_losses(schema: Schema, logits: Tensor, codes: Tensor, counted: Tensor) -> Tensor:
    """Cross-entropy of each row summed over its counted fields, [rows]; unknown categories count nothing."""
    total = torch.zeros(len(codes))
    for f, (start, size) in enumerate(zip(schema.offsets.tolist(), schema.sizes.tolist(), strict=True)):
        target = codes[:, f]
        use = counted[:, f] & (target >= 0)
        losses = nn.functional.cross_entropy(logits[:, start : start + size], target.clamp(min=0), reduction="none")
        total = total + torch.where(use, losses, 0.0)
    return total


def train(
    network: nn.Module,
    loss: Callable[[Tensor], Tensor],
    rows: int,
    *,
    epochs: int,
    batch: int,
    learning_rate: float,
    rng: np.random.Generator,
    held_out_loss: Callable[[], float] | None = None,
    patience: int = 20,
    weight_decay: float = 0.0,
    decay: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Adam in shuffled batches. With a held-out loss, keep the best weights and stop when it no longer improves.

    `decay` lets the learning rate fall to zero along a cosine. Returns the epochs used. Weights that are no longer
    numbers are an error: a generator would turn them into the first category of every field.
    """
    optimiser = torch.optim.AdamW(network.parameters(), lr=learning_rate, weight_decay=weight_decay)
    best, best_epoch, epoch = float("inf"), 0, 0
    best_state: list[Tensor] | None = None
    diverged = False
    if held_out_loss is not None:  # what training starts from is a candidate too
        with torch.no_grad():
            best = held_out_loss()
        best_state = [p.detach().clone() for p in network.parameters()]
    for epoch in range(1, epochs + 1):
        for group in optimiser.param_groups if decay else ():
            group["lr"] = learning_rate * 0.5 * (1.0 + np.cos(np.pi * (epoch - 1) / epochs))
        order = torch.as_tensor(rng.permutation(rows))
        for part in torch.split(order, batch):
            optimiser.zero_grad()
            value = loss(part)
            value.backward()
            optimiser.step()
        if progress is not None:
            progress(epoch, epochs)
        if held_out_loss is not None:
            with torch.no_grad():
                now = held_out_loss()
            diverged = not np.isfinite(now)
            if diverged:
                break
            if now < best - 1e-5:
                best, best_epoch = now, epoch
                best_state = [p.detach().clone() for p in network.parameters()]
            elif epoch - best_epoch >= patience:
                break
    if best_state is not None:
        with torch.no_grad():
            for parameter, kept in zip(network.parameters(), best_state, strict=True):
                parameter.copy_(kept)
    if diverged or not all(bool(torch.isfinite(parameter).all()) for parameter in network.parameters()):
        raise SettingError(f"Training diverged at a learning rate of {learning_rate:g}. Use a smaller one.")
    network.eval()
    return best_epoch if held_out_loss is not None else epoch
