"""What a plan gains over simple rules, and what fairness costs: in studies, and where the truth is known.

python benchmarks/rivals.py PATH     (PATH holds nyjazz/ and rdstools_toy/)

Every study is fitted, 20 people wait (41 in the demo), 60 coupons are left for 5 rounds, at most 3 each. First the
demo and the public studies, simulated under the belief of their own fit, as `peerfront forecast` does. Then worlds: a
study of 400 people with three coupons each is drawn in each, written as a coupon table, read and fitted; the plan and
its rivals, tuned under the fitted belief, are played in the true world. Episodes are paired: the same people with the
same luck under every rule.

Then prices, in recruits: of at least one coupon each in every round; and of a floor in this round: the group (an eighth
of the people or more) that the plan gives the fewest coupons per person gets no fewer than people get on average.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import peerfront as pf
from peerfront.data.reading import study_from_table
from peerfront.data.study import Study
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import Luck, fold, named_luck
from peerfront.gfp.blocks import majorants, rises
from peerfront.gfp.floored_greedy import greedy_with_floors
from peerfront.gfp.planner import Planner
from peerfront.problem import Allocation, Frontier, Policy, Rules, State, World, ask_many, rollout
from peerfront.simulation.demo_study import demo_study, demo_world
from peerfront.study.floors import Floor, floor_task
from peerfront.study.rivals import Gain, Gains, Lead, Verdict, by_rounds, gain_over, usual_rivals

BUDGET, ROUNDS, WAITING, HISTORY = 60, 5, 20, 400
RIVALS = ("3 each", "2 each", "1 each", "as so far", "threshold")
WORLDS = ("demo", "icpsr22140", "boom_bust", "bridge", "bridge:response=per_coupon")


@dataclass(frozen=True, eq=False)
class Recoded:
    """A policy that knows people by the categories of a study's file, playing where they have the world's codes."""

    policy: Policy
    codes: Sequence[NDArray[np.int16] | None]  # of each field of the study, its code of each of the world's

    @property
    def name(self) -> str:
        return self.policy.name

    @classmethod
    def of(cls, policy: Policy, world: Schema, study: Schema) -> "Recoded":
        codes = []
        for field in study.fields:
            there = world.fields[world.names.index(field.name)].categories if field.name in world.names else ()
            own = [field.categories.index(name) if name in field.categories else -1 for name in there]
            codes.append((world.names.index(field.name), np.array(own, np.int16)) if there else None)
        return cls(policy, codes)

    def frontier(self, frontier: Frontier) -> Frontier:
        nothing = np.zeros(len(frontier), np.int16)
        columns = [nothing if each is None else each[1][frontier.covariates[:, each[0]]] for each in self.codes]
        return replace(frontier, covariates=np.stack(columns, axis=1))

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        known = [replace(state, frontier=self.frontier(state.frontier)) for state in states]
        return ask_many(self.policy, known, lucks)


@dataclass(frozen=True, eq=False)
class FloorFirst:
    """A planner that keeps a floor in the first round."""

    planner: Planner
    schema: Schema
    floor: Floor
    name: str = "floor"

    def allocate(self, state: State, luck: Luck) -> Allocation:
        return self.allocate_many([state], [luck])[0]

    def allocate_many(self, states: Sequence[State], lucks: Sequence[Luck]) -> list[Allocation]:
        plans = ask_many(self.planner, states, lucks)
        return [self._floored(*each) if each[0].round == 0 else each[1] for each in zip(states, plans, strict=True)]

    def _floored(self, state: State, plan: Allocation) -> Allocation:
        people, most = state.frontier.covariates, state.most_per_person
        task = floor_task([self.floor], self.schema, people, spendable=state.spendable, most_per_person=most)
        if not task.floors or task.groups.met(plan.coupons):
            return plan
        tables, (weights, base) = self.planner.tables(people, most), self.planner.weights_and_base(state)
        concave = majorants(tables)[0] if rises(tables) else tables
        found = greedy_with_floors(
            concave, weights, self.planner.discount, task.groups,
            spendable=state.spendable, most_per_person=most, base=base,
        )  # fmt: skip
        return Allocation(found.plan.coupons)


def worst_served(people: Codes, coupons: NDArray[np.int64], schema: Schema) -> Floor:
    """The group, an eighth of the people or more, with the fewest coupons per person; its floor is everybody's mean."""
    means = {}
    for column, field in enumerate(schema.fields):
        for code, category in enumerate(field.categories):
            own = people[:, column] == code
            if len(people) / 8 <= own.sum() < len(people):
                means[field.name, category] = float(coupons[own].mean())
    return Floor(*min(means, key=lambda group: means[group]), 1.0)


@dataclass(frozen=True)
class Measured:
    """One study or world: recruits of the plan, its gains over rivals, and prices in recruits."""

    plan: float
    gains: Gains
    one_each: Lead
    floor: Floor
    floor_price: Lead


def drawn_study(world: World, seed: int) -> Study:
    """A study of some 400 people in a world, three coupons each; seeds join when a wave is small."""
    rows: list[tuple[object, ...]] = []
    wave, cards, luck = np.zeros((0, len(world.schema.fields)), np.int16), [], named_luck(("rivals", seed), 10_000)
    while len(rows) < HISTORY:
        more = max(WAITING - len(wave), 0)
        seeds = world.population(Luck(luck.keys[len(rows) : len(rows) + more]))
        wave, cards = np.concatenate([wave, seeds])[: 2 * WAITING], [*cards, *[""] * more]
        own = Luck(fold(luck.keys[: len(wave)], np.full(len(wave), len(rows) + 1)))
        brought = world.response.sample(wave, 3, own)
        names = [f"P{len(rows) + n}" for n in range(len(wave))]
        for name, card, person in zip(names, cards, wave, strict=False):
            answers = [field.categories[code] for field, code in zip(world.schema.fields, person, strict=True)]
            rows.append((name, card, *(f"{name}-{n}" for n in (1, 2, 3)), *answers))
        parent = np.repeat(np.arange(len(wave)), brought)
        cards = [f"{names[p]}-{n + 1}" for p, count in enumerate(brought.tolist()) for n in range(count)]
        wave = world.offspring.sample(wave[parent], Luck(fold(own.keys[parent], np.arange(len(parent)) + 1)))
    columns = ["id", "own.coupon", "coupon.1", "coupon.2", "coupon.3", *world.schema.names]
    return study_from_table(pd.DataFrame(rows, columns=columns))


