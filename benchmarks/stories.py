"""Plans where the study does not say what a coupon does: worlds of both stories, learned from equal coupons.

python benchmarks/stories.py results.csv [--quick] [--world NAME ...] [--people N ...] [--draws N] [--effort SHARE]

In each world of each story a history is simulated in which everybody had 3 coupons; the stories are fitted to it, a
value is learned for each, and every way to plan plays the same episodes in the true world (60 coupons, at most 3 each,
5 rounds, 20 people). `the truth known` plans with the world's own models. Promises are what a forecast would say: mean
and 80% band of episodes in the learned worlds, one story each in the shares of the weights; `with model` counts the
uncertainty of the fitted rates in. A band holds the truth as often as true episodes lie in it.

Finished cases are kept in the CSV file, from which a stopped run continues. `--quick` is one draw of 300 people.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from peerfront.models.response.response_stories import fit_stories, weigh

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.covariates import Codes
from peerfront.foundation.machine import one_thread
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.foundation.settings import Spec
from peerfront.gfp.planner import Planner
from peerfront.gfp.policy_iteration import learn_by_policy_iteration
from peerfront.gfp.updating import SHARES, play_updating, worth_of_learning
from peerfront.models.offspring.generator_choice import QUICK_RIVALS, fit_offspring
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.response_fit import ResponseSettings
from peerfront.problem import (
    BranchingWorld,
    History,
    Policy,
    Rules,
    Trajectories,
    World,
    rollout,
    with_independent_referrals,
)
from peerfront.simulation.catalog import make_world, world_entry
from peerfront.simulation.simulated_history import HistorySettings, followed_history, simulate_history
from peerfront.study.fit_models import NETWORK_PAIRS
from peerfront.study.fit_settings import FitSettings
from peerfront.study.fitting import simple_rules
from peerfront.study.stories import story_of_episode
from peerfront.study.uncertainty import UncertainWorld

Array = NDArray[np.float64]
WORLDS = ("icpsr22140", "bridge", "network", "boom_bust")
TRUTHS = ("capacity", "per_coupon")
PEOPLE = (300, 1000)
RULES = Rules(budget=60, people=20, rounds=5, max_per_person=3)
KNOWN, AVERAGE, UPDATED = "the truth known", "average", "average, updated"
CASE = ["world", "truth", "people", "draw"]
_CANDIDATES = (0.0, 0.25, 0.5, 0.75, 1.0)  # weights of the first story among which the cautious plan is chosen


@dataclass(frozen=True)
class Case:
    """One world in which one story is true, and one history of it."""

    world: str
    truth: str
    people: int
    draw: int

    def true_world(self) -> World:
        spec = Spec.parse(self.world)
        told = Spec(spec.name, (*spec.options, ("response", self.truth)))
        return make_world(told, self.draw)

    def history(self) -> History:
        """A study in which everybody had as many coupons."""
        sizes = HistorySettings(self.people, self.people, RULES.max_per_person or 3, same_coupons=True)
        follows = world_entry(Spec.parse(self.world)).asks_recruits
        return (followed_history if follows else simulate_history)(self.true_world(), sizes, self.draw)


def fitted_stories(history: History, seed: int) -> dict[str, tuple[LearnedResponse, float]]:
    """The response model and the weight of each story, as `fit` weighs them; the two plain ones are always there."""
    fits = fit_stories(history, ResponseSettings(seed=seed))
    weights = weigh(fits).weights
    left = [fit for fit in fits if fit.name in TRUTHS or fit.name in weights]
    return {fit.name: (fit.response, weights.get(fit.name, 0.0)) for fit in left}


@dataclass(frozen=True, eq=False)
class _FirstRecruits:
    """First recruits come from the true world: a study knows who waits."""

    world: World

    def sample(self, luck: Luck) -> Codes:
        return self.world.population(luck)


def learned_planner(world: World, effort: float, seed: int) -> Planner:
    """A planner with one story, whose value is learned as `fit` learns it."""
    settings = FitSettings(RULES.budget, rounds=RULES.rounds, effort=effort, seed=seed).learning_for(RULES.people)
    return learn_by_policy_iteration(world, RULES, 1.0, simple_rules(world.response, RULES), settings).planner


@cache
def truth_planner(world: str, truth: str, draw: int, effort: float) -> Planner:
    """A planner that knows the true models; worlds without draws are one world."""
    return learned_planner(with_independent_referrals(Case(world, truth, 0, draw).true_world()), effort, draw)


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from a history: a world for each story, and the planner of all of them."""

    worlds: list[BranchingWorld]
    planner: Planner

    @classmethod
    def of(cls, case: Case, effort: float) -> "Learned":
        history, true = case.history(), case.true_world()
        rivals = ("inheritance",) if len(history.parents) < NETWORK_PAIRS else QUICK_RIVALS
        offspring = fit_offspring(history, seed=case.draw, rivals=rivals).model
        worlds, stories = [], []
        for name, (response, weight) in fitted_stories(history, case.draw).items():
            world = BranchingWorld(f"learned, {name}", true.schema, response, offspring, _FirstRecruits(true))
            told = learned_planner(world, effort, case.draw).story
            worlds.append(world)
            stories.append(replace(told, weight=weight, name=name))
        return cls(worlds, Planner(tuple(stories), 1.0))

    def uncertain(self, luck: Luck) -> list[World]:
        """The worlds with the uncertainty of their rates."""
        fitted = [world.response for world in self.worlds]
        pairs = zip(self.worlds, fitted, strict=True)
        drawn = [UncertainWorld.of(world, own, luck) for world, own in pairs if isinstance(own, LearnedResponse)]
        return [world for world in drawn if world is not None]

    def of_shares(self, luck: Luck) -> Planner:
        """The average of shares of what planning with the story known brings: no story counts for promising more."""
        best = [
            rollout(world, self.planner.only(story.name), RULES, luck).total_recruits.mean()
            for world, story in zip(self.worlds, self.planner.stories, strict=True)
        ]
        weights = np.array([story.weight for story in self.planner.stories]) / np.maximum(best, 1e-9)
        return self.planner.weighted((weights / weights.sum()).tolist())

    def cautious(self, luck: Luck) -> Planner:
        """The weights with the smallest worst regret, in simulations of every story."""
        others = len(self.worlds) - 1
        tried = [[share, *[(1.0 - share) / others] * others] for share in _CANDIDATES]
        planners = [self.planner.weighted(weights) for weights in tried]
        earned = np.array(
            [
                [rollout(world, each, RULES, luck).total_recruits.mean() for world in self.worlds]
                for each in planners
            ]
        )  # fmt: skip
        return planners[int((earned.max(axis=0) - earned).max(axis=1).argmin())]


