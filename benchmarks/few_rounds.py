"""What learning returns in a study of few rounds: the simple rule, the planners, and which of them is kept.

python benchmarks/few_rounds.py --draws 0 3 --discount 0.9 --discount 1

Five rounds, 60 coupons, at most 3 for a person, 10 people at first; the true models; every policy plays the same
400 episodes of the true world, which served neither learning nor the choice. "Before" is what version 0.2.0 returned:
the best planner of a value that does not know the deadline, chosen in the episodes in which the rule was chosen. "Now"
is the default: a value that knows the deadline, and the best of all candidates. A line for each draw, then the means
over draws; differences are paired, their errors are over draws.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import deadline_rules, threshold_rules
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.learning import LearnedPlanner
from peerfront.gfp.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration
from peerfront.problem import Policy, Rules, rollout
from peerfront.simulation.catalog import make_world


@dataclass(frozen=True)
class Study:
    """What is measured: a draw of the world, the rules, a discount, and how many episodes."""

    name: str
    draw: int
    rules: Rules
    discount: float
    episodes: int
    seed: int = 0

    def earned(self, policy: Policy, luck_name: tuple[str | int, ...] | None = None, episodes: int = 0) -> float:
        """Mean discounted reward in the test episodes, or in others by the name of their luck."""
        names = luck_name or ("episode", self.seed, self.name, self.draw)
        luck = named_luck(names, episodes or self.episodes)
        played = rollout(make_world(self.name, self.draw), policy, self.rules, luck)
        return float(played.discounted_rewards(self.discount).mean())


def learned(study: Study, *, deadline: bool) -> tuple[LearnedPlanner, PolicyIterationSettings]:
    """The planner that `gfp` learns in this study, as `compare` does."""
    world = make_world(study.name, study.draw)
    settings = PolicyIterationSettings.with_deadline(study.seed) if deadline else PolicyIterationSettings()
    simple = (deadline_rules if deadline else threshold_rules)(world.response, study.rules.budget)
    return learn_by_policy_iteration(world, study.rules, study.discount, simple, settings), settings


def old_choice(study: Study, found: LearnedPlanner, settings: PolicyIterationSettings) -> str:
    """The planner that 0.2.0 kept: the best in the episodes by which the rule to start from was chosen."""
    planners = [name for name in found.candidates if not name.startswith("start")]
    judged = {
        name: study.earned(found.candidates[name], ("judge", study.seed), settings.judged_episodes) for name in planners
    }
    return max(judged, key=lambda name: judged[name])


def measured(study: Study) -> dict[str, float]:
    """What every candidate, and what was returned before and is returned now, earns in the test episodes."""
    row: dict[str, float] = {}
    for deadline in (False, True):
        found, settings = learned(study, deadline=deadline)
        value = "deadline" if deadline else "blind"
        tested = {name: study.earned(policy) for name, policy in found.candidates.items()}
        for name, earned in tested.items():
            row[f"{value}: {'rule' if name.startswith('start') else name}"] = earned
        row[f"{value}: returned before"] = tested[old_choice(study, found, settings)]
        row[f"{value}: returned now"] = study.earned(found.policy)
        kept = found.report.kept
        assert kept is not None
        start = next(iter(found.candidates))
        print(f"  {study.draw}, {study.discount:g}, {value}: kept {kept.name}; {start}", flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", default="icpsr22140")
    parser.add_argument("--draws", type=int, nargs=2, default=(0, 3), metavar=("FIRST", "END"))
    parser.add_argument("--discount", type=float, action="append")
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--max-per-person", type=int, default=3)
    chosen = parser.parse_args()
    rules = Rules(chosen.budget, chosen.people, chosen.rounds, chosen.max_per_person)
    for discount in chosen.discount or (0.9, 1.0):
        rows = []
        for draw in range(*chosen.draws):
            rows.append(measured(Study(chosen.world, draw, rules, discount, chosen.episodes)))
            print(f"  {draw}: " + ", ".join(f"{what} {earned:.2f}" for what, earned in rows[-1].items()), flush=True)
        print(f"\n| discount {discount:g} | earned (s.e.) | above what was returned before |\n| --- | ---: | ---: |")
        before = np.array([row["blind: returned before"] for row in rows])
        for what in rows[0]:
            print(_line(what, np.array([row[what] for row in rows]), before), flush=True)


def _line(what: str, earned: NDArray[np.float64], before: NDArray[np.float64]) -> str:
    gaps = earned - before
    spread = [each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else float("nan") for each in (earned, gaps)]
    return f"| {what} | {earned.mean():.2f} ({spread[0]:.2f}) | {gaps.mean():+.2f} ({spread[1]:.2f}) |"


if __name__ == "__main__":
    main()
