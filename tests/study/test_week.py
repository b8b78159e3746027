"""A running study, week after week: the same file gives the same answer, nothing is overwritten, nothing is lost."""

import json
import re
import shutil
from datetime import date
from pathlib import Path

import pandas as pd
import pytest

from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.study.model import load
from peerfront.study.study_folder import LOG, StudyFolder
from peerfront.study.week import WeekRequest, WeekResult, run_week, undo_week
from peerfront.study.week_changes import CouponsLeft, read_running_study
from peerfront.study.week_plan import WeekOrder
from peerfront.words.week_words import HEAD, MODEL, THIS_WEEK, stored_sections
from study.running_study import ORDER, Running, quick_fits


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Running:
    """Three weeks: seeds only, then two with a model."""
    with pytest.MonkeyPatch.context() as patch:
        quick_fits(patch)
        study = Running(tmp_path_factory.mktemp("template"))
        study.results = [study.week(ORDER), study.week(), study.week()]
        study.write()
    return study


@pytest.fixture
def study(template, tmp_path, monkeypatch) -> Running:
    """A copy of it, in its fourth week."""
    quick_fits(monkeypatch)
    return template.copied_to(tmp_path)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def summary_of(made) -> str:
    """The summary in the week's folder, details included."""
    return (made.folder / "summary.txt").read_text()


def test_the_first_week_of_seeds_gives_everybody_the_same(template) -> None:
    first = template.results[0]
    assert first.week.number == 1
    assert set(first.plan.table["coupons"]) == {3}
    assert len(first.plan.table) == 24
    assert "too small to fit" in str(first)
    assert "Give 3 coupons to each of the 24 people who wait." in str(first)


def test_seeds_with_too_few_coupons_draw_lots(tmp_path, monkeypatch) -> None:
    quick_fits(monkeypatch)
    study = Running(tmp_path)
    made = study.week({"budget": 34})
    coupons = made.plan.table["coupons"]
    assert (int(coupons.sum()), sorted(set(coupons))) == (34, [1, 2])
    assert made.plan.table["probability"].tolist() == pytest.approx(
        [10 / 24 if own == 2 else 14 / 24 for own in coupons]
    )
    assert set(made.plan.table["decided_by"]) == {"lot"}
    assert "Give 2 coupons to 10 people, drawn by lot, and 1 to the others who wait." in str(made)
    assert (made.folder / "sheet.xlsx").exists()


def test_later_weeks_have_a_model_a_sheet_and_a_forecast_by_date(template) -> None:
    third = template.results[2]
    told = str(third)
    assert "Week 3, 2026-03-16" in told
    assert "New:" in told
    assert "as planned" in told
    assert re.search(r"Expect \d+ to \d+ more people by 25 May 2026", told)
    assert re.search(r"Target 90 .*\d+%", told)
    assert {path.name for path in third.folder.iterdir()} == {
        "sheet.csv", "sheet.xlsx", "forecast.csv", "forecast.png", "people.csv", "summary.txt", "summary.json",
        "model", "logged.txt",
    }  # fmt: skip
    assert third.plan.outlook.horizon.until.isoformat() == "2026-05-25"
    sheet = pd.read_csv(third.folder / "sheet.csv")
    assert sheet["coupons"].tolist() == third.plan.table["coupons"].tolist()
    left = 120 - sum(int(made.plan.table["coupons"].sum()) for made in template.results[:2])
    assert f"{left} coupons left to give out, of 120." in summary_of(third)


def test_the_log_holds_every_decision(template) -> None:
    kept = StudyFolder(template.folder)
    for week, made in zip(kept.weeks, template.results, strict=True):
        planned = [(entry["person"], entry["planned"]) for entry in week.decisions]
        assert planned == list(zip(made.plan.table["person"], made.plan.table["coupons"].tolist(), strict=True))
        assert all(0.0 < entry["probability"] <= 1.0 and entry["reason"] for entry in week.decisions)
    assert kept.weeks[2].decisions[0]["model"] == kept.weeks[2].facts["model"][:16] != ""
    given = {(entry["week"], entry["person"]): entry for entry in kept.given()}
    assert all(entry["planned"] == entry["given"] for entry in given.values())
    assert len(given) == len(kept.weeks[0].decisions) + len(kept.weeks[1].decisions)


