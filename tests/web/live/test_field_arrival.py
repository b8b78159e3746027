"""Arrive: every answer to a coupon that is scanned or typed, with what to do; each scan is recorded once."""

from datetime import timedelta

import pytest
from django.utils import timezone
from field_study import FieldStudy, form_with, words_of
from live_client import BACKEND

from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.codes import ALPHABET, new_code, shown_code
from peerfront.web.live.rules.requests import EnrolPerson, VoidCoupon


def _scan(client, typed: str):
    form = form_with(client.get("/arrive/"), "typed")
    return client.post(form.action, {**form.fields, "typed": typed})


def test_a_valid_coupon_leads_to_enrolment(one_database) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    answered = _scan(client, f" {shown_code(code).lower()} ")
    assert answered.status_code == 302
    page = client.get(answered["Location"])
    words = words_of(page)
    assert f"Coupon {shown_code(code)} is valid." in words
    assert form_with(page, "network_size", "person")["person"].startswith("P")
    assert models.Event.objects.filter(kind="coupon_scanned").count() == 1
    assert verify().whole


def _not_yet(study: FieldStudy) -> str:
    from dataclasses import replace

    from field_study import FIELD_SETTINGS

    from peerfront.web.live.rules.requests import ChangeSettings

    study.do(ChangeSettings(replace(FIELD_SETTINGS, active_after_days=3), "later"))
    return study.coupons(1, "cleo")[0]


def _expired(study: FieldStudy) -> str:
    study.days_ago = timedelta(days=30)
    code = study.coupons(1, "cleo")[0]
    study.days_ago = timedelta(0)
    return code


def _used(study: FieldStudy) -> str:
    code = study.coupons(1, "cleo")[0]
    study.enrol("dora", code)
    return code


def _void(study: FieldStudy) -> str:
    code = study.coupons(1, "cleo")[0]
    study.do(VoidCoupon(code, "lost"))
    return code


def _mistyped(study: FieldStudy) -> str:
    code = study.coupons(1, "cleo")[0]
    wrong = next(each for each in ALPHABET if each != code[5])
    return code[:5] + wrong + code[6:]


CASES = {
    "not yet": (_not_yet, "not_yet_active", "is valid from", "Ask the person to come back on"),
    "expired": (_expired, "expired", "was valid until", "The coordinator can extend the coupon."),
    "used": (_used, "used", "was used on", "A coupon is for one person."),
    "void": (_void, "voided", "was made void on", "Do not enrol the person with it."),
    "unknown": (lambda study: new_code("K7"), "unknown", "No coupon with the code", "tell the coordinator"),
    "mistyped": (_mistyped, "mistyped", "a character is wrong", "type it again"),
    "no code": (lambda study: "hello", "unlisted", "", ""),
    "other study": (lambda study: new_code("M9"), "other_study", "of another study", "Do not enrol the person"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("one_database")
def test_every_refusal_says_what_was_found_and_what_to_do(case) -> None:
    make, reason, found, to_do = CASES[case]
    study = FieldStudy(days_ago=40)
    study.days_ago = timedelta(0)
    code = make(study)
    client = study.client(Role.INTERVIEWER, "north")
    page = _scan(client, code)
    assert page.status_code == 200
    words = words_of(page)
    assert found in words
    assert to_do in words
    assert models.Refusal.objects.get(action="scan_coupon").reason == reason
    again = form_with(page, "typed")
    assert again["key"], "the next coupon can be scanned at once"


@pytest.mark.usefixtures("one_database")
def test_what_was_mistyped_stays_to_be_mended_and_other_codes_make_room() -> None:
    study = FieldStudy()
    mistyped = _mistyped(study)
    client = study.client(Role.INTERVIEWER, "north")
    assert form_with(_scan(client, mistyped), "typed")["typed"] == mistyped
    assert form_with(_scan(client, new_code("M9")), "typed")["typed"] == ""


def test_the_same_form_sent_twice_is_one_scan(one_database) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    form = form_with(client.get("/arrive/"), "typed")
    sent = {**form.fields, "typed": code}
    first, second = client.post("/arrive/", sent), client.post("/arrive/", sent)
    assert first["Location"] == second["Location"]
    assert models.Event.objects.filter(kind="coupon_scanned").count() == 1
    other = client.post("/arrive/", {**sent, "typed": new_code("K7")})
    assert "This form was sent before with other entries." in words_of(other)


@pytest.mark.usefixtures("one_database")
def test_an_interrupted_enrolment_goes_on_from_the_used_coupon() -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    study.do(EnrolPerson(first, "dora"))
    study.do(EnrolPerson(second, "emil"), site="south")
    client = study.client(Role.INTERVIEWER, "north")
    page = _scan(client, first)
    assert 'href="/people/dora/answers/"' in page.content.decode()
    elsewhere = _scan(client, second).content.decode()
    assert "emil" not in elsewhere, "people of another site are not shown"


HOSTILE = [
    "<script>alert(1)</script>",
    '=HYPERLINK("http://x")',
    "\u202egnp.exe",
    "'; DROP TABLE event; --",
    "{{ 7*7 }}",
    "K7" + "\u200f" * 300,
    "x" * 100_000,
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
]


@pytest.mark.parametrize("typed", HOSTILE)
def test_hostile_text_is_refused_and_never_becomes_markup(database, typed) -> None:
    study = FieldStudy()
    client = study.client(Role.INTERVIEWER, "north")
    page = _scan(client, typed)
    text = page.content.decode()
    assert page.status_code == 200
    assert "<script>alert" not in text
    assert "49" not in form_with(page, "typed")["typed"]
    assert len(text) < 20_000
    assert models.Refusal.objects.get().code == "", "text that is no code is not kept: it may be a name"
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_nothing_typed_and_null_bytes() -> None:
    client = FieldStudy().client(Role.INTERVIEWER, "north")
    for typed in ("", "   "):
        page = _scan(client, typed)
        assert page.status_code == 200
        assert "errorlist" in page.content.decode()
    assert _scan(client, "K7\x00").status_code == 400
    assert not models.Refusal.objects.exists()


@pytest.mark.usefixtures("one_database")
def test_a_wrong_clock_of_the_tablet_is_told() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    form = form_with(client.get("/arrive/"), "typed")
    ahead = (timezone.now() + timedelta(days=2)).isoformat()
    page = client.post("/arrive/", {**form.fields, "typed": code, "device_time": ahead})
    assert "Set the clock that is wrong" in words_of(page)


@pytest.mark.usefixtures("one_database")
def test_a_role_for_all_sites_says_where_it_works_and_loses_nothing() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER)
    session = client.session
    del session["work_site"]
    session.save()
    page = client.get("/arrive/")
    assert "Where do you work now?" in words_of(page)
    asked = client.post("/arrive/", {"typed": code, "key": "a-key-of-this-form", "device_time": ""})
    form = form_with(asked, "typed", "work_at_site")
    answered = client.post(form.action, {**form.fields, "work_at_site": "south"})
    assert answered["Location"].startswith("/enrol/")
    scan = models.Event.objects.get(kind="coupon_scanned")
    assert (scan.site, scan.request_key) == ("south", "a-key-of-this-form")
    assert "Scan the coupon" in words_of(client.get("/arrive/"))


@pytest.mark.usefixtures("one_database")
def test_pages_of_the_field_before_the_study_begins() -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    user = User.objects.create_user("ida", password="x" * 20)
    models.Member.objects.create(user=user, roles=Role.INTERVIEWER.value)
    client = Client()
    client.force_login(user, backend=BACKEND)
    assert "The study has not begun" in words_of(client.get("/arrive/"))
