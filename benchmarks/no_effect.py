"""Are people told apart by chance? Made studies with and without any effect of what is known about people.

python benchmarks/no_effect.py [STUDIES] [PEOPLE] [--linear]

Every study has people with the demo's five fields, each answer equally likely; everybody had 3 coupons. Without an
effect everybody's capacity is Poisson with mean 1.25; with one it is as in the demo. For each study: whether the fit
uses any field, which, and in how many the gain over "everybody alike" is above 1, 1.5 and 2 standard errors. --linear
leaves the network out, which takes nine tenths of the time and is chosen only if it is clearly better than them.
"""

import sys
from collections import Counter
from dataclasses import replace

import numpy as np

from peerfront.foundation.covariates import uniform_codes
from peerfront.foundation.machine import one_thread
from peerfront.foundation.randomness import named_luck
from peerfront.models.response.response_fit import LINEAR, LOG_LINEAR, ResponseSettings, fit_response
from peerfront.problem import History
from peerfront.simulation.demo_study import demo_world
from peerfront.simulation.icpsr22140 import calibrated

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


def report(studies: int, people: int, effect: bool, settings: ResponseSettings) -> None:
    used: Counter[str] = Counter()
    told_apart, ratios = 0, []
    for seed in range(studies):
        fitted = fit_response(study(people, effect, seed), replace(settings, seed=seed))
        told_apart += bool(fitted.fields)
        used.update(fitted.fields)
        assert fitted.gain_of_knowing is not None
        gain, error = fitted.gain_of_knowing
        ratios.append((gain, error))
        if (seed + 1) % 10 == 0 or seed + 1 == studies:
            gains, errors = np.array(ratios).T
            clear = {sure: f"{(gains > np.maximum(2.0, sure * errors)).mean():.1%}" for sure in (1.0, 1.5, 2.0)}
            print(
                f"  {seed + 1} studies: fields used in {told_apart / (seed + 1):.1%} {dict(used)}; by errors: {clear}"
            )
            sys.stdout.flush()


def main() -> None:
    numbers = [value for value in sys.argv[1:] if value != "--linear"]
    studies, people = (int(value) for value in [*numbers, *["200", "300"][len(numbers) :]])
    settings = ResponseSettings(shapes=(LINEAR, LOG_LINEAR)) if "--linear" in sys.argv else ResponseSettings()
    with one_thread(training=True):
        for effect in (False, True):
            kind = "effects as in the demo" if effect else "no effect at all"
            print(f"{studies} studies of {people} people, {kind}")
            report(studies, people, effect, settings)


if __name__ == "__main__":
    main()