def fitted(study: Study) -> pf.Model:
    return pf.fit(study, budget=BUDGET, rounds=ROUNDS, max_per_person=3)


def in_world(name: str, seed: int, episodes: int) -> Measured:
    """A plan and its rivals in the true world."""
    world = demo_world() if name == "demo" else pf.make_world(name)
    fit = fitted(drawn_study(world, seed)).fit
    rules, luck = Rules(BUDGET, WAITING, ROUNDS, 3), named_luck(("rivals, played",), episodes)
    people = Frontier.of(world.population(named_luck(("rivals, people", seed), 500)))
    known = Recoded.of(fit.planner, world.schema, fit.schema).frontier(people)
    believed = fit.world(known)
    rivals = usual_rivals(fit.given, believed.response, rules, by_rounds(believed, rules))

    def recruits(policy: Policy) -> NDArray[np.int64]:
        return rollout(world, Recoded.of(policy, world.schema, fit.schema), rules, luck).total_recruits

    plan, everywhere = recruits(fit.planner), np.full(episodes, "", dtype=object)
    gains = [gain_over(rival, plan, recruits(rival.policy), everywhere, ()) for rival in rivals]
    first_rounds = np.split(known.covariates, len(known) // WAITING)
    coupons = [
        fit.planner.plan(State(BUDGET, Frontier.of(each), rules=rules)).allocation.coupons for each in first_rounds
    ]
    floor = worst_served(known.covariates, np.concatenate(coupons), fit.schema)
    return Measured(
        float(plan.mean()),
        Gains(tuple(gains)),
        Lead.of(plan, recruits(replace(fit.planner, least_per_person=1))),
        floor,
        Lead.of(plan, recruits(FloorFirst(fit.planner, fit.schema, floor))),
    )


def in_file(study: Study, waiting: pd.DataFrame, episodes: int) -> Measured:
    """A plan and its rivals under the belief of its own fit."""
    model = fitted(study)
    advice = model.advise(waiting, BUDGET, episodes=episodes)
    outlook, (one_each,) = advice.outlook, advice.outlook.choices.each
    floor = worst_served(model.frontier(waiting).covariates, advice.sheet.allocation.coupons, model.schema)
    (free,) = model.forecast(waiting, BUDGET, episodes=episodes, at_least=[str(floor)]).choices.each
    price = Lead(-free.lead.mean, -free.lead.high, -free.lead.low)
    return Measured(float(outlook.of_plan["recruits"]), outlook.gains, one_each.lead, floor, price)


def gains_line(name: str, found: Measured) -> str:
    best, practice, gains = found.gains.best, found.gains.practice, found.gains
    assert best is not None
    assert practice is not None
    rivals = {gain.policy.partition(":")[0]: gain.recruits for gain in gains.each}
    numbers = [rivals.get(each) for each in RIVALS]
    shown = " | ".join("same" if number is None else f"{number:.1f}" for number in numbers)
    return f"| {name} | {found.plan:.1f} | {shown} | {_gain(best)} | {_gain(practice)} | {_parts(best)} |"


def prices_line(name: str, found: Measured) -> str:
    group = f"{found.floor.field}={found.floor.category}"
    return f"| {name} | {found.plan:.1f} | {_price(found.one_each)} | {group} | {_price(found.floor_price)} |"


def _price(lead: Lead) -> str:
    return "none" if lead.low == lead.high == 0.0 else f"{lead.mean:.1f} ({lead.low:.1f} to {lead.high:.1f})"


def _gain(gain: Gain) -> str:
    same = ", about the same" if gain.verdict is Verdict.SAME else ""
    return f"{gain.lead.mean:+.1f} ({gain.lead.low:+.1f} to {gain.lead.high:+.1f}){same}"


def _parts(gain: Gain) -> str:
    return ", ".join(f"{name} {lead.mean:+.1f}" for name, lead in gain.by_part.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=2, help="studies drawn in each world")
    chosen = parser.parse_args()
    prices = []

    def show(name: str, found: Measured) -> None:
        print(gains_line(name, found), flush=True)
        prices.append(prices_line(name, found))

    columns = ("study", "plan", *RIVALS, "gain, best rival", "gain, so far", "best rival, by part of the belief")
    print("|", " | ".join(columns), "|")
    print("| --- |", " | ".join(["---:"] * (1 + len(RIVALS))), "| --- | --- | --- |", flush=True)
    demo = demo_study()
    show("demo", in_file(study_from_table(demo.study), demo.frontier, chosen.episodes))
    for name in ("nyjazz", "rdstools_toy"):
        study = pf.read_study(next((chosen.path / name).rglob(f"{name}.csv")))
        show(name, in_file(study, study.table().tail(WAITING), chosen.episodes))
    for name in WORLDS:
        for seed in range(chosen.seeds):
            show(f"{name}, {seed + 1}", in_world(name, seed, chosen.episodes))
    print("\n| study | plan | price of at least one each | group with a floor | price of the floor |")
    print("| --- | ---: | --- | --- | --- |", *prices, sep="\n")


if __name__ == "__main__":
    main()
