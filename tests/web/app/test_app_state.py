"""What is out of date says so, is not shown as if it were new, and is done again by one button."""

import re
import shutil

import pytest
from app_client import STUDY, choices

from peerfront.foundation.messages import Message
from peerfront.study.study_folder import StudyFolder
from peerfront.web.app.app_folder import AppFolder
from peerfront.web.app.study_steps import state_of

LATER = STUDY + "5,B2,E1,E2,m\n"


@pytest.fixture
def client(app):
    return app.client()


@pytest.fixture
def planned(app, client):
    """The folder of a study with a model and a sheet of a made-up person, as if they had been made with its file."""
    client.upload("port.csv", STUDY.encode())
    folder = AppFolder(app.folder)
    made = {"model/manifest.json": "{}", "sheet.csv": "person\n", "forecast/summary.csv": "policy\n"}
    for name, content in made.items():
        (folder.path / name).parent.mkdir(exist_ok=True)
        (folder.path / name).write_text(content)
    file, order = choices(app)["file"], {"budget": 8, "date": "2026-03-02", "deadline": "2026-06-30"}
    written("fit", folder, "fit", {"file": file, "budget": 8, "rounds": 2}, (file, "schema.toml"))
    people = [{"person": "OLDPERSON", "coupons": 2, "reason": 0}]
    result = {"people": people, "reasons": [("by lot", "By lot.")], "lines": ["Give out 2 coupons."], "outlook": None}
    written("sheet", folder, "plan", {"file": file, **order}, ("model", file), result)
    folder.choose(fit={"budget": 8, "rounds": 2}, plan=order)
    yield folder
    for name in made:
        (folder.path / name).unlink(missing_ok=True)
    (folder.path / "model").rmdir()
    for step in ("fit", "sheet"):
        (folder.path / "app" / f"{step}.json").unlink()


def written(step, folder, work, entries, inputs, result=None, **more) -> None:
    facts = {"work": work, "choices": entries, "inputs": folder.digests(inputs), "result": result or {}}
    folder.write_outcome(step, {**facts, "ended": "2026-03-02T10:00:00+00:00", "error": None, "stopped": False} | more)


def marks(page) -> str:
    return page.text.split("<nav")[1].split("</nav>")[0]


def test_after_a_new_file_the_sheet_is_marked_and_old_people_are_not_shown(client, planned) -> None:
    page = client.follow("/sheet/")
    assert "OLDPERSON" in page.words
    assert "to be done again" not in marks(page)
    client.upload("another-week.csv", LATER.encode())
    page = client.follow("/sheet/")
    assert "OLDPERSON" not in page.words
    assert "Made from port.csv on 2 March 2026" in page.words
    assert "The file is now another-week.csv." in page.words
    assert marks(page).count("to be done again") == 3, "fit, sheet and forecast"
    assert "Do it again" in page.words
    assert "OLDPERSON" in client.follow("/sheet/?old=yes").words, "who asks for it can see it"


def test_one_button_does_again_all_that_it_rests_on(client, planned) -> None:
    client.upload("another-week.csv", LATER.encode())
    assert client.post("/again/sheet/", {}).headers["location"] == "/sheet/"
    page = client.done("/sheet/")
    assert "The fit did not work" in page.words, "five people are too few"
    assert "at least" in client.follow("/fit/").words
    assert planned.outcome("fit")["tried"]["choices"] == {"file": "files/another-week.csv", "budget": 8, "rounds": 2}
    assert client.post("/again/fit/", {}).status == 302
    client.done("/fit/")
    assert client.post("/again/nothing/", {}).status == 404


def test_what_was_stopped_is_started_again_by_one_button(client, planned) -> None:
    file = planned.choices["file"]
    tried = {"work": "fit", "choices": {"file": file, "budget": 9, "rounds": 2}, "inputs": {}, "file": file}
    planned.write_outcome("fit", planned.outcome("fit") | {"stopped": True, "tried": tried})
    assert "Start again" in client.follow("/fit/").words
    client.post("/again/fit/", {})
    client.done("/fit/")
    assert planned.outcome("fit")["tried"]["choices"]["budget"] == 9


def test_every_page_names_the_plan_that_counts(client, planned) -> None:
    for step in ("file", "columns", "fit", "sheet", "forecast", "estimates", "report", "week"):
        assert "Plan port.csv · 2026-03-02 \u2013 2026-06-30 · 2 of 8 coupons" in client.follow(f"/{step}/").words, step
    outcome = planned.outcome("sheet")
    without = {name: value for name, value in outcome["choices"].items() if name != "deadline"}
    result = {**outcome["result"], "outlook": {"until": "in 5 rounds"}}
    planned.write_outcome("sheet", {**outcome, "choices": without, "result": result})
    assert "Plan port.csv · 2026-03-02 · in 5 rounds · 2 of 8 coupons" in client.follow("/file/").words
    client.upload("another-week.csv", LATER.encode())
    assert "2 of 8 coupons to be done again" in client.follow("/file/").words


