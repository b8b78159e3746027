"""A network of people like those of a fitted model: whom they know is whom the model says they would bring.

People are drawn by letting the model's recruits recruit, until the first ones no longer matter. Everybody then names
acquaintances, each drawn as the model draws a recruit and matched with the member who is most like it. An outcome that
the model does not know can be spread over the network, as common and as clustered as one assumes.
"""

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.problem import OffspringModel
from peerfront.simulation.society import Society

_WAVES = 20  # of recruits, after which the first people no longer matter
_PROPOSALS = 30  # exchanges proposed for each person until the outcome is as clustered as it should be


def model_network(
    schema: Schema,
    offspring: OffspringModel,
    people: int,
    *,
    mean_degree: float = 10.0,
    degree_spread: float = 0.5,
    draw: int = 0,
) -> Society:
    """Draw a network of so many people whose acquaintances are like the model's recruits."""
    rng = named_generator("model network", draw)
    codes: Codes = (rng.random((people, len(schema.sizes))) * schema.sizes).astype(np.int16)
    luck = named_luck(("model network", draw), people)
    for wave in range(_WAVES):
        codes = offspring.sample(codes, luck.members(np.full(people, wave)))
    relative = rng.gamma(1.0 / degree_spread**2, degree_spread**2, size=people)
    named = np.maximum(rng.poisson(relative * mean_degree / 2.0 / relative.mean()), 1)
    one = np.repeat(np.arange(people), named)
    friends = offspring.sample(codes[one], Luck(named_luck(("friends", draw), len(one)).keys))
    other = _most_alike(friends, codes, rng)
    return _society(schema, codes, np.column_stack([one, other]))


def _most_alike(wanted: Codes, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """For each wanted row one of the people who differ from it in the fewest fields, [rows]."""
    rows, which = np.unique(wanted, axis=0, return_inverse=True)
    chosen = np.empty(len(wanted), np.int64)
    which = which.reshape(-1)
    for number, row in enumerate(rows):
        differing = (codes != row).sum(axis=1)
        nearest = np.flatnonzero(differing == differing.min())
        own = np.flatnonzero(which == number)
        chosen[own] = rng.choice(nearest, len(own))
    return chosen


def spread_outcome(
    society: Society, prevalence: float, homophily: float, draw: int = 0
) -> tuple[Society, NDArray[np.bool_]]:
    """Give some people an outcome, [members]: so common, and with as few ties to the others as `homophily` asks.

    People with and without it are exchanged at random where that brings the number of ties between them nearer to the
    one wanted: those that chance would give, divided by the homophily. Where that is not enough, pairs of ties between
    people with and without the outcome become ties between people alike; everybody keeps their number of ties.
    """
    rng = named_generator("outcome over a network", draw)
    n_members = len(society)
    has = np.zeros(n_members, dtype=bool)
    has[rng.permutation(n_members)[: round(prevalence * n_members)]] = True
    degrees = society.degrees
    ends = int(degrees.sum())
    owner = np.repeat(np.arange(n_members), degrees)
    across = int((has[owner] != has[society.acquaintances]).sum()) // 2
    inside = int(degrees[has].sum())
    sides = [np.flatnonzero(has), np.flatnonzero(~has)]
    for _ in range(_PROPOSALS * n_members if len(sides[0]) and len(sides[1]) else 0):
        wanted = _wanted(inside, ends, homophily)
        if abs(across - wanted) < 1.0:
            break
        places = [int(rng.integers(len(side))) for side in sides]
        one, other = (int(side[place]) for side, place in zip(sides, places, strict=True))
        change = _change(society, has, one) + _change(society, has, other)
        if other in society.known_by(one):
            change += 2  # their own tie stays one between people with and without the outcome
        if abs(across + change - wanted) < abs(across - wanted):
            across += change
            inside += int(degrees[other] - degrees[one])
            has[one], has[other] = False, True
            sides[0][places[0]], sides[1][places[1]] = other, one
    return _rewired(society, has, across - _wanted(inside, ends, homophily), rng), has


def _wanted(inside: int, ends: int, homophily: float) -> float:
    """Ties between people with and without the outcome, whose people have `inside` ends of ties."""
    return inside * (ends - inside) / max(ends, 1) / homophily


def _change(society: Society, has: NDArray[np.bool_], person: int) -> int:
    """By how much the ties between people with and without the outcome grow if this person's is turned."""
    alike = has[society.known_by(person)] == has[person]
    return int(alike.sum() - (~alike).sum())


def _rewired(society: Society, has: NDArray[np.bool_], too_many: float, rng: np.random.Generator) -> Society:
    """Turn ties across, two by two, into ties between people alike, until so many fewer are left."""
    if too_many < 2.0:
        return society
    n_members = len(society)
    owner = np.repeat(np.arange(n_members), society.degrees)
    ties = {(a, b) for a, b in zip(owner.tolist(), society.acquaintances.tolist(), strict=True) if a < b}
    across = sorted((a, b) if has[a] else (b, a) for a, b in ties if has[a] != has[b])
    order = rng.permutation(len(across)).tolist()
    while too_many >= 2.0 and len(order) >= 2:
        (one, other), place = across[order.pop()], None
        for number in range(len(order) - 1, max(len(order) - 50, -1), -1):
            two, another = across[order[number]]
            new = {(min(one, two), max(one, two)), (min(other, another), max(other, another))}
            if one != two and other != another and not new & ties:
                place = number
                break
        if place is None:
            continue
        two, another = across[order.pop(place)]
        ties -= {(min(one, other), max(one, other)), (min(two, another), max(two, another))}
        ties |= {(min(one, two), max(one, two)), (min(other, another), max(other, another))}
        too_many -= 2.0
    return _society(society.schema, society.covariates, np.array(sorted(ties), dtype=np.int64))


def _society(schema: Schema, codes: Codes, ties: NDArray[np.int64]) -> Society:
    """A society of these people and ties; it is known by the schema's fields alone."""
    both = np.concatenate([ties, ties[:, ::-1]])
    both = np.unique(both[both[:, 0] != both[:, 1]], axis=0)
    degrees = np.bincount(both[:, 0], minlength=len(codes))
    first = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    return Society(schema, codes, tuple(str(number + 1) for number in range(len(codes))), first, both[:, 1].copy())
