"""Pages of the plan: for whom they are, what they show, and every button, with and without a browser."""

import io
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta

import openpyxl
import pytest
from accessible import grave_findings
from django.conf import settings as django_settings
from django.utils.html import escape
from live_client import LiveStudy, served
from planned_study import SETTINGS, planned  # noqa: F401 (a fixture)
from planning_site import SMALL_EFFORT, finished, study_folder
from played_study import PlayedStudy

from peerfront.study.advice import advise
from peerfront.study.outlook import STUDIES
from peerfront.study.study_state import standing_today
from peerfront.web.live.exporting import live_study, study_table
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.planning import planning_jobs as jobs
from peerfront.web.live.planning.kept_models import Expected, KeptModel, loaded_model
from peerfront.web.live.planning.making import look_again
from peerfront.web.live.planning.planning_inputs import order_of
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.events import PlannedCoupons
from peerfront.web.live.rules.requests import ApprovePlan, ChangeSettings, IssueCoupons, OverrideCoupons, ProposePlan
from peerfront.web.live.screens.page_words import chance, reason_sentences, spoken_words
from peerfront.web.live.screens.plan_news import GroupFlip, Line, PersonFlip, changes_between
from peerfront.web.live.screens.plan_page import spends_chart
from peerfront.web.pages.speaking import page_speaker
from peerfront.words.language import speaking

SIZES = {"desktop": (1280, 800), "tablet": (820, 1180), "phone": (390, 844)}


class _Going(PlayedStudy):
    """The planned study, worked on."""

    def __init__(self) -> None:
        import itertools
        import random

        self.codes, self.keys = random.Random(8), (f"going-{n}" for n in itertools.count())
        from django.utils import timezone

        self.clock = timezone.now()


@pytest.fixture
def going(planned):  # noqa: F811
    return _Going()


def _key(page) -> str:
    return re.search(r'name="key" value="([0-9a-f]+)"', page.content.decode())[1]


def _text(response) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def test_the_newest_plan_shows_everybody_with_number_and_reason(going, planned) -> None:  # noqa: F811
    plan = planned.plan
    page = going.client(Role.COORDINATOR).get("/plan/")
    shown = _text(page)
    assert "Waits for approval" in shown
    assert f"Model {plan.model}" in shown, "in a fold"
    for line in plan.lines.all():
        assert line.person_id in shown
    total = sum(line.coupons for line in plan.lines.all())
    getting = plan.lines.filter(coupons__gt=0).count()
    assert f"{getting} of {plan.lines.count()} people who wait get coupons" in shown
    kept = DatabaseRecords().study().kept
    assert f"{total} coupons of {kept} left; {kept - total} stay" in shown
    for coupons, people in Counter(plan.lines.values_list("coupons", flat=True)).items():
        assert f"{coupons} coupons: {people} people" in shown
    assert f'<tr><th scope="row">{total}</th>' in page.context["curve"]
    summary = KeptModel(plan.model).plan(plan.seed).summary
    with speaking(page_speaker()):
        for line in (*summary.words, *summary.details):
            assert escape(str(line)) in page.content.decode()
    before = models.Plan.objects.filter(round__isnull=False).order_by("-plan").first()
    assert f"Since plan {before.plan}: {plan.lines.count()} new" in shown


def test_the_plan_page_is_short_beside_its_table(going) -> None:
    html = going.client(Role.COORDINATOR).get("/plan/").content.decode()
    main = html[html.index("<main") : html.index("</main")]
    open_to_all = re.sub(r"<table.*?</table>", " ", main, flags=re.DOTALL)
    open_to_all = re.sub(r"<details.*?</details>", " ", open_to_all, flags=re.DOTALL)
    words = re.sub(r"<[^>]+>", " ", open_to_all).split()
    assert 50 < len(words) <= 130


