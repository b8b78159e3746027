"""How many people somebody brings: the fitted model, in NumPy (Section 3.1).

A person's rate is the average over an ensemble of small networks, each trained without a part of the data: the mean
capacity of a Poisson or negative binomial, before zero inflation. Such models are fitted by `response_fit`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.counts import FAMILIES, censored_log_likelihood, is_dispersed, quantile, survival_table
from peerfront.foundation.covariates import Codes, Schema, kinds_of
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Message, in_english, note
from peerfront.foundation.randomness import Luck
from peerfront.foundation.settings import among, check_fields, proportion, whole_number
from peerfront.foundation.stored import Stored
from peerfront.models.response.rates import FAMILY_NAMES, Candidate, RateEnsemble
from peerfront.problem import BinomialResponse

Array = NDArray[np.float64]
_LARGEST_SIZE = 1e9
_COUNTED_BY_KIND = 20_000  # people above which those who are alike are looked up together


@dataclass(frozen=True, eq=False)
class LearnedResponse(BinomialResponse):
    """A fitted response model (the Protocol of `problem.response`). An unknown category adds nothing to a rate."""

    schema: Schema
    family: str
    rates: RateEnsemble
    size: float  # of the negative binomial; infinite for the Poisson
    zero: float  # probability that nobody comes at all
    candidates: tuple[Candidate, ...]
    reason: Message
    most_shown: int | None = None
    """The most coupons that a few people had at once, so that data show what they do; None if that is not known."""

    def __post_init__(self) -> None:
        check_fields(self, family=among(note("kinds.family"), FAMILIES), zero=proportion)
        if not self.size > 0.0:
            raise SettingError("response_model.size_not_positive", family=FAMILY_NAMES[self.family], size=self.size)

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
        """Rates, [people]: mean capacities before zero inflation."""
        self.schema.check(covariates)
        if len(covariates) > _COUNTED_BY_KIND:
            kinds = kinds_of(covariates)
            return self.rates.means(self.schema.one_hot(kinds.rows))[kinds.kind]
        return self.rates.means(self.schema.one_hot(covariates))

    def expected(self, covariates: Codes) -> Array:
        """Expected recruits with unlimited coupons, [people]."""
        return self.means(covariates) * (1.0 - self.zero)

    def survival(self, covariates: Codes, max_coupons: int) -> Array:
        most, means = whole_number("max coupons", max_coupons, 0), self.means(covariates)
        return survival_table(self.family, means, self.size, self.zero, most)

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        luck.check(len(covariates))
        return quantile(self.family, luck.uniform("capacity"), self.means(covariates), self.size, self.zero)

    def log_likelihoods(
        self,
        covariates: Codes,
        coupons: NDArray[np.int64],
        recruits: NDArray[np.int64],
        exposure: Array | None = None,
    ) -> Array:
        """log P(N(k) = y) of each person, [people]; 0 without a coupon. An exposure below 1 is refused."""
        refuse_open_coupons(exposure)
        return censored_log_likelihood(self.family, coupons, recruits, self.means(covariates), self.size, self.zero)

    # Keeping -------------------------------------------------------------------------------------------------------

    def stored(self) -> Stored:
        """Everything but the candidates: their held-out likelihoods belong to single participants."""
        settings = {
            "family": self.family,
            "size": self.size if np.isfinite(self.size) else None,
            "zero": self.zero,
            "reason": in_english(self.reason),
            "most_shown": self.most_shown,
        }
        return Stored.of_parts(settings, rates=self.rates.stored())

    @classmethod
    def restored(cls, stored: Stored, schema: Schema) -> "LearnedResponse":
        size, zero = stored.optional("size", float), stored.setting("zero", float)
        family = stored.setting("family", str)
        sized = size is None if not is_dispersed(family) else size is not None
        if not 0.0 <= zero < 1.0 or not sized or (size is not None and not 0.0 < size <= _LARGEST_SIZE):
            raise DataFileError(
                "response_model.impossible_parameters",
                place=stored.place,
                size=size,
                zero=zero,
                family=family,
                largest=_LARGEST_SIZE,
            )
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
        )


def refuse_open_coupons(exposure: Array | None) -> None:
    """Refuse counts of recruits who have not all come: the likelihood would take them for small capacities."""
    if exposure is not None and bool((exposure < 1.0).any()):
        raise SettingError("response_model.open_coupons", n=int((exposure < 1.0).sum()))
