"""How far the bounds lie above the optimum where it is known, and whether any lies below it.

OMP_NUM_THREADS=1 python benchmarks/slack.py --worlds 160 --bridge 20
OMP_NUM_THREADS=1 python benchmarks/slack.py --worlds 160 --bridge 10 --sheet

tiny: random worlds of two types, 3 people, up to 8 coupons, 2 to 50 rounds (`tests/simulation/exact.py`); price tables.
bridge: five rounds, 60 coupons, 10 people; the optimum of each first frontier by backward induction over (coupons,
hubs), as in `bridge_optimum.py`, which leaves out what the dead bring (.02 each), so the true optimum is a little
higher. --sheet: the certificate of a coupon sheet in place of the lookahead.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.stats import binom

from bridge_optimum import Array, capped, expected, recruits
from peerfront.bounds.certificate import certify
from peerfront.bounds.dual import smallest_duals
from peerfront.bounds.lookahead import lookahead_bound
from peerfront.bounds.price_index import BoundSettings, PriceIndex, exact_price_index
from peerfront.foundation.randomness import Luck, named_generator, named_luck
from peerfront.gfp.states import StateBatch
from peerfront.problem import Frontier, Rules, State
from peerfront.simulation.typed import TypedWorld, bridge, typed_world

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from simulation.exact import solve

BUDGET, ROUNDS, MOST_HUBS, MOST_EACH = 60, 5, 60, 14


def index_of(world: TypedWorld, discount: float, rounds: int, settings: BoundSettings) -> PriceIndex:
    index = exact_price_index(world.response, world.offspring, world.schema, discount, rounds, settings)
    assert index is not None, "worlds of a few types have a table"
    return index


def random_world(rng: np.random.Generator) -> TypedWorld:
    rates, shares = rng.uniform(0.1, 4.0, 2), rng.random(2)
    rows = {name: {"a": share, "b": 1.0 - share} for name, share in zip("ab", shares, strict=True)}
    return typed_world("random", {"a": rates[0], "b": rates[1]}, rows, {"a": 1.0})


def tiny(number: int, outcomes: int, sheet: bool) -> list[float]:
    """Discount, optimum, price bound, lookahead bound (or the sheet's) and its standard error of a random state."""
    rng = named_generator("slack", number)
    world, discount = random_world(rng), float(rng.choice([0.9, 1.0]))
    budget, rounds = int(rng.integers(3, 9)), int(rng.choice([2, 3, 5, 50]))
    cap = int(rng.choice([0, 2, 3])) or None
    rules = Rules(budget=budget, people=3, rounds=rounds, max_per_person=cap)
    codes = rng.integers(0, 2, (3, 1)).astype(np.int16)
    index = index_of(world, discount, rounds, BoundSettings(largest_budget=budget, max_per_person=cap))
    if sheet:
        bound, error = _certified(world, State(budget, Frontier.of(codes), 0, rules), discount)
    else:
        bound, error = _ahead(index, world, codes, rules, named_luck(("slack", number), 1), outcomes)
    best = solve(world, rules, discount).value(codes)
    return [discount, best, priced(index, codes, budget, rounds, cap), bound, error]


def priced(index: PriceIndex, codes: np.ndarray, budget: int, rounds: int, cap: int | None = None) -> float:
    state = StateBatch(np.array([budget]), np.array([0, len(codes)]), codes)
    return float(smallest_duals(index, state, rounds, cap).bounds[0])


def hub_values(rate: float, stays: float, discount: float) -> Array:
    """What n hubs with r coupons earn in ROUNDS - 1 rounds, [BUDGET + 1, MOST_HUBS + 1]."""
    levels = np.arange(MOST_EACH + 1)
    one = [sum(recruits(rate, k)[c] * binom.pmf(levels, c, stays) for c in levels) for k in levels]
    powers = [[capped(np.ones(1))] for _ in one]
    for k, pmf in enumerate(one):
        for _ in range(MOST_HUBS):
            powers[k].append(capped(np.convolve(powers[k][-1], pmf)))
    now, after = {}, {}
    for hubs in range(1, MOST_HUBS + 1):
        shares = [divmod(spend, hubs) for spend in range(1, min(BUDGET, hubs * (MOST_EACH - 1)) + 1)]
        now[hubs] = np.array([expected(rate, each * hubs + more, hubs) for each, more in shares])
        after[hubs] = np.array([capped(np.convolve(powers[a][hubs - c], powers[a + 1][c])) for a, c in shares])
    values = np.zeros((BUDGET + 1, MOST_HUBS + 1))
    for _ in range(ROUNDS - 1):
        earlier = np.zeros_like(values)
        for hubs, reward in now.items():
            later = after[hubs] @ values.T  # [spends, coupons left]
            for left in range(1, BUDGET + 1):
                spends = np.arange(min(left, len(reward)))
                earlier[left, hubs] = (reward[spends] + discount * later[spends, left - 1 - spends]).max()
        values = earlier
    return values


def first_round(locals_: int, bridges: int, values: Array, discount: float) -> float:
    best = 0.0
    for on_bridges in range(6 * bridges + 1):
        pmf, (each, more) = np.ones(1), divmod(on_bridges, max(bridges, 1))
        for person in range(bridges):
            pmf = np.convolve(pmf, recruits(0.8, each + (person < more)))
        hubs = capped(pmf)
        for on_locals in range(min(12 * locals_, BUDGET - on_bridges) + 1):
            reward = expected(4.0, on_locals, locals_) + expected(0.8, on_bridges, bridges)
            best = max(best, reward + discount * float(hubs @ values[BUDGET - on_bridges - on_locals]))
    return best


def five_rounds(discount: float, frontiers: int, outcomes: int, sheet: bool) -> Array:
    """As `tiny`, for first frontiers of bridge; the lookahead's place is taken by the sheet's certificate if asked."""
    world = bridge()
    values = hub_values(3.0, 0.6, discount)
    index = index_of(world, discount, ROUNDS, BoundSettings(largest_budget=BUDGET))
    rows = []
    for number in range(frontiers):
        codes = world.seeds(named_luck(("slack", number), 1), 10).covariates
        rules = Rules(BUDGET, len(codes), ROUNDS)
        if sheet:
            bound, error = _certified(world, State(BUDGET, Frontier.of(codes), 0, rules), discount)
        else:
            bound, error = _ahead(index, world, codes, rules, named_luck(("slack", "bridge", number), 1), outcomes)
        best = first_round(int((codes == 0).sum()), int((codes == 1).sum()), values, discount)
        rows.append([discount, best, priced(index, codes, BUDGET, ROUNDS), bound, error])
    return np.array(rows)


def _ahead(
    index: PriceIndex, world: TypedWorld, codes: np.ndarray, rules: Rules, luck: Luck, outcomes: int
) -> tuple[float, float]:
    state = State(rules.budget, Frontier.of(codes), 0, rules)
    _, found = lookahead_bound(index, world.offspring, state, luck, outcomes=outcomes)
    return found.bound.mean, found.bound.standard_error


def _certified(world: TypedWorld, state: State, discount: float) -> tuple[float, float]:
    found = certify(state, world.response, world.offspring, world.schema, discount)
    return found.bound, found.standard_error


def report(name: str, rows: Array, judged: str) -> None:
    best, price, ahead, error = rows[:, 1:].T
    z = (ahead - best) / np.maximum(error, 1e-9)
    lost = 1.0 - (ahead.sum() - best.sum()) / (price.sum() - best.sum())
    print(
        f"{name} (n = {len(rows)}): optimum {best.mean():.3f}, price bound {price.mean():.3f} (slack "
        f"{price.sum() / best.sum() - 1:.2%}), {judged} {ahead.mean():.3f} (standard error "
        f"{np.sqrt(np.square(error).sum()) / len(rows):.3f}, slack {ahead.sum() / best.sum() - 1:.2%}); "
        f"{lost:.0%} of the slack removed; below the optimum: {(ahead < best - 1e-9).sum()}, by more than 3 standard "
        f"errors: {((z < -3) & (ahead < best - 1e-6)).sum()}; price bound below: {(price < best - 1e-9).sum()}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=160, help="random tiny worlds")
    parser.add_argument("--bridge", type=int, default=20, help="first frontiers of bridge")
    parser.add_argument("--outcomes", type=int, default=600, help="sampled rounds of an evaluation")
    parser.add_argument("--sheet", action="store_true", help="judge the certificate of a coupon sheet")
    chosen = parser.parse_args()
    judged = "sheet" if chosen.sheet else "lookahead"
    if chosen.worlds:
        rows = np.array([tiny(number, chosen.outcomes, chosen.sheet) for number in range(chosen.worlds)])
        for discount in (0.9, 1.0):
            report(f"tiny worlds, discount {discount}", rows[rows[:, 0] == discount], judged)
    for discount in (0.9, 1.0):
        if chosen.bridge:
            found = five_rounds(discount, chosen.bridge, chosen.outcomes, chosen.sheet)
            report(f"bridge in five rounds, discount {discount}", found, judged)


if __name__ == "__main__":
    main()
