"""How many people somebody brings: the fitted model, in NumPy (Section 3.1).

A person's rate is the average over an ensemble of small networks, each trained without a part of the data. What the
rate means depends on the family (`foundation.response_families`): the mean capacity of a Poisson or negative binomial,
or, where each coupon is used on its own, the chance 1 - exp(-rate). Such models are fitted by `response_fit`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.binomials import beta_nodes, beta_quantile
from peerfront.foundation.counts import check_table_size, quantile, survival_table
from peerfront.foundation.covariates import Codes, Schema, kinds_of
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Message, in_english, note
from peerfront.foundation.randomness import Luck
from peerfront.foundation.response_families import (
    RESPONSE_FAMILIES,
    chance_of_use,
    has_size,
    response_log_likelihood,
    story_of,
)
from peerfront.foundation.settings import among, check_fields, proportion, whole_number
from peerfront.foundation.stored import Stored, unless_default
from peerfront.models.response.rates import FAMILY_NAMES, Candidate, RateEnsemble
from peerfront.problem import BinomialResponse
from peerfront.problem.response import UNLIMITED

Array = NDArray[np.float64]
_LARGEST_SIZE = 1e9
_COUNTED_BY_KIND = 20_000  # people above which those who are alike are looked up together
_MOST_NODES_DEGREE = 127  # 64 nodes stand for a beta distribution, whatever the number of coupons


@dataclass(frozen=True, eq=False)
class LearnedResponse(BinomialResponse):
    """A fitted response model (the Protocol of `problem.response`). An unknown category adds nothing to a rate."""

    schema: Schema
    family: str
    rates: RateEnsemble
    size: float  # of the negative binomial (infinite for the Poisson), or a + b of the beta distribution
    zero: float  # probability that nobody comes at all
    candidates: tuple[Candidate, ...]
    reason: Message
    most_shown: int | None = None
    """The most coupons that a few people had at once, so that data show what they do; None if that is not known."""
    use: float = 1.0
    """Chance that a coupon is used by somebody who still could bring a person: of the family `thinned`."""

    def __post_init__(self) -> None:
        check_fields(self, family=among(note("kinds.family"), RESPONSE_FAMILIES), zero=proportion, use=proportion)
        if not self.size > 0.0:
            raise SettingError("response_model.size_not_positive", family=FAMILY_NAMES[self.family], size=self.size)

    @property
    def story(self) -> str:
        """What a coupon does: capacity, per_coupon or both."""
        return story_of(self.family)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that rates depend on; none if everybody is alike."""
        used = (self.rates.weights[0] != 0.0).any(axis=(0, 2))  # [columns]
        starts, sizes = self.schema.offsets, self.schema.sizes
        there = [used[start : start + size].any() for start, size in zip(starts, sizes, strict=True)]
        return tuple(name for name, is_used in zip(self.schema.names, there, strict=True) if is_used)

    @property
    def columns_used(self) -> tuple[int, ...]:
        """The same, as columns of the codes."""
        return tuple(self.schema.names.index(name) for name in self.fields)

    def means(self, covariates: Codes) -> Array:
        """Rates, [people]: means of the count part before zero inflation; -log(1 - P) where coupons stand alone."""
        self.schema.check(covariates)
        if len(covariates) > _COUNTED_BY_KIND:
            kinds = kinds_of(covariates)
            return self.rates.means(self.schema.one_hot(kinds.rows))[kinds.kind]
        return self.rates.means(self.schema.one_hot(covariates))

    def expected(self, covariates: Codes) -> Array:
        """Expected recruits with unlimited coupons, [people]: infinite where each coupon is used on its own."""
        means = self.means(covariates)
        return np.full(len(means), np.inf) if self.story == "per_coupon" else means * self.use * (1.0 - self.zero)

    def expected_recruits(self, covariates: Codes, max_coupons: int) -> Array:
        """Expected recruits with 1 .. max_coupons coupons, [people, max_coupons]."""
        recruits: Array = np.cumsum(self.gains(covariates, max_coupons), axis=1)
        return recruits

    def survival(self, covariates: Codes, max_coupons: int) -> Array:
        most, means = whole_number("max coupons", max_coupons, 0), self.means(covariates)
        if self.story == "per_coupon":
            check_table_size(len(means), most)
            return np.ones((len(means), most))
        return survival_table(self._capacity_family, means, self.size, self.zero, most)

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        luck.check(len(covariates))
        if self.story == "per_coupon":
            return np.full(len(covariates), UNLIMITED)
        family, luck_of_each = self._capacity_family, luck.uniform("capacity")
        return quantile(family, luck_of_each, self.means(covariates), self.size, self.zero)

    def chances(self, covariates: Codes, degree: int) -> tuple[Array, Array] | None:
        if self.story == "capacity":
            return None
        means = self.means(covariates)
        one = np.ones((len(means), 1))
        if self.family == "thinned":
            return one * self.use, one
        chances = chance_of_use(means)
        if self.family == "betabinomial":
            return beta_nodes(chances, self.size, min(degree, _MOST_NODES_DEGREE))
        if self.family == "binomial":
            return chances[:, None], one
        return chances[:, None] * [1.0, 0.0], one * [1.0 - self.zero, self.zero]

    def drawn_chances(self, covariates: Codes, luck: Luck) -> Array | None:
        luck.check(len(covariates))
        if self.story == "capacity":
            return None
        if self.family == "thinned":
            return np.full(len(covariates), self.use)
        chances = chance_of_use(self.means(covariates))
        if self.family == "betabinomial":
            return beta_quantile(luck.uniform("chance of use"), chances, self.size)
        return chances if self.family == "binomial" else chances * (luck.uniform("chance of use") > self.zero)

    def log_likelihoods(
        self,
        covariates: Codes,
        coupons: NDArray[np.int64],
        recruits: NDArray[np.int64],
        exposure: Array | None = None,
    ) -> Array:
        """log P(Y = y) of each person, [people]; 0 without a coupon. Y is N(k), or Binomial(N(k), exposure)."""
        means = self.means(covariates)
        return response_log_likelihood(self.family, coupons, recruits, means, self.size, self.zero, self.use, exposure)

    @property
    def _capacity_family(self) -> str:
        return "nb" if self.family == "thinned" else self.family

    # Keeping -------------------------------------------------------------------------------------------------------

    def scores(self) -> dict[str, Any]:
        """Why this model, and the mean held-out log-likelihood of every candidate, for a report."""
        tried = [
            {"label": in_english(each.label), "held_out": round(each.score, 2) if np.isfinite(each.score) else None}
            for each in self.candidates
        ]
        return {"reason": in_english(self.reason), "tried": tried}

    def stored(self) -> Stored:
        """Everything but the candidates: their held-out likelihoods belong to single participants."""
        settings = {
            "family": self.family,
            "size": self.size if np.isfinite(self.size) else None,
            "zero": self.zero,
            "reason": in_english(self.reason),
            "most_shown": self.most_shown,
            **unless_default("use", self.use, 1.0),
        }
        return Stored.of_parts(settings, rates=self.rates.stored())

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "LearnedResponse":
        size, zero, use = stored.optional("size", float), stored.setting("zero", float), stored.later("use", float)
        family = stored.setting("family", str)
        sized = size is None if not has_size(family) else size is not None
        if not 0.0 <= zero < 1.0 or not sized or (size is not None and not 0.0 < size <= _LARGEST_SIZE):
            raise DataFileError(
                "response_model.impossible_parameters",
                place=stored.place,
                size=size,
                zero=zero,
                family=family,
                largest=_LARGEST_SIZE,
            )
        if use is not None and (not 0.0 <= use <= 1.0 or family != "thinned"):
            raise DataFileError("response_model.impossible_use", place=stored.place, use=use, family=family)
        rates = RateEnsemble.restored(stored.part("rates"), schema.columns)
        reason, most_coupons = stored.setting("reason", str), stored.later("most_shown", int)
        if most_coupons is not None and most_coupons < 1:
            raise DataFileError("response_model.impossible_most_shown", place=stored.place, shown=most_coupons)
        return cls(
            schema=schema,
            family=family,
            rates=rates,
            size=np.inf if size is None else size,
            zero=zero,
            candidates=(),
            reason=note("fit_reason.as_stored", text=reason),
            most_shown=most_coupons,
            use=1.0 if use is None else use,
        )
