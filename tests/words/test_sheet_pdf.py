"""The sheet as PDF: the same bytes each time, everything on the page, and ids that stay what they are."""

import dataclasses

import pytest

from peerfront.foundation.shown import visible
from peerfront.study.coupon_sheet import CouponSheet, Heading
from peerfront.study.planning import plan_coupons
from peerfront.words.sheet_pdf import _ALL_PAGES, _printable
from study.small_advice import a_fit, a_frontier, order

fpdf = pytest.importorskip("fpdf")
HEADING = Heading("Harbour study", "2026-03-02", 4)


@pytest.fixture(scope="module")
def sheet() -> CouponSheet:
    return plan_coupons(a_fit("capacity", "per_coupon"), a_frontier(30), order())


@pytest.fixture
def drawn(monkeypatch):
    """Every cell of text, and the lowest edge of every frame, in the order in which they are drawn."""
    texts, edges = [], []
    cell, rect = fpdf.FPDF.cell, fpdf.FPDF.rect

    def seen_cell(page, w=None, h=None, text="", *rest, **more):
        texts.append(text)
        return cell(page, w, h, text, *rest, **more)

    def seen_rect(page, x, y, w, h, *rest, **more):
        edges.append(y + h)
        return rect(page, x, y, w, h, *rest, **more)

    monkeypatch.setattr(fpdf.FPDF, "cell", seen_cell)
    monkeypatch.setattr(fpdf.FPDF, "rect", seen_rect)
    return texts, edges


def with_people(sheet: CouponSheet, people: dict[int, str], coupons: dict[int, int]) -> CouponSheet:
    table = sheet.table.copy()
    for row, name in people.items():
        table.loc[row, "person"] = name
    for row, number in coupons.items():
        table.loc[row, "coupons"] = number
    return dataclasses.replace(sheet, table=table)


def test_everybody_is_on_it_with_their_number_and_the_bytes_are_the_same(sheet, drawn) -> None:
    first = sheet.pdf(HEADING)
    texts = list(drawn[0])
    assert first.startswith(b"%PDF-")
    assert [text for text in texts if text in set(sheet.table["person"])] == list(sheet.table["person"])
    assert any("2026-03-02" in text and "Round: 4" in text for text in texts)
    assert sheet.pdf(HEADING) == first


def test_an_id_is_never_taken_for_the_number_of_pages(sheet, drawn) -> None:
    with_people(sheet, {0: "{nb}", 1: _ALL_PAGES}, {}).pdf()
    assert "{nb}" in drawn[0], "the usual sign for it"
    assert _ALL_PAGES not in drawn[0]
    assert visible(_ALL_PAGES) != _ALL_PAGES


def test_very_many_coupons_and_a_very_long_id_stay_on_the_page(sheet, drawn) -> None:
    with_people(sheet, {0: "x" * 5_000}, {1: 400}).pdf()
    assert max(drawn[1]) <= 210.0


def test_what_the_font_lacks_is_spelled_out() -> None:
    assert _printable("Zoë 名") == "Zoë \\u540d"
    assert _printable("a\u202eb\nc") == "a\\u202eb c"
