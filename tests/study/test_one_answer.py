"""One study, one answer: the week, the plan, the forecast and the report of one day show the same figures."""

import re
from dataclasses import replace

import numpy as np
import pytest

from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import silent
from peerfront.study.advice import Advice, advise
from peerfront.study.model import Model, load
from peerfront.study.orders import PlanOrder
from peerfront.study.report import ReportSettings, study_report
from peerfront.study.study_folder import StudyFolder
from peerfront.study.study_state import Standing
from peerfront.study.week_changes import read_running_study
from peerfront.study.week_plan import WeekOrder, planned_week
from study.running_study import ORDER, Running, quick_fits
from study.small_advice import a_fit, a_frontier, order, page_of
from study.small_outlook import advice_by_date

STUDIES = 20  # as `Running` asks for


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A study in its third week, with coupons in people's hands and people who got none last week."""
    with pytest.MonkeyPatch.context() as patch:
        quick_fits(patch)
        study = Running(tmp_path_factory.mktemp("one-answer"))
        study.week(ORDER)
        study.week()
        study.write()
        return study, study.make()


def texts_of(advice: Advice) -> list[str]:
    tables = advice.outlook.tables.values()
    return [advice.sheet.csv(), str(advice.sheet), *(table.to_csv() for table in tables), str(advice.outlook)]


def test_the_same_study_and_order_give_the_same_bytes() -> None:
    assert texts_of(advice_by_date(studies=30)) == texts_of(advice_by_date(studies=30))
    by_rounds = [advise(a_fit(), Standing.by_rounds(a_frontier()), order(target=8), studies=30) for _ in range(2)]
    assert texts_of(by_rounds[0]) == texts_of(by_rounds[1])
    other = advise(a_fit(), Standing.by_rounds(a_frontier()), order(target=8, seed=1), studies=30)
    assert texts_of(other) != texts_of(by_rounds[0])


def test_every_view_of_a_day_shows_the_same_figures(running) -> None:
    study, week = running
    model: Model = load(StudyFolder(study.folder).model_of(week.week))
    file = read_running_study(study.file, model.schema.reading, study.folder).as_of(study.day().isoformat())
    asked = PlanOrder(week.new.coupons.left, deadline=ORDER["deadline"], target=ORDER["target"], seed=2)
    sheet = model.advise(file, asked, episodes=STUDIES).sheet
    outlook = model.forecast(file, asked, episodes=STUDIES)
    report = study_report(model.fit, file, model.schema, asked, None, ReportSettings(STUDIES, with_ids=True))
    assert sheet.table["person"].tolist() == week.plan.table["person"].tolist(), "who waits, whoever asks"
    for other in (sheet, report.sheet):
        assert other.table["coupons"].tolist() == week.plan.table["coupons"].tolist()
        assert other.curve.equals(week.plan.sheet.curve)
    known = week.plan.outlook
    for view in (sheet.outlook, outlook, report.outlook):
        assert (view.today, view.horizon, view.in_hand, view.from_open) == (
            known.today, known.horizon, known.in_hand, known.from_open,
        )  # fmt: skip
        assert (view.waiting, view.already, view.budget) == (known.waiting, known.already, known.budget)
        for name, table in view.tables.items():
            assert table.equals(known.tables[name]), name
        assert view.gains == known.gains
        assert view.choices == known.choices
    plan = known.of_plan
    band = f"Expect {plan['p10']:.0f} to {plan['p90']:.0f} more people by 25 May 2026"
    page = re.sub(r"<[^>]+>", "", page_of(model.fit, file, model.schema, asked, None, report.settings))
    for words in (str(week), str(sheet), str(outlook), page):
        assert band in words
    chance = re.search(r"Target 90 \(\d+ to come\): chance \d+%", str(outlook))[0]
    for words in (str(week), str(sheet), page):
        assert chance in words
    coupons = f"{sheet.spend} coupons"
    for words in (str(week), str(sheet), page):
        assert coupons in words


