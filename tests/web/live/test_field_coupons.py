"""Hand out and print coupons: the number with its reason, fewer with a reason, once in a round; prints are noted."""

import re
from dataclasses import replace
from datetime import date, timedelta

import pytest
from at_once import at_once
from field_study import ANSWERED, FIELD_SETTINGS, FieldStudy, form_with, forms_of, words_of
from qr_reading import read_qr

from peerfront.web.live.exporting import waiting_people
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.codes import new_code, shown_code
from peerfront.web.live.rules.events import CouponsIssued, DecidedBy, PlannedCoupons
from peerfront.web.live.rules.refusals import Reason, refusal
from peerfront.web.live.rules.requests import (
    AddSeed,
    ApprovePlan,
    ChangePlan,
    ChangeSettings,
    EnrolPerson,
    OverrideCoupons,
    ProposePlan,
    VoidCoupon,
)
from peerfront.web.live.screens.handing_out import Preview
from peerfront.web.live.screens.page_words import qr_picture


def _approve_same_for_all(study: FieldStudy, **coupons: int) -> None:
    lines = tuple(PlannedCoupons(person, number, "", 1.0, "As the plan says.") for person, number in coupons.items())
    plan = study.do(ProposePlan(SAME_FOR_ALL, 7, lines)).events[0].fact.plan
    study.do(ApprovePlan(plan))


def _hand_out(client, person: str, **typed: str):
    page = client.get(f"/people/{person}/hand-out/")
    form = form_with(page, "coupons" if "coupons" in typed else "decided")
    return client.post(form.action, {**form.fields, **typed})


def test_the_planned_number_is_handed_out_once_and_printed(one_database) -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=2)
    client = study.client(Role.INTERVIEWER, "north")
    page = client.get("/people/ana/hand-out/")
    words = words_of(page)
    assert "2 coupons for this person" in words
    assert "Why As planned for this round." in words
    assert "expected" not in words, "what the plan says of the person is not for their eyes"
    assert "Decided by the approved plan" in words
    assert "Hand out 2 coupons and print" in words
    form = form_with(page, "decided")
    places = {client.post(form.action, form.fields)["Location"] for _ in range(3)}
    assert len(places) == 1, "sent three times, done once"
    codes = list(models.Coupon.objects.filter(holder="ana").values_list("code", flat=True))
    assert len(codes) == 2
    printed = client.get(places.pop())
    for code in codes:
        assert shown_code(code) in words_of(printed)
    assert "ana got 2 coupons in round 1 already" in words_of(client.get("/people/ana/hand-out/"))
    assert verify().whole


def test_a_double_click_that_reaches_the_server_twice_at_once(one_database) -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=2)
    client, twin = study.client(Role.INTERVIEWER, "north"), study.client(Role.INTERVIEWER, "north")
    form = form_with(client.get("/people/ana/hand-out/"), "decided")
    pages = at_once(*(lambda each=each: each.post(form.action, form.fields) for each in (client, twin)))
    assert pages[0]["Location"] == pages[1]["Location"]
    assert models.Coupon.objects.filter(holder="ana").count() == 2
    assert verify().whole


def test_two_tablets_for_one_person(database) -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=2)
    clients = [study.client(Role.INTERVIEWER, "north") for _ in range(2)]
    forms = [form_with(client.get("/people/ana/hand-out/"), "decided") for client in clients]
    pages = at_once(
        *(
            lambda client=client, form=form: client.post(form.action, form.fields)
            for client, form in zip(clients, forms, strict=True)
        )
    )
    assert sorted(page.status_code for page in pages) == [200, 302]
    refused = next(page for page in pages if page.status_code == 200)
    assert "Nobody gets coupons twice in a round." in words_of(refused)
    assert "/people/ana/print/" in refused.content.decode()
    assert models.Coupon.objects.filter(holder="ana").count() == 2


