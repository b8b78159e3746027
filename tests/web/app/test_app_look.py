"""What the app finds out about a file: contents, problems, columns; and the schema that it writes."""

import io
from datetime import date
from pathlib import Path

import pytest
from app_client import STUDY
from openpyxl import Workbook

import peerfront as pf
from peerfront.data.reading import read_frontier
from peerfront.data.writers import write_study
from peerfront.foundation.spreadsheets import csv_text
from peerfront.study.week import WeekRequest, run_week
from peerfront.web.app.app_folder import AppFolder
from peerfront.web.app.file_look import look
from peerfront.web.app.file_pages import ColumnsForm, entries_of, remedies_of, ticks_of


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Give a file, and look at it."""
    folder = AppFolder(tmp_path / "study")
    monkeypatch.chdir(folder.path)

    def give(content: str | bytes, name: str = "study.csv", **choices):
        folder.choose(file=folder.keep(name, content.encode() if isinstance(content, str) else content), **choices)
        return look(folder, folder.choices).contents

    give.folder = folder
    return give


@pytest.mark.parametrize("kind", ["coupons", "recruiter", "rdsat", "app"])
def test_every_format_is_read_and_who_waits_can_be_planned_for(given, tmp_path, kind) -> None:
    study = pf.read_study(pf.demo_study(people=80).study)
    file = tmp_path / "file"
    write_study(study, file, kind)
    seen = given(file.read_bytes(), {"rdsat": "s.txt", "app": "s.json"}.get(kind, "s.csv"))
    assert seen["error"] is None
    assert seen["people"] == len(study)
    assert {each["name"] for each in seen["fields"] if each["used"]} == {
        "gender",
        "age_group",
        "housing",
        "acquaintances",
    }
    assert bool(seen["columns"]) == (kind in ("coupons", "recruiter")), "other layouts are fixed"
    schema = pf.read_schema("schema.toml")
    again = pf.read_study(seen["file"], schema.reading)
    (given.folder.path / "waiting.csv").write_text(csv_text(again.waiting))
    assert len(read_frontier(given.folder.path / "waiting.csv", schema)) == seen["waiting"] > 0


def test_coupons_of_a_week_in_the_folder_carry_the_day_of_its_sheet(given) -> None:
    def open_coupons(seen) -> str:
        rows = [row for section in seen["sections"] for row in section["rows"]]
        return str(next(number for name, number in rows if str(name) == "open"))

    before = "id,recruiter,coupons_issued,date\nA,,3,2026-03-02\nB,A,0,2026-03-03\n"
    given(before)
    run_week(Path("files/study.csv"), Path(), WeekRequest(date(2026, 3, 6), given={"budget": 9, "valid_days": 5}))
    after = before.replace("B,A,0", "B,A,3") + "C,A,0,2026-03-10\n"
    assert open_coupons(given(after, reading={"valid_days": 5})) == "3", "those of the sheet of 6 March"
    Path("log.jsonl").unlink()
    assert open_coupons(given(after, reading={"valid_days": 5})) == "0"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty. Export it again"),
        (b"   \n", "the file is empty"),
        (b"%PDF-1.7 ...", "is a PDF"),
        (b"\x89PNG\r\n\x1a\n...", "is a photo or a picture"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "is a photo or a picture"),
        (b"\0\0\0\x24ftypheic\0\0\0\0", "is a photo or a picture"),
        (b"PK\x03\x04not a workbook", "damaged or not complete"),
        (b"\x00\x01\x02\x03", "is not a text file"),
        (b'{"people": [', "JSON"),
        (b"id,name\n1,a\n2,b\n", "column"),
        (b"RDS\nnonsense", "study.csv"),
        (b"id,own.coupon,coupon.1\n", "nobody below it"),
    ],
)
def test_a_wrong_file_is_explained(given, content, message) -> None:
    seen = given(content)
    assert message in str(seen["error"])
    assert not (given.folder.path / "schema.toml").exists()


def test_faults_have_rows_people_and_remedies(given) -> None:
    seen = given(STUDY + "4,B2,E1,E2,f\n6,ZZ,G1,G2,f\n")
    assert seen["error"]
    fault = seen["problems"][0]
    assert (fault["severity"], fault["rows"]) == ("error", [6])
    assert str(fault["title"]) == "id used twice"
    assert str(fault["remedy"]) == "Give everybody one row and an id of their own."
    assert [each["severity"] for each in seen["problems"]].count("warning") == 1


def test_the_same_fault_of_many_rows_is_one_and_its_changes_are_offered_together(given) -> None:
    came = ["", *(f"K{'1l'[n % 2]}{n}" for n in range(20, 39))]
    seen = given(STUDY + "".join(f"{n},{came[n - 20]},K1{n},L1{n},f\n" for n in range(20, 40)))
    (fault,) = [each for each in seen["problems"] if each["kind"] == "not-issued"]
    assert (fault["count"], fault["rows"][:2]) == (9, [8, 10])
    (group,) = seen["offers"]
    item = group["items"][0]
    assert (group["count"], item["rows"], f"{item['offer']} ({item['why']})") == (9, [8], "Kl21 -> K121 (issued to 21)")


def test_columns_that_names_do_not_tell_are_suggested(given) -> None:
    came = ["", *(f"K{n // 2:03d}{'ab'[n % 2]}" for n in range(29))]
    rows = [f"N{n:03d},{code},K{n:03d}a,K{n:03d}b,{'fm'[n % 2]}" for n, code in enumerate(came)]
    seen = given("\n".join(["who,x1,x2,x3,kind", *rows]))
    assert seen["error"]
    assert seen["suggested"] == {"id": ["who"], "own_coupon": ["x1"], "coupons": ["x2", "x3"]}
    entries = entries_of(seen, {})
    assert (entries["role_id"], entries["role_own_coupon"], entries["coupons"]) == ("who", "x1", ["x2", "x3"])


def test_choices_are_for_files_with_the_same_columns(given) -> None:
    """Next week's export has the same columns, perhaps more; another study has others."""
    columns = ["id", "own.coupon", "coupon.1", "coupon.2", "sex"]
    reading = {"columns": {"date": []}, "valid_days": 45.0}
    seen = given(STUDY, reading=reading, ticks={"leave": ["sex"]}, columns=columns)
    assert seen["reading"] == reading
    assert [each["used"] for each in seen["fields"]] == [False]
    more = STUDY.replace("sex", "sex,age").replace("f\n", "f,20\n").replace("m\n", "m,30\n")
    assert given(more)["reading"] == reading
    other = given("id,recruiter,coupons_issued,sex\n1,,3,f\n2,1,3,m\n")
    assert other["reading"] == {}
    assert "not used here" in str(other["notes"][0])
    assert given.folder.choices["reading"] == reading, "and they are there again with the next such file"


