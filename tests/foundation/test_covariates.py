import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerfront.foundation.covariates import Field, Schema, categories_in, uniform_codes
from peerfront.foundation.errors import SettingError

schemas = st.lists(st.integers(1, 6), min_size=1, max_size=5).map(
    lambda sizes: Schema.of_sizes({f"f{i}": size for i, size in enumerate(sizes)})
)


@st.composite
def schema_and_codes(draw: st.DrawFn, unknown: bool = True) -> tuple[Schema, np.ndarray]:
    schema = draw(schemas)
    people = draw(st.integers(0, 6))
    rows = [[draw(st.integers(-1 if unknown else 0, int(s) - 1)) for s in schema.sizes] for _ in range(people)]
    return schema, np.array(rows, dtype=np.int16).reshape(people, len(schema.fields))


@given(schema_and_codes())
def test_one_hot_rows_mark_the_codes(case) -> None:
    schema, codes = case
    rows = schema.one_hot(codes)
    assert rows.shape == (len(codes), schema.columns)
    assert np.array_equal(rows.sum(axis=1), (codes >= 0).sum(axis=1))
    for field, (start, size) in enumerate(zip(schema.offsets, schema.sizes, strict=True)):
        known = codes[:, field] >= 0
        assert np.array_equal(rows[known, start : start + size].argmax(axis=1), codes[known, field])


@given(schema_and_codes(), st.integers(0, 1000))
def test_linear_is_a_product_with_the_one_hot_row(case, seed) -> None:
    schema, codes = case
    weights = np.random.default_rng(seed).normal(size=schema.columns)
    assert np.allclose(schema.linear(weights, codes), schema.one_hot(codes) @ weights)


def test_records_name_the_categories() -> None:
    schema = Schema((Field("sex", ("f", "m")), Field("age", ("young", "old"))))
    assert schema.decode(np.array([[0, -1], [1, 1]], dtype=np.int16)) == [
        {"sex": "f", "age": ""},
        {"sex": "m", "age": "old"},
    ]


def test_codes_outside_the_schema_are_refused() -> None:
    schema = Schema.of_sizes({"a": 2, "b": 3})
    with pytest.raises(SettingError, match=r"Row 1 \(counted from 0\) has code 3 in field 'b'; allowed are 0 to 2"):
        schema.check(np.array([[0, 0], [1, 3]], dtype=np.int16))
    with pytest.raises(SettingError, match="do not fit a schema of 2 fields"):
        schema.check(np.zeros((4, 3), dtype=np.int16))
    with pytest.raises(SettingError, match="whole-numbered category codes; found an array of float64"):
        schema.check(np.zeros((4, 2)))
    with pytest.raises(SettingError, match="whole-numbered category codes; found list"):
        schema.check([[0, 1]])


@given(schema_and_codes())
def test_summed_rows_are_the_product_with_one_hot_rows(drawn) -> None:
    schema, codes = drawn
    weights = np.random.default_rng(0).standard_normal((schema.columns, 4)).astype(np.float32)
    sums = schema.summed_rows(weights, codes)
    assert sums.dtype == np.float32
    assert np.allclose(sums, schema.one_hot(codes) @ weights, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Field("a", ()), "has no categories"),
        (lambda: Field("a", ("x", "x")), "lists x more than once"),
        (lambda: Schema(()), "at least one field"),
        (lambda: Schema((Field("a", ("x",)), Field("a", ("y",)))), "share a name"),
    ],
)
def test_broken_schemas(make, message) -> None:
    with pytest.raises(SettingError, match=message):
        make()


def test_uniform_codes_cover_every_category() -> None:
    schema = Schema.of_sizes({"a": 2, "b": 5})
    codes = uniform_codes(schema, np.random.default_rng(0).random((500, 2)))
    schema.check(codes)
    assert [len(np.unique(codes[:, f])) for f in range(2)] == [2, 5]


def test_categories_sort_numbers_by_size() -> None:
    assert categories_in(["10", "9", "b", "a", "9"]) == ("9", "10", "a", "b")
