"""Noise schedules of a diffusion: how fast a child's one-hot row turns into noise (Ho et al. 2020)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.models.checks import one_of
from peerfront.problem import whole_number

SCHEDULES = ("linear", "cosine")
_LINEAR_ENDS = (1e-4, 0.02)  # the usual ends for 1,000 steps, which the paper keeps for its 100


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
    if one_of("noise schedule", kind, SCHEDULES) == "linear":
        return Schedule(np.linspace(*_LINEAR_ENDS, steps))
    at = np.cos((np.arange(steps + 1) / steps + 0.008) / 1.008 * np.pi / 2) ** 2
    return Schedule(np.minimum(1.0 - at[1:] / at[:-1], 0.999))


def time_embedding(steps: NDArray[np.int64], width: int = 16) -> NDArray[np.float32]:
    """Sines and cosines of the step number at geometrically spaced frequencies, [steps, width]."""
    frequencies = np.exp(-np.log(10_000.0) * np.arange(width // 2) / (width // 2))
    angles = steps[:, None] * frequencies[None, :]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
