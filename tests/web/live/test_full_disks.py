"""A full disk, where the steps of `benchmarks/live_faults.py disk` found that somebody was told nothing, or wrongly."""

import errno
import os
from contextlib import contextmanager

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError
from django.test import Client
from django_site import STUDY_FOLDER
from field_study import ANSWERED, FieldStudy, form_with
from live_client import PASSWORD, LiveStudy

from peerfront.foundation import files
from peerfront.web.live.operations.signed_heads import keep_head, signed_heads
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.requests import RecordAnswers, WithdrawPerson
from peerfront.web.live.screens import logins, staff_requests

FULL = OSError(errno.ENOSPC, "No space left on device")


def _full(*_: object, **__: object) -> None:
    raise FULL


@contextmanager
def _told(client: Client):
    client.raise_request_exception = False
    yield
    client.raise_request_exception = True


def test_erasing_says_that_the_disk_is_full_and_erases_nothing(database, monkeypatch) -> None:
    study = LiveStudy()
    study.seed("ana")
    study.do(WithdrawPerson("ana", False, "asked to"))
    client = study.client(Role.COORDINATOR)
    form = {"key": "one", "what": ["answers"], "why": "asked to"}
    with monkeypatch.context() as patch, _told(client):
        patch.setattr(files, "open_temporary", _full)
        refused = client.post("/people/ana/erase/", form)
    assert refused.status_code == 503
    assert "It is not certain that what you just did was recorded." in refused.content.decode()
    assert models.Person.objects.get(person="ana").answers
    assert client.post("/people/ana/erase/", form).status_code == 302
    assert not models.Person.objects.get(person="ana").answers
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_a_page_whose_session_cannot_be_written_does_not_say_that_nothing_was_recorded(monkeypatch) -> None:
    study = LiveStudy()
    client = study.client(Role.MANAGER)
    form = {"key": "one", "name": "ana", "roles": "interviewer", "site": "north"}

    def full(*_: object, **__: object) -> None:
        raise OperationalError("database or disk is full")

    with monkeypatch.context() as patch, _told(client):
        patch.setattr(SessionStore.get_model_class(), "save", full)
        answered = client.post("/users/add/", form)
    assert answered.status_code == 503
    words = answered.content.decode()
    assert "It is not certain that what you just did was recorded." in words
    assert "Nothing was recorded." not in words
    assert models.Member.objects.filter(user__username="ana").exists()
    assert client.post("/users/add/", form).status_code == 302, "sent again"


@pytest.mark.usefixtures("one_database")
def test_a_form_of_two_requests_is_not_said_to_have_recorded_nothing_when_the_second_finds_no_room(monkeypatch) -> None:
    study = FieldStudy()
    (code, *_) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    form = form_with(client.get(f"/enrol/?code={code}"), "person")
    sent = form.fields | ANSWERED | {"person": "bea"}
    whole = staff_requests.answer

    def full_after_the_first(request, **named):
        if isinstance(request.wish, RecordAnswers):
            raise OperationalError("database or disk is full")
        return whole(request, **named)

    with monkeypatch.context() as patch, _told(client):
        patch.setattr(staff_requests, "answer", full_after_the_first)
        refused = client.post(f"/enrol/?code={code}", sent)
    assert refused.status_code == 503
    assert models.Person.objects.filter(person="bea", answers__isnull=True).exists(), "the first request is recorded"
    assert "Nothing was recorded." not in refused.content.decode()
    assert client.post(f"/enrol/?code={code}", sent).status_code == 302
    assert models.Person.objects.get(person="bea").answers


@pytest.mark.usefixtures("one_database")
def test_a_login_that_cannot_be_noted_is_none_and_can_be_sent_again(monkeypatch) -> None:
    study = LiveStudy()
    name = study.user(Role.CASHIER, "north").username
    client = Client(enforce_csrf_checks=True)
    page = client.get("/login/").content.decode()
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    form = {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": token}

    def full(*_: object, **__: object) -> None:
        raise OperationalError("database or disk is full")

    with monkeypatch.context() as patch, _told(client):
        patch.setattr(logins, "note_login", full)
        assert client.post("/login/", form).status_code == 503
    assert client.get("/").status_code == 302, "not logged in"
    assert client.post("/login/", form).status_code == 302
    assert client.get("/").status_code == 200


@pytest.mark.usefixtures("one_database")
def test_a_signed_head_that_finds_no_room_is_left_out_and_not_cut_in_two(monkeypatch) -> None:
    study = LiveStudy()
    keep_head(STUDY_FOLDER)
    study.seed("ana")
    whole, write = STUDY_FOLDER.heads.read_bytes(), os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, data: write(file, data[:40]))
        keep_head(STUDY_FOLDER)
    assert STUDY_FOLDER.heads.read_bytes() == whole
    keep_head(STUDY_FOLDER)
    found = signed_heads(STUDY_FOLDER)
    assert (found.kept, found.faults) == (2, ())
