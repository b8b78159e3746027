"""The network goes, the server is away, a tab is loaded again, two tablets: nothing typed is lost or recorded twice."""

import multiprocessing
import os
import signal
from contextlib import contextmanager

import pytest
from accessible import grave_findings
from django.db import connections
from django.test import Client
from django_site import use_database
from field_study import ANSWERED, FieldStudy, form_with
from live_client import PASSWORD, served

from peerfront.web.live.operations.verification import verify
from peerfront.web.live.records import models
from peerfront.web.live.records.contacts import read_contact
from peerfront.web.live.rules.actions import Role

TABLET = {"width": 820, "height": 1180}
UNSENT = "Not sent yet: no connection. Keep this page open."
KEPT = "sessionStorage.getItem('peerfront.unsent')"


@contextmanager
def _tablets(chromium, *users):
    """A tablet for each user, who has logged in."""
    contexts = []
    with served() as address:
        for user in users:
            context = chromium.new_context(viewport=TABLET, base_url=address, has_touch=True)
            context.set_default_timeout(20_000)
            contexts.append(context)
            page = context.new_page()
            page.on("dialog", lambda dialog: dialog.accept())  # "leave this page?"
            _log_in(page, user.username)
        yield [context.pages[0] for context in contexts]
        for context in contexts:
            context.close()


