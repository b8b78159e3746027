"""A session that ends within a form: nothing typed is lost, nothing secret is carried, nothing foreign is sent."""

import pytest
from django.test import Client, RequestFactory
from field_study import ANSWERED, FieldStudy, form_with, forms_of, words_of
from live_client import PASSWORD

from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.screens.logins import LONGEST, Entries, entries_of, opened, sealed

SECRET = {"csrfmiddlewaretoken": "token"}


class Tablet:
    """A client that is held to CSRF tokens, as a browser is, and whose session can end."""

    def __init__(self, study: FieldStudy, role: Role = Role.INTERVIEWER, site: str | None = "north") -> None:
        self.client = Client(enforce_csrf_checks=True)
        self.user = study.user(role, site)
        self.log_in(self.client.get("/login/"))

    def log_in(self, page, password: str = PASSWORD):
        form = form_with(page, "username", "password")
        return self.send(form.action, {**form.fields, "username": self.user.username, "password": password})

    def send(self, path: str, fields: dict[str, str], **headers: str):
        token = self.client.cookies["csrftoken"].value if "csrftoken" in self.client.cookies else ""
        return self.client.post(path, {"csrfmiddlewaretoken": token} | fields, headers=headers)

    def session_ends(self) -> None:
        del self.client.cookies["peerfront_session"]


def test_what_was_typed_is_sent_after_logging_in(one_database) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    tablet = Tablet(study)
    form = form_with(tablet.client.get(f"/enrol/?code={code}"), "network_size")
    typed = {**form.fields, **ANSWERED, "question_work": 'ships "and" <b>nets</b>\u202e', "consent": "on"}
    typed |= {"contact_note": "first line\nsecond line"}
    tablet.session_ends()
    asked = tablet.send(f"/enrol/?code={code}", typed)
    assert asked.status_code == 403
    assert "What you typed is kept" in words_of(asked)
    assert "contact_note" not in asked.content.decode(), "sealed, not spread over the page"
    wrong = tablet.log_in(asked, "wrong password, once")
    assert wrong.status_code == 200
    again = tablet.log_in(wrong)
    assert "What you typed is not lost" in words_of(again)
    kept = form_with(again, "network_size")
    assert kept.action == f"/enrol/?code={code}"
    assert kept.fields == typed
    done = tablet.send(kept.action, kept.fields)
    assert done["Location"] == f"/people/{form['person']}/hand-out/"
    assert dict(DatabaseRecords().person(form["person"]).answers)["work"] == typed["question_work"]


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize("name", ["interviewer-north", "another"])
def test_only_who_typed_it_has_it_sent_without_a_click(name) -> None:
    study = FieldStudy()
    tablet = Tablet(study)
    form = form_with(tablet.client.get("/arrive/"), "typed")
    tablet.session_ends()
    asked = tablet.send("/arrive/", {**form.fields, "typed": "K7"})
    tablet.user = study.user(Role.INTERVIEWER, "north", name)
    again = tablet.log_in(asked)
    assert form_with(again, "typed")["typed"] == "K7"
    assert ("data-send-at-once" in again.content.decode()) is (name == "interviewer-north")
    assert not models.Refusal.objects.exists(), "nothing is recorded yet"


@pytest.mark.usefixtures("one_database")
def test_all_cookies_gone_and_still_nothing_is_lost() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    tablet = Tablet(study)
    form = form_with(tablet.client.get("/arrive/"), "typed")
    tablet.client.cookies.clear()
    asked = tablet.send("/arrive/", {**form.fields, "typed": code}, origin="http://testserver")
    assert asked.status_code == 403
    again = tablet.log_in(asked)
    kept = form_with(again, "typed")
    assert tablet.send(kept.action, kept.fields)["Location"].startswith("/enrol/")


@pytest.mark.usefixtures("one_database")
def test_an_old_page_after_somebody_logged_in_again_can_be_sent() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    tablet = Tablet(study)
    form = form_with(tablet.client.get("/arrive/"), "typed")
    old = {**form.fields, "typed": code, "csrfmiddlewaretoken": tablet.client.cookies["csrftoken"].value}
    tablet.log_in(tablet.client.get("/login/"))  # in another tab: the token changes
    page = tablet.client.post("/arrive/", old, headers={"origin": "http://testserver"})
    assert page.status_code == 403
    assert "What you typed is not lost" in words_of(page)
    assert "data-send-at-once" not in page.content.decode(), "somebody has to press the button"
    kept = form_with(page, "typed")
    assert tablet.send(kept.action, kept.fields)["Location"].startswith("/enrol/")


