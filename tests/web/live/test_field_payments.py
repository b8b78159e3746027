"""Pay what is owed, once for each kind, with a receipt; amounts as people read them."""

import re
from dataclasses import replace

import pytest
from at_once import at_once
from django.utils import translation
from field_study import FIELD_SETTINGS, FieldStudy, form_with, forms_of, words_of

from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.codes import new_code, shown_code
from peerfront.web.live.rules.events import PaymentKind
from peerfront.web.live.rules.requests import ChangeSettings, EnrolPerson, Pay
from peerfront.web.live.screens.page_words import shown_amount
from peerfront.web.live.screens.payments import OwedPayments

NARROW = "\u00a0"


def _recruited(study: FieldStudy) -> str:
    """The code with which dora came, who was recruited by ana."""
    code = study.coupons(2)[0]
    study.enrol("dora", code)
    return code


def _look_up(client, typed: str):
    form = form_with(client.get("/pay/"), "typed")
    return client.post(form.action, {**form.fields, "typed": typed})


def _due(page, kind: str):
    return next((form for form in forms_of(page) if form.fields.get("kind") == kind), None)


def test_a_coupon_shows_what_is_owed_and_is_paid_once(one_database) -> None:
    study = FieldStudy()
    code = _recruited(study)
    client = study.client(Role.CASHIER, "north")
    page = _look_up(client, shown_code(code).lower())
    words = words_of(page)
    assert "Owed to dora EUR 20.00" in words.replace(NARROW, " ")
    apart = words.replace(NARROW, " ").partition("to the person who handed the coupon on")[2]
    assert "Owed to ana EUR 5.00" in apart, "somebody else's, apart"
    due = _due(page, "interview")
    places = {client.post(due.action, due.fields)["Location"] for _ in range(3)}
    assert len(places) == 1, "sent three times, paid once"
    assert models.Payment.objects.get().amount == 2000
    receipt = words_of(client.get(places.pop())).replace(NARROW, " ")
    for told in ("Paid to dora", f"{shown_code(code)}-I Interview EUR 20.00", "signature"):
        assert told in receipt
    again = client.post("/pay/", {**due.fields, "key": "another"})
    assert words_of(again).count("It is paid once.") == 1, "said once, from a second tab too"
    assert f"/receipt/?code={code}&amp;kind=interview" in again.content.decode()
    later = _look_up(client, code)
    assert _due(later, "interview") is None
    assert "The interview payment" in words_of(later)
    assert _due(later, "recruiting") is not None
    assert models.Payment.objects.count() == 1
    assert verify().whole


def test_two_cashiers_at_once(database) -> None:
    study = FieldStudy()
    code = _recruited(study)
    clients = [study.client(Role.CASHIER, "north"), study.client(Role.CASHIER)]
    dues = [_due(_look_up(client, code), "interview") for client in clients]
    pages = at_once(
        *(
            lambda client=client, due=due: client.post("/pay/", due.fields)
            for client, due in zip(clients, dues, strict=True)
        )
    )
    assert sorted(page.status_code for page in pages) == [200, 302]
    refused = next(page for page in pages if page.status_code == 200)
    assert "Open the receipt" in words_of(refused)
    assert models.Payment.objects.count() == 1
    assert verify().whole


def _pairs(page) -> list[tuple[str, str]]:
    return re.findall(
        r'name="typed" value="([^"]+)"><input type="hidden" name="kind" value="([^"]+)"', page.content.decode()
    )


@pytest.mark.usefixtures("one_database")
def test_of_payments_together_one_may_be_refused() -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    study.enrol("dora", first)
    study.enrol("emil", second)
    client = study.client(Role.CASHIER, "north")
    study.do(Pay(first, PaymentKind.RECRUITING))
    sent = {"key": "k", "typed": [first, second], "kind": ["recruiting", "recruiting"]}
    page = client.post("/pay/", sent, follow=True)
    assert "It is paid once." in words_of(page), "the first, by somebody else"
    assert words_of(page).count("Recruiting") == 1
    assert models.Payment.objects.count() == 2
    of_two_people = f"code={first}&kind=recruiting&code={models.Person.objects.get(pk='ana').code}&kind=interview"
    assert client.get(f"/receipt/?{of_two_people}").status_code == 404, "not paid"
    study.do(Pay(first, PaymentKind.INTERVIEW))
    mixed = f"code={first}&kind=recruiting&code={first}&kind=interview"
    assert client.get(f"/receipt/?{mixed}").status_code == 404, "ana's and dora's"
    for forged in (
        {"typed": [second], "kind": ["interview", "recruiting"]},
        {"typed": [second] * 51, "kind": ["interview"] * 51},
    ):
        assert client.post("/pay/", {"key": "k3", **forged}).status_code == 200
    assert models.Payment.objects.count() == 3


@pytest.mark.usefixtures("one_database")
def test_a_long_list_of_what_is_owed_has_pages() -> None:
    study = FieldStudy()
    for number in range(53):
        study.seed(f"seed-{number}")
    client = study.client(Role.CASHIER, "north")
    assert "Page 1 of 2" in words_of(client.get("/pay/"))
    assert "seed-2 " in words_of(client.get("/pay/?page=2"))
    assert "seed-2 " not in words_of(client.get("/pay/"))


