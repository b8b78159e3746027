"""Enrol on one page: once whatever is sent how often, and nothing that was typed is lost."""

import pytest
from at_once import at_once
from field_study import ANSWERED, FIELD_SETTINGS, FieldStudy, form_with, words_of

from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.records.contacts import read_contact
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.actions import Member, Role
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.deciding import Accepted
from peerfront.web.live.rules.requests import EnrolPerson, Request

CONTACT = {"consent": "on", "contact_name": "Ida Berg", "contact_phone": "+47 555 01 99", "contact_note": "after six"}


def _enrolment(client, code: str):
    return form_with(client.get(f"/enrol/?code={code}"), "network_size", "person")


def _kinds() -> list[str]:
    return list(models.Event.objects.order_by("number").values_list("kind", flat=True))


def test_somebody_is_enrolled_with_answers_and_goes_on_to_coupons(one_database) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    form = _enrolment(client, code)
    done = client.post(f"/enrol/?code={code}", {**form.fields, **ANSWERED})
    assert done["Location"] == f"/people/{form['person']}/hand-out/"
    row = DatabaseRecords().person(form["person"])
    assert row is not None
    assert (row.recruiter, row.site, row.network_size) == ("ana", "north", 12)
    assert row.answers == (("age", "34"), ("area", "Harbour"), ("work", "ships"))
    assert not models.Contact.objects.exists()
    assert verify().whole


def test_the_form_sent_again_does_everything_once(one_database) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    sent = {**_enrolment(client, code).fields, **ANSWERED, **CONTACT}
    answers = [client.post(f"/enrol/?code={code}", sent)["Location"] for _ in range(3)]
    assert len(set(answers)) == 1
    counts = {kind: _kinds().count(kind) for kind in ("person_enrolled", "answers_recorded", "action_noted")}
    assert counts == {"person_enrolled": 1, "answers_recorded": 2, "action_noted": 1}, (
        "one of the answers is the seed's"
    )
    assert verify().whole


def test_the_form_sent_again_after_the_server_died_between_enrolment_and_answers(one_database) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    form = _enrolment(client, code)
    member = Member("interviewer-north", (Role.INTERVIEWER,), "north")
    half = answer(Request(form["key"], member, "north", None, EnrolPerson(code, form["person"])))
    assert isinstance(half, Accepted)
    done = client.post(f"/enrol/?code={code}", {**form.fields, **ANSWERED})
    assert done["Location"] == f"/people/{form['person']}/hand-out/"
    assert DatabaseRecords().person(form["person"]).network_size == 12
    assert verify().whole


def test_two_tablets_with_one_coupon(database) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    clients = [study.client(Role.INTERVIEWER, "north"), study.client(Role.INTERVIEWER, "south")]
    forms = [_enrolment(client, code) for client in clients]
    pages = at_once(
        *(
            lambda client=client, form=form: client.post(f"/enrol/?code={code}", {**form.fields, **ANSWERED})
            for client, form in zip(clients, forms, strict=True)
        )
    )
    assert sorted(page.status_code for page in pages) == [200, 302]
    refused = next(page for page in pages if page.status_code == 200)
    assert f"Coupon {shown_code(code)} was used on" in words_of(refused)
    kept = form_with(refused, "network_size")
    assert (kept["network_size"], kept["question_work"]) == ("12", "ships"), "what was typed is kept"
    assert models.Redemption.objects.filter(coupon=code).count() == 1
    assert models.Person.objects.filter(recruiter="ana").count() == 1
    assert verify().whole


