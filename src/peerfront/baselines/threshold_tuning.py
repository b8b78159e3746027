"""Tune TH(c, m) by simulation in a given world: paired episodes, one grid for all discounts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import Threshold
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.problem import Rules, World, rollouts


@dataclass(frozen=True)
class TuningGrid:
    """All pairs are screened; the best of each discount are played again on more episodes.

    The least to spend is a share of the budget. The grids end where returns were flat or falling in every world here.
    """

    cutoffs: tuple[float, ...] = (0.3, 0.5, 0.65, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99, 0.995, 0.999)
    at_least: tuple[float, ...] = (0.01, 0.02, 0.04, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48)
    screening_episodes: int = 64
    finalists: int = 6
    final_episodes: int = 400


def tune_threshold(
    world: World, rules: Rules, discounts: Sequence[float], *, seed: int = 0, grid: TuningGrid | None = None
) -> dict[float, Threshold]:
    """The best rule for each discount. Its episodes are named for tuning, so evaluation never sees the same luck."""
    search = grid or TuningGrid()
    least = sorted({max(1, round(share * rules.budget)) for share in search.at_least})
    rules_tried = [Threshold(world.capacity, c, m) for c, m in product(search.cutoffs, least)]
    episodes = named_luck(("tune threshold", seed), max(search.screening_episodes, search.final_episodes))
    screened = _mean_rewards(world, rules, rules_tried, discounts, Luck(episodes.keys[: search.screening_episodes]))
    finalists = np.argsort(-screened, axis=0, kind="stable")[: search.finalists]  # [finalists, discounts]
    survivors = np.unique(finalists)
    final = np.full_like(screened, -np.inf)
    final[survivors] = _mean_rewards(
        world, rules, [rules_tried[i] for i in survivors], discounts, Luck(episodes.keys[: search.final_episodes])
    )
    # A rule is chosen among the finalists of its own discount, so that it does not depend on which others are asked.
    chosen = [own[final[own, d].argmax()] for d, own in enumerate(finalists.T)]
    return {discount: rules_tried[best] for discount, best in zip(discounts, chosen, strict=True)}


def _mean_rewards(
    world: World, rules: Rules, policies: Sequence[Threshold], discounts: Sequence[float], episodes: Luck
) -> NDArray[np.float64]:
    """[policies, discounts]. A rule does not know the discount, so one simulation serves them all."""
    played = rollouts(world, policies, rules, episodes)
    return np.array([[part.discounted_rewards(discount).mean() for discount in discounts] for part in played])
