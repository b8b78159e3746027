"""The perceptron frozen and thawed; training with held-out stopping: the start is a candidate, divergence an error."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from peerfront.foundation.errors import SettingError
from peerfront.foundation.networks import (
    ACTIVATIONS,
    EpochSettings,
    frozen,
    perceptron,
    row_by_row,
    thawed,
    train_epochs,
)
from peerfront.foundation.randomness import named_generator

NAN = float("nan")


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("hidden", [(), (16,), (24, 8)])
def test_a_frozen_network_is_the_network(activation, hidden) -> None:
    network = perceptron([5, *hidden, 3], 7, activation)
    rows = (3.0 * named_generator("rows").standard_normal((40, 5))).astype(np.float32)
    with torch.inference_mode():
        outputs = network(torch.as_tensor(rows)).numpy()
    plain = frozen(network, activation)
    assert plain(rows).dtype == np.float32
    assert np.allclose(plain(rows), outputs, atol=1e-5)
    assert np.array_equal(plain.after_first(row_by_row(rows, plain.weights[0]) + plain.biases[0]), plain(rows))
    with torch.inference_mode():
        assert np.array_equal(thawed(plain)(torch.as_tensor(rows)).numpy(), outputs)


def test_weights_depend_on_the_seed_alone() -> None:
    torch.manual_seed(1)
    one = frozen(perceptron([4, 6, 2], 3, "gelu"), "gelu")
    torch.manual_seed(2)
    again, other = (frozen(perceptron([4, 6, 2], seed, "gelu"), "gelu") for seed in (3, 4))
    assert np.array_equal(one.weights[0], again.weights[0])
    assert not np.array_equal(one.weights[0], other.weights[0])


def fit(held_out_loss, learning_rate: float = 0.1) -> tuple[nn.Linear, int]:
    network = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        network.weight.fill_(0.5)
    used = train_epochs(
        network,
        lambda part: ((network(torch.ones(len(part), 1)) - 3.0) ** 2).mean(),
        8,
        EpochSettings(epochs=50, batch=8, learning_rate=learning_rate, patience=5),
        np.random.default_rng(0),
        held_out_loss=lambda: held_out_loss(network.weight.item()),
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
        fit(lambda weight: NAN if weight > 0.55 else 1.0)


@pytest.mark.parametrize("judged", [None, lambda: NAN], ids=["to the end", "held out"])
def test_a_network_that_diverges_is_an_error(judged) -> None:
    network = perceptron([2, 4, 1], 0, "gelu")
    reports: list[tuple[float, str]] = []
    with pytest.raises(SettingError, match=r"diverged at a learning rate of 0\.5"):
        train_epochs(
            network,
            lambda part: NAN * network(torch.ones(len(part), 2)).sum(),
            8,
            EpochSettings(epochs=2, batch=4, learning_rate=0.5),
            named_generator("diverges"),
            held_out_loss=judged,
            progress=lambda share, what: reports.append((share, what)),
        )
    assert (reports[0][0], str(reports[0][1])) == (0.5, "epoch 1 of 2")


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"batch": 2.5}, {"learning_rate": 2.0}, {"patience": -1}])
def test_impossible_epochs_are_refused(wrong) -> None:
    with pytest.raises(SettingError, match="found"):
        EpochSettings(**{"epochs": 3, "batch": 8, "learning_rate": 0.1, **wrong})


@given(st.integers(1, 130), st.integers(1, 40), st.integers(1, 40))
def test_nobody_s_outputs_depend_on_who_else_is_asked(rows: int, inputs: int, outputs: int) -> None:
    """Some processors add up the products of a row in an order that depends on its place."""
    draws = named_generator("rows of a product", rows)
    table = draws.standard_normal((150, inputs)).astype(np.float32)
    weights = draws.standard_normal((inputs, outputs)).astype(np.float32)
    together = row_by_row(table, weights)
    assert np.array_equal(row_by_row(table[:rows], weights), together[:rows])
    assert np.array_equal(row_by_row(table[::-1], weights)[::-1], together)
    np.testing.assert_allclose(together, table @ weights, rtol=1e-4, atol=1e-4)