def test_a_double_click_that_reaches_the_server_twice_at_once(one_database) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client, twin = study.client(Role.INTERVIEWER, "north"), study.client(Role.INTERVIEWER, "north")
    sent = {**_enrolment(client, code).fields, **ANSWERED, **CONTACT}
    pages = at_once(*(lambda each=each: each.post(f"/enrol/?code={code}", sent) for each in (client, twin)))
    assert [page.status_code for page in pages] == [302, 302]
    assert pages[0]["Location"] == pages[1]["Location"]
    assert (_kinds().count("person_enrolled"), _kinds().count("answers_recorded")) == (1, 2), "one is the seed's"
    assert models.Contact.objects.count() == 1
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_missing_answers_are_asked_for_once_and_may_stay_missing() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    form = _enrolment(client, code)
    assert "without_answers" not in form.fields
    page = client.post(f"/enrol/?code={code}", {**form.fields, "question_work": "ships", **CONTACT})
    assert words_of(page).count("Not answered yet.") == 6, "in the summary and beside each of three questions"
    for link in ("#id_question_area_0", "#id_question_age", "#id_network_size"):
        assert f'href="{link}"' in page.content.decode()
    kept = form_with(page, "network_size")
    assert (kept["person"], kept["key"]) == (form["person"], form["key"])
    assert kept["question_work"] == "ships"
    assert {name: kept[name] for name in CONTACT} == CONTACT
    assert not models.Person.objects.filter(recruiter="ana").exists()
    client.post(f"/enrol/?code={code}", {**kept.fields, "without_answers": "yes"})
    row = DatabaseRecords().person(form["person"])
    assert (row.network_size, row.answers) == (None, (("work", "ships"),))


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"network_size": "-1"}, "greater than or equal to 0"),
        ({"network_size": "many"}, "whole number"),
        ({"network_size": "99999999"}, "less than or equal to"),
        ({"question_age": "old"}, "number"),
        ({"question_area": "Elsewhere"}, "valid choice"),
        ({"question_work": "x" * 1001}, "at most 1000"),
        ({"person": "Ida Berg"}, "letters a to z"),
        ({"person": "<b>ida</b>"}, "letters a to z"),
        ({"person": "=1+1"}, "letters a to z"),
        ({"person": "ida\u202e"}, "letters a to z"),
        ({"person": ""}, "required"),
        ({"contact_phone": "555"}, "Tick this if the person agrees"),
    ],
)
@pytest.mark.usefixtures("one_database")
def test_what_cannot_be_used_is_told_beside_its_field_and_everything_stays(typed, message) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    sent = {**_enrolment(client, code).fields, **ANSWERED, **typed}
    page = client.post(f"/enrol/?code={code}", sent)
    assert page.status_code == 200
    assert message in words_of(page)
    kept = form_with(page, "network_size").fields
    assert {name: kept.get(name) for name in sent if name != "question_area"} == {
        name: value for name, value in sent.items() if name != "question_area"
    }
    assert not models.Redemption.objects.filter(coupon=code).exists()


@pytest.mark.usefixtures("one_database")
def test_a_pseudonym_that_somebody_has_is_refused_and_a_new_one_proposed() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    study.seed("ben")
    client = study.client(Role.INTERVIEWER, "north")
    form = _enrolment(client, code)
    page = client.post(f"/enrol/?code={code}", {**form.fields, **ANSWERED, "person": "ben"})
    assert "ben takes part already" in words_of(page)
    again = form_with(page, "network_size")
    assert again["person"] == form["person"] != "ben"
    assert again["key"] != form["key"]
    assert again["question_work"] == "ships"
    done = client.post(f"/enrol/?code={code}", again.fields)
    assert done["Location"] == f"/people/{again['person']}/hand-out/"


@pytest.mark.usefixtures("one_database")
def test_the_proposed_pseudonym_stays_when_the_page_is_loaded_again_and_differs_for_others() -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    tablets = study.client(Role.COORDINATOR), study.client(Role.COORDINATOR)
    proposed = [_enrolment(tablet, code)["person"] for tablet in tablets for code in (first, second)]
    assert proposed[:2] == proposed[2:], "the same coupon, on any tablet, however often"
    assert len(set(proposed)) == 2
    seeds = [form_with(tablet.get("/add-seed/"), "network_size") for tablet in (*tablets, *tablets)]
    names = [form["person"] for form in seeds]
    assert names[:2] == names[2:]
    assert len({*names, *proposed}) == 4, "two tablets never propose the same"
    tablets[0].post("/add-seed/", {**seeds[0].fields, **ANSWERED})
    assert form_with(tablets[0].get("/add-seed/"), "network_size")["person"] not in (*names, *proposed)


