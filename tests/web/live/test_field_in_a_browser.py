"""The pages of the field in a real browser: one recruit from scan to payment, on a desk and on a tablet."""

import re
from contextlib import contextmanager
from dataclasses import replace

import pytest
from accessible import grave_findings
from field_study import FIELD_SETTINGS, FieldStudy
from live_client import PASSWORD, served, until

from peerfront.web.live.operations.demo import SETTINGS as DEMO
from peerfront.web.live.operations.verification import verify
from peerfront.web.live.planning.kept_models import SAME_FOR_ALL
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.codes import shown_code
from peerfront.web.live.rules.events import PlannedCoupons
from peerfront.web.live.rules.requests import AddSeed, ApprovePlan, EnrolPerson, ProposePlan

DESK = {"width": 1280, "height": 800}
TABLET = {"width": 820, "height": 1180}
PHONE = {"width": 390, "height": 844}
MOST_ACTIONS = 7
FOUR = replace(FIELD_SETTINGS, questions=DEMO.questions)
"""The four questions of the made-up study."""
PRINTS = "window.printed = 0; window.print = () => { window.printed += 1; };"


class Hands:
    """Somebody at a device, who counts what they do: taps, typed fields (Enter ends one), scans."""

    def __init__(self, page) -> None:
        self.page = page
        self.actions = 0

    def press(self, name: str, role: str = "button") -> None:
        self.actions += 1
        self.page.get_by_role(role, name=name, exact=True).click()

    def scan(self, code: str) -> None:
        """A scanner types into whatever has the focus, and ends with Enter."""
        self.page.keyboard.type(code)
        self.actions += 1
        self.page.keyboard.press("Enter")

    def tap(self, words: str) -> None:
        """A finger where there is a touch screen; never where something else lies above."""
        self.actions += 1
        place = self.page.locator(".choice", has=self.page.get_by_text(words, exact=True))
        place.tap() if self.page.evaluate("navigator.maxTouchPoints > 0") else place.click()

    def type(self, text: str) -> None:
        """Into whatever has the focus, as somebody who does not look for the box first."""
        self.actions += 1
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def answer(self) -> None:
        self.page.get_by_label("How many people").fill("12")
        self.page.get_by_label("Harbour").check()
        self.page.get_by_label("How old").fill("34")
        self.page.get_by_label("What work").fill("ships")


def _field_study(settings=FIELD_SETTINGS) -> tuple[FieldStudy, tuple[str, ...]]:
    study = FieldStudy(settings)
    study.seed("ana")
    lines = (PlannedCoupons("ana", 3, "", 1.0, "As the plan says."),)
    plan = study.do(ProposePlan(SAME_FOR_ALL, 7, lines)).events[0].fact.plan
    study.do(ApprovePlan(plan))
    return study, study.issue("ana")


@contextmanager
def _at_work(
    chromium, study: FieldStudy, role: Role | tuple[Role, ...], site: str | None = "north", viewport=DESK, **options
):
    """Somebody who has logged in, in a browser of their own."""
    user = study.user(role, site)
    with served() as address:
        context = chromium.new_context(viewport=viewport, base_url=address, **options)
        context.set_default_timeout(20_000)
        context.add_init_script(PRINTS)
        page = context.new_page()
        page.goto("/login/")
        _log_in(page, user.username)
        yield page
        context.close()


def _log_in(page, name: str) -> None:
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(lambda url: "/login/" not in url)