def test_nobody_is_on_two_sheets_who_got_coupons(template) -> None:
    tables = [made.plan.table for made in template.results]
    people = [set(table["person"]) for table in tables]
    got = [set(table.loc[table["coupons"] > 0, "person"]) for table in tables]
    assert all(got), "whoever waits gets something where keeping it all is hardly better"
    assert not got[0] & (people[1] | people[2])
    assert not got[1] & people[2]
    assert people[1] - got[1] <= people[2], "who gets none waits on"
    assert people[1] - got[1]


def test_the_same_week_twice_gives_the_same_answer(study) -> None:
    first = study.make()
    before = files_of(study.folder)
    again = study.make()
    assert again.again
    assert str(again) == str(first)
    assert files_of(study.folder) == before


def test_a_week_is_read_from_its_folder_as_data_or_as_text(tmp_path) -> None:
    first = small_week(tmp_path, SMALL, "2026-03-06", budget=20)
    sections = stored_sections(first.folder)
    assert [section.key for section in sections] == [HEAD, THIS_WEEK, MODEL]
    assert [str(section.title) for section in sections] == ["", "This week", "The model"]
    assert str(sections[1].lines[0]) == "20 coupons left to give out, of 20."
    text = (first.folder / "summary.txt").read_text()
    for damaged in ("{", '[{"key": "head"}]', None):  # cut off, edited, or of version 0.3, which wrote the text alone
        if damaged is None:
            (first.folder / "summary.json").unlink()
        else:
            (first.folder / "summary.json").write_text(damaged)
        again = small_week(tmp_path, SMALL, "2026-03-06")
        assert again.again
        assert str(again).startswith(text.strip())


# Hand-outs -----------------------------------------------------------------------------------------------------------


class Undated(Running):
    """Its file has no date of issue."""

    def write(self) -> None:
        self.field.table(self.day()).drop(columns="issued_date").to_csv(self.file, index=False)


def test_coupons_given_by_a_sheet_carry_its_day(template, tmp_path, monkeypatch) -> None:
    quick_fits(monkeypatch)
    study = Undated(tmp_path)
    results = [study.week(ORDER), study.week(), study.week()]
    for own, known in zip(results, template.results, strict=True):
        assert own.plan.table.equals(known.plan.table)
    forecast, known = results[2].plan.outlook, template.results[2].plan.outlook
    assert (forecast.in_hand, forecast.from_open) == (known.in_hand, known.from_open)
    assert forecast.steps.equals(known.steps)
    assert forecast.summary.equals(known.summary)
    assert forecast.notes == known.notes, "every day is known"
    study.write()
    alone = read_study(study.file, ReadSettings(valid_days=40))
    logged = read_running_study(study.file, ReadSettings(valid_days=40), study.folder)
    assert logged.open.equals(read_study(template.file, ReadSettings(valid_days=40)).open)
    assert not logged.open.equals(alone.open)
    shutil.copytree(study.folder, tmp_path / "harbour-study")
    beside = read_running_study(study.file, ReadSettings(valid_days=40))
    assert beside.open.equals(logged.open)
    assert (beside.waiting["id"] == logged.waiting["id"]).all()
    model = load(StudyFolder(study.folder).model_of(results[2].week))
    by_log, by_file = (model.forecast(each, 10, deadline="2026-05-25", episodes=2) for each in (logged, alone))
    assert by_log.from_open != by_file.from_open


