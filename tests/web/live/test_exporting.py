"""The study as files: they pass `peerfront check`, have the same tree, and go through fit, estimate and report."""

import csv
import io
from datetime import timedelta

import pytest
from django.utils import timezone
from django_site import empty_database, use_database
from live_client import write_contact
from played_study import PLAYED, PlayedStudy
from typer.testing import CliRunner

from peerfront.cli.main import app
from peerfront.data.reading import read_study
from peerfront.data.schema_file import read_schema
from peerfront.foundation.errors import DataFileError
from peerfront.gfp.policy_iteration import PolicyIterationSettings
from peerfront.gfp.surrogate import LaplaceSettings, SurrogateSettings
from peerfront.study.decision_log import COLUMNS, recorded_strata
from peerfront.study.model import fit
from peerfront.web.live import exporting
from peerfront.web.live.operations.staff import begin
from peerfront.web.live.operations.study_files import import_here
from peerfront.web.live.records import models
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.events import ImportedCoupon
from peerfront.web.live.rules.requests import (
    AddSeed,
    ImportedPerson,
    ImportPeople,
    OverrideCoupons,
    VoidCoupon,
    WithdrawPerson,
)
from peerfront.web.live.rules.study_settings import Question, QuestionKind, Settings

QUICK = PolicyIterationSettings(
    rounds=1, episodes=20, states=100, returns=1, steps=50, judged_episodes=20,
    surrogate=SurrogateSettings(latent=4, hidden=16, deadline=True),
    laplace=LaplaceSettings(parents=100, children=8, steps=100),
)  # fmt: skip


def _tree(study):
    ids = [str(each) for each in study.ids]
    return {person: (ids[at] if at >= 0 else None) for person, at in zip(ids, study.recruiter, strict=True)}


def _recorded_tree():
    return dict(models.Person.objects.values_list("person", "recruiter_id"))


def _run(*words):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == 0, f"{words}: {outcome.output}\n{outcome.exception}"
    return outcome.output


