"""Propositions 1 and 2, and what the backup refuses."""

import numpy as np
import pytest
from hypothesis import given, settings

from allocation.instances import Instance, instances
from peerfront.allocation.backup import (
    check_tables,
    coverage_gains,
    expected_future_value,
    expected_recruits,
    tau_table,
)
from peerfront.foundation.errors import SettingError


def capacity_pmf(survival: np.ndarray) -> np.ndarray:
    """P(C = 0), ..., P(C = coupons) per person: what lies beyond the table counts as its last level."""
    edges = np.concatenate([np.ones((len(survival), 1)), survival, np.zeros((len(survival), 1))], axis=1)
    return edges[:, :-1] - edges[:, 1:]


@given(instances())
def test_tau_is_the_mean_of_a_power(problem: Instance) -> None:
    tau = tau_table(problem.survival, problem.uncovered)
    pmf = capacity_pmf(problem.survival)
    counts = np.arange(pmf.shape[1])
    for k in range(tau.shape[1]):
        powers = problem.uncovered[:, None, :] ** np.minimum(counts, k)[None, :, None]
        np.testing.assert_allclose(tau[:, k], (pmf[:, :, None] * powers).sum(axis=1), atol=1e-12)


@given(instances())
def test_gains_are_ratios_of_tau(problem: Instance) -> None:
    tau = tau_table(problem.survival, problem.uncovered)
    gains = coverage_gains(problem.survival, problem.uncovered)
    np.testing.assert_allclose(tau[:, :-1] * gains, tau[:, :-1] - tau[:, 1:], atol=1e-12)
    assert (gains >= 0).all()
    assert (gains <= 1).all()


def test_proposition_1_against_simulation() -> None:
    """E[V(next frontier)] of random models and allocations, within four standard errors."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        people, latent, kinds, draws = 4, 3, 5, 20_000
        rates = rng.gamma(1.0, 2.0, people)
        capacity = rng.poisson(rates, size=(draws, people))
        survival = np.stack([(capacity >= level).mean(axis=0) for level in range(1, 9)], axis=1)
        cover = rng.gamma(0.5, 1.0, (kinds, latent))  # h of each kind of recruit
        kinds_of = rng.dirichlet(np.ones(kinds), size=people)  # G(. | person)
        uncovered = kinds_of @ np.exp(-cover)
        weights = rng.uniform(0.0, 10.0, latent)
        coupons = rng.integers(0, 6, people)
        recruits = np.minimum(capacity, coupons)
        covered = np.zeros((draws, latent))
        for person in range(people):
            for ordinal in range(int(coupons[person])):
                kind = rng.choice(kinds, size=draws, p=kinds_of[person])
                covered += (recruits[:, person] > ordinal)[:, None] * cover[kind]
        simulated = (weights * (1.0 - np.exp(-covered))).sum(axis=1)
        closed_form = expected_future_value(survival, uncovered, weights, coupons)
        error = simulated.std() / np.sqrt(draws)
        assert abs(simulated.mean() - closed_form) < 4 * error + 1e-9
        assert expected_recruits(survival, coupons) == pytest.approx(recruits.sum(axis=1).mean())


@given(instances())
@settings(max_examples=200)
def test_proposition_2_monotone_with_diminishing_returns(problem: Instance) -> None:
    rng = np.random.default_rng(0)
    people, columns = problem.survival.shape
    weights = problem.discount * problem.weights[-1]

    def value(coupons: np.ndarray) -> float:
        return expected_recruits(problem.survival, coupons) + expected_future_value(
            problem.survival, problem.uncovered, weights, coupons
        )

    for _ in range(5):
        less = rng.integers(0, columns + 1, people)
        more = less + rng.integers(0, 3, people)
        one = np.eye(people, dtype=int)[rng.integers(people)]
        early, late = value(less + one) - value(less), value(more + one) - value(more)
        assert early >= -1e-9
        assert early >= late - 1e-9


GOOD = (np.array([[0.9, 0.5]]), np.array([[0.5]]), np.array([[0.0], [1.0]]))


@pytest.mark.parametrize(
    ("which", "table", "message"),
    [
        (0, np.array([[0.5, 0.9]]), "rises to 0.9.*never rise"),
        (0, np.array([[1.5, 0.9]]), "of 1.5.*0 to 1"),
        (0, np.array([[np.nan, 0.9]]), "nan at .0, 0..*finite"),
        (1, np.array([[0.0]]), "embedding of 0.0.*above 0"),
        (1, np.array([[1.1]]), "embedding of 1.1"),
        (1, np.array([[np.inf]]), "inf at"),
        (2, np.array([[0.0], [-1.0]]), "weight of -1.0"),
        (2, np.array([[0.0, 1.0]]), "do not fit together"),
        (1, np.array([0.5]), "2 dimensions; found 1"),
    ],
)
def test_bad_tables_are_refused(which: int, table: np.ndarray, message: str) -> None:
    tables = list(GOOD)
    check_tables(*tables)
    tables[which] = table
    with pytest.raises(SettingError, match=message):
        check_tables(*tables)
