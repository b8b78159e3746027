"""Networks in which an outcome is known for everybody: what estimates from a referral sample can be checked against.

Everybody has an outcome (yes or no), belongs to one of two groups, and knows a number of people. Settings say how
common the outcome is, how much people with it keep to themselves, how many more people they know, and how closely the
group goes with the outcome. Ties are drawn as in a degree-corrected block model: the expected number of ties between
two people is proportional to both of their expected degrees, times a factor for pairs alike in outcome and in group.

Or people are like those of a fitted model (`model_network`). They are drawn by letting the model's recruits recruit,
until the first ones no longer matter. Everybody then names acquaintances, each drawn as the model draws a recruit and
matched with the member who is most like it. An outcome that the model does not know can be spread over the network, as
common and as clustered as one assumes (`spread_outcome`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.foundation.settings import between, check_fields, whole_number
from peerfront.problem import OffspringModel
from peerfront.simulation.society import Society, neighbours

OUTCOME, GROUP = "outcome", "group"
YES, NO = "yes", "no"
A, B = "a", "b"
_MOST_PEOPLE = 1_000_000
_MOST_TIES = 50_000_000
_WAVES = 20  # of recruits, after which the first people no longer matter
_PROPOSALS = 30  # exchanges proposed for each person until the outcome is as clustered as it should be
_TYPES = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # [types, (outcome, group)]


@dataclass(frozen=True)
class OutcomeNetworkSettings:
    """How a network with a known outcome is drawn."""

    people: int = 1000
    prevalence: float = 0.2
    """Share of people with the outcome, as near as whole people allow."""
    homophily: float = 1.5
    """Ties between people with and without the outcome that chance would give, for each one there is; 1 is none."""
    activity: float = 1.0
    """Mean number of acquaintances of people with the outcome, relative to people without it."""
    mean_degree: float = 10.0
    degree_spread: float = 0.5
    """Coefficient of variation of expected degrees among people of one kind."""
    agreement: float = 0.75
    """Chance that somebody with the outcome is in group a, and somebody without in group b; .5 is no relation."""
    group_homophily: float = 1.0
    """Log odds of a tie between people of one group, against a tie between groups."""
    draw: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            people=lambda name, value: whole_number(name, value, 20, _MOST_PEOPLE),
            prevalence=between(0.0, 1.0),
            homophily=between(1.0, 20.0),
            activity=between(0.05, 20.0),
            mean_degree=between(1.0, 1000.0),
            degree_spread=between(0.0, 5.0),
            agreement=between(0.0, 1.0),
            group_homophily=between(-5.0, 5.0),
            draw=lambda name, value: whole_number(name, value, 0),
        )
        with_outcome = round(self.people * self.prevalence)
        if not 0 < with_outcome < self.people:
            raise SettingError(
                "outcome_network.one_sided", prevalence=self.prevalence, with_outcome=with_outcome, people=self.people
            )
        if self.people * self.mean_degree / 2 > _MOST_TIES or self.mean_degree > self.people / 4:
            raise SettingError(
                "outcome_network.too_many_ties", mean_degree=self.mean_degree, people=self.people, most=_MOST_TIES
            )


def outcome_network(settings: OutcomeNetworkSettings | None = None) -> Society:
    """Draw a network with the attributes `outcome` (yes, no) and `group` (a, b); everybody knows somebody."""
    settings = settings or OutcomeNetworkSettings()
    rng = named_generator("outcome network", settings.draw)
    n_people = settings.people
    outcome = np.zeros(n_people, dtype=np.int64)
    outcome[: round(n_people * settings.prevalence)] = 1
    outcome = rng.permutation(outcome)
    in_a = rng.random(n_people) < np.where(outcome == 1, settings.agreement, 1.0 - settings.agreement)
    kind = 2 * outcome + in_a  # place in _TYPES
    degree = _expected_degrees(settings, outcome, rng)
    mass = np.bincount(kind, weights=degree, minlength=len(_TYPES)).astype(np.float64)
    flows = _expected_ties(mass, settings)
    ties = _with_lonely(_ties(flows, kind, degree, rng), kind, degree, flows, rng)
    attributes = {
        OUTCOME: np.where(outcome == 1, YES, NO).tolist(),
        GROUP: np.where(in_a, A, B).tolist(),
    }
    return Society.of([str(number + 1) for number in range(n_people)], attributes, ties)


def _expected_degrees(
    settings: OutcomeNetworkSettings, outcome: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Expected degrees with the wanted mean, activity and spread, [people]."""
    spread = settings.degree_spread
    relative = rng.gamma(1.0 / spread**2, spread**2, size=len(outcome)) if spread > 0 else np.ones(len(outcome))
    degree = relative * np.where(outcome == 1, settings.activity, 1.0)
    return np.asarray(degree * settings.mean_degree / degree.mean())


