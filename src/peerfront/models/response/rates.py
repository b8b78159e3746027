"""Rate networks: an ensemble of small networks in NumPy, whose average is a person's rate (Section 3.1).

Also what a fit tried (`Candidate`) and learned (`Fit`), and when one model is clearly better than another.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, note
from peerfront.foundation.settings import among, check_fields, layer_widths
from peerfront.foundation.stored import Stored

Array = NDArray[np.float64]
LINKS = ("softplus", "scaled softplus", "exp")
MATERIAL = 2.0
"""Units of log-likelihood that a more complex model must gain, however sure the gain is."""
SURE = 1.0
"""Standard errors that a more complex shape or family must gain."""
SMALLEST_RATE = 1e-9  # no mean capacity is exactly zero
FAMILY_NAMES = {
    "poisson": note("family_name.poisson"),
    "zip": note("family_name.zip"),
    "nb": note("family_name.nb"),
    "zinb": note("family_name.zinb"),
}
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
        check_fields(self, hidden=layer_widths, link=among(note("kinds.link"), LINKS))

    @property
    def label(self) -> Message:
        if not self.hidden:
            return note("rate_shape.log_linear") if self.link == "exp" else note("rate_shape.linear", link=self.link)
        return note("rate_shape.network", hidden=" x ".join(map(str, self.hidden)), link=self.link)


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
            raise DataFileError("response_model.no_member", place=stored.place)
        largest = stored.later("largest", float)
        if largest is not None and not largest > 0.0:
            raise DataFileError("response_model.impossible_largest", place=stored.place, largest=largest)
        return cls(
            shape,
            tuple(stored.array(f"weights {n}", (members, before, after)) for n, (before, after) in layers),
            tuple(stored.array(f"biases {n}", (members, 1, after)) for n, (_, after) in layers),
            log_scale,
            np.inf if largest is None else largest,
        )


@dataclass(frozen=True, eq=False)
class Candidate:
    """One shape and family that was tried, with its held-out log-likelihood per row."""

    shape: RateShape
    family: str
    held_out: Array  # [rows], NaN where nothing was held out
    epochs: tuple[int, ...]  # per member, the epoch it was stopped at
    fields: tuple[str, ...] | None = None  # that rates could depend on; None for all

    @property
    def score(self) -> float:
        return float(self.held_out.mean())

    @property
    def label(self) -> Message:
        return model_label(self.family, self.shape, self.fields)


def model_label(family: str, shape: RateShape, fields: tuple[str, ...] | None) -> Message:
    """A model's family and shape; with no fields everybody is alike."""
    if fields == ():
        return note("rate_shape.everybody_alike", family=FAMILY_NAMES[family])
    return note("rate_shape.of_family", family=FAMILY_NAMES[family], shape=shape.label)


@dataclass(frozen=True, eq=False)
class Fit:
    """What one shape and family learned."""

    candidate: Candidate
    rates: RateEnsemble
    size: float
    zero: float
    penalty: float | None = None  # of a linear shape

    @property
    def is_finite(self) -> bool:
        """Whether every parameter, and every held-out likelihood there is, is a number."""
        rates, held_out = self.rates, self.candidate.held_out
        judged = [held_out] if len(rates.log_scale) > 1 else []
        arrays = [*rates.weights, *rates.biases, rates.log_scale, np.array([self.zero]), *judged]
        return not np.isnan(self.size) and all(bool(np.isfinite(array).all()) for array in arrays)


def folds_of(rows: int, members: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The member that does not see each row, [rows]; -1 where nothing is held out."""
    folds: NDArray[np.int64] = rng.permutation(rows) % members if members > 1 else np.full(rows, -1)
    return folds


def clearly(gains: Array, errors: float) -> bool:
    """Whether the sum of paired gains is worth a more complex model."""
    return bool(gains.sum() > max(MATERIAL, errors * total_error(gains)))


def total_error(differences: Array) -> float:
    """Standard error of the sum of paired differences."""
    return float(differences.std(ddof=1) * np.sqrt(len(differences))) if len(differences) > 1 else 0.0
