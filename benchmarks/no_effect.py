"""Are people told apart by chance? Made studies with and without any effect of what is known about people.

python benchmarks/no_effect.py [STUDIES] [PEOPLE]

Every study has people with the demo's five fields, each answer equally likely; everybody had 3 coupons. Without an
effect everybody's capacity is Poisson with mean 1.25; with one it is as in the demo. For each study: whether the belief
uses any field, and which.
"""

import sys
from collections import Counter

import numpy as np

from peerfront.foundation.covariates import uniform_codes
from peerfront.foundation.machine import one_thread
from peerfront.foundation.randomness import named_luck
from peerfront.models.belief.belief_fit import learned_belief
from peerfront.problem import History
from peerfront.simulation.demo_study import demo_world
from peerfront.simulation.icpsr22140 import calibrated
from peerfront.study.fit_models import counts_of

COUPONS, MEAN = 3, 1.25


def study(people: int, effect: bool, seed: int) -> History:
    """So many people with 3 coupons each, and what they brought."""
    world = demo_world()
    luck = named_luck(("no effect", seed, effect), people)
    codes = uniform_codes(world.schema, luck.uniforms("answers", len(world.schema.fields)))
    response = world.response
    if not effect:
        response = calibrated(world.schema, np.zeros(world.schema.columns), codes, MEAN)
    recruits = response.sample(codes, COUPONS, luck)
    return History(world.schema, codes, np.full(people, COUPONS), recruits, codes[:0], codes[:0])


def report(studies: int, people: int, effect: bool) -> None:
    used: Counter[str] = Counter()
    told_apart = 0
    for seed in range(studies):
        fields = learned_belief(counts_of(study(people, effect, seed)), draws=50, seed=seed).fields
        told_apart += bool(fields)
        used.update(fields)
        if (seed + 1) % 10 == 0 or seed + 1 == studies:
            print(f"  {seed + 1} studies: fields used in {told_apart / (seed + 1):.1%} {dict(used)}", flush=True)


def main() -> None:
    studies, people = (int(value) for value in [*sys.argv[1:], *["200", "300"][len(sys.argv) - 1 :]])
    with one_thread(training=True):
        for effect in (False, True):
            kind = "effects as in the demo" if effect else "no effect at all"
            print(f"{studies} studies of {people} people, {kind}")
            report(studies, people, effect)


if __name__ == "__main__":
    main()
