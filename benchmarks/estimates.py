"""Bias, error and coverage of every estimator, on networks whose truth is known; and the time of an estimate.

    python benchmarks/estimates.py --repetitions 400 --out results/estimates
    python benchmarks/estimates.py --time
    python benchmarks/estimates.py --page results/estimates/estimates.csv
    python benchmarks/estimates.py --plans --repetitions 30 --out results/estimates
    python benchmarks/estimates.py --learning --repetitions 40 --out results/estimates

Each setting is a network (people, prevalence, homophily, activity), a sample size and a rule for coupons: 3 for
everybody, 3 or 1 by the outcome, 3 or 1 by a group that goes with the outcome. Networks are drawn anew every 20
repetitions. Intervals by the tree bootstrap, which is slow, are made in the first 20 repetitions alone. With --plans
the rule is gfp's plan, learned for people who bring unequally many (`peerfront design`).
With --learning it is Thompson sampling, which learns while it recruits, beside 3 each and that plan.
"""

import argparse
import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import peerfront as pf
from peerfront.baselines.simple_rules import WhileTheyLast
from peerfront.baselines.thompson import Thompson, prior
from peerfront.estimates.bootstraps import BOOTSTRAPS, NEIGHBOURHOOD, SUCCESSIVE, TREE
from peerfront.estimates.estimating import estimate_outcome
from peerfront.estimates.sample import Outcome, Sample
from peerfront.foundation.messages import silent
from peerfront.foundation.randomness import named_generator
from peerfront.gfp.restricted import RestrictedPlanner
from peerfront.problem import Frontier, Seen, State
from peerfront.simulation.outcome_network import GROUP, OUTCOME, YES, A, OutcomeNetworkSettings, outcome_network
from peerfront.simulation.society import Society
from peerfront.study.design import apply_rules
from peerfront.study.design_worlds import Arm, networks_for

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from simulation.referral_sampling import referral_sample

RULES = ("3 each", "by outcome", "by outcome, group kept too", "by group")
PER_NETWORK = 20
TREES = 20  # repetitions in which the tree bootstrap is tried too
OTHERS = tuple(kind for kind in BOOTSTRAPS if kind != TREE)
SETTINGS = [
    # people, sample, prevalence, activity
    (1000, 500, 0.2, 1.5),
    (2000, 400, 0.1, 1.0),
    (5000, 500, 0.3, 1.5),
    (2000, 200, 0.5, 1.0),
]
SHOWN = ("RDS-II", "SS", "RDS-I", "stratified", "stratified SS")
HEAD = "people, sample, prevalence, activity, homophily"
HOMOPHILY = {"low": 1.1, "high": 2.0}


def drawn_sample(society: Society, rule: str, people: int, rng: np.random.Generator) -> tuple[Sample, Outcome]:
    """Draw a sample by a rule for coupons; the stratum of the rule is recorded for everybody (else the group)."""
    yes, in_a = is_(society, OUTCOME, YES), is_(society, GROUP, A)
    favoured = {"3 each": np.ones(len(society), dtype=bool), "by group": in_a}.get(rule, yes)
    made = referral_sample(society, np.where(favoured, 3, 1), rng, people=people)
    who = made.members
    stratum = yes if rule == "by outcome" else in_a
    sample = Sample(
        made.recruiter,
        made.recruiter < 0,
        society.degrees[who].astype(np.float64),
        np.arange(people),
        np.where(favoured, 3, 1)[who],
        stratum[who].astype(np.int64),
        ("other", "favoured"),
    )
    return sample, Outcome("outcome", yes[who].astype(np.float64), ("no", "yes"))


def is_(society: Society, field: str, category: str) -> np.ndarray:
    place = society.schema.names.index(field)
    return society.covariates[:, place] == society.schema.fields[place].code_of[category]


