"""Networks in which an outcome is known for everybody: what estimates from a referral sample can be checked against.

Everybody has an outcome (yes or no), belongs to one of two groups, and knows a number of people. Settings say how
common the outcome is, how much people with it keep to themselves, how many more people they know, and how closely the
group goes with the outcome. Ties are drawn as in a degree-corrected block model: the expected number of ties between
two people is proportional to both of their expected degrees, times a factor for pairs alike in outcome and in group.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.settings import between, check_fields, whole_number
from peerfront.simulation.society import Society

OUTCOME, GROUP = "outcome", "group"
YES, NO = "yes", "no"
A, B = "a", "b"
_MOST_PEOPLE = 1_000_000
_MOST_TIES = 50_000_000
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
    """Mean number of acquaintances of people with the outcome, for each of the others'."""
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
    known = np.zeros(len(kind), dtype=bool)
    known[ties[ties[:, 0] != ties[:, 1]].reshape(-1)] = True
    more = []
    for person in np.flatnonzero(~known).tolist():
        chances = np.cumsum(flows[kind[person]])
        other = int(np.searchsorted(chances, rng.random() * chances[-1], side="right").clip(max=len(flows) - 1))
        friend = person
        while friend == person:
            friend = int(_people(kind, degree, other, 1, rng)[0])
        more.append((person, friend))
    return np.concatenate([ties, np.array(more, dtype=np.int64).reshape(-1, 2)])
