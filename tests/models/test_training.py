"""Training with held-out stopping: the start is a candidate, and divergence is told."""

import numpy as np
import pytest
import torch
from torch import nn

from peerfront.foundation.errors import SettingError
from peerfront.models.offspring.networks import train


def fit(held_out_loss, learning_rate: float = 0.1) -> tuple[nn.Linear, int]:
    network = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        network.weight.fill_(0.5)
    used = train(
        network,
        lambda part: ((network(torch.ones(len(part), 1)) - 3.0) ** 2).mean(),
        8,
        epochs=50,
        batch=8,
        learning_rate=learning_rate,
        rng=np.random.default_rng(0),
        held_out_loss=lambda: held_out_loss(network.weight.item()),
        patience=5,
    )
    return network, used


def test_the_start_is_kept_when_training_only_makes_it_worse() -> None:
    network, used = fit(lambda weight: abs(weight - 0.5))
    assert used == 0
    assert network.weight.item() == 0.5


def test_the_best_weights_are_kept() -> None:
    network, used = fit(lambda weight: abs(weight - 1.5))
    assert used > 0
    assert network.weight.item() == pytest.approx(1.5, abs=0.1)


def test_divergence_is_an_error() -> None:
    with pytest.raises(SettingError, match="diverged"):
        fit(lambda weight: float("nan") if weight > 0.55 else 1.0)