@pytest.mark.usefixtures("one_database")
def test_who_came_after_the_plan_gets_a_number_at_once() -> None:
    study = FieldStudy()
    study.seed("ana")
    _approve_same_for_all(study, ana=2)
    used, _ = study.issue("ana")
    study.enrol("dora", used)
    client = study.client(Role.INTERVIEWER, "north")
    page = client.get("/people/dora/hand-out/")
    assert "the approved model, for somebody who came after the plan" in words_of(page)
    number = int(form_with(page, "decided")["decided"])
    assert 1 <= number <= FIELD_SETTINGS.cap
    _hand_out(client, "dora")
    assert models.Coupon.objects.filter(holder="dora").count() == number
    assert DatabaseRecords().decision(1, "dora").decided_by.value == "arrival"


@pytest.mark.usefixtures("one_database")
def test_without_a_model_for_the_person_the_coordinator_decides() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve()
    interviewer, coordinator = study.client(Role.INTERVIEWER, "north"), study.client(Role.COORDINATOR)
    page = interviewer.get("/people/ana/hand-out/")
    assert "The approved plan has no number of coupons for ana." in words_of(page)
    assert not [form for form in forms_of(page) if "decided" in form.fields]
    study.do(OverrideCoupons("ana", 3, "knows the harbour well"))
    words = words_of(coordinator.get("/people/ana/hand-out/"))
    assert "3 coupons for this person" in words
    assert "knows the harbour well" not in words
    assert "Decided by the coordinator" in words
    _hand_out(interviewer, "ana")
    assert models.Coupon.objects.filter(holder="ana").count() == 3


@pytest.mark.usefixtures("one_database")
def test_a_changed_plan_says_that_the_coordinator_decided_but_not_why() -> None:
    study = FieldStudy()
    study.seed("ana")
    plan = study.plan(ana=1)
    study.do(ChangePlan(plan, (("ana", 2),), "a large family"))
    study.do(ApprovePlan(plan))
    words = words_of(study.client(Role.INTERVIEWER, "north").get("/people/ana/hand-out/"))
    assert "2 coupons for this person" in words
    assert "Why As the coordinator decided." in words
    assert "a large family" not in words
    assert "(planned was 1)" in words


@pytest.mark.usefixtures("one_database")
def test_no_approved_plan_and_no_answers() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.do(AddSeed("ben"))
    client = study.client(Role.INTERVIEWER, "north")
    words = words_of(client.get("/people/ana/hand-out/"))
    assert "There is no approved plan." in words
    assert "Look again" in words
    study.approve(ana=1, ben=1)
    page = client.get("/people/ben/hand-out/")
    assert "The answers of ben are not recorded yet." in words_of(page)
    assert 'href="/people/ben/answers/"' in page.content.decode()
    refused = client.post("/people/ben/hand-out/", {"key": "k", "decided": "1"})
    assert "The answers of ben are not recorded yet." in words_of(refused)
    assert not models.Coupon.objects.filter(holder="ben").exists()


def test_fewer_with_a_reason(one_database) -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=3)
    client = study.client(Role.INTERVIEWER, "north")
    page = _hand_out(client, "ana", coupons="1")
    assert "Write in a few words why." in words_of(page)
    kept = form_with(page, "coupons")
    assert kept["coupons"] == "1", "the number that was chosen stays"
    done = client.post(kept.action, {**kept.fields, "why_fewer": "took <b>one</b>"})
    assert done.status_code == 302
    decision = DatabaseRecords().decision(1, "ana")
    assert (decision.coupons, decision.decided, decision.why_fewer) == (1, 3, "took <b>one</b>")
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_none_at_all_is_a_decision_too() -> None:
    study = FieldStudy()
    for name in ("ana", "ben", "cleo"):
        study.seed(name)
    study.approve(ana=0, ben=2, cleo=1)
    study.do(OverrideCoupons("cleo", 0, "moved away"))
    client = study.client(Role.INTERVIEWER, "north")
    page = client.get("/people/ana/hand-out/")
    assert "Record that no coupons are given" in words_of(page)
    assert _hand_out(client, "ana")["Location"] == "/"
    assert "It is recorded that ana gets no coupons." in words_of(client.get("/"))
    assert _hand_out(client, "ben", coupons="0", why_fewer="wants none")["Location"] == "/"
    _hand_out(client, "cleo")
    assert [DatabaseRecords().decision(1, name).coupons for name in ("ana", "ben", "cleo")] == [0, 0, 0]
    assert waiting_people() == {"ana"}, "the plan had none; the others declined, or the coordinator decided"
    study.approve(ana=1)
    assert len(study.issue("ana")) == 1, "in the next round"


