"""The value in training: its slopes are those of torch, and the numbers of people alike count as people do."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.gfp.surrogate import PersonInputs, SurrogateSettings
from peerfront.gfp.training import Surrogate, embedding_slope, members_of, squared_error
from peerfront.simulation.typed import bridge

WORLD = bridge()
INPUTS = PersonInputs.seeing("capacity", WORLD.schema, WORLD.response)
KINDS = {
    "ours": SurrogateSettings(latent=3, hidden=7),
    "with a deadline": SurrogateSettings(latent=3, hidden=7, deadline=True),
    "the paper's": SurrogateSettings(latent=3, hidden=7, scaled_budget=False, first_bias=None),
}
BUDGET, ROUNDS = 12, 4


def layers(rows: torch.Tensor, parameters: list[torch.Tensor]) -> torch.Tensor:
    for number in range(0, len(parameters), 2):
        rows = rows @ parameters[number] + parameters[number + 1]
        rows = torch.relu(rows) if number < len(parameters) - 2 else rows
    return rows


def values_in_torch(kind: SurrogateSettings, parameters, budgets, rows, owner, left) -> torch.Tensor:
    """Equations 3 and 4 in torch, with shares of the time left where the value knows the deadline."""
    coverage = torch.nn.functional.softplus(layers(torch.as_tensor(rows), parameters[:6]))
    covered = torch.zeros(len(budgets), kind.latent).index_add_(0, torch.as_tensor(owner), coverage)
    budget = torch.as_tensor(budgets)[:, None]
    seen = torch.cat([budget / BUDGET, (budget / BUDGET).sqrt()], dim=1) if kind.scaled_budget else budget
    if kind.deadline:
        time = torch.as_tensor(left)[:, None]
        seen = torch.cat([seen, time / ROUNDS, 1.0 / time.clamp(min=1.0)], dim=1)
    shares = torch.softmax(layers(seen, parameters[6:]), dim=1)
    if kind.deadline:
        shares = torch.where(time > 0, shares[:, :-1], 0.0)
    return (budget * shares * -torch.expm1(-covered)).sum(dim=1)


@pytest.mark.parametrize("name", KINDS)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(0, 10**6))
@settings(max_examples=25)
def test_values_and_slopes_are_those_of_torch(name: str, sizes: list[int], seed: int) -> None:
    kind, rng = KINDS[name], np.random.default_rng(seed)
    surrogate = Surrogate(INPUTS, BUDGET, kind, seed, ROUNDS if kind.deadline else None)
    states, first = len(sizes), np.concatenate([[0], np.cumsum(sizes)])
    budgets, left = (rng.integers(0, most, states).astype(np.float32) for most in (BUDGET + 1, ROUNDS + 1))
    rows = INPUTS.rows(WORLD.population(named_luck(("slopes", seed), int(first[-1]))))
    wanted, scale = rng.random(states).astype(np.float32), budgets + np.float32(10.0)
    values, backward = surrogate.traced(budgets, rows, members_of(first), left if kind.deadline else None)
    loss, slope = squared_error(values, wanted, scale)

    twins = [torch.tensor(parameter, requires_grad=True) for parameter in surrogate.parameters]
    of_torch = values_in_torch(kind, twins, budgets, rows, np.repeat(np.arange(states), sizes), left)
    loss_of_torch = ((of_torch - torch.as_tensor(wanted)) ** 2 / torch.as_tensor(scale)).mean()
    np.testing.assert_allclose(values, of_torch.detach().numpy(), rtol=1e-5, atol=1e-5)
    assert loss == pytest.approx(loss_of_torch.item(), rel=1e-4)
    expected = torch.autograd.grad(loss_of_torch, twins)
    for ours, theirs in zip(backward(slope), expected, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-3, atol=1e-5)


def test_people_alike_are_counted() -> None:
    surrogate = Surrogate(INPUTS, BUDGET, KINDS["ours"], 0)
    kinds = INPUTS.rows(WORLD.population(named_luck(("kinds",), 5)))
    kind, count, first = np.array([4, 0, 2, 2]), np.array([1, 3, 2, 1], dtype=np.float32), np.array([0, 2, 2, 4])
    budgets = np.array([5, 6, 7], dtype=np.float32)
    alike, back = surrogate.traced(budgets, kinds, members_of(first, kind, count))
    people = kinds[np.repeat(kind, count.astype(int))]
    one_by_one, back_one_by_one = surrogate.traced(budgets, people, members_of(np.array([0, 4, 4, 7])))
    np.testing.assert_allclose(alike, one_by_one, rtol=1e-5)
    assert alike[1] == 0.0  # nobody there
    slope = np.array([1.0, 2.0, -1.0], dtype=np.float32)
    for ours, theirs in zip(back(slope), back_one_by_one(slope), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


def test_embeddings_follow_the_cross_entropy() -> None:
    rng = named_generator("embeddings")
    scores, wanted = (draw((20, 3)).astype(np.float32) for draw in (rng.standard_normal, rng.random))
    twin = torch.tensor(scores, requires_grad=True)
    torch.nn.functional.binary_cross_entropy_with_logits(twin, torch.as_tensor(wanted)).backward()
    np.testing.assert_allclose(embedding_slope(scores, wanted), twin.grad.numpy(), rtol=1e-4, atol=1e-7)
