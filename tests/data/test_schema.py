"""Schemas: what is guessed, what a person may edit, how values become categories, and people on a frontier."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_frontier, read_study
from peerfront.data.schema_file import parse_schema, read_schema, schema_text
from peerfront.data.study_schema import FieldRule, StudySchema, encode_study, frontier_of, history_of
from peerfront.foundation.errors import DataFileError, PeerfrontError, UnknownName

SCHEMA = StudySchema(
    (
        FieldRule("sex", ("f", "m", "not stated"), missing=("9",), missing_category="not stated"),
        FieldRule("age", ("under 30", "30 or more"), (30.0,), missing=("99",)),
        FieldRule("town", ("A", "B", "other"), other="other"),
    ),
    exclude=("hiv",),
)
FRONTIER = "id,sex,age,town,hiv\nZoë,f,29,A,1\nb,9,30,C,\nc,,99,B,x\n"


def put(tmp_path, text, name="file.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def study_with(tmp_path, columns, **settings):
    """A chain of people, each with two coupons and one recruit, with these columns."""
    frame = pd.DataFrame(columns)
    people = len(frame)
    frame.insert(0, "id", [f"p{i}" for i in range(people)])
    frame.insert(1, "own.coupon", ["", *(f"c{i}a" for i in range(people - 1))])
    frame.insert(2, "coupon.1", [f"c{i}a" for i in range(people)])
    frame.insert(3, "coupon.2", [f"c{i}b" for i in range(people)])
    frame.to_csv(tmp_path / "study.csv", index=False)
    return read_study(tmp_path / "study.csv", ReadSettings(**settings))


def test_guesses(tmp_path) -> None:
    n = 300
    study = study_with(
        tmp_path,
        {
            "sex": ["f", "m", ""] * 100,
            "age": [18 + i % 60 for i in range(n)],
            "income": [f"{i * 7 % 1000},5" for i in range(n)],
            "children": [i % 4 for i in range(n)],
            "name": [f"person {i}" for i in range(n)],
            "phone": [3000 - 7 * i for i in range(n)],
            "few": [str(i % 4) if i else "x" for i in range(n)],
            "zeros": [0] * 280 + list(range(1, 21)),
            "rare": [""] * 20 + [f"v{i // 2}" for i in range(280)],
            "town": ["A"] * 150 + ["B"] * 146 + ["C", "C", "D", "E"],
            "district": [f"d{i % 40}" for i in range(n)],
            "band": ["60+", "<30", "30-39"] * 100,
            "country": ["X"] * n,
            "empty": [""] * n,
            "again": ["f", "m", ""] * 100,
            "my recruits": [1] * (n - 1) + [0],
            "level": range(n),
            "wave": ["x", "y"] * 150,
            "date": ["2024-01-01"] * n,
        },
    )
    guess = guess_schema(study)
    rules = {rule.name: rule for rule in guess.schema.fields}
    assert rules["sex"] == FieldRule("sex", ("f", "m"))
    assert rules["age"].categories == ("under 33", "33 to 47", "48 to 62", "63 or more")
    assert rules["age"].cuts == (33, 48, 63)
    assert len(rules["income"].cuts) == 3
    assert rules["children"].categories == ("0", "1", "2", "3")
    assert rules["town"] == FieldRule("town", ("A", "B", "other"), other="other")
    assert rules["band"].categories == ("<30", "30-39", "60+")
    assert rules["few"].categories == ("0", "1", "2", "3", "other")
    assert rules["zeros"] == FieldRule("zeros", ("under 1", "1 or more"), (1.0,))
    assert set(rules) == {"sex", "age", "income", "children", "town", "band", "few", "zeros"}
    reasons = {name: str(reason) for name, reason in guess.reasons.items()}
    assert "an identifier" in reasons["phone"]
    assert reasons["rare"] == "140 different values, all of them rare"
    assert reasons["name"] == "people's names"
    assert "40 different values" in reasons["district"]
    assert reasons["country"] == "the same for everybody"
    assert reasons["empty"] == "empty"
    assert reasons["again"] == "the same as sex"
    assert reasons["my recruits"] == "is the number of recruits"
    assert reasons["level"] == "is the wave"
    assert reasons["wave"] == "tells how recruitment went"
    assert reasons["date"] == "a date"
    counts = np.bincount(encode_study(study, guess.schema)[:, guess.schema.schema.names.index("age")])
    assert counts.min() >= 0.2 * n


def test_a_small_study(tmp_path) -> None:
    study = study_with(tmp_path, {"sex": ["f", "m"] * 5, "age": range(20, 30), "name": list("abcdefghij")})
    guess = guess_schema(study)
    assert [rule.name for rule in guess.schema.fields] == ["sex", "age"]
    history = history_of(study, guess.schema)
    assert history.coupons.tolist() == [2] * 10
    assert history.recruits.tolist() == [1] * 9 + [0]
    assert history.parents[:, 0].tolist() == [0, 1] * 4 + [0]
    assert history.children[:, 0].tolist() == [1, 0] * 4 + [1]


def test_nothing_to_tell_people_apart(tmp_path) -> None:
    study = study_with(tmp_path, {"country": ["X"] * 5})
    guess = guess_schema(study)
    assert {name: str(reason) for name, reason in guess.reasons.items()} == {"country": "the same for everybody"}
    history = history_of(study, guess.schema)
    assert history.schema.names == ("everybody",)
    assert history.referrers.tolist() == [[0]] * 5
    text = schema_text(guess.schema, guess.reasons)
    assert "without any, everybody is treated alike" in text
    assert parse_schema(text.encode(), "schema.toml").schema == guess.schema.schema


def test_histories_leave_open_coupons_out_and_keep_their_pairs(tmp_path) -> None:
    study = study_with(tmp_path, {"sex": ["f", "m"] * 5}, still_open="last-wave")
    schema = guess_schema(study).schema
    history = history_of(study, schema)
    assert len(history.coupons) == 9
    assert len(history.parents) == 9
    frontier = frontier_of(study, schema)
    assert frontier.ids.tolist() == ["p9"]
    assert frontier.covariates.tolist() == [[1]]


def test_values_become_categories(tmp_path) -> None:
    frontier = read_frontier(put(tmp_path, FRONTIER), SCHEMA)
    assert frontier.ids.tolist() == ["Zoë", "b", "c"]
    assert frontier.covariates.tolist() == [[0, 0, 0], [2, 1, 2], [2, -1, 1]]


def test_bands_with_a_category_for_missing() -> None:
    rule = FieldRule("age", ("young", "?", "old"), (30.0,), missing_category="?")
    codes, wrong = rule.encode(pd.Series(["29", "", "30"], dtype=object))
    assert codes.tolist() == [0, 1, 2]
    assert not wrong.any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("id,sex,age,town\n", "nobody is on the frontier"),
        ("id,sex,age,town\n\n\n", "nobody is on the frontier"),
        ("id,sex,age,town\na,f,20,A\na,f,20,A\n", "row 3: id 'a' stands already above"),
        ("id,sex,age,town\n,f,20,A\n", "row 2: the id is empty"),
        ("id,sex,age\na,f,20\n", "the columns 'town' are missing"),
        ("who,sex,age,town\na,f,20,A\n", "there is no id column"),
        ("id,sex,age,town\na,f,20,A\nb,x,20,A\n", "row 3, column 'sex': 'x' is not allowed. Allowed: f, m, not stated"),
        ("id,sex,age,town\na,f,old,A\n", "row 2, column 'age': 'old' is not allowed. Allowed: a number"),
    ],
)
def test_frontiers_with_faults(tmp_path, text, message) -> None:
    with pytest.raises(DataFileError, match=message):
        read_frontier(put(tmp_path, text), SCHEMA)


def test_long_lists_of_faults_are_counted(tmp_path) -> None:
    rows = "".join(f"{i},x,20,A\n" for i in range(30))
    with pytest.raises(DataFileError, match="has 30 values(.|\n)*and 20 more(.|\n)*add the category"):
        read_frontier(put(tmp_path, "id,sex,age,town\n" + rows), SCHEMA)


def test_the_id_column_of_a_frontier(tmp_path) -> None:
    path = put(tmp_path, FRONTIER.replace("id", "who", 1))
    assert read_frontier(path, SCHEMA, id_column="who").ids.tolist() == ["Zoë", "b", "c"]
    of_study = StudySchema(SCHEMA.fields, reading=ReadSettings(columns={"id": ("who",)}))
    assert len(read_frontier(path, of_study)) == 3
    with pytest.raises(UnknownName, match="called 'whom'. Did you mean 'who'"):
        read_frontier(path, SCHEMA, id_column="whom")


names = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=8)


@st.composite
def schemas(draw: st.DrawFn) -> StudySchema:
    rules = []
    for name in draw(st.lists(names, min_size=1, max_size=4, unique=True)):
        categories = tuple(draw(st.lists(names, min_size=1, max_size=4, unique=True)))
        cuts = st.lists(st.floats(-1e9, 1e9), min_size=len(categories) - 1, max_size=len(categories) - 1, unique=True)
        banded = draw(st.booleans())
        rules.append(
            FieldRule(
                name,
                categories,
                tuple(sorted(draw(cuts))) if banded else (),
                tuple(draw(st.lists(names, max_size=2))),
                None,
                draw(st.sampled_from([None, *categories])) if not banded or len(categories) == 1 else None,
                use=draw(st.sampled_from([None, True, False])),
            )
        )
    others = tuple(draw(st.lists(names.filter(lambda n: n not in {r.name for r in rules}), max_size=3)))
    columns = {"id": (draw(names),), "coupons": tuple(draw(st.lists(names, min_size=2, max_size=3)))}
    reading = ReadSettings("coupons", columns, tuple(draw(st.lists(names, max_size=2))), None, "30")
    return StudySchema(tuple(rules), others, reading)


@settings(max_examples=30)
@given(schemas())
def test_schema_files_round_trip(schema) -> None:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schema.toml"
        path.write_bytes(schema_text(schema, dict.fromkeys(schema.exclude, "why\nnot")).encode())
        found = read_schema(path)
    assert (found.fields, found.exclude, found.reading) == (schema.fields, schema.exclude, schema.reading)


GOOD = """exclude = []