@pytest.mark.usefixtures("database")
def test_a_played_study_passes_check_and_has_the_same_tree(tmp_path) -> None:
    PlayedStudy().play(weeks=4)
    files = exporting.write_study(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(path.name for path in files.all)
    for arguments in ((), ("--schema", files.schema)):
        said = _run("check", files.study, *arguments, "--details")
        assert "The sample" in said
    for settings in (None, read_schema(files.schema).reading):
        study = read_study(files.study, settings)
        assert study.problems == ()
        assert _tree(study) == _recorded_tree()
        assert study.issued.sum() == models.Coupon.objects.exclude(holder=None).count()
        assert set(study.waiting["id"]) == exporting.waiting_people()
    assert study.open["open"].sum() > 0


@pytest.mark.usefixtures("one_database")
def test_the_files_go_through_fit_estimate_and_report_unchanged(tmp_path) -> None:
    PlayedStudy().play(weeks=6)
    files = exporting.write_study(tmp_path)
    model = tmp_path / "model"
    study, schema = read_study(files.study, read_schema(files.schema).reading), read_schema(files.schema)
    fit(study, schema, budget=20, rounds=2, people=10, learning=QUICK, response="per_coupon").save(model)
    out = _run("estimate", files.study, "--schema", files.schema, "--outcome", "hiv", "--bootstraps", 20,
               "--decisions", files.decisions)  # fmt: skip
    assert "positive" in out
    _run("estimate", files.study, "--schema", files.schema, "--outcome", "hiv", "--bootstraps", 20)
    _run("report", model, files.study, "--out", tmp_path / "report.html")
    assert "expected" in (tmp_path / "report.html").read_text()


@pytest.mark.usefixtures("one_database")
def test_only_answers_for_planning_are_used(tmp_path) -> None:
    PlayedStudy().play(weeks=3)
    schema = read_schema(exporting.write_study(tmp_path).schema)
    assert set(schema.schema.names) == {"network.size", "gender", "age", "housing"}
    assert {"hiv", "note", "site"} <= set(schema.exclude)
    gender = next(rule for rule in schema.fields if rule.name == "gender")
    assert gender.categories == ("female", "male", "another")
    assert gender.others_unknown


@pytest.mark.usefixtures("one_database")
def test_a_sensitive_answer_is_used_where_the_settings_say_so(tmp_path) -> None:
    import dataclasses

    hiv = Question("hiv", "Last result?", QuestionKind.CHOICE, ("positive", "negative"), for_planning=True)
    questions = tuple(hiv if each.name == "hiv" else each for each in PLAYED.questions)
    PlayedStudy(dataclasses.replace(PLAYED, questions=questions)).play(weeks=3)
    schema = read_schema(exporting.write_study(tmp_path).schema)
    assert "hiv" in schema.schema.names


@pytest.mark.usefixtures("one_database")
def test_withdrawn_people_keep_their_place_in_the_tree_and_nothing_else(tmp_path) -> None:
    study = PlayedStudy().play(weeks=3)
    recruiter = models.Person.objects.filter(recruits__isnull=False).exclude(recruiter=None).first()
    study.do(WithdrawPerson(recruiter.person, True, "moved to Ana's flat"), site=recruiter.site_id)
    files = exporting.write_study(tmp_path)
    read = read_study(files.study)
    assert read.problems == ()
    assert _tree(read) == _recorded_tree()
    (row,) = [row for row in _rows(files.study) if row["id"] == recruiter.person]
    assert all(row[name] == "" for name in ("network.size", "gender", "age", "hiv", "note"))
    assert row["waiting"] == "no"
    assert [each["id"] for each in _rows(files.withdrawn)] == [recruiter.person]
    for file in (files.decisions, files.decision_details):
        decided = [row for row in _rows(file) if row["person"] == recruiter.person]
        assert decided
        assert {(row["stratum"], row.get("reason", "")) for row in decided} == {("withdrawn", "")}, "they tell answers"
    assert recorded_strata([files.decisions], "decision log").of_person[recruiter.person] == "withdrawn"
    assert not any("Ana's flat" in path.read_text("utf-8-sig") for path in files.all)


@pytest.mark.usefixtures("one_database")
def test_void_coupons_are_told_apart_and_do_not_count(tmp_path) -> None:
    study = PlayedStudy().play(weeks=2)
    unused = models.Coupon.objects.filter(redemption=None).exclude(holder=None).first()
    before = exporting.live_study().issued.sum()
    study.do(VoidCoupon(unused.code, "lost"), site=unused.site_id)
    files = exporting.write_study(tmp_path, real_codes=True)
    read = read_study(files.study)
    assert read.issued.sum() == before - 1
    assert shown_code(unused.code) not in files.study.read_text("utf-8-sig")
    (row,) = [row for row in _rows(files.coupons) if row["coupon"] == shown_code(unused.code)]
    assert row["void"]
    settings = models.Study.objects.get()
    handed_out = [row for row in _rows(files.coupons) if row["holder"]]
    assert len(handed_out) + settings.kept == PLAYED.budget


@pytest.mark.usefixtures("one_database")
def test_the_decision_log_is_one_and_tells_every_decision(tmp_path) -> None:
    study = PlayedStudy().play(weeks=3)
    waiting = sorted(exporting.waiting_people())
    person = models.Person.objects.get(person=waiting[0])
    study.do(OverrideCoupons(person.person, 1, "Ana asked for it"), site=person.site_id)
    study.issue(person.person, site=person.site_id)
    files = exporting.write_study(tmp_path)
    rows = _rows(files.decisions)
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == models.Decision.objects.count()
    assert {row["stratum"] for row in rows} == {"female", "male", "another", ""}
    details = {(row["round"], row["person"]): row for row in _rows(files.decision_details)}
    (own,) = [row for row in details.values() if row["person"] == person.person]
    assert (own["decided_by"], own["decided"], own["planned"]) == ("override", "1", "")
    assert "Ana" not in files.decision_details.read_text()
    strata = recorded_strata([files.decisions], "decision log")
    assert sum(strata.coupons.values()) == models.Coupon.objects.exclude(holder=None).count()


@pytest.mark.usefixtures("one_database")
def test_contact_details_are_in_no_file(tmp_path) -> None:
    PlayedStudy().play(weeks=1)
    write_contact("s001", {"name": "Zenobia Quux", "phone": "+351 912 345 678", "note": "ring twice"})
    for path in exporting.write_study(tmp_path).all:
        text = path.read_text("utf-8-sig")
        assert not any(part in text for part in ("Zenobia", "912 345", "ring twice"))


@pytest.mark.usefixtures("one_database")
def test_formulas_and_hostile_answers_stay_text(tmp_path) -> None:
    PlayedStudy().play(weeks=3)
    files = exporting.write_study(tmp_path)
    for row in _rows(files.study):
        assert not any(cell.startswith(("=", "+", "@", "\t")) for cell in row.values())
    told = set(read_study(files.study).people["note"])
    assert {"=1+1", "@home", "a new line", '"quoted", twice; semicolon', "ملاحظة"} <= told


@pytest.mark.usefixtures("one_database")
def test_questions_named_like_columns_of_the_study_are_not_taken_for_them(tmp_path) -> None:
    names = ("id", "site", "coupon_1", "recruiter", "seed", "degree", "waiting", "own_coupon", "answer_id")
    questions = tuple(Question(name, f"{name}?", QuestionKind.TEXT, for_planning=False) for name in names)
    study = PlayedStudy(Settings(budget=20, cap=3, questions=questions, name="Hostile"), weeks=3)
    for person in ("NA", "null", "NA_"):
        study.do(AddSeed(person))
        study.do(_answers(person, names))
    study.approve(NA=2)
    study.issue("NA")
    study.days(1)
    files = exporting.write_study(tmp_path)
    for settings in (None, read_schema(files.schema).reading):
        read = read_study(files.study, settings)
        assert list(read.ids) == ["NA__", "NA_", "null_"]
        assert list(read.issued) == [2, 0, 0]
        assert {"answer_id", "answer_id_", "answer_site", "answer_coupon_1"} <= set(read.people.columns)
        assert set(read.people["answer_coupon_1"]) == {"x coupon_1"}
    assert [row["person"] for row in _rows(files.decisions)] == ["NA__"]
    assert {row["holder"] for row in _rows(files.coupons)} == {"", "NA__"}


@pytest.mark.usefixtures("one_database")
def test_a_study_with_one_seed_can_be_exported_and_one_with_nobody_says_so(tmp_path) -> None:
    study = PlayedStudy()
    with pytest.raises(DataFileError, match="Nobody takes part yet"):
        exporting.write_study(tmp_path)
    study.do(AddSeed("s1"))
    files = exporting.write_study(tmp_path)
    _run("check", files.study, "--schema", files.schema)
    _run("check", files.study)
    assert exporting.waiting_people() == set()  # no answers yet


@pytest.mark.usefixtures("one_database")
def test_people_of_before_are_exported_with_their_own_codes(tmp_path) -> None:
    study = PlayedStudy()
    at = study.now - timedelta(days=60)
    coupons = tuple(
        ImportedCoupon(code, at, at.date(), at.date() + timedelta(days=90), void=False) for code in ("0012", "NA", "7")
    )
    people = (
        ImportedPerson("a", "north", "", None, at, 7, (("gender", "female"),), coupons),
        ImportedPerson("b", "north", "0012", "a", at + timedelta(days=3), 7, (("gender", "male"),)),
        ImportedPerson("early", "north", "", None, at - timedelta(days=3), 7, (("gender", "male"),)),
    )
    study.do(ImportPeople(people, "old.xlsx"), site=None)
    files = exporting.write_study(tmp_path)
    read = read_study(files.study)
    assert _tree(read) == {"a": None, "b": "a", "early": None}
    assert dict(zip(read.ids, read.issued, strict=True)) == {"early": 0, "a": 3, "b": 0}
    assert exporting.waiting_people() == {"b"}
    assert {row["imported"] for row in _rows(files.coupons)} == {"yes"}


def _answers(person, names):
    from peerfront.web.live.rules.requests import RecordAnswers

    return RecordAnswers(person, 3, tuple(sorted((name, f"x {name}") for name in names)))


def _rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))