@pytest.mark.usefixtures("one_database")
def test_when_the_budget_is_used_up_nobody_gets_more() -> None:
    study = FieldStudy(replace(FIELD_SETTINGS, budget=2))
    study.seed("ana")
    _approve_same_for_all(study, ana=2)
    used, _ = study.issue("ana")
    study.enrol("dora", used)
    client = study.client(Role.INTERVIEWER, "north")
    assert "0 coupons for this person" in words_of(client.get("/people/dora/hand-out/"))
    _hand_out(client, "dora")
    assert DatabaseRecords().decision(1, "dora").coupons == 0
    refused = client.post("/people/dora/hand-out/", {"key": "another", "decided": "1"})
    assert refused.status_code == 200
    assert DatabaseRecords().study().kept == 0


def test_what_can_still_be_handed_out_when_less_is_free_than_was_decided() -> None:
    issued = CouponsIssued(
        "ana", 1, (), 3, 3, DecidedBy.PLAN, "m", 1, "", 1.0, "", "", date(2026, 3, 2), date(2026, 3, 9)
    )
    assert Preview(issued, None).fewer == [2, 1, 0]
    assert Preview(issued, refusal(Reason.OVER_BUDGET, coupons=3, free=1)).fewer == [1, 0]
    assert Preview(issued, refusal(Reason.OVER_BUDGET, coupons=3, free=-1)).fewer == [0]
    assert Preview(issued, refusal(Reason.OVER_CAP, person="ana", coupons=5, cap=4)).fewer == [2, 1, 0]
    assert Preview(None, refusal(Reason.NO_DECISION, person="ana")).fewer == []


@pytest.mark.usefixtures("one_database")
def test_over_the_cap_the_rest_can_be_handed_out_with_a_reason() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=3)
    study.do(ChangeSettings(replace(FIELD_SETTINGS, cap=2), "fewer for everybody"))
    client = study.client(Role.INTERVIEWER, "north")
    page = client.get("/people/ana/hand-out/")
    assert "nobody gets more than 2" in words_of(page)
    fewer = form_with(page, "coupons")
    assert re.findall(r'<option value="(\d)"', page.content.decode()) == ["2", "1", "0"]
    assert not [form for form in forms_of(page) if "decided" in form.fields and "coupons" not in form.fields]
    client.post(fewer.action, {**fewer.fields, "coupons": "2", "why_fewer": "the cap was lowered"})
    assert DatabaseRecords().decision(1, "ana").coupons == 2


@pytest.mark.usefixtures("one_database")
def test_a_number_that_changed_since_the_page_was_shown_is_shown_first() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=2)
    client = study.client(Role.INTERVIEWER, "north")
    form = form_with(client.get("/people/ana/hand-out/"), "decided")
    for other in (3, 1):
        study.do(OverrideCoupons("ana", other, "better known now"))
        page = client.post(form.action, form.fields)
        assert "The number has changed since the page was shown." in words_of(page)
        assert not models.Coupon.objects.filter(holder="ana").exists()
        form = form_with(page, "decided")
        assert form["decided"] == str(other)
    client.post(form.action, form.fields)
    assert models.Coupon.objects.filter(holder="ana").count() == 1


@pytest.mark.usefixtures("one_database")
def test_more_than_was_decided_is_refused() -> None:
    study = FieldStudy()
    study.seed("ana")
    study.approve(ana=1)
    client = study.client(Role.INTERVIEWER, "north")
    for forged in ({"decided": "3"}, {"decided": "1", "coupons": "3", "why_fewer": "x"}, {"decided": "x"}, {}):
        page = client.post("/people/ana/hand-out/", {"key": f"k-{forged}"[:50], **forged})
        assert page.status_code == 200
    assert not models.Coupon.objects.filter(holder="ana").exists()


