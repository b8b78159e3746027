"""What earlier studies say about one number of a new one: random effects, with the spread between studies learned.

Each study has a number theta_j (a log rate, a slope, a chance to be alike), known to a standard error e_j. Studies
differ: theta_j ~ N(mu, tau^2). For a given tau, mu is estimated from all of them, with weights 1 / (e_j^2 + tau^2), and
the new study's own number is drawn towards what the others say,

    posterior precision = 1 / e^2 + 1 / (tau^2 + var(mu of the others)).

tau is not known: it is averaged over, by the restricted likelihood of all studies, the new one included, times a
half-normal prior. So earlier studies that differ from each other, or from the new one, make tau large and count for
little; how much they count is `prior_share`, their part of the posterior precision.

Whom people bring (`pool_inheritance`): in each field recruits are like their recruiter with some chance h, and
otherwise like anybody (`inheritance_tables`). Who anybody is, is the study's own business: districts have other shares
elsewhere. h is pooled with what earlier models say of the same field; its error in a study of n pairs, of which a share
p match, c of them by chance, is sqrt(p (1 - p) / n) / (1 - c).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Schema
from peerfront.foundation.stored import rounded_count
from peerfront.models.offspring.inheritance_tables import InheritanceTable, field_counts, private_alike, private_table
from peerfront.problem import History

Array = NDArray[np.float64]
ALIKE_DIFFERS = 0.15
"""How much the chance to be like one's recruiter usually differs between studies."""
_USUAL_PAIRS = 5.0  # that earlier shares of categories are worth
_LEAST_ERROR = 0.02
_GRID = 80
_SMALLEST, _LARGEST = 0.01, 10.0  # taus tried, in units of the prior's


@dataclass(frozen=True)
class Pooled:
    """A number of the new study, pooled with those of earlier ones."""

    mean: float
    error: float
    """Its standard error; never above the study's own but for how unsure the weight of the others is."""
    between: float
    """How much studies differ: the posterior mean of tau."""
    prior_share: float
    """The earlier studies' part of the precision: 0 if they do not count, 1 if the study itself says nothing."""


def pooled(own: float, error: float, others: Sequence[float], errors: Sequence[float], usual_spread: float) -> Pooled:
    """Draw the new study's number towards those of the others; `usual_spread` is the half-normal prior's of tau.

    An infinite `error` says that the new study knows nothing by itself.
    """
    if not len(others):
        return Pooled(own, error, usual_spread, 0.0)
    theta, own_errors = np.asarray(others, dtype=np.float64), np.maximum(np.asarray(errors, dtype=np.float64), 1e-6)
    taus = usual_spread * np.geomspace(_SMALLEST, _LARGEST, _GRID)
    weights = 1.0 / (own_errors**2 + taus[:, None] ** 2)  # [taus, others]
    middle = (weights * theta).sum(axis=1) / weights.sum(axis=1)
    says = taus**2 + 1.0 / weights.sum(axis=1)  # variance of what the others say about the new study, [taus]
    log_likelihood = 0.5 * np.log(weights).sum(axis=1) - 0.5 * np.log(weights.sum(axis=1))
    log_likelihood -= 0.5 * (weights * (theta - middle[:, None]) ** 2).sum(axis=1)
    speaks = bool(np.isfinite(error))
    variance = max(error, 1e-6) ** 2 if speaks else np.inf
    if speaks:
        log_likelihood += -0.5 * np.log(variance + says) - 0.5 * (own - middle) ** 2 / (variance + says)
    # The grid is even in log tau, so that its density has another factor tau.
    log_posterior = log_likelihood - 0.5 * (taus / usual_spread) ** 2 + np.log(taus)
    believed = np.exp(log_posterior - log_posterior.max())
    believed /= believed.sum()
    share = (1.0 / says) / (1.0 / says + (1.0 / variance if speaks else 0.0))
    means = share * middle + (1.0 - share) * own if speaks else middle
    mean = float(believed @ means)
    spread = float(believed @ ((1.0 - share) * variance if speaks else says))
    return Pooled(
        mean,
        float(np.sqrt(spread + believed @ (means - mean) ** 2)),
        float(believed @ taus),
        float(believed @ share),
    )


# Whom people bring ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EarlierAlike:
    """What one earlier study says about one field."""

    alike: float
    error: float
    shares: Array | None  # [categories], of its recruits; None if its categories are others


def alike_of(parents: NDArray[np.int16], children: NDArray[np.int16], size: int, pairs: int) -> tuple[float, float]:
    """The chance to be like one's recruiter in (many, drawn) pairs, and its error in a study of `pairs` pairs."""
    counts = field_counts(parents, children, size)
    total = max(counts.sum(), 1.0)
    marginal = counts.sum(axis=0) / total
    by_chance = min(float((marginal**2).sum()), 0.99)
    matching = float(np.trace(counts) / max(counts[:-1].sum(), 1.0))
    return float(np.clip((matching - by_chance) / (1.0 - by_chance), 0.0, 1.0)), _error(matching, by_chance, pairs)


def _error(matching: float, by_chance: float, pairs: float) -> float:
    share = min(max(matching, 0.05), 0.95)
    return max(float(np.sqrt(share * (1.0 - share) / max(pairs, 1.0))) / (1.0 - by_chance), _LEAST_ERROR)


def pool_inheritance(
    history: History, earlier: Mapping[str, Sequence[EarlierAlike]]
) -> tuple[InheritanceTable, dict[str, Pooled]]:
    """Tables of whom people bring, from the study's pairs and what earlier studies say by field; and how they count."""
    schema: Schema = history.schema
    tables, estimates = [], {}
    for number, field in enumerate(schema.fields):
        size = len(field)
        counts = field_counts(history.parents[:, number], history.children[:, number], size)
        others = earlier.get(field.name, ())
        if not others or size < 2:
            tables.append(private_table(counts))
            continue
        pairs = float(rounded_count(int(counts[:-1].sum())))
        marginal = (counts.sum(axis=0) + 0.5) / (counts.sum() + 0.5 * size)
        by_chance = float((marginal**2).sum())
        own = private_alike(counts)
        error = np.inf if pairs == 0.0 else _error(own + (1.0 - own) * by_chance, by_chance, pairs)
        estimate = pooled(own, error, [each.alike for each in others], [each.error for each in others], ALIKE_DIFFERS)
        shares = [each.shares for each in others if each.shares is not None]
        usual = _USUAL_PAIRS * np.mean(shares, axis=0) if shares else None
        tables.append(private_table(counts, round(estimate.mean, 2), usual))
        estimates[field.name] = estimate
    return InheritanceTable(schema, tuple(tables)), estimates