@pytest.fixture
def week(planned):
    """The same sheet, handed out as the first week of the log."""
    study = StudyFolder(planned.path)
    day, folder = "2026-03-02", "week-01_2026-03-02"
    facts = {"number": 1, "day": day, "study": "port", "file": "port.csv", "digest": "1", "people": 4}
    facts |= {"coupons_left": 8, "order": {"budget": 8, "deadline": "2026-06-30", "target": None}}
    facts |= {"model": "m", "model_folder": f"{folder}/model", "refitted": True}
    facts |= {"fitted": {"day": day, "holders": 1, "recruits": 3, "chosen_at": 1}}
    decided = [{"person": "OLDPERSON", "planned": 2, "probability": 1.0}]
    study.add_week(folder, {"people.csv": b"person\n"}, facts, decided, [])
    yield
    shutil.rmtree(planned.path / folder)
    (planned.path / "log.jsonl").unlink()


def test_a_sheet_with_another_horizon_than_the_week_that_counts_is_a_trial(client, planned, week) -> None:
    assert "A trial" not in client.follow("/sheet/").words, "the same plan"
    outcome = planned.outcome("sheet")
    outcome["choices"].pop("deadline")
    planned.write_outcome("sheet", outcome)
    page = client.follow("/sheet/").words
    assert "Plan port.csv · 2026-03-02 \u2013 2026-06-30" in page
    assert "A trial: what counts is the sheet of week 1 (2026-03-02)" in page


def test_doubts_about_the_file_are_named_after_it(client) -> None:
    client.upload("warned.csv", (STUDY + "5,ZZ,F1,F2,m\n").encode())
    for step in ("columns", "fit", "estimates"):
        assert "Doubtful in the file: redeemed coupon nobody was issued (1)." in client.follow(f"/{step}/").words
    assert "Doubtful in the file" not in client.follow("/file/").words, "they are listed there"


def test_a_photo_in_place_of_the_file_is_taken_back_by_one_button(app, client, planned) -> None:
    good = choices(app)["file"]
    assert "Back to" not in client.follow("/file/").words
    client.upload("IMG_0412.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0")
    page = client.upload("IMG_0413.jpg", b"\xff\xd8\xff\xe1\0\x10JFIF\0")
    assert "IMG_0413.jpg is a photo" in page.words
    assert "Back to port.csv" in page.words, "the last file that could be read"
    client.post("/file/again/", {"before": ""})
    assert "People: 4." in client.done("/file/").words
    assert choices(app)["file"] == good
    assert "to be done again" not in marks(client.follow("/sheet/"))


def test_other_columns_are_for_the_model_and_all_that_is_made_with_it(planned) -> None:
    (planned.path / "schema.toml").write_text("other")
    assert state_of(planned, "fit").changes == ("columns",)
    assert state_of(planned, "sheet").changes == ("columns",)
    assert state_of(planned, "forecast").outdated


def test_an_error_of_an_earlier_file_is_gone_with_it(client, planned) -> None:
    file = planned.choices["file"]
    tried = {"work": "fit", "choices": {"file": file}, "inputs": planned.digests((file, "schema.toml")), "file": file}
    planned.write_outcome("fit", planned.outcome("fit") | {"error": Message("work.out_of_memory"), "tried": tried})
    assert "That did not work" in client.follow("/fit/").words
    client.upload("another-week.csv", LATER.encode())
    assert "That did not work" not in client.follow("/fit/").words


def test_what_the_columns_repaired_is_not_said_to_have_failed(app, client) -> None:
    """The page of the file and the page of the columns read the same file."""
    rows = ["id,recruiter,sex", *(f"P{n},{f'P{n // 3}' if n else ''},{'fm'[n % 2]}" for n in range(60))]
    page = client.upload("recruiters.csv", "\n".join(rows).encode())
    assert "cannot be used yet" in page.words
    digest = client.follow("/columns/").text.split('name="digest" value="')[1].split('"')[0]
    client.post("/columns/", {"digest": digest, "role_id": "id", "role_recruiter": "recruiter", "coupons_each": "3"})
    client.done("/columns/")
    page = client.follow("/file/")
    assert "People: 60." in page.words
    assert "That did not work" not in page.words


PLAIN = re.compile(
    r"(?<![\w-])--[a-z]|valid_days|schema file|\b(?=[0-9a-f]*[a-f])[0-9a-f]{16,}\b|[Ss]eeds? of lots|the same seed"
)


def test_no_page_names_options_checksums_or_settings_of_files(client, planned) -> None:
    """But the page with the commands does."""
    client.upload("warned.csv", (STUDY + "5,ZZ,F1,F2,m\n4,B2,E1,E2,f\n").encode())
    pages = [client.follow(f"/{step}/") for step in ("file", "columns", "week")]
    client.upload("another-week.csv", LATER.encode())
    pages += [
        client.follow(f"/{step}/?old=yes") for step in ("file", "columns", "fit", "sheet", "forecast", "estimates")
    ]
    client.post("/again/fit/", {})
    pages.append(client.done("/fit/"))
    for page in pages:
        assert not (found := PLAIN.findall(page.words)), (found, page.words)
    assert PLAIN.search(client.follow("/commands/").words)
