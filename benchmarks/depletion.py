"""Networks of which a study recruits a good part: what is promised and earned, with and without the population.

python benchmarks/depletion.py --out results/depletion.csv
python benchmarks/depletion.py --out results/d.csv --people 200 --budgets 100 --draws 1 --episodes 100

Each world is `network:people=N` (a mean of 8 acquaintances; everybody can be recruited once), with 10 first recruits,
10 rounds and at most 5 coupons for one person. Response and generator are the true ones of the world's kinds of people,
so that nothing is wrong but what is said about the population. A value is learned where nobody runs out, as
`peerfront fit` does. Plans:

    plain     as if the population had no end;
    share     --population N: the share left in each round, with the network sizes that recruits report;
    left      the same, and the acquaintances left of everybody who waits are known (the column `acquaintances left`).

With `--looking later`, as `peerfront plan` does, recruits count as the part of a person that they will be when
acquaintances are fewer; with `now` they count as whole ones. `promised` is the mean of simulations from the first
frontier: for `plain` where nobody runs out, for the others where the population does; `earned` is what the plan brings
in the network, with the same first people. All are discounted; plans meet the same people with the same luck. Each case
is a row of the CSV file as soon as it is known, and not run again.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from peerfront.foundation.covariates import Codes, Field, Schema
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration
from peerfront.gfp.surrogate import SurrogateSettings
from peerfront.models.depletion import Depleted, DepletingWorld
from peerfront.models.finite_population import QUANTILES, Population, popularity_of
from peerfront.problem import BinomialResponse, BranchingWorld, Episodes, Rules, State
from peerfront.problem.world import Crowd
from peerfront.simulation.catalog import make_world
from peerfront.simulation.network import NetworkWorld
from peerfront.study.fitting import simple_rules
from peerfront.study.population import LEFT, later_recruits_count, unasked_story

FIRST, ROUNDS = 10, 10
PLANS = ("share", "left")
MOST_LEFT = 40


@dataclass(frozen=True)
class _FirstPeople:
    """The network's own first recruits."""

    world: NetworkWorld

    def sample(self, luck: Luck) -> Codes:
        return self.world.population(luck)


@dataclass(frozen=True, eq=False)
class Played:
    """One plan, played."""

    rewards: np.ndarray  # [episodes], discounted
    recruits: np.ndarray  # [episodes]


def acquaintances_left(world: NetworkWorld, crowd: Crowd) -> np.ndarray:
    """How many of each person's acquaintances have not been recruited, [people]."""
    members, recruited = crowd.members, crowd.memory.recruited
    assert members is not None
    society = world.society
    owner = np.repeat(np.arange(len(members)), society.degrees[members])
    known = np.concatenate([society.acquaintances_of(member) for member in members.tolist()]) if len(members) else owner
    free = ~recruited[crowd.episode[owner], known.astype(np.int64)]
    return np.bincount(owner, weights=free, minlength=len(members)).astype(np.int64)


def play(
    world: object, planner: Planner, rules: Rules, luck: Luck, discount: float, how: str, whole: Population, later: bool
):
    """Play a plan that is made anew each round, as `peerfront plan` is; `how` is one of the plans."""
    episodes = Episodes(world, rules, luck)  # type: ignore[arg-type]
    come = np.full(len(luck), FIRST)
    while states := episodes.states():
        living = episodes.living
        if how == "plain":
            allocations = planner.allocate_many(states, episodes.policy_lucks())
        else:
            asked = None
            if how == "left" and isinstance(world, NetworkWorld):
                asked = np.minimum(acquaintances_left(world, episodes._crowd), MOST_LEFT)
            allocations = _with_population(planner, states, come[living], asked, whole, later)
        played = episodes.step(allocations)
        come += np.bincount(played.referrals.next_crowd.episode, minlength=len(come))
    done = episodes.trajectories()
    return Played(done.discounted_rewards(discount), done.total_recruits)


