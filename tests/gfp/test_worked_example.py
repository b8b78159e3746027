"""The worked example of appendix A: each person is in one of d groups, and h(x) is the one-hot row of the group."""

from itertools import product

import numpy as np
import pytest

from peerfront.foundation.counts import poisson_survival
from peerfront.foundation.covariates import Schema
from peerfront.foundation.networks import FrozenNetwork
from peerfront.gfp.backup import Tables
from peerfront.gfp.paper import expected_future_value, uncovered_shares
from peerfront.gfp.surrogate import FrozenSurrogate, PersonInputs

GROUPS = 3
PEOPLE = np.array([0, 0, 1])  # the group of each person on the frontier
TRANSITION = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.0, 0.1, 0.9]])  # group of a recruit, by the recruiter's
WEIGHTS = np.array([4.0, 2.5, 1.5])  # w(r)
RATES = np.array([1.2, 2.0, 0.7])  # of each person


def value(groups: np.ndarray) -> float:
    """V of a frontier, written out: sum_j w_j (1 - exp(-z_j)), z_j the people in group j."""
    z = np.bincount(np.asarray(groups, dtype=np.int64), minlength=GROUPS)
    return float(WEIGHTS @ (1.0 - np.exp(-z)))


def enumerated(coupons: tuple[int, ...]) -> float:
    """E[V(next frontier)] over all capacities (cut at the coupons) and all groups of all recruits."""
    survival = np.concatenate([np.ones((3, 1)), poisson_survival(RATES, 4)], axis=1)
    total = 0.0
    for came in product(*(range(k + 1) for k in coupons)):
        chance = 1.0
        for person, (n, k) in enumerate(zip(came, coupons, strict=True)):
            chance *= survival[person, n] - (survival[person, n + 1] if n < k else 0.0)
        recruiters = np.repeat(PEOPLE, came)
        for groups in product(range(GROUPS), repeat=len(recruiters)):
            total += chance * float(np.prod(TRANSITION[recruiters, list(groups)])) * value(np.array(groups))
    return total


@pytest.mark.parametrize("coupons", [(0, 0, 0), (1, 0, 0), (2, 1, 0), (1, 1, 2), (3, 0, 2)])
def test_proposition_1_in_the_example_against_enumeration(coupons) -> None:
    # A recruit of group j leaves exp(-1) of coordinate j uncovered, and all of the others.
    uncovered = 1.0 - TRANSITION[PEOPLE] * (1.0 - np.exp(-1.0))
    tables = Tables.of_capacity(poisson_survival(RATES, 4), uncovered)
    for shares in (tables.transform(), uncovered_shares(poisson_survival(RATES, 4), uncovered)):
        closed = expected_future_value(shares, WEIGHTS, np.array(coupons))
        assert closed == pytest.approx(enumerated(coupons), abs=1e-12)


def test_one_more_person_of_a_group_is_worth_less_and_less() -> None:
    gains = np.diff([value(np.zeros(count, dtype=np.int64)) for count in range(8)])
    assert (gains > 0).all()
    np.testing.assert_allclose(gains[1:] / gains[:-1], np.exp(-1.0))
    assert value(np.zeros(50)) == pytest.approx(WEIGHTS[0])  # a saturated group
    assert value(np.array([0, 1, 2])) > value(np.array([0, 0, 0]))  # covering groups beats repeating the dearest one
    assert value(np.array([0, 1])) == pytest.approx(value(np.array([0])) + value(np.array([1])))  # groups add up


def test_the_surrogate_with_one_hot_coverage_counts_groups() -> None:
    """A linear h whose softplus is 1 in the person's group and 0 elsewhere: z_j is the number of people in group j."""
    one, zero = np.log(np.e - 1.0), -60.0  # softplus(one) = 1
    layer = np.where(np.eye(GROUPS) > 0, one, zero).astype(np.float32)
    inputs = PersonInputs(Schema.of_sizes({"group": GROUPS}))
    network = FrozenNetwork((layer,), (np.zeros(GROUPS, dtype=np.float32),))
    surrogate = FrozenSurrogate(inputs, network, np.stack([np.zeros(GROUPS), WEIGHTS]))
    frontiers = [PEOPLE, np.array([2]), np.array([0, 1, 2, 2, 2, 2])]
    everybody = np.concatenate(frontiers).astype(np.int16)[:, None]
    rows = inputs.rows(everybody)
    np.testing.assert_allclose(surrogate.coverage(rows), np.eye(GROUPS)[everybody[:, 0]], atol=1e-6)
    first = np.cumsum([0, *map(len, frontiers)])
    found = surrogate.values(np.ones(3, dtype=np.int64), rows, first)
    np.testing.assert_allclose(found, [value(frontier) for frontier in frontiers], rtol=1e-6)
    assert (surrogate.values(np.zeros(3, dtype=np.int64), rows, first) == 0.0).all()  # w(0) = 0
