"""How fast plans are made from tables of what coupons do, by each story of a coupon, and against older code.

OMP_NUM_THREADS=1 python benchmarks/response_kernel.py [--older PATH_TO_SRC_OF_AN_OLDER_CHECKOUT] [--quick]

A frontier is planned from its models' numbers (survival, chances, embeddings): making the tables counts. Columns:
*capacity* P = 1, the paper; *per coupon* C unlimited and one P; *beta* C unlimited and a beta-distributed P, whose
nodes are exact for so many coupons; *two stories* capacity and beta averaged, twice the coordinates. Milliseconds, the
best of several runs that take turns. With --older the capacity column is also measured with the code of that checkout,
in a process of its own that takes turns with this one; its plans must be the same to the last bit.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.counts import poisson_survival
from peerfront.gfp import greedy as planning

LATENT, DISCOUNT = 8, 0.95
CASES = ((10, 60, 3), (30, 60, 60), (100, 300, 3), (1000, 1000, 3), (1000, 3000, 10))  # people, coupons, most each
BULK = (400, 12, 60, 10)  # frontiers planned in one call, people of each, coupons, most each: as rollouts do
SECONDS = 1.0  # spent on each number, about, in each turn
TURNS = 3
Array = NDArray[np.float64]


def numbers(people: int, budget: int, most: int) -> tuple[Array, Array, Array]:
    """Survival, embeddings and weights: rates of mean 2.5, widely spread; a value that saturates with the frontier."""
    rng = np.random.default_rng(people * 7 + budget + most)
    survival = poisson_survival(rng.gamma(0.7, 2.5 / 0.7, people), most)
    uncovered = rng.beta(4.0, 1.0, (people, LATENT)) ** (10.0 / np.sqrt(people * LATENT))
    left = np.arange(budget + 1)[:, None]
    return survival, uncovered, left * (1.0 - 0.1 * left / budget) * rng.dirichlet(np.ones(LATENT))


def milliseconds(work: Callable[[], Any]) -> float:
    """The best of runs that together take about `SECONDS`."""
    best, spent, runs = np.inf, 0.0, 0
    while spent < SECONDS or runs < 3:
        begun = time.perf_counter()
        work()
        took = time.perf_counter() - begun
        best, spent, runs = min(best, took), spent + took, runs + 1
    return 1000.0 * best


def of_capacity(survival: Array, uncovered: Array) -> tuple[Any, ...]:
    """What greedy takes before its weights: tables, or survival and embeddings in older code."""
    try:
        from peerfront.gfp.backup import Tables
    except ImportError:
        return survival, uncovered
    return (Tables.of_capacity(survival, uncovered),)


def bulk() -> tuple[tuple[Array, Array, Array], tuple[Any, ...]]:
    frontiers, people, budget, most = BULK
    survival, uncovered, weights = numbers(frontiers * people, budget, most)
    each = np.full(frontiers, budget)
    limits = planning.Limits(each, each, np.full(frontiers, most), np.zeros(frontiers, dtype=np.int64))
    rest = (weights[None], np.zeros(frontiers, np.int64), DISCOUNT, people * np.arange(frontiers + 1), limits)
    return (survival, uncovered, weights), rest


def capacity_works(cases: tuple[tuple[int, int, int], ...]) -> dict[str, Callable[[], Any]]:
    """Plans of the paper's capacity, which this and older code make."""
    works: dict[str, Callable[[], Any]] = {}
    for people, budget, most in cases:
        survival, uncovered, weights = numbers(people, budget, most)
        works[f"{people:,} people, {budget:,} coupons, {most} each"] = (
            lambda s=survival, u=uncovered, w=weights, m=most: (
                planning.greedy(*of_capacity(s, u), w, DISCOUNT, most_per_person=m).coupons
            )
        )
    (survival, uncovered, _), rest = bulk()
    name = f"{BULK[0]:,} frontiers of {BULK[1]} people"
    works[name] = lambda: planning.greedy_many(*of_capacity(survival, uncovered), *rest)[0]
    return works


