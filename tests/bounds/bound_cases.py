"""Small states and exact indices for the tests of the bounds."""

import numpy as np

from peerfront.bounds.certificate import Certificate, Effort, certify_with
from peerfront.bounds.price_index import BoundSettings, PriceIndex, exact_price_index
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.gfp.states import StateBatch
from peerfront.problem import State
from peerfront.simulation.typed import TypedWorld

NOBODY = np.zeros((0, 1), dtype=np.int16)
TINY = BoundSettings(largest_budget=8)


def people(*types: int) -> np.ndarray:
    return np.array(types, dtype=np.int16).reshape(-1, 1)


def every_row(schema: Schema) -> Codes:
    """All covariate rows, in the order of `np.ravel_multi_index`, [rows, fields]."""
    sizes = tuple(int(size) for size in schema.sizes)
    return np.stack(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), axis=1).astype(np.int16)


def exact_index(
    world: TypedWorld, discount: float, chosen: BoundSettings | None = None, rounds: int = 50
) -> PriceIndex:
    index = exact_price_index(
        world.response, world.offspring, world.schema, discount, rounds, chosen or BoundSettings()
    )
    assert index is not None
    return index


def certified(
    state: State, world, discount: float, luck: Luck, *, index=None, trees: int = 200, outcomes: int = 0
) -> Certificate:
    """The certificate of a state with a chosen effort, and an index that was made before."""
    return certify_with(
        state, index, world.response, world.offspring, discount, luck, luck.members(np.array([7])),
        Effort(trees, outcomes),
    )  # fmt: skip


def one_state(budget: int, codes: np.ndarray) -> StateBatch:
    return StateBatch(np.array([budget]), np.array([0, len(codes)]), codes)


def first_frontiers(world, count: int, size: int = 10, budget: int = 100):
    luck = named_luck(("bound test", world.name), count)
    crowd = world.seeds(luck, size)
    return StateBatch(np.full(count, budget), size * np.arange(count + 1), crowd.covariates), luck
