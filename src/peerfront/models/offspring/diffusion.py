"""The paper's generator: a conditional denoising diffusion over one-hot rows (Section 3.1, appendix C.2).

A network predicts the noise in a noised child from the child, the recruiter and the step. Samples are continuous and
become categories by the largest entry of each field. The noise schedule, the steps back from noise to a child, the
generator with its two samplers (full and fast), and the training follow each other below; the tests hold schedule and
steps equal to the reference library's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor, nn

from peerfront.foundation.covariates import Codes, Schema, uniform_codes
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Progress, note, silent
from peerfront.foundation.networks import EpochSettings, FrozenNetwork, train_epochs
from peerfront.foundation.randomness import Luck, named_generator, named_key
from peerfront.foundation.settings import (
    Rule,
    among,
    check_fields,
    layer_widths,
    one_of,
    one_or_more,
    optional,
    seed_number,
    step_size,
    truth,
    whole_number,
)
from peerfront.foundation.stored import Stored
from peerfront.foundation.torch_networks import frozen, perceptron, thawed
from peerfront.models.offspring.pairs import Pairs

Clip = tuple[float, float] | None
SCHEDULES = ("linear", "cosine")
_LINEAR_ENDS = (1e-4, 0.02)  # the usual ends for 1,000 steps, which the paper keeps for its 100
_LARGEST_LIMIT = 100.0  # of predicted children; rows are made of -1, 0 and 1
_TIME_WIDTH = 16
_CHUNK = 4096  # children sampled at once: keeps the layers' activations in cache
_LEAST = 16  # and at least: very small matrices are multiplied in another order, and a child must not see its company


# The noise schedule (Ho et al. 2020): how fast a child's one-hot row turns into noise -------------------------------


@dataclass(frozen=True, eq=False)
class Schedule:
    """`kept[t]` (alpha-bar) is the share of the signal's variance left after step t + 1."""

    betas: NDArray[np.float64]  # [steps], noise added in each step

    @property
    def alphas(self) -> NDArray[np.float64]:
        return 1.0 - self.betas

    @property
    def kept(self) -> NDArray[np.float64]:
        return np.asarray(np.cumprod(self.alphas), dtype=np.float64)

    def __len__(self) -> int:
        return len(self.betas)


def noise_schedule(kind: str, steps: int) -> Schedule:
    """linear: the paper's, which at 100 steps leaves 37% of the signal at the end; cosine: ends in pure noise."""
    steps = whole_number("steps", steps, 1)
    if one_of(note("kinds.noise_schedule"), kind, SCHEDULES) == "linear":
        return Schedule(np.linspace(*_LINEAR_ENDS, steps))
    at = np.cos((np.arange(steps + 1) / steps + 0.008) / 1.008 * np.pi / 2) ** 2
    return Schedule(np.minimum(1.0 - at[1:] / at[:-1], 0.999))


