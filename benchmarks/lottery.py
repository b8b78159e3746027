"""What the lottery among people who cannot be told apart costs, and who takes part, with a fitted model.

peerfront example --out example
peerfront fit example/study.csv --out model --budget 60 --rounds 5 --max-per-person 3
python benchmarks/lottery.py model example/frontier.csv --budget 60 --seeds 200
"""

import argparse
from pathlib import Path

import numpy as np

from peerfront.gfp.lottery import draw_ties
from peerfront.problem import Rules, State
from peerfront.study.model import load
from peerfront.study.uncertainty import drawn_chances, gain_noise, relative_errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("frontier", type=Path)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=200)
    order = parser.parse_args()
    model = load(order.model)
    fit, waiting = model.fit, model.frontier(order.frontier)
    planner, people = fit.planner, len(waiting)
    chances, weights = drawn_chances(planner.stories, waiting.covariates)
    errors = relative_errors(chances, weights)
    chance = float((weights @ chances).mean())
    print(f"{people} people; chance of use {chance:.2f}, compared with the others known to {np.median(errors):.0%}")
    for cap in (1, 3):
        for budget in (order.budget // 4, order.budget // 2, order.budget):
            rules = Rules(budget, people, fit.rules.rounds, cap)
            state = State(budget, waiting, rules=rules)
            plan = planner.plan(state)
            tables = planner.tables(waiting.covariates, cap)
            worth = planner.discount * planner.weights_with(state.rounds_left - 1)[budget - plan.spend]
            coupons = plan.allocation.coupons
            for scale in (0.0, 0.5, 1.0):
                noise = scale * gain_noise(errors, tables, worth, coupons)
                runs = [
                    draw_ties(tables, worth, coupons, noise, waiting.ids, most_per_person=cap, seed=seed)
                    for seed in range(order.seeds)
                ]
                lost = np.array([run.lost for run in runs])
                print(
                    f"cap {cap}, {budget} coupons, {plan.spend} now, noise x {scale}: {runs[0].tied.sum()} tied, "
                    f"{runs[0].drawn.sum()} drawn, exact {np.mean([run.exact for run in runs]):.0%}; of "
                    f"{plan.value:.2f} lost {lost.mean():.3f} on average, {lost.max():.3f} at most"
                )


if __name__ == "__main__":
    main()
