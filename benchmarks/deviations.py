"""What some departures from the paper are worth (docs/explanation/deviations.md, entries 4, 6, 7, 11; world `study`).

OMP_NUM_THREADS=1 python benchmarks/deviations.py [zero-spend] [caps] [horizon] [orient] [study]

Five draws of the paper's world (the last part: of the world like the made-up study) with the true models, 400 episodes
each, the same people with the same luck on both sides of every comparison. Differences are means over draws with the
standard error of the spread between draws.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import AllAtLast, RandomSplit, tune_threshold
from peerfront.data.reading import read_study
from peerfront.experiments.policies import make_policy
from peerfront.experiments.study_world import world_like
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.problem import Allocation, BranchingWorld, Policy, Rules, State, Trajectories, rollout
from peerfront.simulation.demo_study import demo_study
from peerfront.simulation.icpsr22140 import INHERITANCE, Icpsr22140Settings, Inheritance, icpsr22140, schema
from peerfront.simulation.study_like import StudyWorldSettings

DRAWS, EPISODES, DISCOUNTS = range(5), 400, (0.9, 1.0)
Rewards = NDArray[np.float64]  # [draws, discounts]


@dataclass(frozen=True)
class NeverNothing:
    """The paper's Random, except that it never draws a round budget of 0."""

    name: str = "random_split without 0"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        n_people = len(state.frontier)
        uniforms = luck.uniforms("random split", 1 + state.spendable)[0]
        spend = 1 + int(uniforms[0] * state.spendable)
        return Allocation(np.bincount((uniforms[1 : 1 + spend] * n_people).astype(np.int64), minlength=n_people))


def world_of(draw: int) -> BranchingWorld:
    return icpsr22140(Icpsr22140Settings(draw=draw))


def played(world: BranchingWorld, policy: Policy, rules: Rules, draw: int) -> Trajectories:
    return rollout(world, policy, rules, named_luck(("deviations", draw), EPISODES))


def rewards(runs: Sequence[Trajectories]) -> list[float]:
    """Mean discounted rewards, one run for each discount."""
    return [float(run.discounted_rewards(d).mean()) for run, d in zip(runs, DISCOUNTS, strict=True)]


def show(name: str, values: Sequence[Sequence[float]], against: Sequence[Sequence[float]] | None = None) -> None:
    """Print means over draws with standard errors in brackets, and the paired differences."""
    table = np.array(values)
    print(f"  {name:44}", "  ".join(_mean(column) for column in table.T), end="")
    if against is not None:
        print("   difference", "  ".join(_mean(column, "+.2f") for column in (table - np.array(against)).T), end="")
    print(flush=True)


def _mean(values: Rewards, form: str = ".1f") -> str:
    return f"{values.mean():{form}} ({values.std(ddof=1) / np.sqrt(len(values)):.2f})"


def zero_spend() -> None:
    print("4. Zero spend: Random, discounts .9 and 1")
    rules = Rules()
    ours = [[played(world_of(draw), RandomSplit(), rules, draw)] * 2 for draw in DRAWS]
    other = [[played(world_of(draw), NeverNothing(), rules, draw)] * 2 for draw in DRAWS]
    show("a spend of 0 ends the episode", [rewards(runs) for runs in ours])
    show("a spend of 0 is never drawn", [rewards(runs) for runs in other], [rewards(runs) for runs in ours])
    stopped = np.mean([(runs[0].spend.sum(axis=1) < rules.budget).mean() for runs in ours])
    print(f"  {stopped:.1%} of the episodes end with coupons left under Random")


def caps() -> None:
    print("6. Caps: at most 3 coupons a person, discounts .9 and 1")
    free, capped = Rules(), Rules(max_per_person=3)
    results: dict[str, list[list[float]]] = {"Random": [], "Random, cap 3": [], "threshold": [], "threshold, cap 3": []}
    for draw in DRAWS:
        world = world_of(draw)
        for ending, rules in (("", free), (", cap 3", capped)):
            results[f"Random{ending}"].append(rewards([played(world, RandomSplit(), rules, draw)] * 2))
            tuned = tune_threshold(world, rules, DISCOUNTS)
            results[f"threshold{ending}"].append(rewards([played(world, tuned[d], rules, draw) for d in DISCOUNTS]))
    for name in ("Random", "threshold"):
        show(name, results[name])
        show(f"{name}, cap 3", results[f"{name}, cap 3"], results[name])


