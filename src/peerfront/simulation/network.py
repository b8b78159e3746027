"""Recruitment without replacement over a finite network: everybody can be recruited once.

A person is willing to bring D ~ Poisson people (the paper's softplus oracle over this population), brings as many as
coupons and still-unrecruited acquaintances allow, and picks uniformly among those. People act in a random order each
round, so two friends of the same person do not both recruit them. Luck is keyed by the member, not by the lineage:
here the same human being can be reached by different ways under different policies, and stays the same human being.

What a planner may know is an approximation (`capacity`, `offspring`): willingness and how many acquaintances people
of this kind have, but not who has been recruited already.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.counts import count_from_survival
from peerfront.foundation.covariates import Codes, Field, Schema, categories_in
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.randomness import Keys, Luck, fold, named_generator
from peerfront.foundation.settings import mean_rate, spread, whole_number
from peerfront.problem import Crowd, Referrals
from peerfront.simulation.icpsr22140 import SoftplusPoisson, calibrated

if TYPE_CHECKING:
    import networkx

NETWORK_SIZE = "network_size"
_BANDS = (0, 1, 2, 3, 5, 8, 13)  # lower ends of the bands of acquaintances, as field questionnaires ask
BLANK = "(blank)"  # the category of people whose attribute is not given
_LARGEST_POPULATION = 10_000  # every pair is considered once: 50 million pairs


@dataclass(frozen=True)
class Society:
    """A finite population: who is in it, what they are like, and who knows whom."""

    schema: Schema
    covariates: Codes  # [members, fields]
    ids: tuple[str, ...]
    first: NDArray[np.int64]  # [members + 1], where each member's acquaintances start in `acquaintances`
    acquaintances: NDArray[np.int64]  # [ties * 2]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        return np.diff(self.first)

    def known_by(self, member: int) -> NDArray[np.int64]:
        return self.acquaintances[self.first[member] : self.first[member + 1]]

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        attributes: Mapping[str, Sequence[str]],
        ties: NDArray[np.int64],
    ) -> "Society":
        """From named attribute columns and ties (pairs of positions; direction and repetition do not matter)."""
        if NETWORK_SIZE in attributes:
            raise SettingError(f"The attribute name {NETWORK_SIZE!r} is taken (it is computed); rename or exclude it.")
        if not len(ids):
            raise SettingError("A network needs at least one person.")
        both = np.concatenate([ties, ties[:, ::-1]]) if len(ties) else np.zeros((0, 2), dtype=np.int64)
        both = np.unique(both[both[:, 0] != both[:, 1]], axis=0)
        degrees = np.bincount(both[:, 0], minlength=len(ids))
        fields = [Field(name, categories_in(column)) for name, column in attributes.items()]
        fields.append(Field(NETWORK_SIZE, _band_names()))
        columns = [
            [field.code_of[value] for value in column]
            for field, column in zip(fields, attributes.values(), strict=False)
        ]
        columns.append((np.searchsorted(_BANDS, degrees, side="right") - 1).tolist())
        return cls(
            schema=Schema(tuple(fields)),
            covariates=np.array(columns, dtype=np.int16).T.copy(),
            ids=tuple(ids),
            first=np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64),
            acquaintances=both[:, 1].copy(),
        )

    @classmethod
    def from_networkx(cls, graph: "networkx.Graph[Any]", fields: Sequence[str] | None = None) -> "Society":
        """From a NetworkX graph whose nodes carry categorical attributes (all of them, or those named)."""
        nodes: list[Hashable] = list(graph.nodes)
        present = sorted({key for node in nodes for key in graph.nodes[node]}, key=str)
        names = present if fields is None else fields
        for name in names:
            if name not in present:
                raise UnknownName("node attribute", name, present)
        position = {node: index for index, node in enumerate(nodes)}
        attributes = {str(name): [str(graph.nodes[node].get(name, BLANK)) or BLANK for node in nodes] for name in names}
        ties = np.array([(position[a], position[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
        return cls.of([str(node) for node in nodes], attributes, ties)


def _band_names() -> tuple[str, ...]:
    ends = [*(low - 1 for low in _BANDS[1:]), None]
    return tuple(f"{a}+" if b is None else str(a) if a == b else f"{a}-{b}" for a, b in zip(_BANDS, ends, strict=True))


@dataclass(frozen=True)
class NetworkCapacity:
    """P(C >= l) from covariates alone: willing to bring l people, and knowing at least l, given the network size."""

    willingness: SoftplusPoisson
    knows_at_least: NDArray[np.float64]  # [bands, largest degree], P(degree >= l | band)

    def survival(self, covariates: Codes, max_coupons: int) -> NDArray[np.float64]:
        table = np.zeros((len(covariates), max_coupons))
        most = min(max_coupons, self.knows_at_least.shape[1])
        willing = self.willingness.survival(covariates, most)
        table[:, :most] = willing * self.knows_at_least[covariates[:, -1], :most]
        return table

    def sample(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        return count_from_survival(luck.uniform("capacity"), self.survival(covariates, self.knows_at_least.shape[1]))


@dataclass(frozen=True)
class NetworkOffspring:
    """A recruit is an acquaintance of a member with the recruiter's covariates, or the nearest ones there are."""

    society: Society

    @cached_property
    def _sociable(self) -> NDArray[np.int64]:
        """Members who know somebody: the only ones who can recruit."""
        return np.flatnonzero(self.society.degrees)

    @cached_property
    def _alike(self) -> dict[bytes, NDArray[np.int64]]:
        groups: dict[bytes, list[int]] = {}
        for member in self._sociable:
            groups.setdefault(self.society.covariates[member].tobytes(), []).append(int(member))
        return {key: np.array(members) for key, members in groups.items()}

    def _members_like(self, row: Codes) -> NDArray[np.int64]:
        exact = self._alike.get(row.tobytes())
        if exact is not None:
            return exact
        differences = (self.society.covariates[self._sociable] != row).sum(axis=1)
        nearest: NDArray[np.int64] = self._sociable[differences == differences.min()]
        return nearest

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        if not len(parents):
            return parents
        if not len(self._sociable):
            raise SettingError("Nobody in this network knows anybody, so nobody can be recruited.")
        rows, inverse = np.unique(parents, axis=0, return_inverse=True)
        candidates = [self._members_like(row) for row in rows]
        uniforms = luck.uniforms("offspring", 2)
        children = np.empty(len(parents), dtype=np.int64)
        for child, (which, (u, v)) in enumerate(zip(inverse.reshape(-1), uniforms, strict=True)):
            alike = candidates[which]
            acquaintances = self.society.known_by(int(alike[int(u * len(alike))]))
            children[child] = acquaintances[int(v * len(acquaintances))]
        return self.society.covariates[children]


