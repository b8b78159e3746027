"""Import: a study that began in a spreadsheet goes on; all of a file or nothing, and again changes nothing."""

from dataclasses import replace
from datetime import date

import pytest
from django.db import IntegrityError, connection, transaction
from django_site import STUDY_FOLDER
from live_client import LiveStudy
from small_live import SETTINGS

from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Message
from peerfront.web.live.exporting import write_study
from peerfront.web.live.operations.study_files import import_here, question_name
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models, recording
from peerfront.web.live.records.database import DatabaseRecords, insertion
from peerfront.web.live.rules.requests import ChangeSettings, ImportPeople, ScanCoupon
from peerfront.web.live.rules.study_settings import QuestionKind

assert STUDY_FOLDER  # Django is set up
HEADER = "id,own.coupon,coupon.1,coupon.2,date,site,sex,hiv,age,network.size"
ROWS = [
    "A 1,,c1,c2,2026-01-05,North clinic,f,pos,31,12",
    "A 2,c1,c3,c4,2026-01-09,North clinic,m,neg,44,7",
    "B3,c2,,,2026-01-12,south,f,neg,27,",
    "B4,c3,c5,,2026-01-13,south,m,pos,19,3",
    "B5,,c6,c7,2026-01-14,south,m,,52,40",
]


@pytest.fixture
def file(tmp_path):
    """Write a file with these rows, and read it."""

    def written(rows=ROWS, header=HEADER):
        path = tmp_path / "study.csv"
        path.write_text("\n".join([header, *rows]) + "\n", "utf-8")
        return read_study(path, ReadSettings())

    return written


def _rows() -> list:
    return [
        list(model._default_manager.order_by("pk").values())
        for model in models.FOLLOWING.values()
        if model is not models.Study
    ]


def test_a_file_is_imported_with_its_tree_and_coupons(database, file) -> None:
    study = LiveStudy()
    words = import_here(file(), "study.csv", None)
    assert str(words[0]).startswith("5 people imported; 0 were there")
    assert Message("live_import.ids_rewritten", {"number": 2}) in words
    people = {each.person: each for each in models.Person.objects.all()}
    assert list(people) == ["A-1", "A-2", "B3", "B4", "B5"]
    assert [people[name].recruiter_id for name in people] == [None, "A-1", "A-1", "A-2", None]
    assert [people[name].site_id for name in people] == ["north", "north", "south", "south", "south"]
    assert [people[name].network_size for name in people] == [12, 7, None, 3, 40]
    assert people["A-2"].enrolled_at.date() == date(2026, 1, 9)
    coupon = DatabaseRecords().coupon("C5")
    assert (coupon.holder, coupon.first_day, coupon.last_day) == ("B4", date(2026, 1, 14), date(2026, 1, 27))
    answered = study.ask(ScanCoupon("c5"))
    assert answered.reason == "expired", "coupons expire by the settings, where the file does not say"
    assert study.state.study().kept == SETTINGS.budget, "imported coupons are not of the budget"
    assert models.Payment.objects.count() == 5 + 3, "interviews and recruits of the file count as paid"
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_an_older_file_changes_nothing_and_is_named(file) -> None:
    LiveStudy()
    assert not [each for each in import_here(file(), "study.csv", None) if each.code == "live_import.missing"]
    before = _rows()
    words = import_here(file(ROWS[:3]), "study.csv", None)
    assert Message("live_import.missing", {"number": 2}) in words
    assert _rows() == before


@pytest.mark.usefixtures("one_database")
def test_questions_are_made_from_columns_and_sensitive_ones_are_not_for_planning(file) -> None:
    LiveStudy()
    hiv = ("pos", "neg", "neg")
    rows = [f"P{n},,x{n},,2026-01-0{1 + n % 9},north,{'fm'[n % 2]},{hiv[n % 3]},{20 + n},5" for n in range(30)]
    words = import_here(file(rows), "study.csv", None)
    assert words[-1].code == "live_import.new_questions"
    questions = {each.name: each for each in DatabaseRecords().study().settings.questions}
    assert questions["sex"].kind is QuestionKind.CHOICE
    assert questions["sex"].choices == ("f", "m")
    assert questions["sex"].for_planning
    assert not questions["hiv"].for_planning
    assert questions["age"].kind is QuestionKind.NUMBER
    assert {"id", "date", "site", "network_size"}.isdisjoint(questions)
    assert dict(models.Person.objects.get(person="P1").answers) == {"age": "21", "hiv": "neg", "sex": "m"}


def test_the_same_file_again_changes_nothing_and_a_longer_one_adds(database, file) -> None:
    LiveStudy()
    import_here(file(), "study.csv", None)
    before = _rows()
    assert str(import_here(file(), "study.csv", None)[0]).startswith("0 people imported; 5 were there")
    assert _rows() == before
    longer = [*ROWS, "B6,c5,,,2026-01-20,south,f,neg,33,5"]
    assert str(import_here(file(longer), "study.csv", None)[0]).startswith("1 people imported; 5 were there")
    assert models.Person.objects.get(person="B6").recruiter_id == "B4"
    assert verify().whole


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("B4,c3,c5,,2026-01-13,south,f,pos,19,3", "B4.*answers"),
        ("B4,c3,c5,,2026-02-13,south,m,pos,19,3", "B4.*enrolment time"),
        ("B4,c4,c5,,2026-01-13,south,m,pos,19,3", "B4.*code"),
        ("B4,c3,c5,,2026-01-13,north,m,pos,19,3", "B4.*site"),
        ("B4,c3,c5,c9,2026-01-13,south,m,pos,19,3", "B4.*coupons"),
    ],
)
@pytest.mark.usefixtures("one_database")
def test_a_file_that_conflicts_is_refused_as_a_whole(file, line, said) -> None:
    LiveStudy()
    import_here(file(), "study.csv", None)
    before = _rows()
    new = "B7,c6,,,2026-01-21,south,f,neg,22,5"
    with pytest.raises(SettingError, match=said):
        import_here(file([*ROWS[:3], line, ROWS[4], new]), "study.csv", None)
    refusals = models.Refusal.objects.filter(action="import_study")
    assert refusals.count() == 1, "the refusal is recorded"
    refusals.delete()
    assert _rows() == before, "nothing is half imported"


