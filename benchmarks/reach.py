"""What a plan earns, and what it promised, with capacities learned from few rows and many.

python benchmarks/reach.py --out results/reach.csv
python benchmarks/reach.py --out results/reach.csv --policy gfp --rows 300 --limit no

A history of so many rows (and twice as many pairs) of a draw of the paper's world, capacities fitted with and without
the simulator's own formula among the shapes, with the limit on extrapolation and without; recruits by the inheritance
table. The policy is prepared in that learned world and played in the true one (400 episodes): "earned". Played in the
learned world (400 others): "promised". Each case is a row of the CSV file as soon as it is known, and is not computed
again. The limit was chosen on draws 0 to 2 and 11 to 13; draws 5 to 9 are the fair ones.
"""

import argparse
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import pandas as pd

from peerfront.experiments.policies import Preparation, prepare_policy
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.settings import Spec
from peerfront.models.offspring.generator_choice import fit_offspring
from peerfront.models.response.response_fit import LOG_LINEAR, NETWORK, ResponseSettings, fit_response
from peerfront.problem import BranchingWorld, Rules, World, rollout
from peerfront.simulation.catalog import make_world
from peerfront.simulation.simulated_history import HistorySettings, simulate_history

DISCOUNTS = (0.9, 1.0)
EPISODES = 400


@dataclass(frozen=True)
class Case:
    """What is measured."""

    rows: int  # 0: the true models
    draw: int
    formula: str  # with, without
    limit: str  # yes, no
    policy: str
    fields: str  # all, as in comparisons; chosen: only those that help people left out, as `fit_response` alone does


@dataclass(frozen=True, eq=False)
class TrueFirst:
    """First recruits come from the true world."""

    world: World

    def sample(self, luck):  # type: ignore[no-untyped-def]
        return self.world.population(luck)


def learned_world(case: Case, world: World) -> tuple[World, str]:
    """The world a plan is made in, and what was fitted."""
    if not case.rows:
        return world, "true"
    history = simulate_history(world, HistorySettings(triples=case.rows, pairs=2 * case.rows), seed=0)
    usual = ResponseSettings()
    response = fit_response(
        history,
        ResponseSettings(
            shapes=usual.shapes if case.formula == "with" else (LOG_LINEAR, NETWORK),
            doubt=usual.doubt if case.limit == "yes" else None,
            drop_fields=case.fields == "chosen",
        ),
    )
    offspring = fit_offspring(history, "inheritance").model
    learned = BranchingWorld("learned", world.schema, response, offspring, TrueFirst(world))
    return learned, f"{response.family}, {response.rates.shape.label}"


def measured(case: Case) -> list[dict[str, object]]:
    """Earned and promised at each discount."""
    world, rules = make_world("icpsr22140", case.draw), Rules()
    learned, fitted = learned_world(case, world)
    found: list[dict[str, object]] = []
    for discount in DISCOUNTS:
        policy = prepare_policy(Spec.parse(case.policy), Preparation(learned, rules, discount, DISCOUNTS, 0))
        lucks = (named_luck(("episode", 0, world.name, case.draw), EPISODES), named_luck(("promised",), EPISODES))
        earned, promised = (
            float(rollout(where, policy, rules, luck).discounted_rewards(discount).mean())
            for where, luck in zip((world, learned), lucks, strict=True)
        )
        row = {"discount": discount, "earned": earned, "promised": promised, "fitted": fitted}
        found.append({**asdict(case), **row})
        print({key: round(value, 2) if isinstance(value, float) else value for key, value in found[-1].items()})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV file of what is known; read first")
    parser.add_argument("--rows", type=int, nargs="+", default=[0, 100, 300, 1000, 2048], help="0: the true models")
    parser.add_argument("--draws", type=int, nargs=2, default=(5, 10), metavar=("FIRST", "END"))
    parser.add_argument("--formula", nargs="+", default=["without", "with"])
    parser.add_argument("--limit", nargs="+", default=["yes", "no"])
    parser.add_argument("--policy", nargs="+", default=["threshold"])
    parser.add_argument("--fields", nargs="+", default=["all"], help="all, or chosen: those that help people left out")
    chosen = parser.parse_args()
    known = pd.read_csv(chosen.out).to_dict("records") if chosen.out.exists() else []
    for policy, rows, formula, limit, fields, draw in product(
        chosen.policy, chosen.rows, chosen.formula, chosen.limit, chosen.fields, range(*chosen.draws)
    ):
        case = Case(rows, draw, formula, limit, policy, fields) if rows else Case(0, draw, "with", "yes", policy, "all")
        if not any({key: row[key] for key in asdict(case)} == asdict(case) for row in known):
            known += measured(case)
            chosen.out.parent.mkdir(parents=True, exist_ok=True)
            pd.DataFrame(known).to_csv(chosen.out, index=False)
    table = pd.DataFrame(known)
    table["short"] = table["promised"] - table["earned"]
    by = ["policy", "discount", "rows", "formula", "limit", "fields"]
    summary = table.groupby(by).agg(
        draws=("draw", "nunique"), earned=("earned", "mean"), worst=("earned", "min"), most_short=("short", "max")
    )
    print(summary.round(2).to_string())


if __name__ == "__main__":
    main()