def test_pages_files_and_advice_show_the_same_figures(going, planned) -> None:  # noqa: F811
    """The plan page, the progress page, the stored files, and `advise` on the same export."""
    plan, settings = planned.plan, DatabaseRecords().study().settings
    kept, model = KeptModel(plan.model).plan(plan.seed), loaded_model(plan.model)
    summary = kept.summary
    study = live_study().as_of(date.fromisoformat(summary.day))
    standing, times, by_rounds = standing_today(model.fit, study, model.schema)
    assert by_rounds is None
    order = order_of(settings, summary.budget, plan.seed, people=len(standing.waiting)).plan_order(summary.budget, 1)
    studies = max(round(STUDIES * float(SMALL_EFFORT)), 20)
    advice = advise(model.fit, standing, order, times, studies=studies)
    outlook = advice.outlook
    assert summary.expected == Expected.of(outlook)
    assert summary.expected.target_chance == outlook.of_plan["reaches_target"]
    rows = [line.split(",") for line in kept.forecast.read_text("utf-8-sig").splitlines()]
    own = outlook.of_plan
    until, *people = rows[-1]
    assert until == outlook.horizon.until.isoformat()
    figures = [outlook.already + own[name] for name in ("recruits", "p10", "p90")]
    assert [float(each) for each in people] == pytest.approx(figures, abs=0.005)
    pages = {name: _text(going.client(Role.COORDINATOR).get(f"/{name}/")) for name in ("plan", "progress")}
    for shown in pages.values():
        assert _band(summary.expected) in shown
        assert f"{own['recruits']:.0f} on average" in shown
    assert f"reached by {own['reaches_target']:.0%} of the simulations" in pages["plan"]
    assert f"Give out {advice.sheet.spend} coupons" in pages["plan"]
    given = dict(zip(advice.sheet.table["person"], advice.sheet.table["coupons"], strict=True))
    ids = study_table()[1]
    assert {ids[line.person_id]: line.planned for line in plan.lines.all()} == given


def _band(expected) -> str:
    return f"{expected.low:.0f} – {expected.high:.0f} more people by"  # noqa: RUF001


def test_at_least_one_each_is_asked_until_somebody_decides(going) -> None:
    coordinator, manager, question = going.client(Role.COORDINATOR), going.client(Role.MANAGER), "at least one coupon?"
    assert question in _text(coordinator.get("/plan/"))
    assert "with at least one each" in _text(manager.get("/settings/")), "with its price"
    settings = DatabaseRecords().study().settings
    going.do(ChangeSettings(replace(settings, at_least_one=False), "as the board says"))
    assert question not in _text(coordinator.get("/plan/"))


def test_who_sees_which_buttons(going, planned) -> None:  # noqa: F811
    number = planned.plan.plan
    buttons = ("Approve this plan", "Change p", "Stop this plan", "Make a new plan")
    seen = {
        (Role.COORDINATOR, None): (True, True, True, True),
        (Role.COORDINATOR, "north"): (False, False, True, False),
        (Role.ANALYST, None): (False, False, False, False),
    }
    for (role, site), expected in seen.items():
        shown = _text(going.client(role, site).get("/plan/"))
        assert tuple(button in shown for button in buttons) == expected, (role, site)
    for role in (Role.INTERVIEWER, Role.CASHIER, Role.MANAGER):
        for address in ("/plan/", f"/plan/{number}/", f"/plan/{number}/sheet/", f"/plan/{number}/approve/"):
            assert going.client(role).get(address).status_code == 403
    analyst = going.client(Role.ANALYST)
    for address in (f"/plan/{number}/approve/", f"/plan/{number}/change/", f"/plan/{number}/stop/"):
        assert analyst.get(address).status_code == 403
        assert analyst.post(address).status_code == 403
    assert analyst.post("/plan/make/").status_code == 403


def test_a_coordinator_of_one_site_changes_no_plan_of_all_sites(going, planned) -> None:  # noqa: F811
    client, number = going.client(Role.COORDINATOR, "north"), planned.plan.plan
    for page in (f"{number}/approve/", f"{number}/change/", "make/", f"job/{planned.pk}/stop/"):
        refused = client.post(f"/plan/{page}", {"key": "one-site"})
        assert refused.status_code == 403, page
        assert "your role is for one site" in _text(refused)
    assert models.PlanningJob.objects.count() == 1
    assert models.Plan.objects.get(plan=number).status == "proposed"