@dataclass(frozen=True, slots=True)
class _Memory:
    """Members recruited so far in each episode, and the episodes' keys, from which members' keys are made."""

    recruited: NDArray[np.bool_]  # [episodes, members]
    episode_keys: Keys  # [episodes]


@dataclass(frozen=True, eq=False)  # compared by identity: arrays have no single truth value
class NetworkWorld:
    """Episodes of recruitment over one society."""

    name: str
    society: Society
    capacity: NetworkCapacity
    offspring: NetworkOffspring

    @property
    def schema(self) -> Schema:
        return self.society.schema

    def population(self, luck: Luck) -> Codes:
        return self.society.covariates[(luck.uniform("seed") * len(self.society)).astype(np.int64)]

    def seeds(self, episodes: Luck, people: int) -> Crowd:
        if people > len(self.society):
            raise SettingError(f"{people} first recruits were asked for; this network has {len(self.society)} people.")
        order = np.argsort(episodes.uniforms("seeds", len(self.society)), axis=1)[:, :people]
        recruited = np.zeros((len(episodes), len(self.society)), dtype=bool)
        np.put_along_axis(recruited, order, True, axis=1)
        episode = np.repeat(np.arange(len(episodes)), people)
        return self._crowd(episode, order.reshape(-1), _Memory(recruited, episodes.keys))

    def refer(self, crowd: Crowd, coupons: NDArray[np.int64]) -> Referrals:
        assert crowd.members is not None, "a crowd of a network world knows its members"
        memory: _Memory = crowd.memory
        recruited = memory.recruited.copy()
        wanted = np.minimum(coupons, self.capacity.willingness.sample(crowd.covariates, crowd.luck))
        turn = np.lexsort((crowd.luck.uniform("turn"), crowd.episode))
        acting = turn[wanted[turn] > 0]
        candidates, first = self._preferences(crowd.members[acting], crowd.keys[acting])
        brought: list[list[int]] = [[] for _ in range(len(crowd))]
        for place, person in enumerate(acting.tolist()):
            taken = recruited[crowd.episode[person]]
            for candidate in candidates[first[place] : first[place + 1]]:
                if len(brought[person]) == wanted[person]:
                    break
                if not taken[candidate]:
                    taken[candidate] = True
                    brought[person].append(candidate)
        recruits = np.array([len(members) for members in brought], dtype=np.int64)
        parent = np.repeat(np.arange(len(crowd)), recruits)
        children = np.array([member for members in brought for member in members], dtype=np.int64)
        next_crowd = self._crowd(crowd.episode[parent], children, _Memory(recruited, memory.episode_keys))
        return Referrals(recruits, next_crowd, parent)

    def _preferences(self, members: NDArray[np.int64], keys: Keys) -> tuple[list[int], list[int]]:
        """Everybody's acquaintances in the random order in which they would be asked, one after another.

        Those of person i are `candidates[first[i] : first[i + 1]]`.
        """
        degrees = self.society.degrees[members]
        first = np.concatenate([[0], np.cumsum(degrees)])
        owner = np.repeat(np.arange(len(members)), degrees)
        within = np.arange(len(owner)) - first[owner]
        acquaintances = self.society.acquaintances[self.society.first[members][owner] + within]
        order = Luck(fold(keys[owner], acquaintances)).uniform("invitation")
        return acquaintances[np.lexsort((order, owner))].tolist(), first.tolist()

    def _crowd(self, episode: NDArray[np.int64], members: NDArray[np.int64], memory: _Memory) -> Crowd:
        keys = fold(memory.episode_keys[episode], members)
        return Crowd(episode, keys, self.society.covariates[members], members, memory)


