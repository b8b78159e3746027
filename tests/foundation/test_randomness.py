import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, _mix, fold, named_generator, named_key, named_luck

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def test_the_mixer_is_splitmix64() -> None:
    # The first outputs of the reference implementation for the seed 1234567.
    states = np.uint64(1234567) + np.arange(1, 6, dtype=np.uint64) * GOLDEN
    assert _mix(states).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_names_are_told_apart_and_stay_the_same() -> None:
    assert named_key("a", 1) == named_key("a", 1)
    keys = {named_key("a", 1), named_key("a", "1"), named_key("a1"), named_key("a", 1, 0), named_key(1, "a")}
    assert len(keys) == 5
    assert named_key("episode", 0) == 0x43CE9C95C407ED8E  # pinned: saved results depend on it


def test_uniforms_are_uniform_and_strictly_inside() -> None:
    luck = named_luck(("uniformity",), 20_000)
    draws = luck.uniforms("capacity", 5)
    assert draws.min() > 0.0
    assert draws.max() < 1.0
    assert all(kstest(column, "uniform").pvalue > 1e-4 for column in draws.T)


@pytest.mark.parametrize("relation", ["siblings", "generations", "purposes", "columns"])
def test_related_draws_are_independent(relation: str) -> None:
    people = named_luck(("independence", relation), 20_000)
    zero, one = np.zeros(20_000, dtype=int), np.ones(20_000, dtype=int)
    first, second = {
        "siblings": lambda: (people.members(zero).uniform("x"), people.members(one).uniform("x")),
        "generations": lambda: (people.uniform("x"), people.members(zero).uniform("x")),
        "purposes": lambda: (people.uniform("x"), people.uniform("y")),
        "columns": lambda: tuple(people.uniforms("x", 2).T),
    }[relation]()
    cells = np.bincount((first * 8).astype(int) * 8 + (second * 8).astype(int), minlength=64)
    assert chisquare(cells).pvalue > 1e-4


def test_lineages_do_not_collide() -> None:
    roots = named_luck(("collisions",), 1000)
    children = fold(np.repeat(roots.keys, 300), np.tile(np.arange(300), 1000))
    assert len(np.unique(np.concatenate([roots.keys, children]))) == 301_000


@given(st.integers(1, 30), st.integers(1, 30))
def test_more_columns_or_people_change_nothing_before_them(columns: int, people: int) -> None:
    few, many = named_luck(("prefix",), people), named_luck(("prefix",), people + 7)
    assert np.array_equal(few.uniforms("x", columns), many.uniforms("x", columns + 5)[:people, :columns])


def test_one_luck_for_each_person() -> None:
    luck = named_luck(("each",), 3)
    luck.check(3)
    with pytest.raises(SettingError, match="2 covariate rows and 3 lucks"):
        luck.check(2)


def test_generators_are_named_too() -> None:
    luck = named_luck(("generator",), 3)
    assert luck.row(1).generator("a").random() == Luck(luck.keys[1:2]).generator("a").random()
    assert luck.row(1).generator("a").random() != luck.row(2).generator("a").random()
    assert luck.row(1).generator("a").random() != luck.row(1).generator("b").random()
    assert named_generator("x", 1).random() == named_generator("x", 1).random()
    assert named_generator("x", 1).random() != named_generator("x", 2).random()
    assert len(luck) == 3