@pytest.mark.usefixtures("one_database")
def test_what_a_file_lacks_is_told(file) -> None:
    LiveStudy()
    without = "id,own.coupon,coupon.1,sex"
    with pytest.raises(SettingError, match="does not tell everybody's site"):
        import_here(file(["1,,a,f", "2,a,,m"], without), "s.csv", None)
    with pytest.raises(SettingError, match="There is no site 'west'"):
        import_here(file(["1,,a,f", "2,a,,m"], without), "s.csv", "west")
    with pytest.raises(SettingError, match="There is no site 'East'"):
        import_here(file(["1,,a,2026-01-01,East,f"], "id,own.coupon,coupon.1,date,site,sex"), "s.csv", None)
    words = import_here(file(["1,,a,f", "2,a,,m"], without), "s.csv", "south")
    assert any(each.code == "live_import.undated" for each in words)
    assert models.Person.objects.get(person="2").recruiter_id == "1"


@pytest.mark.usefixtures("one_database")
def test_ids_that_cannot_be_told_apart_are_refused(file) -> None:
    LiveStudy()
    with pytest.raises(DataFileError, match="would both become A-1"):
        import_here(file(["A 1,,a,f", "A-1,a,,m"], "id,own.coupon,coupon.1,sex"), "s.csv", "north")
    with pytest.raises(DataFileError, match="neither letters nor digits"):
        import_here(file(["\u4e2d,,a,f", "2,a,,m"], "id,own.coupon,coupon.1,sex"), "s.csv", "north")


@pytest.mark.usefixtures("one_database")
def test_what_was_imported_is_exported_with_the_same_tree(file, tmp_path) -> None:
    LiveStudy()
    study = file()
    import_here(study, "study.csv", None)
    files = write_study(tmp_path / "out")
    from peerfront.data.schema_file import read_schema

    again = read_study(files.study, read_schema(files.schema).reading)
    assert len(again) == len(study)
    recruiters = dict(zip(again.ids, again.recruiter_ids(), strict=True))
    assert recruiters == {"A-1": "", "A-2": "A-1", "B3": "A-1", "B4": "A-2", "B5": ""}
    assert not [problem for problem in again.problems if problem.severity == "error"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Age group", "age_group"),
        ("2nd visit?", "nd_visit"),
        ("G\u00e9nero", "genero"),
        ("\u4e2d", ""),
        ("x" * 60, "x" * 40),
    ],
)
def test_columns_become_names_of_questions(text, name) -> None:
    assert question_name(text) == name


# Others work meanwhile -----------------------------------------------------------------------------------------------


@pytest.fixture
def decided_when(monkeypatch):
    """Whether others could write, each time that something was decided; `meanwhile` is done after the first time."""
    when: list[bool] = []

    def listen(meanwhile=lambda: None) -> list[bool]:
        real = recording.decide

        def decide(*arguments):
            answered = real(*arguments)
            if isinstance(arguments[1].wish, ImportPeople):
                when.append(not connection.in_atomic_block)
                if len(when) == 1:
                    meanwhile()
            return answered

        monkeypatch.setattr(recording, "decide", decide)
        return when

    return listen


def test_others_can_write_while_a_file_is_checked(database, file, decided_when) -> None:
    LiveStudy()
    when = decided_when()
    import_here(file(), "study.csv", None)
    assert when == [True], "checked once, and not while others wait"
    assert verify().whole


def test_what_is_recorded_meanwhile_counts(database, file, decided_when) -> None:
    study = LiveStudy()
    study_file = file()
    when = decided_when(meanwhile=lambda: study.seed("B5"))
    with pytest.raises(SettingError, match="B5"):
        import_here(study_file, "study.csv", None)
    assert when == [True, True]
    assert list(models.Person.objects.values_list("person", flat=True)) == ["B5"]
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_settings_that_were_changed_meanwhile_stay(file, decided_when) -> None:
    study = LiveStudy()
    hiv = ("pos", "neg", "neg")
    rows = [f"P{n},,x{n},,2026-01-0{1 + n % 9},north,{'fm'[n % 2]},{hiv[n % 3]},{20 + n},5" for n in range(30)]
    study_file = file(rows)
    decided_when(meanwhile=lambda: study.do(ChangeSettings(replace(SETTINGS, target=77), "more"), site=None))
    assert import_here(study_file, "study.csv", None)[-1].code == "live_import.new_questions"
    settings = DatabaseRecords().study().settings
    assert settings.target == 77
    assert settings.questions


def test_many_rows_are_written_as_few_are(database, file) -> None:
    """PostgreSQL takes many rows in another way."""
    LiveStudy()
    odd = ("f\\N", "m%s\\t")
    rows = [f"P{n},,x{n},,2026-01-0{1 + n % 9},north,{odd[n % 2]},,{20 + n},5" for n in range(150)]
    assert str(import_here(file(rows), "study.csv", None)[0]).startswith("150 people imported")
    assert dict(models.Person.objects.get(person="P3").answers)["sex"] == odd[1]
    assert verify().whole
    again = insertion(models.Person, list(models.Person.objects.order_by("person").values()))
    with pytest.raises(IntegrityError), transaction.atomic():
        again.write()
    assert verify().whole
