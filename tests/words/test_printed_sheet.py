"""The workbook: a page that prints, the facts behind it, nothing that runs, and the same bytes each time."""

import dataclasses
import io
import shutil
import stat
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from openpyxl import load_workbook

from peerfront.foundation.errors import OutputExists, SettingError
from peerfront.foundation.messages import note, warning
from peerfront.problem import Frontier
from peerfront.study.advice import advise
from peerfront.study.coupon_sheet import CouponSheet, Heading
from peerfront.study.planning import plan_coupons
from peerfront.study.study_state import Standing
from study.small_advice import a_fit, a_frontier, order

MISFIT, ALL_USED = warning("evidence.misfit", found="3 of 30."), warning("evidence.all_used")
SPOKEN = {
    "Drawn by lot.",
    "As planned for this round.",
    "None this time. Who gets none stays on the list for the next round.",
}
HEADING = Heading("Harbour study", "2026-03-02", 4)


@pytest.fixture(scope="module")
def sheet() -> CouponSheet:
    standing = Standing.by_rounds(a_frontier(30))
    return advise(a_fit("capacity", "per_coupon"), standing, order(), studies=40).sheet


def opened(content: bytes):
    return load_workbook(io.BytesIO(content))


def test_the_first_worksheet_prints_and_can_be_filled_in(sheet: CouponSheet) -> None:
    page = opened(sheet.excel(HEADING))["Coupons"]
    assert page["A1"].value == "Coupon sheet: Harbour study"
    for part in ("2026-03-02", "Round: 4", f"{sheet.spend} coupons: 7 get 1; 23 wait"):
        assert part in page["A2"].value
    assert [cell.value for cell in page[3]] == ["Person", "Coupons", "Coupon numbers", "Date", "Initials", "If asked"]
    rows = list(page.iter_rows(min_row=4, values_only=True))
    assert [row[0] for row in rows] == list(sheet.table["person"])
    assert [row[1] for row in rows] == sheet.table["coupons"].tolist()
    assert {row[5] for row in rows} <= SPOKEN, "nothing about the person"
    assert all("list for the next round" in row[5] for row in rows if not row[1])
    assert all(row[2:5] == (None, None, None) for row in rows)  # room to write
    assert all(page.cell(row, 6).alignment.wrap_text for row in range(4, 34))
    assert page.print_title_rows == "$1:$3"
    assert (page.page_setup.fitToWidth, page.page_setup.fitToHeight) == (1, 0)
    assert page.sheet_properties.pageSetUpPr.fitToPage
    assert "&P" in page.oddFooter.right.text


def test_reasons_are_on_a_worksheet_that_is_not_for_the_desk(sheet: CouponSheet) -> None:
    rows = list(opened(sheet.excel(HEADING))["Numbers"].iter_rows(values_only=True))
    assert [row[rows[0].index("reason")] for row in rows[1:]] == list(sheet.why)


def test_what_is_not_said_is_left_open(sheet: CouponSheet) -> None:
    page = opened(sheet.excel())["Coupons"]
    assert "Date: ____" in page["A2"].value
    assert "Round: ____" in page["A2"].value


def test_the_facts_are_those_of_the_sheet(sheet: CouponSheet) -> None:
    warned = dataclasses.replace(
        sheet, notes=(note("lots.one_winner", people=3, seed=0), MISFIT), warnings=(MISFIT, ALL_USED)
    )
    facts = opened(warned.excel(HEADING))["Facts"]
    known = {row[0]: row[1] for row in facts.iter_rows(values_only=True) if row[0]}
    assert known["coupons left before this round (budget)"] == 12
    assert known["coupons given out this round"] == sheet.spend
    assert known["seed of lots and random numbers"] == 0
    assert known["fingerprint of the model (sha256 in its manifest.json)"] == sheet.model_fingerprint
    assert len(sheet.model_fingerprint) == 64
    for text in (*map(str, (*warned.notes, ALL_USED)), "each coupon is used on its own"):
        assert text in known
    assert [row[0] for row in facts.iter_rows(values_only=True)].count(str(MISFIT)) == 1
    stories = [row for row in facts.iter_rows(values_only=True) if row[0] == "each coupon is used on its own"]
    assert stories[0][1] == "50%"