def horizon() -> None:
    print("7. Horizon: population DP, and the same with everything spent in the last round; discounts .9 and 1")
    for rounds in (2, 3, 4, 5, 50):
        rules = Rules(rounds=rounds)
        plain: list[list[float]] = []
        ended: list[list[float]] = []
        left = []
        for draw in DRAWS:
            world = world_of(draw)
            policies = [make_policy("population_dp", world, rules, discount=d) for d in DISCOUNTS]
            runs = [played(world, policy, rules, draw) for policy in policies]
            plain.append(rewards(runs))
            left.append([rules.budget - float(run.spend.sum(axis=1).mean()) for run in runs])
            ends = [played(world, AllAtLast(world.response, policy), rules, draw) for policy in policies]
            ended.append(rewards(ends))
        show(f"{rounds} rounds", plain)
        show(f"{rounds} rounds, all at last", ended, plain)
        print("    coupons left over:", " / ".join(f"{value:.1f}" for value in np.mean(left, axis=0)))


def orient() -> None:
    others = np.mean([value for name, value in INHERITANCE.items() if name != "Orient"])
    print(f"11. Orient's inheritance (the mean of the other sixteen is {others:.4f}), discounts .9 and 1")

    def results(probability: float) -> dict[str, list[list[float]]]:
        layout = schema()
        table = np.array([{**INHERITANCE, "Orient": probability}[name] for name in layout.names])
        found: dict[str, list[list[float]]] = {"Random": [], "threshold": []}
        for draw in DRAWS:
            world = replace(world_of(draw), offspring=Inheritance(layout, table))
            found["Random"].append(rewards([played(world, RandomSplit(), Rules(), draw)] * 2))
            tuned = tune_threshold(world, Rules(), DISCOUNTS)
            found["threshold"].append(rewards([played(world, tuned[d], Rules(), draw) for d in DISCOUNTS]))
        return found

    printed = results(INHERITANCE["Orient"])
    for name, values in printed.items():
        show(f"{name}, .744", values)
    for probability in (0.3, 0.95):
        for name, values in results(probability).items():
            show(f"{name}, {probability:g}", values, printed[name])


def study() -> None:
    print("World `study`, the made-up study: expected recruits of its people with their coupons, by way to calibrate")
    made = read_study(demo_study().study)
    given = np.arange(1, made.issued.max() + 1) <= made.issued[made.informative][:, None]
    for calibrate in ("recruits", "mean"):
        counts = []
        for draw in DRAWS:
            world = world_like(made, None, StudyWorldSettings(draw=draw, calibrate=calibrate))
            people = world.seed_model.members[made.informative]
            counts.append(float(world.response.gains(people, given.shape[1])[given].sum()))
        came = int(made.recruits[made.informative].sum())
        print(f"  {calibrate:10}", "  ".join(f"{count:.0f}" for count in counts), f"(the study: {came})")
    print("  Threshold, 60 coupons, 5 rounds, at most 3 each, discounts .9 and 1, by what fields are otherwise")
    rules, results = Rules(budget=60, rounds=5, max_per_person=3), {}
    for otherwise in ("uniform", "recruits"):
        results[otherwise] = []
        for draw in DRAWS:
            world = world_like(made, None, StudyWorldSettings(draw=draw, otherwise=otherwise))
            tuned = tune_threshold(world, rules, DISCOUNTS)
            results[otherwise].append(rewards([played(world, tuned[d], rules, draw) for d in DISCOUNTS]))
    show("uniform", results["uniform"])
    show("like recruits", results["recruits"], results["uniform"])


PARTS: dict[str, Callable[[], None]] = {
    "zero-spend": zero_spend,
    "caps": caps,
    "horizon": horizon,
    "orient": orient,
    "study": study,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
