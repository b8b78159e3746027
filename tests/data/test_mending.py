"""Accepted proposals change these cells of a copy and nothing else; what would add a fault is refused."""

import io
import json
import re
import zipfile
from datetime import date
from pathlib import Path

import openpyxl
import pytest

from foundation import r_files
from peerfront.data.mending import changes_of, copy_beside, log_beside, mendable, mended, problems_in
from peerfront.data.problems import Proposal, offers
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_content
from peerfront.foundation.messages import note

HEADER = ["id", "own coupon", "coupon 1", "coupon 2", "date", "district"]
PEOPLE = [
    ["P1", "", "C1A", "C1B", "2024-01-02", "Norte"],
    ["P2", "C1A", "C2A", "C2B", "2024-01-09", "Sur"],
    ["P3", "ClB", "C3A", "C3B", "2024-01-10", "Sur"],
    ["P4", "C2A", "C4A", "C4B", "2024-01-17", "Norte"],
    ["P5", "C2B", "C5A", "C5B", "2024-01-18", "Norte"],
    ["P6", "C3-A", "C6A", "C6B", "2024-01-20", "Sur"],
]
WHY = note("mends.issued_to", person="P1")
NEAR = {(4, "own coupon", "ClB", "C1B"), (7, "own coupon", "C3-A", "C3A")}


def as_text(separator: str, end: str, quote: str = "") -> str:
    rows = [separator.join(f"{quote}{cell}{quote}" for cell in row) for row in [HEADER, *PEOPLE]]
    return end.join(rows) + end


def proposals_of(file):
    return [each for group in offers(problems_in(file)) for each in group.proposals]


def cells(proposals):
    return {(each.row, each.column, each.found, each.proposed) for each in proposals}


def written(tmp_path: Path, content: bytes, name: str = "study.csv", **settings):
    path = tmp_path / name
    path.write_bytes(content)
    return mendable(path, ReadSettings(**settings))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_every_other_byte_of_a_text_table_stays(tmp_path, separator, end, quote, codec) -> None:
    text = as_text(separator, end, quote).replace("Sur", "Süd").replace("C3-A", " C3-A " if not quote else "C3-A")
    before = text.encode(codec)
    file = written(tmp_path, before)
    assert cells(proposals_of(file)) == NEAR
    result = mended(file, proposals_of(file))
    assert not result.refused
    assert result.file.content == text.replace("ClB", "C1B").replace("C3-A", "C3A").encode(codec)
    assert not proposals_of(result.file)


def test_quotation_marks_and_line_breaks_in_cells_and_a_line_for_excel(tmp_path) -> None:
    text = 'sep=;\nid;"own coupon";coupon 1;note\nA;;"X""1";"one\ntwo; three"\nB;x"1;Y1;" "" "\nC;Y1;Z1;\n'
    file = written(tmp_path, text.encode())
    changes = [Proposal(4, "own coupon", 'x"1', 'X"1', WHY), Proposal(5, "note", "", "a;b", WHY)]
    result = mended(file, changes)
    assert not result.refused
    assert result.file.content.decode() == text.replace(';x"1;', ';"X""1";').replace("Z1;\n", 'Z1;"a;b"\n')


def test_a_row_that_is_left_out_leaves_an_empty_line_so_that_rows_keep_their_numbers(tmp_path) -> None:
    lines = as_text(",", "\n").splitlines(keepends=True)
    file = written(tmp_path, "".join([*lines[:5], lines[3], *lines[5:]]).encode())
    (offer,) = [each for each in proposals_of(file) if each.proposed is None]
    assert (offer.row, offer.found) == (6, "P3")
    result = mended(file, [offer])
    assert result.file.content.decode() == "".join([*lines[:5], "\n", *lines[5:]])
    assert cells(proposals_of(result.file)) == {(4, "own coupon", "ClB", "C1B"), (8, "own coupon", "C3-A", "C3A")}