@pytest.mark.usefixtures("one_database")
def test_two_tablets_with_one_pseudonym_the_second_is_told_and_keeps_what_was_typed() -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    client = study.client(Role.INTERVIEWER, "north")
    forms = [_enrolment(client, code).fields | ANSWERED | {"person": "P00001"} for code in (first, second)]
    client.post(f"/enrol/?code={first}", forms[0])
    page = client.post(f"/enrol/?code={second}", forms[1])
    assert "P00001 takes part already" in words_of(page)
    again = form_with(page, "network_size")
    assert {name: again[name] for name in ANSWERED} == ANSWERED
    client.post(f"/enrol/?code={second}", again.fields)
    assert models.Redemption.objects.get(coupon=second).person_id == again["person"] != "P00001"


def test_back_button_and_other_answers_change_nothing(one_database) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    form = _enrolment(client, code)
    client.post(f"/enrol/?code={code}", {**form.fields, **ANSWERED})
    page = client.post(f"/enrol/?code={code}", {**form.fields, **ANSWERED, "question_age": "35"}, follow=True)
    assert "This form was sent before with other entries." in words_of(page)
    assert "Coupons for" in words_of(page)
    assert dict(DatabaseRecords().person(form["person"]).answers)["age"] == "34"
    other = client.post(f"/enrol/?code={code}", {**form.fields, **ANSWERED, "person": "somebody-else"})
    assert "This form was sent before with other entries." in words_of(other)
    assert DatabaseRecords().person("somebody-else") is None
    opened = client.get(f"/enrol/?code={code}")
    assert "was used on" in words_of(opened)
    assert f"/people/{form['person']}/hand-out/" in opened.content.decode(), "go on with the same person"
    assert verify().whole


def test_contact_details_are_sealed_noted_and_only_kept_with_consent(one_database) -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    client = study.client(Role.INTERVIEWER, "north")
    form = _enrolment(client, first)
    client.post(f"/enrol/?code={first}", {**form.fields, **ANSWERED, **CONTACT})
    person = form["person"]
    assert read_contact(person) == {"name": "Ida Berg", "phone": "+47 555 01 99", "note": "after six"}
    assert b"Ida Berg" not in bytes(models.Contact.objects.get(person=person).sealed)
    for text in models.Event.objects.values_list("data", flat=True):
        assert "Ida" not in text
        assert "555 01" not in text
    note = models.Event.objects.get(kind="action_noted")
    assert "write_contact" in note.data
    assert person in note.data
    form = _enrolment(client, second)
    client.post(f"/enrol/?code={second}", {**form.fields, **ANSWERED, "consent": "on"})
    assert read_contact(form["person"]) is None, "nothing was told"
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_a_refused_enrolment_keeps_no_contact() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client = study.client(Role.INTERVIEWER, "north")
    form = _enrolment(client, code)
    page = client.post(f"/enrol/?code={code}", {**form.fields, **ANSWERED, **CONTACT, "person": "ana"})
    assert "People cannot use their own coupons." in words_of(page)
    assert form_with(page, "network_size")["contact_name"] == "Ida Berg", "what was typed stays on the page"
    assert not models.Contact.objects.exists()


@pytest.mark.usefixtures("one_database")
def test_somebody_who_takes_part_already_is_noted_and_not_enrolled() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    study.seed("ben")
    client = study.client(Role.INTERVIEWER, "north")
    form = form_with(client.get(f"/enrol/?code={code}"), "known")
    page = client.post(f"/enrol/?code={code}", {**form.fields, "known": "nobody-here"})
    assert "Nobody with this pseudonym takes part at your site." in words_of(page)
    assert DatabaseRecords().person("nobody-here") is None
    page = client.post(f"/enrol/?code={code}", {**form.fields, "known": "ben"})
    assert "Nobody is enrolled twice." in words_of(page)
    assert "/people/ben/hand-out/" in page.content.decode()
    assert models.Refusal.objects.get().reason == "already_enrolled"
    assert not models.Redemption.objects.filter(coupon=code).exists(), "the coupon stays unused"


@pytest.mark.usefixtures("one_database")
def test_the_page_is_not_opened_with_a_coupon_that_cannot_be_used() -> None:
    study = FieldStudy()
    client = study.client(Role.INTERVIEWER, "north")
    before = models.Event.objects.count()
    for code in ("", "hello", "K7M4RT9XC0", "<b>"):
        page = client.get("/enrol/", {"code": code})
        assert page.status_code == 200
        assert form_with(page, "typed")
        assert "network_size" not in page.content.decode()
    assert models.Event.objects.count() == before, "looking records nothing"


