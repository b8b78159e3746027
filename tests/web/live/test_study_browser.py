"""The study pages in a real browser: charts by finger and keyboard, a coupon made void, how to reach a person."""

import pytest
from django.conf import settings as django_settings
from live_client import served, write_contact
from played_study import PlayedStudy

from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.rules.requests import VoidCoupon, WithdrawPerson
from web.browsing import SIZES, faults_of


@pytest.fixture
def played(one_database):
    study = PlayedStudy().play(weeks=5)
    unused = models.Coupon.objects.filter(redemption=None, site="north").exclude(holder=None).order_by("-issued_at")
    study.do(VoidCoupon(unused[0].code, "lost on the bus"), site="north")
    study.do(WithdrawPerson("s005", True, "moved away"), site="north")
    write_contact("s001", {"name": "Zenobia Quux"})
    return study


def _page(chromium, study, address, size, role=Role.COORDINATOR, site=None, touch=False):
    context = chromium.new_context(viewport=SIZES[size], has_touch=touch)
    cookie = study.client(role, site).cookies[django_settings.SESSION_COOKIE_NAME]
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": address}])
    return context.new_page()


def _unused() -> str:
    unused = models.Coupon.objects.filter(redemption=None, voided_at=None, site="north").exclude(holder=None)
    return unused.first().code


SMALLEST = """() => Math.min(...[...document.querySelectorAll(".chart text, .chart p, .chart li, .chart span")].map(
    (each) => parseFloat(getComputedStyle(each).fontSize) * (each.getScreenCTM ? each.getScreenCTM().a : 1)))"""


@pytest.mark.parametrize("size", ["desk", "tablet", "phone"])
def test_charts_are_read_at_every_width_by_finger_pointer_and_keyboard(chromium, played, size) -> None:
    with served() as address:
        page = _page(chromium, played, address, size, touch=True)
        page.goto(f"{address}/progress/")
        page.evaluate("document.querySelectorAll('main details:not(.numbers)').forEach((fold) => (fold.open = true))")
        assert page.evaluate(SMALLEST) >= 11
        charts = page.locator(".chart")
        assert charts.count() == 4
        for chart in charts.all():
            value = chart.locator(".value").nth(1)
            said = value.locator("title").text_content()
            words = value.locator("text").first
            assert words.is_hidden()
            value.locator("rect").tap()
            page.wait_for_function("value => value === document.activeElement", arg=value.element_handle())
            assert words.is_visible()
            assert said.startswith(words.text_content())
            box, plot = words.bounding_box(), chart.bounding_box()
            assert box["x"] >= plot["x"]
            assert box["x"] + box["width"] <= plot["x"] + plot["width"]
            page.keyboard.press("Tab")
            words.wait_for(state="hidden")
            chart.locator(".value").nth(2).locator("text").first.wait_for()
            chart.locator("summary").click()
            assert said.split(": ")[0] in chart.locator("table").inner_text()
        assert faults_of(page) == []
        page.goto(f"{address}/trees/")
        page.locator(".trees a").first.tap()
        page.locator(".tree.named").wait_for()
        assert page.evaluate(SMALLEST) >= 11
        page.context.close()


@pytest.mark.parametrize("size", ["desk", "tablet"])
def test_a_coordinator_finds_a_coupon_and_makes_it_void(chromium, played, size) -> None:
    code = _unused()
    with served() as address:
        page = _page(chromium, played, address, size)
        page.goto(f"{address}/coupons/")
        page.get_by_label("Code, or who got it").fill(code[:7].lower())
        page.get_by_role("button", name="Show").click()
        page.get_by_role("link", name=code[:3]).click()
        page.get_by_role("link", name="Make it void").click()
        page.get_by_label("Why").fill("torn")
        page.get_by_role("button", name="Make it void").dblclick()
        page.get_by_text("is void.").wait_for()
        page.get_by_text("torn").wait_for()
        page.context.close()
    assert models.Coupon.objects.get(pk=code).why_void == "torn"
    assert models.Event.objects.filter(kind="coupon_voided", data__contains=code).count() == 1


@pytest.mark.parametrize("size", ["desk", "tablet"])
def test_a_coordinator_looks_up_a_person_and_how_to_reach_them(chromium, played, size) -> None:
    with served() as address:
        page = _page(chromium, played, address, size)
        page.goto(f"{address}/people/")
        page.get_by_label("Pseudonym or code").fill("s001")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("link", name="s001", exact=True).first.click()
        page.get_by_role("link", name="How to reach them").click()
        assert page.get_by_text("Zenobia").count() == 0
        page.get_by_role("button", name="Show it").click()
        page.get_by_text("Zenobia Quux").wait_for()
        assert faults_of(page) == []
        page.context.close()
    assert models.Event.objects.filter(kind="action_noted").count() == 1


def test_an_analyst_estimates_a_question(chromium, played) -> None:
    with served() as address:
        page = _page(chromium, played, address, "tablet", Role.ANALYST)
        page.goto(f"{address}/estimates/")
        page.get_by_label("Question").select_option("hiv")
        page.get_by_role("button", name="Estimate").click()
        page.get_by_text("How it was estimated").wait_for(timeout=60_000)
        assert page.locator(".estimates .figure").count() >= 1, "one advised row of each answer"
        assert faults_of(page) == []
        page.context.close()
