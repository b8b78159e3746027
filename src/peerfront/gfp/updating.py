"""Find out what coupons do: plan, see who comes, update the belief by Bayes, plan again; and numbers drawn by lot.

Every episode has its own weights pi of the planner's stories. A round is planned as `Planner` plans with them, exactly:
gains averaged with pi, each story's coordinates times its pi. Then somebody with covariates x and k coupons has brought
y, which story m says happens with the chance P_m(N(k) = y | x), and

    pi_m  <-  pi_m * product over people of P_m(N(k_i) = y_i | x_i),      divided by their sum.

Plans do not count on what they will learn. Where everybody has had the same number nothing shows what another number
would bring, and a plan may give the same number again for ever. So a few designs of this round are tried
(`worth_of_designs`): of the first people in the plan's order some, drawn by lot, get the most coupons and the others
the fewest, which tells most. What a design is worth for all coupons that are left is seen in simulated studies that go
on as above; what it costs now is part of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.binomials import thinned_counts
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, fold
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.blocks import greedy_in_blocks, smoothed
from peerfront.gfp.planner import Planner, too_large
from peerfront.gfp.story import tables_by_story
from peerfront.problem import Allocation, Crowd, Episodes, Round, Rules, State, Trajectories, World, check_feasible

SURE = 0.9
"""A story with at least this weight counts as the true one."""
Numbers = NDArray[np.int64]
_LEAST_CHANCE = 1e-12  # no single person rules a story out
_MOST_ENTRIES = 20_000_000  # numbers in the weight tables of states planned together
_PARTS = (0.7, 1.0)  # of the planned coupons, that designs spend
_SHARES = (0.35, 0.5, 0.65)  # of the people, that get the most coupons
_LOT = 1 << 41  # far above any person and policy: the luck of a lot is nobody's


@dataclass(frozen=True, slots=True, eq=False)
class UpdatedEpisodes:
    """Trajectories, and the weights of the stories before and after each round."""

    trajectories: Trajectories
    weights: Array  # [episodes, rounds + 1, stories]
    """Weights of the stories before the first round and after each; they stay as they are after an episode's end."""


def play_updating(
    world: World,
    planner: Planner,
    rules: Rules,
    luck: Luck,
    *,
    updates: bool = True,
    first: Sequence[Allocation] | None = None,
    start: Crowd | None = None,
    budgets: NDArray[np.int64] | None = None,
    rounds_left: NDArray[np.int64] | None = None,
) -> UpdatedEpisodes:
    """Play one episode for each row of luck; all begin with the weights of the planner's stories.

    `first` are the allocations of the first round, one for each episode; without them it is planned like the others.
    Without `updates` weights stay, and without `first` this is `rollout` with the planner. `start`, `budgets` and
    `rounds_left` are those of `rollout`.
    """
    episodes = Episodes(world, rules, luck, start, budgets, rounds_left)
    prior = np.array([story.weight for story in planner.stories])
    evidence = np.zeros((len(luck), len(prior)))  # log likelihoods so far
    believed = np.tile(prior, (len(luck), 1))
    weights = [believed]
    while states := episodes.states():
        living = episodes.living
        if first is not None and episodes.round == 0:
            allocations = [first[number] for number in living.tolist()]
        else:
            allocations = plan_with_weights(planner, states, believed[living])
        for allocation, state in zip(allocations, states, strict=True):
            check_feasible(allocation, state, planner.name)
        played = episodes.step(allocations)
        if updates:
            evidence += _evidence_of(planner, played, len(luck))
            believed = updated_weights(prior, evidence)
        weights.append(believed)
    weights += [believed] * (rules.rounds + 1 - len(weights))
    return UpdatedEpisodes(episodes.trajectories(), np.stack(weights, axis=1))


