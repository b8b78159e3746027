"""A name for logging in is one person's, also if two managers choose it at the same moment."""

import re

import pytest
from at_once import at_once
from django.contrib.auth.models import User
from django.test import Client
from field_study import FieldStudy, form_with, words_of
from live_client import BACKEND

from peerfront.web.live.operations import staff
from peerfront.web.live.operations.staff import new_link
from peerfront.web.live.records.models import Event, Member
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.screens import users

TAKEN = "Somebody has this name already"


@pytest.fixture
def checked_too_early(monkeypatch):
    """Forms are checked before anybody has the name; what the transaction finds decides."""
    monkeypatch.setattr(users, "is_taken", lambda *_, **__: False)


@pytest.mark.usefixtures("database", "checked_too_early")
def test_two_managers_add_the_same_name_at_once() -> None:
    study = FieldStudy()
    first, second = study.client(Role.MANAGER), Client()
    second.force_login(study.user(Role.MANAGER, name="other"), backend=BACKEND)
    entries = {"roles": "cashier", "site": "north"}
    answers = at_once(
        lambda: first.post("/users/add/", entries | {"name": "bea", "key": "first"}),
        lambda: second.post("/users/add/", {"name": "Bea", "key": "second", "roles": "interviewer", "site": "south"}),
    )
    assert sorted(answer.status_code for answer in answers) == [200, 302]
    (refused,) = (answer for answer in answers if answer.status_code == 200)
    assert TAKEN in words_of(refused)
    assert form_with(refused, "name")["name"].lower() == "bea", "what was typed is kept"
    assert User.objects.filter(username__iexact="bea").count() == 1
    assert Event.objects.filter(request_key__in=("first", "second")).count() == 1, "nothing is noted that was not done"
    (member,) = Member.objects.filter(user__username__iexact="bea")
    expected = ("cashier", "north") if answers[0].status_code == 302 else ("interviewer", "south")
    assert (member.roles, member.site_id) == expected, "nobody's role was replaced"


@pytest.mark.usefixtures("one_database", "checked_too_early")
def test_a_manager_who_chooses_a_name_that_was_taken_meanwhile_is_told() -> None:
    study = FieldStudy()
    study.user(Role.CASHIER, "north", "bea")
    new = study.user(Role.MANAGER, name="manager")
    address = new_link(new, "").address
    chosen = {"user_name": "Bea", "new_password1": "four plain words here", "new_password2": "four plain words here"}
    browser = Client()
    assert TAKEN in words_of(browser.post(address, chosen))
    assert browser.post(address, chosen | {"user_name": "boss"}).status_code == 302, "the link still works"
    assert User.objects.get(pk=new.pk).username == "boss"


@pytest.mark.usefixtures("one_database")
def test_the_same_form_sent_again_is_not_refused() -> None:
    study = FieldStudy()
    manager = study.client(Role.MANAGER)
    entries = {"name": "bea", "key": "once", "roles": "cashier", "site": "north"}
    first, again = (manager.post("/users/add/", entries) for _ in range(2))
    assert first["Location"] == again["Location"]
    assert re.fullmatch(r"/users/\d+/", first["Location"])
    assert not staff.is_taken("ben")
