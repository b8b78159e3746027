"""The bound row of a comparison: what no policy can expect to exceed, from the first frontier of each episode."""

import numpy as np
from numpy.typing import NDArray

from peerfront.bounds.certificate import certify_many
from peerfront.bounds.price_fitting import fit_price_index
from peerfront.bounds.price_index import BoundSettings, generations
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.problem import Rules, World
from peerfront.value.states import StateBatch

_POPULATION, _PEOPLE, _CHECKED = 2000, 5000, 128


def first_frontier_bounds(
    world: World, rules: Rules, discount: float, episodes: Luck, seed: int
) -> tuple[NDArray[np.float64], str]:
    """A bound for each episode, [episodes], and what kind of bounds these are, in words."""
    population = world.population(named_luck(("bound population", seed), _POPULATION))
    people = generations(world.capacity, world.offspring, population, _PEOPLE, seed)
    settings = BoundSettings(
        largest_budget=max(rules.budget, 1), max_per_person=rules.max_per_person, rounds=rules.rounds, seed=seed
    )
    transition = getattr(world, "transition", None)  # known in worlds of a few types: then the bound is exact
    index = fit_price_index(
        world.capacity,
        world.offspring,
        people,
        world.schema,
        discount,
        settings,
        transition=transition,
        checked_at=population[:_CHECKED],
    )
    start = world.seeds(episodes, rules.people)
    first = np.searchsorted(start.episode, np.arange(len(episodes) + 1))
    states = StateBatch(np.full(len(episodes), rules.budget, dtype=np.int64), first, start.covariates)
    branch = episodes.members(np.full(len(episodes), 1 << 42))
    found = certify_many(states, index, world.capacity, world.offspring, branch, rules=rules)
    kinds, counts = np.unique(np.char.add(np.char.add(found.which, ", "), found.proofs), return_counts=True)
    shares = "; ".join(f"{kind} ({count / len(found):.0%})" for kind, count in zip(kinds, counts, strict=True))
    return found.bounds, f"upper bound: {shares}; error of the mean {found.mean.standard_error:.2f}"