@pytest.mark.parametrize("viewport", [DESK, TABLET, PHONE], ids=["desk", "tablet", "phone"])
@pytest.mark.usefixtures("one_database")
def test_one_recruit_from_scan_to_payment(chromium, viewport) -> None:
    study, (code, *_) = _field_study(FOUR)
    touch = viewport is not DESK
    with _at_work(chromium, study, Role.INTERVIEWER, viewport=viewport, has_touch=touch) as page:
        hands = Hands(page)
        hands.scan(code)
        page.wait_for_url("**/enrol/**")
        assert f"Coupon {shown_code(code)} is valid." in page.locator(".card.good").inner_text()
        for question in FOUR.questions:
            hands.tap(question.choices[-1])
        hands.type("12")
        page.wait_for_url("**/hand-out/")
        number = int(page.locator(".hand-out .figure").inner_text())
        hands.press(f"Hand out {number} coupons and print" if number != 1 else "Hand out 1 coupon and print")
        page.wait_for_url("**/print/**")
        assert page.locator(".coupon").count() == number >= 1
        until(page, "window.printed == 1")
        assert hands.actions <= MOST_ACTIONS, f"{hands.actions} actions from arrival to printed coupons"
        page.reload(wait_until="load")
        assert page.evaluate("window.printed") == 0, "a page that is loaded again does not print again"
        assert not _too_wide(page)
    recruit = models.Person.objects.get(code=code)
    with _at_work(chromium, study, Role.CASHIER, viewport=viewport, has_touch=touch) as page:
        hands = Hands(page)
        page.goto("/pay/")
        hands.scan(code)
        page.get_by_role("button", name=re.compile("Pay EUR.20.00")).click()
        page.wait_for_url("**/receipt/**")
        assert recruit.person in page.locator(".receipt").inner_text()
        assert not _too_wide(page)
        page.go_back()
        page.wait_for_url("**/pay/")
    assert models.Payment.objects.get().person_id == recruit.person
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_one_login_with_every_role_of_the_counter_pays_after_the_coupons(chromium) -> None:
    study, (code, *_) = _field_study(FOUR)
    roles = (Role.INTERVIEWER, Role.CASHIER, Role.COORDINATOR)
    found: list[str] = []

    def look(page) -> None:
        found.extend([*grave_findings(page), *_small_targets(page)])
        if _too_wide(page):
            found.append(f"{page.url} is wider than the screen")

    with _at_work(chromium, study, roles, viewport=PHONE, has_touch=True) as page:
        hands = Hands(page)
        look(page)
        hands.scan(code)
        page.wait_for_url("**/enrol/**")
        look(page)
        for question in FOUR.questions:
            hands.tap(question.choices[0])
        hands.type("3")
        page.wait_for_url("**/hand-out/")
        look(page)
        page.locator(".hand-out button").tap()
        page.wait_for_url("**/print/**")
        look(page)
        page.get_by_role("button", name=re.compile("Pay EUR.20.00")).tap()
        page.wait_for_url("**/receipt/**")
        look(page)
        page.goto("/pay/?typed=ana")
        look(page)
    assert found == []
    assert models.Payment.objects.get().coupon_id == code


def _small_targets(page) -> list[str]:
    """What is tapped and lower than a thumb is wide."""
    return page.evaluate(
        """[...document.querySelectorAll("main button, main .button, main .choice, main summary, main input.scan")]
           .filter((each) => each.offsetParent && each.getBoundingClientRect().height < 44)
           .map((each) => `${location.pathname}: ${each.innerText || each.name} is low`)"""
    )


def _too_wide(page) -> bool:
    """Whether the page has to be scrolled sideways."""
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.mark.usefixtures("one_database")
def test_the_first_question_has_the_focus_and_errors_lead_to_their_fields(chromium) -> None:
    study, (code, *_) = _field_study()
    with _at_work(chromium, study, Role.INTERVIEWER, viewport=TABLET) as page:
        Hands(page).scan(code)
        page.wait_for_url("**/enrol/**")
        focused = "document.activeElement"
        assert page.evaluate(f"{focused}.id") == "id_question_area_0"
        page.keyboard.press("Enter")
        assert page.evaluate(f"{focused}.id") == "id_question_area_0", (
            "a scanner that ends with two Enters sends nothing"
        )
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        assert page.evaluate(f"{focused}.id") == "id_question_age", "Enter goes on"
        page.get_by_role("button", name="Enrol", exact=True).click()
        page.get_by_role("alert").first.wait_for()
        assert page.evaluate(f"{focused}.getAttribute('role')") == "alert"
        assert not grave_findings(page)
        page.get_by_role("link", name="How old are you?").click()
        assert page.evaluate(f"{focused}.id") == "id_question_age"
        described = page.evaluate(f"{focused}.getAttribute('aria-describedby')")
        assert page.locator(f"#{described}").inner_text() == "Not answered yet."
        page.set_viewport_size(PHONE)  # its header has two rows
        page.goto(f"/enrol/?code={code}")
        page.get_by_role("button", name="Enrol", exact=True).click()
        page.get_by_role("link", name="Where do you live?").click()
        assert page.evaluate(f"{focused}.id") == "id_question_area_0"
        header, question = page.locator("header.top"), page.locator("legend").first
        assert question.bounding_box()["y"] >= header.bounding_box()["y"] + header.bounding_box()["height"]