def _log_in(page, name: str) -> None:
    page.goto("/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(lambda url: "/login/" not in url)


def _answer(page) -> None:
    page.get_by_label("How many people").fill("12")
    page.get_by_label("Harbour").check()
    page.get_by_label("How old").fill("34")
    page.get_by_label("What work").fill("ships")


def _enrol(page) -> None:
    page.get_by_role("button", name="Enrol", exact=True).click()


def _recruits() -> list[models.Person]:
    return list(models.Person.objects.exclude(recruiter=None))


@pytest.mark.usefixtures("one_database")
def test_a_form_waits_for_the_network_and_is_then_sent_once(chromium) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    with _tablets(chromium, study.user(Role.INTERVIEWER, "north")) as (page,):
        page.goto(f"/enrol/?code={code}")
        _answer(page)
        page.context.set_offline(True)
        _enrol(page)
        page.get_by_text(UNSENT).wait_for()
        assert page.get_by_label("What work").input_value() == "ships"
        assert not grave_findings(page)
        page.get_by_role("button", name="Try now").click()
        assert page.get_by_text(UNSENT).is_visible()
        assert _recruits() == []
        page.context.set_offline(False)
        page.wait_for_url("**/hand-out/")
        assert "is enrolled." in page.locator(".notes").inner_text()
        assert page.evaluate(KEPT) is None
    (recruit,) = _recruits()
    assert dict(recruit.answers)["work"] == "ships"
    assert verify().whole


@pytest.mark.parametrize("lost", ["answer", "server", "proxy"])
@pytest.mark.usefixtures("one_database")
def test_a_lost_answer_enrols_and_pays_once(chromium, lost) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    tries = []

    def fail_first(route) -> None:
        """The first time: recorded, and the server is gone before it answers; or nobody, or somebody else, answers."""
        if route.request.method == "POST":
            tries.append(route.request.post_data)
        if len(tries) != 1 or route.request.method != "POST":
            route.continue_()
        elif lost == "answer":
            route.fetch(max_redirects=0)
            route.abort("connectionreset")
        elif lost == "server":
            route.fulfill(status=503, headers={"X-Sent-By": "script"})
        else:
            route.fulfill(status=200, body="Welcome to this hotel's network")

    with _tablets(chromium, study.user((Role.INTERVIEWER, Role.CASHIER), "north")) as (page,):
        page.goto(f"/enrol/?code={code}")
        _answer(page)
        page.route("**/enrol/**", fail_first)
        _enrol(page)
        page.get_by_text(UNSENT).wait_for()
        assert len(_recruits()) == (lost == "answer")
        page.get_by_role("button", name="Try now").click()
        page.wait_for_url("**/hand-out/")
        assert len(tries) == 2
        assert tries[0] == tries[1]
        tries.clear()
        page.route("**/pay/**", fail_first)
        page.goto(f"/pay/?typed={code}")
        page.get_by_role("button", name="Pay EUR").first.click()
        page.get_by_text(UNSENT).wait_for()
        page.get_by_role("button", name="Try now").click()
        page.wait_for_url("**/receipt/**")
    assert len(_recruits()) == 1
    assert models.Payment.objects.count() == 1
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_what_was_pressed_is_sent_after_the_tab_was_loaded_again(chromium) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    with _tablets(chromium, study.user(Role.INTERVIEWER, "north")) as (page,):
        page.goto(f"/enrol/?code={code}")
        _answer(page)
        page.route("**/enrol/**", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
        _enrol(page)
        page.get_by_text(UNSENT).wait_for()
        page.unroute("**/enrol/**")
        page.goto("/")  # not even the same page
        page.wait_for_url("**/hand-out/")
        assert page.evaluate(KEPT) is None
    assert dict(_recruits()[0].answers)["work"] == "ships"


@pytest.mark.usefixtures("one_database")
def test_how_to_reach_somebody_is_never_kept_and_what_else_was_typed_is_until_logging_out(chromium) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    other = study.user(Role.INTERVIEWER, "north", name="other")
    with _tablets(chromium, study.user(Role.INTERVIEWER, "north")) as (page,):
        page.goto(f"/enrol/?code={code}")
        _answer(page)
        pseudonym = page.get_by_label("Pseudonym", exact=True).input_value()
        page.reload()
        assert page.get_by_label("What work").input_value() == "ships", "before it was sent at all"
        page.get_by_text("How to reach the person").click()
        page.get_by_label("The person agrees").check()
        page.get_by_label("Name", exact=True).fill("Ida Berg")
        page.route("**/enrol/**", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
        _enrol(page)
        page.get_by_text(UNSENT).wait_for()
        assert "ships" in page.evaluate(KEPT)
        assert "Ida" not in page.evaluate(KEPT)
        page.unroute("**/enrol/**")
        page.goto(f"/enrol/?code={code}")
        assert _recruits() == [], "a part of what was typed is missing: it is asked for again"
        assert page.get_by_label("Pseudonym", exact=True).input_value() == pseudonym
        assert page.get_by_label("Harbour").is_checked()
        page.get_by_label("What work").fill("harbour pilot")
        for leave in ("form[data-logs-out] button", None):
            assert "pilot" in page.evaluate(KEPT)
            if leave:
                entry = page.evaluate(KEPT)
                page.locator(leave).evaluate("button => button.form.requestSubmit()")
                page.wait_for_url("**/login/**")
                assert page.evaluate(KEPT) is None
                page.evaluate("entry => sessionStorage.setItem('peerfront.unsent', entry)", entry)
        _log_in(page, other.username)
        assert page.evaluate(KEPT) is None, "somebody else's"
        page.goto(f"/enrol/?code={code}")
        assert page.get_by_label("What work").input_value() == ""
        _answer(page)
        page.get_by_text("How to reach the person").click()
        page.get_by_label("The person agrees").check()
        page.get_by_label("Name", exact=True).fill("Ida Berg")
        page.get_by_label("How to reach them", exact=True).fill("first\nsecond")
        _enrol(page)
        page.wait_for_url("**/hand-out/")
    assert read_contact(pseudonym) == {"name": "Ida Berg", "note": "first\r\nsecond"}


@pytest.mark.usefixtures("one_database")
def test_refusals_missing_answers_and_a_lost_session_are_shown_as_ever(chromium) -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    study.enrol("dora", first)
    with _tablets(chromium, study.user(Role.INTERVIEWER, "north")) as (page,):
        page.goto("/arrive/")
        page.get_by_label("Coupon code").fill(first)
        page.keyboard.press("Enter")
        page.get_by_text("was used").wait_for()
        refused = models.Refusal.objects.count()
        assert refused == 1, "asked for twice, recorded once"
        page.goto(f"/enrol/?code={second}")
        page.get_by_label("What work").fill("ships")
        _enrol(page)
        page.get_by_text("Not answered yet.").first.wait_for()
        assert page.get_by_label("What work").input_value() == "ships"
        _answer(page)
        page.context.set_offline(True)
        _enrol(page)
        page.get_by_text(UNSENT).wait_for()
        page.context.clear_cookies(name="peerfront_session")  # it ends meanwhile
        page.context.set_offline(False)
        page.get_by_text("What you typed is kept").wait_for()
        page.get_by_label("Username").fill("interviewer-north")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/hand-out/")
    assert len(_recruits()) == 2
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_two_tablets_with_one_coupon_and_one_payment(chromium) -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    roles = (Role.INTERVIEWER, Role.CASHIER)
    users = study.user(roles, "north"), study.user(roles, "north", name="second")
    with _tablets(chromium, *users) as (page, other):
        for tablet in (page, other):
            tablet.goto(f"/enrol/?code={code}")
            _answer(tablet)
        other.get_by_label("What work").fill("nets")
        other.context.set_offline(True)
        _enrol(other)
        other.get_by_text(UNSENT).wait_for()
        _enrol(page)
        page.wait_for_url("**/hand-out/")
        other.context.set_offline(False)
        other.get_by_text("was used").wait_for()
        assert other.get_by_label("What work").input_value() == "nets"
        for tablet in (page, other):
            tablet.goto(f"/pay/?typed={code}")
        page.get_by_role("button", name="Pay EUR").first.click()
        page.wait_for_url("**/receipt/**")
        other.get_by_role("button", name="Pay EUR").first.click()
        other.get_by_text("It is paid once.").first.wait_for()
    (recruit,) = _recruits()
    assert dict(recruit.answers)["work"] == "ships"
    assert models.Payment.objects.count() == 1
    assert verify().whole


@pytest.mark.parametrize("what", ["enrol", "hand out", "pay"])
@pytest.mark.usefixtures("database")
def test_a_server_that_is_killed_after_it_wrote_answers_the_same_later_and_does_nothing_twice(what) -> None:
    study = FieldStudy()
    first, second = study.coupons(2)
    study.enrol("dora", first)
    study.approve(dora=2)
    client = study.client((Role.INTERVIEWER, Role.CASHIER), "north")
    address = {"enrol": f"/enrol/?code={second}", "hand out": "/people/dora/hand-out/", "pay": "/pay/"}[what]
    page = client.get(f"/pay/?typed={first}" if what == "pay" else address)
    needed = {"enrol": "network_size", "hand out": "decided", "pay": "kind"}[what]
    form = form_with(page, needed).fields | (ANSWERED if what == "enrol" else {})

    def send_and_die() -> None:
        use_database(connections.settings["default"])  # the browser's thread had connections of its own
        client.post(address, form)
        os.kill(os.getpid(), signal.SIGKILL)

    connections.close_all()
    server = multiprocessing.get_context("fork").Process(target=send_and_die)
    server.start()
    server.join(60)
    assert server.exitcode == -signal.SIGKILL
    before = models.Event.objects.count()
    assert (len(_recruits()), models.Coupon.objects.filter(holder="dora").count(), models.Payment.objects.count()) == {
        "enrol": (2, 0, 0), "hand out": (1, 2, 0), "pay": (1, 0, 1),
    }[what]  # fmt: skip
    assert client.post(address, form).status_code == 302, "accepted as the first time"
    assert models.Event.objects.count() == before
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_a_script_is_told_where_to_go_and_that_we_answered() -> None:
    study = FieldStudy()
    (code,) = study.coupons(1)
    client: Client = study.client(Role.INTERVIEWER, "north")
    form = form_with(client.get(f"/enrol/?code={code}"), "network_size").fields | ANSWERED
    sent = [client.post(f"/enrol/?code={code}", form, headers={"X-Sent-By": "script"}) for _ in range(2)]
    for answer in sent:
        assert (answer.status_code, answer["X-Sent-By"]) == (200, "script")
        assert answer["X-Location"] == f"/people/{form['person']}/hand-out/"
        assert not answer.has_header("Location")
    assert "is enrolled" in client.get(sent[0]["X-Location"]).content.decode(), "the note waits for the page"
    assert client.get("/nowhere/", headers={"X-Sent-By": "script"})["X-Sent-By"] == "script"
    assert not client.get("/").has_header("X-Sent-By")
