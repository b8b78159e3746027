"""Odd and hostile input: characters that no database stores, days outside the calendar, enormous numbers."""

import pytest
from field_study import FieldStudy, form_with

from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role

PAGES_OF_COORDINATORS = (
    "/people/P%001/", "/people/P%001/hand-out/", "/people/?search=%00", "/people/?site=%00", "/coupons/?search=%00",
    "/coupons/a%00b/", "/progress/?site=%00", "/estimates/?asked=%00", "/people/ana/print/?request=%00",
)  # fmt: skip


def test_null_characters_are_refused_in_addresses_and_in_forms(database) -> None:
    study = FieldStudy()
    study.seed("ana")
    coordinator, cashier = study.client(Role.COORDINATOR), study.client(Role.CASHIER, "north")
    statuses = {page: coordinator.get(page).status_code for page in PAGES_OF_COORDINATORS}
    assert set(statuses.values()) == {400}, statuses
    assert cashier.get("/pay/?typed=%00").status_code == 400
    assert cashier.post("/pay/", {"typed": "an\0a"}).status_code == 400
    assert coordinator.post("/work-at/", {"site": "\0"}).status_code == 400
    assert coordinator.get("/people/ana/").status_code == 200


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize("clock", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:00-12:00"])
def test_a_device_clock_outside_the_calendar_is_passed_over(clock) -> None:
    client = FieldStudy().client(Role.INTERVIEWER, "north")
    page = client.post("/arrive/", {"typed": "K7", "key": "one", "device_time": clock})
    assert page.status_code == 200
    assert models.Refusal.objects.get(request_key="one").reason in ("mistyped", "unlisted")


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_the_audit_can_be_asked_for_days_outside_the_calendar(day) -> None:
    assert FieldStudy().client(Role.MANAGER).get("/audit/", {"day": day}).status_code == 200


@pytest.mark.usefixtures("one_database")
def test_an_enormous_payment_is_an_error_of_the_form() -> None:
    client = FieldStudy().client(Role.MANAGER)
    form = form_with(client.get("/settings/"), "interview_payment")
    page = client.post("/settings/", {**form.fields, "interview_payment": "1e400000", "why": "by mistake"})
    assert page.status_code == 200
    assert "no more than 15 digits" in page.content.decode()