def _expected_ties(mass: NDArray[np.float64], settings: OutcomeNetworkSettings) -> NDArray[np.float64]:
    """Ends of ties from each kind of people to each, symmetric, with `mass` as row sums, [kinds, kinds].

    The factor for people alike in outcome is found by bisection, so that homophily is as the settings say.
    """
    same_outcome, same_group = (_TYPES[:, None, part] == _TYPES[None, :, part] for part in (0, 1))
    ends = np.bincount(_TYPES[:, 0], weights=mass)
    wanted = ends[0] * ends[1] / mass.sum() / settings.homophily  # ties between people with and without the outcome
    low, high = -10.0, 10.0
    flows = np.zeros((len(mass), len(mass)))
    for _ in range(60):
        middle = (low + high) / 2.0
        flows = _scaled(np.exp(middle * same_outcome + settings.group_homophily * same_group), mass)
        if float(flows[~same_outcome].sum()) / 2.0 > wanted:
            low = middle
        else:
            high = middle
    return flows


def _scaled(factor: NDArray[np.float64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale a symmetric table to the row sums `mass`, keeping its odds ratios."""
    scale = np.ones(len(mass))
    for _ in range(200):
        reached = scale * (factor @ scale)
        if np.allclose(reached, mass, rtol=1e-9, atol=0.0):
            break
        scale = scale * np.sqrt(np.divide(mass, reached, out=np.zeros_like(mass), where=mass > 0))
    return np.asarray(scale[:, None] * factor * scale[None, :])


def _ties(
    flows: NDArray[np.float64], kind: NDArray[np.int64], degree: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw ties, [ties, 2]; those between the same two people twice, or with oneself, are dropped later."""
    drawn = []
    for one in range(len(flows)):
        for other in range(one, len(flows)):
            expected = flows[one, other] / (2.0 if one == other else 1.0)
            count = int(rng.poisson(expected)) if expected > 0 else 0
            drawn.append(
                np.column_stack([_people(kind, degree, one, count, rng), _people(kind, degree, other, count, rng)])
            )
    return np.concatenate(drawn)


def _people(
    kind: NDArray[np.int64], degree: NDArray[np.float64], one: int, count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw people of a kind in proportion to their expected degrees."""
    members = np.flatnonzero(kind == one)
    if not count or not len(members):
        return np.zeros(0, dtype=np.int64)
    reach = np.cumsum(degree[members])
    place = np.searchsorted(reach, rng.random(count) * reach[-1], side="right").clip(max=len(members) - 1)
    return np.asarray(members[place])


def _with_lonely(
    ties: NDArray[np.int64],
    kind: NDArray[np.int64],
    degree: NDArray[np.float64],
    flows: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Give everybody who knows nobody one acquaintance: nobody else could ever recruit them."""
    has_friend = np.zeros(len(kind), dtype=bool)
    has_friend[ties[ties[:, 0] != ties[:, 1]].reshape(-1)] = True
    more = []
    for person in np.flatnonzero(~has_friend).tolist():
        chances = np.cumsum(flows[kind[person]])
        other = int(np.searchsorted(chances, rng.random() * chances[-1], side="right").clip(max=len(flows) - 1))
        friend = person
        while friend == person:
            friend = int(_people(kind, degree, other, 1, rng)[0])
        more.append((person, friend))
    return np.concatenate([ties, np.array(more, dtype=np.int64).reshape(-1, 2)])


# People like those of a fitted model -----------------------------------------------------------------------------


def model_network(
    schema: Schema,
    offspring: OffspringModel,
    people: int,
    *,
    mean_degree: float = 10.0,
    degree_spread: float = 0.5,
    draw: int = 0,
) -> Society:
    """Draw a network of people whose acquaintances are like the model's recruits."""
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
    nearest_of = np.empty(len(wanted), np.int64)
    which = which.reshape(-1)
    for number, row in enumerate(rows):
        differing = (codes != row).sum(axis=1)
        nearest = np.flatnonzero(differing == differing.min())
        own = np.flatnonzero(which == number)
        nearest_of[own] = rng.choice(nearest, len(own))
    return nearest_of


def spread_outcome(
    society: Society, prevalence: float, homophily: float, draw: int = 0
) -> tuple[Society, NDArray[np.bool_]]:
    """Give some people an outcome, [members]: as common as asked, with as few ties to others as `homophily` asks.

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
        if other in society.acquaintances_of(one):
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
    alike = has[society.acquaintances_of(person)] == has[person]
    return int(alike.sum() - (~alike).sum())


def _rewired(society: Society, has: NDArray[np.bool_], too_many: float, rng: np.random.Generator) -> Society:
    """Turn ties across, two by two, into ties between people alike, until `too_many` are gone."""
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
    return Society(schema, codes, tuple(str(number + 1) for number in range(len(codes))), *neighbours(ties, len(codes)))