def test_a_second_row_that_says_something_else_is_not_offered_to_be_left_out(tmp_path) -> None:
    lines = as_text(",", "\n").splitlines(keepends=True)
    file = written(tmp_path, "".join([*lines, lines[3].replace("Sur", "Norte")]).encode())
    assert all(each.proposed is not None for each in proposals_of(file))


# What is refused ----------------------------------------------------------------------------------------------------


RECRUITERS = "id,recruiter,coupons issued,sex\nA,,3,f\nB,A,3,m\nC,B,3,f\nD,b,3,m\nE,A,3,f\n"


@pytest.mark.parametrize(
    ("proposal", "code", "title"),
    [
        (Proposal(2, "recruiter", "", "C", WHY), "mending.adds", "cycle"),
        (Proposal(4, "recruiter", "B", "C", WHY), "mending.adds", "self-recruited"),
        (Proposal(4, "id", "C", "B", WHY), "mending.adds", "repeated-id"),
        (Proposal(4, "recruiter", "Z", "A", WHY), "mending.changed_since", ""),
        (Proposal(99, "recruiter", "B", "A", WHY), "mending.no_cell", ""),
        (Proposal(4, "age", "B", "A", WHY), "mending.no_column", ""),
    ],
)
def test_a_mend_that_adds_a_fault_or_does_not_fit_is_refused_and_the_others_are_kept(
    tmp_path, proposal, code, title
) -> None:
    file = written(tmp_path, RECRUITERS.encode())
    good = [Proposal(5, "recruiter", "b", "B", WHY), Proposal(6, "sex", "f", "m", WHY)]
    result = mended(file, [good[0], proposal, good[1]])
    assert result.done == tuple(good)
    assert [(each.proposal, each.why.code) for each in result.refused] == [(proposal, code)]
    assert not title or result.refused[0].why.arguments["title"].code.endswith(title)
    assert result.file.content.decode() == RECRUITERS.replace("D,b", "D,B").replace("E,A,3,f", "E,A,3,m")


def test_two_mends_that_make_a_circle_only_together_are_told_apart(tmp_path) -> None:
    file = written(tmp_path, RECRUITERS.replace("D,b", "D,x").encode())
    changes = [Proposal(2, "recruiter", "", "E", WHY), Proposal(6, "recruiter", "A", "", WHY)]
    assert mended(file, changes).done == tuple(changes)
    result = mended(file, [changes[1], Proposal(3, "recruiter", "A", "E", WHY), Proposal(6, "id", "E", "A", WHY)])
    assert len(result.done) == 2
    assert problems_in(result.file)


def test_a_letter_that_the_encoding_lacks_is_refused(tmp_path) -> None:
    file = written(tmp_path, RECRUITERS.replace("A,,", "Á,,").replace(",A,", ",Á,").encode("cp1252"))
    result = mended(file, [Proposal(4, "sex", "f", "女", WHY)])
    assert result.refused[0].why.code == "mending.unreadable"
    assert result.file == file


# Workbooks ----------------------------------------------------------------------------------------------------------


