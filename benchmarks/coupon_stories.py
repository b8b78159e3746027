"""What a coupon does in two real studies: AIC of all families, weights of the stories, and what one coupon brings.

python benchmarks/coupon_stories.py PATH_TO_DATA

First without covariates, by maximum likelihood (the table of docs/results). Then with them: each story fitted as `fit`
does it, judged on people left out.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from peerfront.models.response.maximum_likelihood import maximum_likelihood
from peerfront.models.response.response_stories import expected_recruits, fit_stories, weigh

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.reading import read_study
from peerfront.data.study_schema import history_of
from peerfront.foundation.response_families import STORIES
from peerfront.problem import History

FILES = {"nyjazz": "raw/nyjazz.csv", "rdstools_toy": "raw/rdstools_toy.csv"}
MOST = 3


def history(data: Path, name: str) -> History:
    """A study as `peerfront fit` reads it."""
    study = read_study(data / name / FILES[name])
    return history_of(study, guess_schema(study).schema)


def counts(data: Path, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Coupons and recruits of everybody; of three people's recruits those beyond their coupons do not count."""
    people = pd.read_csv(data / name / "participants.csv", dtype=str, keep_default_na=False)
    coupons, recruits = (people[column].astype(int).to_numpy() for column in ("n_coupons_issued", "n_recruits"))
    return coupons, np.minimum(coupons, recruits)


def without_covariates(coupons: NDArray[np.int64], recruits: NDArray[np.int64]) -> None:
    print(f"  without covariates: {(coupons > 0).sum()} people")
    for story, families in STORIES.items():
        for family in families:
            found = maximum_likelihood(family, coupons, recruits)
            shown = " ".join(f"{each:.2f}" for each in found.expected_recruits(MOST))
            print(f"  {story:10} {family:12} AIC {found.aic:6.1f}   recruits with 1, 2, 3 coupons: {shown}")


def with_covariates(referrals: History) -> None:
    stories = fit_stories(referrals)
    weighed = weigh(stories)
    responses = {story.name: story.response for story in stories}
    table = expected_recruits(responses, referrals.referrers[referrals.coupons > 0], MOST)
    for story in stories:
        row, (behind, error) = table[story.name], weighed.behind[story.name]
        recruits = ", ".join(
            f"{m:.2f} ({a:.2f} to {b:.2f})" for m, a, b in zip(row.mean, row.low, row.high, strict=True)
        )
        print(f"  {story.name}: {story.response.family}, fields {story.response.fields or 'none'}")
        print(f"    held out {story.held_out.sum():.1f}; comparable: {behind:.1f} +- {error:.1f} below the best")
        print(f"    recruits with 1, 2, 3 coupons: {recruits}")
    stacked = {name: round(weight, 2) for name, weight in weighed.stacked.items()}
    print(f"  weights {stacked}, ruled out: {', '.join(weighed.ruled_out) or 'none'}")
    print(f"  {stories[0].response.reason}")


def main() -> None:
    for name in FILES:
        referrals = history(Path(sys.argv[1]), name)
        print(f"{name}: {(referrals.coupons > 0).sum()} people with coupons")
        without_covariates(*counts(Path(sys.argv[1]), name))
        with_covariates(referrals)


if __name__ == "__main__":
    main()