def network_world(society: Society, *, draw: int = 0, sigma: float = 1.0, willingness: float = 2.5) -> NetworkWorld:
    """The world of a society: a softplus oracle for willingness (mean `willingness`), drawn by `draw`."""
    draw = whole_number("draw", draw, 0)
    sigma, willingness = spread("sigma", sigma), mean_rate("willingness", willingness)
    schema = society.schema
    weights = named_generator("network", "weights", draw).standard_normal(schema.columns) * sigma
    weights[schema.offsets[-1] :] = 0.0  # willingness is about people, not about how many they know
    willing = calibrated(schema, weights, society.covariates, willingness)
    largest = max(int(society.degrees.max()), 1)
    at_least = society.degrees[:, None] >= np.arange(1, largest + 1)
    knows = np.zeros((len(_BANDS), largest))
    for band in np.unique(society.covariates[:, -1]):
        knows[band] = at_least[society.covariates[:, -1] == band].mean(axis=0)
    return NetworkWorld("network", society, NetworkCapacity(willing, knows), NetworkOffspring(society))


def synthetic_society(people: int = 1000, mean_degree: float = 8.0, draw: int = 0) -> Society:
    """A built-in population in which similar people know each other more often (homophily in every attribute)."""
    people = whole_number("people", people, 2)
    if people > _LARGEST_POPULATION:
        raise SettingError(f"The built-in population has at most {_LARGEST_POPULATION} people; found {people}.")
    rng = named_generator("synthetic society", draw)
    shares = {
        "district": {"north": 0.3, "east": 0.25, "south": 0.25, "west": 0.2},
        "age": {"18-24": 0.25, "25-34": 0.35, "35-49": 0.25, "50+": 0.15},
        "gender": {"woman": 0.5, "man": 0.47, "other": 0.03},
        "housing": {"stable": 0.6, "unstable": 0.3, "none": 0.1},
    }
    pull = {"district": 2.0, "age": 1.0, "gender": 0.6, "housing": 1.2}  # log odds of a tie between people alike
    columns = {name: rng.choice(list(table), size=people, p=list(table.values())) for name, table in shares.items()}
    first, second = np.triu_indices(people, k=1)
    log_weight = sum(pull[name] * (column[first] == column[second]) for name, column in columns.items())
    weight = np.exp(log_weight)
    chance = np.minimum(weight * (mean_degree * people / 2 / weight.sum()), 1.0)
    tied = rng.random(len(chance)) < chance
    ties = np.column_stack([first[tied], second[tied]])
    attributes = {name: [str(value) for value in column] for name, column in columns.items()}
    return Society.of([str(number + 1) for number in range(people)], attributes, ties)
