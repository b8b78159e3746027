"""A fit that predicts too well to be true: columns that together know the outcome although none does so alone.

`data.column_findings` looks at columns one by one and in pairs before anything is fitted. Here the models' own
predictions for people who were left out meet the same test (`data.counting_noise`), before a planner is learned.
"""

from collections.abc import Sequence

import numpy as np

from peerfront.data.columns.counting_noise import FEWEST_PEOPLE, CountingNoise
from peerfront.foundation.binomials import thinned_counts
from peerfront.models.response.response_stories import StoryFit
from peerfront.problem import History

ONLY_IF_KNOWN = "they are right only if all columns are known before people get their coupons."
_NAMED = 3  # columns that a message names


def implausible_gain(fitted: Sequence[StoryFit], history: History) -> str:
    """Return why the held-out predictions are too good to be true; "" if they are not."""
    if not history.schema.fields or all(len(field.categories) < 2 for field in history.schema.fields):
        return ""
    for story in fitted:
        if len(story.recruits) < FEWEST_PEOPLE:
            continue
        chances = np.exp(story.logs)
        chances = chances / chances.sum(axis=1, keepdims=True)
        if story.exposure is not None:
            chances = thinned_counts(chances, story.exposure)  # of recruits so far
        means = chances @ np.arange(chances.shape[1])
        evidence = CountingNoise(story.coupons, story.recruits, len(fitted)).judge(means, 1.0 - chances[:, 0])
        if evidence.implausible:
            return (
                "what is known about people predicts recruits too well to have been known before. For people left out "
                f"{evidence.why}"
            )
    return ""


def stopped_by_gain(source: str, reason: str, history: History) -> str:
    """Say why the fit stops, which columns to look at first, and how to go on knowingly."""
    rows = history.informative_rows()
    noise = CountingNoise(history.coupons[rows], history.recruits[rows])
    strength = {}
    for number, field in enumerate(history.schema.fields):
        groups = np.unique(history.referrers[rows, number], return_inverse=True)[1]
        evidence = noise.test(np.asarray(groups, dtype=np.int64), int(groups.max()) + 1)
        strength[field.name] = max(evidence.explained, 1.0 - evidence.noise_left)
    first = sorted(strength, key=lambda name: -strength[name])[:_NAMED]
    return (
        f"{source}: {reason}. Some of the columns probably hold what came of the coupons: payments, returned coupons, "
        "answers of a later visit. The people who wait cannot have these yet, so every plan would be wrong. Look at "
        f"the strongest first ({', '.join(map(repr, first))}) and leave out what was written down later (exclude in "
        "the schema file). If all of them are known before people get their coupons, fit with --accept-gain "
        "(accept_gain=True in Python)."
    )
