"""What few strata and a floor of randomisation cost in recruits, paired: the same people with the same luck.

    python benchmarks/restrictions.py --episodes 300 --out results/restrictions.csv

Worlds: bridge, network (both with a planner learned there) and the made-up study (a model fitted to it). Each plan is
played as it is and within limits in every round; what is given is the mean difference of recruits in all.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import peerfront as pf
from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.policy_iteration import learn_by_policy_iteration
from peerfront.gfp.restricted import RestrictedPlanner
from peerfront.problem import BranchingWorld, Rules, World, rollout
from peerfront.simulation.icpsr22140 import Pool
from peerfront.study.fit_settings import FitSettings
from peerfront.study.fitting import simple_rules

RULES = Rules(budget=150, people=20, rounds=6, max_per_person=3)


def learned(world: World, effort: float) -> Planner:
    """A planner learned in the world (in a network: in the world that its models make)."""
    people = world.population(named_luck(("restrictions", "people"), 2_000))
    planning = BranchingWorld(world.name, world.schema, world.response, world.offspring, Pool(people))
    how = FitSettings(budget=RULES.budget, rounds=RULES.rounds, effort=effort).learning_for(RULES.people)
    return learn_by_policy_iteration(planning, RULES, 1.0, simple_rules(world.response, RULES), how).planner


def cases(effort: float):
    """World, planner and the strata to try, by name."""
    bridge = pf.make_world("bridge")
    yield "bridge", bridge, learned(bridge, effort), [bridge.schema.names]
    network = pf.make_world("network")
    yield "network", network, learned(network, effort), [("district",), ("housing",), ("district", "gender")]
    made = pf.demo_study()
    model = pf.fit(pf.read_study(made.study), budget=RULES.budget, rounds=RULES.rounds, effort=effort)
    world = model.fit.world(model.frontier(made.frontier))
    fields = [("district",), ("gender",), ("housing",), ("district", "gender")]
    yield "made-up study", world, model.fit.planner, fields


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--effort", type=float, default=0.5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for name, world, planner, fields in cases(options.effort):
        luck = named_luck(("restrictions", name), options.episodes)
        one_each = replace(planner, least_per_person=1)
        limits = [("3 each", Constant(3)), ("at least 1 each", one_each)]
        for names in fields:
            columns = tuple(world.schema.names.index(each) for each in names)
            limits.append((f"strata {' x '.join(names)}", RestrictedPlanner(planner, columns)))
            limits.append((f"strata {' x '.join(names)}, at least 1 each", RestrictedPlanner(one_each, columns)))
        for chance in (0.05, 0.1):
            limits.append((f"random {chance:g}", RestrictedPlanner(planner, (), chance)))
            limits.append((f"random {chance:g}, at least 1 each", RestrictedPlanner(one_each, (), chance)))
        free = rollout(world, planner, RULES, luck).total_recruits
        print(f"{name}: the plan {free.mean():.1f} ± {2 * free.std(ddof=1) / np.sqrt(len(free)):.1f}", flush=True)
        rows.append((name, "the plan", free.mean(), 0.0, 0.0))
        for what, policy in limits:
            start = time.perf_counter()
            lost = free - rollout(world, policy, RULES, luck).total_recruits
            error = lost.std(ddof=1) / np.sqrt(len(lost))
            rows.append((name, what, free.mean() - lost.mean(), lost.mean(), error))
            print(
                f"  {what}: costs {lost.mean():.1f} ± {2 * error:.1f} ({time.perf_counter() - start:.0f} s)",
                flush=True,
            )
            if options.out is not None:
                options.out.parent.mkdir(parents=True, exist_ok=True)
                table = pd.DataFrame(rows, columns=["world", "rule", "recruits", "cost", "cost_error"])
                table.round(3).to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
