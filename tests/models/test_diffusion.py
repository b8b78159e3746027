"""The paper's diffusion against the reference library, and its sampler's fidelity."""

import dataclasses

import numpy as np
import pytest
import torch
from diffusers import DDIMScheduler, DDPMScheduler

from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.models.offspring.diffusion import (
    DiffusionSettings,
    add_noise,
    ddim_step,
    ddpm_step,
    fit_diffusion,
    noise_schedule,
    spaced_steps,
    time_embedding,
)
from peerfront.models.offspring.pairs import Pairs
from peerfront.simulation.catalog import make_world
from peerfront.simulation.simulated_history import HistorySettings, simulate_history

STEPS = 100
LINEAR_ARGUMENTS = {"num_train_timesteps": STEPS, "beta_start": 1e-4, "beta_end": 0.02, "beta_schedule": "linear"}
COSINE_ARGUMENTS = {"num_train_timesteps": STEPS, "beta_schedule": "squaredcos_cap_v2"}


@pytest.mark.parametrize(("kind", "arguments"), [("linear", LINEAR_ARGUMENTS), ("cosine", COSINE_ARGUMENTS)])
def test_schedules_are_the_references(kind, arguments) -> None:
    ours, reference = noise_schedule(kind, STEPS), DDPMScheduler(**arguments)
    assert np.allclose(ours.betas, reference.betas.numpy(), rtol=1e-4, atol=1e-6)
    assert np.allclose(ours.kept, reference.alphas_cumprod.numpy(), rtol=1e-3, atol=1e-5)


def test_the_papers_schedule_is_not_noise_at_the_end() -> None:
    assert noise_schedule("linear", STEPS).kept[-1] == pytest.approx(0.37, abs=0.01)
    assert noise_schedule("cosine", STEPS).kept[-1] < 1e-5
    with pytest.raises(UnknownName, match="Did you mean 'cosine'"):
        noise_schedule("cosin", STEPS)


@pytest.mark.parametrize(("kind", "arguments"), [("linear", LINEAR_ARGUMENTS), ("cosine", COSINE_ARGUMENTS)])
def test_steps_are_the_references(kind, arguments) -> None:
    generator = torch.Generator().manual_seed(0)
    clean, noise, noised, predicted = (torch.randn((5, 7), generator=generator) for _ in range(4))
    ours = noise_schedule(kind, STEPS)
    full = DDPMScheduler(**arguments, clip_sample=False, variance_type="fixed_small")
    at = np.array([0, 3, 50, 98, 99])
    assert torch.allclose(
        add_noise(ours, clean, noise, at), full.add_noise(clean, noise, torch.as_tensor(at)), atol=1e-4
    )
    for t in (0, 1, 40, 90):
        still = ddpm_step(ours, t, noised, predicted, torch.zeros_like(noised))
        mean = full.step(predicted, t, noised, generator=torch.Generator().manual_seed(1)).prev_sample
        fresh = torch.randn(noised.shape, generator=torch.Generator().manual_seed(1))
        spread = float(full._get_variance(t)) ** 0.5 if t else 0.0
        assert torch.allclose(still + spread * fresh, mean, rtol=1e-3, atol=1e-3), t
        assert torch.allclose(
            ddpm_step(ours, t, noised, predicted, fresh if t else 0 * fresh), mean, rtol=1e-3, atol=1e-3
        )
    fast = DDIMScheduler(**arguments, clip_sample=False, set_alpha_to_one=True, timestep_spacing="leading")
    fast.set_timesteps(20)
    for t in (95, 50, 5):
        reference = fast.step(predicted, t, noised).prev_sample
        assert torch.allclose(ddim_step(ours, t, t - 5, noised, predicted), reference, rtol=1e-3, atol=1e-3), t
        random = fast.step(predicted, t, noised, eta=1.0, variance_noise=noise).prev_sample
        assert torch.allclose(ddim_step(ours, t, t - 5, noised, predicted, noise), random, rtol=1e-3, atol=1e-3), t
    clipped = DDIMScheduler(
        **arguments, clip_sample=True, set_alpha_to_one=True, timestep_spacing="leading", clip_sample_range=1.0
    )
    clipped.set_timesteps(20)
    reference = clipped.step(predicted, 50, noised, use_clipped_model_output=True).prev_sample
    assert torch.allclose(ddim_step(ours, 50, 45, noised, predicted, clip=(-1.0, 1.0)), reference, rtol=1e-3, atol=1e-3)


def test_full_and_strided_steps_agree_when_the_stride_is_one() -> None:
    generator = torch.Generator().manual_seed(0)
    noised, predicted, noise = (torch.randn((5, 7), generator=generator) for _ in range(3))
    ours = noise_schedule("cosine", STEPS)
    assert torch.allclose(
        ddpm_step(ours, 40, noised, predicted, noise), ddim_step(ours, 40, 39, noised, predicted, noise), atol=1e-5
    )


def test_time_embeddings_and_spacing() -> None:
    embedding = time_embedding(np.arange(100))
    assert embedding.shape == (100, 16)
    assert len(np.unique(embedding.round(5), axis=0)) == 100
    assert spaced_steps(100, 1) == [99]
    assert spaced_steps(100, 100) == list(range(99, -1, -1))
    assert spaced_steps(100, 3) == [99, 50, 0]
    with pytest.raises(SettingError, match="2 to 100 steps"):
        DiffusionSettings(fast_steps=101)


@pytest.fixture(scope="module")
def fitted():
    world = make_world("boom_bust")
    history = simulate_history(world, HistorySettings(triples=0, pairs=2000))
    return world, fit_diffusion(Pairs.of(history), DiffusionSettings(hidden=(64, 64), epochs=40))


@pytest.mark.parametrize("fast", [25, None])
def test_a_small_diffusion_learns_a_small_world(fitted, fast) -> None:
    world, model = fitted
    parents = np.repeat(np.array([[0], [1], [2]], dtype=np.int16), 1500, axis=0)
    children = dataclasses.replace(model, fast_steps=fast).sample(parents, named_luck(("diffused",), 4500))
    shares = np.stack([np.bincount(children[parents[:, 0] == t, 0], minlength=3) / 1500 for t in range(3)])
    assert np.abs(shares - world.transition).max() < 0.12


def test_a_childs_luck_is_its_own(fitted) -> None:
    _, model = fitted
    parents = np.array([[0], [1], [2], [0]], dtype=np.int16)
    luck = named_luck(("own luck",), 4)
    together = model.sample(parents, luck)
    alone = np.concatenate([model.sample(parents[i : i + 1], luck.row(i)) for i in range(4)])
    backwards = model.sample(parents[::-1], Luck(luck.keys[::-1].copy()))[::-1]
    assert np.array_equal(together, alone)
    assert np.array_equal(together, backwards)


def test_the_papers_settings() -> None:
    paper = DiffusionSettings.paper()
    assert (paper.hidden, paper.schedule, paper.epochs, paper.steps) == ((512, 512, 512), "linear", 200, 100)
    assert paper.fast_steps is None
    world = make_world("bridge")
    pairs = Pairs.of(simulate_history(world, HistorySettings(triples=0, pairs=40)))
    model = fit_diffusion(pairs, dataclasses.replace(paper, epochs=1))
    world.schema.check(model.sample(pairs.parents, named_luck(("paper",), 40)))
    assert len(model.sample(pairs.parents[:0], named_luck(("paper",), 0))) == 0
