"""Studies in worlds that the belief does not contain: what the plan brings, against knowing the truth and fixed rules.

`python benchmarks/belief.py endgames` plays the rest of studies in which 300 people had three coupons each (60 coupons,
5 rounds, 20 people waiting), `studies` whole studies from 10 seeds (300 coupons, 25 rounds), and `coverage` compares
intervals of recruits with 1, 2 and 3 coupons with the truth. `tables PATH` shows what public studies say.

People look alike and are told apart by nothing, so that knowing the truth can be solved exactly: a state is the coupons
left, the people waiting and the rounds left. Each study learns its belief from its own counts, plans as `peerfront
plan` does (numbers by lot included where everybody has had the same number), hands out, counts who came, and learns
again.
One value serves a whole end game; in whole studies a new one is learned when the people counted have doubled.
"""

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from numba import njit
from scipy.special import betaln, comb
from scipy.stats import binom

from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.foundation.covariates import Field, Schema
from peerfront.foundation.machine import one_thread
from peerfront.foundation.randomness import named_luck
from peerfront.gfp.planner import Planner
from peerfront.gfp.policy_iteration import PolicyIterationSettings, learn_by_policy_iteration
from peerfront.gfp.surrogate import SurrogateSettings, learned_networks
from peerfront.gfp.updating import designs, worth_of_designs
from peerfront.models.belief.belief import Belief
from peerfront.models.belief.belief_fit import Counts, learned_belief
from peerfront.models.belief.belief_world import BeliefWorld, draw_of_episode
from peerfront.models.belief.prior import Prior
from peerfront.problem import BranchingWorld, Frontier, Rules, State, rollout
from peerfront.study.artifacts import planned_stories, value_response
from peerfront.study.fitting import simple_rules

SCHEMA = Schema((Field("anybody", ("anybody",)),))
MOST = 3


# The truth ------------------------------------------------------------------------------------------------------------


def beta_binomial(mean: float, size: float) -> list[np.ndarray]:
    """Chances of 0 .. 3 recruits with 0 .. 3 coupons, each used on its own by people who differ."""
    tables = []
    for k in range(MOST + 1):
        row = np.zeros(MOST + 1)
        for y in range(k + 1):
            ratio = betaln(y + mean * size, k - y + (1 - mean) * size) - betaln(mean * size, (1 - mean) * size)
            row[y] = comb(k, y) * np.exp(ratio)
        tables.append(row)
    return tables


def truths(mean: float) -> dict[str, np.ndarray]:
    """Three truths that agree with three coupons; [coupons, recruits] each."""
    own = np.array(beta_binomial(mean, 1.2))
    limited = own.copy()
    for k in range(1, MOST):
        limited[k] = 0.0
        limited[k, :k] = own[MOST, :k]
        limited[k, k] = own[MOST, k:].sum()
    spurred = own.copy()
    for k, chance in ((1, 0.43), (2, 0.70)):
        spurred[k] *= chance
        spurred[k, 0] += 1.0 - chance
    return {"capacity": limited, "per coupon": own, "motivate": spurred}


