"""Simulated past referrals to learn from: censored triples and recruiter-recruit pairs (appendix C.2).

`simulate_history` follows the paper: it asks first recruits, once each. `followed_history` has as much history of whole
recruitments, and `recorded_history` is what a study has on file after given episodes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.randomness import Luck, fold, named_luck
from peerfront.foundation.settings import at_least, check_fields, one_or_more, truth
from peerfront.problem import Allocation, History, Policy, Round, Rules, State, World, rollout


@dataclass(frozen=True)
class HistorySettings:
    """How much history to simulate. The defaults are the paper's sizes."""

    triples: int = 2048
    """Referrers with coupons and recruits (x, k, y)."""
    pairs: int = 4096
    """Recruiter-recruit pairs."""
    max_coupons: int = 10
    """Coupons of a referrer are uniform on 1 .. max_coupons."""
    same_coupons: bool = False
    """Whether everybody gets `max_coupons` instead, as in most studies."""

    def __post_init__(self) -> None:
        check_fields(self, triples=at_least(0), pairs=at_least(0), max_coupons=one_or_more, same_coupons=truth)

    def coupons(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Coupons of people with these uniforms, [people]."""
        if self.same_coupons:
            return np.full(len(uniforms), self.max_coupons)
        return 1 + (uniforms * self.max_coupons).astype(np.int64)


def simulate_history(world: World, settings: HistorySettings | None = None, seed: int = 0) -> History:
    """The paper's recipe: referrers and parents drawn like first recruits, each with a uniform number of coupons."""
    sizes = settings or HistorySettings()
    triples = named_luck(("history", seed, "triples"), sizes.triples)
    referrers = world.population(triples)
    coupons = sizes.coupons(triples.uniform("vouchers"))
    recruits = world.response.sample(referrers, coupons, triples)
    pairs = named_luck(("history", seed, "pairs"), sizes.pairs)
    parents = world.population(pairs)
    children = world.offspring.sample(parents, pairs)
    return History(world.schema, referrers, coupons, recruits, parents, children)


def recorded_history(world: World, policy: Policy, rules: Rules, episodes: Luck) -> History:
    """What a study would have on file after these episodes: every referrer met and every recruit made."""
    rounds: list[Round] = []
    rollout(world, policy, rules, episodes, watch=rounds.append)
    no_people, no_counts = np.zeros((0, len(world.schema.fields)), dtype=np.int16), np.zeros(0, dtype=np.int64)
    return History(
        world.schema,
        np.concatenate([no_people, *(each.crowd.covariates for each in rounds)]),
        np.concatenate([no_counts, *(each.coupons for each in rounds)]),
        np.concatenate([no_counts, *(each.referrals.recruits for each in rounds)]),
        np.concatenate([no_people, *(each.crowd.covariates[each.referrals.parent] for each in rounds)]),
        np.concatenate([no_people, *(each.referrals.next_crowd.covariates for each in rounds)]),
    )


@dataclass(frozen=True)
class UniformCoupons:
    """Everybody gets a number of coupons drawn evenly from 1 .. most, while they last: a study that experiments.

    With `same` everybody gets `most`, or nothing once fewer are left.
    """

    most: int = 10
    same: bool = False
    name: str = "uniform_coupons"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        each = Luck(fold(luck.keys, np.arange(len(state.frontier)))).uniform("vouchers")
        most = min(self.most, state.most_per_person)
        if self.same:
            coupons = np.zeros(len(each), dtype=np.int64)
            coupons[: state.spendable // self.most] = self.most
            return Allocation(coupons)
        wanted = np.cumsum(1 + (each * most).astype(np.int64))
        given = np.minimum(wanted, state.spendable)
        return Allocation(np.diff(given, prepend=0))


def followed_history(world: World, settings: HistorySettings | None = None, seed: int = 0) -> History:
    """As much history as the paper's, but of whole recruitments: recruits refer too, and their recruits.

    Where recruits are unlike first recruits (the hubs of bridge), or the past matters (networks), asking first recruits
    alone teaches nothing about them.
    """
    sizes = settings or HistorySettings()
    episodes = 32
    while True:
        history = recorded_history(
            world,
            UniformCoupons(sizes.max_coupons, sizes.same_coupons),
            Rules(),
            named_luck(("followed history", seed), episodes),
        )
        asked = np.flatnonzero(history.coupons > 0) if sizes.same_coupons else np.arange(len(history.coupons))
        if (len(asked) >= sizes.triples and len(history.parents) >= sizes.pairs) or episodes >= 1 << 14:
            break
        episodes *= 2
    # Rounds come first round first, so a shorter history is cut evenly, not from the end.
    rows, pairs = asked[_evenly(len(asked), sizes.triples)], _evenly(len(history.parents), sizes.pairs)
    return history.part(rows, pairs)


def _evenly(available: int, wanted: int) -> NDArray[np.int64]:
    """Row numbers spread over all that are available."""
    count = min(available, wanted)
    return (np.arange(count) * available) // max(count, 1)
