"""Propositions 1 and 2, and what the backup refuses."""

import numpy as np
import pytest
from hypothesis import given, settings

from gfp.instances import Instance, instances
from peerfront.foundation.errors import SettingError
from peerfront.gfp.backup import Tables
from peerfront.gfp.greedy import greedy
from peerfront.gfp.paper import expected_future_value, expected_recruits, surrogate_q
from peerfront.gfp.price_plan import plan_by_price


def test_proposition_1_against_simulation() -> None:
    """E[V(next frontier)] of random models and allocations, within four standard errors."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        people, latent, kinds, draws = 4, 3, 5, 20_000
        rates = rng.gamma(1.0, 2.0, people)
        response = rng.poisson(rates, size=(draws, people))
        survival = np.stack([(response >= level).mean(axis=0) for level in range(1, 9)], axis=1)
        cover = rng.gamma(0.5, 1.0, (kinds, latent))  # h of each kind of recruit
        kinds_of = rng.dirichlet(np.ones(kinds), size=people)  # G(. | person)
        uncovered = kinds_of @ np.exp(-cover)
        weights = rng.uniform(0.0, 10.0, latent)
        coupons = rng.integers(0, 6, people)
        recruits = np.minimum(response, coupons)
        covered = np.zeros((draws, latent))
        for person in range(people):
            for ordinal in range(int(coupons[person])):
                kind = rng.choice(kinds, size=draws, p=kinds_of[person])
                covered += (recruits[:, person] > ordinal)[:, None] * cover[kind]
        simulated = (weights * (1.0 - np.exp(-covered))).sum(axis=1)
        tables = Tables.of_capacity(survival, uncovered)
        closed_form = expected_future_value(tables.transform(), weights, coupons)
        error = simulated.std() / np.sqrt(draws)
        assert abs(simulated.mean() - closed_form) < 4 * error + 1e-9
        assert expected_recruits(tables.gains, coupons) == pytest.approx(recruits.sum(axis=1).mean())


@given(instances())
@settings(max_examples=200)
def test_proposition_2_monotone_with_diminishing_returns(problem: Instance) -> None:
    rng = np.random.default_rng(0)
    people, columns = problem.tables.gains.shape
    weights = problem.discount * problem.weights[-1]

    def value(coupons: np.ndarray) -> float:
        return surrogate_q(problem.tables.gains, problem.tables.transform(), weights, 1.0, coupons)

    for _ in range(5):
        less = rng.integers(0, columns + 1, people)
        more = less + rng.integers(0, 3, people)
        one = np.eye(people, dtype=int)[rng.integers(people)]
        early, late = value(less + one) - value(less), value(more + one) - value(more)
        assert early >= -1e-9
        assert early >= late - 1e-9


GOOD = (np.array([[0.9, 0.5]]), np.array([[[0.5], [0.4]]]), np.array([[0.0], [1.0]]))


@pytest.mark.parametrize(
    ("which", "table", "message"),
    [
        (0, np.array([[0.5, 0.9]]), "gain that rises to 0.9.*never rise"),
        (0, np.array([[1.5, 0.9]]), "of 1.5.*0 to 1"),
        (0, np.array([[0.5, -0.1]]), "of -0.1.*0 to 1"),
        (0, np.array([[np.nan, 0.9]]), "gains has nan at .0, 0..*finite"),
        (0, np.array([0.9, 0.5]), "gains must have 2 dimensions; found 1"),
        (1, np.array([[[0.5], [0.6]]]), "Row 0, column 1, 0.*share that rises to 0.6.*log-convex"),
        (1, np.array([[[1.5], [0.4]]]), "covered share of 1.5.*0 to 1"),
        (1, np.array([[[0.5], [-0.4]]]), "covered share of -0.4"),
        (1, np.array([[[0.5], [np.inf]]]), "covers has inf at .0, 1, 0."),
        (1, np.array([[0.5, 0.4]]), "covers must have 3 dimensions; found 2"),
        (1, np.array([[[0.5]]]), "do not fit together"),
        (2, np.array([[0.0], [-1.0]]), "weight of -1.0"),
        (2, np.array([[0.0, 1.0]]), "do not fit together"),
    ],
)
def test_bad_tables_are_refused(which: int, table: np.ndarray, message: str) -> None:
    parts = list(GOOD)
    Tables(*parts[:2]).check(parts[2])
    parts[which] = table
    with pytest.raises(SettingError, match=message):
        Tables(*parts[:2]).check(parts[2])
    if which < 2:  # nothing is planned with them
        with pytest.raises(SettingError, match=message):
            greedy(Tables(*parts[:2]), parts[2], 0.9)
        with pytest.raises(SettingError, match=message):
            plan_by_price(Tables(*parts[:2]), np.ones(1, dtype=np.int64), parts[2], 0.9)


@pytest.mark.parametrize(
    ("survival", "uncovered", "message"),
    [
        (np.array([[0.5]]), np.array([[0.0]]), "embedding of 0.0.*above 0"),
        (np.array([[0.5]]), np.array([[1.1]]), "embedding of 1.1"),
        (np.array([[0.5]]), np.array([[np.inf]]), "embedding of inf"),
        (np.array([[0.5]]), np.array([[np.nan]]), "embedding of nan"),
        (np.array([[0.5]]), np.array([0.5]), "do not fit together"),
        (np.array([0.5]), np.array([[0.5]]), "do not fit together"),
        (np.array([[0.5], [0.5]]), np.array([[0.5]]), "do not fit together"),
    ],
)
def test_bad_capacities_are_refused(survival: np.ndarray, uncovered: np.ndarray, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Tables.of_capacity(survival, uncovered)