def test_a_number_is_changed_with_a_reason_then_the_plan_approved(going, planned) -> None:  # noqa: F811
    client, plan = going.client(Role.COORDINATOR), planned.plan
    line = plan.lines.filter(coupons__gt=0).first()
    address = f"/plan/{plan.plan}/change/?person={line.person_id}"
    page = client.get(address)
    assert f'value="{line.coupons}"' in page.content.decode()
    entries = {"key": _key(page), "person": line.person_id, "coupons": SETTINGS.cap + 1, "why": "knows many"}
    refused = client.post(address, entries)
    assert f"nobody gets more than {SETTINGS.cap}" in _text(refused)
    assert "knows many" in refused.content.decode()
    entries |= {"key": _key(refused), "coupons": 0, "why": "moved away <b>"}
    assert entries["key"] != _key(page)
    done = client.post(address, entries)
    assert done.status_code == 302
    assert client.post(address, entries).status_code == 302, "sent twice"
    line.refresh_from_db()
    assert (line.coupons, line.why_changed) == (0, "moved away <b>")
    shown = client.get("/plan/")
    assert "moved away &lt;b&gt;" in shown.content.decode()
    assert f"(planned {line.planned})" in _text(shown)
    assert client.get(f"/plan/{plan.plan}/approve/").url == f"/plan/{plan.plan}/"
    approve = re.search(r'action="/plan/\d+/approve/">.*?</form>', shown.content.decode(), re.DOTALL)[0]
    entries = {"key": re.search(r'name="key" value="([0-9a-f]+)"', approve)[1]}
    assert client.post(f"/plan/{plan.plan}/approve/", entries).status_code == 302
    assert client.post(f"/plan/{plan.plan}/approve/", entries).status_code == 302, "sent twice"
    shown = _text(client.get("/plan/"))
    assert len(re.findall("is approved. Coupons are handed out", shown)) == 1
    assert "Approved, in use" in shown
    assert "Approve this plan" not in shown
    assert DatabaseRecords().study().approved_plan == plan.plan
    assert verify().whole


BEFORE = "What is expected here is from before the change."


def test_looking_again_at_an_unchanged_plan_changes_nothing(going, planned) -> None:  # noqa: F811
    plan = planned.plan
    before = KeptModel(plan.model).plan(plan.seed).summary
    going.seed("later", site="north")  # came after the plan was made
    look_again(DatabaseRecords().study(), plan, float(SMALL_EFFORT), lambda *_: None)
    assert KeptModel(plan.model).plan(plan.seed).summary == before


def test_what_is_expected_of_a_changed_plan_is_worked_out_again(going, planned, monkeypatch) -> None:  # noqa: F811
    monkeypatch.setenv(jobs.EFFORT, SMALL_EFFORT)
    client, plan = going.client(Role.COORDINATOR), planned.plan
    kept = KeptModel(plan.model).plan(plan.seed)
    before, line = kept.summary, plan.lines.order_by("-coupons").first()
    before_total = sum(plan.lines.values_list("planned", flat=True))
    address = f"/plan/{plan.plan}/change/"
    client.post(address, {"key": "change-1", "person": line.person_id, "coupons": 0, "why": "moved away"})
    job = models.PlanningJob.objects.get(plan=plan, state__in=jobs.UNDER_WAY)
    for page in ("/plan/", "/progress/"):
        assert BEFORE in _text(client.get(page))
    assert "Working out what to expect of the changed plan" in _text(client.get("/plan/"))
    assert finished(job).state == jobs.DONE
    now, total = kept.summary, sum(plan.lines.values_list("coupons", flat=True))
    assert now.by_hand == {line.person_id: 0}
    assert now.expected != before.expected
    assert (now.day, now.budget, now.expected.until) == (before.day, before.budget, before.expected.until)
    last = kept.forecast.read_text("utf-8-sig").splitlines()[-1].split(",")
    shown = {page: _text(client.get(page)) for page in ("/plan/", "/progress/")}
    for text in shown.values():
        assert BEFORE not in text
        assert _band(now.expected) in text
        assert any(f"{float(last[1]) + rounding:.0f}" in text for rounding in (-0.05, 0.05))  # the file has a decimal
    assert f"Give out {total} coupons" in shown["/plan/"]
    assert f"1 number was changed by hand; {before_total} coupons were planned" in shown["/plan/"]
    assert f"{total} coupons of" in shown["/plan/"]
    sheet = client.get(f"/plan/{plan.plan}/sheet/?file=csv").content.decode("utf-8-sig").splitlines()
    own = next(row for row in sheet if row.startswith(f"{line.person_id},")).split(",")
    assert own[2:5] == ["0", str(line.planned), "moved away"]
    assert own[6] == "0.000"
    client.post(f"/plan/{plan.plan}/approve/", {"key": "approve-1"})
    other = plan.lines.filter(coupons__gt=0).first()
    client.post(f"/people/{other.person_id}/coupons/", {"key": "decide-1", "coupons": 0, "why": "asked for none"})
    assert BEFORE in _text(client.get("/plan/")), "a number that is decided after approval counts, too"
    assert models.PlanningJob.objects.filter(plan=plan, state__in=jobs.UNDER_WAY).count() == 1
    sheet = client.get(f"/plan/{plan.plan}/sheet/?file=csv").content.decode("utf-8-sig").splitlines()
    own = next(row for row in sheet if row.startswith(f"{other.person_id},")).split(",")
    assert (own[2], own[6]) == ("0", ""), "not yet known"