[[field]]
name = "sex"
categories = ["f", "m"]

[[field]]
name = "age"
cuts = [30]
categories = ["a", "b"]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("exclude = []", "exclude = [", "is not a correct schema file.*line"),
        ("exclude = []", 'exclude = "sex"', "exclude must be a list of texts"),
        ("exclude = []", 'excluded = ["sex"]', "no setting in .*toml called 'excluded'. Did you mean 'exclude'"),
        ('name = "sex"', 'nam = "sex"', "line 3: field 1 needs a name"),
        ('name = "age"', 'name = "sex"', "two fields for the column 'sex'"),
        (
            '["f", "m"]',
            "[1, 2]",
            "line 3, field 'sex': categories must be a list of texts.*also where values are numbers",
        ),
        ('["f", "m"]', '["f", "f"]', "line 3, field 'sex'.*lists f more than once"),
        ('["f", "m"]', "[]", "has no categories"),
        ('categories = ["f", "m"]', "", "there is no categories"),
        ('["f", "m"]', '["f", "m"]\nother = "x"', "other = 'x' is not among its categories"),
        ('["f", "m"]', '["f", "m"]\nothers = "x"', "field 'sex' called 'others'. Did you mean 'other'"),
        ('["f", "m"]', '["f", "m"]\nother = 3', "other must be a text"),
        ("cuts = [30]", 'cuts = ["30"]', "line 7, field 'age': cuts must be a list of numbers"),
        ("cuts = [30]", "cuts = [30, 20]", "cuts must be numbers that rise"),
        ("cuts = [30]", "cuts = [nan]", "cuts must be numbers that rise"),
        ("cuts = [30]", "cuts = [30, 40]", "2 cuts make 3 bands; found 2 categories"),
        ("cuts = [30]", 'cuts = [30]\nother = "a"', "leave 'other' out"),
        ("exclude = []", 'file = "x"\nexclude = []', r"file must be a section, begun by a line \[file\]"),
        ("exclude = []", "[file]\nformat = 3", "format must be a text"),
        ("exclude = []", '[file]\nformat = "xls"', "no format called 'xls'"),
        ("exclude = []", '[file]\nstill_open = "soon"', "'soon' is not understood"),
        ("exclude = []", "[file]\ncoupons_each = -1", "coupons each must be a whole number"),
        ("exclude = []", '[columns]\nids = "x"', r"of \[columns\] in .* called 'ids'. Did you mean 'id'"),
        (GOOD, "field = [3]\n", r"begun by a line \[\[field\]\]"),
    ],
)
def test_edited_schemas_with_faults(tmp_path, old, new, message) -> None:
    assert read_schema(put(tmp_path, GOOD, "good.toml")).schema.names == ("sex", "age")
    assert old in GOOD
    with pytest.raises(PeerfrontError, match=f"(?s){message}"):
        read_schema(put(tmp_path, GOOD.replace(old, new), "bad.toml"))


def test_excluding_is_one_line(tmp_path) -> None:
    schema = read_schema(put(tmp_path, GOOD.replace("exclude = []", 'exclude = ["sex"]')))
    assert schema.schema.names == ("age",)


def test_excluding_a_column_that_is_none(tmp_path) -> None:
    study = study_with(tmp_path, {"sex": ["f", "m"] * 5, "hiv": ["y", "n"] * 5})
    with pytest.raises(UnknownName, match="column to exclude in study.csv called 'hvi'. Did you mean 'hiv'"):
        StudySchema((FieldRule("sex", ("f", "m")),), ("hvi",)).check_columns(study)


def test_excluding_everything_leaves_everybody_alike(tmp_path) -> None:
    schema = read_schema(put(tmp_path, GOOD.replace("exclude = []", 'exclude = ["sex", "age"]')))
    assert schema.schema.names == StudySchema(()).schema.names == ("everybody",)