def test_prints_show_codes_only_after_it_was_noted(one_database) -> None:
    study = FieldStudy()
    codes = study.coupons(3)
    study.do(VoidCoupon(codes[0], "lost"))
    study.do(EnrolPerson(codes[1], "dora"))
    client = study.client(Role.INTERVIEWER, "north")
    page = client.get("/people/ana/print/")
    assert "1 coupon of this person can still be used." in words_of(page)
    assert shown_code(codes[2]) not in words_of(page)
    assert not models.Event.objects.filter(kind="action_noted").exists(), "looking notes nothing"
    form = next(form for form in forms_of(page) if form.action == "/people/ana/print/")
    places = {client.post(form.action, form.fields)["Location"] for _ in range(2)}
    assert len(places) == 1
    note = models.Event.objects.get(kind="action_noted")
    assert '"print_coupons"' in note.data
    assert note.actor == "interviewer-north"
    printed = words_of(client.get(places.pop()))
    assert shown_code(codes[2]) in printed
    assert shown_code(codes[0]) not in printed, "void"
    assert shown_code(codes[1]) not in printed, "used"
    other = study.client(Role.COORDINATOR)
    shown = words_of(other.get(f"/people/ana/print/?request={note.request_key}"))
    assert shown_code(codes[2]) not in shown, "somebody else notes it themselves"
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_what_stands_on_a_coupon() -> None:
    study = FieldStudy(replace(FIELD_SETTINGS, active_after_days=1, name="Bridge & <i>Harbour</i>"))
    study.seed("ana")
    study.approve(ana=2)
    client = study.client(Role.INTERVIEWER, "north")
    page = client.get(_hand_out(client, "ana")["Location"])
    words, text = words_of(page), page.content.decode()
    coupons = list(models.Coupon.objects.filter(holder="ana"))
    pictures = re.findall(r'src="(data:image/svg[^"]*)"', text)
    assert sorted(read_qr(picture) for picture in pictures) == sorted(("H", coupon.code) for coupon in coupons)
    for coupon in coupons:
        assert shown_code(coupon.code) in words
        for day in (coupon.first_day, coupon.last_day):
            assert f"{day.day}, {day.year}" in words
    assert words.count("Bring this coupon to North clinic") == 2
    assert "Bridge & <i>Harbour</i>" in words, "as text, not as markup"
    assert "ana" not in text[text.index('class="coupons ') : text.index("</main>")], (
        "who handed it on does not stand on it"
    )
    for layout in ("a4", "letter", "label"):
        sheet = client.get(f"{page.request['PATH_INFO']}?{page.request['QUERY_STRING']}&layout={layout}")
        assert f"pages/print_{layout}.css" in sheet.content.decode()
    remembered = client.get(f"{page.request['PATH_INFO']}?{page.request['QUERY_STRING']}")
    assert "pages/print_label.css" in remembered.content.decode(), "the last paper is remembered"


def test_a_qr_code_holds_the_code_and_nothing_else() -> None:
    for code in (new_code("K7") for _ in range(50)):
        assert read_qr(qr_picture(code)) == ("H", code)


@pytest.mark.usefixtures("one_database")
def test_expired_coupons_are_not_printed_again() -> None:
    study = FieldStudy(days_ago=60)
    study.coupons(2)
    study.days_ago = timedelta(0)
    page = study.client(Role.INTERVIEWER, "north").get("/people/ana/print/")
    assert "no coupon that can still be used" in words_of(page)


@pytest.mark.usefixtures("one_database")
def test_from_arrival_to_coupons_in_three_forms() -> None:
    study = FieldStudy()
    study.seed("ana")
    _approve_same_for_all(study, ana=1)
    (code,) = study.issue("ana")
    client = study.client(Role.INTERVIEWER, "north")
    scan = form_with(client.get("/"), "typed")
    page = client.post(scan.action, {**scan.fields, "typed": code}, follow=True)
    enrolment = form_with(page, "network_size")
    page = client.post(f"/enrol/?code={code}", {**enrolment.fields, **ANSWERED}, follow=True)
    hand_out = form_with(page, "decided")
    page = client.post(hand_out.action, hand_out.fields, follow=True)
    assert 'class="coupon"' in page.content.decode()