def test_an_outdated_plan_is_refused_with_the_person(going, planned) -> None:  # noqa: F811
    """Somebody of the plan got coupons by the plan before: approving says who, and what to do."""
    plan = planned.plan
    line = plan.lines.filter(coupons__gt=0).select_related("person").first()
    going.do(OverrideCoupons(line.person_id, 1, "now"), site=line.person.site_id)
    going.do(IssueCoupons(line.person_id), site=line.person.site_id)
    client = going.client(Role.COORDINATOR)
    refused = _text(client.post(f"/plan/{plan.plan}/approve/", {"key": "approve-1"}))
    assert "Approve this plan" in refused, "the page of the plan"
    assert f"{line.person_id} got coupons or withdrew" in refused
    assert "give this person 0 coupons" in refused


def test_a_plan_is_stopped_with_a_reason(going, planned) -> None:  # noqa: F811
    client, number = going.client(Role.COORDINATOR, "north"), planned.plan.plan
    page = client.get(f"/plan/{number}/stop/")
    assert client.post(f"/plan/{number}/stop/", {"key": _key(page), "why": ""}).status_code == 200
    assert models.Plan.objects.get(plan=number).status == "proposed"
    assert client.post(f"/plan/{number}/stop/", {"key": _key(page), "why": "harm at the harbour"}).status_code == 302
    assert models.Plan.objects.get(plan=number).status == "stopped"
    assert "Stopped" in _text(client.get("/plan/"))


def test_an_earlier_plan_shows_what_was_handed_out(going) -> None:
    client = going.client(Role.ANALYST)
    approved = models.Plan.objects.filter(round__isnull=False).order_by("plan").first()
    shown = _text(client.get(f"/plan/{approved.plan}/"))
    assert "This is an earlier plan" in shown
    assert "Handed out" in shown
    given = sum(models.Decision.objects.filter(round=approved.round).values_list("coupons", flat=True))
    row = re.search(rf"Plan {approved.plan} \d+-\d+-\d+ Replaced by a later plan (\d+) (\d+) (\d+)", shown)
    assert row, shown[-2000:]
    assert int(row[3]) == given
    assert client.get("/plan/999/").status_code == 404
    assert client.get("/plan/99999999999999999999999/").status_code == 404


def test_the_sheet_as_page_and_files(going, planned) -> None:  # noqa: F811
    client, plan = going.client(Role.COORDINATOR), planned.plan
    page = client.get(f"/plan/{plan.plan}/sheet/")
    assert "Initials" in _text(page)
    north = set(plan.lines.filter(person__site_id="north").values_list("person_id", flat=True))
    csv_file = client.get(f"/plan/{plan.plan}/sheet/?file=csv&site=north")
    assert csv_file["Content-Disposition"] == f'attachment; filename="plan-{plan.plan}-north.csv"'
    rows = csv_file.content.decode("utf-8-sig").splitlines()
    assert rows[0].startswith("person,site,coupons,planned")
    assert {row.split(",")[0] for row in rows[1:]} == north
    reason = plan.lines.filter(person__site_id="north").first().reason
    assert reason_sentences(reason)[0] not in _text(page), "the sheet lies on the desk"
    assert spoken_words(reason) in _text(page)
    assert reason_sentences(reason)[0] in csv_file.content.decode("utf-8-sig")
    book = openpyxl.load_workbook(io.BytesIO(client.get(f"/plan/{plan.plan}/sheet/?file=xlsx").content))
    sheet = book.active
    told = {sheet.cell(row, 1).value: sheet.cell(row, 3).value for row in range(5, sheet.max_row + 1)}
    assert told == dict(plan.lines.values_list("person_id", "coupons"))
    assert sheet.cell(4, 4).value == "Numbers of the coupons"


@pytest.mark.usefixtures("one_database")
def test_a_study_without_plans_says_what_a_plan_is() -> None:
    study = LiveStudy()
    shown = _text(study.client(Role.COORDINATOR).get("/plan/"))
    assert "There is no plan yet" in shown
    assert "Make a new plan" in shown