@pytest.mark.usefixtures("one_database")
def test_what_is_owed_to_a_person() -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    study.enrol("dora", first)
    study.enrol("emil", second)
    client = study.client(Role.CASHIER, "north")
    page = _look_up(client, "ana")
    assert "Owed to ana" in words_of(page)
    (bill,) = [form for form in forms_of(page) if "kind" in form.fields]
    assert bill.words.split() == ["Pay", "EUR", "30.00"]
    pairs = _pairs(page)
    assert sorted(kind for _, kind in pairs) == ["interview", "recruiting", "recruiting"]
    sent = {"key": bill["key"], "typed": [code for code, _ in pairs], "kind": [kind for _, kind in pairs]}
    places = {client.post("/pay/", sent)["Location"] for _ in range(3)}
    assert len(places) == 1, "sent three times, paid once"
    assert models.Payment.objects.count() == 3
    receipt = words_of(client.get(places.pop())).replace(NARROW, " ")
    assert receipt.count("Recruiting EUR 5.00") == 2
    assert "EUR 30.00 Received" in receipt
    assert "Nothing is owed to this person." in words_of(_look_up(client, "ana"))


@pytest.mark.usefixtures("one_database")
def test_the_list_of_what_is_owed_at_a_site() -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    study.enrol("dora", first, site="south")
    study.do(EnrolPerson(second, "emil"))
    settings = FIELD_SETTINGS
    north = {(each.person, each.kind.value) for each in OwedPayments(settings, "north").newest(10)}
    assert north == {("ana", "interview"), ("ana", "recruiting")}, "emil has not answered; dora is of the other site"
    assert OwedPayments(settings, "north").count() == 2
    south = {(each.person, each.kind.value) for each in OwedPayments(settings, "south").newest(10)}
    assert south == {("dora", "interview")}
    study.do(Pay(first, PaymentKind.RECRUITING))
    assert OwedPayments(settings, "north").count() == 1
    assert OwedPayments(replace(settings, interview_payment=0, recruiting_payment=0)).count() == 0
    assert len(OwedPayments(settings).newest(1)) == 1
    page = study.client(Role.CASHIER, "north").get("/pay/")
    assert "Owed at North clinic" in words_of(page)
    assert "dora" not in words_of(page)


@pytest.mark.usefixtures("one_database")
def test_people_of_another_site_are_not_paid_here() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    study.enrol("dora", code, site="south")
    client = study.client(Role.CASHIER, "north")
    page = _look_up(client, code)
    assert _due(page, "interview") is None
    assert "This belongs to South street" in words_of(page)
    assert _due(page, "recruiting") is not None, "ana is of this site"
    assert "dora" not in words_of(_look_up(client, "dora"))
    study.do(Pay(code, PaymentKind.INTERVIEW), site="south")
    assert client.get("/receipt/", {"code": code, "kind": "interview"}).status_code == 404
    assert study.client(Role.CASHIER, "south").get("/receipt/", {"code": code, "kind": "interview"}).status_code == 200


@pytest.mark.parametrize("typed", ["<script>alert(1)</script>", "=1+1", "K7\u202e", "x" * 5000, "nobody"])
@pytest.mark.usefixtures("one_database")
def test_what_is_neither_coupon_nor_person_is_told(typed) -> None:
    client = FieldStudy().client(Role.CASHIER, "north")
    page = _look_up(client, typed)
    assert page.status_code == 200
    assert 'class="card bad"' in page.content.decode()
    assert "<script>alert" not in page.content.decode()


@pytest.mark.usefixtures("one_database")
def test_nothing_is_owed_for_unused_and_unknown_coupons() -> None:
    study = FieldStudy()
    code = study.coupons(1)[0]
    client = study.client(Role.CASHIER, "north")
    page = _look_up(client, code)
    assert words_of(page).count("payment is owed for coupon") == 2
    assert not [form for form in forms_of(page) if "kind" in form.fields]
    assert "No coupon with the code" in words_of(_look_up(client, new_code("K7")))
    refused = client.post("/pay/", {"typed": code, "kind": "interview", "key": "k"})
    assert "No interview payment is owed" in words_of(refused)
    for forged in ({"kind": "bribe"}, {"kind": "interview", "typed": ""}, {"kind": "interview", "key": ""}):
        page = client.post("/pay/", {"typed": code, "key": "k2", **forged})
        assert page.status_code == 200
    for query in ({}, {"code": code}, {"code": code, "kind": "bribe"}, {"code": code, "kind": "interview"}):
        assert client.get("/receipt/", query).status_code == 404
    assert not models.Payment.objects.exists()


@pytest.mark.usefixtures("one_database")
def test_the_receipt_tells_what_was_paid_not_what_is_paid_today() -> None:
    study = FieldStudy()
    code = _recruited(study)
    study.do(Pay(code, PaymentKind.INTERVIEW))
    study.do(ChangeSettings(replace(FIELD_SETTINGS, interview_payment=9900, currency="JPY"), "more"))
    page = study.client(Role.CASHIER, "north").get("/receipt/", {"code": code, "kind": "interview"})
    assert "EUR 20.00" in words_of(page).replace(NARROW, " ")


def test_amounts_have_the_decimals_of_their_currency() -> None:
    shown = {(amount, currency): shown_amount(amount, currency).replace(NARROW, " ") for amount, currency in
             [(2000, "EUR"), (5, "EUR"), (2000, "JPY"), (1500, "KWD"), (123456789, "XOF"), (0, "USD")]}  # fmt: skip
    assert list(shown.values()) == ["EUR 20.00", "EUR 0.05", "JPY 2,000", "KWD 1.500", "XOF 123,456,789", "USD 0.00"]
    with translation.override("es"):
        assert shown_amount(123456, "EUR").replace(NARROW, " ").endswith(",56")