@pytest.mark.usefixtures("one_database")
def test_everything_works_without_scripts(chromium) -> None:
    study, (code, *_) = _field_study()
    with _at_work(chromium, study, Role.INTERVIEWER, java_script_enabled=False) as page:
        hands = Hands(page)
        page.get_by_label("Coupon code").click()
        hands.scan(code)
        page.wait_for_url("**/enrol/**")
        page.context.clear_cookies(name="peerfront_session")
        hands.answer()
        hands.press("Enrol")
        page.get_by_text("What you typed is kept").wait_for()
        page.get_by_label("Username").fill("interviewer-north")
        page.get_by_label("Password").fill(PASSWORD)
        hands.press("Log in")
        hands.press("Continue")
        page.wait_for_url("**/hand-out/")
        page.get_by_text("Hand out fewer", exact=True).click()
        page.get_by_label("Why fewer?").fill("took one")
        page.get_by_label("Number of coupons").select_option("1")
        hands.press("Hand out fewer and print")
        page.wait_for_url("**/print/**")
        assert page.locator(".coupon").count() == 1
    person = models.Person.objects.get(code=code)
    assert (person.network_size, person.coupons) == (12, 1)


@pytest.mark.parametrize("lost", ["session", "all cookies"])
@pytest.mark.usefixtures("one_database")
def test_a_session_that_ends_within_a_form_loses_nothing(chromium, lost) -> None:
    study, (code, *_) = _field_study()
    with _at_work(chromium, study, Role.INTERVIEWER, viewport=TABLET) as page:
        hands = Hands(page)
        hands.scan(code)
        page.wait_for_url("**/enrol/**")
        hands.answer()
        page.get_by_text("How to reach the person").click()
        page.get_by_label("The person agrees").check()
        page.get_by_label("Name", exact=True).fill('Ida "<b>" Berg')
        page.get_by_label("How to reach them", exact=True).fill("first line\nsecond line")
        pseudonym = page.get_by_label("Pseudonym", exact=True).input_value()
        if lost == "session":
            page.context.clear_cookies(name="peerfront_session")
        else:
            page.context.clear_cookies()
        hands.press("Enrol")
        page.get_by_text("What you typed is kept").wait_for()
        assert not grave_findings(page)
        page.get_by_label("Username").fill("interviewer-north")
        page.get_by_label("Password").fill(PASSWORD)
        hands.press("Log in")
        if lost == "all cookies":  # the browser does not know any more whose entries these are
            hands.press("Continue")
        page.wait_for_url("**/hand-out/")  # otherwise the form is sent by itself
        assert pseudonym in page.locator("h1").inner_text()
    from peerfront.web.live.records.contacts import read_contact

    row = DatabaseRecords().person(pseudonym)
    assert (row.network_size, dict(row.answers)["work"]) == (12, "ships")
    assert read_contact(pseudonym) == {"name": 'Ida "<b>" Berg', "note": "first line\r\nsecond line"}


@pytest.mark.usefixtures("one_database")
def test_a_form_of_an_old_tab_can_be_sent_after_logging_in_elsewhere(chromium) -> None:
    study, (code, *_) = _field_study()
    with _at_work(chromium, study, Role.INTERVIEWER) as page:
        page.goto("/arrive/")
        other = page.context.new_page()
        other.goto("/login/")
        _log_in(other, "interviewer-north")
        page.get_by_label("Coupon code").fill(code)
        page.keyboard.press("Enter")
        page.get_by_text("What you typed is not lost").wait_for()
        assert not grave_findings(page)
        page.get_by_role("button", name="Continue").click()
        page.wait_for_url("**/enrol/**")


@pytest.mark.usefixtures("one_database")
def test_double_clicks_and_the_back_button_do_everything_once(chromium) -> None:
    study, (code, *_) = _field_study()
    with _at_work(chromium, study, Role.INTERVIEWER) as page:
        hands = Hands(page)
        hands.scan(code)
        page.wait_for_url("**/enrol/**")
        hands.answer()
        page.get_by_role("button", name="Enrol", exact=True).dblclick()
        page.wait_for_url("**/hand-out/")
        pseudonym = page.locator("h1").inner_text().removeprefix("Coupons for ")
        page.go_back()
        page.wait_for_url("**/enrol/**")
        if page.get_by_role("button", name="Enrol", exact=True).count():  # kept by the browser: sent again
            page.get_by_role("button", name="Enrol", exact=True).click()
        else:  # loaded again: the coupon is used, and the page leads on
            page.get_by_role("link", name=f"Coupons for {pseudonym}").click()
        page.wait_for_url("**/hand-out/")
        assert pseudonym in page.locator("h1").inner_text()
        page.locator(".hand-out button").dblclick()
        page.wait_for_url("**/print/**")
        held = page.locator(".coupon").count()
        page.go_back()
        page.wait_for_url("**/hand-out/")
        page.reload()
        assert "Nobody gets coupons twice in a round." in page.locator(".card.bad").inner_text()
    assert models.Person.objects.exclude(recruiter=None).count() == 1
    assert models.Coupon.objects.filter(holder=pseudonym).count() == held
    assert verify().whole