@pytest.mark.usefixtures("one_database")
def test_an_old_login_page_keeps_what_it_carries() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    tablet = Tablet(study)
    form = form_with(tablet.client.get("/arrive/"), "typed")
    tablet.session_ends()
    asked = tablet.send("/arrive/", {**form.fields, "typed": code})
    login = form_with(asked, "carried")
    tablet.client.cookies.clear()
    sent = {**login.fields, "username": tablet.user.username, "password": PASSWORD}
    asked_again = tablet.send("/login/", sent, origin="http://testserver")
    assert asked_again.status_code == 403
    assert PASSWORD not in asked_again.content.decode()
    kept = form_with(tablet.log_in(asked_again), "typed")
    assert tablet.send(kept.action, kept.fields)["Location"].startswith("/enrol/")


@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {}, {"origin": "null"}])
@pytest.mark.usefixtures("one_database")
def test_a_form_of_another_site_is_never_offered(headers) -> None:
    study = FieldStudy()
    tablet = Tablet(study)
    forged = {"csrfmiddlewaretoken": "x" * 32, "typed": "K7M4RT9XC0", "key": "evil"}
    page = tablet.client.post("/arrive/", forged, headers=headers)
    assert page.status_code == 403
    assert "K7M4RT9XC0" not in page.content.decode()
    assert not [form for form in forms_of(page) if form.action == "/arrive/"]
    tablet.client.cookies.clear()
    page = tablet.client.post("/arrive/", forged, headers=headers)
    assert page.status_code == 403
    assert "carried" not in page.content.decode()


@pytest.mark.usefixtures("one_database")
def test_a_page_that_was_opened_is_returned_to_and_no_other_site() -> None:
    study = FieldStudy()
    study.user(Role.INTERVIEWER, "north")
    client = Client()
    asked = client.get("/people/ana/hand-out/?a=1")
    assert asked["Location"] == "/login/?next=%2Fpeople%2Fana%2Fhand-out%2F%3Fa%3D1"
    for next_page, target in ((asked["Location"], "/people/ana/hand-out/?a=1"), ("/login/?next=//evil.example/", "/")):
        form = form_with(client.get(next_page), "username")
        done = client.post(form.action, {**form.fields, "username": "interviewer-north", "password": PASSWORD})
        assert done["Location"] == target
        client.logout()


@pytest.mark.usefixtures("one_database")
def test_logging_out_when_nobody_is_logged_in_is_not_kept() -> None:
    FieldStudy()
    assert Client().post("/logout/")["Location"] == "/login/"


@pytest.mark.usefixtures("one_database")
def test_forged_entries_are_not_sent() -> None:
    study = FieldStudy()
    tablet = Tablet(study)
    for forged in ("x", '["/arrive/", []]', sealed(Entries("/arrive/", (("typed", "x"),)))[:-2] + "xx"):
        done = tablet.send(
            "/login/", {"username": tablet.user.username, "password": PASSWORD, "carried": forged, "next": ""}
        )
        assert done["Location"] == "/"


@pytest.mark.usefixtures("one_database")
def test_contact_details_are_carried_encrypted_and_a_failed_login_does_not_keep_them() -> None:
    from axes.models import AccessAttempt
    from django.core import signing

    study = FieldStudy()
    (code,) = study.coupons(1)
    tablet = Tablet(study)
    form = form_with(tablet.client.get(f"/enrol/?code={code}"), "network_size")
    typed = {**form.fields, **ANSWERED, "contact_phone": "600 123 987", "consent": "on"}
    tablet.session_ends()
    asked = tablet.send(f"/enrol/?code={code}", typed)
    carried = form_with(asked, "carried")["carried"]
    with pytest.raises(signing.BadSignature):  # in 0.3 it was signed, and anybody could read it
        signing.loads(carried, salt="peerfront.web.live.screens.resending")
    for part in carried.split(":"):
        assert b"600 123 987" not in _unpacked(part)
    tablet.log_in(asked, "wrong password, once")
    assert not AccessAttempt.objects.exists(), "in a browser of one's own nothing is kept"
    del tablet.client.cookies["peerfront_last_user"]
    tablet.log_in(asked, "wrong password, once")
    (attempt,) = AccessAttempt.objects.all()
    for kept in (attempt.post_data, attempt.get_data):
        assert carried[:40] not in kept
        assert code not in kept, "the address of the page"


