"""What somebody meets who uses the pages all day: links that lead somewhere, forms that take back, words that fit."""

import pytest
from field_study import ANSWERED, FIELD_SETTINGS, FieldStudy, form_with, forms_of, words_of
from live_client import LiveStudy

from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.requests import RecordAnswers

pytestmark = pytest.mark.usefixtures("one_database")


def test_a_cashier_finds_a_person_however_the_pseudonym_is_typed() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1, holder="Ana")
    study.enrol("bea", code)
    cashier = study.client(Role.CASHIER, "north")
    for typed in ("Ana", "ANA", "ana", " ana "):
        assert "Owed to Ana" in words_of(cashier.post("/pay/", {"typed": typed})), typed
    study.seed("ANA")
    assert "Owed to ANA" in words_of(cashier.post("/pay/", {"typed": "ANA"})), "as it is written, where two are alike"
    refused = words_of(cashier.post("/pay/", {"typed": "aNa"}))
    assert "neither a coupon nor a person" in refused
    study.seed("cleo", "south")
    assert "neither a coupon nor a person" in words_of(cashier.post("/pay/", {"typed": "cleo"}))


def test_who_takes_part_already_is_found_however_the_pseudonym_is_typed() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1, holder="ana")
    study.seed("P0123")
    interviewer = study.client(Role.INTERVIEWER, "north")
    page = interviewer.get(f"/enrol/?code={code}")
    form = form_with(page, "known")
    noted = interviewer.post(f"/enrol/?code={code}", form.fields | {"known": "p0123"})
    assert "P0123 takes part" in words_of(noted)


def test_a_key_that_enrolled_somebody_is_no_fault_when_they_come_again() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    interviewer = study.client(Role.INTERVIEWER, "north")
    address = f"/enrol/?code={code}"
    interviewer.post(address, ANSWERED | {"key": "one-key", "person": "bea"})
    again = interviewer.post(address, {"key": "one-key", "known": "bea"})
    assert again.status_code == 302
    assert again["Location"] == "/people/bea/hand-out/"


def test_choosing_a_site_keeps_the_coupon_of_the_page() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    coordinator = study.client(Role.COORDINATOR)
    page = coordinator.get(f"/enrol/?code={code}")
    (form,) = (each for each in forms_of(page) if each.action == "/work-at/")
    assert form["next"] == f"/enrol/?code={code}"


def test_only_those_who_work_at_a_site_are_asked_where() -> None:
    study = FieldStudy()
    asked = {role: "Working at" in words_of(study.client(role).get("/")) for role in Role}
    assert asked == {role: role not in (Role.ANALYST, Role.MANAGER, Role.INVESTIGATOR) for role in Role}


def test_figures_of_the_first_page_lead_to_what_they_count() -> None:
    study = FieldStudy()
    study.seed("ana")
    page = study.client(Role.COORDINATOR).get("/").content.decode()
    for address in ("/people/?show=waiting", "/coupons/?state=expiring"):
        assert f'href="{address}"' in page


def test_a_manager_of_one_site_is_not_led_to_closed_pages() -> None:
    study = FieldStudy()
    page = study.client(Role.MANAGER, "north").get("/").content.decode()
    for address in ("/users/", "/back-ups/"):
        assert f'href="{address}"' not in page


def test_a_code_of_another_sites_coupon_is_no_link() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1, holder="ana")
    study.enrol("bea", code, site="south")
    for site, is_link in (("south", False), (None, True)):
        client = study.client(Role.COORDINATOR, site)
        page = client.get("/people/bea/").content.decode()
        assert (f'href="/coupons/{code}/"' in page) == is_link
        assert (client.get(f"/coupons/{code}/").status_code == 200) == is_link


@pytest.mark.parametrize("page", ["/logout/", "/plan/make/", "/plan/job/1/stop/"])
def test_pages_that_want_a_form_lead_home_when_they_are_loaded(page) -> None:
    study = LiveStudy()
    opened = study.client(Role.COORDINATOR).get(page)
    assert opened.status_code == 302
    assert opened["Location"] == "/"


def test_before_the_study_begins_every_page_of_the_menu_says_so() -> None:
    class NotBegun(LiveStudy):
        def __init__(self) -> None:
            pass

    for role in Role:
        client = NotBegun().client(role)
        home = client.get("/").content.decode()
        for page in ("arrive", "pay", "coupons", "people", "plan", "progress", "estimates"):
            if f'href="/{page}/"' in home:
                opened = client.get(f"/{page}/")
                assert opened.status_code == 409, (role, page)
                assert "The study has not begun" in words_of(opened)


def test_an_answer_that_was_recorded_by_mistake_can_be_taken_back() -> None:
    study = FieldStudy(FIELD_SETTINGS)
    study.seed("ana")
    from peerfront.web.live.rules.requests import AddSeed

    study.do(AddSeed("bea"))
    study.do(RecordAnswers("bea", 5, (("age", "34"), ("area", "Harbour"))))
    client = study.client(Role.COORDINATOR)
    page = client.get("/people/bea/correct/")
    assert 'name="question_area" value=""' in page.content.decode()
    form = form_with(page, "why")
    assert form["question_area"] == "Harbour"
    sent = client.post("/people/bea/correct/", form.fields | {"question_area": "", "why": "not said"})
    assert sent.status_code == 302
    assert dict(DatabaseRecords().person("bea").answers) == {"age": "34"}


def test_printing_writes_the_paper_once() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=1)
    client = study.client(Role.INTERVIEWER, "north")
    page = client.get("/people/ana/hand-out/")
    printed = client.post("/people/ana/hand-out/", form_with(page, "decided").fields)["Location"]
    client.get(f"{printed}&layout=label")
    seen = client.get(printed)
    assert "layout-label" in seen.content.decode(), "the paper is remembered"
    assert not seen.wsgi_request.session.modified


def test_many_notes_of_an_import_do_not_drop_the_news_that_it_worked(monkeypatch) -> None:
    from hashlib import sha256
    from types import SimpleNamespace

    from django.core.files.uploadedfile import SimpleUploadedFile

    from peerfront.web.live.rules.deciding import Accepted
    from peerfront.web.live.screens import data_pages

    notes = [f"Column {number} ({sha256(bytes([number])).hexdigest()}) is not imported." for number in range(60)]
    done = SimpleNamespace(answer=Accepted(()), counts=(40, 2), file=SimpleNamespace(notes=notes))
    monkeypatch.setattr(data_pages, "import_study", lambda *_: done)
    monkeypatch.setattr(data_pages.import_jobs, "read_sent", lambda *_: None)
    manager = FieldStudy().client(Role.MANAGER)
    file = SimpleUploadedFile("study.csv", b"id\n1\n")
    shown = words_of(manager.post("/import/", {"key": "one", "file": file, "site": "north"}, follow=True))
    assert "40 people are imported; 2 were there already" in shown
    assert "Column 59" in shown