def other_works(cases: tuple[tuple[int, int, int], ...]) -> dict[str, dict[str, Callable[[], Any]]]:
    """The same frontiers by other stories."""
    from peerfront.foundation.binomials import beta_nodes
    from peerfront.gfp.backup import Tables
    from peerfront.problem.coverage import coverage_gains, mixed_coverage_gains

    def chances(survival: Array, spread: bool) -> tuple[Array, Array]:
        means = survival.mean(axis=1)
        return beta_nodes(means, 2.0, survival.shape[1]) if spread else (means[:, None], np.ones((len(means), 1)))

    def per_coupon(survival: Array, uncovered: Array, spread: bool) -> Tables:
        values, shares = chances(survival, spread)
        everybody = np.ones_like(survival)
        gains = everybody * (values * shares).sum(axis=1)[:, None]
        return Tables(gains, mixed_coverage_gains(everybody, uncovered, values, shares))

    def averaged(survival: Array, uncovered: Array) -> Tables:
        rival = per_coupon(survival, uncovered, True)
        covers = np.concatenate([coverage_gains(survival, uncovered), rival.covers], axis=2)
        return Tables(0.5 * (survival + rival.gains), covers)

    works: dict[str, dict[str, Callable[[], Any]]] = {}

    def add(name: str, survival: Array, uncovered: Array, plan: Callable[[Any, bool], Any]) -> None:
        works[name] = {
            "per coupon": lambda: plan(per_coupon(survival, uncovered, False), False),
            "beta": lambda: plan(per_coupon(survival, uncovered, True), False),
            "two stories": lambda: plan(averaged(survival, uncovered), True),
        }

    for people, budget, most in cases:
        survival, uncovered, weights = numbers(people, budget, most)
        twice = np.concatenate([0.5 * weights] * 2, axis=1)
        add(
            f"{people:,} people, {budget:,} coupons, {most} each",
            survival,
            uncovered,
            lambda tables, two, w=weights, t=twice, m=most: planning.greedy(
                tables, t if two else w, DISCOUNT, most_per_person=m
            ),
        )
    (survival, uncovered, weights), rest = bulk()
    both = np.concatenate([0.5 * weights] * 2, axis=1)[None]
    add(
        f"{BULK[0]:,} frontiers of {BULK[1]} people",
        survival,
        uncovered,
        lambda tables, two: planning.greedy_many(tables, both if two else rest[0], *rest[1:]),
    )
    return works


def measured(works: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, str]]:
    """Milliseconds of each, and a fingerprint of its plan."""
    found = {}
    for name, work in works.items():
        plan = np.ascontiguousarray(work())  # compiled, or read from disk
        found[name] = milliseconds(work), hashlib.sha256(plan.astype(np.int64).tobytes()).hexdigest()
    return found


def older(path: str, quick: bool) -> dict[str, tuple[float, str]]:
    """The same measurement in a process that imports the code at `path`."""
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, __file__, "--only-capacity", *(["--quick"] if quick else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {name: (float(took), plan) for name, (took, plan) in json.loads(done.stdout).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--older", help="folder `src` of an older checkout")
    parser.add_argument("--quick", action="store_true", help="the small cases, one turn")
    parser.add_argument("--only-capacity", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    cases, turns = (CASES[:2], 1) if options.quick else (CASES, TURNS)
    if options.only_capacity:
        print(json.dumps(measured(capacity_works(cases))))
        return
    capacity, before = {}, {}
    for _ in range(turns):
        for name, (took, plan) in measured(capacity_works(cases)).items():
            capacity[name] = min(took, capacity.get(name, (np.inf, ""))[0]), plan
        for name, (took, plan) in (older(options.older, options.quick) if options.older else {}).items():
            before[name] = min(took, before.get(name, (np.inf, ""))[0]), plan
    columns = ("per coupon", "beta", "two stories")
    print(f"{'ms':<40}{'older':>10}{'capacity':>10}{'ratio':>8}" + "".join(f"{name:>13}" for name in columns))
    for name, others in other_works(cases).items():
        took, plan = capacity[name]
        cells = f"{'':>10}{took:10.3f}{'':>8}"
        if before:
            was, same = before[name]
            cells = f"{was:10.3f}{took:10.3f}{took / was:8.2f}"
            if plan != same:
                raise SystemExit(f"{name}: the older code makes another plan.")
        for column in columns:
            others[column]()
            cells += f"{milliseconds(others[column]):13.3f}"
        print(f"{name:<40}{cells}", flush=True)


if __name__ == "__main__":
    main()
