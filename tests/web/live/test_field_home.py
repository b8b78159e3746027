"""The first page: what is next for each role, and what to do before a study can begin."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone
from field_study import FieldStudy, form_with, words_of
from live_client import BACKEND

from peerfront.web.live.records import models
from peerfront.web.live.records.database import member_from
from peerfront.web.live.records.models import Plan
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.requests import AddSeed, AddSite, ApprovePlan, EnrolPerson, IssueCoupons
from peerfront.web.live.screens.plan_page import lines_in_sight

NARROW = "\u00a0"


def _home(study: FieldStudy, role: Role, site: str | None = None) -> str:
    return words_of(study.client(role, site).get("/")).replace(NARROW, " ")


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
    assert "Answers are missing emil" in words
    assert "Came today, no coupons yet dora" in words
    assert "sara" not in words, "of another site"
    assert "ana" not in words, "has got coupons"


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
    assert "ana interview EUR 20.00" in words
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
    from dataclasses import replace

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
        assert "<h1>Harbour study</h1>" in page.content.decode()
    assert ("typed" in page.content.decode()) == (role in (Role.INTERVIEWER, Role.COORDINATOR, Role.CASHIER))
