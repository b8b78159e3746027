"""A reproduction small enough for a test: all parts and all methods, few people, true models, little training.

The quick planner of the paper stands in for the repaired one, which learns for a minute.
"""

import sys
from dataclasses import replace
from pathlib import Path

from peerfront.experiments.comparison import Comparison
from peerfront.experiments.reproduction import (
    DESCRIBED,
    PUBLISHED,
    REPAIRED,
    Part,
    ReproductionPlan,
    reproduce,
    training_name,
)
from peerfront.problem import Rules
from peerfront.words.reproduction_report import write_reproduction

_PAPER = (
    "random_split",
    "budget_dqn:episodes=20,name=budget_dqn",
    "factorized_rl:episodes=20,name=factorized_rl",
    "population_dp:population=64,name=population_dp",
    "gfp-paper",
)
_OURS = ("gfp-paper:name=gfp", "threshold:cutoff=0.8,at_least=3,name=threshold", "constant")


def tiny(discounts: tuple[float, ...] = (0.9, 1.0)) -> ReproductionPlan:
    described = Comparison(
        worlds=("boom_bust",),
        policies=(*_PAPER, *_OURS, "gfp-untrained"),
        discounts=discounts,
        episodes=25,
        rules=Rules(budget=10, people=3, rounds=6),
        bound=True,
    )
    trained = tuple(policy.replace("episodes=20", "training=published,episodes=20") for policy in _PAPER[:-1])
    trained = (*trained, "gfp:training=published,name=gfp-published")
    published = replace(described, policies=(*trained, "gfp-paper"), bound=False)
    again = replace(published, policies=trained, seed=1)
    ours = replace(described, policies=_OURS)
    parts = (
        Part(PUBLISHED, "as published", published),
        Part(training_name(2), "once more", again),
        Part(REPAIRED, "ours there", ours),
    )
    return ReproductionPlan("tiny", discounts, 0, (*parts, Part(DESCRIBED, "as described", described)))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write_reproduction(reproduce(tiny(), folder), folder)