def plan_with_weights(planner: Planner, states: Sequence[State], weights: Array) -> list[Allocation]:
    """One allocation for each state, planned with its own weights of the planner's stories, [states, stories]."""
    if weights.shape != (len(states), len(planner.stories)):
        raise SettingError(
            "planned_stories.other_weights",
            shape=str(weights.shape),
            states=len(states),
            stories=len(planner.stories),
        )
    budget = max((state.remaining_budget for state in states), default=0)
    latent = sum(story.surrogate.tables().shape[2] for story in planner.stories)
    together = max(1, _MOST_ENTRIES // ((budget + 1) * latent))
    allocations: list[Allocation] = []
    for begin in range(0, len(states), together):
        own = slice(begin, begin + together)
        allocations += _planned_together(planner, states[own], weights[own])
    return allocations


def _planned_together(planner: Planner, states: Sequence[State], weights: Array) -> list[Allocation]:
    limits = planner.limits(states)
    if any(too_large(state.frontier.covariates, limits, f) for f, state in enumerate(states)):
        # Frontiers that are planned by price are few: one planner each.
        nobody = Luck(np.zeros(1, dtype=np.uint64))
        return [
            planner.weighted(own.tolist()).allocate(state, nobody) for state, own in zip(states, weights, strict=True)
        ]
    value = planner.stories[0].surrogate
    value.check_budget(int(limits.budgets.max(initial=0)))
    sizes = np.array([len(state.frontier) for state in states])
    first = np.concatenate([[0], np.cumsum(sizes)])
    covariates = np.concatenate([state.frontier.covariates for state in states])
    gains, covers = tables_by_story(planner.stories, covariates, int(limits.most_per_person.max(initial=0)))
    averaged = np.zeros(covers.shape[:2])
    for own, weight in zip(gains, np.repeat(weights, sizes, axis=0).T, strict=True):
        averaged[:, : own.shape[1]] += weight[:, None] * own
    which = value.table_with(np.array([state.rounds_left for state in states]) - 1)
    rows = int(limits.budgets.max(initial=0)) + 1
    worth = [
        weight[:, None, None] * story.surrogate.tables()[:, :rows][which]
        for story, weight in zip(planner.stories, weights.T, strict=True)
    ]
    coupons, _ = greedy_in_blocks(
        smoothed(Tables(averaged, covers)),
        np.concatenate(worth, axis=2),
        np.arange(len(states)),
        planner.discount,
        first,
        limits,
    )
    return [Allocation(part) for part in np.split(coupons, first[1:-1])]


def log_likelihoods(
    planner: Planner,
    covariates: Codes,
    coupons: NDArray[np.int64],
    recruits: NDArray[np.int64],
    exposure: Array | None = None,
) -> Array:
    """log P(N(k) = y) of each person by each of the planner's stories, [people, stories].

    With an exposure, [people], the recruits are those so far, Binomial(N(k), exposure).
    """
    logs = np.zeros((len(coupons), len(planner.stories)))
    for given in np.unique(coupons[coupons > 0]).tolist():
        own = np.flatnonzero(coupons == given)
        for number, story in enumerate(planner.stories):
            counts = story.response.counts(covariates[own], given)
            if exposure is not None:
                counts = thinned_counts(counts, exposure[own])
            logs[own, number] = np.log(np.maximum(counts[np.arange(len(own)), recruits[own]], _LEAST_CHANCE))
    return logs


def updated_weights(prior: Array, evidence: Array) -> Array:
    """Bayes: weights [episodes, stories] after evidence (sums of log likelihoods), [episodes, stories]."""
    odds = prior * np.exp(evidence - evidence.max(axis=1, keepdims=True))
    total = odds.sum(axis=1, keepdims=True)
    weights: Array = np.where(total > 0.0, odds / np.where(total > 0.0, total, 1.0), prior)
    return weights


def _evidence_of(planner: Planner, played: Round, episodes: int) -> Array:
    """What a round says about the stories: log likelihoods, [episodes, stories]."""
    crowd = played.crowd
    logs = log_likelihoods(planner, crowd.covariates, played.coupons, played.referrals.recruits)
    return np.stack([np.bincount(crowd.episode, weights=own, minlength=episodes) for own in logs.T], axis=1)


# ---- designs of a round ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Design:
    """A share of some people, drawn by lot, get the most coupons, the others the fewest."""

    share: float
    people: int
    most: int
    fewest: int

    @property
    def with_most(self) -> int:
        """People who get the most coupons."""
        return round(self.share * self.people)

    @property
    def spend(self) -> int:
        return self.with_most * self.most + (self.people - self.with_most) * self.fewest

    def drawn(self, order: Numbers, luck: Luck) -> tuple[Allocation, Array]:
        """An allocation to the first people in this order, [people], and how likely each one's number was.

        `luck` has one row, keyed by the study and round.
        """
        coupons, probability = np.zeros(len(order), np.int64), np.ones(len(order))
        chosen = order[: self.people]
        places = np.argsort(Luck(fold(luck.keys, chosen)).uniform("who gets the most coupons"), kind="stable")
        coupons[chosen] = self.fewest
        coupons[chosen[places[: self.with_most]]] = self.most
        share = self.with_most / self.people
        probability[chosen] = np.where(coupons[chosen] == self.most, share, 1.0 - share)
        return Allocation(coupons), probability


def designs(people: int, planned: int, spendable: int, most: int, fewest: int) -> list[Design]:
    """The designs to try for a round in which the plan spends `planned` coupons: with as many, fewer, and more."""
    found = {}
    if most > fewest:
        for part, share in product(_PARTS, _SHARES):
            each = share * most + (1.0 - share) * fewest
            number = min(people, int(min(part * planned, spendable) / each))
            design = Design(share, number, most, fewest)
            if 0 < design.with_most < number and design.spend <= spendable:
                found[design.with_most, number] = design
    return list(found.values())


@dataclass(frozen=True)
class DesignWorth:
    """What comes of a design, by simulated studies that draw from the belief."""

    design: Design | None
    """None for the plan."""
    recruits: float
    """Expected recruits in all, discounted."""
    gain: float
    """How many more that are than with the plan, in paired studies."""
    gain_error: float
    now: float
    """Expected recruits of this round."""
    sure: float
    """Share of simulated studies that are sure of the true story after this round (`SURE`)."""


def worth_of_designs(
    world: World,
    planner: Planner,
    rules: Rules,
    tried: Sequence[Design | None],
    order: Numbers,
    truth: NDArray[np.int64],
    luck: Luck,
) -> list[DesignWorth]:
    """Simulate the rest of the study after each design; `truth` is the number of the story of each study, [studies].

    None stands for the plan, which must be among them, first.
    """
    results: list[DesignWorth] = []
    plain: Array | None = None
    lots = luck.members(np.full(len(luck), _LOT))
    for design in tried:
        first = None if design is None else [design.drawn(order, lots.row(n))[0] for n in range(len(luck))]
        played = play_updating(world, planner, rules, luck, first=first)
        earned = played.trajectories.discounted_rewards(planner.discount)
        plain = earned if plain is None else plain
        gain = earned - plain
        error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
        sure = float((played.weights[np.arange(len(luck)), 1, truth] >= SURE).mean())
        now = float(played.trajectories.recruits[:, 0].mean())
        results.append(DesignWorth(design, float(earned.mean()), float(gain.mean()), error, now, sure))
    return results
