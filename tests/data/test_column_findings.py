"""What a schema may use: findings for the guess, and what is made of a schema that somebody wrote."""

from dataclasses import replace

import numpy as np
import pytest
from made_columns import LEAKS, ordinary, study_of

from peerfront.data.columns.column_findings import Against, column_findings, too_many_categories, vetted
from peerfront.data.columns.column_names import MEANING
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.schema_file import parse_schema, schema_text
from peerfront.data.study_schema import FieldRule, StudySchema
from peerfront.foundation.errors import DataFileError, SettingError

RACE = FieldRule("race", ("a", "b"))
PAY = FieldRule("pay", ("little", "much"), (20.0,))
SCORE = FieldRule("score", ("low", "high"), (40.0,))
STAFF = FieldRule("interviewer", ("x", "y"))
GENDER = FieldRule("gender", ("f", "m"))


@pytest.fixture(scope="module")
def study():
    made = ordinary(300, 0)
    columns = {
        "race": made.rng.choice(["a", "b"], 300),
        "hiv": ["positive"] * 150 + ["negative"] * 150,
        "pay": 10 + 20 * made.recruits,
        "interviewer": made.rng.choice(["x", "y"], 300),
        "score": LEAKS["near: a score that follows the recruits"](made)["v"],
        "religion": [""] * 300,
    }
    return study_of(made, columns)


def test_kinds(study) -> None:
    found = column_findings(study)
    assert {name: each.against for name, each in found.items()} == {
        "date": Against.COLLECTION,
        "race": Against.SENSITIVE,
        "hiv": Against.SENSITIVE,
        "pay": Against.OUTCOME,
        "interviewer": Against.COLLECTION,
        "score": Against.IMPLAUSIBLE,
        "religion": Against.SENSITIVE,
    }


def test_the_guess(study) -> None:
    guess = guess_schema(study)
    assert guess.schema.schema.names == ("gender", "age", "district", "children")
    assert guess.schema.exclude == ("date", "pay", "interviewer", "religion")
    assert guess.schema.left_out == ("date", "pay", "interviewer", "religion", "race", "hiv", "score")
    assert set(guess.reasons) == set(guess.schema.left_out)
    assert str(guess.reasons["race"]) == "sensitive: race and ethnicity"
    assert str(guess.reasons["religion"]) == "empty"
    text = schema_text(guess.schema, guess.reasons)
    assert "use = false  # sensitive: race and ethnicity" in text
    assert str(MEANING) in text.replace("\n# ", " ")
    again = parse_schema(text.encode(), "schema.toml")
    assert (again.fields, again.exclude) == (guess.schema.fields, guess.schema.exclude)
    used = parse_schema(text.replace("use = false  # sensitive", "use = true  # sensitive").encode(), "schema.toml")
    assert [rule.name for rule in vetted(study, used).schema.used][-2:] == ["race", "hiv"]


def test_a_guess_passes(study) -> None:
    guess = guess_schema(study)
    allowed = vetted(study, guess.schema)
    assert allowed.schema == guess.schema
    assert (allowed.reasons, allowed.notes, allowed.accepted) == ({}, (), ())


def test_sensitive_columns_need_a_word(study) -> None:
    allowed = vetted(study, StudySchema((GENDER, RACE, STAFF)))
    assert [rule.name for rule in allowed.schema.used] == ["gender"]
    assert allowed.reasons.keys() == {"race", "interviewer"}
    assert allowed.notes == ()
    allowed = vetted(study, StudySchema((GENDER, replace(RACE, use=True), replace(STAFF, use=True))))
    assert [rule.name for rule in allowed.schema.used] == ["gender", "race", "interviewer"]
    staff, race = map(str, allowed.notes)
    assert "'interviewer': who interviewed" in staff
    assert "('race')" in race
    assert str(MEANING) in race
    assert allowed.accepted == ()


@pytest.mark.parametrize("use", [None, True])
def test_the_outcome_is_never_used(study, use) -> None:
    with pytest.raises(
        DataFileError, match=r"my.toml uses the column 'pay' of the table, and must not: it tells the n"
    ):
        vetted(study, StudySchema((GENDER, replace(PAY, use=use)), source="my.toml"))
    assert vetted(study, StudySchema((GENDER, PAY), exclude=("pay",))).schema.used == (GENDER,)
    assert vetted(study, StudySchema((GENDER, replace(PAY, use=False)))).schema.used == (GENDER,)


def test_what_predicts_too_well_stops_unless_the_schema_says_so(study) -> None:
    with pytest.raises(DataFileError, match="write use = true into its block"):
        vetted(study, StudySchema((GENDER, SCORE)))
    allowed = vetted(study, StudySchema((GENDER, replace(SCORE, use=True))))
    assert allowed.accepted == ("score",)
    assert "It is used because the schema says use = true." in str(allowed.notes[0])


def test_more_categories_than_people_can_tell_about_are_said(study) -> None:
    few = study.informative.sum() // 10
    enough = FieldRule("age", tuple(map(str, range(few + 1))))
    assert too_many_categories(study, StudySchema((enough,))) == ()
    (said,) = too_many_categories(study, StudySchema((enough, GENDER)))
    assert (said.arguments["columns"], said.arguments["categories"]) == (2, few + 1)
    assert vetted(study, StudySchema((enough, GENDER))).notes == (said,)
    assert not vetted(study, StudySchema((enough, replace(GENDER, use=False)))).notes


def test_both_excluded_and_used_is_a_contradiction() -> None:
    with pytest.raises(SettingError, match="'race' is listed under exclude, and its field says use = true"):
        StudySchema((replace(RACE, use=True),), exclude=("race",))


def test_findings_ignore_the_order_of_people(study) -> None:
    order = np.random.default_rng(5).permutation(len(study))
    place = np.append(np.argsort(order), -1)
    shuffled = replace(
        study,
        people=study.people.iloc[order].reset_index(drop=True),
        ids=study.ids[order],
        rows=study.rows[order],
        recruiter=place[study.recruiter[order]],
        seed=study.seed[order],
        issued=study.issued[order],
        still_open=study.still_open[order],
        days=study.days[order],
    )
    assert {k: v.against for k, v in column_findings(shuffled).items()} == {
        k: v.against for k, v in column_findings(study).items()
    }
