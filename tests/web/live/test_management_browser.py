"""Management in a real browser: from the one-time link to a new user, questions without scripts, no barriers."""

import re
from contextlib import closing

import pytest
from django.conf import settings
from live_client import PASSWORD, LiveStudy, served

from peerfront.web.live.operations.staff import new_link
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.models import Member
from peerfront.web.live.rules.actions import Role
from peerfront.web.live.screens.page_frame import MENU

pytestmark = pytest.mark.usefixtures("one_database")
NEW = "four words nobody knows"


@pytest.mark.parametrize("width", [1366, 820])
def test_the_menu_of_all_roles_fits_in_one_row_in_every_language(chromium, width) -> None:
    user = LiveStudy().user(tuple(Role))
    with served() as address, closing(chromium.new_context(viewport={"width": width, "height": 900})) as context:
        page = context.new_page()
        _log_in(page, address, user.username)
        for language in dict(settings.LANGUAGES):
            context.add_cookies([{"name": settings.LANGUAGE_COOKIE_NAME, "value": language, "url": address}])
            page.goto(f"{address}/audit/")
            bar, menu, who = (page.locator(each).bounding_box() for each in ("header.top", "nav > details", ".who"))
            assert bar["height"] < 70
            ends = menu["x"] + menu["width"] <= who["x"] or who["x"] + who["width"] <= menu["x"]
            assert ends, f"menu and account overlap ({language})"
            page.locator(".brand span").evaluate("name => name.textContent = 'The study of the harbour'")
            row = page.locator("nav > ul")
            cut_off = row.evaluate("each => each.scrollWidth - each.clientWidth")
            assert cut_off <= 1, f"a link is cut off by {cut_off} px ({language})"
            page.locator("nav summary").click()
            assert page.locator("nav a:visible").count() == len(MENU), "each page once"
            assert page.locator("nav a[aria-current]:visible").count() == 1


def _log_in(page, address: str, name: str, password: str = PASSWORD) -> None:
    page.goto(f"{address}/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def _menu(page, name: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name=name, exact=True).click()


def test_from_the_first_link_to_somebody_who_works(chromium) -> None:
    study = LiveStudy()
    with served() as address:
        link = new_link(study.user(Role.MANAGER, name="manager"), address).address
        context = chromium.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(link)
        assert _barriers_without_scripts(page)
        page.get_by_label("Your name for logging in").fill("maria")
        page.get_by_label("New password", exact=True).fill(NEW)
        page.get_by_label("New password confirmation").fill(NEW)
        page.get_by_role("button", name="Save and log in").click()
        _menu(page, "Users")
        page.get_by_role("link", name="Add somebody").click()
        page.get_by_label("Name for logging in").fill("ines")
        page.get_by_label(re.compile("interviewer: ")).check()
        page.get_by_label("Site", exact=True).select_option(label="South street")
        page.get_by_role("button", name="Add", exact=True).click()
        second = page.locator(".one-time-link").inner_text()
        other = chromium.new_context().new_page()
        other.goto(second)
        other.get_by_label("New password", exact=True).fill(NEW)
        other.get_by_label("New password confirmation").fill(NEW)
        other.get_by_role("button", name="Save and log in").click()
        assert "ines" in other.locator("header").inner_text()
        assert "interviewer" in other.locator("header").text_content()
        other.context.close()
        context.close()
    member = Member.objects.get(user__username="ines")
    assert (member.roles, member.site_id) == ("interviewer", "south")


def _barriers_without_scripts(page) -> bool:
    """Every visible entry has a label, as axe cannot run where scripts do not."""
    entries = page.locator("input:not([type=hidden]), select, textarea")
    return all(
        page.locator(f"label[for='{entries.nth(n).get_attribute('id')}']").count() for n in range(entries.count())
    )


def test_questions_are_made_without_scripts(chromium) -> None:
    study = LiveStudy()
    user = study.user(Role.MANAGER)
    with served() as address:
        context = chromium.new_context(java_script_enabled=False)
        page = context.new_page()
        _log_in(page, address, user.username)
        _menu(page, "Settings")
        page.get_by_role("button", name="Add a question").click()
        page.get_by_label("Question, as it is asked").fill("Where do you live?")
        page.get_by_label("Choices, one on each line").fill("North\nSouth")
        page.get_by_role("button", name="Add a question").click()
        page.get_by_label("Question, as it is asked").nth(1).fill("Age")
        page.get_by_label("Answered by").nth(1).select_option(label="a number")
        page.get_by_label("Reason for the change").fill("The first questions.")
        page.get_by_role("button", name="Save the settings").click()
        assert "The settings are saved." in page.locator("main").inner_text()
        context.close()
    questions = DatabaseRecords().study().settings.questions
    assert [(each.name, each.choices) for each in questions] == [("where_do_you_live", ("North", "South")), ("age", ())]


def test_a_back_up_and_an_export_are_downloaded(chromium, tmp_path) -> None:
    study = LiveStudy()
    study.seed("ana")
    with served() as address:
        page = chromium.new_context(accept_downloads=True).new_page()
        _log_in(page, address, study.user(Role.MANAGER).username)
        _menu(page, "Back-ups")
        page.get_by_role("button", name="Make a back-up now").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=re.compile("^Download")).first.click()
        assert download.value.path().stat().st_size > 500
        page.context.close()
        page = chromium.new_context(accept_downloads=True).new_page()
        _log_in(page, address, study.user(Role.ANALYST).username)
        _menu(page, "Export")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        assert download.value.suggested_filename.endswith(".zip")
        page.context.close()