def test_numbers_of_a_sheet_count_only_where_the_file_shows_coupons(tmp_path) -> None:
    small_week(tmp_path, SMALL, "2026-03-06", budget=20)
    got = SMALL.replace("C,A,0", "C,A,2") + "E,C,0,2026-03-12\n"  # D, who was to get 3, has none yet
    made = small_week(tmp_path, got, "2026-03-13")
    assert "14 coupons left" not in str(made)
    assert "18 coupons left" in str(made)
    assert made.plan.table["person"].tolist() == ["D", "E"]
    later = got.replace("D,B,0", "D,B,3")
    small_week(tmp_path, later, "2026-03-20")
    study = read_running_study(tmp_path / "small.csv", ReadSettings(), tmp_path / "study")
    issued = study.open.set_index("id")["issued"]
    assert issued.to_dict() == {"A": "2026-03-02", "B": "2026-03-03", "C": "2026-03-06", "D": "2026-03-13"}


def test_a_file_without_a_column_of_coupons_follows_the_sheets(tmp_path) -> None:
    def make(rows: str, day: str, **given: int) -> WeekResult:
        (tmp_path / "plain.csv").write_text(f"id,recruiter,date\n{rows}", encoding="utf-8")
        request = WeekRequest(day=date.fromisoformat(day), given=given, schema=schema if "budget" in given else None)
        return run_week(tmp_path / "plain.csv", tmp_path / "study", request)

    schema = tmp_path / "schema.toml"
    schema.write_text("[file]\ncoupons_each = 3\n", encoding="utf-8")
    rows = "A,,2026-03-02\nB,A,2026-03-03\n"
    assert not len(make(rows, "2026-03-06", budget=20).plan.table)
    rows += "C,B,2026-03-10\n"
    assert make(rows, "2026-03-13", max_per_person=2).plan.table["person"].tolist() == ["C"]
    third = make(rows + "D,C,2026-03-17\n", "2026-03-20")
    assert "last week's sheet counts as followed" in str(third)
    assert "18 coupons left to give out, of 20." in str(third)
    study = read_running_study(tmp_path / "plain.csv", ReadSettings(coupons_each=3), tmp_path / "study")
    assert study.open.set_index("id").loc["C", ["coupons", "issued"]].tolist() == [2, "2026-03-13"]


def test_sheets_for_people_who_left_the_file_count_as_handed_out(tmp_path) -> None:
    small_week(tmp_path, SMALL, "2026-03-06", budget=20)
    told = str(small_week(tmp_path, SMALL.replace("D,B,0,2026-03-05\n", "E,A,0,2026-03-09\n"), "2026-03-13"))
    assert "Missing from last week's file: D." in told
    assert "17 coupons left to give out, of 20. 3 coupons of people who are no longer in the file" in told


def test_a_file_older_than_the_log_or_of_another_study_is_refused(tmp_path) -> None:
    small_week(tmp_path, SMALL, "2026-03-06", budget=20)
    second = SMALL.replace("C,A,0", "C,A,3") + "E,C,0,2026-03-11\n"
    small_week(tmp_path, second, "2026-03-13")
    before = files_of(tmp_path / "study")
    with pytest.raises(SettingError, match="is the file of week 1, 2026-03-06") as refused:
        small_week(tmp_path, SMALL, "2026-03-20")
    assert refused.value.remedies[0].setting == "undo"
    with pytest.raises(SettingError, match="its last date is 2026-03-05, that one's was 2026-03-11"):
        small_week(tmp_path, SMALL.replace("C,A,0", "C,A,1"), "2026-03-20")  # saved between the two weeks
    with pytest.raises(SettingError, match="5 of the 5 people in the file of the last week .* are not in small.csv"):
        small_week(tmp_path, "X,,3,2026-03-02\nY,X,0,2026-03-19\n", "2026-03-20")
    with pytest.raises(SettingError, match="At least 3 and at most 2 coupons per person contradict each other"):
        small_week(tmp_path, second, "2026-03-20", min_per_person=3, max_per_person=2)
    assert files_of(tmp_path / "study") == before
    assert small_week(tmp_path, second, "2026-03-20").week.number == 3, "nothing new is no older file"