def test_a_job_is_asked_for_watched_and_stopped_by_its_pages(tmp_path) -> None:
    with study_folder(tmp_path):
        study = LiveStudy()
        study.seed("ana")
        client = study.client(Role.COORDINATOR)
        assert client.get("/plan/make/").status_code == 302
        assert client.post("/plan/make/").status_code == 302
        (job,) = models.PlanningJob.objects.all()
        shown = client.get("/plan/")
        assert "A plan is being made" in _text(shown)
        assert f'data-refresh="/plan/job/{job.pk}/"' in shown.content.decode()
        part = client.get(f"/plan/job/{job.pk}/", headers={"X-Part": "yes"})
        assert "<progress" in part.content.decode()
        assert "<html" not in part.content.decode()
        assert client.get(f"/plan/job/{job.pk}/").status_code == 302
        assert client.get("/plan/job/77/", headers={"X-Part": "yes"}).status_code == 404
        assert client.post("/plan/make/", follow=True).status_code == 200
        assert models.PlanningJob.objects.count() == 1, "one at a time"
        assert client.post(f"/plan/job/{job.pk}/stop/").status_code == 302
        assert finished(job).state == jobs.STOPPED
        part = client.get(f"/plan/job/{job.pk}/", headers={"X-Part": "yes"}).content.decode()
        assert "data-done" in part


@pytest.mark.usefixtures("one_database")
def test_a_job_that_failed_says_why() -> None:
    from django.utils import timezone

    study = LiveStudy()
    models.PlanningJob.objects.create(
        asked_by="x", asked_at=timezone.now(), state=jobs.FAILED, message="Too few <people>."
    )
    page = study.client(Role.COORDINATOR).get("/plan/")
    assert "The last plan could not be made" in _text(page)
    assert "Too few &lt;people&gt;." in page.content.decode()


def _open(chromium, study, address, size, role=Role.COORDINATOR):
    width, height = SIZES[size]
    context = chromium.new_context(viewport={"width": width, "height": height})
    cookie = study.client(role).cookies[django_settings.SESSION_COOKIE_NAME]
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": address}])
    return context.new_page()


@pytest.mark.parametrize("size", ["desktop", "tablet", "phone"])
def test_every_page_of_the_plan_is_without_grave_findings(chromium, going, planned, size) -> None:  # noqa: F811
    number = planned.plan.plan
    person = planned.plan.lines.first().person_id
    addresses = (
        "/plan/", "/plan/1/", f"/plan/{number}/sheet/", f"/plan/{number}/change/?person={person}",
        f"/plan/{number}/?coupons=3", f"/plan/{number}/stop/",
    )  # fmt: skip
    with served() as address:
        page = _open(chromium, going, address, size)
        said = []
        page.on("console", lambda message: said.append(message.text))
        for each in addresses:
            assert page.goto(address + each).status == 200, each
            assert grave_findings(page) == [], each
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, each
        assert said == []
        page.context.close()


def test_a_plan_is_made_and_approved_in_a_browser(chromium, tmp_path) -> None:
    """A real worker; the page shows how far it is, and then the plan, by itself."""
    with study_folder(tmp_path):
        study = LiveStudy()
        for name in ("ana", "ben", "cleo"):
            study.seed(name)
        with served() as address:
            page = _open(chromium, study, address, "tablet")
            page.goto(f"{address}/plan/")
            page.get_by_role("button", name="Make a new plan").click()
            page.get_by_role("heading", name="A plan is being made").wait_for()
            assert grave_findings(page) == []
            approve = page.get_by_role("button", name="Approve this plan")
            approve.wait_for(timeout=120_000)
            box = approve.bounding_box()
            assert box["y"] + box["height"] <= page.viewport_size["height"], "without scrolling"
            approve.click()
            page.get_by_text("Plan 1 is approved.").wait_for()
            assert "plain rule, not a prediction" in page.locator("main").inner_text()
            page.context.close()


def _lines(numbers, answers=()) -> list[Line]:
    return [Line(person, coupons, dict(answers)) for person, coupons in numbers.items()]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({}, {"a": 1}, (1, 0, 0, 0, ())),
        ({"a": 1, "b": 2}, {"b": 3, "c": 0}, (1, 1, 0, 0, ())),
        ({"a": 1, "b": 1}, {"a": 1, "b": 0}, (0, 0, 1, 1, ())),
        ({"a": 3, "b": 0}, {"a": 0, "b": 2}, (0, 1, 1, 0, (PersonFlip("a", 3, 0), PersonFlip("b", 0, 2)))),
    ],
)
def test_changes_between_plans(before, now, expected) -> None:
    found = changes_between(_lines(before), _lines(now), ["gender"])
    assert (found.new, found.more, found.fewer, found.same, found.people) == expected
    assert found.groups == ()