def test_where_nobody_waits_every_view_shows_what_open_coupons_bring(running) -> None:
    study, week = running
    model: Model = load(StudyFolder(study.folder).model_of(week.week))
    file = read_running_study(study.file, model.schema.reading, study.folder).as_of(study.day().isoformat())
    file = replace(file, issued=np.maximum(file.issued, 1))  # whoever had none got one, nobody knows when
    nobody = np.zeros(len(file), dtype=bool)
    asked = PlanOrder(week.new.coupons.left, deadline=ORDER["deadline"], seed=2)
    sheet = model.advise(file, asked, episodes=STUDIES).sheet
    outlook = model.forecast(file, asked, episodes=STUDIES)
    report = study_report(model.fit, file, model.schema, asked, None, ReportSettings(STUDIES))
    again = planned_week(
        model, file, nobody, WeekOrder(asked.budget, ORDER["deadline"]), asked.budget, 3, STUDIES, silent
    )
    assert outlook.waiting == len(sheet.table) == 0 < outlook.in_hand
    for view in (sheet.outlook, report.outlook, again.outlook):
        assert view.steps.equals(outlook.steps)
    band = str(outlook.lines()[0])
    page = re.sub(r"<[^>]+>", "", page_of(model.fit, file, model.schema, asked, None, report.settings))
    for words in (str(sheet), page, "\n".join(map(str, again.sheet.lines()))):
        assert band in words
        assert "nobody is waiting for coupons" in words
    assert "people who get this number" not in page


def test_an_order_that_contradicts_the_log_is_named(running) -> None:
    study, week = running
    model = load(StudyFolder(study.folder).model_of(week.week))
    file = read_running_study(study.file, model.schema.reading, study.folder, newest=True)
    left = week.new.coupons.left
    assert file.coupons_left == left
    asked = PlanOrder(left, deadline=ORDER["deadline"])
    as_the_log = model.advise(file, asked, episodes=STUDIES)
    more = model.advise(replace(file, coupons_left=left - 1), asked, episodes=STUDIES)
    for notes in (as_the_log.sheet.notes, as_the_log.outlook.notes):
        assert "evidence.fewer_left" not in [each.code for each in notes]
    for notes in (more.sheet.notes, more.outlook.notes):
        assert "evidence.fewer_left" in [each.code for each in notes]
    assert f"by the study's log {left - 1} are left" in str(more.sheet)
    assert file.as_of(study.day(1).isoformat()).coupons_left is None


def test_plans_refuse_files_that_are_older_than_the_log(running, tmp_path) -> None:
    study, week = running
    model = load(StudyFolder(study.folder).model_of(week.week))
    lines = study.file.read_text().splitlines()
    old, other = tmp_path / "old.csv", tmp_path / "other.csv"
    old.write_text("\n".join(lines[: len(lines) * 3 // 4]) + "\n")
    other.write_text("\n".join(lines[: len(lines) // 3]) + "\n")
    for file, code in ((old, "week.older_file"), (other, "week.another_study")):
        with pytest.raises(SettingError) as refused:
            read_running_study(file, model.schema.reading, study.folder, newest=True)
        assert refused.value.code == code
        assert len(read_running_study(file, model.schema.reading, study.folder)), "to look at it is allowed"


def test_another_order_is_another_answer(running) -> None:
    """What the test above compares does differ where something differs."""
    study, week = running
    model = load(StudyFolder(study.folder).model_of(week.week))
    alone = read_running_study(study.file, model.schema.reading, study.folder)
    asked = PlanOrder(week.new.coupons.left, deadline=ORDER["deadline"], target=ORDER["target"], seed=2)
    fewer = model.forecast(alone, replace(asked, budget=5), episodes=STUDIES)
    assert not fewer.steps.equals(week.plan.outlook.steps)
    forgotten = model.forecast(replace(alone, listed=None), asked, episodes=STUDIES)
    assert forgotten.waiting < week.plan.outlook.waiting, "without the log nobody knows who got none"