def time_embedding(steps: NDArray[np.int64], width: int = 16) -> NDArray[np.float32]:
    """Sines and cosines of the step number at geometrically spaced frequencies, [steps, width]."""
    frequencies = np.exp(-np.log(10_000.0) * np.arange(width // 2) / (width // 2))
    angles = steps[:, None] * frequencies[None, :]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


# Steps --------------------------------------------------------------------------------------------------------------


def spaced_steps(steps: int, fast_steps: int) -> list[int]:
    """`fast_steps` of the schedule's steps, evenly spaced, from the noisiest down to step 0 (one: the noisiest)."""
    if fast_steps == 1:
        return [steps - 1]
    times = np.unique(np.linspace(0, steps - 1, fast_steps).round().astype(int))
    return [int(t) for t in times[::-1]]


def _fast_steps_of(steps: int) -> Rule:
    """Rule: None, or a number of fast steps of the schedule's. A single one of many would leave noise as it is."""

    fewest = min(2, steps)

    def check(name: str, value: Any) -> int:
        if not fewest <= one_or_more(name, value) <= steps:
            raise SettingError("generators.fast_steps", name=name, fewest=fewest, most=steps, value=value)
        return int(value)

    return optional(check)


def add_noise(schedule: Schedule, clean: Tensor, noise: Tensor, steps: NDArray[np.int64]) -> Tensor:
    """The child after t + 1 steps of noise, in one go."""
    kept = torch.as_tensor(schedule.kept[steps], dtype=clean.dtype)[:, None]
    return kept.sqrt() * clean + (1.0 - kept).sqrt() * noise


def clean_child(schedule: Schedule, step: int, noised: Tensor, predicted: Tensor, clip: Clip) -> Tensor:
    """The child the predicted noise points to, held within the values a row can have (if asked)."""
    kept = float(schedule.kept[step])
    clean = (noised - (1.0 - kept) ** 0.5 * predicted) / kept**0.5
    return clean if clip is None else clean.clamp(*clip)


def ddpm_step(
    schedule: Schedule, step: int, noised: Tensor, predicted: Tensor, noise: Tensor, clip: Clip = None
) -> Tensor:
    """One step back (Ho et al. 2020, algorithm 2, with the posterior variance)."""
    kept = float(schedule.kept[step])
    before = float(schedule.kept[step - 1]) if step else 1.0
    beta, alpha = float(schedule.betas[step]), float(schedule.alphas[step])
    clean = clean_child(schedule, step, noised, predicted, clip)
    mean = before**0.5 * beta / (1.0 - kept) * clean + alpha**0.5 * (1.0 - before) / (1.0 - kept) * noised
    variance = beta * (1.0 - before) / (1.0 - kept)
    return mean + variance**0.5 * noise


def ddim_step(
    schedule: Schedule,
    step: int,
    following: int,
    noised: Tensor,
    predicted: Tensor,
    noise: Tensor | None = None,
    clip: Clip = None,
) -> Tensor:
    """From one step to any earlier one (Song et al. 2021); `following` = -1 is the clean child.

    Without noise the path is deterministic; with it, it is as random as the full sampler's (eta = 1).
    """
    kept = float(schedule.kept[step])
    then = float(schedule.kept[following]) if following >= 0 else 1.0
    clean = clean_child(schedule, step, noised, predicted, clip)
    if clip is not None:
        predicted = (noised - kept**0.5 * clean) / (1.0 - kept) ** 0.5  # the noise that agrees with the clipped child
    if noise is None:
        return then**0.5 * clean + (1.0 - then) ** 0.5 * predicted
    variance = (1.0 - then) / (1.0 - kept) * (1.0 - kept / then)
    return then**0.5 * clean + max(1.0 - then - variance, 0.0) ** 0.5 * predicted + variance**0.5 * noise


# The generator ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DiffusionOffspring:
    """A fitted diffusion."""

    schema: Schema
    network: nn.Sequential
    schedule: Schedule
    clip: Clip
    fast_steps: int | None
    never_known: tuple[int, ...] = ()  # fields known of no recruit: drawn evenly
    name: str = "diffusion"

    def __post_init__(self) -> None:
        check_fields(self, fast_steps=_fast_steps_of(len(self.schedule)))

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        self.schema.check(parents)
        luck.check(len(parents))
        parts = [np.zeros((0, parents.shape[1]), dtype=np.int16)]
        for first in range(0, len(parents), _CHUNK):
            part = np.arange(first, min(first + _CHUNK, len(parents)))
            padded = np.resize(part, max(len(part), _LEAST))
            parts.append(self._sample(parents[padded], Luck(luck.keys[padded]))[: len(part)])
        return np.concatenate(parts)

    def _sample(self, parents: Codes, luck: Luck) -> Codes:
        rows = torch.as_tensor(self.schema.one_hot(parents))
        columns = self.schema.columns
        noised = _normals(luck, "offspring start", columns)
        with torch.inference_mode():
            if self.fast_steps is None:
                for t in range(len(self.schedule) - 1, -1, -1):
                    noise = _normals(luck, f"offspring step {t}", columns) if t else torch.zeros_like(noised)
                    noised = ddpm_step(self.schedule, t, noised, self._noise(noised, rows, t), noise, self.clip)
            else:
                times = spaced_steps(len(self.schedule), self.fast_steps)
                for t, following in zip(times, [*times[1:], -1], strict=True):
                    noise = _normals(luck, f"offspring step {t}", columns)
                    noised = ddim_step(
                        self.schedule, t, following, noised, self._noise(noised, rows, t), noise, self.clip
                    )
        values = noised.numpy()
        blocks = [values[:, a : a + n] for a, n in zip(self.schema.offsets, self.schema.sizes, strict=True)]
        children: Codes = np.stack([block.argmax(axis=1) for block in blocks], axis=1).astype(np.int16)
        if self.never_known:
            evenly = uniform_codes(self.schema, luck.uniforms("offspring unknown", len(self.schema.fields)))
            children[:, self.never_known] = evenly[:, self.never_known]
        return children

    def _noise(self, noised: Tensor, rows: Tensor, step: int) -> Tensor:
        time = torch.as_tensor(time_embedding(np.array([step]), _TIME_WIDTH)).expand(len(rows), -1)
        predicted: Tensor = self.network(torch.cat([rows, noised, time], dim=1))
        return predicted

    def stored(self) -> Stored:
        settings = {
            "clip": None if self.clip is None else list(self.clip),
            "fast_steps": self.fast_steps,
            "never_known": list(self.never_known),
        }
        schedule = Stored({}, {"betas": self.schedule.betas})
        return Stored.of_parts(settings, schedule=schedule, network=frozen(self.network, "gelu").stored())

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "DiffusionOffspring":
        columns, betas = schema.columns, stored.part("schedule").array("betas", (None,))
        clip, never_known = stored.optional("clip", list), stored.whole_numbers("never_known")
        ends = [end for end in clip or () if type(end) is float and abs(end) <= _LARGEST_LIMIT]
        within = clip is None or len(clip) == len(ends) == 2
        known_fields = all(0 <= f < len(schema.fields) for f in never_known)
        if not within or not known_fields or not ((betas > 0.0) & (betas < 1.0)).all():
            raise DataFileError("generators.diffusion_out_of_range", place=stored.place)
        network = FrozenNetwork.restored(stored.part("network"), 2 * columns + _TIME_WIDTH, columns, "gelu")
        limits = None if clip is None else (clip[0], clip[1])
        return cls(schema, thawed(network), Schedule(betas), limits, stored.optional("fast_steps", int), never_known)


def _normals(luck: Luck, purpose: str, columns: int) -> Tensor:
    return torch.as_tensor(ndtri(luck.uniforms(purpose, columns)), dtype=torch.float32)


# Training -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DiffusionSettings:
    """The defaults repair the paper's; `paper()` is the paper's."""

    hidden: tuple[int, ...] = (256, 256)
    steps: int = 100
    schedule: str = "cosine"
    """linear is the paper's, which is not noise at the end."""
    signs: bool = True
    """Rows of -1 and 1 instead of 0 and 1: noise then has the scale of the data."""
    clip: bool = True
    """Hold the predicted child within the values a row can have, step by step; the paper does not say it does."""
    epochs: int = 60
    batch: int = 128
    learning_rate: float = 1e-3
    decay: bool = True
    """Let the learning rate fall to zero along a cosine; the paper keeps it."""
    fast_steps: int | None = 25
    """Steps of the fast (DDIM) sampler, at least two (its first and its last); None for the full sampler."""
    seed: int = 0

    @classmethod
    def paper(cls) -> "DiffusionSettings":
        """Three layers of 512, a linear schedule, 200 epochs, the full sampler."""
        return cls(
            (512, 512, 512), schedule="linear", signs=False, clip=False, epochs=200, decay=False, fast_steps=None
        )

    def __post_init__(self) -> None:
        check_fields(
            self,
            hidden=layer_widths,
            steps=one_or_more,
            schedule=among(note("kinds.noise_schedule"), SCHEDULES),
            signs=truth,
            clip=truth,
            epochs=one_or_more,
            batch=one_or_more,
            learning_rate=step_size,
            decay=truth,
            seed=seed_number,
        )
        check_fields(self, fast_steps=_fast_steps_of(self.steps))


def fit_diffusion(
    pairs: Pairs, settings: DiffusionSettings | None = None, progress: Progress = silent
) -> DiffusionOffspring:
    """Fit a diffusion to the pairs."""
    settings, schema = settings or DiffusionSettings(), pairs.schema
    schedule = noise_schedule(settings.schedule, settings.steps)
    widths = [2 * schema.columns + _TIME_WIDTH, *settings.hidden, schema.columns]
    network = perceptron(widths, settings.seed, "gelu")
    parents, children = (torch.as_tensor(schema.one_hot(codes)) for codes in (pairs.parents, pairs.children))
    if settings.signs:
        children = 2.0 * children - 1.0
    known = torch.as_tensor(np.repeat(pairs.children >= 0, schema.sizes, axis=1))  # [pairs, columns]
    complete = bool(known.all())
    times = torch.as_tensor(time_embedding(np.arange(settings.steps), _TIME_WIDTH))
    rng = named_generator("diffusion", settings.seed)
    generator = torch.Generator().manual_seed(named_key("diffusion noise", settings.seed) % 2**63)

    def loss(part: NDArray[np.int64]) -> Tensor:
        steps = rng.integers(0, settings.steps, len(part))
        noise = torch.randn((len(part), schema.columns), generator=generator)
        noised = add_noise(schedule, children[part], noise, steps)
        predicted = network(torch.cat([parents[part], noised, times[steps]], dim=1))
        if complete:
            return nn.functional.mse_loss(predicted, noise)
        # A missing field says nothing; learned as a row of its own it would come back as some category or other.
        counted = known[part]
        return ((predicted - noise) ** 2 * counted).sum() / counted.sum().clamp(min=1)

    parameters = list(network.parameters())

    def slopes(part: NDArray[np.int64]) -> list[NDArray[np.float32]]:
        return [slope.numpy() for slope in torch.autograd.grad(loss(part), parameters)]

    passes = EpochSettings(settings.epochs, settings.batch, settings.learning_rate, cosine=settings.decay)
    arrays = [parameter.detach().numpy() for parameter in parameters]  # the network's own memory
    train_epochs(arrays, slopes, len(pairs), passes, rng, progress=progress)
    network.eval()
    clip = (-1.0 if settings.signs else 0.0, 1.0) if settings.clip else None
    never_known = tuple(int(f) for f in np.flatnonzero(~pairs.known_fields))
    return DiffusionOffspring(schema, network, schedule, clip, settings.fast_steps, never_known)
