"""The whole path through the app in a real browser: a messy workbook, mended, to the printed sheet, to next week.

At the sizes of a desk, a tablet and a phone, each with an app of its own; `app/test_app_path.py` looks at the results.
"""

import io
import re
import sys
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent / "app"))
from app_client import SMALL, running_app

import peerfront as pf
from web.browsing import SIZES, check_page

PATIENCE = 300_000  # milliseconds for the longest job on a busy machine
PHOTO = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489") + b"\0" * 200


def workbook(table: pd.DataFrame, *above: str) -> bytes:
    """A table as people keep it, with lines above it."""
    book, content = openpyxl.Workbook(), io.BytesIO()
    for line in above:
        book.active.append([line])
    for row in (list(table.columns), *table.astype(object).where(table != "", None).values.tolist()):
        book.active.append(row)
    book.save(content)
    return content.getvalue()


def messy(table: pd.DataFrame) -> pd.DataFrame:
    """With a letter typed for a digit in two coupons, and one row twice."""
    mistyped = table.copy()
    came = mistyped.index[mistyped["own.coupon"] != ""][:2]
    mistyped.loc[came, "own.coupon"] = mistyped.loc[came, "own.coupon"].str.replace("0", "O", n=1)
    return pd.concat([mistyped, mistyped.iloc[[-1]]])


@pytest.fixture(params=[pytest.param("desk", marks=pytest.mark.slow), "tablet", "phone"])
def size(request):
    return request.param


@pytest.fixture
def app(tmp_path):
    with running_app(tmp_path / "my study") as running:
        yield running


@pytest.fixture
def page(app, chromium, size):
    """A page of somebody who came by the link. Scripts that fail, and what the page may not load, fail the test."""
    context = chromium.new_context(viewport=SIZES[size], has_touch=size != "desk", base_url=app.address)
    context.set_default_timeout(60_000)
    faults = []
    context.on("weberror", lambda fault: faults.append(str(fault.error)))
    context.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page = context.new_page()
    page.goto(app.link)
    yield page
    context.close()
    assert not faults


def press(page, name: str) -> None:
    page.get_by_role("button", name=re.compile(name)).first.click()


def finished(page, role: str, name: str):
    """Wait for what a job leads to, and look at the page."""
    found = page.get_by_role(role, name=re.compile(name)).first
    found.wait_for(timeout=PATIENCE)
    check_page(page)
    return found


def go_on(page) -> None:
    """Follow the link to the next step once the job has ended, look at both pages, and try the Back button."""
    link = finished(page, "link", "^Next:")
    with page.expect_navigation():
        link.click()
    go_back_and_forth(page)
    check_page(page)


def give(page, name: str, content: bytes) -> None:
    page.locator("input[type=file]").first.set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    )


def fill(page, **entries: str) -> None:
    """Fill in fields by their names, which the forms of all versions share; folded parts are opened."""
    for name, value in entries.items():
        field = page.locator(f"[name={name}]").first
        field.evaluate("each => each.closest('details') && (each.closest('details').open = true)")
        field.fill(value)


def go_back_and_forth(page) -> None:
    """Back and Forward show pages, and do nothing."""
    here = page.url
    page.go_back()
    assert page.get_by_role("heading", level=1).count() == 1
    page.goto(here)


def test_from_a_messy_workbook_to_next_week(page, app) -> None:
    table = pf.demo_study(people=60).study
    check_page(page)
    give(page, "IMG_0412.png", PHOTO)
    press(page, "^Read this file")
    page.get_by_role("alert").first.wait_for(timeout=PATIENCE)
    assert re.search("picture|photo", page.inner_text("main"))
    check_page(page)

    give(page, "harbour.xlsx", workbook(messy(table), "Harbour study, first round", ""))
    press(page, "^Read this file")
    finished(page, "button", "mended copy")
    for accept in page.get_by_role("radio", name="Accept", exact=True).all():
        accept.check()
    press(page, "mended copy")
    go_on(page)
    assert (app.folder / "files" / "harbour.mended.xlsx").exists()
    press(page, "^Save")
    go_on(page)
    fill(page, **{**SMALL, "budget": "40"})
    press(page, "^Fit")
    go_on(page)
    press(page, "^Make the sheet")
    page.get_by_role("link", name=re.compile("^PDF")).first.wait_for(timeout=PATIENCE)
    go_back_and_forth(page)
    check_page(page)
    check_paper(page, pd.read_csv(app.folder / "sheet.csv"))

    for step in ("forecast", "estimates", "report"):
        page.goto(f"/{step}/")
        assert page.url.endswith(f"/{step}/")
        check_page(page)
    page.goto("/week/")
    check_page(page)
    press(page, "^Make this week's plan")
    page.get_by_text(re.compile("^Week 1,")).first.wait_for(timeout=PATIENCE)
    check_page(page)
    sheet = pd.read_csv(next(app.folder.glob("week-01_*/sheet.csv")))
    later = table.copy()
    given = sheet[sheet["coupons"] > 0]["person"].iloc[0]
    later.loc[later["id"] == given, "coupon.1"] = "NEW1"
    give(page, "harbour week 2.xlsx", workbook(later))
    fill(page, date="2024-02-11")
    press(page, "^Make this week's plan")
    page.get_by_text(re.compile("^Week 2,")).first.wait_for(timeout=PATIENCE)
    check_page(page)
    assert (next(app.folder.glob("week-02_*")) / "sheet.csv").exists()
    go_back_and_forth(page)


def check_paper(page, sheet: pd.DataFrame) -> None:
    """On paper everybody is listed with a number, and nothing is there to press."""
    page.emulate_media(media="print")
    words = page.inner_text("main").split()
    assert [person for person in sheet["person"] if person not in words] == []
    assert [each for each in page.get_by_role("button").all() if each.is_visible()] == []
    page.emulate_media(media="null")


@pytest.mark.parametrize("size", ["tablet"], indirect=True)
def test_a_file_dropped_in_another_tab_while_a_job_runs(page, app) -> None:
    give(page, "harbour.xlsx", workbook(pf.demo_study(people=60).study))
    press(page, "^Read this file")
    finished(page, "link", "^Next:")
    page.goto("/fit/")
    fill(page, budget="40", rounds="4")
    press(page, "^Fit")
    page.locator("progress").wait_for()
    check_page(page)
    other = page.context.new_page()
    other.goto("/file/")
    if other.locator("input[type=file]").count():
        give(other, "other.xlsx", workbook(pf.demo_study(people=80).study))
        press(other, "^Read this file")
        other.get_by_text(re.compile("still running|is running")).first.wait_for()
    assert "running" in other.inner_text("body")
    check_page(other)
    press(page, "^Stop")
    page.get_by_role("button", name=re.compile("^Fit")).first.wait_for(timeout=PATIENCE)
    other.goto("/file/")
    assert "harbour.xlsx" in other.inner_text("main"), "the file of before is still there"