@pytest.mark.usefixtures("one_database")
def test_an_export_is_imported_elsewhere_and_exported_again_with_the_same_tree(tmp_path) -> None:
    PlayedStudy().play(weeks=4)
    files = exporting.write_study(tmp_path / "first")
    tree, issued = _recorded_tree(), exporting.live_study().issued.sum()
    use_database(empty_database("sqlite"))
    other = PlayedStudy(Settings(budget=50, cap=4, name="Elsewhere"))
    other.clock = timezone.now()
    said = import_here(read_study(files.study, read_schema(files.schema).reading), "study.csv", "north")
    assert str(said[0]).startswith(f"{len(tree)} people imported")
    again = exporting.write_study(tmp_path / "second")
    read = read_study(again.study)
    assert not [problem for problem in read.problems if problem.severity == "error"]
    assert _tree(read) == tree == _recorded_tree()
    assert read.issued.sum() == issued
    assert {"gender", "age", "housing", "hiv"} <= set(read.people.columns)


@pytest.mark.usefixtures("one_database")
def test_no_open_code_leaves_with_the_export_and_aliases_join_the_same_people(tmp_path) -> None:
    PlayedStudy().play(weeks=4)
    files, again = exporting.write_study(tmp_path / "a"), exporting.write_study(tmp_path / "b")
    real = exporting.write_study(tmp_path / "real", real_codes=True)
    texts = [path.read_text("utf-8-sig") for path in files.all]
    codes = [
        spelling
        for code in models.Coupon.objects.values_list("code", flat=True)
        for spelling in (code, shown_code(code))
    ]
    assert not [code for code in codes if any(code in text for text in texts)]
    assert all(shown_code(code) in real.coupons.read_text("utf-8-sig") for code in codes[::2])
    for one, other in zip(files.all, again.all, strict=True):
        assert one.read_bytes() == other.read_bytes(), "the same aliases each time"
    study = read_study(files.study)
    assert study.problems == ()
    assert _tree(study) == _tree(read_study(real.study)) == _recorded_tree()
    held = {row["coupon"]: row["holder"] for row in _rows(files.coupons)}
    assert len(held) == models.Coupon.objects.count()
    for row in _rows(files.study):
        if row["recruiter.id"]:
            assert held[row["own.coupon"]] == row["recruiter.id"]
    # An analyst's copy can be imported: the same tree, and its coupons are of no use to anybody.
    use_database(empty_database("sqlite"))
    begin(PLAYED, {"north": "North", "south": "South"})
    assert "live_import.aliases" in [each.code for each in import_here(study, "study.csv", None)]
    assert {person for person, _ in _recorded_tree().items()} == set(map(str, study.ids))
    assert not models.Coupon.objects.filter(code__in=codes).exists()