def measured(setting: tuple[int, int, float, float], homophily: float, rule: str, repetitions: int, bootstraps: int):
    """Estimate in repeated samples; one row per estimator, interval and repetition."""
    people, size, prevalence, activity = setting
    rows = []
    for repetition in range(repetitions):
        if repetition % PER_NETWORK == 0:
            society = outcome_network(
                OutcomeNetworkSettings(
                    people, prevalence, homophily, activity, draw=repetition // PER_NETWORK,
                )
            )  # fmt: skip
            truth = float(is_(society, OUTCOME, YES).mean())
        rng = named_generator("benchmark of estimates", rule, repetition)
        sample, outcome = drawn_sample(society, rule, size, rng)
        for interval in BOOTSTRAPS if repetition < TREES else OTHERS:
            made = estimate_outcome(
                sample, outcome, population=people, bootstraps=bootstraps, interval=interval, seed=repetition
            )
            table = made.table[made.table["category"] == "yes"]
            rows += [
                (row.estimator, interval, row.estimate - truth, row.low <= truth <= row.high, row.standard_error,
                 row.valid, row.design_effect)
                for row in table.itertuples()
            ]  # fmt: skip
    return pd.DataFrame(
        rows, columns=["estimator", "interval", "error", "covers", "standard_error", "valid", "design_effect"]
    )


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    grouped = rows.groupby(["estimator", "interval"], sort=False)
    table = grouped["error"].agg(bias="mean", sd="std", repetitions="count")
    table["rmse"] = np.sqrt(grouped["error"].agg(lambda errors: (errors**2).mean()))
    table["coverage"] = grouped["covers"].mean()
    table["mean_se"] = grouped["standard_error"].mean()
    table["design_effect"] = grouped["design_effect"].median()
    return table.reset_index()


