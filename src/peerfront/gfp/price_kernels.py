"""The compiled loops of planning by a common price (`price_plan.py` says what they do and why).

What their arrays are; `coupons` are levels of a person's allotment, counted from the first:

- `chance` [kinds, coupons]: what each coupon of somebody of the kind adds to the expected recruits;
- `logs` [kinds, coupons, latent]: log(T(k) / T(k + 1)), what one more coupon covers;
- `number` [kinds]: people of each kind;
- `worth` [latent]: discount * w(r - s); `left` [latent]: u_j, the share of each coordinate that is uncovered;
- `levels` [kinds]: coupons for each person of a kind, on average; 2.25 gives 3 to a quarter of them and 2 to the rest.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerfront.gfp.backup import Array

_LARGEST_LOG = 50.0  # coverage beyond 1 - exp(-50) counts as complete: logarithms stay finite
_BINS, _NARROWINGS = 4096, 3  # the price is known to _BINS ** -_NARROWINGS of the largest gain
_HALVINGS = 40  # of an interval in which a step's length is sought


@njit(cache=True, nogil=True)
def coverage_logs(covers: Array) -> Array:
    """log(T(k) / T(k + 1)), [kinds, coupons, latent]; never rises with k."""
    logs = np.empty_like(covers)
    for i in range(logs.shape[0]):
        for k in range(logs.shape[1]):
            for j in range(logs.shape[2]):
                share = covers[i, k, j]
                logs[i, k, j] = min(-np.log1p(-share), _LARGEST_LOG) if share < 1.0 else _LARGEST_LOG
                if k > 0:
                    logs[i, k, j] = min(logs[i, k, j], logs[i, k - 1, j])
    return logs


@njit(cache=True, nogil=True)
def gains_at(chance: Array, logs: Array, worth: Array, left: Array, gains: Array) -> None:
    """Write what each coupon adds by the tangent at `left`: p(l) + sum_j W_j u_j log-ratio, [kinds, coupons]."""
    kinds, columns = gains.shape
    latent = len(worth)
    slope = worth * left
    for i in range(kinds):
        before = np.inf
        for k in range(columns):
            gain = chance[i, k]
            for j in range(latent):
                gain += slope[j] * logs[i, k, j]
            before = min(gain, before)
            gains[i, k] = before


@njit(cache=True, nogil=True)
def levels_at_price(gains: Array, number: NDArray[np.int64], least: int, count: int, levels: Array) -> float:
    """Give `count` coupons beyond everybody's least to the largest gains; write `levels`, return the price.

    Coupons worth more than the price are all given; of those at the price as many as are left, kind after kind.
    """
    kinds, columns = gains.shape
    low, high, above = 0.0, 0.0, 0  # coupons of at least `high` are `above` in number
    room = 0
    for i in range(kinds):
        levels[i] = least
        if least < columns:
            room += number[i] * (columns - least)
            high = max(high, gains[i, least])
    if room <= count:
        for i in range(kinds):
            levels[i] = max(columns, least)
        return 0.0
    high = np.nextafter(high, np.inf)
    counts = np.zeros(_BINS + 1, np.int64)
    for _ in range(_NARROWINGS):
        width = (high - low) / _BINS
        if not width > 0.0:
            break
        counts[:] = 0
        for i in range(kinds):
            for k in range(least, columns):
                if gains[i, k] < low:
                    break
                if gains[i, k] < high:
                    counts[min(int((gains[i, k] - low) / width), _BINS - 1)] += number[i]
        at = _BINS - 1
        while at > 0 and above + counts[at] <= count:
            above += counts[at]
            at -= 1
        # Whole bins are counted by the same rounding as their entries, so the edges are where the entries say.
        top, bottom = low, np.inf
        for i in range(kinds):
            for k in range(least, columns):
                if gains[i, k] < low:
                    break
                if gains[i, k] < high:
                    bin_of = min(int((gains[i, k] - low) / width), _BINS - 1)
                    if bin_of == at:
                        top, bottom = max(top, gains[i, k]), min(bottom, gains[i, k])
        low, high = min(bottom, top), np.nextafter(top, np.inf)
    remaining = count - above
    for i in range(kinds):
        for k in range(least, columns):
            if gains[i, k] >= high:
                levels[i] += 1.0
            elif gains[i, k] >= low and remaining > 0:
                given = min(remaining, number[i])
                remaining -= given
                levels[i] += given / number[i]
            else:
                break
    return low


@njit(cache=True, nogil=True)
def reward_and_coverage(chance: Array, logs: Array, number: NDArray[np.int64], levels: Array, covered: Array) -> float:
    """The expected recruits of `levels`; write the coverage x_j they add up to, [latent]."""
    reward = 0.0
    covered[:] = 0.0
    for i in range(len(levels)):
        for k in range(min(int(np.ceil(levels[i])), chance.shape[1])):
            people = number[i] * min(levels[i] - k, 1.0)
            reward += people * chance[i, k]
            for j in range(len(covered)):
                covered[j] += people * logs[i, k, j]
    return reward


@njit(cache=True, nogil=True)
def priced_bound(
    gains: Array, number: NDArray[np.int64], worth: Array, left: Array, price: float, spend: int, least: int
) -> float:
    """An upper bound on the value of every allocation of `spend`, whatever the price and the uncovered shares.

    `gains` are those of `gains_at` for the same `worth` and `left`.
    """
    kinds, columns = gains.shape
    people = 0
    bound = 0.0
    for i in range(kinds):
        people += number[i]
        surplus = 0.0
        for k in range(columns):
            if k < least:
                surplus += gains[i, k]
            elif gains[i, k] > price:
                surplus += gains[i, k] - price
            else:
                break
        bound += number[i] * surplus
    for j in range(len(worth)):
        bound += worth[j] * (1.0 - left[j] + (left[j] * np.log(left[j]) if left[j] > 0.0 else 0.0))
    return bound + price * (spend - least * people)


@njit(cache=True, nogil=True)
def mix(rewards: Array, covered: Array, worth: Array, shares: Array, steps: int) -> None:
    """Improve the `shares` in which allotments are mixed, by moving share from the worst to the best of them.

    Their rewards are [allotments], their coverages [allotments, latent]; the mixture's value
    A + sum_j W_j (1 - exp(-x_j)) is concave.
    """
    latent = covered.shape[1]
    mixed = np.zeros(latent)
    for m in range(len(shares)):
        for j in range(latent):
            mixed[j] += shares[m] * covered[m, j]
    for _ in range(steps):
        best, worst = -1, -1
        most, fewest = -np.inf, np.inf
        for m in range(len(shares)):
            slope = rewards[m]
            for j in range(latent):
                slope += worth[j] * np.exp(-mixed[j]) * covered[m, j]
            if slope > most:
                best, most = m, slope
            if shares[m] > 0.0 and slope < fewest:
                worst, fewest = m, slope
        if best == worst or most - fewest <= 1e-13 * abs(most):
            return
        low, high = 0.0, shares[worst]
        for halving in range(_HALVINGS):
            step = high if halving == 0 else 0.5 * (low + high)
            slope = rewards[best] - rewards[worst]
            for j in range(latent):
                change = covered[best, j] - covered[worst, j]
                slope += worth[j] * np.exp(-(mixed[j] + step * change)) * change
            if slope > 0.0:
                low = step
                if halving == 0:
                    break  # all of it
            else:
                high = step
        shares[best] += low
        shares[worst] = shares[worst] - low if low < shares[worst] else 0.0
        for j in range(latent):
            mixed[j] += low * (covered[best, j] - covered[worst, j])


@njit(cache=True, nogil=True)
def _gain(chance: Array, logs: Array, worth: Array, left: Array, kind: int, given: int) -> float:
    """The marginal gain of one more coupon for somebody of the kind who has `given` (Equation 10)."""
    if given >= chance.shape[1]:
        return 0.0
    gain = chance[kind, given]
    for j in range(len(left)):
        gain -= worth[j] * left[j] * np.expm1(-logs[kind, given, j])
    return gain


@njit(cache=True, nogil=True)
def _sink(gains: Array, kinds: NDArray[np.int64], size: int, at: int) -> None:
    gain, kind = gains[at], kinds[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and gains[child + 1] > gains[child]:
            child += 1
        if gains[child] <= gain:
            break
        gains[at], kinds[at] = gains[child], kinds[child]
        at = child
    gains[at], kinds[at] = gain, kind


@njit(cache=True, nogil=True)
def finish_greedily(
    chance: Array,
    logs: Array,
    number: NDArray[np.int64],
    worth: Array,
    covered: Array,
    totals: NDArray[np.int64],
    count: int,
    most: int,
) -> None:
    """Give out `count` more coupons, each to the largest marginal gain, as Algorithm 1 does.

    `totals` [kinds] are the coupons of each kind so far, spread evenly over its people, and `covered` what they cover;
    `totals` is written.
    """
    left = np.exp(-covered)
    size = 0
    heap_gains, heap_kinds = np.empty(len(number)), np.empty(len(number), np.int64)
    for i in range(len(number)):
        if number[i] > 0 and totals[i] < most * number[i]:
            heap_gains[size] = _gain(chance, logs, worth, left, i, totals[i] // number[i])
            heap_kinds[size] = i
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sink(heap_gains, heap_kinds, size, at)
    while count > 0 and size > 0 and heap_gains[0] > 0.0:
        while True:  # gains only fall, so a stale one is an upper bound
            kind = heap_kinds[0]
            level = totals[kind] // number[kind]
            gain = _gain(chance, logs, worth, left, kind, level)
            fresh = gain >= heap_gains[0]
            heap_gains[0] = gain
            if fresh:
                break
            _sink(heap_gains, heap_kinds, size, 0)
            if heap_kinds[0] == kind:
                break
        totals[kind] += 1
        count -= 1
        if level < chance.shape[1]:
            for j in range(len(left)):
                left[j] *= np.exp(-logs[kind, level, j])
        if totals[kind] == most * number[kind]:
            size -= 1
            heap_gains[0], heap_kinds[0] = heap_gains[size], heap_kinds[size]
        if size > 1:
            _sink(heap_gains, heap_kinds, size, 0)
    for i in range(len(number)):  # coupons that nobody can use
        given = min(count, most * number[i] - totals[i])
        totals[i] += given
        count -= given
