"""A value for more people and coupons than can be simulated, from one learned for fewer.

People of the same kinds, n times as many, with n times as many coupons, are n problems side by side, and where many
wait nothing is gained by lending coupons from one to another. So

    V_n(r, F) = n * V(r / n, F with everybody counting as 1 / n of a person):

weights n * w(r / n), coverage h / n, and recruits that leave alpha^(1 / n) uncovered. Plans that treat n alike as n
copies of one are then worth exactly n times as much. What is lost: the smaller problem is more a matter of luck than
the larger, and its value knows that; and r / n between whole numbers of coupons is interpolated.
"""

from dataclasses import replace

import numpy as np

from peerfront.foundation.errors import SettingError
from peerfront.gfp.planner import Planner
from peerfront.gfp.story import Story
from peerfront.gfp.surrogate import learned_networks
from peerfront.problem import Rules

_STRETCHED_FROM = 20_000  # people waiting and coupons together beyond which a smaller problem is simulated
_SIMULATED = 500  # people waiting or coupons of the smaller problem, whichever are fewer


def smaller_problem(rules: Rules) -> Rules:
    """The problem to learn a value for: the same one unless it is too large to simulate.

    >>> from peerfront.problem import Rules
    >>> smaller_problem(Rules(budget=1_000_000, people=2_000_000)).people
    1000
    """
    fewer = min(rules.people, rules.budget)
    times = fewer / _SIMULATED
    if times < 2.0 or rules.people + rules.budget <= _STRETCHED_FROM:
        return rules
    return replace(
        rules,
        budget=round(rules.budget / times),
        people=round(rules.people / times),
        max_per_round=None if rules.max_per_round is None else max(round(rules.max_per_round / times), 1),
    )


def stretched(planner: Planner, budget: int) -> Planner:
    """The planner with its value stretched to `budget` coupons, and people in proportion."""
    return replace(planner, stories=tuple(_stretched(story, budget) for story in planner.stories))


def _stretched(story: Story, budget: int) -> Story:
    surrogate, laplace = learned_networks(story)
    times = budget / surrogate.budget
    if times < 1.0:
        raise SettingError(f"A value learned for {surrogate.budget} coupons cannot be stretched to {budget}.")
    share, learned = np.arange(budget + 1) / times, np.arange(surrogate.budget + 1)
    weights = np.zeros((*surrogate.weights.shape[:-2], budget + 1, surrogate.latent))
    for place in np.ndindex(*weights.shape[:-2], surrogate.latent):
        column = (*place[:-1], slice(None), place[-1])
        weights[column] = times * np.interp(share, learned, surrogate.weights[column])
    return replace(
        story,
        surrogate=replace(surrogate, weights=weights, stretch=times * surrogate.stretch),
        laplace=replace(laplace, stretch=times * laplace.stretch),
    )