def _unpacked(text: str) -> bytes:
    import base64
    import zlib

    content = base64.urlsafe_b64decode(text.strip(".") + "=" * (-len(text.strip(".")) % 4))
    try:
        return zlib.decompress(content)
    except zlib.error:
        return content


@pytest.mark.usefixtures("one_database")
def test_reports_of_errors_hold_nothing_that_was_typed() -> None:
    import sys

    from django.views.debug import ExceptionReporter

    number = "600-123-987".replace("-", " ")  # reports quote this file
    request = RequestFactory().post("/enrol/", {"contact_phone": number, "carried": "sealed"})
    try:
        phone = request.POST["contact_phone"]
        raise ValueError(len(phone))
    except ValueError:
        report = ExceptionReporter(request, *sys.exc_info())
        assert "contact_phone" in report.get_traceback_text()
        for text in (report.get_traceback_text(), report.get_traceback_html()):
            assert number not in text


def test_passwords_files_and_very_long_text_are_not_carried() -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    make = RequestFactory()
    for fields in (
        {"old_password": "x", "name": "y"},
        {"file": SimpleUploadedFile("study.csv", b"a,b"), "name": "y"},
        {"name": "y" * (LONGEST + 1)},
        {},
    ):
        assert entries_of(make.post("/somewhere/", fields)) is None
    assert entries_of(make.get("/somewhere/", {"name": "y"})) is None
    kept = entries_of(make.post("/somewhere/?a=b", {**SECRET, "name": ["x", "y"], "empty": ""}))
    assert kept == Entries("/somewhere/?a=b", (("name", "x"), ("name", "y"), ("empty", "")))
    assert opened(sealed(kept)) == kept
    assert opened("") is None


@pytest.mark.usefixtures("one_database")
def test_somebody_else_who_logs_in_sends_it_as_themselves() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    tablet = Tablet(study)
    form = form_with(tablet.client.get("/arrive/"), "typed")
    tablet.session_ends()
    asked = tablet.send("/arrive/", {**form.fields, "typed": code})
    tablet.user = study.user(Role.CASHIER, "north")
    again = tablet.log_in(asked)
    kept = form_with(again, "typed")
    assert tablet.send(kept.action, kept.fields).status_code == 403, "a cashier does not scan for enrolment"
    assert not models.Event.objects.filter(kind="coupon_scanned").exists()


@pytest.mark.usefixtures("one_database")
def test_a_role_for_all_sites_is_asked_where_after_logging_in_and_loses_nothing() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    tablet = Tablet(study, Role.COORDINATOR, None)
    tablet.send("/work-at/", {"site": "south", "next": "/"})
    form = form_with(tablet.client.get(f"/enrol/?code={code}"), "network_size")
    tablet.session_ends()
    asked = tablet.send(f"/enrol/?code={code}", {**form.fields, **ANSWERED})
    kept = form_with(tablet.log_in(asked), "network_size")
    where = tablet.send(kept.action, kept.fields)
    chosen = form_with(where, "work_at_site", "network_size")
    done = tablet.send(chosen.action, {**chosen.fields, "work_at_site": "south"})
    assert done["Location"] == f"/people/{form['person']}/hand-out/"
    assert DatabaseRecords().person(form["person"]).site == "south"


@pytest.mark.usefixtures("one_database")
def test_a_user_without_a_role_is_told_so() -> None:
    tablet = Tablet(FieldStudy())
    models.Member.objects.filter(user=tablet.user).delete()
    tablet.session_ends()
    told = tablet.log_in(tablet.client.get("/login/"))
    assert "has no role in the study" in words_of(told)
    assert "peerfront_session" not in tablet.client.cookies or not tablet.client.cookies["peerfront_session"].value