def page(files: list[Path]) -> str:
    """Write the tables of docs/results/estimates.md: bias, root mean square error and coverage."""
    table = pd.concat([pd.read_csv(file) for file in files])
    shown = table[table["interval"] == NEIGHBOURHOOD]
    setting = ["people", "sample", "prevalence", "activity", "homophily"]
    lines = []
    for rule, of_rule in shown.groupby("rule", sort=False):
        lines += ["", f"**{rule}**", "", f"| {HEAD} | {' | '.join(SHOWN)} |",
                  "| --- " * (len(SHOWN) + 1) + "|"]  # fmt: skip
        for key, rows in of_rule.groupby(setting, sort=False):
            by_name = rows.set_index("estimator")
            cells = [
                f"{row['bias']:+.3f}, {row['rmse']:.3f}, {row['coverage']:.0%}"
                for row in (by_name.loc[name] for name in SHOWN)
            ]
            lines.append(f"| {key[0]:,}, {key[1]}, {key[2]:g}, {key[3]:g}, {key[4]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def bootstrap_page(files: list[Path]) -> str:
    """Write the table of coverage by bootstrap: SS, RDS-I and stratified SS, by rule and setting."""
    table = pd.concat([pd.read_csv(file) for file in files])
    kinds, shown = [kind for kind in OTHERS if kind in set(table["interval"])], ("SS", "RDS-I", "stratified SS")
    heads = [f"{name}, {kind}" for name in shown for kind in kinds]
    lines = [f"| rule, {HEAD} | {' | '.join(heads)} |", "| --- " * (len(heads) + 1) + "|"]
    keys = ["rule", "people", "sample", "prevalence", "activity", "homophily"]
    for key, rows in table.groupby(keys, sort=False):
        by_name = rows.set_index(["estimator", "interval"])
        cells = [f"{by_name.loc[(name, kind), 'coverage']:.0%}" for name in shown for kind in kinds]
        lines.append(
            f"| {key[0]}: {key[1]:,}, {key[2]}, {key[3]:g}, {key[4]:g}, {key[5]} | " + " | ".join(cells) + " |"
        )
    return "\n".join(lines)


def time_it() -> None:
    society = outcome_network(OutcomeNetworkSettings(40_000, mean_degree=12.0))
    sample, outcome = drawn_sample(society, "by group", 10_000, named_generator("benchmark of estimates", "time"))
    for interval in BOOTSTRAPS:
        for population in (None, 40_000) if interval != SUCCESSIVE else (40_000,):
            start = time.perf_counter()
            estimate_outcome(sample, outcome, population=population, bootstraps=1000, interval=interval)
            print(f"10,000 people, 1,000 bootstraps, {interval}, population {population}: "
                  f"{time.perf_counter() - start:.1f} s")  # fmt: skip


def plans(settings: list[tuple[int, int, float, float]], homophily: list[str], options: argparse.Namespace) -> None:
    """Samples under gfp's plan, as it is and restricted, and under 3 each; as `peerfront design` plays them."""
    tables = []
    for (people, size, prevalence, activity), level in product(settings, homophily):
        start = time.perf_counter()
        made = pf.design(
            population=people, prevalence=prevalence, homophily=HOMOPHILY[level], activity=activity, sample=size,
            coupons=round(2.5 * size), rounds=15, randomise=(), repetitions=options.repetitions,
            bootstraps=options.bootstraps,
        )  # fmt: skip
        table = made.table.merge(made.rules[["rule", "recruits", "coupons"]], on="rule")
        for place, (name, value) in enumerate(
            {"people": people, "sample": size, "prevalence": prevalence, "activity": activity,
             "homophily": level}.items()
        ):  # fmt: skip
            table.insert(place, name, value)
        tables.append(table)
        print(f"{(people, size, prevalence, activity)} homophily {level} ({time.perf_counter() - start:.0f} s)")
        shown = table[table["estimator"].isin(["RDS-II", "as advised"])]
        print(shown.iloc[:, 5:].round(3).to_string(index=False), flush=True)
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            pd.concat(tables).round(5).to_csv(options.out / "plans.csv", index=False)


class SeesGroup:
    """Thompson sampling that is told nothing of people but their group."""

    name, learns = "thompson, sees the group", True

    def __init__(self, policy: Thompson) -> None:
        self.policy, self.column = policy, policy.schema.names.index(GROUP)

    def allocate_many(self, states, lucks):
        return self.policy.allocate_many([self._hidden(state) for state in states], lucks)

    def allocate(self, state, luck):
        return self.policy.allocate(self._hidden(state), luck)

    def _hidden(self, state):
        seen = state.seen
        seen = Seen(self._group(seen.referrers), seen.coupons, seen.recruits,
                    self._group(seen.parents), self._group(seen.children))  # fmt: skip
        frontier = Frontier(state.frontier.ids, self._group(state.frontier.covariates))
        return State(state.remaining_budget, frontier, state.round, state.rules, seen)

    def _group(self, covariates: np.ndarray) -> np.ndarray:
        hidden = np.full_like(covariates, -1)
        hidden[:, self.column] = covariates[:, self.column]
        return hidden


def learning(settings: list[tuple[int, int, float, float]], homophily: list[str], options: argparse.Namespace) -> None:
    """Samples under Thompson sampling, under 3 each, and under gfp's plan, on the same networks."""
    parts = []
    for (people, size, prevalence, activity), level in product(settings, homophily):
        start = time.perf_counter()
        asked = pf.DesignSettings(
            population=people, prevalence=prevalence, homophily=HOMOPHILY[level], activity=activity, sample=size,
            coupons=round(2.5 * size), rounds=15, randomise=(), repetitions=options.repetitions,
            bootstraps=options.bootstraps,
        )  # fmt: skip
        networks = networks_for(None, asked)
        planner, schema = networks.planner(asked.rules, silent), networks.schema
        group = (schema.names.index(GROUP),)
        sampling = Thompson(schema, 1.0, prior(schema))
        one_each = replace(planner, least_per_person=1)
        arms = [
            Arm("3 each", WhileTheyLast.each(3)), Arm("the plan", planner),
            Arm("the plan within the group", RestrictedPlanner(one_each, group), group),
            Arm("thompson", sampling), Arm("thompson, group kept", sampling, group),
            Arm("thompson, sees the group", SeesGroup(sampling), group),
        ]  # fmt: skip
        for first in range(0, options.repetitions, PER_NETWORK):
            repetitions = list(range(first, min(first + PER_NETWORK, options.repetitions)))
            part = apply_rules(arms, networks.draw(first // PER_NETWORK), networks, asked, repetitions, silent)
            parts.append(part.assign(setting=f"{people}, {size}, {prevalence:g}, {activity:g}, {level}"))
        print(f"{parts[-1]['setting'].iloc[0]} ({time.perf_counter() - start:.0f} s)", flush=True)
    rows = pd.concat(parts, ignore_index=True)
    rows["error"] = rows["estimate"] - rows["truth"]
    rows["covers"] = (rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"])
    shown = pd.concat([rows[rows["estimator"].isin(["RDS-II", "SS", "stratified SS"])],
                       rows[rows["advised"]].assign(estimator="as advised")])  # fmt: skip
    table = learned_table(shown, ["rule", "estimator"])
    print(table.round(3).to_string(index=False))
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        rows.round(5).to_csv(options.out / "learning.csv", index=False)
        learned_table(shown, ["setting", "rule", "estimator"]).round(5).to_csv(
            options.out / "learning-settings.csv", index=False
        )


def learned_table(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Over the settings: largest bias, root mean square error, coverage, with the number of samples."""
    of_setting = rows.groupby(["setting", "rule", "estimator"], sort=False)["error"].mean().abs().reset_index()
    grouped = rows.groupby(by, sort=False)
    table = grouped.agg(samples=("error", "count"), recruits=("recruits", "mean"), coupons=("coupons", "mean"),
                        bias=("error", "mean"), coverage=("covers", "mean"))  # fmt: skip
    table["rmse"] = np.sqrt(grouped["error"].agg(lambda errors: (errors**2).mean()))
    table["largest_bias"] = of_setting.groupby(by, sort=False)["error"].max()
    return table.reset_index()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--bootstraps", type=int, default=100)
    parser.add_argument("--settings", type=int, nargs="*", help="which of the settings, from 0 on")
    parser.add_argument("--homophily", nargs="*", default=list(HOMOPHILY))
    parser.add_argument("--rules", nargs="*", default=list(RULES))
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--plans", action="store_true", help="coupons by gfp's plan")
    parser.add_argument("--learning", action="store_true", help="coupons by Thompson sampling")
    parser.add_argument("--page", type=Path, nargs="+", help="write the tables of these results as Markdown")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.time:
        time_it()
        return
    if options.page:
        print(page(options.page), bootstrap_page(options.page), sep="\n\n")
        return
    chosen = [SETTINGS[i] for i in options.settings] if options.settings else SETTINGS
    if options.learning:
        learning(chosen, options.homophily, options)
        return
    if options.plans:
        plans(chosen, options.homophily, options)
        return
    tables = []
    for setting, homophily, rule in product(chosen, options.homophily, options.rules):
        start = time.perf_counter()
        rows = measured(setting, HOMOPHILY[homophily], rule, options.repetitions, options.bootstraps)
        table = summary(rows)
        people, size, prevalence, activity = setting
        for place, (name, value) in enumerate(
            {"people": people, "sample": size, "prevalence": prevalence, "activity": activity, "homophily": homophily,
             "rule": rule}.items()
        ):  # fmt: skip
            table.insert(place, name, value)
        tables.append(table)
        print(f"{setting} homophily {homophily}, {rule} ({time.perf_counter() - start:.0f} s)")
        print(table.iloc[:, 6:].round(4).to_string(index=False), flush=True)
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            pd.concat(tables).round(5).to_csv(options.out / "estimates.csv", index=False)


if __name__ == "__main__":
    main()
