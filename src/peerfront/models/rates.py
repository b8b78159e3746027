"""Rate networks: an ensemble of small networks in NumPy, whose average is a person's rate (Section 3.1)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.settings import among, check_fields, layer_widths
from peerfront.foundation.stored import Stored

Array = NDArray[np.float64]
LINKS = ("softplus", "scaled softplus", "exp")
SMALLEST_RATE = 1e-9  # no mean capacity is exactly zero
_LARGEST_LOG_SCALE = 50.0
_LARGEST_SCORE = 12.0  # of a log-linear shape
_AT_ONCE = 65_536  # people: a layer of five members then takes 170 MB, for a million people at once it took 2.6 GB


@dataclass(frozen=True)
class RateShape:
    """Hidden layers of a rate network (the paper: two of 64, ReLU) and its link, from score to rate.

    softplus is the paper's; scaled softplus also learns a factor in front of it; exp makes a linear shape log-linear.
    """

    hidden: tuple[int, ...] = (64, 64)
    link: str = "softplus"

    def __post_init__(self) -> None:
        check_fields(self, hidden=layer_widths, link=among("link", LINKS))

    @property
    def label(self) -> str:
        if not self.hidden:
            return "log-linear" if self.link == "exp" else f"linear, {self.link}"
        return f"network {' x '.join(map(str, self.hidden))}, {self.link}"


@dataclass(frozen=True, eq=False)
class RateEnsemble:
    """Trained rate networks of one shape; a person's rate is the average of the members'."""

    shape: RateShape
    weights: tuple[Array, ...]  # per layer [members, inputs, outputs]
    biases: tuple[Array, ...]  # per layer [members, 1, outputs]
    log_scale: Array  # [members, 1]
    largest: float = np.inf
    """No member's mean capacity is above this; the data do not reach further."""

    def means(self, rows: NDArray[np.float32] | Array) -> Array:
        """Mean capacities, [people], from one-hot rows."""
        average: Array = self.member_means(rows).mean(axis=0) + SMALLEST_RATE
        return average

    def member_means(self, rows: NDArray[np.float32] | Array) -> Array:
        """Mean capacities by each member, [members, people]."""
        starts = range(0, max(len(rows), 1), _AT_ONCE)
        parts = [self._member_means(rows[start : start + _AT_ONCE]) for start in starts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _member_means(self, rows: NDArray[np.float32] | Array) -> Array:
        hidden: Array = np.asarray(rows, dtype=np.float64)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = np.maximum(hidden @ weight + bias, 0.0)
        score = (hidden @ self.weights[-1] + self.biases[-1])[..., 0]
        means = self.of_scores(score)
        return np.minimum(means, self.largest)

    def of_scores(self, scores: Array | float) -> Array:
        """Rates from the outputs of the last layer, [members, people]."""
        if self.shape.link == "exp":
            return np.exp(np.minimum(scores, _LARGEST_SCORE))
        rates: Array = np.logaddexp(0.0, scores) * np.exp(self.log_scale)
        return rates

    def score_of(self, rate: float) -> float:
        """The score of a rate by the first member: the inverse of `of_scores`."""
        if self.shape.link == "exp":
            return float(np.log(rate))
        scaled = rate / float(np.exp(self.log_scale[0, 0]))
        return scaled + float(np.log(-np.expm1(-scaled)))  # log(exp(scaled) - 1)

    def member(self, number: int) -> "RateEnsemble":
        """An ensemble of this member alone."""
        only = slice(number, number + 1)
        weights, biases = (tuple(layer[only] for layer in layers) for layers in (self.weights, self.biases))
        return RateEnsemble(self.shape, weights, biases, self.log_scale[only], self.largest)

    def stored(self) -> Stored:
        layers = {f"weights {n}": weight for n, weight in enumerate(self.weights)}
        layers |= {f"biases {n}": bias for n, bias in enumerate(self.biases)}
        largest = self.largest if np.isfinite(self.largest) else None
        settings = {"hidden": list(self.shape.hidden), "link": self.shape.link, "largest": largest}
        return Stored(settings, {**layers, "log scale": self.log_scale})

    @classmethod
    def restored(cls, stored: Stored, inputs: int) -> "RateEnsemble":
        shape = RateShape(stored.whole_numbers("hidden"), stored.setting("link", str))
        log_scale = stored.array("log scale", (None, 1))
        layers = list(enumerate(pairwise([inputs, *shape.hidden, 1])))
        members = len(log_scale)
        if not members or (np.abs(log_scale) > _LARGEST_LOG_SCALE).any():
            raise DataFileError(f"In {stored.place}, there is no member, or the scale of one is absurd. Fit it again.")
        largest = stored.later("largest", float)
        if largest is not None and not largest > 0.0:
            raise DataFileError(f"In {stored.place}, the largest mean capacity is {largest}; it must be above 0.")
        return cls(
            shape,
            tuple(stored.array(f"weights {n}", (members, before, after)) for n, (before, after) in layers),
            tuple(stored.array(f"biases {n}", (members, 1, after)) for n, (_, after) in layers),
            log_scale,
            np.inf if largest is None else largest,
        )
