"""Whether a study may stop by itself, by when, and what new seeds would change.

A study stops by itself if coupons are left, but nobody waits for any and nobody is still to come. Where that is likely,
some of the simulated studies are simulated again with 2, 4, 8 and 16 new seeds, with the same people and luck. Seeds
join on the next planning day, are like people who took part, and get the study's usual number of coupons of those left.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from peerfront.study.day_simulator import DayPaths, NewSeeds
from peerfront.study.outlook_tables import quantile_of

LIKELY = 0.10
"""A study with a smaller chance to stop by itself needs no new seeds."""
_SEEDS = (2, 4, 8, 16)
_MOST_SPENT = 0.5  # of the coupons left: with more seeds a study does not stop by itself because they are spent
_STUDIES = 100  # simulated again with each number of seeds

Whole = NDArray[np.int64]
Play = Callable[[Whole, NewSeeds], DayPaths]
"""Simulate the plan in these studies (rows of the outlook's, which may occur several times) with new seeds."""


@dataclass(frozen=True)
class WithSeeds:
    """What a number of new seeds changes."""

    seeds: int
    dies_out: float
    """The chance that the study stops by itself nevertheless."""
    recruits: float
    """Further recruits, on average; the seeds themselves do not count."""
    p10: float
    p90: float


@dataclass(frozen=True)
class DyingOut:
    """A study that may stop by itself within the horizon."""

    chance: float
    steps: int
    """Days (or rounds) in which half of the simulated studies that stop have stopped."""
    by: date | None
    """The day on which they have; None by rounds."""
    coupons: int
    """That each new seed gets."""
    with_seeds: tuple[WithSeeds, ...]
    """From the fewest on; none that need over half of the coupons left, or if the horizon ends before they join."""
    enough: WithSeeds | None
    """The fewest that make it unlikely to stop; otherwise the fewest that halve the chance, if any do."""


def dying_out(plan: DayPaths, today: date | None, budget: int, coupons: int, play: Play) -> DyingOut | None:
    """Whether the plan's studies may stop by themselves, and what new seeds, each with `coupons`, would change."""
    chance = float(plan.died.mean())
    if chance < LIKELY:
        return None
    half = int(quantile_of(plan.stopped[plan.died], 0.5))
    tried = [seeds for seeds in _SEEDS if seeds * coupons <= _MOST_SPENT * budget and len(plan.ends) > 1]
    some = np.arange(0, len(plan.died), -(-len(plan.died) // _STUDIES))
    with_seeds = []
    if tried and plan.died[some].any():
        paths = play(np.tile(some, len(tried)), NewSeeds(np.repeat(tried, len(some)), coupons))
        died, more = paths.died.reshape(len(tried), -1), paths.total.reshape(len(tried), -1) - plan.total[some]
        for row, seeds in enumerate(tried):
            still = chance * float(died[row].sum() / plan.died[some].sum())  # as a share of those that stop without
            low, high = (float(quantile_of(more[row], share)) for share in (0.1, 0.9))
            with_seeds.append(WithSeeds(seeds, min(still, 1.0), float(more[row].mean()), low, high))
    few = [each for each in with_seeds if each.dies_out < LIKELY]
    halved = [each for each in with_seeds if each.dies_out <= chance / 2]
    by = None if today is None else today + timedelta(days=half)
    return DyingOut(chance, half, by, coupons, tuple(with_seeds), next(iter([*few, *halved]), None))
