"""Compiled loops of `strata_plan`: lotteries within a stratum, every plan of a few strata, and greedy over many.

Stratum s stands in rows first[s] .. first[s + 1] - 1 of `gains` and `uncovered`: row first[s] + t is what its people
bring, and leave uncovered, with t coupons among them, as evenly as possible and by lot where that does not divide.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


@njit(cache=True, nogil=True)
def subset_means(ratios: Array) -> Array:
    """The mean of prod r_i over all m of n people, for m = 0 .. n, [n + 1, latent]; `ratios` is [n, latent].

    With one person more, a subset of m holds that person with chance m / i: E(i, m) = m/i r_i E(i-1, m-1) + (1 - m/i)
    E(i-1, m).
    """
    people, latent = ratios.shape
    means = np.zeros((people + 1, latent))
    means[0] = 1.0
    for i in range(1, people + 1):
        for m in range(i, 0, -1):
            share = m / i
            for j in range(latent):
                without = means[m, j] if m < i else 0.0
                means[m, j] = share * ratios[i - 1, j] * means[m - 1, j] + (1.0 - share) * without
    return means


@njit(cache=True, nogil=True)
def fits(
    numbers: Numbers,
    lot: int,
    winners: int,
    spend: int,
    available: int,
    size: Numbers,
    members: Numbers,
    needed: Numbers,
    at_random: Numbers,
    not_random: Numbers,
) -> bool:
    """Whether floors hold whoever wins the lot, and coupons suffice whoever gets a random number.

    `numbers` [strata]; `winners` people of stratum `lot` get one more. `members` [floors, strata] are people of each
    floor's group, `needed` [floors, spends] the coupons that they need. In the worst of some cases `at_random` coupons
    go out at random and the `not_random` people with the highest numbers get theirs.
    """
    for floor in range(len(members)):
        given = 0
        for s in range(len(size)):
            given += members[floor, s] * numbers[s]
        if winners > 0:
            given += max(0, winners - (size[lot] - members[floor, lot]))
        if given < needed[floor, spend]:
            return False
    for case in range(len(at_random)):
        people, coupons, number = not_random[case], at_random[case], 0
        for s in range(len(size)):
            number = max(number, numbers[s] + 1)
        while number > 0 and people > 0:
            there = 0
            for s in range(len(size)):
                if numbers[s] == number:
                    there += size[s] - (winners if s == lot else 0)
                if s == lot and numbers[s] + 1 == number:
                    there += winners
            there = min(there, people)
            coupons += there * number
            people -= there
            number -= 1
        if coupons > available:
            return False
    return True


@njit(cache=True, nogil=True)
def try_every_plan(
    first: Numbers,
    size: Numbers,
    gains: Array,
    uncovered: Array,
    worth: Array,
    least: int,
    most: int,
    spendable: int,
    available: int,
    members: Numbers,
    needed: Numbers,
    at_random: Numbers,
    not_random: Numbers,
) -> tuple[Array, Numbers]:
    """Values of the best plan of every spend, [spendable + 1], NaN for none, and its coupons by stratum.

    Plans are all whole numbers for the strata, each with every lot in one of them. `worth` is [spendable + 1, latent].
    """
    strata, latent = len(size), uncovered.shape[1]
    values, totals = np.full(spendable + 1, np.nan), np.zeros((spendable + 1, strata), np.int64)
    numbers, others = np.full(strata, least), np.empty(latent)
    while True:
        start = 0
        for s in range(strata):
            start += size[s] * numbers[s]
        if start <= spendable:
            for lot in range(strata):
                reward = 0.0
                others[:] = 1.0
                for s in range(strata):
                    if s != lot:
                        row = first[s] + size[s] * numbers[s]
                        reward += gains[row]
                        for j in range(latent):
                            others[j] *= uncovered[row, j]
                beyond = size[lot] if numbers[lot] < most else 1
                for winners in range(0 if lot == 0 else 1, beyond):
                    spend = start + winners
                    if spend > spendable:
                        break
                    row = first[lot] + size[lot] * numbers[lot] + winners
                    value = reward + gains[row]
                    for j in range(latent):
                        value += worth[spend, j] * (1.0 - others[j] * uncovered[row, j])
                    if not (value <= values[spend]) and fits(
                        numbers, lot, winners, spend, available, size, members, needed, at_random, not_random
                    ):
                        values[spend] = value
                        for s in range(strata):
                            totals[spend, s] = size[s] * numbers[s]
                        totals[spend, lot] += winners
        place = 0
        while place < strata and numbers[place] == most:
            numbers[place] = least
            place += 1
        if place == strata:
            return values, totals
        numbers[place] += 1


@njit(cache=True, nogil=True)
def raise_the_best(
    first: Numbers,
    size: Numbers,
    gains: Array,
    uncovered: Array,
    worth: Array,
    least: int,
    most: int,
    spends: Numbers,
    spendable: int,
    available: int,
    members: Numbers,
    needed: Numbers,
    at_random: Numbers,
    not_random: Numbers,
) -> tuple[Array, Numbers]:
    """The same for some spends by greedy: one more for everybody in the stratum that gains most for each coupon.

    Where a spend does not reach for everybody in it, the rest is drawn by lot there.
    """
    strata, latent = len(size), uncovered.shape[1]
    values, totals = np.full(spendable + 1, np.nan), np.zeros((spendable + 1, strata), np.int64)
    numbers, left = np.empty(strata, np.int64), np.empty(latent)
    for spend in spends:
        numbers[:] = least
        rest, reward = spend, 0.0
        left[:] = 1.0
        for s in range(strata):
            row = first[s] + size[s] * least
            rest -= size[s] * least
            reward += gains[row]
            for j in range(latent):
                left[j] *= uncovered[row, j]
        lot, winners = 0, 0
        while rest > 0:
            best, best_gain = -1, -1.0
            for s in range(strata):
                if numbers[s] == most:
                    continue
                row = first[s] + size[s] * numbers[s]
                gain = gains[row + size[s]] - gains[row]
                for j in range(latent):
                    if uncovered[row, j] > 0.0:
                        gain += worth[spend, j] * left[j] * (1.0 - uncovered[row + size[s], j] / uncovered[row, j])
                if gain / size[s] > best_gain:
                    best, best_gain = s, gain / size[s]
            number = min(rest, size[best])
            row = first[best] + size[best] * numbers[best]
            reward += gains[row + number] - gains[row]
            for j in range(latent):
                if uncovered[row, j] > 0.0:
                    left[j] *= uncovered[row + number, j] / uncovered[row, j]
            rest -= number
            if number == size[best]:
                numbers[best] += 1
            else:
                lot, winners = best, number
        if not fits(numbers, lot, winners, spend, available, size, members, needed, at_random, not_random):
            continue
        value = reward
        for j in range(latent):
            value += worth[spend, j] * (1.0 - left[j])
        values[spend] = value
        for s in range(strata):
            totals[spend, s] = size[s] * numbers[s]
        totals[spend, lot] += winners
    return values, totals
