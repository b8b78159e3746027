"""Columns that name one person or one spot are left out unless the schema says so; those that look so are not."""

from dataclasses import replace

import pytest
from made_columns import IDENTITIES, LOOKALIKES, identifying, ordinary, study_of

from peerfront.data.columns.column_findings import vetted
from peerfront.data.columns.identities import Identities, is_place
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.study_schema import FieldRule, StudySchema


@pytest.mark.parametrize("draw", [0, 1])  # people are P0000, P0001 or 1, 2
@pytest.mark.parametrize("name", IDENTITIES)
def test_what_names_somebody_is_left_out(name, draw) -> None:
    study, columns = identifying(name, 200, draw)
    assert not set(columns) & set(guess_schema(study).schema.schema.names)


@pytest.mark.parametrize("draw", [0, 1])
@pytest.mark.parametrize("name", LOOKALIKES)
def test_what_only_looks_so_is_used(name, draw) -> None:
    study, columns = identifying(name, 200, draw)
    assert set(columns) <= set(guess_schema(study).schema.schema.names)


def test_a_written_schema_needs_a_word_for_it() -> None:
    study, _ = identifying("the recruiter's id", 200, 0)
    rule = FieldRule("v", ("P0000", "P0001", "other"), other="other")
    allowed = vetted(study, StudySchema((rule,)))
    assert not allowed.schema.used
    assert str(allowed.reasons["v"]) == "names other people: their ids"
    allowed = vetted(study, StudySchema((replace(rule, use=True),)))
    assert allowed.schema.used
    assert "names other people" in str(allowed.notes[0])


SMALL = {
    "friend_id": (range(40, 0, -1), "other people"),
    "amigo_2": ([n % 9 + 1 for n in range(40)], "other people"),
    "amigo_2_edad": ([n % 9 + 18 for n in range(40)], None),
    "friend_name": (["Ana", "Luis", "Eva", "Sol", "Noé"] * 8, "other people"),
    "x": ([f"{n}, {n % 40 + 1}" for n in range(1, 41)], "other people"),
    "folio": (range(300, 340), "an identifier"),
    "lat": ([f"{n / 7:.2f}" for n in range(40)], "where exactly"),
    "улица": ([f"Ленина {n % 9}" for n in range(40)], "addresses"),
    "prénom": (["Ana", "Luis", "Eva", "Sol", "Noé"] * 8, "people's names"),
    "comentarios": (["", "", "ok", "vino con su hermana mayor"] * 10, "notes"),
    "zip": ([48_200 + n % 25 for n in range(40)], "25 different values"),
    "children": ([n % 4 for n in range(40)], None),
    "salario": (range(1001, 1081, 2), None),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_studies(name) -> None:
    study = study_of(ordinary(40, 2), {column: list(values) for column, (values, _) in SMALL.items()}, numbered=True)
    reason, expected = Identities(study).named_by(name), SMALL[name][1]
    assert (reason is None) if expected is None else expected in str(reason)


def test_long_cells_and_a_study_of_an_earlier_day() -> None:
    made = ordinary(60, 4)
    cells = {"v": [str(n % 9) * 100_000 for n in range(60)], "w": ["@" * 100_000 + str(n) for n in range(60)]}
    study = study_of(made, cells)
    assert [Identities(study).named_by(name) is not None for name in cells] == [False, True]
    study, _ = identifying("the recruiter's id", 200, 1)
    earlier = study.as_of("2024-02-08")
    assert len(earlier) < len(study)
    assert str(Identities(earlier).named_by("v")) == "names other people: their ids"


@pytest.mark.parametrize(
    "name", ["district", "Ciudad", "quartier", "wohnort", "район", "kijiji", "site", "GPS", "home_address"]
)
def test_places(name) -> None:
    assert is_place(name)


@pytest.mark.parametrize(
    "name", ["years_in_city", "estado_civil", "marital_state", "replace", "gender", "housing", "sitting"]
)
def test_names_that_are_no_places(name) -> None:
    assert not is_place(name)
