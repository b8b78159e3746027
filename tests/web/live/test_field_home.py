"""The first page: what is next for each role, and what to do before a study can begin."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone
from field_study import FIELD_SETTINGS, FieldStudy, form_with, words_of
from live_client import BACKEND

from peerfront.web.live.records import models
from peerfront.web.live.records.database import member_from
from peerfront.web.live.records.models import Plan
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.events import PaymentKind
from peerfront.web.live.rules.requests import AddSeed, AddSite, ApprovePlan, EnrolPerson, IssueCoupons, Pay, ScanCoupon
from peerfront.web.live.screens.plan_page import lines_in_sight
from peerfront.words.charts import Point

NARROW = "\u00a0"


def _home(study: FieldStudy, role: Role, site: str | None = None) -> str:
    return words_of(study.client(role, site).get("/")).replace(NARROW, " ")


def _next(page) -> dict[str, str]:
    """Who is here, with the address of what is next."""
    rows = re.findall(r"<li><span><[^>]+>([^<]+)</.*?href=\"([^\"]+)\"", page.content.decode().partition("Here now")[2])
    return dict(rows)


def test_an_interviewer_scans_at_once_and_sees_who_waits(one_database) -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    study.enrol("dora", first)
    study.do(EnrolPerson(second, "emil"))
    study.seed("sara", site="south")
    client = study.client(Role.INTERVIEWER, "north")
    page = client.get("/")
    words = words_of(page)
    assert form_with(page, "typed").action == "/arrive/"
    assert _next(page) == {"emil": "/people/emil/answers/", "dora": "/people/dora/hand-out/"}
    assert "3 enrolled today 3 enrolled this week" in words
    assert "sara" not in words, "of another site"
    assert "ana" not in words, "has got coupons"


@pytest.mark.usefixtures("one_database")
def test_who_was_scanned_is_here_until_they_are_finished() -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    interviewer = study.client(Role.INTERVIEWER, "north")
    study.do(ScanCoupon(first))
    study.do(ScanCoupon(first))
    assert list(_next(interviewer.get("/")).values()) == [f"/enrol/?code={first}"], "once, however often it was scanned"
    study.enrol("dora", first)
    assert _next(interviewer.get("/")) == {"dora": "/people/dora/hand-out/"}
    study.approve(dora=1)
    study.do(IssueCoupons("dora"))
    study.enrol("emil", second)
    study.approve(emil=1)
    assert _next(interviewer.get("/")) == {"emil": "/people/emil/hand-out/"}, "dora has coupons, of an earlier round"
    several = study.client((Role.INTERVIEWER, Role.CASHIER), "north")
    assert _next(several.get("/")) == {
        "emil": "/people/emil/hand-out/",
        "dora": "/pay/?typed=dora",
        "ana": "/pay/?typed=ana",
    }
    study.do(Pay(first, PaymentKind.INTERVIEW))
    assert "dora" not in _next(several.get("/"))


@pytest.mark.usefixtures("one_database")
def test_this_week_beside_what_was_expected(monkeypatch) -> None:
    today = timezone.localdate()
    monday = today - timedelta(days=today.weekday())
    study = FieldStudy(replace(FIELD_SETTINGS, target=21, deadline=monday + timedelta(days=20)))
    study.seed("ana")
    assert "1 / 7 enrolled this week / needed for the target" in _home(study, Role.COORDINATOR)
    forecast = [Point(monday, 0.0), Point(monday + timedelta(days=14), 10.0)]
    monkeypatch.setattr("peerfront.web.live.screens.home.newest_outlook", lambda _: (None, forecast))
    assert "1 / 5 enrolled this week / expected" in _home(study, Role.COORDINATOR)
    assert "expected" not in _home(study, Role.INTERVIEWER, "north"), "one of two sites"


@pytest.mark.usefixtures("one_database")
def test_whoever_has_coupons_is_nowhere_listed_as_without_after_a_new_plan() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.seed("ben")
    study.approve(ana=2, ben=0)
    new = study.plan(ana=0, ben=1)  # before ana gets hers
    study.issue("ana")
    study.do(ApprovePlan(new))
    home = _home(study, Role.INTERVIEWER, "north")
    assert "ben" in home
    assert "ana" not in home
    coordinator = study.client(Role.COORDINATOR)
    waiting = words_of(coordinator.get("/people/?show=waiting"))
    assert "ben" in waiting
    assert "ana" not in waiting
    person = coordinator.get("/people/ana/").content.decode()
    assert "/people/ana/print/" in person
    assert "/people/ana/hand-out/" not in person
    assert "To get in this round" not in person
    lines = {line.person_id: line.handed_out for line in lines_in_sight(_asking(study), Plan.objects.get(plan=new))}
    assert lines == {"ana": 2, "ben": None}


@pytest.mark.usefixtures("one_database")
def test_whoever_has_coupons_and_is_to_get_more_is_asked_to_come() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=1)
    study.issue("ana")
    study.approve(ana=1)
    person = study.client(Role.COORDINATOR).get("/people/ana/").content.decode()
    assert "/people/ana/hand-out/" in person


def _asking(study: FieldStudy) -> HttpRequest:
    request = HttpRequest()
    request.member = member_from(study.user(Role.COORDINATOR).member)
    return request


@pytest.mark.usefixtures("one_database")
def test_a_cashier_sees_what_is_owed() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.seed("sara", site="south")
    assert form_with(study.client(Role.CASHIER, "north").get("/"), "typed").action == "/pay/"
    words = _home(study, Role.CASHIER, "north")
    assert "Pay EUR 20.00" in words
    assert _next(study.client(Role.CASHIER, "north").get("/")) == {"ana": "/pay/?typed=ana"}
    assert "EUR 20.00 owed EUR 0.00 paid today" in words
    assert "sara" not in words


@pytest.mark.usefixtures("one_database")
def test_a_coordinator_sees_plans_people_and_coupons() -> None:
    study = FieldStudy(days_ago=10)
    study.coupons(3)
    study.days_ago = timedelta(0)
    study.seed("ben")
    study.plan(ben=1)
    words = _home(study, Role.COORDINATOR)
    assert "1 plan waits for approval" in words
    assert "1 person waits for coupons" in words
    assert "3 valid coupons expire within a week" in words
    assert "17 coupons of the budget are left" in words
    assert "add a seed" in words
    study.approve(ben=2)
    study.do(IssueCoupons("ben"))
    words = _home(study, Role.COORDINATOR, "north")
    assert "0 plans wait for approval" in words
    assert "0 people wait for coupons" in words


@pytest.mark.usefixtures("one_database")
def test_a_manager_sees_users_and_back_ups(tmp_path) -> None:
    from django.conf import settings
    from django.test import override_settings

    study = FieldStudy()
    study.user(Role.ANALYST)
    folder = replace(settings.LIVE_FOLDER, path=tmp_path)
    folder.backups.mkdir()
    client = study.client(Role.MANAGER)  # counts as a login
    with override_settings(LIVE_FOLDER=folder):
        words = words_of(client.get("/"))
        assert "1 user has never logged in" in words
        assert "0 back-ups were made" in words
        day = timezone.now() - timedelta(days=3)
        (folder.backups / f"backup-{day:%Y%m%dT%H%M%SZ}.zip").write_bytes(b"")
        assert f"{day:%m/%d/%Y} was the last back-up" in words_of(client.get("/"))


@pytest.mark.usefixtures("one_database")
def test_before_the_study_begins_the_manager_is_told_what_to_do_first() -> None:
    clients = {}
    for role in (Role.MANAGER, Role.INTERVIEWER):
        user = User.objects.create_user(role.value, password="x" * 20)
        models.Member.objects.create(user=user, roles=role.value)
        clients[role] = Client()
        clients[role].force_login(user, backend=BACKEND)
    assert "What to do first" in words_of(clients[Role.MANAGER].get("/"))
    assert "The study is being prepared" in words_of(clients[Role.INTERVIEWER].get("/"))


@pytest.mark.usefixtures("one_database")
def test_without_sites_the_next_step_is_a_site(one_database) -> None:
    from small_live import PREFIX, SmallStudy

    from peerfront.web.live.records.recording import answer
    from peerfront.web.live.rules.actions import Member
    from peerfront.web.live.rules.requests import BeginStudy, Request

    boss = Member("boss", (Role.MANAGER,), None)
    answer(Request("begin", boss, None, None, BeginStudy(SmallStudy().state.study().settings, PREFIX)))
    user = User.objects.create_user("boss", password="x" * 20)
    models.Member.objects.create(user=user, roles=Role.MANAGER.value)
    client = Client()
    client.force_login(user, backend=BACKEND)
    words = words_of(client.get("/"))
    assert "✓ Say what the study is like" in words
    assert "Add the sites where people come." in words
    answer(Request("site", boss, None, None, AddSite("north", "North clinic")))
    assert "What to do first" not in words_of(client.get("/"))


@pytest.mark.parametrize("role", list(Role))
def test_every_role_has_a_first_page(one_database, role) -> None:
    study = FieldStudy()
    study.do(AddSeed("ana"))
    for site in ("north", None):
        page = study.client(role, site).get("/")
        assert page.status_code == 200
        at_counter = role in (Role.INTERVIEWER, Role.COORDINATOR, Role.CASHIER)
        assert f"<h1>{'Today' if at_counter else 'Harbour study'}</h1>" in page.content.decode()
        assert ("typed" in page.content.decode()) == at_counter
