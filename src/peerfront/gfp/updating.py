"""Plan with stories whose weights the study's own counts move: average, see who comes, update by Bayes, plan again.

Every episode has its own weights pi. A round is planned as `Planner` plans with them, exactly: gains averaged with pi,
each story's coordinates times its pi. Then somebody with covariates x and k coupons has brought y, which story m says
happens with the chance P_m(N(k) = y | x), and

    pi_m  <-  pi_m * product over people of P_m(N(k_i) = y_i | x_i),      divided by their sum.

Plans do not count on what they will learn: that is looked at by simulation (`worth_of_learning`), in which a share of
the people get numbers of coupons at random.

**Random numbers** (`vary`). Where everybody with the same answers gets the same number, nothing shows what another
number would have brought. So each person whom the plan gives coupons is drawn with a chance, the share, and then gets a
number drawn evenly from the fewest that a person may get (at least 1) to one more than planned, or to the most that the
rules and the coupons left allow. People are gone through in random order, and for everybody drawn the most that they
could get is set aside. So who is drawn never depends on other numbers, and the chance of every number is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.binomials import thinned_counts
from peerfront.foundation.covariates import Codes
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, fold
from peerfront.foundation.settings import at_least, proportion
from peerfront.gfp.backup import Array, Tables
from peerfront.gfp.greedy import greedy_many
from peerfront.gfp.planner import Planner, too_large
from peerfront.gfp.story import tables_by_story
from peerfront.problem import Allocation, Crowd, Episodes, Round, Rules, State, Trajectories, World, check_feasible

SHARES = (0.0, 0.1, 0.25, 0.5)
"""Shares of the people with random numbers of coupons that `worth_of_learning` tries."""
SURE = 0.9
"""A story with at least this weight counts as the true one."""
Numbers = NDArray[np.int64]
_LEAST_CHANCE = 1e-12  # no single person rules a story out
_MOST_ENTRIES = 20_000_000  # numbers in the weight tables of states planned together


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
    share: float = 0.0,
    learning_rounds: int = 1,
    start: Crowd | None = None,
    budgets: NDArray[np.int64] | None = None,
    rounds_left: NDArray[np.int64] | None = None,
) -> UpdatedEpisodes:
    """Play one episode for each row of luck; all begin with the weights of the planner's stories.

    In the first `learning_rounds` rounds a `share` of the people who get coupons get random numbers of them (never in
    an episode's last round: nothing could come of it). Without `updates` weights stay, and without a share this is
    `rollout` with the planner. `start`, `budgets` and `rounds_left` are those of `rollout`.
    """
    share = proportion("share of people", share)
    learning_rounds = at_least(0)("learning rounds", learning_rounds)
    episodes = Episodes(world, rules, luck, start, budgets, rounds_left)
    prior = np.array([story.weight for story in planner.stories])
    evidence = np.zeros((len(luck), len(prior)))  # log likelihoods so far
    believed = np.tile(prior, (len(luck), 1))
    weights = [believed]
    while states := episodes.states():
        living = episodes.living
        allocations = plan_with_weights(planner, states, believed[living])
        if share > 0.0 and episodes.round < learning_rounds:
            allocations = [
                vary(allocation, state, share, own, least=planner.least_per_person).allocation
                if state.rounds_left > 1
                else allocation
                for allocation, state, own in zip(allocations, states, episodes.policy_lucks(), strict=True)
            ]
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
    coupons, _ = greedy_many(
        Tables(averaged, covers),
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


@dataclass(frozen=True)
class LearningWorth:
    """What comes of random numbers of coupons for a share of the people, averaged over the stories."""

    share: float
    recruits: float
    """Expected recruits in all, discounted."""
    gain: float
    """How many more that are than with a share of 0, in paired episodes."""
    gain_error: float
    sure: float
    """Share of simulated studies that are sure of the true story after the rounds in which they learn (`SURE`)."""


def worth_of_learning(
    worlds: Sequence[World],
    planner: Planner,
    rules: Rules,
    luck: Luck,
    *,
    shares: Sequence[float] = SHARES,
    learning_rounds: int = 1,
) -> list[LearningWorth]:
    """Simulate the rest of the study with each share; `worlds[m]` is the world in which story m is true."""
    if len(worlds) != len(planner.stories):
        raise SettingError("planned_stories.other_worlds", stories=len(planner.stories), worlds=len(worlds))
    weights = np.array([story.weight for story in planner.stories])

    def played(share: float) -> tuple[Array, float]:
        earned, sure = np.zeros(len(luck)), 0.0
        for number, (world, weight) in enumerate(zip(worlds, weights, strict=True)):
            result = play_updating(world, planner, rules, luck, share=share, learning_rounds=learning_rounds)
            earned += weight * result.trajectories.discounted_rewards(planner.discount)
            after = result.weights[:, min(learning_rounds, rules.rounds), number]
            sure += weight * float((after >= SURE).mean())
        return earned, sure

    plain, sure_without = played(0.0)
    results = []
    for share in shares:
        earned, sure = (plain, sure_without) if share == 0.0 else played(share)
        gain = earned - plain
        error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
        results.append(LearningWorth(share, float(earned.mean()), float(gain.mean()), error, sure))
    return results


# ---- random numbers of coupons ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Varied:
    """An allocation in which some numbers were drawn at random."""

    allocation: Allocation
    at_random: NDArray[np.bool_]  # [people]
    """Whose number was drawn."""
    probability: Array  # [people]
    """How likely each person's number was, given the plan, what a lot before it could bring, and whom coupons were kept
    for before."""


def vary(
    plan: Allocation,
    state: State,
    share: float,
    luck: Luck,
    *,
    least: int = 0,
    lot: tuple[Numbers, Array] | None = None,
) -> Varied:
    """Draw the numbers of a share of the people who get coupons; `luck` has one row, keyed by the study and round.

    `least` is the fewest that a person may get. Where a lot was drawn before, `lot` says what number each person had
    otherwise, and how likely the one they have was, [people] each.
    """
    share = proportion("share of people", share)
    planned = plan.coupons
    otherwise, likely = (planned, np.ones(len(planned))) if lot is None else lot
    uniforms = Luck(fold(luck.keys, np.arange(len(planned)))).uniforms("coupons to learn from", 3)
    coupons, at_random, probability = planned.copy(), np.zeros(len(planned), dtype=bool), likely.copy()
    spare, fewest, most = state.spendable - plan.spend, max(least, 1), state.most_per_person
    for person in np.argsort(uniforms[:, 1]).tolist():
        own = int(planned[person])
        if own == 0:
            continue
        room = min(1, spare)
        top = min(most, own + room)
        if top > fewest and uniforms[person, 0] < share:
            at_random[person] = True
            coupons[person] = fewest + int(uniforms[person, 2] * (top - fewest + 1))
            spare -= max(top - own, 0)
        number = int(coupons[person])
        by_lot = ((own, likely[person]), (int(otherwise[person]), 1.0 - likely[person]))
        probability[person] = sum(
            chance * _chance_of(number, start, fewest, min(most, start + room), share) for start, chance in by_lot
        )
    return Varied(Allocation(coupons), at_random, probability)


def _chance_of(number: int, planned: int, fewest: int, top: int, share: float) -> float:
    """The chance that somebody with `planned` coupons ends with this number."""
    if planned == 0 or top <= fewest:
        return float(number == planned)
    return (1.0 - share) * (number == planned) + share / (top - fewest + 1) * (fewest <= number <= top)
