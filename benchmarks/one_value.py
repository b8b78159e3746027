"""What does one value for the whole belief cost, against a value for each of its stories? Exactly, for people alike.

`python benchmarks/one_value.py`: three truths that agree with three coupons (`belief.truths`), a third each; 60
coupons, 5 rounds, 20 people waiting. Plans average over the stories and update their weights by Bayes after each
round. Three
values stand for later rounds: of each story, as if it will be known next round; one value, of the plan itself in the
world that draws its story anew in every study; and no updates at all. A state is the coupons left, the people waiting
and the rounds left; every way to give some people one number and others another is tried.
"""

import argparse

import numpy as np
from numba import njit

from belief import MOST, _sum_of, knowing, truths

BUDGET, PEOPLE, ROUNDS, LARGEST = 60, 20, 5, 60


@njit(cache=True)
def powers_of(table, size):
    """Chances of the recruits of n people with a coupons each, [coupons, people, recruits]."""
    powers = np.zeros((MOST + 1, size, size))
    for a in range(MOST + 1):
        powers[a, 0, 0] = 1.0
        one = np.zeros(size)
        one[: MOST + 1] = table[a]
        for n in range(1, size):
            powers[a, n] = _sum_of(powers[a, n - 1], one)
    return powers


@njit(cache=True)
def best_action(weights, powers, means, later, budget, people):
    """The numbers (a, people with a, b, people with b) with the largest average value; `later` is [stories, coupons,
    people]."""
    best, action = -1.0, (0, 0, 0, 0)
    for a in range(1, MOST + 1):
        for b in range(a):
            for x in range(1, people + 1):
                if a * x > budget:
                    break
                for z in range(1 if b else 0, people - x + 1 if b else 1):
                    spend = a * x + b * z
                    if spend > budget:
                        break
                    total = 0.0
                    for m in range(len(weights)):
                        if weights[m] < 1e-4:
                            continue
                        value = means[m, a] * x + means[m, b] * z
                        ahead = later[m, budget - spend]
                        for i in range(MOST * x + 1):
                            if i >= len(ahead):
                                break
                            chance = powers[m, a, x, i]
                            if chance < 1e-9:
                                continue
                            if z == 0:
                                value += chance * ahead[i]
                            else:
                                for j in range(min(MOST * z + 1, len(ahead) - i)):
                                    value += chance * powers[m, b, z, j] * ahead[i + j]
                        total += weights[m] * value
                    if total > best:
                        best, action = total, (a, x, b, z)
    return action


@njit(cache=True)
def one_value(weights, powers, means, budget, rounds):
    """The value of the averaging plan, averaged over the stories, [rounds + 1, coupons, people]."""
    stories, size = len(weights), powers.shape[2]
    own = np.zeros((rounds + 1, stories, budget + 1, size))
    shared = np.zeros((rounds + 1, budget + 1, size))
    for t in range(1, rounds + 1):
        later = np.zeros((stories, budget + 1, size))
        for m in range(stories):
            later[m] = shared[t - 1]
        for r in range(1, budget + 1):
            for n in range(1, size):
                a, x, b, z = best_action(weights, powers, means, later, r, min(n, r))
                spend = a * x + b * z
                for m in range(stories):
                    value = means[m, a] * x + means[m, b] * z
                    came = _sum_of(powers[m, a, x], powers[m, b, z]) if z else powers[m, a, x]
                    for k in range(size):
                        value += came[k] * own[t - 1, m, r - spend, k]
                    own[t, m, r, n] = value
                    shared[t, r, n] += weights[m] * value
    return shared


@njit(cache=True)
def play(truth, prior, tables, powers, means, values, studies, rng, mixed, updates):
    """Recruits of simulated studies, [studies]; values are [rounds + 1, stories, coupons, people]."""
    totals = np.zeros(studies)
    size = powers.shape[2]
    for study in range(studies):
        budget, people, logs = BUDGET, PEOPLE, np.log(prior)
        for t in range(ROUNDS, 0, -1):
            if budget == 0 or people == 0:
                break
            weights = np.exp(logs - logs.max())
            weights /= weights.sum()
            if t == ROUNDS and mixed:
                action = (3, 10, 1, 10)
            else:
                action = best_action(weights, powers, means, values[t - 1], budget, min(people, budget, size - 1))
            a, x, b, z = action
            came = 0
            for person in range(x + z):
                coupons = a if person < x else b
                y, below, luck = 0, truth[coupons, 0], rng.random()
                while luck > below and y < MOST:
                    y += 1
                    below += truth[coupons, y]
                came += y
                if updates:
                    for m in range(len(prior)):
                        logs[m] += np.log(max(tables[m, coupons, y], 1e-12))
            budget -= a * x + b * z
            people = min(came, size - 1)
            totals[study] += came
    return totals


def main(studies: int) -> None:
    size = LARGEST + 1
    for mean in (0.403, 0.21):
        tables = truths(mean)
        several = np.array(list(tables.values()))
        powers = np.array([powers_of(table, size) for table in several])
        means = several @ np.arange(MOST + 1)
        prior = np.full(len(several), 1 / len(several))
        known = np.stack([knowing(table[None], BUDGET, ROUNDS, LARGEST) for table in several], axis=1)
        shared = np.repeat(one_value(prior, powers, means, BUDGET, ROUNDS)[:, None], len(several), axis=1)
        for values, name in ((known, "a value for each story"), (shared, "one value")):
            for mixed, updates in ((False, False), (False, True), (True, True)):
                shares = []
                for number, truth in enumerate(several):
                    rng = np.random.default_rng(number)
                    best = known[ROUNDS, number, BUDGET, PEOPLE]
                    came = play(truth, prior, several, powers, means, values, studies, rng, mixed, updates)
                    shares.append(f"{came.mean() / best:.1%} ± {2 * came.std() / studies**0.5 / best:.1%}")
                how = "half get 3, half 1 first; updated" if mixed else "updated" if updates else "not updated"
                print(f"{mean:.3f} {name}, {how}: {', '.join(shares)} ({', '.join(tables)})", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    main(parser.parse_args().studies)
