"""After logging out, the back button of a shared tablet shows nobody's answers."""

import re
import shutil
from contextlib import closing

import pytest
from field_study import FieldStudy
from live_client import CHROMIUM_OPTIONS, PASSWORD, served

from peerfront.web.live.rules.actions import Role


@pytest.mark.usefixtures("one_database")
def test_the_back_button_shows_nothing_after_logging_out(chromium, tmp_path) -> None:
    study = FieldStudy()
    study.seed("ana")
    user = study.user(Role.COORDINATOR, "north")
    profile = chromium.browser_type.launch_persistent_context(
        tmp_path,
        executable_path=shutil.which("chromium"),
        args=CHROMIUM_OPTIONS,
        ignore_default_args=["--disable-back-forward-cache"],
    )
    with served() as address, closing(profile):
        page = profile.new_page()
        page.goto(f"{address}/login/")
        page.fill("input[name=username]", user.username)
        page.fill("input[name=password]", PASSWORD)
        page.click("button.large")
        page.goto(f"{address}/people/ana/")
        assert "Answers" in page.inner_text("main")
        page.click("summary:has-text('coordinator')")
        page.click("form[action='/logout/'] button")
        page.wait_for_url("**/login/")
        page.evaluate("history.back()")  # not go_back, which waits for a page that a browser shows from its memory
        page.wait_for_url(re.compile(r"/login/\?next="))
        assert "Answers" not in page.inner_text("body")