def workbook(tmp_path: Path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Study"
    sheet.append(["Harbour study"])
    sheet.append([*HEADER, "network size", "twice"])
    for number, row in enumerate(PEOPLE):
        sheet.append([*row[:4], date.fromisoformat(row[4]), row[5], number + 2, f"=G{number + 3}*2"])
    sheet["B5"].font = openpyxl.styles.Font(bold=True)
    sheet["A6"].comment = openpyxl.comments.Comment("look", "me")
    other = book.create_sheet("Notes")
    other["A1"] = "=SUM(Study!G3:G8)"
    place = tmp_path / "study.xlsx"
    book.save(place)
    # as Excel saves it, with the values of formulas
    content = io.BytesIO()
    with zipfile.ZipFile(place) as source, zipfile.ZipFile(content, "w") as target:
        for part in source.infolist():
            text = source.read(part)
            if part.filename == "xl/worksheets/sheet1.xml":
                text = re.sub(rb"(<f>G(\d+)\*2</f>)<v ?/>", rb"\1<v>\2</v>", text)
                text = re.sub(rb"(<f>G(\d+)\*2</f>)<v></v>", rb"\1<v>\2</v>", text)
            target.writestr(part, text)
    return written(tmp_path, content.getvalue(), "study.xlsx")


def parts_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_only_the_cells_of_a_workbook_change_and_its_dates_and_numbers_stay_what_they_are(tmp_path) -> None:
    file = workbook(tmp_path)
    offered = proposals_of(file)
    assert cells(offered) == {(row + 1, *rest) for row, *rest in NEAR}
    more = [Proposal(3, "date", "2024-01-02", "2024-01-03", WHY), Proposal(4, "network size", "3", "33", WHY)]
    result = mended(file, [*offered, *more, Proposal(3, "own coupon", "", "", WHY)])
    assert not result.refused
    before, after = parts_of(file.content), parts_of(result.file.content)
    assert {name for name in before if before[name] != after[name]} == {"xl/worksheets/sheet1.xml"}
    old, new = (openpyxl.load_workbook(io.BytesIO(each.content))["Study"] for each in (file, result.file))
    changed = {}
    for row, others in zip(old.iter_rows(), new.iter_rows(), strict=True):
        for one, other in zip(row, others, strict=True):
            assert one.number_format == other.number_format
            if one.value != other.value:
                changed[one.coordinate] = other.value
    assert {name: str(value) for name, value in changed.items()} == {
        "B5": "C1B", "B8": "C3A", "E3": "2024-01-03 00:00:00", "G4": "33",
    }  # fmt: skip
    assert changed["G4"] == 33
    assert new["B5"].font.bold
    assert new["A6"].comment.text == "look"
    assert [cell.value for cell in new["H"][2:]] == [f"=G{row}*2" for row in range(3, 9)]
    study = read_content(result.file.path, result.file.content, result.file.settings)
    assert study.people["twice"].tolist() == [str(row) for row in range(3, 9)], "values of formulas are kept"
    assert study.recruiter.tolist() == [-1, 0, 0, 1, 1, 2]


def test_a_row_of_a_workbook_that_is_left_out_is_empty_and_nothing_moves(tmp_path) -> None:
    file = workbook(tmp_path)
    result = mended(file, [Proposal(8, "", "", None, WHY)])
    assert not result.refused
    sheet = openpyxl.load_workbook(io.BytesIO(result.file.content))["Study"]
    assert [cell.value for cell in sheet[8]] == [None] * 8
    assert sheet["H7"].value == "=G7*2"
    assert len(read_content(result.file.path, result.file.content, result.file.settings)) == 5


def test_a_table_that_stands_below_a_title_and_beside_another_one(tmp_path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["C1"] = "Harbour"
    for row, line in enumerate([HEADER, *PEOPLE], start=3):
        for column, cell in enumerate(line, start=3):
            sheet.cell(row, column).value = cell or None
    for row, line in enumerate([["code", "meaning"], ["Sur", "south"], ["Norte", "north"]], start=3):
        for column, cell in enumerate(line, start=10):
            sheet.cell(row, column).value = cell
    book.save(tmp_path / "beside.xlsx")
    file = mendable(tmp_path / "beside.xlsx", ReadSettings())
    offered = proposals_of(file)
    assert cells(offered) == {(row + 2, *rest) for row, *rest in NEAR}
    result = mended(file, [*offered, Proposal(5, "", "", None, WHY), Proposal(9, "", "", None, WHY)])
    assert [each.proposal.row for each in result.refused] == [5], "it holds a row of the other table"
    new = openpyxl.load_workbook(io.BytesIO(result.file.content)).active
    assert (new["D6"].value, new["D9"].value, new["J5"].value) == ("C1B", None, "Norte")


def test_cells_that_rows_share_are_refused(tmp_path) -> None:
    file = workbook(tmp_path)
    book = openpyxl.load_workbook(io.BytesIO(file.content))
    book["Study"].merge_cells("F4:F5")
    book.save(tmp_path / "merged.xlsx")
    merged = mendable(tmp_path / "merged.xlsx", ReadSettings())
    result = mended(merged, [Proposal(5, "district", "Sur", "Norte", WHY), Proposal(4, "", "", None, WHY)])
    assert [each.why.code for each in result.refused] == ["mending.shared_cell"] * 2


# Other formats ------------------------------------------------------------------------------------------------------


def test_an_rdsat_file_is_changed_in_place(tmp_path) -> None:
    lines = ["RDS", "4 2 0 sex", "1 5 0 11 12 f", "2 3 11 21 22 m", "3 4 012 31 32 f", "4 4 21 0 0 f", ""]
    text = "\r\n".join(lines).replace(" ", "\t").replace("012", " 012")
    file = written(tmp_path, text.encode(), "study.txt")
    assert cells(proposals_of(file)) == {(5, "own.coupon", "012", "12")}
    result = mended(file, [*proposals_of(file), Proposal(6, "own.coupon", "21", "", WHY)])
    assert not result.refused
    assert result.file.content.decode() == text.replace(" 012", " 12").replace("4\t4\t21", "4\t4\t0")


def test_a_survey_app_is_changed_in_place(tmp_path) -> None:
    def record(code, parent, *children, **more):
        return {"surveyCode": code, "parentSurveyCode": parent, "childSurveyCodes": children, **more}

    records = [
        record("a", "__SEED__", "b", "c", responses={"sex ": "f", "age": 20}, deletedAt=None),
        record("b", "a", "d", "e", responses={"sex ": "m", "age": 1e2}),
        record("c", "a", "x", "g", responses={"sex ": "é", "age": 22.5}),
        record("c", "a", "x", "g", responses={"sex ": "é", "age": 22.5}),
    ]
    text = json.dumps({"records": records, "n": 4}, indent=3)
    file = written(tmp_path, text.encode(), "study.json")
    (twice,) = proposals_of(file)
    changes = [twice, Proposal(2, "sex", "m", "f", WHY), Proposal(1, "age", "20", "21", WHY)]
    result = mended(file, [*changes, Proposal(3, "childSurveyCodes_1", "x", "f", WHY)])
    assert not result.refused
    assert result.file.content.decode() == (
        text.replace('"m"', '"f"').replace('"age": 20', '"age": 21').replace('"x"', '"f"', 1)[: text.rindex("{\n")]
        .rpartition('{\n         "surveyCode"')[0]
        + '{"deletedAt": "mended", \n         "surveyCode"'
        + text.rpartition('{\n         "surveyCode"')[2]
    )  # fmt: skip
    assert len(read_content(result.file.path, result.file.content, result.file.settings)) == 3


def test_the_table_of_an_r_file_becomes_csv(tmp_path) -> None:
    columns = {name: r_files.texts(*values) for name, *values in zip(HEADER, *PEOPLE, strict=True)}
    file = written(tmp_path, r_files.rds(r_files.table(columns)), "study.rds")
    assert file.path.name == "study.csv"
    result = mended(file, proposals_of(file))
    assert cells(result.done) == NEAR
    assert b"C1B" in result.file.content


# The copy and its log -----------------------------------------------------------------------------------------------


def test_copies_and_their_logs_have_names_of_their_own(tmp_path) -> None:
    copy = copy_beside(tmp_path / "study.v2.xlsx")
    assert copy.name == "study.v2.mended.xlsx"
    assert log_beside(copy).name == "study.v2.mended.changes.csv"
    assert copy_beside(copy).name == "study.v2.mended-2.xlsx"
    assert copy_beside(copy_beside(copy), ".csv").name == "study.v2.mended-3.csv"


def test_a_log_belongs_to_the_copy_that_it_names(tmp_path) -> None:
    file = written(tmp_path, b"id,x\n", "study.mended.csv")
    assert changes_of(file.path) is None
    log_beside(file.path).write_text("")
    assert changes_of(file.path) is None
    log_beside(file.path).write_text(f"row\n{file.digest}\n")
    assert changes_of(file.path) is not None
    file.path.write_bytes(b"id,y\n")
    assert changes_of(file.path) is None