def test_a_week_that_would_contradict_another_is_refused(study) -> None:
    study.make()
    before = files_of(study.folder)
    with pytest.raises(SettingError, match="made from another order. Undo it first"):
        study.make({"target": 80})
    with study.file.open("a") as file:
        file.write("X1,,0,,2026-03-20,North\n")
    with pytest.raises(SettingError, match="made from another file. Undo it first"):
        study.make()
    study.number -= 2
    with pytest.raises(SettingError, match="Weeks follow each other: give a later day"):
        study.make()
    assert files_of(study.folder) == before


def test_undo_and_again(study) -> None:
    made = study.make()
    week = undo_week(study.folder)
    assert week.folder == made.folder.name
    again = study.make()
    assert not again.again
    assert again.folder.name == f"{made.folder.name}_2"
    assert again.plan.table.equals(made.plan.table)
    assert made.folder.is_dir()


def test_lost_rows_and_another_number_are_said(study) -> None:
    table = pd.read_csv(study.file, dtype=str, keep_default_na=False)
    sheet = StudyFolder(study.folder).last.decisions
    other = next(entry for entry in sheet if entry["planned"] == 2 or entry["planned"] == 1)
    brought = (table["recruiter"] == other["person"]).sum()
    table.loc[table["id"] == other["person"], "coupons_issued"] = str(5 + brought)
    leaf = table[(table["coupons_issued"] == "3") & ~table["id"].isin(table["recruiter"])]["id"].iloc[0]
    table[table["id"] != leaf].to_csv(study.file, index=False)
    made = study.make()
    told = str(made)
    assert f"Warning: Missing from last week's file: {leaf}." in told
    assert f"Another number: {other['person']} ({5 + brought}, planned {other['planned']})" in told
    assert "3 coupons of people who are no longer in the file count as handed out." in summary_of(made)


def small_week(folder: Path, rows: str, day: str, **given: int):
    """A week of a study without a model."""
    (folder / "small.csv").write_text(f"id,recruiter,coupons_issued,date\n{rows}", encoding="utf-8")
    request = WeekRequest(day=date.fromisoformat(day), given=given)
    return run_week(folder / "small.csv", folder / "study", request)


SMALL = "A,,3,2026-03-02\nB,,3,2026-03-03\nC,A,0,2026-03-04\nD,B,0,2026-03-05\n"


def test_coupons_of_a_row_that_is_gone_stay_handed_out(tmp_path) -> None:
    small_week(tmp_path, SMALL, "2026-03-06", budget=20)
    given = SMALL.replace("C,A,0", "C,A,3").replace("D,B,0", "D,B,3")
    assert "14 coupons left" in str(small_week(tmp_path, given, "2026-03-13"))
    for day in ("2026-03-20", "2026-03-27"):
        without = given.replace("C,A,3,2026-03-04\n", "")
        assert "14 coupons left" in str(small_week(tmp_path, without, day))


def test_cells_that_were_erased_give_no_coupons_back(tmp_path) -> None:
    first = small_week(tmp_path, SMALL, "2026-03-06", budget=12)
    assert first.new.coupons == CouponsLeft(12, 12, 0)
    erased = SMALL.replace("A,,3", "A,,2").replace("B,,3", "B,,1") + "E,A,0,2026-03-10\n"
    made = small_week(tmp_path, erased, "2026-03-13")
    assert made.new.coupons == CouponsLeft(12, 12, 0)
    assert "A has" in str(made), "it is said that cells changed"
    given = erased.replace("C,A,0", "C,A,2").replace("D,B,0", "D,B,1")
    assert small_week(tmp_path, given, "2026-03-20").new.coupons.left == 9


