"""Does the advice help? Studies of several sizes from a world whose truth is known, fitted, planned for and played.

python benchmarks/advice.py --people 300 1000 5000 --seeds 2

Each study is written as a coupon table, read, fitted (60 coupons, at most 3 each, 5 rounds, 20 people waiting) and then
advises in the true world, against rules that see the same fitted capacities. Episodes are paired: the same people with
the same luck under every rule.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import Constant, tune_threshold
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.reading import study_from_table
from peerfront.foundation.covariates import Schema
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.problem import Allocation, Frontier, Policy, Rules, State, ask_many, rollout
from peerfront.simulation.demo_study import demo_study, demo_world
from peerfront.study.fit_settings import FitSettings
from peerfront.study.fitting import fit_study

RULES = Rules(budget=60, people=20, rounds=5, max_per_person=3)


@dataclass(frozen=True, eq=False)
class Recoded:
    """A policy that knows people by the categories of a study's file, playing where they have the world's codes."""

    policy: Policy
    codes: Sequence[NDArray[np.int16]]  # of each field, the study's code of each of the world's

    @property
    def name(self) -> str:
        return self.policy.name

    @classmethod
    def of(cls, policy: Policy, world: Schema, study: Schema) -> "Recoded":
        own = {field.name: field.categories for field in study.fields}
        codes = [
            np.array([own[field.name].index(name) if name in own[field.name] else -1 for name in field.categories])
            for field in world.fields
        ]
        assert study.names == world.names, "the study keeps the order of the columns"
        return cls(policy, [code.astype(np.int16) for code in codes])

    def frontier(self, frontier: Frontier) -> Frontier:
        columns = [code[frontier.covariates[:, f]] for f, code in enumerate(self.codes)]
        return replace(frontier, covariates=np.stack(columns, axis=1))

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        known = [replace(state, frontier=self.frontier(state.frontier)) for state in states]
        return ask_many(self.policy, known, lucks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[300, 1000, 5000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--episodes", type=int, default=1000)
    chosen = parser.parse_args()
    world, luck = demo_world(), named_luck(("advice",), chosen.episodes)
    print("| study | recruits, plan | threshold, tuned | constant 3 | plan above threshold | above constant | fit, s |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for people in chosen.people:
        for seed in range(chosen.seeds):
            study = study_from_table(demo_study(people, seed).study)
            begun = time.perf_counter()
            settings = FitSettings(budget=RULES.budget, rounds=RULES.rounds, max_per_person=3, people=RULES.people)
            fit = fit_study(study, guess_schema(study).schema, settings)
            seconds = time.perf_counter() - begun
            anybody = world.population(named_luck(("advice population", seed), 500))
            recode = Recoded.of(fit.planner, world.schema, fit.schema)
            planning = fit.world(recode.frontier(Frontier.of(anybody)))
            threshold = tune_threshold(planning, RULES, (1.0,))[1.0]
            rules = (recode, Recoded.of(threshold, world.schema, fit.schema), Constant(3))
            plan, tuned, constant = (rollout(world, rule, RULES, luck).total_recruits for rule in rules)
            print(
                f"| {len(study)} | {plan.mean():.1f} | {tuned.mean():.1f} | {constant.mean():.1f} "
                f"| {_gap(plan - tuned)} | {_gap(plan - constant)} | {seconds:.0f} |",
                flush=True,
            )


def _gap(differences: NDArray[np.int64]) -> str:
    return f"{differences.mean():+.2f} ± {differences.std(ddof=1) / np.sqrt(len(differences)):.2f}"


if __name__ == "__main__":
    main()
