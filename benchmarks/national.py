"""Plans of national size by a common price, and how much of exact greedy's value they keep; one core, one run.

OMP_NUM_THREADS=1 python benchmarks/national.py [--quick]

Two kinds of problems. *Even*: this round and the later ones compete, the best spend lies inside and the value around it
is flat, which is hard for exact greedy. *Now*: it is best to give out everything, which is easy. Exact greedy runs over
all spends where it takes seconds, and for the plan's own spend alone where that does. Seconds are those of the
processor, memory is the peak of the process so far (MiB).
"""

import argparse
import resource
import time

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.counts import poisson_survival
from peerfront.gfp.backup import Tables
from peerfront.gfp.greedy import greedy, greedy_at
from peerfront.gfp.price_plan import plan_by_price

LATENT, LEVELS, MOST, DISCOUNT = 8, 16, 3, 0.95
ALL, ONE, NONE = "all spends", "its spend", ""
# People and coupons, kinds, problem, what exact greedy runs
CASES = (
    (10_000, 300, "even", ALL),
    (10_000, 5_000, "even", ONE),
    (10_000, 5_000, "now", ALL),
    (100_000, 1_000, "even", ONE),
    (100_000, 1_000, "now", ALL),
    (1_000_000, 50_000, "even", NONE),
    (1_000_000, 50_000, "now", NONE),
    (1_000_000, 1_000, "even", ONE),
    (1_000_000, 1_000, "now", ONE),
)
Problem = tuple[Tables, NDArray[np.float64], NDArray[np.int64]]


def problem(people: int, kinds: int, which: str) -> Problem:
    """Tables by kind, weights for as many coupons as people, and everybody's kind.

    Kinds differ in size, rates are widely spread, and recruits cover a future that saturates within the budget.
    """
    rng = np.random.default_rng(people + kinds)
    survival = poisson_survival(rng.gamma(0.7, 0.8 / 0.7, kinds), LEVELS)
    uncovered = np.exp(-rng.gamma(0.5, 2.0, (kinds, LATENT)) * 8.0 / people)
    left = np.linspace(0.0, 1.0, people + 1)[:, None]
    shares = rng.dirichlet(np.ones(LATENT)) * np.maximum(1.0 + left * rng.normal(0.0, 0.2, LATENT), 0.1)
    scale = {"even": 0.95, "now": 0.2}[which] * people
    weights = scale * left * (1.0 - 0.3 * left) * shares / shares.sum(axis=1, keepdims=True)
    kind = rng.choice(kinds, people, p=rng.dirichlet(np.ones(kinds)))
    return Tables.of_capacity(survival, uncovered), weights, kind


def row(people: int, kinds: int, which: str, compared: str) -> str:
    tables, weights, kind = problem(people, kinds, which)
    number = np.bincount(kind, minlength=kinds)
    some = np.flatnonzero(number)
    begun = time.process_time()
    plan = plan_by_price(tables.take(some), number[some], weights, DISCOUNT, most_per_person=MOST)
    took = time.process_time() - begun
    cells = f"{people:>10,}{len(some):>8,} {which:<5}{took:8.2f}{plan.spend:>10,}{100 * plan.gap:9.4f}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    begun, exact = time.process_time(), np.nan
    if compared == ALL:
        exact = greedy(tables.take(kind), weights, DISCOUNT, most_per_person=MOST).value
    elif compared == ONE:
        _, values = greedy_at(tables.take(kind), weights, DISCOUNT, [plan.spend], MOST)
        exact = float(values[0])
    if compared == NONE:
        return f"{cells}{peak:8.0f}"
    return f"{cells}{peak:8.0f}  {compared:<11}{time.process_time() - begun:8.2f}{100 * plan.value / exact:10.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the cases of 10,000 people")
    quick = parser.parse_args().quick
    tables, weights, _ = problem(20, 3, "even")
    plan_by_price(tables, np.array([5, 5, 10]), weights, DISCOUNT)  # compile
    greedy(tables, weights, DISCOUNT)
    greedy_at(tables, weights, DISCOUNT, [4], MOST)
    print(f"{'people':>10}{'kinds':>8} {'':<5}{'s':>8}{'spend':>10}{'gap, %':>9}{'MiB':>8}", end="")
    print(f"  {'exact for':<11}{'s':>8}{'share, %':>10}")
    for people, kinds, which, compared in CASES:
        if not quick or people <= 10_000:
            print(row(people, kinds, which, compared), flush=True)


if __name__ == "__main__":
    main()
