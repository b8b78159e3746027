"""Exports as programs write them are read without help, or with one line to paste; read again, they are the same."""

import contextlib
import csv
import io
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.made_exports import EXPORTS, made_study, pasted, redcap_classic, redcap_repeating, table_bytes
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.read_settings import ReadSettings, parse_columns
from peerfront.data.read.recognition import suggested_columns
from peerfront.data.reading import read_frontier, read_study, study_from_table
from peerfront.data.schema_file import parse_schema, schema_text
from peerfront.foundation.errors import DataFileError, PeerfrontError
from peerfront.foundation.messages import Remedy

ONE_LINE = {"spanish-names.csv", "recruiter-ids.csv"}
"""Exports that need a line, which the error offers."""
MADE = made_study()


def put(tmp_path, content, name="study.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def found_in(study):
    sex = study.people["sex" if "sex" in study.people else "Sex"]
    ids, recruiters = ([text.removeprefix("uuid:") for text in texts] for texts in (study.ids, study.recruiter_ids()))
    return {i: (r, int(k), s) for i, r, k, s in zip(ids, recruiters, study.issued, sex, strict=True)}


@pytest.mark.parametrize("codes", [(), ("1", "2", "3", "4", "5")], ids=["", "seeds with codes"])
@pytest.mark.parametrize("name", EXPORTS)
def test_every_made_export_is_read(tmp_path, name, codes) -> None:
    made = made_study(seed_codes=codes)
    path = put(tmp_path, EXPORTS[name](made), name)
    settings = ReadSettings()
    if name in ONE_LINE:
        with pytest.raises(DataFileError) as refused:
            read_study(path)
        settings = pasted(refused.value)
    study = read_study(path, settings)
    expected = made.expected
    if name == "recruiter-ids.csv":
        expected = {person: (recruiter, 3, sex) for person, (recruiter, _, sex) in expected.items()}
    assert found_in(study) == expected
    assert study.seed.sum() == 5
    assert {p.kind for p in study.problems} <= {"several-rows", "encoding", "fixed-places", "assumed-seed"}
    assert sum(p.kind == "assumed-seed" for p in study.problems) == (5 if codes and name != "recruiter-ids.csv" else 0)


@pytest.mark.parametrize("name", sorted(set(EXPORTS) - ONE_LINE))
def test_a_schema_reads_the_file_again_in_the_same_way(tmp_path, name) -> None:
    path = put(tmp_path, EXPORTS[name](MADE), name)
    study = read_study(path)
    schema = parse_schema(schema_text(guess_schema(study).schema).encode(), "schema.toml")
    again = read_study(path, schema.reading)
    pd.testing.assert_frame_equal(study.table(), again.table())
    assert study.columns == again.columns
    assert study.settings.preset == again.settings.preset


@pytest.mark.parametrize("name", ["redcap-longitudinal.csv", "kobo.csv", "excel-sheets.xlsx", "surveycto.csv"])
def test_people_waiting_may_come_in_the_same_export(tmp_path, name) -> None:
    path = put(tmp_path, EXPORTS[name](MADE), name)
    study = read_study(path)
    schema = guess_schema(study).schema
    frontier = read_frontier(put(tmp_path, EXPORTS[name](made_study(people=30)), f"waiting-{name}"), schema)
    assert frontier.ids.tolist() == [person.id for person in MADE.people[:30]]


def test_an_export_with_fewer_or_more_coupons_is_read_by_the_same_schema(tmp_path) -> None:
    full = read_study(put(tmp_path, redcap_repeating(MADE)))
    assert full.columns["coupons"] == ("coupon_code_1", "coupon_code_2", "coupon_code_3")
    reading = guess_schema(full).schema.reading
    for most in (1, 2):
        fewer = made_study()
        for person in fewer.people:
            person.coupons = person.coupons[:most]
        study = read_study(put(tmp_path, redcap_repeating(fewer)), replace(reading, read_anyway=True))
        assert study.issued.max() == most
    more = made_study()
    more.people[0].coupons += ["X1", "X2"]
    assert read_study(put(tmp_path, redcap_repeating(more)), reading).issued.max() >= 4


def test_checkboxes_are_one_field_or_several(tmp_path) -> None:
    path = put(tmp_path, redcap_classic(MADE))
    study = read_study(path)
    assert set(study.people["race"]) == {"1", "2", "3", "several"}
    assert study.people["race"].tolist()[0] == "several"
    assert any("3 checkboxes of 'race' are one field" in str(step) for step in study.steps)
    apart = read_study(path, ReadSettings(checkboxes=()))
    assert [name for name in apart.people.columns if name.startswith("race")] == ["race___1", "race___2", "race___3"]


def test_boxes_that_nobody_ticked_are_none_and_unanswered_ones_not_known(tmp_path) -> None:
    rows = [["record_id", "redcap_event_name", "coupon_in", "coupon_1", "race___1", "race___2"]]
    rows += [["1", "a", "", "A1", "1", "0"], ["2", "a", "A1", "B1", "0", "0"], ["3", "a", "B1", "C1", "", ""]]
    study = read_study(put(tmp_path, table_bytes(rows)))
    assert study.people["race"].tolist() == ["1", "none", ""]


def test_what_could_not_be_brought_together_is_said_with_rows(tmp_path) -> None:
    study = read_study(put(tmp_path, EXPORTS["redcap-longitudinal.csv"](MADE)))
    (problem,) = study.problems
    assert "Column 'weight' differs between the rows of 53 people: the values of rows 6, 9, " in str(problem.message)
    assert study.people["weight"][0] == "60"


def test_rows_that_contradict_each_other_about_the_recruiter_stop(tmp_path) -> None:
    rows = [["record_id", "redcap_event_name", "coupon_in", "coupon_1"]]
    rows += [["1", "a", "", "A1"], ["1", "b", "", "A2"], ["2", "a", "A1", ""], ["2", "b", "A2", ""]]
    with pytest.raises(DataFileError, match=r"'2' has different values of 'coupon_in': 'A1' \(row 4\), 'A2' \(row 5\)"):
        read_study(put(tmp_path, table_bytes(rows)))


def test_an_id_that_is_used_twice_is_still_an_error(tmp_path) -> None:
    text = "id,own.coupon,coupon.1\n1,,A\n2,A,B\n2,A,C\n"
    with pytest.raises(DataFileError, match="Id '2' stands already in row 3"):
        read_study(put(tmp_path, text))


def test_a_preset_on_a_file_that_it_does_not_fit(tmp_path) -> None:
    path = put(tmp_path, EXPORTS["kobo.csv"](MADE))
    with pytest.raises(DataFileError, match=r"not look like a REDCap export(.|\n)*Found: start(.|\n)*preset='kobo'"):
        read_study(path, ReadSettings(preset="redcap"))
    plain = put(tmp_path, EXPORTS["semicolons.csv"](MADE))
    with pytest.raises(DataFileError, match="not look like a Kobo export(.|\n)*preset='none'"):
        read_study(plain, ReadSettings(preset="kobo"))
    with pytest.raises(PeerfrontError, match="no preset called 'redcup'. Did you mean 'redcap'"):
        ReadSettings(preset="redcup")


def test_no_preset_leaves_the_table_as_it_is(tmp_path) -> None:
    path = put(tmp_path, redcap_classic(MADE))
    study = read_study(path, ReadSettings(preset="none"))
    assert "race___1" in study.people.columns
    assert study.steps == ()


def test_two_columns_that_could_be_the_coupon(tmp_path) -> None:
    text = "id,coupon,coupon_number,coupon_1,coupon_2\n1,,,A1,A2\n2,A1,A2,B1,B2\n3,A2,A1,,\n"
    with pytest.raises(DataFileError) as refused:
        read_study(put(tmp_path, text))
    assert "2 columns could be the coupon that people came with" in str(refused.value)
    assert Remedy("map", ("own_coupon", "coupon_number")) in refused.value.remedies
    assert suggested_columns(refused.value.remedies) == {}  # one of two
    settled = text.replace("2,A1,A2,", "2,A1,77,").replace("3,A2,A1,", "3,A2,78,")
    study = read_study(put(tmp_path, settled))
    assert study.columns["own_coupon"] == ("coupon",)  # only its codes were issued
    assert study.recruiter.tolist() == [-1, 0, 0]


def test_names_with_groups_may_be_mapped_as_they_stand_in_the_file(tmp_path) -> None:
    path = put(tmp_path, EXPORTS["kobo.csv"](MADE))
    study = read_study(
        path, ReadSettings(columns=parse_columns(["id=screening/participant_id", "date=_submission_time"]))
    )
    assert study.columns["id"] == ("participant_id",)
    assert study.columns["date"] == ("_submission_time",)
    assert found_in(study) == MADE.expected


def test_a_suggestion_needs_codes_that_reappear(tmp_path) -> None:
    rows = [["folio", "a", "b", "edad"], *([str(n), f"x{n}", f"y{n}", str(20 + n % 30)] for n in range(60))]
    with pytest.raises(DataFileError) as refused:
        read_study(put(tmp_path, table_bytes(rows)))
    assert "Likely" not in str(refused.value)
    assert "Name the others" in str(refused.value)
    assert suggested_columns(refused.value.remedies) == {}


def test_names_that_say_nothing(tmp_path) -> None:
    """Numbers that differ for everybody, such as telephones, are neither coupons nor the first choice for an id."""
    rows = [[f"v{n}" for n in range(7)]]
    rows += [
        [p.slots[2], p.id, p.sex, p.slots[0], p.own, str(70000000 + n), p.slots[1]] for n, p in enumerate(MADE.people)
    ]
    path = put(tmp_path, table_bytes(rows))
    with pytest.raises(DataFileError) as refused:
        read_study(path)
    settings = pasted(refused.value)
    assert settings.columns == {"id": ("v1",), "own_coupon": ("v4",), "coupons": ("v0", "v3", "v6")}


def test_a_recruiter_column_is_suggested_with_the_number_of_coupons(tmp_path) -> None:
    rows = [["folio", "quien invita", "sex"], *([p.id, p.recruiter, p.sex] for p in MADE.people)]
    path = put(tmp_path, table_bytes(rows))
    with pytest.raises(DataFileError) as refused:
        read_study(path)
    study = read_study(path, pasted(refused.value))
    assert {person: found[0] for person, found in found_in(study).items()} == {p.id: p.recruiter for p in MADE.people}


WHOLE = {
    name: EXPORTS[name](made_study(people=20)).decode()
    for name in EXPORTS
    if name.endswith(".csv") and "semi" not in name
}


@settings(max_examples=150)
@given(st.sampled_from(sorted(WHOLE)), st.randoms(use_true_random=False), st.floats(0.05, 0.95))
def test_exports_without_some_columns_are_read_or_refused_in_words(name, luck, share) -> None:
    rows = list(csv.reader(io.StringIO(WHOLE[name]), delimiter=";" if "kobo" in name else ","))
    kept = [n for n in range(len(rows[0])) if luck.random() > share] or [0]
    table = pd.DataFrame([[row[n] for n in kept] for row in rows[1:]], columns=[rows[0][n] for n in kept])
    with contextlib.suppress(PeerfrontError):
        study_from_table(table)


@pytest.mark.parametrize("name", ["kobo.csv", "odk-central.csv", "surveycto.csv", "redcap-repeating.csv"])
def test_exports_without_referrals_are_refused_in_words(name) -> None:
    rows = list(csv.reader(io.StringIO(WHOLE[name]), delimiter=";" if "kobo" in name else ","))
    table = pd.DataFrame(rows[1:], columns=rows[0])
    table = table.drop(columns=[column for column in table.columns if "coupon" in column and "complete" not in column])
    with pytest.raises(DataFileError, match="cannot tell who recruited whom"):
        study_from_table(table)
    with pytest.raises(DataFileError, match="cannot tell who recruited whom"):
        study_from_table(
            table[[column for column in table.columns if column.startswith(("_", "redcap", "KEY", "Sub"))]]
        )
