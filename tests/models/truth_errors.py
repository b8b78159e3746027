"""How far models are from the truth, where it is known; for tests and benchmarks."""

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import named_luck
from peerfront.problem import OffspringModel

Array = NDArray[np.float64]


def rate_errors(estimated: Array, true: Array) -> dict[str, float]:
    """Errors of mean capacities where the truth is known, overall and among the tenth with the largest true rates."""
    error, top = estimated - true, true >= np.quantile(true, 0.9)
    varied = np.ptp(estimated) > 0 and np.ptp(true) > 0
    return {
        "mae": float(np.abs(error).mean()),
        "rmse": float(np.sqrt((error**2).mean())),
        "correlation": float(np.corrcoef(estimated, true)[0, 1]) if varied else float("nan"),
        "top_decile_bias": float(error[top].mean()),
    }


def field_distances(model: OffspringModel, truth: OffspringModel, parents: Codes, samples: int = 200) -> Array:
    """Total variation between the two generators' recruits, per field, averaged over parents' categories.

    Recruits are pooled over the parents that share a category of the field, so that sampling noise stays small. A
    generator may leave a field unknown (the truth does, of an unknown parent's); that counts as a category of its own.
    """
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
