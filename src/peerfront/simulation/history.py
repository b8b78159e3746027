"""Past referrals from any world, to learn from: censored triples and parent-child pairs (appendix C.2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes
from peerfront.foundation.randomness import Luck, fold, named_luck
from peerfront.foundation.settings import whole_number
from peerfront.problem import Allocation, History, Policy, Round, Rules, State, World, rollout


@dataclass(frozen=True)
class HistorySettings:
    """The defaults are the paper's sizes."""

    triples: int = 2048
    """Referrers with vouchers and recruits (x, k, y)."""
    pairs: int = 4096
    """Recruiter-recruit pairs."""
    max_vouchers: int = 10
    """Vouchers of a referrer are uniform on 1 .. max_vouchers."""

    def __post_init__(self) -> None:
        for name, least in (("triples", 0), ("pairs", 0), ("max_vouchers", 1)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least))


def simulate_history(world: World, settings: HistorySettings | None = None, seed: int = 0) -> History:
    """The paper's recipe: referrers and parents from the pool, vouchers uniform, capacities and recruits of the world.

    Everybody here is asked once, on their own. `recorded_history` follows whole recruitments instead.
    """
    sizes = settings or HistorySettings()
    triples = named_luck(("history", seed, "triples"), sizes.triples)
    referrers = world.population(triples)
    vouchers = 1 + (triples.uniform("vouchers") * sizes.max_vouchers).astype(np.int64)
    capacity = world.capacity.sample(referrers, triples)
    pairs = named_luck(("history", seed, "pairs"), sizes.pairs)
    parents = world.population(pairs)
    children = world.offspring.sample(parents, pairs)
    return History(world.schema, referrers, vouchers, np.minimum(vouchers, capacity), parents, children)


def recorded_history(world: World, policy: Policy, rules: Rules, episodes: Luck) -> History:
    """What a study would have on file after these episodes: every referrer met and every recruit made."""
    referrers: list[Codes] = []
    vouchers: list[NDArray[np.int64]] = []
    recruits: list[NDArray[np.int64]] = []
    parents: list[Codes] = []
    children: list[Codes] = []

    def note(played: Round) -> None:
        people, after = played.crowd, played.referrals
        referrers.append(people.covariates)
        vouchers.append(played.vouchers)
        recruits.append(after.recruits)
        parents.append(people.covariates[after.parent])
        children.append(after.next_crowd.covariates)

    rollout(world, policy, rules, episodes, watch=note)
    fields = len(world.schema.fields)
    no_people, no_counts = np.zeros((0, fields), dtype=np.int16), np.zeros(0, dtype=np.int64)
    return History(
        world.schema,
        np.concatenate([no_people, *referrers]),
        np.concatenate([no_counts, *vouchers]),
        np.concatenate([no_counts, *recruits]),
        np.concatenate([no_people, *parents]),
        np.concatenate([no_people, *children]),
    )


@dataclass(frozen=True)
class UniformVouchers:
    """Everybody gets a number of vouchers drawn evenly from 1 .. most, while they last: a study that experiments."""

    most: int = 10
    name: str = "uniform_vouchers"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        people = len(state.frontier)
        each = Luck(fold(luck.keys, np.arange(people))).uniform("vouchers")
        most = min(self.most, state.most_per_person)
        wanted = np.cumsum(1 + (each * most).astype(np.int64))
        given = np.minimum(wanted, state.spendable)
        return Allocation(np.diff(given, prepend=0))


def followed_history(world: World, settings: HistorySettings | None = None, seed: int = 0) -> History:
    """As much history as the paper's, but of whole recruitments: recruits are asked too, and their recruits.

    Where recruits are unlike first recruits (the hubs of bridge), or the past matters (networks), asking first recruits
    alone teaches nothing about them.
    """
    sizes = settings or HistorySettings()
    episodes = 32
    while True:
        history = recorded_history(
            world, UniformVouchers(sizes.max_vouchers), Rules(), named_luck(("followed history", seed), episodes)
        )
        if (len(history.vouchers) >= sizes.triples and len(history.parents) >= sizes.pairs) or episodes >= 1 << 14:
            break
        episodes *= 2
    # Rounds come first round first, so a shorter history is cut evenly, not from the end.
    rows, pairs = _evenly(len(history.vouchers), sizes.triples), _evenly(len(history.parents), sizes.pairs)
    return History(
        world.schema,
        history.referrers[rows],
        history.vouchers[rows],
        history.recruits[rows],
        history.parents[pairs],
        history.children[pairs],
    )


def _evenly(available: int, wanted: int) -> NDArray[np.int64]:
    """Row numbers spread over all that are available."""
    count = min(available, wanted)
    return (np.arange(count) * available) // max(count, 1)
