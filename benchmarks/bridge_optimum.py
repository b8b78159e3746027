"""What the best policy earns in bridge, 100 coupons and 10 people: backward induction over (budget, hubs).

python benchmarks/bridge_optimum.py

After the first round only hubs matter: locals' recruits are dead, bridges' recruits are hubs, and the dead bring next
to nobody (rate .02, taken as nobody here). So the state is (coupons left, hubs), people of one type share coupons as
evenly as possible, and the first round tries every pair of spends on locals and on bridges. Both simplifications can
only lower the result: a real policy could also let the dead have coupons that nobody else wants, at .02 recruits each.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, multinomial, poisson

from peerfront.simulation.typed import bridge

Array = NDArray[np.float64]
BUDGET, PEOPLE = 100, 10
MOST_HUBS, MOST_EACH = 60, 14  # more hubs, or more coupons for one of them, are never wanted


def recruits(rate: float, coupons: int) -> Array:
    """Distribution of min(coupons, C), [MOST_EACH + 1]."""
    pmf = np.zeros(MOST_EACH + 1)
    pmf[:coupons] = poisson.pmf(np.arange(coupons), rate)
    pmf[coupons] = poisson.sf(coupons - 1, rate) if coupons else 1.0
    return pmf


def expected(rate: float, coupons: int, people: int) -> float:
    """Expected recruits of people who share coupons evenly."""
    if not people:
        return 0.0
    each, more = divmod(coupons, people)
    sums = np.concatenate([[0.0], np.cumsum(poisson.sf(np.arange(BUDGET + 1), rate))])
    return float((people - more) * sums[each] + more * sums[each + 1])


def capped(pmf: Array) -> Array:
    """At most MOST_HUBS hubs."""
    kept = pmf[: MOST_HUBS + 1].copy()
    kept = np.pad(kept, (0, MOST_HUBS + 1 - len(kept)))
    kept[MOST_HUBS] += pmf[MOST_HUBS + 1 :].sum()
    return kept


def hub_values(rate: float, stays: float, discount: float) -> Array:
    """U(r, n) of n hubs with r coupons, [BUDGET + 1, MOST_HUBS + 1]."""
    one = []  # hubs among the recruits of one hub with k coupons
    for coupons in range(MOST_EACH + 1):
        came = recruits(rate, coupons)
        one.append(sum(came[c] * binom.pmf(np.arange(MOST_EACH + 1), c, stays) for c in range(MOST_EACH + 1)))
    powers = [[capped(np.ones(1))] for _ in one]  # n hubs with k coupons each
    for k, pmf in enumerate(one):
        for _ in range(MOST_HUBS):
            powers[k].append(capped(np.convolve(powers[k][-1], pmf)))
    values = np.zeros((BUDGET + 1, MOST_HUBS + 1))
    after: dict[int, Array] = {}
    now: dict[int, Array] = {}
    for hubs in range(1, MOST_HUBS + 1):
        spends = range(1, min(BUDGET, hubs * (MOST_EACH - 1)) + 1)
        shares = [divmod(spend, hubs) for spend in spends]
        after[hubs] = np.array([capped(np.convolve(powers[a][hubs - c], powers[a + 1][c])) for a, c in shares])
        now[hubs] = np.array([expected(rate, spend, hubs) for spend in spends])
    for left in range(1, BUDGET + 1):
        for hubs in range(1, MOST_HUBS + 1):
            most = min(left, len(now[hubs]))
            later = values[left - 1 - np.arange(most)]  # U after spending 1 .. most
            values[left, hubs] = (now[hubs][:most] + discount * (after[hubs][:most] * later).sum(axis=1)).max()
    return values


def optimum(discount: float) -> float:
    """Expected discounted recruits of the best policy, over random first frontiers."""
    world = bridge()
    kinds = world.schema.fields[0].code_of
    rates = {name: float(world.rates[code]) for name, code in kinds.items()}
    values = hub_values(rates["Hub"], float(world.transition[kinds["Hub"], kinds["Hub"]]), discount)
    total = 0.0
    for locals_ in range(PEOPLE + 1):
        for bridges in range(PEOPLE + 1 - locals_):
            counts = [locals_, bridges, PEOPLE - locals_ - bridges]
            chance = multinomial.pmf(counts, PEOPLE, world.start[[kinds["Local"], kinds["Bridge"], kinds["Dead"]]])
            total += chance * first_round(locals_, bridges, rates, values, discount)
    return float(total)


def first_round(locals_: int, bridges: int, rates: dict[str, float], values: Array, discount: float) -> float:
    best = 0.0
    for on_bridges in range(6 * bridges + 1):
        pmf, (each, more) = np.ones(1), divmod(on_bridges, max(bridges, 1))
        for person in range(bridges):
            pmf = np.convolve(pmf, recruits(rates["Bridge"], each + (person < more)))
        hubs = capped(pmf)
        for on_locals in range(min(12 * locals_, BUDGET - on_bridges) + 1):
            reward = expected(rates["Local"], on_locals, locals_) + expected(rates["Bridge"], on_bridges, bridges)
            best = max(best, reward + discount * float(hubs @ values[BUDGET - on_bridges - on_locals]))
    return best


if __name__ == "__main__":
    for discount in (0.9, 0.95, 0.99, 1.0):
        print(f"discount {discount}: {optimum(discount):.2f}", flush=True)
