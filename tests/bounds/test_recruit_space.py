"""Exact price tables where fields are inherited one by one, against one matrix of all kinds and plain sums."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import poisson

from bounds.bound_cases import every_row
from peerfront.bounds.price_index import (
    BoundSettings,
    PriceIndex,
    RecruitSpace,
    chances_that_matter,
    exact_price_index,
    interpolated,
)
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.models.depletion import Depleted
from peerfront.models.finite_population import Population
from peerfront.models.offspring.inheritance_tables import InheritanceTable
from peerfront.problem import BinomialResponse
from peerfront.simulation.typed import bridge

Array = NDArray[np.float64]
ROUNDS, PRICES = 4, np.linspace(0.02, 0.98, 33)
CHOSEN = BoundSettings(largest_budget=12, max_per_person=4)


class Rated(BinomialResponse):
    """Poisson capacities whose rate depends on some columns of the codes, and says so if it is told to."""

    def __init__(self, rates: Array, columns: tuple[int, ...], says_so: bool = True) -> None:
        self.rates, self.columns = rates, columns
        self.columns_used = columns if says_so else None

    def survival(self, covariates: Codes, max_coupons: int) -> Array:
        means = self.rates[tuple(covariates[:, column] for column in self.columns)]  # [people], or one for all
        return poisson.sf(np.arange(max_coupons), np.broadcast_to(means, len(covariates))[:, None])

    def capacities(self, covariates: Codes, luck: Luck) -> NDArray[np.int64]:
        raise AssertionError("a table of prices draws nobody")


@st.composite
def studies(draw) -> tuple[Schema, InheritanceTable, np.random.Generator]:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    schema = Schema.of_sizes({f"field {number}": size for number, size in enumerate(sizes)})
    tables = tuple(rng.dirichlet(np.ones(size), size + 1) for size in sizes)
    return schema, InheritanceTable(schema, tables), rng


def matrix(offspring: InheritanceTable) -> Array:
    """The chances of every row given every row, by multiplying those of the fields."""
    rows = every_row(offspring.schema)
    chances = [table[rows[:, f]][:, rows[:, f]] for f, table in enumerate(offspring.tables)]
    return np.prod(chances, axis=0)


@given(studies(), st.sampled_from([0.9, 1.0]))
@settings(max_examples=25, deadline=None)
def test_tables_of_fields_give_what_one_matrix_of_all_kinds_gives(study, discount) -> None:
    schema, offspring, rng = study
    response = Rated(rng.uniform(0.1, 3.0, schema.sizes), tuple(range(len(schema.fields))))
    fast = exact_price_index(response, offspring, schema, discount, ROUNDS, CHOSEN)
    everyone = every_row(schema)
    child = np.zeros((len(everyone), len(fast.prices)))  # A_1
    for left in range(1, ROUNDS + 1):
        plain = plain_values(fast, everyone, child, fast.prices)
        assert fast.values(everyone, fast.prices, left) == pytest.approx(plain, abs=1e-10)
        child = matrix(offspring) @ interpolated(plain, fast.prices, fast.prices / discount)
        child[:, fast.prices >= discount] = 0.0


def plain_values(index: PriceIndex, everyone: Codes, child: Array, prices: Array) -> Array:
    """J from A, as `price_index` writes it."""
    gains = chances_that_matter(index.response, everyone, 4, 0.0, 13.0).gains[:, :, None]
    surplus = np.maximum(gains * (1.0 + index.discount * child)[:, None] - prices, 0.0).sum(axis=1)
    return np.minimum(surplus, np.maximum(1.0 - prices, 0.0) * index.settings.largest_budget)


@given(studies(), st.data())
@settings(max_examples=25, deadline=None)
def test_fields_that_nothing_depends_on_are_left_out_and_change_nothing(study, data) -> None:
    schema, offspring, rng = study
    fields = range(len(schema.fields))
    columns = tuple(f for f in fields if data.draw(st.booleans()))
    rates = np.asarray(rng.uniform(0.1, 3.0, schema.sizes[list(columns)]))
    some = exact_price_index(Rated(rates, columns), offspring, schema, 0.9, ROUNDS, CHOSEN)
    every = exact_price_index(Rated(rates, columns, says_so=False), offspring, schema, 0.9, ROUNDS, CHOSEN)
    assert some.table.shape[1] <= every.table.shape[1]
    people = np.array(list(product(*(range(-1, size) for size in schema.sizes))), dtype=np.int16)
    child, other = (index.child_values(people, PRICES, ROUNDS) for index in (some, every))
    assert child == pytest.approx(other, abs=1e-10)


def test_an_unknown_answer_of_a_recruiter_gives_the_mean_over_recruits_of_anybody() -> None:
    schema, rng = Schema.of_sizes({"a": 2, "b": 3}), np.random.default_rng(3)
    offspring = InheritanceTable(schema, tuple(rng.dirichlet(np.ones(n), n + 1) for n in (2, 3)))
    response = Rated(rng.uniform(0.1, 3.0, (2, 3)), (0, 1))
    index = exact_price_index(response, offspring, schema, 0.9, ROUNDS, CHOSEN)
    person = np.array([[1, -1]], dtype=np.int16)
    recruits, later = every_row(schema), np.minimum(PRICES / 0.9, 1.0)
    chances = offspring.tables[0][1][recruits[:, 0]] * offspring.tables[1][-1][recruits[:, 1]]
    plain = 0.9 * chances @ index.values(recruits, later, ROUNDS - 1)
    # Between the prices of its grid a table lies above, and by little.
    found = index.child_values(person, PRICES, ROUNDS)[0]
    assert (found >= plain - 1e-12).all()
    assert found == pytest.approx(plain, rel=1e-3, abs=1e-3)
    sampled = offspring.sample(np.repeat(person, 40_000, axis=0), named_luck(("space",), 40_000))
    values = 0.9 * index.values(sampled, later, ROUNDS - 1)
    error = values.std(axis=0) / np.sqrt(len(values))
    assert (np.abs(values.mean(axis=0) - plain) <= 5 * error + 1e-9).all()


def test_a_group_that_runs_out_is_a_field_that_matters() -> None:
    schema = Schema.of_sizes({"a": 2, "b": 3, "c": 2})
    offspring = InheritanceTable(schema, tuple(np.full((n + 1, n), 1 / n) for n in (2, 3, 2)))
    own, two = Rated(np.array([1.0, 2.0]), (0,)), np.array([50.0, 90.0])
    runs_out = Population(two, np.array([10.0, 80.0]), np.zeros(2), field=2)
    for response, columns in [
        (Depleted(own), (0,)),
        (Depleted(own, runs_out), (0, 2)),
        (Depleted(own, asked=True), (0, 1, 2)),  # what staff asked is no field that recruits inherit
        (Depleted(Rated(np.ones(2), (0,), says_so=False), runs_out), (0, 1, 2)),
    ]:
        assert RecruitSpace.of(response, offspring, schema).columns == columns


def test_no_table_where_recruits_do_not_inherit_field_by_field_or_kinds_are_too_many() -> None:
    class OfBoth:
        def sample(self, parents: Codes, luck: Luck) -> Codes:
            return parents

    world = bridge()
    assert exact_price_index(world.response, OfBoth(), world.schema, 0.9, 3, CHOSEN) is None
    assert exact_price_index(world.response, OfBoth(), world.schema, 0.9, 1, CHOSEN) is not None  # nobody comes later
    schema = Schema.of_sizes({f"field {n}": 9 for n in range(6)})
    tables = InheritanceTable(schema, tuple(np.full((10, 9), 1 / 9) for _ in range(6)))
    response = Rated(np.ones((9,) * 6), tuple(range(6)))
    assert exact_price_index(response, tables, schema, 0.9, 3, CHOSEN) is None
    few = Rated(np.ones(9), (4,))
    assert exact_price_index(few, tables, schema, 0.9, 3, CHOSEN) is not None
    without_limits = BoundSettings(largest_budget=10**7)  # a table of everybody's coupons would not fit into memory
    assert exact_price_index(few, tables, schema, 0.9, 3, without_limits) is None


def test_more_rounds_than_the_deadline_are_refused() -> None:
    world = bridge()
    index = exact_price_index(world.response, world.offspring, world.schema, 0.9, 3, CHOSEN)
    assert index.values(every_row(world.schema), PRICES, 3).shape == (4, len(PRICES))
    with pytest.raises(SettingError, match="at most 3 rounds; asked for 4"):
        index.values(every_row(world.schema), PRICES, 4)
