"""A response model whose parameters are off by as much as the data leave open: one draw, as a model of its own.

`LearnedResponse.sample_shifted` draws recruits of many people, each with their own draw. Where the chances of counts
are needed (what is still to come from open coupons), one draw becomes a model: `shifted`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.models.rates import SMALLEST_RATE, RateEnsemble
from peerfront.models.response import LARGEST_SHIFT, LearnedResponse

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShiftedRates(RateEnsemble):
    """Rates whose logs are off by the weighted sum of the members' deviations, and by one number for everybody."""

    member_weights: Array | None = None  # [members]
    log_rate: float = 0.0

    def means(self, rows: NDArray[np.float32] | Array) -> Array:
        assert self.member_weights is not None, "`shifted` gives them"
        fitted = super().means(rows)
        logs = np.log(np.maximum(self.member_means(rows), SMALLEST_RATE))  # [members, people]
        shift = _shift((logs - logs.mean(axis=0)).T, self.member_weights)
        return np.minimum(fitted * np.exp(shift + self.log_rate), self.largest + SMALLEST_RATE)


def shifted(response: LearnedResponse, weights: Array, log_rate: float = 0.0) -> LearnedResponse:
    """The model by which `sample_shifted` draws with these weights, [members], and this shift of log rates."""
    assert response.members is not None, "its __post_init__ fills them in"
    rates, spread = response.rates, response.members - response.members.mean(axis=0)
    size, zero, use = (float(_shift(spread[:, column], weights)) for column in range(3))
    return replace(
        response,
        rates=ShiftedRates(
            rates.shape, rates.weights, rates.biases, rates.log_scale, rates.largest, np.asarray(weights), log_rate
        ),
        size=response.size * float(np.exp(size)),
        zero=_moved(response.zero, zero),
        use=_moved(response.use, use),
    )


def _shift(deviations: Array, weights: Array) -> Any:
    return np.clip((deviations * weights).sum(axis=-1), -LARGEST_SHIFT, LARGEST_SHIFT)


def _moved(share: float, logit: float) -> float:
    """The share whose logit is so much larger."""
    if share in (0.0, 1.0):
        return share
    odds = share / (1.0 - share) * float(np.exp(logit))
    return odds / (1.0 + odds)
