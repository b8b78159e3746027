"""Judging a generator that only gives samples: how likely are the recruits that really came?"""

import numpy as np
from numpy.typing import NDArray

from peerfront.covariates import Codes
from peerfront.models.checks import check_schema, seed_number
from peerfront.models.offspring.pairs import Pairs
from peerfront.problem import OffspringModel, whole_number
from peerfront.randomness import named_luck

SAMPLES = 100


def sampled_children(model: OffspringModel, parents: Codes, samples: int, seed: int = 0) -> Codes:
    """`samples` recruits of each parent, [parents, samples, fields]."""
    samples = whole_number("samples", samples, 1)
    luck = named_luck(("judge offspring", seed_number("seed", seed)), len(parents) * samples)
    children = model.sample(np.repeat(parents, samples, axis=0), luck)
    return children.reshape(len(parents), samples, parents.shape[1])


def sampled_log_scores(
    model: OffspringModel, judged: Pairs, *, samples: int = SAMPLES, seed: int = 0
) -> NDArray[np.float64]:
    """Log of the share of samples with the true category, [pairs, fields]; unknown categories score 0.

    Half a sample is spread over the categories of the field: a category never drawn is unlikely, not impossible.
    """
    check_schema(model, judged.schema)
    children = sampled_children(model, judged.parents, samples, seed)
    hits = (children == judged.children[:, None, :]).sum(axis=1)
    chances = (hits + 0.5 / judged.schema.sizes) / (samples + 0.5)
    scores: NDArray[np.float64] = np.where(judged.children >= 0, np.log(chances), 0.0)
    return scores
