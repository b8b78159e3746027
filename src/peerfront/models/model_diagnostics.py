"""Is the fit any good? Numbers for capacity and offspring models, with and without the truth."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import chi2

from peerfront.foundation.binomials import thinned_counts
from peerfront.foundation.covariates import UNKNOWN, Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_generator, named_luck
from peerfront.foundation.response_families import n_parameters
from peerfront.foundation.settings import whole_number
from peerfront.models.offspring.pairs import Pairs, check_schema, sampled_children, sampled_log_scores
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.returns.coupons_seen import count_chances
from peerfront.problem import History, OffspringModel, ResponseModel

Array = NDArray[np.float64]
MISFIT = 0.01
"""A p-value below this is called a misfit."""


# Capacity ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CapacityReport:
    """How well a response model describes some referrals."""

    log_likelihood: float | None
    """Log-likelihood per informative row."""
    rootogram: pd.DataFrame
    """recruits, observed, expected: how many people brought 0, 1, 2, ... and how many the model expects."""
    chi_square: float
    degrees: int
    p_value: float
    """Of the rootogram (cells expecting fewer than 5 are joined): small means that the family does not fit."""
    calibration: pd.DataFrame
    """coupon, people, predicted, observed, low, high: the chance that the l-th coupon is used, 95% intervals."""

    @property
    def misfit(self) -> bool:
        """Whether the counts are so unlike the model's that chance does not explain it (p below `MISFIT`)."""
        return self.degrees > 0 and self.p_value < MISFIT


def response_report(model: ResponseModel, history: History, parameters: int | None = None) -> CapacityReport:
    """Compare predictions with what happened; `parameters` are taken off the degrees of freedom.

    None: those that the family of a fitted model has for the shape of its counts, and 1 for other models.
    """
    check_schema(model, history.schema)
    if parameters is None:
        parameters = n_parameters(model.family) if isinstance(model, LearnedResponse) else 1
    parameters = whole_number("parameters", parameters, 0)
    rows = history.informative_rows()
    coupons, recruits = history.coupons[rows], history.recruits[rows]
    most = int(coupons.max())
    chances = count_chances(model, history.referrers[rows], coupons)  # [rows, most + 1]
    exposure = history.exposure_of(rows)
    if exposure is not None:
        chances = thinned_counts(chances, exposure)  # of recruits so far
    at_least = np.cumsum(chances[:, ::-1], axis=1)[:, -2::-1]  # P(N >= l), l = 1 .. most
    levels = np.arange(most + 1)
    rootogram = pd.DataFrame(
        {"recruits": levels, "observed": np.bincount(recruits, minlength=most + 1), "expected": chances.sum(axis=0)}
    )
    statistic, degrees = _chi_square(rootogram, parameters)
    likelihood = None
    if isinstance(model, LearnedResponse):
        likelihood = float(log_likelihoods(model, history).mean())
    return CapacityReport(
        likelihood,
        rootogram,
        statistic,
        degrees,
        float(chi2.sf(statistic, degrees)) if degrees > 0 else float("nan"),
        _calibration(at_least, coupons, recruits),
    )


def log_likelihoods(model: LearnedResponse, history: History) -> Array:
    """Log-likelihood of each informative row."""
    check_schema(model, history.schema)
    rows = history.informative_rows()
    people, exposure = history.referrers[rows], history.exposure_of(rows)
    return model.log_likelihoods(people, history.coupons[rows], history.recruits[rows], exposure)


def _chi_square(rootogram: pd.DataFrame, parameters: int) -> tuple[float, int]:
    """The statistic and its degrees of freedom; cells expecting fewer than 5 are joined with their neighbours."""
    observed, expected = rootogram["observed"].to_numpy(float), rootogram["expected"].to_numpy(float)
    cells: list[list[float]] = []
    for seen, predicted in zip(observed, expected, strict=True):
        if cells and (cells[-1][1] < 5 or predicted < 5):
            cells[-1][0] += seen
            cells[-1][1] += predicted
        else:
            cells.append([seen, predicted])
    statistic = sum((seen - predicted) ** 2 / predicted for seen, predicted in cells if predicted > 0)
    return float(statistic), len(cells) - 1 - parameters


def _calibration(at_least: Array, coupons: NDArray[np.int64], recruits: NDArray[np.int64]) -> pd.DataFrame:
    """One row per coupon, with Wilson intervals; the l-th is observed only for people who got at least l."""
    rows = []
    for level in range(1, at_least.shape[1] + 1):
        given = coupons >= level
        n = int(given.sum())
        if not n:
            continue
        used = float((recruits[given] >= level).mean())
        low, high = share_interval(used, n)
        rows.append(
            {
                "coupon": level,
                "people": n,
                "predicted": float(at_least[given, level - 1].mean()),
                "observed": used,
                "low": low,
                "high": high,
            }
        )
    return pd.DataFrame(rows)