def test_a_sheet_without_any_coupons_decides_about_nobody(tmp_path) -> None:
    first = small_week(tmp_path, SMALL, "2026-03-06", budget=0)
    assert first.plan.table["coupons"].tolist() == [0, 0]
    assert "2 people waiting, and no coupon for this week." in str(first)
    later = SMALL + "E,A,2,2026-03-08\n"  # somebody after them got coupons
    assert small_week(tmp_path, later, "2026-03-13", more_coupons=20).plan.table["person"].tolist() == ["C", "D"]


def test_whom_a_sheet_gave_none_is_on_the_next_one(study) -> None:
    kept = StudyFolder(study.folder)
    decided = {entry["person"]: entry["planned"] for week in kept.weeks for entry in week.decisions}
    none = {person for person, planned in decided.items() if planned == 0}
    assert none, "the plan of the template gives somebody none"
    for _ in range(2):
        study.write()
        assert none <= set(study.make().plan.table["person"])
        assert none <= set(read_running_study(study.file, ReadSettings(), study.folder).waiting["id"])
        study.number += 1


def test_at_least_one_each_is_asked_once_and_kept(tmp_path) -> None:
    first = small_week(tmp_path, SMALL, "2026-03-06", budget=20)
    assert [each.code for each in first.new.notes] == ["week.at_least_one"]
    assert "min_per_person=1" in str(first)
    later = SMALL + "E,A,0,2026-03-10\n"
    assert small_week(tmp_path, later, "2026-03-13").new.notes == ()
    undo_week(tmp_path / "study")
    answered = small_week(tmp_path, later, "2026-03-13", min_per_person=1)
    assert answered.new.notes == ()
    assert StudyFolder(tmp_path / "study").last.facts["order"]["min_per_person"] == 1
    (tmp_path / "other").mkdir()
    said = small_week(tmp_path / "other", SMALL, "2026-03-06", budget=20, min_per_person=0)
    assert said.new.notes == ()


def test_a_minimum_that_coupons_do_not_suffice_for_is_as_high_as_they_do(tmp_path) -> None:
    made = small_week(tmp_path, SMALL, "2026-03-06", budget=1, min_per_person=1)
    assert sorted(made.plan.table["coupons"]) == [0, 1]
    assert [each.code for each in made.new.notes] == ["week.too_few_for_least"]


def test_people_who_came_after_the_day_of_the_plan_are_said(tmp_path) -> None:
    told = str(small_week(tmp_path, SMALL, "2026-03-04", budget=20))
    assert "3 people in small.csv" in told
    assert "Left out: 1 person who took part after 2026-03-04" in told
    assert "Left out" not in str(small_week(tmp_path, SMALL, "2026-03-06"))


def test_doubtful_places_of_the_file_are_said(tmp_path) -> None:
    told = str(small_week(tmp_path, SMALL + "E,A,0,2999-01-01\nF,A,0,\n", "2026-03-06", budget=20))
    assert "has doubtful places" in told
    assert "peerfront check small.csv --schema study/schema.toml" in told


def test_a_skipped_week_is_said_and_people_without_coupons_wait_on(study) -> None:
    last = StudyFolder(study.folder).last
    table = pd.read_csv(study.file, dtype=str, keep_default_na=False)
    owed = next(entry["person"] for entry in last.decisions if entry["planned"] > 0)
    if owed in table["recruiter"].tolist():
        table = table[table["recruiter"] != owed]
    table.loc[table["id"] == owed, ["coupons_issued", "issued_date"]] = ["0", ""]
    table.to_csv(study.file, index=False)
    study.number += 2
    made = study.make()
    told = str(made)
    assert "2 weeks were skipped: the last plan is 21 days old." in told
    assert f"Nothing yet for {owed}" in told
    assert owed in made.plan.table["person"].tolist()