def test_no_text_becomes_a_formula(sheet: CouponSheet) -> None:
    names = ["=1+1", "+49 30", "-x", "@SUM(A1)", '=HYPERLINK("x")', "\x1b[31m", "\u202ex", "_", "7", "a" * 500]
    people = Frontier(np.array(names, dtype=object), a_frontier(len(names)).covariates)
    content = plan_coupons(a_fit(), people, order()).excel(Heading("=cmd|' /C calc'!A0 & more", "", None))
    for page in opened(content).worksheets:
        for row in page.iter_rows():
            for cell in row:
                assert cell.data_type != "f", cell.coordinate
    page = opened(content)["Coupons"]
    assert [page.cell(row, 1).value for row in range(4, 9)] == names[:5]
    assert all(page.cell(row, 1).quotePrefix for row in range(4, 9))
    assert page.cell(9, 1).value == "\\x1b[31m"
    assert page.cell(12, 1).data_type == "s"  # an id, not the number 7
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        assert not any(b"<f>" in book.read(name) for name in book.namelist())


def test_the_same_sheet_gives_the_same_bytes(sheet: CouponSheet) -> None:
    assert sheet.excel(HEADING) == sheet.excel(HEADING)
    assert sheet.excel(HEADING) != sheet.excel(dataclasses.replace(HEADING, round=5))


def test_saving(sheet: CouponSheet, tmp_path: Path) -> None:
    path = tmp_path / "sheet.xlsx"
    sheet.save(path, HEADING)
    assert path.read_bytes() == sheet.excel(HEADING)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(OutputExists, match="exists already"):
        sheet.save(path)
    sheet.save(tmp_path / "sheet.csv")
    assert (tmp_path / "sheet.csv").read_text() == sheet.csv()
    with pytest.raises(SettingError, match=r"\.xls;.*Name it sheet\.xlsx"):
        sheet.save(tmp_path / "sheet.xls")


@pytest.mark.parametrize(
    ("heading", "what"),
    [({"date": "2.3.2026"}, "year-month-day"), ({"date": "2026-02-30"}, "year-month-day"), ({"round": 0}, "round"),
     ({"round": 1.5}, "round"), ({"study": "x" * 200}, "200 characters")],
)  # fmt: skip
def test_bad_headings_are_refused(heading, what) -> None:
    with pytest.raises(SettingError, match=what):
        Heading(**heading)


@pytest.mark.parametrize("paper", [9, 1])  # A4, Letter
def test_it_prints_one_page_wide(sheet: CouponSheet, tmp_path: Path, paper: int) -> None:
    office, reader = shutil.which("soffice"), shutil.which("pdftotext")
    if office is None or reader is None:
        pytest.skip("no LibreOffice or no pdftotext is installed here")
    book = opened(sheet.excel(HEADING))
    for page in book.worksheets:
        page.page_setup.paperSize = paper
        if page.title != "Coupons":
            page.sheet_state = "hidden"
    book.save(tmp_path / "sheet.xlsx")
    subprocess.run(
        [office, "--headless", f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}", "--convert-to", "pdf",
         "--outdir", str(tmp_path), str(tmp_path / "sheet.xlsx")],
        check=True, capture_output=True, timeout=180,
    )  # fmt: skip
    text = subprocess.run(
        [reader, "-layout", str(tmp_path / "sheet.pdf"), "-"], check=True, capture_output=True, text=True
    ).stdout
    pages = [page for page in text.split("\f") if page.strip()]
    assert 2 <= len(pages) <= 5
    for number, page in enumerate(pages, start=1):
        for part in ("Harbour study", "2026-03-02", "Round: 4", "Person", "Coupon numbers", "Initials", "Why"):
            assert part in page, (number, part)
        assert f"Page {number} of {len(pages)}" in page
    for person in sheet.table["person"]:
        assert sum(f"{person} " in page for page in pages) == 1, "a row is split over two pages, or cut off"
