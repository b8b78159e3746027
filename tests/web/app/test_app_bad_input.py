"""Files and entries that are wrong: each gets a clear message, and nothing is lost."""

import html
import io
import json
import re
import threading
import time

import pytest
from app_client import SMALL, STUDY, choices
from openpyxl import Workbook

import peerfront as pf

HOSTILE = [
    "<script>alert(1)</script>",
    '=HYPERLINK("http://evil.example")',
    "\u202egnp.exe",
    "'; DROP TABLE people; --",
    "{{ settings.SECRET_KEY }}",
    "a\u200fb",
]


@pytest.fixture
def client(app):
    return app.client()


def small_study() -> bytes:
    return pf.demo_study(people=60).study.to_csv(index=False).encode()


def test_a_wrong_file_is_explained(client) -> None:
    page = client.upload("IMG_0412.HEIC", b"\0\0\0\x24ftypheic\0\0\0\0")
    assert "IMG_0412.heic is a photo or a picture. Give the workbook or CSV file that it shows" in page.words
    page = client.upload("wrong.csv", b"%PDF-1.7 ...")
    assert page.status == 200
    assert "cannot be used yet" in page.words
    assert "is a PDF. Give the workbook or CSV file" in page.words
    for step in ("columns", "fit"):
        assert client.follow(f"/{step}/").words.startswith("File"), "the next steps send back to the file"


def test_no_file_at_all_is_explained(client) -> None:
    page = client.post("/file/", {}, {})
    assert page.status == 200
    assert "This field is required" in page.words or "No file was submitted" in page.words


def test_faults_are_listed_row_by_row_with_what_to_do(client) -> None:
    page = client.upload("faulty.csv", (STUDY + "4,B2,E1,E2,f\n5,A1,F1,F2,m\n6,ZZ,G1,G2,f\n").encode())
    assert "cannot be used yet" in page.words
    assert "4 problems" in page.words
    for words in (
        "id used twice",
        "Give everybody one row and an id of their own.",
        "6",
        "redeemed coupon nobody was issued",
    ):
        assert words in page.words


def test_warnings_do_not_stop_it_and_can_be_downloaded(client) -> None:
    page = client.upload("warned.csv", (STUDY + "5,ZZ,F1,F2,m\n").encode())
    assert "People: 5." in page.words
    assert "redeemed coupon nobody was issued" in page.words
    assert b"ZZ" in client.get("/files/checked/problems.csv").body


def test_unknown_columns_are_suggested_and_chosen_in_the_form(app, client) -> None:
    """Names that say nothing: the content suggests the columns, the form is filled in, saving it repairs the file."""
    came = ["", *(f"K{n // 2:03d}{'ab'[n % 2]}" for n in range(29))]
    rows = [f"N{n:03d},{code},K{n:03d}a,K{n:03d}b,{'fm'[n % 2]}" for n, code in enumerate(came)]
    page = client.upload("plain.csv", "\n".join(["who,x1,x2,x3,kind", *rows]).encode())
    assert "cannot be used yet" in page.words
    form = client.follow("/columns/")
    assert "filled in with what their content suggests" in form.words
    assert '<option value="who" selected>' in form.text
    digest = json.loads((app.folder / "app" / "look.json").read_text())["digest"]
    sent = [("digest", digest), ("role_id", "who"), ("role_own_coupon", "x1"), ("coupons", "x2"), ("coupons", "x3")]
    client.post("/columns/", sent)
    page = client.done("/columns/")
    assert "Read as below. People: 30." in page.words
    assert "--map id=who" in client.follow("/commands/").words
    assert 'own_coupon = "x1"' in (app.folder / "schema.toml").read_text()


def test_coupons_for_everybody_are_asked_where_the_file_does_not_say(app, client) -> None:
    rows = ["id,recruiter,sex", *(f"P{n},{f'P{n // 3}' if n else ''},{'fm'[n % 2]}" for n in range(60))]
    page = client.upload("recruiters.csv", "\n".join(rows).encode())
    assert "If everybody got the same number".lower() in page.words.lower()
    assert "Nobody brought more than 3, so 3 is filled in." in page.words
    form = client.follow("/columns/")
    assert 'name="coupons_each" value="3"' in form.text, "the likely number is filled in"
    digest = json.loads((app.folder / "app" / "look.json").read_text())["digest"]
    client.post("/columns/", {"digest": digest, "role_id": "id", "role_recruiter": "recruiter", "coupons_each": "3"})
    assert "Read as below. People: 60." in client.done("/columns/").words
    assert choices(app)["reading"]["coupons_each"] == 3


