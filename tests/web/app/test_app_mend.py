"""The page of a file offers to mend it: Accept, Leave, Accept all alike; the original stays."""

import html
import shlex

import pytest
from app_client import SIZES, check_accessible, choices, run_commands

HEADER = "id,own coupon,coupon 1,coupon 2,date,district\n"
ROWS = [
    "P1,,C1A,C1B,2024-01-02,Norte",
    "P2,C1A,C2A,C2B,2024-01-09,Sur",
    "P3,ClB,C3A,C3B,2024-01-10,Sur",
    "P4,C2A,C4A,C4B,2024-01-17,Norte",
    "P5,C2-B,C5A,C5B,2024-01-18,Norte",
    "P6,C3-A,C6A,C6B,2024-01-20,Sur",
]
TWICE = ROWS[3]


@pytest.fixture
def client(app):
    return app.client()


def study(*rows: str) -> bytes:
    return (HEADER + "\n".join([*ROWS, *rows]) + "\n").encode()


def digest(page) -> str:
    return page.text.split('name="digest" value="')[1].split('"')[0]


def test_a_refused_file_is_mended_in_a_copy_that_is_then_used(app, client) -> None:
    page = client.upload("harbour.csv", study(TWICE))
    assert "cannot be used yet" in page.words
    assert "Some of it can be mended here" in page.words
    assert "leave out the row of 'P4' (the same as row 5)? Row 8" in page.words
    assert "ClB -> C1B (issued to P1)? Row 4" in page.words
    before = (app.folder / "files" / "harbour.csv").read_bytes()
    client.post(
        "/file/mend/", {"digest": digest(page), "offer-0-0": "accept", "offer-1-0": "accept", "offer-1-1": "leave"}
    )
    page = client.done("/file/")
    assert choices(app)["file"] == "files/harbour.mended.csv"
    assert "People: 6." in page.words
    assert "The original is as it was" in page.words
    assert (app.folder / "files" / "harbour.csv").read_bytes() == before
    lines = (app.folder / "files" / "harbour.mended.csv").read_text().splitlines()
    assert lines == [HEADER.strip(), *ROWS[:2], ROWS[2].replace("ClB", "C1B"), *ROWS[3:], ""]
    assert "C2-B -> C2B" not in page.words, "it was left"
    log = client.get("/files/files/harbour.mended.changes.csv").body
    assert log.count(b"accepted") == 2
    assert (app.folder / "checked" / "changes.csv").read_bytes() == log

    client.post("/file/mend/", {"digest": digest(page), "alike": "0"})
    page = client.done("/file/")
    assert choices(app)["file"] == "files/harbour.mended-2.csv"
    assert "Changes that would mend it" not in page.words
    assert "ClB" not in (app.folder / "files" / "harbour.mended-2.csv").read_text()
    log = client.get("/files/files/harbour.mended-2.changes.csv").body
    assert log.count(b"accepted") == 4, "with the changes of the copy before"


def test_everything_at_once_and_undone(app, client) -> None:
    page = client.upload("harbour.csv", study(TWICE))
    assert "Accept everything" in page.words
    client.post("/file/mend/", {"digest": digest(page), "alike": "all"})
    page = client.done("/file/")
    mended = choices(app)["file"]
    assert mended.startswith("files/harbour.mended")
    assert "Changes that would mend it" not in page.words
    assert "Undo: read harbour.csv again" in page.words
    client.post("/file/again/", {"original": ""})
    page = client.done("/file/")
    assert choices(app)["file"] == "files/harbour.csv"
    assert "Changes that would mend it" in page.words
    assert "Undo" not in page.words
    assert (app.folder / mended).exists(), "nothing is lost"


def commands_of(client, step: str) -> list[str]:
    text = client.follow("/commands/").text.split(f'data-commands="{step}">')[1].split("</pre>")[0]
    return html.unescape(text).splitlines()


def test_the_same_as_a_command(app, client, tmp_path) -> None:
    page = client.upload("coast.csv", study())
    client.post("/file/mend/", {"digest": digest(page), "alike": "0"})
    client.done("/file/")
    copy = (app.folder / "files" / "coast.mended.csv").read_bytes()
    (line,) = [each for each in commands_of(client, "File") if "--mend" in each]
    assert shlex.split(line)[1:] == [
        "check", "files/coast.csv", "--mend", "--copy", "files/coast.mended.csv",
    ]  # fmt: skip
    run_commands([f"{line} --yes --overwrite"], app.folder)
    assert (app.folder / "files" / "coast.mended.csv").read_bytes() == copy


def test_choices_for_a_file_with_other_columns_do_not_stop_it(app, client) -> None:
    rows = ["id,recruiter", *(f"P{n},{f'P{n // 3}' if n else ''}" for n in range(60))]
    client.upload("recruiters.csv", "\n".join(rows).encode())
    shown = client.follow("/columns/")
    client.post(
        "/columns/", {"digest": digest(shown), "role_id": "id", "role_recruiter": "recruiter", "coupons_each": "3"}
    )
    client.done("/columns/")
    page = client.upload("bay.csv", study())
    client.post("/file/mend/", {"digest": digest(page), "alike": "0"})
    client.done("/file/")
    assert choices(app)["file"] == "files/bay.mended.csv"


def test_nothing_happens_without_a_choice_or_for_another_file(app, client) -> None:
    page = client.upload("harbour.csv", study())
    token = digest(page)
    client.post("/file/mend/", {"digest": token})
    assert "Nothing was accepted" in client.get("/file/").words
    client.upload("unlike.csv", study(TWICE))
    client.post("/file/mend/", {"digest": token, "alike": "0"})
    assert "Nothing was changed" in client.get("/file/").words
    assert choices(app)["file"] == "files/unlike.csv"


def test_in_spanish(client) -> None:
    client.upload("harbour.csv", study(TWICE))
    client.post("/language/", {"language": "es", "next": "/file/"})
    page = client.get("/file/")
    assert "ClB -> C1B (entregado a P1)" in page.words
    assert "Aceptar" in page.words
    assert "Aceptar todos los parecidos (3)" in page.words


def test_in_a_browser_without_scripts_on_a_tablet(app, chromium, tmp_path) -> None:
    file = tmp_path / "tablet.csv"
    file.write_bytes(study(*(f"Q{n},c{n}-a,Q{n}A,Q{n}B,2024-02-01,Sur" for n in range(1, 10)), TWICE))
    with_scripts = chromium.new_context(viewport=SIZES["tablet"])
    without = chromium.new_context(viewport=SIZES["tablet"], java_script_enabled=False)
    for context in (with_scripts, without):
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(app.link)
        page.goto(f"{app.address}/file/")
        if context is with_scripts:
            page.set_input_files("input[type=file]", file)
            page.get_by_role("button", name="Read this file").click()
            page.get_by_role("button", name="Make a mended copy").wait_for()
            check_accessible(page)
    row = page.get_by_role("radiogroup", name="leave out the row of 'P4'")
    row.get_by_label("Accept").check()
    page.get_by_role("button", name="Make a mended copy").click()
    page.get_by_role("link", name="Download the log of changes (CSV)").wait_for()
    assert choices(app)["file"] == "files/tablet.mended.csv"
    with_scripts.close()
    without.close()
