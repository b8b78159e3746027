"""The likelihood of what a cut study shows, as plain text: `return_likelihood` is held equal to it by the tests.

A holder of k coupons, all of the same age a, has used y of them, on days t_1 .. t_y. If n will be used in the end,
each at an independent time, the chance of exactly this, whichever coupons they were, is

    n! / (n - y)! * f(t_1) .. f(t_y) * (1 - F(a))^(n - y),       n >= y,

and the likelihood is the mean over n. F and f are truncated at expiry; once it is reached F(a) = 1, and n = y. (The
same as choose(n, y) F(a)^y (1 - F(a))^(n - y), the count thinned by the exposure F(a), times the truncated densities
f(t_j) / F(a), times y! orders.)
"""

import math
from collections.abc import Callable, Sequence


def holder_likelihood(
    chances: Sequence[float],
    return_ages: Sequence[float | None],
    age: float,
    valid_days: float,
    time_cdf: Callable[[float], float],
) -> float:
    """The likelihood of one holder, over the orders of returns that look the same.

    `chances` are P(N = n) for n = 0 .. k, `return_ages` the ages of the coupons used so far (None: not known), and
    `time_cdf` the distribution of times without expiry. A day reaches from half a day before to half a day after.
    """
    used = len(return_ages)
    all_in_time = time_cdf(valid_days + 0.5) if math.isfinite(valid_days) else 1.0
    last_day = min(age, valid_days)
    seen = time_cdf(last_day + 0.5) / all_in_time if age < valid_days else 1.0
    total = 0.0
    for n in range(used, len(chances)):
        likelihood = chances[n] * math.comb(n, used) * (1.0 - seen) ** (n - used)
        for day in return_ages:
            if day is None:
                likelihood *= seen
            else:
                before = time_cdf(day - 0.5) if day > 0.5 else 0.0
                likelihood *= (time_cdf(day + 0.5) - before) / all_in_time
        total += likelihood
    return total
