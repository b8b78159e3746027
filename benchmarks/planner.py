"""How fast Algorithm 1 is: plain NumPy, lazy, lazy and pruned; d = 32, one core, one run.

python benchmarks/planner.py

The tables of what each coupon covers are made anew in every run, as a planner does for a new frontier.
A variant that would take more than a minute is left out. Memory is the peak of the process so far (MiB), so it belongs
to the largest problem up to that line.
"""

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.counts import poisson_survival
from peerfront.gfp import greedy_kernels as kernels
from peerfront.gfp.greedy import RUNS_BEFORE_TANGENT
from peerfront.gfp.paper import algorithm_1, newly_covered, uncovered_shares
from peerfront.problem.coverage import coverage_gains

LATENT, LEVELS, DISCOUNT = 32, 64, 0.95
SIZES = ((10, 100), (100, 100), (100, 1000), (1000, 1000), (1000, 10_000), (10_000, 10_000))
SLOWEST = 60.0
Problem = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def problem(people: int, budget: int) -> Problem:
    """People as in the paper's world: rates of mean 2.5, widely spread; a value that saturates with the frontier."""
    rng = np.random.default_rng(people * 7 + budget)
    survival = poisson_survival(rng.gamma(0.7, 2.5 / 0.7, people), min(LEVELS, budget))
    uncovered = rng.beta(4.0, 1.0, (people, LATENT)) ** (10.0 / np.sqrt(people * LATENT))
    shares = rng.dirichlet(np.ones(LATENT))
    left = np.arange(budget + 1)
    return survival, uncovered, left[:, None] * (1.0 - 0.1 * left[:, None] / budget) * shares


def seconds(work: Callable[[], object]) -> float:
    best, spent, times = np.inf, 0.0, 0
    while times < 3 and spent < 5.0:
        begun = time.perf_counter()
        work()
        took = time.perf_counter() - begun
        best, spent, times = min(best, took), spent + took, times + 1
    return best


def kernel(tables: Problem, budget: int, every_spend: bool) -> Callable[[], Any]:
    """Nobody has a twin here."""
    survival, uncovered, weights = tables
    nobody = np.full(len(survival), -1)
    return lambda: kernels.plan_frontier(
        survival,
        coverage_gains(survival, uncovered),
        weights,
        np.zeros(len(weights)),
        DISCOUNT,
        budget,
        budget,
        0,
        every_spend,
        RUNS_BEFORE_TANGENT,
        nobody,
        nobody,
    )


def main() -> None:
    small = problem(4, 8)
    for every_spend in (True, False):
        kernel(small, 8, every_spend)()  # compile
    names = ("NumPy", "lazy", "lazy + pruned")
    print(f"{'people, budget':>15}" + "".join(f"{name:>15}" for name in names) + f"{'ratio':>9}{'spends':>8}{'MiB':>7}")
    guess = dict.fromkeys(names, 0.0)
    before = None
    for people, budget in SIZES:
        tables = problem(people, budget)
        works = {
            "NumPy": lambda t=tables, b=budget: algorithm_1(
                t[0], newly_covered(uncovered_shares(t[0], t[1])), t[2], DISCOUNT, spendable=b
            ),
            "lazy": kernel(tables, budget, True),
            "lazy + pruned": kernel(tables, budget, False),
        }
        # Work grows with budget^2 x people for the plain ones; what would take too long is not begun.
        scale = 1.0 if before is None else (budget / before[1]) ** 2 * (people / before[0])
        found = {}
        for name, work in works.items():
            guess[name] *= scale
            if name != "lazy + pruned" and guess[name] > SLOWEST:
                continue
            found[name] = guess[name] = seconds(work)
        evaluated = int(np.isfinite(works["lazy + pruned"]()[2]).sum())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cells = "".join(f"{found[name]:15.5f}" if name in found else f"{'-':>15}" for name in names)
        first = next(name for name in names if name in found)
        ratio = f"{found[first] / found['lazy + pruned']:9.0f}" if first != "lazy + pruned" else f"{'':>9}"
        print(f"{people:8},{budget:6}{cells}{ratio}{evaluated:8}{peak:7.0f}", flush=True)
        before = (people, budget)


if __name__ == "__main__":
    main()
