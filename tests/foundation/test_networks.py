"""The perceptron, frozen and in training: outputs, slopes, starts and steps are torch's; training with held-out
stopping: the start is a candidate, divergence an error.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from peerfront.foundation.errors import SettingError
from peerfront.foundation.networks import (
    ACTIVATIONS,
    Adam,
    EpochSettings,
    Perceptron,
    cosine_rate,
    row_by_row,
    train_epochs,
)
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.torch_networks import frozen, perceptron, thawed

NAN = float("nan")


def some_rows(*shape: int, of: str = "rows") -> np.ndarray:
    return named_generator(of).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("hidden", [(), (16,), (24, 8)])
def test_outputs_and_slopes_are_those_of_torch(activation, hidden) -> None:
    network, twin = (start([5, *hidden, 3], 7, activation) for start in (Perceptron.started, perceptron))
    rows, slope = 3.0 * some_rows(40, 5), some_rows(40, 3, of="slope")
    outputs, backward = network.traced(rows)
    outputs_of_twin = twin(torch.as_tensor(rows))
    np.testing.assert_allclose(outputs, outputs_of_twin.detach().numpy(), atol=1e-5)
    slopes = torch.autograd.grad((outputs_of_twin * torch.as_tensor(slope)).sum(), list(twin.parameters()))
    ours = backward(slope)
    assert [each.shape for each in ours] == [parameter.shape for parameter in network.parameters]
    for one, other in zip(ours, slopes, strict=True):
        np.testing.assert_allclose(one, other.numpy().T, rtol=1e-4, atol=2e-5)
    plain = network.frozen()
    assert plain(rows).dtype == np.float32
    assert np.allclose(plain(rows), outputs, atol=1e-5)
    assert np.array_equal(plain.after_first(row_by_row(rows, plain.weights[0]) + plain.biases[0]), plain(rows))
    thawed_again = thawed(plain)(torch.as_tensor(rows))
    assert np.array_equal(thawed_again.detach().numpy(), outputs_of_twin.detach().numpy())
    assert np.array_equal(frozen(twin, activation).weights[0], plain.weights[0])


@given(st.integers(0, 2**63), st.integers(1, 30), st.integers(1, 30))
def test_relu_layers_start_as_torch_starts_them(seed: int, inputs: int, outputs: int) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [torch.nn.Linear(inputs, outputs), torch.nn.Linear(outputs, 2)]
    expected = [parameter.detach().numpy().T for layer in layers for parameter in layer.parameters()]
    for ours, theirs in zip(Perceptron.started([inputs, outputs, 2], seed).parameters, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_weights_depend_on_the_seed_alone() -> None:
    np.random.seed(1)  # noqa: NPY002 - whatever others did to it
    one = Perceptron.started([4, 6, 2], 3, "gelu")
    np.random.seed(2)  # noqa: NPY002
    again, other = (Perceptron.started([4, 6, 2], seed, "gelu") for seed in (3, 4))
    assert np.array_equal(one.weights[0], again.weights[0])
    assert not np.array_equal(one.weights[0], other.weights[0])


@pytest.mark.parametrize("decay", [0.0, 0.05])
@pytest.mark.parametrize("longest", [None, 0.5])
def test_steps_are_those_of_torch(decay, longest) -> None:
    ours = [some_rows(4, 3, of="first"), some_rows(3, of="second")]
    twins = [torch.tensor(each, requires_grad=True) for each in ours]
    optimiser = Adam(ours, 1e-2, decay)
    reference = torch.optim.AdamW(twins, lr=1e-2, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(reference, 30)
    for step in range(30):
        slopes = [some_rows(*each.shape, of=f"slope {step}") for each in ours]
        for twin, slope in zip(twins, slopes, strict=True):
            twin.grad = torch.tensor(slope)
        if longest is not None:
            torch.nn.utils.clip_grad_norm_(twins, longest)
        reference.step()
        schedule.step()
        optimiser.step(slopes, cosine_rate(1e-2, step, 30), longest)
        for one, twin in zip(ours, twins, strict=True):
            np.testing.assert_allclose(one, twin.detach().numpy(), rtol=1e-5, atol=1e-6)


def fit(held_out_loss, learning_rate: float = 0.1) -> tuple[float, int]:
    """Train one number, from .5 towards 3; return it and the epochs used."""
    weight = np.array([0.5], dtype=np.float32)
    used = train_epochs(
        [weight],
        lambda part: [2.0 * (weight - 3.0)],
        8,
        EpochSettings(epochs=50, batch=8, learning_rate=learning_rate, patience=5),
        np.random.default_rng(0),
        held_out_loss=lambda: held_out_loss(float(weight[0])),
    )
    return float(weight[0]), used


def test_the_start_is_kept_when_training_only_makes_it_worse() -> None:
    assert fit(lambda weight: abs(weight - 0.5)) == (0.5, 0)


def test_the_best_weights_are_kept() -> None:
    weight, used = fit(lambda weight: abs(weight - 1.5))
    assert used > 0
    assert weight == pytest.approx(1.5, abs=0.1)


def test_divergence_is_an_error() -> None:
    with pytest.raises(SettingError, match="diverged"):
        fit(lambda weight: NAN if weight > 0.55 else 1.0)


@pytest.mark.parametrize("judged", [None, lambda: NAN], ids=["to the end", "held out"])
def test_a_network_that_diverges_is_an_error(judged) -> None:
    network = Perceptron.started([2, 4, 1], 0, "gelu")
    reports: list[tuple[float, str]] = []
    with pytest.raises(SettingError, match=r"diverged at a learning rate of 0\.5"):
        train_epochs(
            network.parameters,
            lambda part: [NAN * parameter for parameter in network.parameters],
            8,
            EpochSettings(epochs=2, batch=4, learning_rate=0.5),
            named_generator("diverges"),
            held_out_loss=judged,
            progress=lambda share, what: reports.append((share, what)),
        )
    assert (reports[0][0], str(reports[0][1])) == (0.5, "epoch 1 of 2")


def test_every_row_is_seen_once_an_epoch() -> None:
    seen: list[int] = []
    train_epochs([np.zeros(1, dtype=np.float32)], lambda part: seen.extend(part.tolist()) or [np.zeros(1)], 7,
                 EpochSettings(epochs=1, batch=3, learning_rate=0.1), named_generator("order"))  # fmt: skip
    assert sorted(seen) == list(range(7))


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
