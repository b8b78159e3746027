"""The app's folder: names of files, what is kept, and files that are damaged."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, Remedy
from peerfront.web.app.app_folder import AppFolder
from peerfront.web.app.study_steps import current_order, state_of
from peerfront.words.language import say_n, warn


@pytest.fixture
def folder(tmp_path) -> AppFolder:
    return AppFolder(tmp_path / "study")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("study.csv", "study.csv"),
        ("Estudio de Málaga 2026.XLSX", "Estudio-de-Malaga-2026.xlsx"),
        ("../../../etc/passwd", "passwd.txt"),
        ("..\\..\\boot.ini", "boot.txt"),
        ("C:\\Users\\me\\study.csv", "study.csv"),
        ("a b;rm -rf $HOME.csv", "a-b-rm-rf-HOME.csv"),
        ("<b>.csv", "b.csv"),
        ("", "study.txt"),
        (".", "study.txt"),
        (".csv", "study.csv"),
        ("\u202e.csv", "study.csv"),
        ("x" * 300 + ".csv", "x" * 80 + ".csv"),
        ("-o.csv", "o.csv"),
        ("study.py", "study.txt"),
        ("peerfront.pth", "peerfront.txt"),
        ("line\nbreak.csv", "line-break.csv"),
        ("файл.csv", "study.csv"),
        ("old.XLS", "old.xls"),
        ("nyjazz.rdsat", "nyjazz.rdsat"),
        ("con.csv", "study-con.csv"),
        ("COM1.csv", "study-COM1.csv"),
    ],
)
def test_files_are_kept_under_harmless_names(folder, name, kept) -> None:
    assert folder.keep(name, b"x") == f"files/{kept}"
    assert (folder.path / "files" / kept).read_bytes() == b"x"


def test_no_earlier_file_is_replaced(folder) -> None:
    assert [folder.keep("a.csv", content) for content in (b"1", b"2", b"1", b"3")] == [
        "files/a.csv", "files/a-2.csv", "files/a.csv", "files/a-3.csv",
    ]  # fmt: skip


def test_a_file_is_no_folder(tmp_path) -> None:
    (tmp_path / "study").write_text("x")
    with pytest.raises(DataFileError, match="is a file. Name a folder"):
        AppFolder(tmp_path / "study")


@pytest.mark.parametrize("damaged", ["", "{", "[]", "\x00", '{"file":'])
def test_damaged_choices_count_as_none(folder, damaged) -> None:
    (folder.path / "app" / "choices.json").write_text(damaged)
    assert folder.choices == {}
    folder.choose(file="files/a.csv")
    assert folder.choices == {"file": "files/a.csv"}


def test_a_step_is_outdated_when_what_it_was_made_from_changed(folder) -> None:
    folder.keep("study.csv", b"1")
    folder.choose(file="files/study.csv")
    (folder.path / "schema.toml").write_text("a")
    (folder.path / "model").mkdir()
    (folder.path / "model" / "manifest.json").write_text("{}")
    folder.write_outcome("fit", {"inputs": folder.digests(["files/study.csv", "schema.toml"])})
    assert state_of(folder, "fit").done
    assert not state_of(folder, "fit").outdated
    (folder.path / "schema.toml").write_text("b")
    assert state_of(folder, "fit").outdated
    (folder.path / "schema.toml").write_text("a")
    assert not state_of(folder, "fit").outdated
    folder.choose(file=folder.keep("study.csv", b"2"))
    assert state_of(folder, "fit").outdated


def test_the_contents_of_another_file_do_not_count(folder) -> None:
    folder.write_contents({"file": "files/a.csv", "people": 5})
    folder.choose(file="files/b.csv")
    assert folder.contents == {}
    folder.choose(file="files/a.csv")
    assert folder.contents["people"] == 5


def test_sentences_messages_and_remedies_are_stored_as_data(folder) -> None:
    error = Message("names.unknown", {"kind": "world", "name": "x", "names": ["a", Remedy("map", ["id", "who"])]})
    stored = {"lines": [say_n("{n} coupon", "{n} coupons", 3), warn("Careful.")], "error": error, "rows": [{"a": None}]}
    folder.write_outcome("fit", stored)
    assert folder.outcome("fit") == stored
    assert '"3 coupons"' not in (folder.path / "app" / "fit.json").read_text()


def test_a_folder_may_be_replaced_while_a_page_looks_at_it(folder, monkeypatch) -> None:
    (folder.path / "model").mkdir()
    (folder.path / "model" / "manifest.json").write_text("{}")
    listed = type(folder.path).rglob

    def listed_then_gone(path, pattern):
        found = list(listed(path, pattern))
        (folder.path / "model" / "manifest.json").unlink()
        return found

    monkeypatch.setattr(type(folder.path), "rglob", listed_then_gone)
    assert folder.digest("model")


def test_two_tabs_choose_at_once_and_nothing_is_lost(folder) -> None:
    with ThreadPoolExecutor(8) as tabs:
        list(tabs.map(lambda n: folder.choose(**{f"form{n}": n}), range(40)))
    assert folder.choices == {f"form{n}": n for n in range(40)}


def test_a_report_of_another_order_than_the_sheet_s_is_to_be_made_again(folder) -> None:
    (folder.path / "report.html").write_text("a report\n")
    ordered = {"result": {"outlook": None}, "choices": {"budget": 30, "date": "2026-03-02"}}
    folder.write_outcome("sheet", ordered)
    folder.write_outcome("report", {"choices": {"order": {"budget": 30, "date": "2026-03-02"}}})
    assert not state_of(folder, "report").outdated
    folder.write_outcome("sheet", {**ordered, "choices": {"budget": 30, "spend": 5, "date": "2026-03-02"}})
    assert state_of(folder, "report").outdated, "the slider is part of the order"


def test_a_sheet_of_an_earlier_version_has_no_order_to_look_ahead_from(folder) -> None:
    folder.write_outcome("sheet", {"result": {"lines": []}, "choices": {"waiting": "waiting.csv", "budget": 30}})
    assert current_order(folder) == {}


def test_the_forecast_is_as_old_as_the_sheet(folder) -> None:
    (folder.path / "forecast").mkdir()
    (folder.path / "forecast" / "summary.csv").write_text("policy\n")
    sheet = {"work": "plan", "result": {"outlook": {}}, "choices": {"budget": 30}, "inputs": {"waiting.csv": ""}}
    folder.write_outcome("sheet", sheet)
    assert not state_of(folder, "forecast").outdated
    folder.choose(waiting="files/others.csv")
    assert state_of(folder, "forecast").outdated, "other people wait"


def test_a_sheet_whose_people_an_earlier_version_kept_otherwise_is_to_be_made_again(folder) -> None:
    (folder.path / "sheet.csv").write_text("person,coupons\n")
    people = {"people": [{"person": "P1", "coupons": 2, "reason": "more likely"}]}
    folder.write_outcome("sheet", {"work": "plan", "result": people})
    assert state_of(folder, "sheet").changes == ("program",)