def test_a_schema_that_was_edited_by_hand_is_kept_beside(given) -> None:
    given(STUDY)
    schema = given.folder.path / "schema.toml"
    schema.write_text(schema.read_text() + "# mine\n")
    given(STUDY)
    assert "# mine" not in schema.read_text()
    assert "# mine" in (given.folder.path / "app" / "schema-before.toml").read_text()


def test_ticks_of_columns_that_were_not_offered_stay() -> None:
    before = {"use": ["hiv"], "leave": ["district"]}
    assert ticks_of(["sex", "age"], ["sex"], before) == {"use": ["hiv", "sex"], "leave": ["age", "district"]}
    assert ticks_of(["hiv"], [], before) == {"use": [], "leave": ["district", "hiv"]}


def test_only_what_differs_from_what_is_recognised_becomes_a_mapping(given) -> None:
    import django
    from django.conf import settings

    if not settings.configured:
        settings.configure(USE_I18N=False)
        django.setup()
    seen = given(STUDY)
    form = ColumnsForm({"role_id": "id", "role_own_coupon": "own.coupon", "coupons": ["coupon.1"]}, contents=seen)
    assert form.is_valid()
    assert form.reading(seen["recognised"])["columns"] == {"coupons": ["coupon.1"]}


def workbook_of(**sheets: str) -> bytes:
    book = Workbook()
    book.remove(book.active)
    for title, text in sheets.items():
        sheet = book.create_sheet(title)
        for line in text.splitlines():
            sheet.append(line.split(","))
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_the_columns_are_those_of_the_sheet_that_is_read(given) -> None:
    """Notes often come first."""
    content = workbook_of(Notes="written,by hand\nx,y\n", People=STUDY)
    seen = given(content, "study.xlsx")
    assert seen["error"] is None
    names = [each["name"] for each in seen["columns"]]
    assert names == ["id", "own.coupon", "coupon.1", "coupon.2", "sex"]
    assert entries_of(seen, {})["role_id"] == "id"
    again = given(content, "study.xlsx", ticks={"leave": ["sex"]}, columns=names)
    assert again["ticks"] == {"leave": ["sex"]}, "choices are for these columns"
    assert again["notes"] == []


def test_the_sheet_of_a_workbook_is_not_asked_of_a_csv(given) -> None:
    content = workbook_of(**{"Round 1": STUDY, "Round 2": STUDY})
    assert "sheet" in settings_of(given(content, "study.xlsx"))
    assert given(content, "study.xlsx", reading={"sheet": "Round 2"})["error"] is None
    assert given(STUDY, "study.csv", reading={"sheet": "Round 2"})["error"] is None


@pytest.mark.parametrize(
    ("content", "setting"),
    [
        ("\n".join(["id,recruiter", *(f"P{n},{f'P{n // 3}' if n else ''}" for n in range(60))]), "coupons_each"),
    ],
)
def test_a_refusal_says_what_the_next_page_can_set(given, content, setting) -> None:
    assert setting in settings_of(given(content))


def settings_of(contents) -> set[str]:
    return {remedy.setting for remedy in remedies_of(contents)}


def test_only_columns_that_can_be_estimated_are_offered(given) -> None:
    rows = [f"{n},{f'A{n - 1}' if n else ''},A{n},{'fm'[n % 2]},word{n},same,{n}.5" for n in range(60)]
    seen = given("\n".join(["id,own.coupon,coupon.1,sex,free_text,one,height", *rows]))
    assert seen["outcomes"] == ["sex", "height"]
    assert seen["subgroups"] == ["sex", "one"]