@pytest.mark.usefixtures("one_database")
def test_a_seed_is_added_by_the_coordinator_alone() -> None:
    study = FieldStudy()
    client = study.client(Role.COORDINATOR)
    form = form_with(client.get("/add-seed/"), "network_size", "person")
    done = client.post("/add-seed/", {**form.fields, **ANSWERED, **CONTACT})
    assert done["Location"] == f"/people/{form['person']}/hand-out/"
    row = DatabaseRecords().person(form["person"])
    assert (row.recruiter, row.network_size) == (None, 12)
    assert read_contact(form["person"])["name"] == "Ida Berg"
    again = client.post("/add-seed/", {**form.fields, **ANSWERED, "key": "another-key"})
    assert "takes part already" in words_of(again)
    assert study.client(Role.INTERVIEWER, "north").get("/add-seed/").status_code == 403


@pytest.mark.usefixtures("one_database")
def test_answers_that_are_missing_are_recorded_later() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    study.do(EnrolPerson(code, "dora"))
    client = study.client(Role.INTERVIEWER, "north")
    page = client.get("/people/dora/answers/")
    form = form_with(page, "network_size")
    client.post(form.action, {**form.fields, **ANSWERED, "question_age": "x"})
    assert DatabaseRecords().person("dora").answers is None
    for _ in range(2):
        done = client.post(form.action, {**form.fields, **ANSWERED})
        assert done["Location"] == "/people/dora/hand-out/"
    assert client.get("/people/dora/answers/")["Location"] == "/people/dora/hand-out/"
    late = client.post(form.action, {**form.fields, **ANSWERED, "question_age": "35", "key": "another"}, follow=True)
    assert "The answers of dora are recorded already." in words_of(late)
    assert _kinds().count("answers_recorded") == 2, "of the seed and of dora"


@pytest.mark.parametrize("path", ["answers", "hand-out", "print"])
@pytest.mark.usefixtures("one_database")
def test_people_of_another_site_and_unknown_people_are_not_found(path) -> None:
    study = FieldStudy()
    study.seed("sara", site="south")
    client = study.client(Role.INTERVIEWER, "north")
    for person in ("sara", "nobody", "<b>", "a" * 500):
        assert client.get(f"/people/{person}/{path}/").status_code == 404
        assert client.post(f"/people/{person}/{path}/", {"key": "k", "decided": "1"}).status_code == 404
    assert study.client(Role.INTERVIEWER, "south").get(f"/people/sara/{path}/").status_code in (200, 302)
    assert "belongs to another site" in words_of(client.get(f"/people/sara/{path}/"))


@pytest.mark.usefixtures("one_database")
def test_text_of_answers_is_kept_as_it_is_and_shown_as_text() -> None:
    study = FieldStudy()
    study.approve()
    client = study.client(Role.COORDINATOR)
    hostile = '=1+1</textarea><script>alert("x")</script>\u202e'
    form = form_with(client.get("/add-seed/"), "network_size")
    page = client.post("/add-seed/", {**form.fields, **ANSWERED, "question_work": hostile, "network_size": ""})
    assert "<script>alert" not in page.content.decode()
    kept = form_with(page, "network_size")
    assert kept["question_work"] == hostile
    client.post("/add-seed/", {**kept.fields, "without_answers": "yes"})
    assert dict(DatabaseRecords().person(kept["person"]).answers)["work"] == hostile


def test_a_long_list_of_choices_is_a_list_to_open() -> None:
    from dataclasses import replace

    from django import forms

    from peerfront.web.live.rules.study_settings import Question
    from peerfront.web.live.screens.enrolment import MOST_BUTTONS, InterviewForm

    for number, widget in ((MOST_BUTTONS, forms.RadioSelect), (MOST_BUTTONS + 1, forms.Select)):
        question = Question("town", "Which town?", choices=tuple(f"town {n}" for n in range(number)))
        form = InterviewForm(settings=replace(FIELD_SETTINGS, questions=(question,)))
        assert isinstance(form.fields["question_town"].widget, widget)
