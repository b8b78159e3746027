"""The whole path in a real browser: from the study's file to the sheet in the hand, then next week.

The steps build on each other, so they are one story told in the order of the tests; each page is looked at on a desktop
and on a tablet, and axe-core finds nothing serious on it.
"""

import html
import io
import json
import re
import shutil
from itertools import pairwise

import openpyxl
import pandas as pd
import pytest
from app_client import SIZES, SMALL, check_accessible, contents, left_in_english, run_commands, running_app

import peerfront as pf
from peerfront.web.app.app_folder import read_data

BUDGET, LAST_DATE = 40, "2024-01-28"  # coupons for more than the people who wait; of the study's file
PATIENCE = 600_000  # milliseconds for the longest job on a busy machine


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A small study's file."""
    file = tmp_path_factory.mktemp("given") / "harbour.csv"
    pf.demo_study(people=60).study.to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """An app in an empty folder, for this story alone."""
    with running_app(tmp_path_factory.mktemp("app") / "my study's folder") as running:
        yield running


@pytest.fixture(scope="module")
def page(app, chromium):
    """A page of somebody who came by the link. Scripts that fail, and what the page may not load, fail the test."""
    context = chromium.new_context(viewport=SIZES["desktop"], accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.goto(app.link)
    yield page
    context.close()
    assert not faults


def open_step(page, app, step: str) -> None:
    page.goto(f"{app.address}/{step}/")


def press(page, button: str) -> None:
    """Press a button, and see the page that answers."""
    with page.expect_navigation(timeout=PATIENCE):
        page.get_by_role("button", name=button, exact=True).click()


def unfold(page, *titles: str) -> None:
    """Open parts of the page that may be folded."""
    for title in titles:
        part = page.locator("details", has=page.locator("summary", has_text=title)).last
        part.evaluate("part => (part.open = true)")


def ended(page) -> None:
    """Wait until the work of the page has ended."""
    page.locator("[data-refresh]").wait_for(state="detached", timeout=PATIENCE)


def shown_commands(page, app, *steps: str) -> list[str]:
    """The commands that the app offers for these steps."""
    text = page.request.get(f"{app.address}/commands/").text()
    blocks = dict(re.findall(r'data-commands="([^"]+)">(.*?)</pre>', text, flags=re.DOTALL))
    return [line for step in steps for line in html.unescape(blocks[step]).splitlines()]


OUTPUTS = (
    "checked", "waiting.csv", "model", "sheet.csv", "sheet-curve.csv", "sheet.xlsx", "sheet.pdf", "forecast",
    "estimates", "report.html",
)  # fmt: skip


def test_from_the_file_to_the_model(page, app, study) -> None:
    assert page.url == f"{app.address}/file/"
    check_accessible(page)
    for step in ("columns", "fit", "sheet", "forecast", "estimates", "report"):
        open_step(page, app, step)
        assert page.url == f"{app.address}/file/", "there is nothing to do there yet"
    open_step(page, app, "week")
    check_accessible(page)
    open_step(page, app, "file")
    page.set_input_files("input[type=file]", study)
    press(page, "Read this file")
    page.get_by_role("link", name="Next: columns").wait_for(timeout=PATIENCE)
    assert "No problems found" in page.inner_text("main")
    assert "files/harbour.csv" in page.inner_text("main")
    check_accessible(page)
    page.get_by_role("link", name="Next: columns").click()
    assert page.get_by_label("The person's id").input_value() == "id"
    page.get_by_label("housing", exact=True).uncheck()
    assert not page.get_by_label("district", exact=True).is_checked(), "no place decides unasked"
    page.get_by_label("district", exact=True).check()
    page.get_by_label("Days until a coupon expires").fill("45")
    press(page, "Save, and read the file again")
    page.get_by_role("link", name="Next: fit").wait_for(timeout=PATIENCE)
    schema = pf.read_schema(app.folder / "schema.toml")
    assert "housing" not in schema.schema.names
    assert "district" in schema.schema.names
    assert schema.reading.valid_days == 45
    assert not page.get_by_label("housing", exact=True).is_checked()
    check_accessible(page)
    page.get_by_role("link", name="Next: fit").click()
    check_accessible(page)
    unfold(page, "More choices")
    for name, value in {**SMALL, "budget": str(BUDGET)}.items():
        page.fill(f"[name={name}]", value)
    press(page, "Fit")
    page.locator("progress").wait_for(timeout=PATIENCE)
    check_accessible(page)
    page.get_by_role("link", name="Sheet").click()
    assert "Something else is running (fit)" not in page.inner_text("main"), "there is no sheet yet, so this is the fit"
    page.goto("about:blank")  # the browser is closed during the fit
    open_step(page, app, "fit")
    page.get_by_role("link", name="Next: the sheet").wait_for(timeout=PATIENCE)
    assert "The model is ready" in page.inner_text("main")
    assert page.locator(".sentences li").count() > 2
    check_accessible(page)


def test_the_sheet_with_other_numbers_caps_floors_and_strata(page, app) -> None:
    for step in ("forecast", "report"):
        open_step(page, app, step)
        assert page.url == f"{app.address}/sheet/", "there is no plan yet to look ahead from"
    check_accessible(page)
    assert page.get_by_label("Day of the hand-out").input_value() == LAST_DATE, "the file is old"
    press(page, "Make the sheet")
    heading = page.get_by_role("heading", name="Who gets how many")
    heading.wait_for(timeout=PATIENCE)
    sheet = pd.read_csv(app.folder / "sheet.csv")
    numbers = [int(text) for text in page.locator(".people .number").all_text_contents()]
    assert len(numbers) == len(sheet)
    assert sum(numbers) == sheet["coupons"].sum()
    assert all(before >= after for before, after in pairwise(numbers)), "most coupons first"
    headings = page.locator(".group > summary").all_inner_texts()
    named = [f"{n} coupon{'' if n == 1 else 's'} each" if n else "None this round" for n in dict.fromkeys(numbers)]
    assert headings == [f"{name}: {numbers.count(n)} {'person' if numbers.count(n) == 1 else 'people'}"
                        for name, n in zip(named, dict.fromkeys(numbers), strict=True)]  # fmt: skip
    assert page.locator(".people p").filter(visible=True).count() == 0, "reasons are shown on tap"
    who = str(sheet["person"].iloc[0])
    page.get_by_label("Find a person").fill(who.lower())
    page.get_by_role("button", name="Find").click()
    page.wait_for_load_state()
    assert page.locator(".people bdi").all_inner_texts() == [who]
    assert str(sheet["reason"].iloc[0]) in page.inner_text(".people p")
    check_accessible(page)
    page.get_by_role("link", name="Show everybody").click()
    page.wait_for_load_state()
    check_printed(page, sheet)
    check_accessible(page)
    saved = {}
    for label in ("Excel, to print and fill in", "PDF", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("link", name=label, exact=True).click()
        saved[label] = download.value
    assert saved["CSV"].suggested_filename == "my-study-s-folder-sheet.csv"
    assert saved["CSV"].path().read_bytes() == (app.folder / "sheet.csv").read_bytes()
    book = openpyxl.load_workbook(io.BytesIO(saved["Excel, to print and fill in"].path().read_bytes()))
    assert [row[0].value for row in book["Coupons"].iter_rows(min_row=4)] == list(sheet["person"])
    assert saved["PDF"].path().read_bytes().startswith(b"%PDF-")

    curve = pd.read_csv(app.folder / "sheet-curve.csv").set_index("spend")["value"]
    best, other = int(curve.idxmax()), int(curve.index.min())
    unfold(page, "Another plan?")
    slider = page.locator("#spend")
    assert slider.input_value() == str(best)
    pointer, line = page.locator(".chart .pointer"), page.locator(".chart polyline")
    assert pointer.get_attribute("r") == "0"
    slider.focus()
    page.keyboard.press("Home")
    assert (pointer.get_attribute("cx"), pointer.get_attribute("r")) == ("0%", "6")
    assert line.get_attribute("points").startswith(f"0.0,{pointer.get_attribute('cy')} ")
    loss = page.locator("#spend-result").inner_text()
    assert abs(curve.max() - curve[other] - float(loss.split()[2])) < 0.06
    page.keyboard.press("ArrowRight")
    press(page, "Make the sheet with this number")
    page.get_by_role("button", name="Back to the best number").wait_for(timeout=PATIENCE)
    assert pd.read_csv(app.folder / "sheet.csv")["coupons"].sum() == other + 1
    commands = shown_commands(page, app, "Sheet")
    assert all(f"--spend {other + 1}" in command for command in commands), "of sheet and forecast"
    assert pd.read_csv(app.folder / "forecast" / "weeks.csv")["spent"][0] == other + 1, "the forecast begins with it"
    check_accessible(page)
    open_step(page, app, "forecast")
    assert "Coupons to give out this round" in page.locator("dl").text_content()
    open_step(page, app, "sheet")
    page.get_by_role("button", name="Back to the best number").click()
    ended(page)

    unfold(page, "Change the order")
    page.get_by_label("Most coupons for one person").fill("1")
    unfold(page, "Floors for groups")
    page.get_by_label("Group", exact=True).first.select_option("district=North")
    page.get_by_label("Share of everybody's mean").first.fill("0.9")
    press(page, "Make the sheet again")
    ended(page)
    sheet = pd.read_csv(app.folder / "sheet.csv")
    assert sheet["coupons"].max() == 1
    waiting = pd.read_csv(app.folder / "waiting.csv").set_index("id")["district"]
    north = sheet[sheet["person"].map(waiting) == "North"]["coupons"]
    assert north.mean() >= 0.9 * sheet["coupons"].mean()
    unfold(page, "Change the order", "More choices")
    page.get_by_label("Fewest coupons for everybody").fill("1")
    page.get_by_label("Coupons left").fill("1")
    press(page, "Make the sheet again")
    page.get_by_text("That did not work").wait_for(timeout=PATIENCE)
    assert "Lower the minimum" in page.inner_text(".card.bad")
    assert "--" not in page.inner_text(".card.bad .message"), "a page names no options"
    assert pd.read_csv(app.folder / "sheet.csv").equals(sheet), "the sheet that was there stays"
    kept = BUDGET - sheet["coupons"].sum()
    assert f"{kept} are kept." in page.inner_text(".card.good"), "of the order it was made for, not the refused"
    unfold(page, "More choices")
    page.get_by_label("Fewest coupons for everybody").fill("")
    page.get_by_label("Coupons left").fill(str(BUDGET))
    unfold(page, "Floors for groups")
    page.get_by_label("Group", exact=True).first.select_option("")
    page.get_by_label("Share of everybody's mean").first.fill("")
    page.get_by_label("Let coupons differ only between groups of").select_option("district")
    press(page, "Make the sheet again")
    ended(page)
    assert "That did not work" not in page.inner_text("main")
    assert page.locator("#spend").count() == 0, "the number follows from the strata"
    check_accessible(page)
    unfold(page, "Change the order", "More choices")
    page.get_by_label("Let coupons differ only between groups of").select_option("")
    page.get_by_label("Most coupons for one person").fill("")
    press(page, "Make the sheet again")
    page.locator("#spend").wait_for(state="attached", timeout=PATIENCE)
    words = page.inner_text("main").split()
    assert len(words) - len(page.inner_text("#people").split()) <= 150


def check_printed(page, sheet) -> None:
    """On paper: everybody with the number and room to write, no button, and no reason."""
    page.emulate_media(media="print")
    assert page.locator("button, .button, input").filter(visible=True).count() == 0
    assert page.locator(".people bdi").filter(visible=True).count() == len(sheet), "folded groups, too"
    assert (
        page.get_by_text("Coupon numbers").filter(visible=True).count()
        == sheet[sheet["coupons"] > 0]["coupons"].nunique()
    )
    page.emulate_media(media="screen")


def test_at_least_one_coupon_each_has_a_price(page, app) -> None:
    open_step(page, app, "sheet")
    waiting = len(pd.read_csv(app.folder / "sheet.csv"))
    offered = page.get_by_label("At least one coupon each")
    without = result_of(app)["outlook"]["plan"]["recruits"]
    assert f"instead of {without:.0f}" in page.locator("label", has=offered).text_content()
    unfold(page, "Another plan?")
    offered.check()
    press(page, "Plan so")
    ended(page)
    sheet = pd.read_csv(app.folder / "sheet.csv")
    assert (sheet["coupons"] >= 1).all()
    assert len(sheet) == waiting
    assert offered.is_checked()
    with_one = result_of(app)["outlook"]["plan"]["recruits"]
    assert f"{with_one:.0f} people to expect instead of {without:.0f}" in page.inner_text("main")
    offered.uncheck()
    press(page, "Plan so")
    ended(page)
    assert result_of(app)["outlook"]["plan"]["recruits"] == without


def result_of(app) -> dict:
    return read_data(app.folder / "app" / "sheet.json")["result"]


def test_forecast_estimates_and_report_and_their_commands(page, app, tmp_path) -> None:
    """The commands of all steps, run in a folder that has only the study's file and schema, give the same files."""
    open_step(page, app, "sheet")
    unfold(page, "Change the order")
    page.get_by_label("People wanted in all").fill("176")
    page.get_by_label("Last day of the study").fill("2024-06-30")
    press(page, "Make the sheet again")
    ended(page)
    open_step(page, app, "forecast")
    unfold(page, "The plan, week by week")
    assert page.get_by_role("table").filter(visible=True).count() == 1
    assert page.locator(".chart").count() == 2
    for words in ("target: 176", "last day: 30 Jun 2024", "8 of 10 simulated studies"):
        assert page.locator(".chart").first.get_by_text(words).is_visible()
    check_accessible(page)
    open_step(page, app, "estimates")
    check_accessible(page)
    page.get_by_role("group", name="What to estimate").get_by_label("gender").check()
    unfold(page, "More choices")
    page.get_by_label("Times the sample is drawn again").fill("50")
    press(page, "Estimate")
    page.get_by_text("How it was estimated").wait_for(timeout=PATIENCE)
    shown = page.locator(".estimates tbody tr").filter(visible=True).all_inner_texts()
    assert [row.split()[0] for row in shown] == ["another", "man", "woman"], "one row for each answer, to be used"
    assert "not valid" not in " ".join(shown)
    unfold(page, "Other estimators")
    check_accessible(page)
    open_step(page, app, "report")
    check_accessible(page)
    press(page, "Write the report")
    page.get_by_role("link", name="Download the report").wait_for(timeout=PATIENCE)
    assert "harbour" in page.frame_locator("iframe").locator("h1").first.inner_text()
    check_accessible(page)
    open_step(page, app, "commands")
    check_accessible(page)
    commands = shown_commands(page, app, "Columns", "Fit", "Sheet", "Estimates", "Report")
    shutil.copytree(app.folder / "files", tmp_path / "files")
    shutil.copy(app.folder / "schema.toml", tmp_path)
    run_commands(commands, tmp_path)
    by_the_app, by_commands = contents(app.folder, *OUTPUTS), contents(tmp_path, *OUTPUTS)
    assert len(by_the_app) == 30
    assert [name for name in by_the_app if by_the_app[name] != by_commands.get(name)] == []


def check_one_advice(page, app, first) -> None:
    """Every page of the study has the same coupons, recruits, band, chance of the target and last day."""
    result = result_of(app)
    plan, sheet = result["outlook"]["plan"], pd.read_csv(app.folder / "sheet.csv")
    assert list(zip(sheet["person"], sheet["coupons"], strict=True)) == list(
        zip(first["person"], first["coupons"], strict=True)
    ), "the first week hands out the sheet"
    by_week = pd.read_csv(app.folder / f"week-01_{LAST_DATE}" / "forecast.csv")
    pd.testing.assert_frame_equal(by_week, pd.read_csv(app.folder / "forecast" / "weeks.csv"), atol=1e-4)
    band, chance = f"Expect {plan['p10']:.0f} to {plan['p90']:.0f} more people by 30 June 2024", plan["reaches_target"]
    assert 0 < chance < 1, "otherwise the chance is in other words"
    expected = (band, f"{plan['recruits']:.0f} on average", f"Target 176 (88 to come): chance {chance:.0%}")
    given = f"{sheet['coupons'].sum()} coupons"
    for step, said in {"sheet": (*expected, given), "forecast": expected, "week": (*expected, given)}.items():
        open_step(page, app, step)
        assert "A trial" not in page.inner_text("main"), step
        assert [each for each in said if each not in page.inner_text("main")] == [], step
    open_step(page, app, "forecast")
    assert page.locator(".figure").all_inner_texts() == [f"{plan['recruits']:.0f}", f"{chance:.0%}"]
    open_step(page, app, "report")
    report = " ".join(page.frame_locator("iframe").locator("body").inner_text().split())
    assert [each for each in expected if each not in report] == []


def test_the_first_week_and_the_next(page, app, study) -> None:
    open_step(page, app, "week")
    assert page.get_by_label("Last day of the study").input_value() == "2024-06-30", "as ordered on the sheet's page"
    press(page, "Make this week's plan")
    page.get_by_role("heading", name="This week").wait_for(timeout=PATIENCE)
    assert (app.folder / "log.jsonl").exists()
    first = pd.read_csv(app.folder / f"week-01_{LAST_DATE}" / "sheet.csv")
    assert page.locator(".people bdi").count() == len(first)
    check_accessible(page)
    check_one_advice(page, app, first)
    open_step(page, app, "week")
    table = pd.read_csv(study, dtype=str, keep_default_na=False)
    given = first[first["coupons"] > 0]["person"].iloc[0]
    table.loc[table["id"] == given, "coupon.1"] = "NEW1"
    later = study.with_name("harbour week 2.csv")
    table.to_csv(later, index=False)
    page.set_input_files("input[type=file]", later)
    page.get_by_label("Day of the hand-out").fill("2024-02-11")
    unfold(page, "More choices")
    page.get_by_label("Fit the model again").select_option("never")
    press(page, "Make this week's plan")
    page.get_by_role("heading", name="Since last week").wait_for(timeout=PATIENCE)
    assert "Week 2, 2024-02-11" in page.inner_text(".card.good")
    assert page.locator(".figure").all_inner_texts() == ["0", "1", str(BUDGET - 1)], "people, handed out, left"
    head = json.loads((app.folder / "log.jsonl").read_text().splitlines()[-1])["hash"]
    assert head not in page.content(), "it is in the log and on the printed sheet"
    assert page.get_by_label("Day of the hand-out").input_value() == "2024-02-18", "a week after the last sheet"
    assert (app.folder / "files" / "harbour-week-2.csv").exists()
    check_accessible(page)
    commands = shown_commands(page, app, "Next week")
    unfold(page, "Take back the last week")
    press(page, "Take it back")
    page.get_by_text(f"Week 1, {LAST_DATE}").wait_for(timeout=PATIENCE)
    undone = app.folder / "week-02_2024-02-11"
    assert (undone / "UNDONE.txt").exists()
    run_commands(commands, app.folder)
    again = next(each for each in app.folder.glob("week-02_*") if each != undone)
    assert (again / "sheet.csv").read_bytes() == (undone / "sheet.csv").read_bytes()
    open_step(page, app, "week")
    assert "Week 2, 2024-02-11" in page.inner_text(".card.good"), "a week of the terminal is shown, too"
    check_accessible(page)
    for step in ("sheet", "forecast", "report"):
        open_step(page, app, step)
        assert "A trial: what counts is the sheet of week 2 (2024-02-11)" in page.inner_text("main")


def test_the_back_button_and_a_new_file(page, app, study) -> None:
    """Going back and sending a form again does the same again; another file marks later steps as to be done again."""
    open_step(page, app, "sheet")
    page.go_back()
    page.go_forward()
    assert page.locator(".people bdi").count() > 0
    later = study.with_name("harbour later.csv")
    later.write_text(study.read_text().replace("2024-01-09", "2024-01-10"))
    open_step(page, app, "file")
    page.set_input_files("input[type=file]", later)
    press(page, "Read this file")
    page.get_by_text("files/harbour-later.csv").first.wait_for(timeout=PATIENCE)
    page.get_by_role("link", name="Next: columns").wait_for(timeout=PATIENCE)
    open_step(page, app, "fit")
    assert "To be done again" in page.inner_text("main")
    assert (app.folder / "model" / "manifest.json").exists(), "and nothing is lost"


def test_nothing_is_left_in_english(app) -> None:
    for step in ("file", "columns", "fit", "sheet", "forecast", "estimates", "report", "week"):
        assert left_in_english(app.client(), f"/{step}/") == set(), step