def _with_population(planner: Planner, states: list[State], come, asked, whole: Population, later: bool):
    """Plan states whose populations have run out to different degrees: those that are close, together."""
    allocations = [None] * len(states)
    ends = np.cumsum([len(state.frontier) for state in states])
    size = float(whole.sizes[0])
    step = max(int(size) // 40, 1)
    for number in np.unique(come // step):
        own = np.flatnonzero(come // step == number)
        already = min(float(number * step + step / 2), size)
        population = replace(whole, already=np.array([already]))
        believed, chosen = planner, [states[i] for i in own]
        people = np.concatenate([state.frontier.covariates for state in chosen])
        budget = int(np.mean([state.remaining_budget for state in chosen]))
        story = planner.story
        laplace = story.laplace
        if later:
            laplace = later_recruits_count(story, population, people, budget, 3)
        story = replace(story, laplace=laplace, response=Depleted(cast(BinomialResponse, story.response), population))
        if asked is not None:
            answers = Field(LEFT, tuple(str(n) for n in range(MOST_LEFT + 1)))
            schema = Schema((*planner.schema.fields, answers))
            story = unasked_story(replace(story, response=replace(story.response, asked=True)), schema)  # type: ignore[type-var]
            chosen = [_answered(states[i], asked[ends[i] - len(states[i].frontier) : ends[i]]) for i in own]
        believed = replace(planner, stories=(story,))
        nobody = [Luck(np.zeros(1, np.uint64))] * len(own)
        for place, allocation in zip(own, believed.allocate_many(chosen, nobody), strict=True):
            allocations[place] = allocation
    return allocations


def _answered(state: State, left) -> State:
    codes = np.concatenate([state.frontier.covariates, left.astype(np.int16)[:, None]], axis=1)
    return replace(state, frontier=replace(state.frontier, covariates=codes))


def case(
    people: int, budget: int, discount: float, draw: int, episodes: int, story: str, looking: list[str]
) -> list[dict[str, object]]:
    """All plans in one world."""
    response = "" if story == "capacity" else f",response={story}"
    world = make_world(f"network:people={people}{response}", draw=draw)
    assert isinstance(world, NetworkWorld)
    endless = BranchingWorld("endless", world.schema, world.response, world.offspring, _FirstPeople(world))
    rules = Rules(budget, FIRST, ROUNDS, 5)
    settings = PolicyIterationSettings(
        rounds=1, episodes=60, states=300, returns=2, steps=300, judged_episodes=60,
        surrogate=SurrogateSettings(deadline=True),
    )  # fmt: skip
    learned = learn_by_policy_iteration(endless, rules, discount, simple_rules(world.response, rules), settings)
    luck = named_luck(("depletion", people, draw), episodes)
    found = np.repeat(world.society.degrees, world.society.degrees)  # network sizes as recruits report them
    known = np.quantile(found, QUANTILES).round().astype(int)
    population = Population(
        np.array([float(people)]), np.array([float(FIRST)]), np.zeros(1),
        acquaintances=tuple(known.tolist()), popularity=popularity_of(found.astype(np.float64)),
    )  # fmt: skip
    ending = DepletingWorld.of(endless, population, world.schema)
    rows: list[dict[str, object]] = []
    plain = None
    for how, later in (("plain", False), *((each, now_only == "later") for now_only in looking for each in PLANS)):
        earned = play(world, learned.planner, rules, luck, discount, how, population, later)
        where = endless if how == "plain" else ending
        promised = play(
            where, learned.planner, rules, luck, discount, "share" if how == "left" else how, population, later
        )
        plain = plain or earned
        ran_out = (
            play(ending, learned.planner, rules, luck, discount, how, population, later) if how == "plain" else None
        )
        more = earned.rewards - plain.rewards
        rows.append(
            {
                "people": people, "budget": budget, "discount": discount, "draw": draw, "story": story,
                "plan": how + (", later" if later else ""), "episodes": episodes,
                "promised": promised.rewards.mean(), "earned": earned.rewards.mean(),
                "promised_with_population": promised.rewards.mean() if ran_out is None else ran_out.rewards.mean(),
                "recruits": earned.recruits.mean(), "gain": more.mean(), "gain_error": more.std() / np.sqrt(episodes),
            }
        )  # fmt: skip
    return rows


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Means over draws and stories; biases in percent of what was earned."""
    rows = []
    for (people, budget, discount, plan), part in table.groupby(["people", "budget", "discount", "plan"], sort=False):
        earned = part["earned"].mean()
        rows.append(
            {
                "people": people, "budget": budget, "discount": discount, "plan": plan, "worlds": len(part),
                "earned": earned,
                "bias %": 100 * (part["promised"].mean() / earned - 1),
                "bias with population %": 100 * (part["promised_with_population"].mean() / earned - 1),
                "gain": part["gain"].mean(),
                "error": np.sqrt((part["gain_error"] ** 2).sum()) / len(part),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV file of what is known; read first")
    parser.add_argument("--people", type=int, nargs="+", default=[200, 500, 2000])
    parser.add_argument("--budgets", type=int, nargs="+", default=[60, 100, 200])
    parser.add_argument("--discounts", type=float, nargs="+", default=[0.9, 1.0])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--stories", nargs="+", default=["capacity", "per_coupon"])
    parser.add_argument("--looking", nargs="+", default=["later"], help="later, now: whether later recruits count less")
    chosen = parser.parse_args()
    known = pd.read_csv(chosen.out).to_dict("records") if chosen.out.exists() else []
    done = {(row["people"], row["budget"], row["discount"], row["draw"], row["story"]) for row in known}
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    for people in chosen.people:
        for budget in chosen.budgets:
            for discount in chosen.discounts:
                for draw in range(chosen.draws):
                    for story in chosen.stories:
                        if (people, budget, discount, draw, story) not in done:
                            known += case(people, budget, discount, draw, chosen.episodes, story, chosen.looking)
                            pd.DataFrame(known).to_csv(chosen.out, index=False)
    print(summary(pd.DataFrame(known)).round(2).to_string(index=False))


if __name__ == "__main__":
    main()
