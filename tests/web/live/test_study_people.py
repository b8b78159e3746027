"""The list of people, the page of a person, what a coordinator does for them, and how to reach them."""

import re

import pytest
from django.conf import settings as django_settings
from live_client import write_contact
from played_study import PLAYED, PlayedStudy

from peerfront.web.live.exporting import waiting_people
from peerfront.web.live.folder import Keys
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import contacts, models
from peerfront.web.live.records.database import link_of
from peerfront.web.live.rules.actions import Action, Role
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.requests import AddSeed, RecordAnswers, WithdrawPerson


def _key(answer) -> str:
    return re.search(r'name="key" value="([^"]+)"', answer.content.decode())[1]


def _noted(action: Action) -> list:
    facts = [link_of(each).event.fact for each in models.Event.objects.filter(kind="action_noted")]
    return [fact for fact in facts if fact.action is action]


@pytest.mark.usefixtures("one_database")
def test_people_are_filtered_by_state_site_and_search() -> None:
    study = PlayedStudy().play(weeks=4)
    study.do(AddSeed("fresh"), site="north")
    gone = models.Person.objects.filter(site="south").exclude(recruiter=None).first()
    study.do(WithdrawPerson(gone.person, False, "moved"), site="south")
    client = study.client(Role.COORDINATOR)

    def listed(**query):
        return {each.person for each in client.get("/people/", query).context["page"]}

    assert listed(show="waiting") == waiting_people()
    assert listed(show="withdrawn") == {gone.person}
    assert listed(show="unanswered") == {"fresh"}
    assert listed(show="seeds") == set(models.Person.objects.filter(recruiter=None).values_list("pk", flat=True))
    assert listed(search="FRES") == {"fresh"}
    assert listed(search=gone.code) == {gone.person}
    assert listed(site="south", show="seeds") == {"s002", "s004", "s006"}
    page = client.get("/people/").context
    assert page["everybody"] == models.Person.objects.count()
    newest = page["page"][0]
    assert newest.person == "fresh"
    recruits = {each.person: each.n_recruits for each in client.get("/people/", {"show": "seeds"}).context["page"]}
    assert recruits["s001"] == models.Person.objects.filter(recruiter="s001").count()


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize("role", [Role.INTERVIEWER, Role.COORDINATOR, Role.ANALYST])
def test_somebody_of_a_site_sees_its_people_alone(role) -> None:
    study = PlayedStudy().play(weeks=3)
    write_contact("s001", {"name": "Zenobia"})
    client = study.client(role, "south")
    shown = client.get("/people/?site=north").context["page"]
    assert {each.site.name for each in shown} == {"South street"}
    assert client.get("/people/", {"search": "s001"}).context["page"].paginator.count == 0
    pages = ("", "coupons/", "correct/", "withdraw/", "erase/", "contact/", "contact/write/", "contact/delete/")
    for page in pages:
        for ask in (client.get, client.post):
            answer = ask(f"/people/s001/{page}")
            assert answer.status_code in (403, 404), page
            assert b"Zenobia" not in answer.content
    assert client.get("/trees/?root=s001").status_code == 404
    own = client.get("/trees/").context["chains"]
    assert {chain.root for chain, _ in own} <= set(
        models.Person.objects.filter(site="south").values_list("pk", flat=True)
    )
    assert client.get("/people/s002/").status_code == 200


@pytest.mark.usefixtures("one_database")
def test_the_page_of_a_person_tells_all_that_is_recorded() -> None:
    study = PlayedStudy().play(weeks=3)
    page = study.client(Role.COORDINATOR).get("/people/s001/")
    text = page.content.decode()
    person = models.Person.objects.get(pk="s001")
    for question in PLAYED.questions:
        assert question.text in text
    assert dict(person.answers)["housing"] in text
    assert len(page.context["coupons"]) == person.coupons
    ((_, reasons, details),) = page.context["decisions"]
    assert "as planned" in reasons[0]
    assert any("Probability" in line for line in details)
    recruits = set(models.Person.objects.filter(recruiter="s001").values_list("pk", flat=True))
    assert {each.person for each in page.context["recruits"]} == recruits
    analyst = study.client(Role.ANALYST).get("/people/s001/").content.decode()
    assert "withdraws" not in analyst
    assert "/coupons/K7" not in analyst  # an analyst may not open the board
    assert study.client(Role.COORDINATOR).get("/people/nobody/").status_code == 404