def test_coupons_are_counted_and_added(study) -> None:
    with pytest.raises(SettingError, match="were given in its first week"):
        study.make({"budget": 50})
    with pytest.raises(SettingError, match="more coupons must be a whole number of at least 0"):
        study.make({"more_coupons": -5})
    made = study.make({"more_coupons": 30})
    assert "of 150." in summary_of(made)
    kept = StudyFolder(study.folder)
    assert kept.last.facts["order"]["budget"] == 150


def test_too_many_handed_out_is_said(study) -> None:
    table = pd.read_csv(study.file, dtype=str, keep_default_na=False)
    table.loc[0, "coupons_issued"] = "300"
    table.to_csv(study.file, index=False)
    with pytest.raises((SettingError, DataFileError), match="handed out since the first week, and there were 120|300"):
        study.make()


def test_a_kept_model_and_one_fitted_again(study) -> None:
    kept = study.make(refit="never")
    assert "is kept" in summary_of(kept)
    assert not (kept.folder / "model").exists()
    undo_week(study.folder)
    fitted = study.make(refit="always")
    assert (fitted.folder / "model").is_dir()
    undo_week(study.folder)
    with pytest.raises(UnknownName, match="'sometimes'. Choose one of: always, auto, never"):
        study.make(refit="sometimes")


def test_a_prior_of_ones_own_is_kept_and_another_one_fits_again(study, tmp_path) -> None:
    file = tmp_path / "prior.toml"
    file.write_text("[limited]\n0 = 1\n")
    kept = study.make({"prior_belief": file}, refit="never")
    assert not (kept.folder / "model").exists()
    assert study.make({"prior_belief": file}).again
    undo_week(study.folder)
    fitted = study.week({"prior_belief": file})
    assert set(fitted.new.choice.model.fit.belief.limited.tolist()) == {0.0}
    assert "Believed before any data, as you said: limited 0 (100%)." in summary_of(fitted)
    file.unlink()
    later = study.week(refit="always")
    assert later.new.choice.model.fit.settings["prior_belief"]["limited"] == [[0.0, 1.0]]
    assert StudyFolder(study.folder).last.facts["order"]["prior_belief"]["limited"] == [[0.0, 1.0]]


def test_an_order_of_an_earlier_version_is_the_same_order(study) -> None:
    order = WeekOrder.from_log(StudyFolder(study.folder).last.facts["order"])
    entry = {name: value for name, value in order.for_log().items() if name != "prior_belief"}
    assert WeekOrder.from_log(entry) == order


def test_an_edited_log_stops_everything(study) -> None:
    log = study.folder / LOG
    lines = log.read_text().splitlines()
    entry = json.loads(lines[1])
    entry["planned"] = 9
    log.write_text("\n".join([lines[0], json.dumps(entry), *lines[2:]]) + "\n")
    before = files_of(study.folder)
    with pytest.raises(DataFileError, match="line 2: the log was changed after it was written"):
        study.make()
    assert files_of(study.folder) == before


def test_a_study_without_dates_runs_too(study) -> None:
    table = pd.read_csv(study.file, dtype=str, keep_default_na=False).drop(columns=["date", "issued_date"])
    shutil.rmtree(study.folder)
    table.to_csv(study.file, index=False)
    made = study.make({"budget": 60})
    assert made.plan.outlook.by_rounds
    assert made.plan.by_rounds_because.code == "undated.no_dates"
    assert len(made.plan.table)


def test_first_weeks_need_what_they_need(study, tmp_path) -> None:
    shutil.rmtree(study.folder)
    with pytest.raises(SettingError, match="The first week needs budget="):
        study.make()
    with pytest.raises(SettingError, match="not after 2026-03-23, the day of this plan"):
        study.make(ORDER | {"deadline": "2026-03-23"})
    assert not study.folder.exists(), "a refused first week leaves nothing"
    with pytest.raises(DataFileError, match="There is no study in"):
        undo_week(tmp_path / "nowhere")
