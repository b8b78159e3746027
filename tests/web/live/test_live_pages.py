"""Pages of the live study: log in in a real browser, and who may open which page."""

import pytest
from django.test import Client
from django.urls import get_resolver
from live_client import PASSWORD, LiveStudy, served

from peerfront.web.live.rules.actions import Member, Role
from peerfront.web.live.screens.staff_requests import PAGES, may_open


@pytest.mark.usefixtures("one_database")
def test_every_page_is_in_the_table_of_access() -> None:
    assert {each.name for each in get_resolver().url_patterns} == PAGES.keys()


@pytest.mark.usefixtures("one_database")
def test_pages_of_the_table_need_a_role() -> None:
    assert not may_open("board", None)
    assert not may_open("no such page", Member("ana", (Role.MANAGER,), None))
    assert may_open("login", None)
    assert all(any(may_open(page, Member("ana", (role,), None)) for role in Role) for page in PAGES)


@pytest.mark.usefixtures("one_database")
def test_somebody_logs_in_with_a_browser(chromium) -> None:
    study = LiveStudy()
    user = study.user(Role.INTERVIEWER, "north")
    with served() as address:
        page = chromium.new_context().new_page()
        page.goto(address)
        page.get_by_label("Username").fill(user.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        assert "interviewer" in page.locator("header").inner_text()
        page.context.close()


@pytest.mark.usefixtures("one_database")
def test_the_style_is_small_on_the_way() -> None:
    sent = Client().get("/static/pages/style.css", headers={"accept-encoding": "gzip"})
    assert sent["Content-Encoding"] == "gzip"
    assert len(b"".join(sent)) < 20_000