def share_interval(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share that was seen in n cases."""
    z = 1.96
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n**2)) / (1 + z * z / n)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def rate_errors(estimated: Array, true: Array) -> dict[str, float]:
    """Errors of mean capacities where the truth is known, overall and among the tenth with the largest true rates."""
    if estimated.shape != true.shape or estimated.ndim != 1 or not len(true):
        raise SettingError("diagnostics.rates_do_not_match", estimated=estimated.shape, true=true.shape)
    error, top = estimated - true, true >= np.quantile(true, 0.9)
    varied = np.ptp(estimated) > 0 and np.ptp(true) > 0
    return {
        "mae": float(np.abs(error).mean()),
        "rmse": float(np.sqrt((error**2).mean())),
        "correlation": float(np.corrcoef(estimated, true)[0, 1]) if varied else float("nan"),
        "top_decile_bias": float(error[top].mean()),
    }


# Offspring ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OffspringReport:
    """How much a generator's recruits are like the recruits that came."""

    fields: pd.DataFrame
    """field, match_data, match_model, match_error, log_score."""
    log_score: float
    """Sum over fields of the held-out log score, mean over pairs."""
    match_error: float
    association_error: float
    """Mean absolute error of Cramer's V between two fields of a recruit, over all pairs of fields."""
    detection: float
    detection_error: float
    """Share of pairs that a classifier tells apart from generated ones; .5 means it cannot. With its standard error."""


def offspring_report(model: OffspringModel, judged: Pairs, *, samples: int = 100, seed: int = 0) -> OffspringReport:
    """Judge by samples alone, on pairs the generator has not seen."""
    scores = sampled_log_scores(model, judged, samples=samples, seed=seed)
    children = sampled_children(model, judged.parents, samples, seed)
    known = (judged.children >= 0) & (judged.parents >= 0)
    same = np.where(known, judged.children == judged.parents, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    alike = (children == judged.parents[:, None, :]).mean(axis=1)
    modelled = np.where(known, alike, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    table = pd.DataFrame(
        {
            "field": judged.schema.names,
            "match_data": same,
            "match_model": modelled,
            "match_error": np.abs(modelled - same),
            "log_score": scores.mean(axis=0),
        }
    )
    # Generators know every field; where the recruit that came is unknown, so is the one it is compared with.
    generated = np.where(judged.children >= 0, children[:, 0], np.int16(UNKNOWN))
    error = np.abs(_associations(judged.children, judged.schema.sizes) - _associations(generated, judged.schema.sizes))
    detected, spread = _detection(judged, generated, seed)
    return OffspringReport(
        table,
        float(scores.sum(axis=1).mean()),
        float(table["match_error"].mean()),
        float(error.mean()) if len(error) else 0.0,
        detected,
        spread,
    )


def _associations(codes: Codes, sizes: NDArray[np.int64]) -> Array:
    """Cramer's V (bias-corrected) of every pair of fields."""
    associations: list[float] = []
    for a in range(codes.shape[1]):
        for b in range(a + 1, codes.shape[1]):
            both = (codes[:, a] >= 0) & (codes[:, b] >= 0)
            counts = np.zeros((sizes[a], sizes[b]))
            np.add.at(counts, (codes[both, a], codes[both, b]), 1.0)
            counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
            n, (rows, columns) = counts.sum(), counts.shape
            if n < 2 or min(rows, columns) < 2:
                associations.append(0.0)
                continue
            expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
            phi = max(0.0, ((counts - expected) ** 2 / expected).sum() / n - (rows - 1) * (columns - 1) / (n - 1))
            rows, columns = rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)
            associations.append(float(np.sqrt(phi / max(min(rows, columns) - 1, 1e-9))))
    return np.array(associations)


def _detection(judged: Pairs, generated: Codes, seed: int) -> tuple[float, float]:
    """Share of pairs a logistic classifier tells apart on the half it is not trained on, with its standard error.

    It sees the child, and which fields match the parent.
    """
    schema = judged.schema

    def features(children: Codes) -> Array:
        alike = (children == judged.parents) & (children >= 0)
        return np.concatenate([schema.one_hot(children), alike.astype(float)], axis=1, dtype=np.float64)

    inputs = np.concatenate([features(judged.children), features(generated)])
    truth = np.repeat([1.0, 0.0], len(judged))
    order = named_generator("detection", seed).permutation(len(truth))
    half = len(order) // 2
    if half < 2:
        return 0.5, float("nan")
    seen, wanted = inputs[order[:half]], truth[order[:half]]

    def loss(weights: Array) -> tuple[float, Array]:
        scores = seen @ weights[1:] + weights[0]
        value = np.logaddexp(0.0, scores).mean() - (wanted * scores).mean() + (weights[1:] ** 2).sum() / half
        error = (expit(scores) - wanted) / half
        return float(value), np.concatenate([[error.sum()], seen.T @ error + 2.0 * weights[1:] / half])

    weights = minimize(loss, np.zeros(inputs.shape[1] + 1), jac=True, method="L-BFGS-B").x
    guessed = inputs[order[half:]] @ weights[1:] + weights[0] > 0.0
    right = float((guessed == truth[order[half:]]).mean())
    return right, float(np.sqrt(right * (1 - right) / (len(order) - half)))


def field_distances(model: OffspringModel, truth: OffspringModel, parents: Codes, samples: int = 200) -> Array:
    """Total variation between the two generators' recruits, per field, averaged over parents' categories.

    Recruits are pooled over the parents that share a category of the field, so that sampling noise stays small. A
    generator may leave a field unknown (the truth does, of an unknown parent's); that counts as a category of its own.
    """
    samples = whole_number("samples", samples, 1)
    for each in (model, truth):
        if (schema := getattr(each, "schema", None)) is not None:
            schema.check(parents)
    if not len(parents):
        raise SettingError("diagnostics.no_parents")
    repeated = np.repeat(parents, samples, axis=0)
    one = model.sample(repeated, named_luck(("distance", 0), len(repeated)))
    other = truth.sample(repeated, named_luck(("distance", 1), len(repeated)))
    distances = np.zeros(parents.shape[1])
    for f in range(parents.shape[1]):
        size = int(max(one[:, f].max(), other[:, f].max())) + 2
        for category in np.unique(repeated[:, f]):
            rows = repeated[:, f] == category
            a, b = (np.bincount(codes[rows, f] + 1, minlength=size) / rows.sum() for codes in (one, other))
            distances[f] += rows.mean() * 0.5 * np.abs(a - b).sum()
    return distances
