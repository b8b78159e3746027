"""The perceptron of `networks` in torch, for research: diffusion and the agents of reinforcement learning."""

from collections.abc import Sequence
from itertools import pairwise

import torch

from peerfront.foundation.networks import FrozenNetwork, Perceptron
from peerfront.foundation.settings import one_of

LAYERS = {"relu": torch.nn.ReLU, "gelu": torch.nn.GELU}


def perceptron(sizes: Sequence[int], seed: int | None, activation: str = "relu") -> torch.nn.Sequential:
    """Linear layers of these sizes with the activation between them.

    They start as `Perceptron.started` from the seed, or from torch's current state if the seed is None.
    """
    between = LAYERS[one_of("activation", activation, tuple(LAYERS))]
    layers: list[torch.nn.Module] = []
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        for inputs, outputs in pairwise(sizes):
            layers += [torch.nn.Linear(inputs, outputs), between()]
    network = torch.nn.Sequential(*layers[:-1])
    if seed is not None:
        _copy_into(network, Perceptron.started(sizes, seed, activation).parameters)
    return network


def frozen(network: torch.nn.Sequential, activation: str = "relu") -> FrozenNetwork:
    """Copy the network as it is now."""
    linear = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
    return FrozenNetwork(
        tuple(layer.weight.detach().numpy().T.copy() for layer in linear),
        tuple(layer.bias.detach().numpy().copy() for layer in linear),
        activation,
    )


def thawed(network: FrozenNetwork) -> torch.nn.Sequential:
    """Copy a frozen network for torch."""
    sizes = [len(network.weights[0]), *(len(bias) for bias in network.biases)]
    layers = perceptron(sizes, seed=0, activation=network.activation)
    _copy_into(layers, [part for layer in zip(network.weights, network.biases, strict=True) for part in layer])
    return layers.eval()


def _copy_into(network: torch.nn.Sequential, arrays: Sequence[object]) -> None:
    with torch.no_grad():
        for parameter, array in zip(network.parameters(), arrays, strict=True):
            parameter.copy_(torch.as_tensor(array).T if parameter.ndim == 2 else torch.as_tensor(array))
