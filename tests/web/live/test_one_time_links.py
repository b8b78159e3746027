"""One-time links are shown once, to their maker, on the page of the person they are for; and they work once."""

import re

import pytest
from at_once import at_once
from django.contrib.auth.models import User
from django.test import Client
from field_study import FieldStudy

from peerfront.web.live.operations import staff
from peerfront.web.live.operations.staff import new_link
from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role


@pytest.mark.usefixtures("one_database")
def test_a_link_is_not_shown_on_the_page_of_somebody_else() -> None:
    study = FieldStudy()
    ana, bea = study.user(Role.CASHIER, "north", "ana"), study.user(Role.CASHIER, "north", "bea")
    manager = study.client(Role.MANAGER)
    made = manager.post(f"/users/{ana.pk}/", {"do": "link", "key": "one"})  # its answer is lost on the way
    assert made["Location"] == f"/users/{ana.pk}/"
    assert "first-login" not in manager.get(f"/users/{bea.pk}/").content.decode()
    manager.post(f"/users/{ana.pk}/", {"do": "link", "key": "two"})
    assert "first-login" in manager.get(f"/users/{ana.pk}/").content.decode()
    assert "first-login" not in manager.get(f"/users/{ana.pk}/").content.decode(), "once"


@pytest.mark.usefixtures("one_database")
def test_managers_cannot_lock_themselves_out_by_a_link_of_their_own() -> None:
    study = FieldStudy()
    manager = study.client(Role.MANAGER)
    own = study.user(Role.MANAGER)
    manager.post(f"/users/{own.pk}/", {"do": "link", "key": "one"})
    assert User.objects.get(pk=own.pk).has_usable_password()
    assert manager.get(f"/users/{own.pk}/").status_code == 200, "still logged in"


def test_a_link_that_is_used_eight_times_at_once_works_once(database) -> None:
    study = FieldStudy()
    ana = study.user(Role.CASHIER, "north", "ana")
    manager = study.client(Role.MANAGER)
    manager.post(f"/users/{ana.pk}/", {"do": "link", "key": "one"})
    shown = manager.get(f"/users/{ana.pk}/").content.decode()
    address = re.search(r"http://testserver(/first-login/[^<]+)<", shown)[1]
    passwords = [f"Nine lives of a cat {number}" for number in range(8)]

    def use(password):
        return Client().post(address, {"new_password1": password, "new_password2": password}).status_code

    statuses = at_once(*(lambda password=each: use(password) for each in passwords))
    assert sorted(statuses) == [302] + [410] * 7
    ana.refresh_from_db()
    assert ana.check_password(passwords[statuses.index(302)]), "who was told so has the password"
    notes = models.Event.objects.filter(kind="action_noted", data__contains="chose a password")
    assert notes.count() == 1


def test_a_password_and_its_seal_change_together(database, monkeypatch) -> None:
    study = FieldStudy()
    ana = study.user(Role.CASHIER, "north", "ana")
    sealed = models.Member.objects.get(user=ana).password_seal

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for place in (User, "save_base"), (staff, "end_sessions"):  # after the seal, and after both
        with monkeypatch.context() as patch:
            patch.setattr(*place, killed)
            with pytest.raises(KeyboardInterrupt):
                new_link(ana, "")
    assert models.Member.objects.get(user=ana).password_seal == sealed
    assert User.objects.get(pk=ana.pk).has_usable_password()