def test_sensitive_columns_are_not_ticked_until_somebody_does(app, client) -> None:
    table = pf.demo_study(people=60).study.assign(
        hiv_status=lambda t: ["positive", "negative"] * (len(t) // 2) + ["negative"] * (len(t) % 2)
    )
    client.upload("sensitive.csv", table.to_csv(index=False).encode())
    form = client.follow("/columns/")
    assert "sensitive: HIV" in form.words
    assert "Those who approve the study should have agreed" in form.words
    assert 'value="hiv_status">' in form.text, "it is offered, and not ticked"
    schema = app.folder / "schema.toml"
    assert "hiv_status" not in pf.read_schema(schema).schema.names
    client.post("/columns/", [*_as_shown(form.text), ("use", "hiv_status")])
    page = client.done("/columns/")
    assert "sensitive columns are used" in page.words
    assert "hiv_status" in pf.read_schema(schema).schema.names
    again = [(name, value) for name, value in _as_shown(page.text) if (name, value) != ("use", "housing")]
    client.post("/columns/", again)
    client.done("/columns/")
    assert "housing" not in pf.read_schema(schema).schema.names
    assert "hiv_status" in pf.read_schema(schema).schema.names, "what was ticked stays"


def test_no_outcome_place_opinion_or_identity_is_ticked(app, client) -> None:
    study = pf.read_study(pf.demo_study(people=150).study)
    n = len(study)
    table = pf.demo_study(people=150).study.assign(
        paid=10 + 20 * study.recruits,
        political_party=["Red", "Blue", "none"] * (n // 3) + ["Red"] * (n % 3),
        union_member=["yes", "no"] * (n // 2) + ["no"] * (n % 2),
        village=[f"V{i % 6}" for i in range(n)],
        latitude=[f"{0.31 + i / 9999:.5f}" for i in range(n)],
        notes=["came with a sister on foot" if i % 9 == 0 else "" for i in range(n)],
        token=[f"{i:x}".rjust(4, "a") + "9f3c77e1b0" for i in range(n)],
    )
    client.upload("many.csv", table.to_csv(index=False).encode())
    form = client.follow("/columns/").text
    ticked = {value for name, value in _as_shown(form) if name == "use"}
    assert ticked == {"gender", "age_group", "housing", "acquaintances"}
    offered = {value for name, value in _as_shown(form) if name == "offered"}
    assert offered - ticked == {"district", "village", "political_party", "union_member"}
    client.post("/columns/", [*_as_shown(form), ("use", "village")])
    client.done("/columns/")
    assert "village" in pf.read_schema(app.folder / "schema.toml").schema.names


def test_a_file_with_200_columns(app, client) -> None:
    """Those that are ticked come first; nothing scrolls within a box; what is folded is sent, too."""
    table = pf.demo_study(people=60).study
    table = table.assign(
        **{f"question_{n}": [["yes", "no"][i // 7 % 2] for i in range(len(table))] for n in range(190)}
    )
    client.upload("wide.csv", table.to_csv(index=False).encode())
    form = client.follow("/columns/")
    assert len(form.text) < 400_000
    assert (
        form.text.index('value="coupon.3" id')
        < form.text.index("Other columns")
        < form.text.index('value="question_7" id')
    )
    offered = [value for name, value in _as_shown(form.text) if name == "offered"]
    assert len(offered) == len(set(offered)) > 4
    client.post("/columns/", [*_as_shown(form.text), ("use", "district")])
    client.done("/columns/")
    assert "district" in pf.read_schema(app.folder / "schema.toml").schema.names


def _as_shown(page: str) -> list[tuple[str, str]]:
    """What a browser would send if the form were sent as it is."""
    sent = []
    for tag in re.findall(r"<input[^>]*>", page):
        facts = {name: html.unescape(value) for name, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
        if facts.get("type") in ("checkbox", "radio") and not re.search(r"\bchecked\b", tag):
            continue
        if facts.get("name") and facts["name"] not in ("csrfmiddlewaretoken", "language"):
            sent.append((facts["name"], facts.get("value", "")))
    for name, options in re.findall(r'<select name="([^"]+)"[^>]*>(.*?)</select>', page, flags=re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        sent.append((name, html.unescape(chosen[1]) if chosen else ""))
    return sent


def test_two_tabs_with_two_files(client) -> None:
    """A form of an earlier file is not taken for the new one."""
    client.upload("first.csv", STUDY.encode())
    old = _as_shown(client.follow("/columns/").text)
    client.upload("second.csv", (STUDY + "5,B2,E1,E2,m\n").encode())
    client.post("/columns/", old)
    page = client.done("/columns/")
    assert "Another file was chosen meanwhile" in page.words
    assert "files/second.csv" in page.words


def test_a_hostile_file_name_is_harmless(app, client) -> None:
    before = {path for path in app.folder.parent.rglob("*") if "files" not in path.parts}
    page = client.upload("../../\u202e<b>; rm -rf $HOME.csv", STUDY.encode())
    assert "files/b-rm-rf-HOME.csv" in page.words
    made = {path for path in app.folder.parent.rglob("*") if "files" not in path.parts} - before
    assert all(app.folder in path.parents for path in made)


def test_the_same_name_twice_replaces_nothing(app, client) -> None:
    client.upload("weekly.csv", STUDY.encode())
    client.upload("weekly.csv", (STUDY + "5,B2,E1,E2,m\n").encode())
    client.upload("weekly.csv", STUDY.encode())
    kept = sorted(path.name for path in (app.folder / "files").glob("weekly*"))
    assert kept == ["weekly-2.csv", "weekly.csv"]
    assert choices(app)["file"] == "files/weekly.csv"


def test_hostile_values_are_shown_as_text(client) -> None:
    rows = ["id,own.coupon,coupon.1,coupon.2,answer"]
    for n, value in enumerate(HOSTILE * 4):
        quoted = '"' + value.replace('"', '""') + '"'
        rows.append(f'{quoted[:-1]} {n}",{f"A{n - 1}" if n else ""},A{n},B{n},{quoted}')
    rows.append('dup,A0,"=1+1","<img src=x onerror=alert(1)>",x')
    page = client.upload("hostile.csv", "\n".join(rows).encode())
    columns = client.follow("/columns/")
    for text in (page.text, columns.text):
        assert "<script>alert(1)" not in text
        assert "<img src=x" not in text
        assert "\u202e" not in text
        assert "\u200f" not in text
    assert "\\u202e" in columns.text, "marks of direction are spelled out"


def test_a_file_of_50_megabytes(client) -> None:
    line = b"x" * 990 + b",notes\n"
    page = client.upload("large.csv", b"text,more\n" + line * 50_100)
    assert page.status == 200
    assert "cannot be used yet" in page.words
    assert "files/large.csv" in page.words


def test_a_file_that_is_too_large_is_refused_in_words(app, client) -> None:
    page = client.post("/file/", {}, {"study_file": ("huge.csv", b"x" * 100_000_001)})
    assert page.status == 413
    assert "It has 100 million bytes; these pages take up to 100." in page.words
    assert not (app.folder / "files" / "huge.csv").exists()


def test_an_excel_file_with_several_sheets(client) -> None:
    book = Workbook()
    book.active.title = "Notes"
    book.active.append(["written", "by", "hand"])
    for title in ("Round 1", "Round 2"):
        sheet = book.create_sheet(title)
        for row in STUDY.splitlines():
            sheet.append(row.split(","))
    content = io.BytesIO()
    book.save(content)
    page = client.upload("study.xlsx", content.getvalue())
    assert "Choose the one that holds the study under “Sheet of the workbook”" in page.words
    form = client.follow("/columns/")
    sent = [("sheet", "Round 2") if name == "sheet" else (name, value) for name, value in _as_shown(form.text)]
    client.post("/columns/", sent)
    assert "Read as below. People: 4." in client.done("/columns/").words


def test_wrong_numbers_are_explained_and_nothing_is_made(client) -> None:
    client.upload("tiny.csv", STUDY.encode())
    for budget in ("-5", "0", "", "many", "1.5"):
        assert 'class="errorlist"' in client.post("/fit/", {**SMALL, "budget": budget}).text
    client.post("/fit/", {**SMALL, "budget": "99999999999999999999999"})
    page = client.done("/fit/")
    assert "That did not work" in page.words
    assert "What was there before is still there" in page.words


def test_a_fit_can_be_stopped_and_a_double_click_starts_one(app, client) -> None:
    client.upload("study.csv", small_study())
    token = client.token("/fit/")
    entries = [*SMALL.items(), ("csrfmiddlewaretoken", token)]
    answers = [client.post("/fit/", entries, token=False) for _ in range(2)]
    assert [answer.status for answer in answers] == [302, 302]
    page = client.follow("/fit/")
    assert "Stop" in page.words
    assert '<meta http-equiv="refresh"' in page.text, "without JavaScript the page comes again by itself"
    assert "Something else is still running" not in page.words, "the second click was the same job"
    assert client.follow("/sheet/").status == 200, "other pages stay usable"
    before = choices(app)["file"]
    other = client.post("/file/", {}, {"study_file": ("other.csv", STUDY.encode())})
    assert other.status == 302
    assert "other.csv is kept It can be read when the work has ended." in client.follow("/file/").words
    assert choices(app)["file"] == before, "the work goes on with its file"
    client.post("/job/stop/", {"step": "fit"})
    page = client.done("/fit/")
    assert "Nothing was changed" in page.words
    assert "Start again" in page.words
    assert not (app.folder / "model").exists()
    assert choices(app)["fit"]["budget"] == 8, "what was entered is kept"
    assert "Read it" in client.follow("/file/").words
    client.post("/file/again/", {"kept": ""})
    page = client.done("/file/")
    assert choices(app)["file"] == "files/other.csv"
    assert "is kept" not in page.words


def test_a_file_whose_reading_was_stopped_is_read_again(app, client) -> None:
    """Who waits is then still of the file before, so nothing is planned until it is read to the end."""
    client.upload("study.csv", small_study())
    token = client.token("/file/")
    waiting = (app.folder / "waiting.csv").read_bytes()
    later = pf.demo_study(people=70, seed=1).study.to_csv(index=False).encode()
    sent = threading.Thread(
        target=client.post,
        args=("/file/", [("csrfmiddlewaretoken", token)], {"study_file": ("later.csv", later)}),
        kwargs={"token": False},
    )
    sent.start()
    while choices(app)["file"] != "files/later.csv" or "data-done" in client.get("/job/").text:
        time.sleep(0.02)
    client.post("/job/stop/", [("csrfmiddlewaretoken", token)], token=False)
    sent.join()
    page = client.done("/file/")
    assert "files/later.csv was not read to the end" in page.words
    assert (app.folder / "waiting.csv").read_bytes() == waiting
    assert client.follow("/fit/").words.startswith("File")
    client.post("/file/again/", {})
    page = client.done("/file/")
    assert "not read to the end" not in page.words
    assert "files/later.csv" in page.words
    assert (app.folder / "waiting.csv").read_bytes() != waiting


def test_where_nobody_waits_the_pages_say_what_to_do(app, client) -> None:
    client.upload("complete.csv", (STUDY + "5,B2,E1,E2,m\n").encode())
    assert json.loads((app.folder / "app" / "look.json").read_text())["waiting"] == 0
    made = app.folder / "model" / "manifest.json"
    made.parent.mkdir(exist_ok=True)
    made.write_text("{}")
    try:
        assert "give a file under “People who wait” below" in client.follow("/sheet/").words
        assert client.get("/forecast/").headers["location"] == "/sheet/", "there is nothing to look ahead from"
        assert client.get("/report/").headers["location"] == "/sheet/"
        page = client.post("/sheet/change/", {"spend": "²"})
        assert page.status == 302, "no number, and no fault of the program"
        client.upload("wrong.csv", b"%PDF-1.7 ...")
        page = client.post("/sheet/", {"budget": "8", "date": "2026-03-02"})
        assert page.headers["location"] == "/file/", "who waits is of the file before"
    finally:
        made.unlink()
        made.parent.rmdir()


def test_a_long_message_is_shown_to_its_end(client) -> None:
    columns = [f"question_number_{n}" for n in range(45)]
    page = client.upload("wide.csv", (",".join(columns) + "\n" + ",".join("x" * 45) + "\n").encode())
    assert "question_number_44" in page.words
    assert "characters ...]" not in page.words


def test_pages_that_do_not_exist(client) -> None:
    page = client.get("/nothing/")
    assert page.status == 404
    assert "There is no such page" in page.words
