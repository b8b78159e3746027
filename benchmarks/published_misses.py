"""Why cells of the published table differ from ours: the models, the population and early ends (docs/results/paper.md).

IID-Population DP with other capacities and populations, GFP with true models, and Budget-DQN with the diffusion itself,
all in the published world with the seeds and episodes of `peerfront reproduce`.

OMP_NUM_THREADS=1 python benchmarks/published_misses.py                       (some 15 minutes on one core)
OMP_NUM_THREADS=1 python benchmarks/published_misses.py --seeds 0 --methods population_dp
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from peerfront.baselines.budget_dqn import BudgetDQNSettings, fit_budget_dqn
from peerfront.baselines.population_dp import fit_population_dp
from peerfront.baselines.simple_rules import RandomSplit
from peerfront.experiments.comparison import Comparison, planned_in
from peerfront.experiments.reproduction import PUBLISHED_MODELS
from peerfront.experiments.store import Store
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.fitted_value_iteration import FittedValueIterationSettings, learn_by_fitted_value_iteration
from peerfront.gfp.states import planning_population
from peerfront.models.response.response_fit import ResponseSettings, fit_response
from peerfront.problem import BranchingWorld, Policy, Rules, World, rollout
from peerfront.simulation.catalog import make_world
from peerfront.simulation.simulated_history import simulate_history

RULES, DIFFUSION = Rules(), "learned-paper"
FEW = 80  # a study with fewer recruits ended early


def population_dp(
    true: World, planning: World, seed: int, discount: float, store: Store
) -> Iterator[tuple[str, Policy]]:
    def fitted(capacity_world: World, recruits_of: World) -> Policy:
        people = planning_population(recruits_of, 300, 4096, seed)
        return fit_population_dp(capacity_world.response, people, RULES, discount)

    yield "as in the table", fitted(planning, planning)
    yield "true models", fitted(true, true)
    yield "the pool alone", fit_population_dp(planning.response, true.seed_model.members, RULES, discount)
    yield "recruits of the diffusion", fitted(planning, _planned_in(DIFFUSION, seed, store))
    for epochs in (20, 60):
        settings = replace(ResponseSettings.paper(), epochs=epochs)
        response = fit_response(simulate_history(true, seed=seed), settings)
        people = planning_population(planning, 300, 4096, seed)
        yield f"count model after {epochs} epochs", fit_population_dp(response, people, RULES, discount)


def gfp(true: World, planning: World, seed: int, discount: float, _: Store) -> Iterator[tuple[str, Policy]]:
    settings = replace(FittedValueIterationSettings.published(), seed=seed)
    worlds = {
        "as in the table": planning,
        "true offspring": _mixed(true, planning, true),
        "true capacities": _mixed(true, true, planning),
        "true models": true,
    }
    for name, world in worlds.items():
        learned = learn_by_fitted_value_iteration(world, RULES, discount, [RandomSplit()], settings)
        yield name, learned.planner


def budget_dqn(_: World, planning: World, seed: int, discount: float, store: Store) -> Iterator[tuple[str, Policy]]:
    published = BudgetDQNSettings.published()
    settings = replace(published, learning=replace(published.learning, seed=seed))
    for name, world in (("as in the table", planning), ("the diffusion itself", _planned_in(DIFFUSION, seed, store))):
        yield name, fit_budget_dqn(world, RULES, discount, settings)


METHODS = {"population_dp": population_dp, "gfp": gfp, "budget_dqn": budget_dqn}


def _mixed(true: World, response: World, offspring: World) -> World:
    assert isinstance(true, BranchingWorld), "the published world is one"
    return replace(true, response=response.response, offspring=offspring.offspring)


def _planned_in(models: str, seed: int, store: Store) -> World:
    return planned_in(Comparison(worlds=("published",), models=models, seed=seed), "published", 0, store)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=sorted(METHODS), default=list(METHODS), metavar="METHOD")
    parser.add_argument("--discounts", nargs="+", type=float, default=[0.9, 1.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--store", type=Path, help="folder in which fitted models are kept for the next time")
    chosen = parser.parse_args()
    true, store = make_world("published"), Store(chosen.store)
    for seed in chosen.seeds:
        planning = _planned_in(PUBLISHED_MODELS, seed, store)
        episodes = named_luck(("episode", seed, "published", 0), chosen.episodes)
        for method in chosen.methods:
            for discount in chosen.discounts:
                for name, policy in METHODS[method](true, planning, seed, discount, store):
                    played = rollout(true, policy, RULES, episodes)
                    recruits = played.total_recruits
                    early = recruits < FEW
                    others = f", the others {recruits[~early].mean():.1f}" if not early.all() else ""
                    print(
                        f"seed {seed}  {method:14} {discount:5g}  {name:32} "
                        f"reward {played.discounted_rewards(discount).mean():5.1f}  recruits {recruits.mean():5.1f}  "
                        f"below {FEW}: {early.mean():.1%}{others}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
