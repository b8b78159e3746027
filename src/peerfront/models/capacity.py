"""How many people somebody can bring: the fitted model, in NumPy (Section 3.1).

A person's rate is the average over an ensemble of small networks, each trained without a part of the data; the capacity
is Poisson or negative binomial around the rate, perhaps zero-inflated. Such models are fitted by `capacity_fit`.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv

from peerfront.foundation.counts import DESCRIPTIONS, FAMILIES, is_dispersed, quantile, survival_table
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import among, check_fields, layer_widths, whole_number
from peerfront.foundation.stored import Stored

Array = NDArray[np.float64]
LINKS = ("softplus", "scaled softplus", "exp")
SMALLEST_RATE = 1e-9  # no mean capacity is exactly zero
_LARGEST_MEAN = 1e6
_LARGEST_LOG_SCALE = 50.0
_LARGEST_SHIFT = 3.0  # no parameter is drawn more than 20 times too large or too small


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
        hidden: Array = np.asarray(rows, dtype=np.float64)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = np.maximum(hidden @ weight + bias, 0.0)
        score = (hidden @ self.weights[-1] + self.biases[-1])[..., 0]
        means: Array = (
            np.exp(np.minimum(score, 12.0))
            if self.shape.link == "exp"
            else np.logaddexp(0.0, score) * np.exp(self.log_scale)
        )
        return np.minimum(means, self.largest)

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


@dataclass(frozen=True, eq=False)
class Candidate:
    """One shape and family that was tried, with its held-out censored log-likelihood per row."""

    shape: RateShape
    family: str
    held_out: Array  # [rows], NaN where nothing was held out
    epochs: tuple[int, ...]  # per member, the epoch it was stopped at

    @property
    def score(self) -> float:
        return float(self.held_out.mean())

    @property
    def label(self) -> str:
        return f"{DESCRIPTIONS[self.family]}, {self.shape.label}"


@dataclass(frozen=True, eq=False)
class LearnedCapacity:
    """A fitted capacity model (the Protocol of `problem.dynamics`). An unknown category adds nothing to a rate."""

    schema: Schema
    family: str
    rates: RateEnsemble
    size: float  # of the negative binomial; infinite for the Poisson
    zero: float  # probability that nobody comes at all
    candidates: tuple[Candidate, ...]
    reason: str
    members: Array | None = None  # [members, 2], log size and logit zero of each; None if all are alike
    most_shown: int | None = None
    """The most coupons that a few people had at once, so that data show what they do; None if that is not known."""

    def __post_init__(self) -> None:
        check_fields(self, family=among("family", FAMILIES))
        if self.members is None:
            object.__setattr__(self, "members", np.zeros((len(self.rates.log_scale), 2)))

    def means(self, covariates: Codes) -> Array:
        """Mean of the count part, before zero inflation, [people]."""
        self.schema.check(covariates)
        return self.rates.means(self.schema.one_hot(covariates))

    def expected(self, covariates: Codes) -> Array:
        """Expected capacity, [people]."""
        return self.means(covariates) * (1.0 - self.zero)

    def survival(self, covariates: Codes, max_coupons: int) -> Array:
        most = whole_number("max coupons", max_coupons, 0)
        return survival_table(self.family, self.means(covariates), self.size, self.zero, most)

    def sample(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        means = self.means(covariates)
        luck.check(len(covariates))
        return quantile(self.family, luck.uniform("capacity"), means, self.size, self.zero)

    def member_means(self, covariates: Codes) -> Array:
        """Means by each member of the ensemble, [members, people]; each has left out a part of the data."""
        self.schema.check(covariates)
        return self.rates.member_means(self.schema.one_hot(covariates))

    def sample_shifted(self, covariates: Codes, luck: Luck, weights: Array) -> NDArray[np.int64]:
        """Capacities if each parameter were off by the weighted sum of the members' deviations, [people].

        `weights` are [people, members]; means and sizes are shifted on the log scale, the share of zeros on the logit
        scale. The luck is that of `sample`: weights of 0 give the same capacities.
        """
        luck.check(len(covariates))
        logs = np.log(np.maximum(self.member_means(covariates), SMALLEST_RATE)).T  # [people, members]
        rate = _shift(logs - logs.mean(axis=1, keepdims=True), weights)
        assert self.members is not None, "__post_init__ fills it in"
        spread = self.members - self.members.mean(axis=0)
        size = self.size * np.exp(_shift(spread[:, 0], weights))
        odds = self.zero / (1.0 - self.zero) * np.exp(_shift(spread[:, 1], weights))
        means = np.minimum(self.means(covariates) * np.exp(rate), self.rates.largest + SMALLEST_RATE)
        return quantile(self.family, luck.uniform("capacity"), means, size, odds / (1.0 + odds))

    def rounded(self) -> "LearnedCapacity":
        """The same model with parameters of three decimals: no more than data can tell, and less about single rows."""
        assert self.members is not None, "__post_init__ fills it in"
        rates = self.rates
        weights, biases = (tuple(np.round(layer, 3) for layer in layers) for layers in (rates.weights, rates.biases))
        return replace(
            self,
            rates=replace(rates, weights=weights, biases=biases, log_scale=np.round(rates.log_scale, 3)),
            size=max(round(self.size, 3), 1e-3) if np.isfinite(self.size) else self.size,
            zero=round(self.zero, 3),
            members=np.round(self.members, 3),
        )

    def scores(self) -> dict[str, Any]:
        """Why this model, and the mean held-out log-likelihood of every candidate, for a report."""
        tried = [
            {"label": each.label, "held_out": round(each.score, 3) if np.isfinite(each.score) else None}
            for each in self.candidates
        ]
        return {"reason": self.reason, "tried": tried}

    def stored(self) -> Stored:
        """Everything but the candidates: their held-out likelihoods belong to single participants."""
        settings = {
            "family": self.family,
            "size": self.size if np.isfinite(self.size) else None,
            "zero": self.zero,
            "reason": self.reason,
            "most_shown": self.most_shown,
        }
        assert self.members is not None, "__post_init__ fills it in"
        return Stored.of_parts(settings, rates=self.rates.stored(), members=Stored({}, {"size and zero": self.members}))

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "LearnedCapacity":
        size, zero = stored.optional("size", float), stored.setting("zero", float)
        family = stored.setting("family", str)
        if not 0.0 <= zero < 1.0 or (size is not None and not size > 0.0) or (is_dispersed(family) and size is None):
            raise DataFileError(
                f"In {stored.place}, size {size} and zero {zero} are impossible for the family {family!r}; a size is "
                "above 0, and zero at least 0 and below 1. Fit the model again."
            )
        rates = RateEnsemble.restored(stored.part("rates"), schema.columns)
        members = stored.part("members").array("size and zero", (len(rates.log_scale), 2))
        reason, shown = stored.setting("reason", str), stored.later("most_shown", int)
        if shown is not None and shown < 1:
            raise DataFileError(f"In {stored.place}, most_shown is {shown}; it is at least 1. Fit the model again.")
        return cls(schema, family, rates, np.inf if size is None else size, zero, (), reason, members, shown)


def largest_means(most_shown: int, chance: float, sizes: Array) -> Array:
    """Means of counts that are at least `most_shown` with this chance: negative binomials of these sizes.

    An infinite size is the Poisson; means end at a million.
    """
    finite = np.isfinite(sizes)
    size = np.where(finite, sizes, 1.0)
    share = np.minimum(betaincinv(most_shown, size, chance), 1.0 - 1e-12)
    means: Array = np.where(finite, size * share / (1.0 - share), gammaincinv(most_shown, chance))
    return np.minimum(means, _LARGEST_MEAN)


def _shift(deviations: Array, weights: Array) -> Array:
    """Weighted sums of the members' deviations, [people]."""
    shifts: Array = np.clip((deviations * weights).sum(axis=1), -_LARGEST_SHIFT, _LARGEST_SHIFT)
    return shifts
