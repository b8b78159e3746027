"""Tune TH(c, m) by simulation in a given world: paired episodes, one grid for all discounts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.threshold import Threshold
from peerfront.problem import Rules, World, rollout
from peerfront.randomness import Luck, named_luck


@dataclass(frozen=True)
class TuningGrid:
    """All pairs are screened; the best of each discount are played again on more episodes."""

    cutoffs: tuple[float, ...] = (0.3, 0.5, 0.65, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99, 0.995, 0.999)
    at_least: tuple[int, ...] = (1, 2, 4, 8, 12, 16)
    screening_episodes: int = 64
    finalists: int = 6
    final_episodes: int = 400


def tune_threshold(
    world: World, rules: Rules, discounts: Sequence[float], *, seed: int = 0, grid: TuningGrid | None = None
) -> dict[float, Threshold]:
    """The best rule for each discount. Its episodes are named for tuning, so evaluation never sees the same luck."""
    search = grid or TuningGrid()
    rules_tried = [Threshold(world.capacity, c, m) for c, m in product(search.cutoffs, search.at_least)]
    episodes = named_luck(("tune threshold", seed), max(search.screening_episodes, search.final_episodes))
    screened = _mean_rewards(world, rules, rules_tried, discounts, Luck(episodes.keys[: search.screening_episodes]))
    finalists = sorted({int(i) for column in screened.T for i in np.argsort(-column)[: search.finalists]})
    survivors = [rules_tried[i] for i in finalists]
    final = _mean_rewards(world, rules, survivors, discounts, Luck(episodes.keys[: search.final_episodes]))
    return {discount: survivors[int(final[:, d].argmax())] for d, discount in enumerate(discounts)}


def _mean_rewards(
    world: World, rules: Rules, policies: Sequence[Threshold], discounts: Sequence[float], episodes: Luck
) -> NDArray[np.float64]:
    """[policies, discounts]. A rule does not know the discount, so one simulation serves them all."""
    means = np.empty((len(policies), len(discounts)))
    for p, policy in enumerate(policies):
        played = rollout(world, policy, rules, episodes)
        means[p] = [played.discounted_rewards(discount).mean() for discount in discounts]
    return means