@pytest.mark.usefixtures("one_database")
def test_a_coordinator_decides_on_another_number_with_a_reason() -> None:
    study = PlayedStudy().play(weeks=3)
    waits = models.Person.objects.filter(pk__in=waiting_people()).first()
    person, client = waits.person, study.client(Role.COORDINATOR, waits.site_id)
    address = f"/people/{person}/coupons/"
    form = {"key": _key(client.get(address)), "coupons": "99", "why": "a friend"}
    refused = client.post(address, form)
    assert "nobody gets more than 4" in refused.content.decode()
    assert "a friend" in refused.content.decode()
    client.post(address, form | {"key": _key(refused), "coupons": "1"})
    assert models.Override.objects.get(person=person).coupons == 1
    assert client.get(f"/people/{person}/").context["promised"] == 1


@pytest.mark.usefixtures("one_database")
def test_answers_are_corrected_and_answers_to_old_questions_stay() -> None:
    study = PlayedStudy()
    study.do(AddSeed("ana"))
    told = (("age", "34"), ("gender", "no such choice"), ("old_question", "kept"))
    study.do(RecordAnswers("ana", 7, told))
    client = study.client(Role.COORDINATOR)
    page = client.get("/people/ana/correct/")
    shown = page.context["form"]
    form = {name: shown[name].value() for name in shown.fields if shown[name].value() is not None}
    assert form["question_gender"] == "no such choice"
    form |= {"key": _key(page), "question_age": "35", "network_size": "9", "why": "misheard"}
    assert client.post("/people/ana/correct/", form).status_code == 302
    person = models.Person.objects.get(pk="ana")
    assert dict(person.answers) == {"age": "35", "gender": "no such choice", "old_question": "kept"}
    assert person.network_size == 9
    assert "34" in models.Event.objects.filter(kind="answers_recorded").get().data
    bad = client.post("/people/ana/correct/", form | {"key": "another", "question_age": "old", "why": "x"})
    assert bad.status_code == 200
    assert bad.context["form"].errors["question_age"]


@pytest.mark.usefixtures("one_database")
def test_somebody_withdraws_with_their_coupons() -> None:
    study = PlayedStudy().play(weeks=1)
    person = models.Coupon.objects.filter(redemption=None, site="north").exclude(holder=None).first().holder_id
    client = study.client(Role.COORDINATOR, "north")
    address = f"/people/{person}/withdraw/"
    form = {"key": _key(client.get(address)), "void_coupons": "on", "why": "does not want to"}
    for _ in range(2):
        assert client.post(address, form).status_code == 302
    assert models.Person.objects.get(pk=person).withdrawn_at is not None
    assert not models.Coupon.objects.filter(holder=person, redemption=None, voided_at=None).exists()
    answer = dict(models.Person.objects.get(pk=person).answers)["age"]
    recorded = models.Event.objects.filter(kind="answers_recorded", data__contains=f'"{person}"').get
    assert f'"{answer}"' in recorded().data
    erase = f"/people/{person}/erase/"
    sent = {"why": "asked to"}
    assert client.post(erase, sent | {"key": _key(client.get(erase))}).status_code == 200, "nothing is chosen"
    assert client.post(erase, sent | {"key": _key(client.get(erase)), "what": "answers"}).status_code == 302
    assert f'"{answer}"' not in recorded().data
    assert "People they know" in client.get(f"/people/{person}/").content.decode(), "it is another choice"
    more = sent | {"key": _key(client.get(erase)), "what": ["network_size", "words"]}
    assert client.post(erase, more).status_code == 302
    stored = models.Person.objects.get(pk=person)
    assert (stored.network_size, stored.answers) == (None, [])
    assert not models.Event.objects.filter(data__contains="does not want to").exists()
    assert not models.Coupon.objects.filter(why_void="does not want to").exists()
    assert "The answers were erased" in client.get(f"/people/{person}/").content.decode()
    told = study.client(Role.MANAGER).get("/audit/").content.decode()
    assert f"Erased about {person}: network size, words. Reason: asked to" in told
    assert f"{person} withdrew: the reason was erased" in told
    allowed = client.get(f"/people/{person}/").context["may"]
    assert not any(allowed[name] for name in ("override_coupons", "correct_answers", "withdraw_person"))
    assert client.get(f"/people/{person}/").context.get("step") is None
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_contact_details_are_shown_on_a_click_that_is_noted() -> None:
    study = PlayedStudy()
    study.do(AddSeed("ana"), site="north")
    write_contact("ana", {"name": "Zenobia Quux", "phone": "912"})
    client = study.client(Role.COORDINATOR, "north")
    asked = client.get("/people/ana/contact/")
    assert b"Zenobia" not in asked.content
    assert _noted(Action.SEE_CONTACT) == []
    form = {"key": _key(asked)}
    for _ in range(2):
        shown = client.post("/people/ana/contact/", form)
        assert b"Zenobia Quux" in shown.content
        assert "no-store" in shown.headers["Cache-Control"]
    assert [note.subject for note in _noted(Action.SEE_CONTACT)] == ["ana"] * 2, "each time they are shown"
    assert not any("Zenobia" in each.data for each in models.Event.objects.all())