def drawn(table: np.ndarray, coupons: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    below = np.cumsum(table[coupons], axis=1)[:, :MOST]
    return (rng.random(len(coupons))[:, None] > below).sum(axis=1)


class Truth:
    """People who bring recruits by one table, [coupons, recruits], whatever the wave."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = table

    def begin(self, people: int, rng: np.random.Generator) -> None:
        """Forget the study before."""

    def given(self, plan: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What people get if this is planned."""
        return plan

    def recruits(self, coupons: np.ndarray, wave: int, rng: np.random.Generator) -> np.ndarray:
        return drawn(self.table, coupons, rng)

    def planned_table(self, wave: int) -> np.ndarray | None:
        """Chances of recruits with a planned number of coupons; None if they depend on what came before."""
        return self.table


class Drift(Truth):
    """Each wave brings 10% fewer than the one before."""

    def planned_table(self, wave: int) -> np.ndarray:
        kept = min(1.15 * 0.9**wave, 1.0)
        thinned = np.zeros_like(self.table)
        for y in range(MOST + 1):
            thinned[:, : y + 1] += self.table[:, y : y + 1] * binom.pmf(np.arange(y + 1), y, kept)
        return thinned

    def recruits(self, coupons: np.ndarray, wave: int, rng: np.random.Generator) -> np.ndarray:
        return drawn(self.planned_table(wave), coupons, rng)


class Circles(Truth):
    """50 circles of 12 people; nine in ten acquaintances are of the own circle, and nobody comes twice."""

    def begin(self, people: int, rng: np.random.Generator) -> None:
        self.waiting = rng.permutation(50)[:people]
        self.left = np.full(50, 12)
        self.left[self.waiting] -= 1

    def recruits(self, coupons: np.ndarray, wave: int, rng: np.random.Generator) -> np.ndarray:
        came, next_ones = np.zeros(len(coupons), np.int64), []
        for person, tries in enumerate(drawn(self.table, coupons, rng)):
            for _ in range(tries):
                circle = self.waiting[person] if rng.random() < 0.9 else rng.integers(50)
                if rng.random() < self.left[circle] / 12:
                    self.left[circle] -= 1
                    came[person] += 1
                    next_ones.append(circle)
        self.waiting = np.array(next_ones, dtype=np.int64)
        return came

    def planned_table(self, wave: int) -> None:
        return None


class Favour(Truth):
    """Half the people are keen. Of people with the same planned number below the most, staff give the keen ones one
    coupon more and the others one less; nobody writes that down as a plan.
    """

    def __init__(self, table: np.ndarray) -> None:
        super().__init__(table)
        self.keen_tables = np.array(beta_binomial(0.22, 2.0)), np.array(beta_binomial(0.58, 2.0))

    def given(self, plan: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        self.keen = rng.random(len(plan)) < 0.5
        coupons = plan.copy()
        for number in range(1, MOST):
            keen, others = (np.flatnonzero((plan == number) & (self.keen == side)) for side in (True, False))
            pairs = min(len(keen), len(others))
            coupons[keen[:pairs]] += 1
            coupons[others[:pairs]] -= 1
        return coupons

    def recruits(self, coupons: np.ndarray, wave: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(self.keen, *(drawn(self.keen_tables[side], coupons, rng) for side in (1, 0)))

    def planned_table(self, wave: int) -> np.ndarray:
        slow, keen = self.keen_tables
        rows = [(keen[min(k + (0 < k < MOST), MOST)] + slow[k - (0 < k < MOST)]) / 2 for k in range(MOST + 1)]
        return np.array(rows)


@njit(cache=True)
def _sum_of(a, b):
    size = len(a)
    total = np.zeros(size)
    for i in range(size):
        if a[i] > 0.0:
            for j in range(size - i):
                total[i + j] += a[i] * b[j]
    total[size - 1] += max(1.0 - total.sum(), 0.0)
    return total


@njit(cache=True)
def knowing(tables, budget, rounds, most_people):
    """The best that can be expected if the truth is known, [rounds + 1, budget + 1, people + 1]: exact programming.

    `tables` are of waves, the first wave first, [waves, coupons, recruits]; the last counts for all later ones. Of the
    people some get one number of coupons and the others another number or none.
    """
    size = most_people + 1
    value = np.zeros((rounds + 1, budget + 1, size))
    powers = np.zeros((MOST + 1, size, size))
    means = np.zeros(MOST + 1)
    for t in range(1, rounds + 1):
        table = tables[min(rounds - t, len(tables) - 1)]
        if t == 1 or rounds - t < len(tables) - 1:
            powers[:], means[:] = 0.0, 0.0
            for a in range(MOST + 1):
                powers[a, 0, 0] = 1.0
                one = np.zeros(size)
                for y in range(min(MOST + 1, size)):
                    one[y] = table[a, y]
                    means[a] += y * table[a, y]
                for n in range(1, size):
                    powers[a, n] = _sum_of(powers[a, n - 1], one)
        for a in range(1, MOST + 1):
            for b in range(a):
                for x in range(1, size):
                    for z in range(size - x):
                        if (b == 0) != (z == 0) or a * x + b * z > budget:
                            continue
                        spend, now = a * x + b * z, means[a] * x + means[b] * z
                        came = _sum_of(powers[a, x], powers[b, z]) if z else powers[a, x]
                        for r in range(spend, budget + 1):
                            expected = now
                            if t > 1:
                                for k in range(size):
                                    expected += came[k] * value[t - 1, r - spend, k]
                            if expected > value[t, r, x + z]:
                                value[t, r, x + z] = expected
        for r in range(budget + 1):
            for n in range(1, size):
                value[t, r, n] = max(value[t, r, n], value[t, r, n - 1])
    return value


# Studies --------------------------------------------------------------------------------------------------------------


class Anybody:
    """Recruits and first people who all look alike."""

    def sample(self, *arguments):
        return np.zeros((len(arguments[-1]), 1), dtype=np.int16)


def counts_of(
    coupons: list[np.ndarray], recruits: list[np.ndarray], waves: list[np.ndarray], planned: list[np.ndarray]
) -> Counts:
    k, y, wave, plan = (np.concatenate(part) for part in (coupons, recruits, waves, planned))
    return Counts(SCHEMA, np.zeros((len(k), 1), np.int16), k, y, wave=wave, planned=plan)


def world_of(belief: Belief) -> BeliefWorld:
    return BeliefWorld(BranchingWorld("study", SCHEMA, value_response(belief), Anybody(), Anybody()), belief)


@one_thread(training=True)
def learned_value(belief: Belief, rules: Rules, seed: int):
    settings = PolicyIterationSettings(
        rounds=2, episodes=100, states=400, returns=3, steps=400, judged_episodes=100,
        surrogate=SurrogateSettings(deadline=True), seed=seed,
    )  # fmt: skip
    planner = learn_by_policy_iteration(
        world_of(belief), rules, 1.0, simple_rules(value_response(belief), rules), settings
    ).planner
    return learned_networks(planner.story)


def planned(belief: Belief, networks, state: State, rules: Rules, seed: int, find_out: bool) -> np.ndarray:
    planner = Planner(planned_stories(belief, *networks), 1.0)
    plan = planner.plan(state, every_spend=False).allocation
    if not find_out or state.rounds_left < 2 or len(planner.stories) < 2:
        return plan.coupons
    tried = designs(len(state.frontier), plan.spend, state.spendable, MOST, 1)
    luck = named_luck(("finding out", seed), 100)
    names = [story.name for story in planner.stories]
    truth = np.array([names.index(part) for part in belief.part_of[draw_of_episode(np.arange(100), len(belief))]])
    order = np.argsort(-plan.coupons, kind="stable")
    left = replace(rules, budget=state.remaining_budget, people=len(state.frontier), rounds=state.rounds_left)
    worths = worth_of_designs(world_of(belief), planner, left, [None, *tried], order, truth, luck)
    best = max(worths[1:], key=lambda each: each.gain - each.gain_error, default=None)
    if best is None or best.design is None or best.gain <= best.gain_error:
        return plan.coupons
    return best.design.drawn(order, named_luck(("lot", seed), 1))[0].coupons


def play(truth: Truth, rules: Rules, history, networks, seed: int, *, lots: bool = True) -> tuple[int, float, float]:
    """One study by the plan: recruits in all, and the 80% band that was promised at its start."""
    rng = np.random.default_rng(seed)
    truth.begin(rules.people, rng)
    coupons, recruits, waves = ([part.copy() for part in parts] for parts in history)
    plans = [part.copy() for part in coupons]
    left, people, total, band, counted = rules.budget, rules.people, 0, (np.nan, np.nan), 0
    for number in range(rules.rounds):
        if left == 0 or people == 0:
            break
        wave = int(waves[-1].max()) + 1 if waves else 0
        seen = np.concatenate(coupons) if coupons else np.zeros(0, int)
        if len(seen) < 10:
            plan = np.full(people, MOST)
            plan[np.cumsum(plan) > left] = 0
        else:
            belief = learned_belief(counts_of(coupons, recruits, waves, plans), draws=200, seed=number)
            if networks is None or len(seen) >= 2 * counted:
                networks, counted = learned_value(belief, replace(rules, people=max(people, 10)), seed), len(seen)
            same = (seen != np.bincount(seen).argmax()).sum() < 10
            state = State(left, Frontier(np.arange(people), np.zeros((people, 1), np.int16)), number, rules)
            if np.isnan(band[0]):
                left_rules = replace(rules, budget=left, people=people, rounds=rules.rounds - number)
                planner = Planner(planned_stories(belief, *networks), 1.0)
                totals = rollout(world_of(belief), planner, left_rules, named_luck(("band", seed), 200)).total_recruits
                band = tuple(total + np.quantile(totals, [0.1, 0.9]))
            plan = planned(belief, networks, state, rules, 100 * seed + number, lots and same)
        given = truth.given(plan, rng)
        came = truth.recruits(given, wave, rng)
        has = given > 0
        coupons, recruits, plans = [*coupons, given[has]], [*recruits, came[has]], [*plans, plan[has]]
        waves = [*waves, np.full(int(has.sum()), wave)]
        left, people, total = left - int(given.sum()), int(came.sum()), total + int(came.sum())
    return total, float(band[0]), float(band[1])


def simple(
    truth: Truth, rules: Rules, each: int, seed: int, first_wave: int, most_people: int = 10**6, stop: float = 1.0
) -> int:
    """One study with the same number for everybody while coupons last.

    With `most_people` for at most so many a round; from the round on at which this share of the budget is spent one
    coupon each.
    """
    rng = np.random.default_rng(seed)
    truth.begin(rules.people, rng)
    left, people, total = rules.budget, rules.people, 0
    for number in range(rules.rounds):
        own = each if rules.budget - left < stop * rules.budget else 1
        plan = np.where(np.arange(people) < most_people, own, 0)
        before = np.concatenate([[0], np.cumsum(plan)[:-1]]) if people else np.zeros(0, np.int64)
        plan = np.minimum(plan, np.maximum(left - before, 0))
        if not plan.any():
            break
        given = truth.given(plan, rng)
        came = truth.recruits(given, first_wave + number, rng)
        left, people, total = left - int(given.sum()), int(came.sum()), total + int(came.sum())
    return total


RULES = {
    **{f"{each} each": {"each": each} for each in (3, 2, 1)},
    **{
        f"{each} each, to {people} a round": {"each": each, "most_people": people}
        for each in (3, 2)
        for people in (10, 20)
    },
    **{f"{each} each, then 1": {"each": each, "stop": stop} for each in (3, 2) for stop in (0.3, 0.6)},
}
"""Simple rules; the best of them by the truth itself is the tuned one."""


def endgames(studies: int, histories: int) -> None:
    rules = Rules(60, 20, 5, MOST)
    for mean in (0.403, 0.21):
        tables = truths(mean)
        results = {(name, how): [] for name, how in product(tables, ("plan", "without lots", 3, 2, 1, "held"))}
        for number in range(histories):
            rng = np.random.default_rng(1000 + number)
            k = np.full(300, MOST)
            history = [[k], [drawn(tables["per coupon"], k, rng)], [np.arange(300) // 60]]
            belief = learned_belief(counts_of(*history, [k]), draws=200)
            networks = learned_value(belief, rules, number)
            for name, table in tables.items():
                for study in range(studies):
                    seed, truth = 10_000 * number + study, Truth(table)
                    total, low, high = play(truth, rules, history, networks, seed)
                    results[name, "plan"].append(total)
                    results[name, "held"].append(low <= total <= high)
                    results[name, "without lots"].append(play(truth, rules, history, networks, seed, lots=False)[0])
                    for each in (3, 2, 1):
                        results[name, each].append(simple(truth, rules, each, seed, 5))
        for name, table in tables.items():
            best = knowing(table[None], rules.budget, rules.rounds, 60)[rules.rounds, rules.budget, rules.people]
            shares = {how: np.mean(results[name, how]) / best for how in ("plan", "without lots", 3, 2, 1)}
            error = np.std(results[name, "plan"]) / np.sqrt(len(results[name, "plan"])) / best
            rest = ", ".join(f"{how}: {share:.0%}" for how, share in shares.items())
            held = np.mean(results[name, "held"])
            print(
                f"{mean:.3f} {name}: knowing {best:.1f}; of it {rest}; ± {2 * error:.0%}; band held {held:.0%}",
                flush=True,
            )


def whole_worlds() -> dict[str, Truth]:
    """Six kinds of truth: three that agree with three coupons, drift, closed circles, and staff who favour the keen."""
    tables = truths(0.403)
    plain = {name: Truth(table) for name, table in tables.items()}
    own = tables["per coupon"]
    return {**plain, "drift": Drift(own), "circles": Circles(truths(0.5)["per coupon"]), "favour": Favour(own)}


def one_study(name: str, study: int) -> tuple[int, float, float, dict[str, int]]:
    rules, truth = Rules(300, 10, 25, MOST), whole_worlds()[name]
    total, low, high = play(truth, rules, [[], [], []], None, study)
    return (
        total,
        low,
        high,
        {rule: simple(truth, rules, seed=study, first_wave=0, **how) for rule, how in RULES.items()},
    )


def studies(number: int, workers: int, names: list[str]) -> None:
    rules = Rules(300, 10, 25, MOST)
    for name in names or list(whole_worlds()):
        truth = whole_worlds()[name]
        with ProcessPoolExecutor(workers) as pool:
            results = list(pool.map(one_study, [name] * number, range(number)))
        plan = np.array([each[0] for each in results])
        held = np.mean([low <= total <= high for total, low, high, _ in results])
        means = {
            rule: np.mean([simple(truth, rules, seed=10**6 + s, first_wave=0, **how) for s in range(200)])
            for rule, how in RULES.items()
        }
        tuned = max(means, key=means.__getitem__)
        best = ""
        if truth.planned_table(0) is not None:
            tables = np.array([truth.planned_table(wave) for wave in range(rules.rounds)])
            tables = tables[:1] if (tables == tables[0]).all() else tables
            value = knowing(tables, rules.budget, rules.rounds, 110)[rules.rounds, rules.budget, rules.people]
            best = f"knowing {value:.0f} (plan {plan.mean() / value:.0%}); "
        leads = []
        for rule in dict.fromkeys(["3 each", "2 each", "1 each", tuned]):
            own = np.array([each[3][rule] for each in results])
            lead = plan - own
            error = 2 * lead.std(ddof=1) / np.sqrt(len(lead))
            shown = f"{rule} (tuned)" if rule == tuned else rule
            leads.append(f"{shown} {own.mean():.0f} ({lead.mean() / own.mean():+.0%} ± {error / own.mean():.0%})")
        print(f"{name}: plan {plan.mean():.0f}; {best}{'; '.join(leads)}; 80% band held {held:.0%}", flush=True)


def coverage(repeats: int) -> None:
    """Share of 95% intervals that hold the truth, for histories with one number and with several."""
    kinds = {
        **{f"{name}, {mean}": table for mean in (0.21, 0.403) for name, table in truths(mean).items()},
        "limited, Poisson 1.4": _limited(lambda rng, n: rng.poisson(1.4, n)),
        "limited, geometric 1.2": _limited(lambda rng, n: rng.geometric(1 / 2.2, n) - 1),
        "per coupon, .6 for all": np.array(beta_binomial(0.6, 1e6)),
    }
    for several in (False, True):
        held, count = np.zeros(MOST), 0
        for kind, table in enumerate(kinds.values()):
            truth = table[1:] @ np.arange(MOST + 1)
            for repeat in range(repeats):
                rng = np.random.default_rng([kind, repeat])
                k = rng.choice([1, 2, 3], 300, p=[0.25, 0.25, 0.5]) if several else np.full(300, MOST)
                counts = counts_of([k], [drawn(table, k, rng)], [np.zeros(300, int)], [k])
                belief = learned_belief(counts, seed=repeat)
                expected = belief.response.by_draw(np.zeros((1, 1), np.int16), MOST)[:, 0]
                low, high = np.quantile(expected, [0.025, 0.975], axis=0)
                held += (low - 1e-3 <= truth) & (truth <= high + 1e-3)
                count += 1
        shares = ", ".join(f"{share:.0%}" for share in held / count)
        print(f"{'several numbers' if several else 'three each'}: 1, 2, 3 coupons {shares} of {count}", flush=True)


PUBLIC = {
    "nyjazz": ("raw/nyjazz.rdsat", {"still_open": "none"}),
    "rdstools_toy": ("raw/rdstools_toy.csv", {"still_open": "none"}),
    "fauxmadrona": ("participants.csv", {"still_open": "last-wave", "coupons_each": 2}),
    "fauxtime": ("participants.csv", {"still_open": "none", "coupons_each": 3}),
}
"""Public studies: the file, and how it is read. fauxmadrona ended in the middle of its last wave, which is left out."""


def tables(path: Path) -> None:
    """Recruits by number of coupons in two public studies; and whether the others, as a prior, predict each of them."""
    everybody = {}
    for name, (file, how) in PUBLIC.items():
        study = read_study(path / name / file, ReadSettings(**how))
        rows = np.flatnonzero(study.informative & (study.issued > 0))
        rows = rows[np.argsort(study.trees.wave[rows], kind="stable")]
        k, recruits, wave = study.issued[rows], study.recruits[rows], study.trees.wave[rows]
        everybody[name] = Counts(SCHEMA, np.zeros((len(k), 1), np.int16), k, np.minimum(recruits, k), wave=wave)
    beliefs = {name: learned_belief(counts, draws=8000) for name, counts in everybody.items()}
    for name in ("nyjazz", "rdstools_toy"):
        counts, response = everybody[name], beliefs[name].response
        recruits = response.by_draw(np.zeros((1, 1), np.int16), max(int(counts.coupons.max()), MOST))[:, 0]
        low, high = np.quantile(recruits, [0.025, 0.975], axis=0)
        for n, (mean, *ends) in enumerate(zip(recruits.mean(axis=0), low, high, strict=True), 1):
            own = counts.recruits[counts.coupons == n]
            seen = f"{own.mean():.2f} ({len(own)} people)" if len(own) else "nobody"
            print(f"{name}, {n} coupons: seen {seen}; believed {mean:.2f} ({ends[0]:.2f} to {ends[1]:.2f})", flush=True)
    for name, counts in everybody.items():
        helped = Prior().given([belief for other, belief in beliefs.items() if other != name], counts.most)
        for first in (20, len(counts) // 2):
            known, later = (_people(counts, rows) for rows in (slice(first), slice(len(counts) // 2, None)))
            without, given = (
                _log_scores(learned_belief(known, prior, draws=8000), later) for prior in (Prior(), helped)
            )
            lead, error = (given - without).mean(), (given - without).std(ddof=1) / np.sqrt(len(later))
            print(
                f"{name}, first {first} of {len(counts)}: {without.mean():.3f}, with the others {given.mean():.3f}, "
                f"{lead:+.3f} ± {2 * error:.3f}",
                flush=True,
            )


def _people(counts: Counts, which: slice) -> Counts:
    names = ("covariates", "coupons", "recruits", "wave")
    return replace(counts, **{name: getattr(counts, name)[which] for name in names})


def _log_scores(belief: Belief, later: Counts) -> np.ndarray:
    """Log chance of what each person brought, [people]."""
    chances = {k: belief.response.counts(np.zeros((1, 1), np.int16), k)[0] for k in np.unique(later.coupons).tolist()}
    return np.log([chances[k][y] for k, y in zip(later.coupons.tolist(), later.recruits.tolist(), strict=True)])


def _limited(capacities: Callable) -> np.ndarray:
    drawn_ones = capacities(np.random.default_rng(0), 1_000_000)
    return np.array([np.bincount(np.minimum(drawn_ones, k), minlength=4)[:4] / 1e6 for k in range(4)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["endgames", "studies", "coverage", "tables"])
    parser.add_argument("path", type=Path, nargs="?", help="where the public studies of tables are")
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--histories", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worlds", nargs="*", default=[], choices=list(whole_worlds()))
    asked = parser.parse_args()
    if asked.what == "endgames":
        endgames(asked.studies, asked.histories)
    elif asked.what == "tables":
        tables(asked.path)
    elif asked.what == "studies":
        studies(asked.studies, asked.workers, asked.worlds)
    else:
        coverage(asked.studies)