def test_a_group_that_goes_from_many_to_none_is_named() -> None:
    women, men = [("gender", "f")], [("gender", "m")]
    before = _lines(dict.fromkeys("abcde", 3), women) + _lines(dict.fromkeys("uvwxy", 1), men)
    now = _lines(dict.fromkeys("klmno", 0), women) + _lines(dict.fromkeys("uvwxy", 2), men)
    assert changes_between(before, now, ["gender"]).groups == (GroupFlip("gender", "f", 5, 3.0, 0.0),)
    assert changes_between(before[1:], now, ["gender"]).groups == (), "too few"


def test_big_changes_are_named_with_what_is_new(going) -> None:
    """People who wait still, and got three by the approved plan, get none by the next one."""
    settings = DatabaseRecords().study().settings
    people = [f"wait-{number}" for number in range(6)]
    for person in people:
        going.seed(person, site="north")
    waiting = [models.Person.objects.get(pk=person) for person in people]
    for person in waiting:
        if person.answers is None:
            going.came(person.pk, "north")
    reasons = {3: {"code": "same_for_all", "coupons": 3}, 0: {"code": "less_likely", "chance": 0.1}}
    for coupons in (3, 0):
        lines = tuple(PlannedCoupons(each, coupons, "", 1.0, json.dumps(reasons[coupons])) for each in people)
        (event,) = going.do(ProposePlan("model-7", coupons, lines)).events
        if coupons:
            going.do(ApprovePlan(event.fact.plan))
            going.clock += timedelta(minutes=1)
            going.do(ChangeSettings(replace(settings, target=190), "more money"))
            going.seed("new", site="north")
    shown = _text(going.client(Role.COORDINATOR).get("/plan/"))
    assert "6 get fewer" in shown
    assert "Big changes since plan" in shown
    assert "wait-0 : from 3 to 0 ( less likely )" in shown
    assert "and 2 more people" in shown
    assert "1 person came; the same model; other settings: People wanted in all." in shown


def test_a_plan_of_3000_people_is_small_and_shows_each_group(going, planned) -> None:  # noqa: F811
    plan, one = planned.plan, models.Person.objects.first()
    people = [
        models.Person(
            person=f"x{n:04}", site_id="north", code=f"x{n}", enrolled_at=one.enrolled_at, coupons=0, answers=[]
        )
        for n in range(3_000)
    ]
    models.Person.objects.bulk_create(people)
    reason = plan.lines.first().reason
    models.PlanLine.objects.bulk_create(
        models.PlanLine(plan=plan, person=each, coupons=n % 4, planned=n % 4, probability=1.0, reason=reason)
        for n, each in enumerate(people)
    )
    client = going.client(Role.COORDINATOR)
    page = client.get("/plan/")
    assert len(page.content) < 200_000
    assert "none: 750 people" in _text(page)
    assert "Page 1 of 15" in _text(client.get("/plan/?coupons=0"))
    for strange in ("x", "-1", "99999", "²"):
        assert client.get("/plan/", {"coupons": strange}).status_code == 200


def test_other_numbers_of_coupons_are_drawn_with_the_plan_among_them(tmp_path) -> None:
    file = tmp_path / "curve.csv"
    rows = [f"{number},{10.0 - (number - 20) ** 2 / 100}" for number in range(60)]
    file.write_text("\n".join(["spend,value", *rows]))
    chart = spends_chart(file, 15)
    assert chart.count("<tr>") == 61
    assert "the best number" in chart
    assert "this sheet" in chart
    assert "this sheet" not in spends_chart(file, 20)
    assert spends_chart(file, 99) == ""
    for damaged in ("spend,value\n3,1", "nonsense", "spend,value\na,b"):
        file.write_text(damaged)
        assert spends_chart(file, 3) == ""
    assert spends_chart(tmp_path / "none.csv", 3) == ""


def test_chances_have_as_many_digits_as_they_need() -> None:
    assert [chance(each) for each in (1.0, 0.6154, 0.0004, 0.9999)] == ["1", "0.62", "0.0004", "0.9999"]