@pytest.mark.usefixtures("one_database")
def test_contact_details_are_written_and_deleted_with_a_note_and_an_old_form_is_not_silent() -> None:
    study = PlayedStudy()
    study.do(AddSeed("ana"), site="north")
    interviewer = study.client(Role.INTERVIEWER, "north")
    assert interviewer.get("/people/ana/contact/").status_code == 403
    form = {"key": _key(interviewer.get("/people/ana/contact/write/")), "name": "Zenobia", "phone": "1", "note": ""}
    assert interviewer.post("/people/ana/contact/write/", form).status_code == 302
    assert contacts.read_contact("ana") == {"name": "Zenobia", "phone": "1"}
    stale = interviewer.post("/people/ana/contact/write/", form | {"phone": "2"})  # the back button
    assert "This form was sent before with other entries" in stale.content.decode()
    assert interviewer.post("/people/ana/contact/write/", form | {"phone": "2", "key": _key(stale)}).status_code == 302
    assert contacts.read_contact("ana") == {"name": "Zenobia", "phone": "2"}
    assert [note.details for note in _noted(Action.WRITE_CONTACT)] == [(("kept", "name, phone"),)] * 2
    empty = interviewer.post("/people/ana/contact/write/", {"key": "empty", "name": " ", "phone": "", "note": ""})
    assert "leave what is kept as it is" in empty.content.decode(), "to delete is an action of its own"
    assert contacts.read_contact("ana") == {"name": "Zenobia", "phone": "2"}
    with pytest.raises(ValueError, match="nothing to save"):
        write_contact("ana", {"name": " "})
    coordinator = study.client(Role.COORDINATOR)
    page = coordinator.get("/people/ana/contact/delete/")
    answered = coordinator.post("/people/ana/contact/delete/", {"key": _key(page)})
    assert answered.headers["Location"] == "/people/ana/"
    assert contacts.read_contact("ana") is None
    assert len(_noted(Action.DELETE_CONTACT)) == 1
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_contact_details_of_a_lost_key_are_told_in_words_and_can_be_deleted(monkeypatch) -> None:
    study = PlayedStudy()
    study.do(AddSeed("ana"), site="north")
    write_contact("ana", {"name": "Zenobia"})
    monkeypatch.setattr(django_settings, "CONTACT_KEY", Keys.drawn().contact_key)
    coordinator = study.client(Role.COORDINATOR)
    page = coordinator.post("/people/ana/contact/", {"key": "one"})
    assert page.status_code == 200
    assert "were encrypted with another key" in page.content.decode()
    assert "/people/ana/contact/delete/" in page.content.decode()
    form = {"key": "two", "name": "Zenobia"}
    assert coordinator.post("/people/ana/contact/write/", form).status_code == 302
    monkeypatch.undo()
    repeated = coordinator.post("/people/ana/contact/write/", form)
    assert "This form was sent before" in repeated.content.decode(), "nobody can tell whether it is the same"


@pytest.mark.usefixtures("one_database")
def test_people_of_another_site_are_not_named_to_somebody_of_a_site() -> None:
    """Ana of the north handed on a coupon with which ben came in the south, and ben one with which cleo came there."""
    study = PlayedStudy()
    study.seed("ana", "north")
    study.approve(ana=2)
    code, _ = study.issue("ana", "north")
    study.days(2)
    study.enrol("ben", code, "south")
    north, south = (study.client(Role.COORDINATOR, site) for site in ("north", "south"))
    pages = ("/coupons/", f"/coupons/{code}/", "/people/", "/people/ana/", "/trees/")
    for page in pages:
        told = north.get(page)
        assert told.status_code == 200
        assert not _names("ben", told), page
    assert "at another site" in north.get("/coupons/").content.decode()
    for page in ("/people/", "/people/ben/", "/trees/"):
        assert not _names("ana", south.get(page)), page
    assert _names("ana", study.client(Role.COORDINATOR).get("/people/"))


def _names(person: str, answer) -> bool:
    """As a word: the random letters of a form's token may hold any short name."""
    return re.search(rf"\b{person}\b", answer.content.decode()) is not None


@pytest.mark.usefixtures("one_database")
def test_who_does_not_see_the_coupons_of_the_board_sees_no_open_code_of_a_person() -> None:
    study = PlayedStudy().play(weeks=2)
    held = models.Coupon.objects.exclude(holder=None).filter(redemption=None).first()
    for role, is_shown in ((Role.COORDINATOR, True), (Role.ANALYST, False), (Role.INVESTIGATOR, False)):
        text = study.client(role).get(f"/people/{held.holder_id}/").content.decode()
        assert (shown_code(held.code) in text, held.code in text) == (is_shown, is_shown), role
        assert held.code[-3:] in text