@pytest.mark.usefixtures("one_database")
def test_nothing_grave_for_people_who_see_or_move_differently(chromium) -> None:
    """axe-core on every page of the field, in the states that people meet."""
    study, (first, second, third) = _field_study()
    study.do(EnrolPerson(second, "emil"))
    study.enrol("dora", third)
    found: list[str] = []

    def look(page, address: str = "") -> None:
        if address:
            page.goto(address)
        found.extend(grave_findings(page))
        if _too_wide(page):
            found.append(f"{page.url} is wider than the screen")

    with _at_work(chromium, study, Role.INTERVIEWER, viewport=TABLET) as page:
        look(page)
        look(page, "/arrive/")
        Hands(page).scan("K7M-4RT9-XC1")
        page.get_by_role("alert").wait_for()
        look(page)
        look(page, f"/enrol/?code={first}")
        page.get_by_text("How to reach the person").click()
        page.get_by_text("This person takes part already").click()
        look(page)
        page.get_by_role("button", name="Enrol", exact=True).click()
        page.get_by_label("The person does not know").wait_for()
        look(page)
        look(page, "/people/emil/answers/")
        look(page, "/people/emil/hand-out/")
        look(page, "/people/dora/hand-out/")
        page.get_by_text("Hand out fewer", exact=True).click()
        look(page)
        page.locator(".hand-out button").click()
        page.wait_for_url("**/print/**")
        look(page)
        look(page, "/people/ana/print/")
        look(page, "/people/nobody/print/")
    with _at_work(chromium, study, Role.CASHIER, viewport=TABLET) as page:
        look(page)
        look(page, "/pay/")
        look(page, f"/pay/?typed={third}")
        look(page, "/pay/?typed=ana")
        look(page, "/pay/?typed=nonsense")
        page.goto(f"/pay/?typed={third}")
        page.get_by_role("button", name="Pay EUR").first.click()
        page.wait_for_url("**/receipt/**")
        look(page)
    for role in (Role.COORDINATOR, Role.ANALYST, Role.MANAGER):
        with _at_work(chromium, study, role, None, viewport=TABLET) as page:
            look(page)
            if role is Role.COORDINATOR:
                look(page, "/add-seed/")  # where do you work?
                page.get_by_role("button", name="Work here").click()
                page.get_by_label("Pseudonym", exact=True).wait_for()
                look(page)
    assert found == []


@pytest.mark.usefixtures("one_database")
@pytest.mark.parametrize("texts", [(), DEMO.coupon_texts])
def test_coupons_fit_their_paper(chromium, texts) -> None:
    name = "A study with quite a long name, as studies have"
    study = FieldStudy(replace(FIELD_SETTINGS, cap=9, budget=9, name=name, coupon_texts=texts))
    study.seed("ana")
    study.approve(ana=9)
    with _at_work(chromium, study, Role.INTERVIEWER) as page:
        page.goto("/people/ana/hand-out/")
        page.get_by_role("button", name="Hand out 9 coupons and print").click()
        page.wait_for_url("**/print/**")
        address = page.url
        for layout, size, sheets in (("a4", (595, 842), 2), ("letter", (612, 792), 2), ("label", (176, 283), 9)):
            page.goto(f"{address}&layout={layout}")
            page.emulate_media(media="print")
            assert _cut_coupons(page) == []
            page.emulate_media(media="null")
            printed = page.pdf(prefer_css_page_size=True)
            boxes = re.findall(rb"/MediaBox ?\[ ?0 0 ([\d.]+) ([\d.]+) ?\]", printed)
            assert len(boxes) == sheets, layout
            for width, height in boxes:
                assert (float(width), float(height)) == pytest.approx(size, abs=1.5)


def _cut_coupons(page) -> list[str]:
    """Coupons whose content is larger than they are."""
    return page.evaluate(
        """[...document.querySelectorAll(".coupon")]
           .filter((each) => each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 1)
           .map((each) => each.innerText)"""
    )


@pytest.mark.usefixtures("one_database")
def test_right_to_left_pages_are_mirrored_and_codes_are_not(chromium) -> None:
    study, (code, *_) = _field_study()
    study.do(AddSeed("zoe"))
    with _at_work(chromium, study, Role.INTERVIEWER, viewport=TABLET) as page:
        page.goto(f"/enrol/?code={code}")
        page.evaluate("document.documentElement.dir = 'rtl'")
        box, edge = page.locator("h1").bounding_box(), page.viewport_size["width"]
        assert box["x"] + box["width"] > edge * 0.9
        assert not _too_wide(page)
        direction = page.locator(".card .code").evaluate("each => getComputedStyle(each).direction")
        assert direction == "ltr"
