"""Files are dropped, chosen by mouse or keyboard, or come while work runs; none is lost."""

import pytest
from app_client import SIZES, STUDY, check_accessible, choices, running_app

import peerfront as pf

_AS_DROPPED = """([name, text]) => {
  const dropped = new DataTransfer();
  dropped.items.add(new File([text], name));
  return dropped;
}"""


@pytest.fixture
def app(tmp_path):
    with running_app(tmp_path / "harbour") as running:
        yield running


@pytest.fixture
def page(app, chromium):
    context = chromium.new_context(viewport=SIZES["desktop"])
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(app.link)
    yield page
    context.close()


def drop(page, name: str, text: str) -> None:
    with page.expect_navigation():
        page.dispatch_event("body", "drop", {"dataTransfer": page.evaluate_handle(_AS_DROPPED, [name, text])})


def test_a_file_is_dropped_anywhere_also_while_work_runs(app, page) -> None:
    check_accessible(page)
    drop(page, "small.csv", STUDY)
    page.get_by_role("link", name="Next: columns").wait_for()
    assert choices(app)["file"] == "files/small.csv"
    page.goto(f"{app.address}/columns/")
    check_accessible(page)
    drop(page, "study.csv", pf.demo_study(people=60).study.to_csv(index=False))
    page.get_by_role("link", name="Next: columns").wait_for()
    assert page.url == f"{app.address}/file/"
    assert choices(app)["file"] == "files/study.csv", "on any page it becomes the study's file"
    page.goto(f"{app.address}/fit/")
    page.get_by_label("Coupons left").fill("8")
    page.get_by_role("button", name="Fit", exact=True).click()
    page.locator("progress").wait_for()
    drop(page, "later.csv", STUDY + "5,B2,E1,E2,m\n")
    page.get_by_text("later.csv is kept").wait_for()
    assert choices(app)["file"] == "files/study.csv", "the work goes on with its file"
    other_tab = page.context.new_page()
    other_tab.goto(f"{app.address}/fit/")
    other_tab.get_by_role("button", name="Stop").click()
    other_tab.get_by_role("button", name="Start again").wait_for()
    page.goto(f"{app.address}/file/")
    page.get_by_role("button", name="Read it", exact=True).click()
    page.get_by_text("People: 5.").wait_for()
    assert choices(app)["file"] == "files/later.csv"
    page.go_back()
    page.reload()
    page.get_by_text("People: 5.").wait_for()


def test_steps_and_columns_are_whole_on_a_tablet_and_on_paper(app, page) -> None:
    drop(page, "study.csv", pf.demo_study(people=60).study.to_csv(index=False))
    page.get_by_role("link", name="Next: columns").wait_for()
    page.set_viewport_size(SIZES["tablet"])
    page.get_by_label("Language").select_option("es")
    page.get_by_role("button", name="Change").click()
    page.get_by_role("link", name="Próxima semana").wait_for()
    right = page.get_by_role("link", name="Próxima semana").bounding_box()
    assert right["x"] + right["width"] <= SIZES["tablet"]["width"], "all steps are in sight"
    for width in (SIZES["tablet"]["width"], 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{app.address}/columns/")
        heights = [name.bounding_box()["height"] for name in page.locator("td .choice bdi").all()]
        assert len(heights) > 3
        assert max(heights) < 30, "no name is broken into letters"
    page.emulate_media(media="print")
    page.goto(f"{app.address}/file/")
    assert not [fold for fold in page.locator("main :is(summary, .drop)").all() if fold.is_visible()], "nothing to open"


def choose(page, name: str, press) -> None:
    """Choose a file in the list that `press` opens.

    Playwright does not wait until the browser has taken its order to hand over lists of files, and keys may overtake
    it: the list then opens for nobody (3 of 100 times on a busy machine). The answer of a script comes after the order.
    """
    with page.expect_file_chooser() as chooser:
        page.evaluate("0")
        press()
    chooser.value.set_files({"name": name, "mimeType": "text/csv", "buffer": STUDY.encode()})
    assert page.locator(".drop input").input_value().endswith(name)


def test_the_whole_area_opens_the_list_of_files(page) -> None:
    choose(page, "mouse.csv", page.get_by_text("Drop the file here").click)


def test_a_file_is_chosen_by_keys_alone(page) -> None:
    page.locator(".drop input").focus()
    choose(page, "keys.csv", lambda: page.keyboard.press("Space"))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("People: 4.").wait_for()


def test_a_file_for_a_form_is_put_into_it(app, page) -> None:
    page.goto(f"{app.address}/week/")
    dropped = page.evaluate_handle(_AS_DROPPED, ["week.csv", STUDY])
    page.dispatch_event("body", "drop", {"dataTransfer": dropped})
    assert page.get_by_label("This week's file").input_value().endswith("week.csv")
    assert not (app.folder / "files" / "week.csv").exists(), "other fields may have to be filled in first"