Play = Callable[[World, Luck], Trajectories]


def _rolled(policy: Policy) -> Play:
    return lambda world, luck: rollout(world, policy, RULES, luck)


def _updated(planner: Planner, share: float) -> Play:
    return lambda world, luck: play_updating(world, planner, RULES, luck, share=share).trajectories


def promised(play: Play, worlds: Sequence[World], weights: Sequence[float], luck: Luck) -> Array:
    """Recruits of simulated studies, each in the world of one story, in the shares of the weights, [episodes]."""
    story = story_of_episode(weights, len(luck))
    total = np.zeros(len(luck))
    for number, world in enumerate(worlds):
        own = np.flatnonzero(story == number)
        if len(own):
            total[own] = play(_rows_of(world, own), Luck(luck.keys[own])).total_recruits
    return total


def _rows_of(world: World, episodes: NDArray[np.int64]) -> World:
    """The same world for some of its episodes: an uncertain one has drawn an error for each."""
    return replace(world, weights=world.weights[episodes]) if isinstance(world, UncertainWorld) else world


def results_of(case: Case, effort: float, episodes: int) -> list[dict[str, object]]:
    """One row for each way to plan."""
    begun = time.perf_counter()
    learned = Learned.of(case, effort)
    draws = world_entry(Spec.parse(case.world)).has_draws
    known = truth_planner(case.world, case.truth, case.draw if draws else 0, effort)
    simulating = named_luck(("stories", "simulated", case.draw), episodes)
    worth = worth_of_learning(learned.worlds, learned.planner, RULES, named_luck(("learn", case.draw), episodes // 2))
    best = max(worth, key=lambda each: each.recruits)
    share = best.share if best.gain > 2 * best.gain_error else 0.0
    weights = [story.weight for story in learned.planner.stories]
    alone = {name: [float(story.name == name) for story in learned.planner.stories] for name in TRUTHS}
    of_shares = learned.of_shares(simulating)
    plans: dict[str, tuple[Play, Sequence[float]]] = {
        "capacity": (_rolled(learned.planner.only("capacity")), alone["capacity"]),
        "per_coupon": (_rolled(learned.planner.only("per_coupon")), alone["per_coupon"]),
        AVERAGE: (_rolled(learned.planner), weights),
        "cautious": (_rolled(learned.cautious(named_luck(("cautious", case.draw), episodes // 2))), weights),
        UPDATED: (_updated(learned.planner, 0.0), weights),
        "average, updated, learn": (_updated(learned.planner, share), weights),
        "average, updated, learn 25%": (_updated(learned.planner, SHARES[2]), weights),
        "average of shares, updated": (_updated(of_shares, 0.0), weights),
        KNOWN: (_rolled(known), weights),
        "constant 3": (_rolled(Constant(3)), weights),
    }
    true, luck = case.true_world(), named_luck(("stories", case.world, case.draw), episodes)
    uncertain = learned.uncertain(simulating)
    after = play_updating(true, learned.planner, RULES, luck).weights[:, -1, 0].mean()
    best_earned = plans[KNOWN][0](true, luck).total_recruits
    rows: list[dict[str, object]] = []
    for name, (play, believed) in plans.items():
        earned = play(true, luck).total_recruits
        row: dict[str, object] = {**vars(case), "policy": name, "recruits": earned.mean(), "known": best_earned.mean()}
        row["behind_error"] = (earned - best_earned).std(ddof=1) / np.sqrt(episodes)
        for kind, worlds in (("", learned.worlds), ("wide_", uncertain)):
            simulated = promised(play, worlds, believed, simulating)
            low, high = np.quantile(simulated, [0.1, 0.9])
            row |= {f"{kind}promise": simulated.mean(), f"{kind}low": low, f"{kind}high": high}
            row[f"{kind}held"] = ((earned >= low) & (earned <= high)).mean()
            row[f"{kind}own"] = ((simulated >= low) & (simulated <= high)).mean()  # more than 80%: counts are whole
        row |= {"weight": weights[0], "weight_after": after, "share": share}
        row["families"] = "+".join(_family(story.response) for story in learned.planner.stories)
        rows.append(row)
    print(f"{case} took {time.perf_counter() - begun:.0f} s", flush=True)
    return rows


def _family(response: object) -> str:
    return str(getattr(response, "family", "true"))


def show(results: pd.DataFrame) -> None:
    """Two tables for each number of people: recruits beside those of knowing the truth, and promises beside results."""
    results = results.assign(behind=results["recruits"] / results["known"] - 1.0)
    for people, own in results.groupby("people", sort=False):
        _show_recruits(own, f"{people} people")
        _show_promises(own, f"{people} people")


def _show_recruits(results: pd.DataFrame, title: str) -> None:
    kinds = [f"{world}, {truth}" for world, truth in _kinds(results)]
    print(f"\n| {title} | {' | '.join(kinds)} |\n| --- |{' ---: |' * len(kinds)}")
    for policy, own in results.groupby("policy", sort=False):
        cells = []
        for kind in _kinds(results):
            there = _of_kind(own, kind)
            error = there["behind"].std(ddof=1) / np.sqrt(len(there)) if len(there) > 1 else np.nan
            behind = f"{there['behind'].mean():+.1%} ± {error:.1%}"
            cells.append(f"{there['recruits'].mean():.1f}" if policy == KNOWN else behind)
        print(f"| {policy} | {' | '.join(cells)} |")
    weights = [_of_kind(results, kind)[["weight", "weight_after", "share"]].mean() for kind in _kinds(results)]
    print(
        f"| *weight of capacity, and at the end* | {' | '.join(f'{w.iloc[0]:.2f}, {w.iloc[1]:.2f}' for w in weights)} |"
    )
    print(f"| *mean share that `learn` chose* | {' | '.join(f'{w.iloc[2]:.2f}' for w in weights)} |")


def _show_promises(results: pd.DataFrame, title: str) -> None:
    print(
        f"\n| {title} | plan | promised | came | 80% band | promised to hold | held | with the uncertainty of rates | "
        "promised to hold | held |\n| --- | --- | ---: | ---: | --- | ---: | ---: | --- | ---: | ---: |"
    )
    for kind, policy in product(_kinds(results), ("capacity", AVERAGE, UPDATED, KNOWN)):
        means = _of_kind(results[results["policy"] == policy], kind).mean(numeric_only=True)
        bands = " | ".join(
            f"{means[f'{wide}low']:.0f} to {means[f'{wide}high']:.0f} | {means[f'{wide}own']:.0%} | "
            f"{means[f'{wide}held']:.0%}"
            for wide in ("", "wide_")
        )
        print(f"| {', '.join(kind)} | {policy} | {means['promise']:.1f} | {means['recruits']:.1f} | {bands} |")


def _kinds(results: pd.DataFrame) -> list[tuple[str, str]]:
    """Worlds and what is true in them, in the order in which they were played."""
    return list(dict.fromkeys(zip(results["world"], results["truth"], strict=True)))


def _of_kind(results: pd.DataFrame, kind: tuple[str, str]) -> pd.DataFrame:
    return results[(results["world"] == kind[0]) & (results["truth"] == kind[1])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="CSV file of results")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--world", action="append")
    parser.add_argument("--truth", action="append", choices=TRUTHS)
    parser.add_argument("--people", action="append", type=int)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--episodes", type=int, default=1000)
    chosen = parser.parse_args()
    people = chosen.people or (PEOPLE[:1] if chosen.quick else PEOPLE)
    draws = 1 if chosen.quick else chosen.draws
    done = pd.read_csv(chosen.out) if chosen.out.exists() else pd.DataFrame(columns=CASE)
    finished = {tuple(row) for row in done[CASE].itertuples(index=False)}
    with one_thread(training=True):
        for draw, n, world, truth in product(range(draws), people, chosen.world or WORLDS, chosen.truth or TRUTHS):
            case = Case(world, truth, n, draw)
            if (world, truth, n, draw) in finished:
                continue
            rows = pd.DataFrame(results_of(case, chosen.effort, chosen.episodes))
            done = rows if done.empty else pd.concat([done, rows], ignore_index=True)
            temporary = chosen.out.with_suffix(".part")
            done.to_csv(temporary, index=False)
            temporary.replace(chosen.out)
    show(done)


if __name__ == "__main__":
    main()
