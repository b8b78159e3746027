"""A response model that tells no count of fewer than five people: parameters rounded by what five people move.

Whoever has the exact parameters of a fit can solve for the counts behind them: with everybody alike, a rate is the mean
number of recruits, and the members of the ensemble, each fitted without a fifth of the rows, tell it fold by fold. So
no parameter of a linear model is kept more exactly than to a step, which is how far it moves if five people bring one
recruit more or fewer:

    step_j = 5 * median over people of |[I^-1 (g_i(y_i +- 1) - g_i(y_i))]_j|,

with the scores g_i of the log-likelihood and the information I = sum of g_i g_i'. Weights are rounded towards 0, which
is "everybody alike"; the rate of the average person, and shares (of people who bring nobody, of coupons used), as the
numbers they are. Members keep how they differ from their mean, in steps, rounded up or down by chance so that their
spread stays what it is. Networks, whose weights nobody can solve for, keep three decimals.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.randomness import named_generator
from peerfront.foundation.response_families import has_size, has_zero, response_log_likelihood
from peerfront.foundation.stored import FEWEST, rounded_count, rounded_counts
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.rates import SMALLEST_RATE
from peerfront.models.response.response_choice import largest_believed
from peerfront.problem import History

Array = NDArray[np.float64]
_SMALL = 1e-4  # a change of a parameter that shows how the likelihood changes
_RIDGE = 1.0  # in rows: columns of one field add up to the bias
_LEAST_STEP = 1e-3
_LEAST_SHARE = 1e-6
_SCALE_STEP = 0.05  # of the factor in front of a softplus


@dataclass(frozen=True, eq=False)
class _Steps:
    """How far five people move each parameter, on the scale on which it was fitted."""

    weights: Array  # [columns]
    score: float  # of the average person
    log_size: float
    zero_logit: float
    use_logit: float


def private_response(response: LearnedResponse, history: History, doubt: float | None) -> LearnedResponse:
    """Round the parameters so that they tell no count of fewer than five people of the history."""
    rows = history.informative_rows()
    coupons, recruits, exposure = history.coupons[rows], history.recruits[rows], history.exposure_of(rows)
    people = history.schema.one_hot(history.referrers[rows]).astype(np.float64)
    rounded = response.rounded()
    if not response.rates.shape.hidden:
        rounded = _in_steps(response, people, _steps(response, people, coupons, recruits, exposure))
    if doubt is None:
        return rounded
    evidence = len(rows) if exposure is None else exposure.sum()  # in people who have had all their time
    n_rows, used, given = (rounded_count(int(number)) for number in (evidence, recruits.sum(), coupons.sum()))
    most_coupons = rounded.most_shown or 1
    largest = largest_believed(rounded.family, n_rows, used, given, most_coupons, doubt, rounded.size, rounded.use)
    return replace(rounded, rates=replace(rounded.rates, largest=largest))


def _in_steps(response: LearnedResponse, people: Array, steps: _Steps) -> LearnedResponse:
    rates, members, family = response.rates, response.members, response.family
    assert members is not None, "__post_init__ fills it in"
    chance = named_generator("private parameters", 0)

    def apart(each: Array, step: Array | float) -> Array:
        """How members differ from their mean, [members, ...], in whole steps."""
        differences: Array = (each - each.mean(axis=0)) / step
        return step * np.floor(differences + chance.random(differences.shape))

    weights, biases = rates.weights[0][:, :, 0], rates.biases[0][:, 0, 0]  # [members, columns], [members]
    kept: Array = steps.weights * np.trunc(weights.mean(axis=0) / steps.weights) + apart(weights, steps.weights)
    kept = np.where(weights == 0.0, 0.0, kept)
    # The rate of the average person, by each member, on the log scale; all have the same factor afterwards.
    common = replace(
        rates, log_scale=np.full_like(rates.log_scale, _SCALE_STEP * np.round(rates.log_scale.mean() / _SCALE_STEP))
    )
    scores = (biases + weights @ people.mean(axis=0))[:, None]  # [members, 1]
    below, now, above = (np.log(rates.of_scores(scores + by))[:, 0] for by in (-_SMALL, 0.0, _SMALL))
    step = steps.score * float((above - below).mean()) / (2 * _SMALL)
    mean_rate = float(np.exp(now.mean()))
    levels = [common.score_of(rate) for rate in _nearest(mean_rate, step * mean_rate) * np.exp(apart(now, step))]
    average = rounded_counts(people.sum(axis=0)) / max(rounded_count(len(people)), FEWEST)
    size, zero, use = response.size, response.zero, response.use
    if has_size(family):  # 1 / (1 + size) is a share: of variance, or of agreement between somebody's coupons
        size = 1.0 / _share(1.0 / (1.0 + size), steps.log_size) - 1.0
    if has_zero(family):
        zero = _share(zero, steps.zero_logit)
    if family == "thinned":
        use = _share(use, steps.use_logit)
    centers = [np.log(size) if has_size(family) else 0.0, _logit(zero), _logit(use)]
    others: Array = np.array(centers) + apart(members, np.array([steps.log_size, steps.zero_logit, steps.use_logit]))
    others[:, ~np.array([has_size(family), has_zero(family), family == "thinned"])] = 0.0
    weights = np.round(kept, 6)
    return replace(
        response,
        rates=replace(
            rates,
            weights=(weights[:, :, None],),
            biases=(np.round(levels - kept @ average, 6)[:, None, None],),
            log_scale=common.log_scale,
        ),
        size=round(size, 6) if has_size(family) else size,
        zero=round(zero, 6),
        use=round(use, 6),
        members=np.round(others, 6),
    )


def _steps(
    response: LearnedResponse,
    people: Array,
    coupons: NDArray[np.int64],
    recruits: NDArray[np.int64],
    exposure: Array | None,
) -> _Steps:
    family, rates = response.family, response.rates
    mean = replace(rates, log_scale=rates.log_scale.mean(keepdims=True))
    fitted = people @ rates.weights[0][:, :, 0].mean(axis=0) + rates.biases[0].mean()

    def log_likelihood(counts: NDArray[np.int64], score: float, size: float, zero: float, use: float) -> Array:
        """Log-likelihood with shifted parameters, [people]."""
        return response_log_likelihood(
            family,
            coupons,
            counts,
            np.maximum(mean.of_scores(fitted + score).reshape(-1), SMALLEST_RATE),
            response.size * np.exp(size),
            _of_logit(_logit(response.zero) + zero) if has_zero(family) else response.zero,
            _of_logit(_logit(response.use) + use) if family == "thinned" else response.use,
            exposure,
        )

    used = (rates.weights[0] != 0.0).any(axis=(0, 2))  # [columns]
    there = [True, has_size(family), has_zero(family), family == "thinned"]

    def slopes(counts: NDArray[np.int64]) -> Array:
        """Of the log-likelihood, by column, by the score, and by what else the family has, [people, parameters]."""
        changes = _SMALL * np.eye(4)[there]
        each = [(log_likelihood(counts, *by) - log_likelihood(counts, *-by)) / (2 * _SMALL) for by in changes]
        return np.column_stack([people[:, used] * each[0][:, None], *each])

    now = slopes(recruits)
    other = slopes(np.where(recruits < coupons, recruits + 1, recruits - 1))
    information = now.T @ now + _RIDGE * np.eye(now.shape[1])
    moved = np.abs(np.linalg.solve(information, (other - now).T)).T  # [people, parameters]
    own, shared = np.zeros(len(used)), np.zeros(4)
    for column, by_person in zip(np.flatnonzero(used).tolist(), moved.T, strict=False):
        concerned = by_person[people[:, column] > 0.0]
        own[column] = np.median(concerned) if len(concerned) else 0.0
    shared[there] = np.median(moved[:, used.sum() :], axis=0)
    weights, others = (np.maximum(FEWEST * step, _LEAST_STEP) for step in (own, shared))
    return _Steps(weights, *others.tolist())


def _nearest(value: float, step: float) -> float:
    """The nearest multiple of the step, or half a step instead of nothing."""
    return max(float(np.round(value / step)), 0.5) * step if step > 0.0 else value


def _share(share: float, logit_step: float) -> float:
    """A share, rounded by what the step of its logit means for it."""
    share = min(max(share, _LEAST_SHARE), 1.0 - _LEAST_SHARE)
    rounded = _nearest(share, max(logit_step * share * (1.0 - share), _LEAST_SHARE))
    return min(rounded, 1.0 - _LEAST_SHARE)


def _logit(share: float) -> float:
    share = min(max(share, _LEAST_SHARE), 1.0 - _LEAST_SHARE)
    return float(np.log(share / (1.0 - share)))


def _of_logit(logit: float) -> float:
    return float(1.0 / (1.0 + np.exp(-logit)))
