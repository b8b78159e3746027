"""Small states and exact indices for the tests of the bounds."""

import numpy as np

from peerfront.bounds.price_fitting import fit_price_index
from peerfront.bounds.price_index import BoundSettings, PriceIndex
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.states import StateBatch
from peerfront.simulation.typed import TypedWorld

NOBODY = np.zeros((0, 1), dtype=np.int16)
TINY = BoundSettings(largest_budget=8)


def people(*types: int) -> np.ndarray:
    return np.array(types, dtype=np.int16).reshape(-1, 1)


def exact_index(world: TypedWorld, discount: float, chosen: BoundSettings | None = None) -> PriceIndex:
    return fit_price_index(
        world.response, world.offspring, NOBODY, world.schema, discount, chosen, transition=world.transition
    )


def one_state(budget: int, codes: np.ndarray) -> StateBatch:
    return StateBatch(np.array([budget]), np.array([0, len(codes)]), codes)


def first_frontiers(world, count: int, size: int = 10, budget: int = 100):
    luck = named_luck(("bound test", world.name), count)
    crowd = world.seeds(luck, size)
    return StateBatch(np.full(count, budget), size * np.arange(count + 1), crowd.covariates), luck
