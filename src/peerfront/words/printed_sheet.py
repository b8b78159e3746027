"""The coupon sheet as an Excel workbook: a sheet to print and fill in, the facts behind it, and every number.

The first worksheet is what a coordinator takes to the field: who gets how many coupons, with room for the numbers of
the coupons, the date and initials, and a sentence that can be said aloud. It says nothing about a person. The others
are not for the desk: the facts behind the plan, all columns of the CSV file with reasons, and other spends.
"""

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from openpyxl import Workbook
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

import peerfront
from peerfront.foundation.shown import visible
from peerfront.foundation.spreadsheets import check_rows, put, set_print, workbook_bytes
from peerfront.study.coupon_sheet import Heading
from peerfront.study.decision_log import NUMBERS
from peerfront.words.language import Text, percent, say
from peerfront.words.messages import text_of
from peerfront.words.outlook_words import band_text, horizon_text
from peerfront.words.reason_words import spoken_reason
from peerfront.words.sheet import (
    fact_lines,
    heading_line,
    page_columns,
    page_facts,
    page_footer,
    page_title,
    warning_lines,
)
from peerfront.words.story_phrases import story_phrase

if TYPE_CHECKING:
    from peerfront.study.coupon_sheet import CouponSheet

_WIDTHS = (22, 10, 52, 13, 12, 40)  # of the columns, in characters; together they fill a landscape page
_PERSON, _COUPONS, _SAID = 1, 2, 6  # positions of columns
_LINE, _WRITTEN = 15.0, 22.0  # points of a printed line, and of one written by hand
_NUMBERS_IN_A_LINE = 3  # coupon numbers that fit side by side
_HEADED_ROWS = 3
_THIN = Side(style="thin", color="FF8C8C8C")
_BOX = Border(left=_THIN, right=_THIN, top=_THIN, bottom=_THIN)
_GREY = PatternFill("solid", fgColor="FFE7E7E7")
_FONT = "Calibri"
_TITLE, _SECTION, _BOLD = (Font(name=_FONT, size=size, bold=True) for size in (16, 12, 11))
_LARGE, _LARGE_BOLD = (Font(name=_FONT, size=14, bold=bold) for bold in (False, True))
_SOFT, _SMALL = Font(name=_FONT, size=11, color="FF555555"), Font(name=_FONT, size=8.5)


def sheet_workbook(sheet: "CouponSheet", heading: Heading) -> bytes:
    """The workbook as the bytes of a file; the same sheet and heading give the same bytes."""
    check_rows(len(sheet.table) + _HEADED_ROWS + 1, str(say("The coupon sheet")))
    heading = heading.or_study(sheet.study) if sheet.study else heading
    book = Workbook()
    first = book.active
    assert isinstance(first, Worksheet)
    first.title = str(say("Coupons"))
    _write_coupons(first, sheet, heading)
    _write_facts(book.create_sheet(str(say("Facts"))), sheet, heading)
    numbers = sheet.table.assign(reason=sheet.table["reason"].map(str))
    rows = numbers.to_numpy(dtype=object).tolist()
    _write_table(book.create_sheet(NUMBERS), list(numbers.columns), rows, str(page_footer()))
    curve = [[int(spend), round(float(value), 4)] for spend, value in sheet.curve[["spend", "value"]].to_numpy()]
    names = [str(say("coupons given out this round")), str(say("recruits expected in all"))]
    _write_table(book.create_sheet(str(say("Other spends"))), names, curve)
    return workbook_bytes(book)


# The sheet to print ------------------------------------------------------------------------------------------------


def _write_coupons(page: Worksheet, sheet: "CouponSheet", heading: Heading) -> None:
    for number, width in enumerate(_WIDTHS, start=1):
        page.column_dimensions[get_column_letter(number)].width = width
    _write_title(page, sheet, heading)
    for number, name in enumerate(page_columns(), start=1):
        cell = put(page, _HEADED_ROWS, number, str(name))
        cell.font, cell.border, cell.fill = _BOLD, _BOX, _GREY
        cell.alignment = Alignment(horizontal="center" if number == _COUPONS else "left", vertical="center")
    page.row_dimensions[_HEADED_ROWS].height = 20
    people = zip(sheet.table["person"], sheet.table["coupons"], sheet.table["reason"], strict=True)
    last = sheet.rounds_left <= 1
    for row, (person, coupons, reason) in enumerate(people, start=_HEADED_ROWS + 1):
        _write_person(page, row, str(person), int(coupons), str(spoken_reason(reason, last=last)))
    page.freeze_panes = f"A{_HEADED_ROWS + 1}"
    set_print(page, repeated=f"1:{_HEADED_ROWS}", landscape=True, footer=str(page_footer()))


def _write_title(page: Worksheet, sheet: "CouponSheet", heading: Heading) -> None:
    """Write the study, the day and the round."""
    last = len(_WIDTHS)
    for row in (1, 2):
        page.merge_cells(start_row=row, end_row=row, start_column=1, end_column=last)
    put(page, 1, 1, str(page_title(heading))).font = _TITLE
    put(page, 2, 1, str(page_facts(sheet, heading))).font = Font(name=_FONT, size=11)
    page.row_dimensions[1].height, page.row_dimensions[2].height = 24, 20
    page["A1"].alignment = page["A2"].alignment = Alignment(vertical="center")


def _write_person(page: Worksheet, row: int, person: str, coupons: int, said: str) -> None:
    for number, value in enumerate((person, coupons, None, None, None, said), start=1):
        cell = put(page, row, number, value)
        cell.border = _BOX
        cell.alignment = Alignment(vertical="center", wrap_text=True)
        if 3 <= number <= 5 and not coupons:
            cell.fill = _GREY  # not to be filled in
    page.cell(row, _PERSON).font = _BOLD
    page.cell(row, _COUPONS).font = _LARGE_BOLD if coupons else _LARGE
    page.cell(row, _COUPONS).alignment = Alignment(horizontal="center", vertical="center")
    page.cell(row, _SAID).font = _SMALL
    by_hand = _WRITTEN * math.ceil(coupons / _NUMBERS_IN_A_LINE) + 6
    name = _LINE * math.ceil(len(visible(person)) / (_WIDTHS[0] - 3)) + 4
    page.row_dimensions[row].height = min(max(by_hand, name, _LINE * _lines(said, 44) + 6, 24.0), 400.0)


# The facts ---------------------------------------------------------------------------------------------------------


def _write_facts(page: Worksheet, sheet: "CouponSheet", heading: Heading) -> None:
    for column, width in zip("ABCD", (46, 16, 16, 22), strict=True):
        page.column_dimensions[column].width = width
    put(page, 1, 1, str(say("What this coupon sheet rests on"))).font = _TITLE
    row = 2
    for title, facts in (
        (say("The sheet"), _headed(heading)),
        (say("What was ordered"), _ordered(sheet)),
        (say("What comes of it, by the model"), _expected(sheet)),
        (say("How it was made"), _provenance(sheet)),
    ):
        row = _section(page, row + 1, title)
        for what, value in facts:
            put(page, row, 1, str(what)).alignment = Alignment(wrap_text=True, vertical="top")
            cell = put(page, row, 2, value if isinstance(value, int) else str(value))
            page.merge_cells(start_row=row, end_row=row, start_column=2, end_column=4)
            cell.alignment = Alignment(wrap_text=True, vertical="top", horizontal="left")
            page.row_dimensions[row].height = _LINE * max(_lines(str(what), 42), _lines(str(value), 48))
            row += 1
    row = _write_stories(page, row, sheet)
    warnings = warning_lines(sheet)
    notes = [each for each in map(text_of, sheet.notes) if each not in warnings]
    row = _write_lines(page, row, say("Warnings"), warnings or [say("None.")], font=_BOLD if warnings else None)
    row = _write_lines(page, row, say("Notes"), notes or [say("None.")])
    rest = [line for line in fact_lines(sheet) if line not in notes]
    _write_lines(page, row, say("In words"), rest)
    set_print(page, repeated="1:1", landscape=False, header=str(heading_line(heading)))


_Fact = tuple[Text, Text | str | int]


def _headed(heading: Heading) -> list[_Fact]:
    open_ = say("not given")
    return [
        (say("study"), heading.study or open_),
        (say("date"), heading.date or open_),
        (say("round"), heading.round if heading.round is not None else open_),
    ]


def _ordered(sheet: "CouponSheet") -> list[_Fact]:
    order = sheet.order

    def limit(value: int | None) -> Text | int:
        return say("as the model was fitted for") if value is None else value

    facts: list[_Fact] = [
        (say("coupons left before this round (budget)"), order.budget),
        (say("of these kept in reserve"), order.reserve),
        (say("rounds left, this one included"), sheet.rounds_left),
        (say("most coupons for one person"), limit(order.max_per_person)),
        (say("fewest coupons for one person"), order.min_per_person),
        (say("most coupons in one round"), limit(order.round_cap)),
        (say("what a coupon is believed to do"), order.response),
    ]
    facts += [(say("floor for a group"), floor) for floor in order.at_least]
    if order.strata:
        facts.append((say("coupons differ only between strata of"), " + ".join(order.strata)))
    if order.randomise:
        facts.append((say("least chance of each number, for everybody"), percent(order.randomise)))
    return facts


def _expected(sheet: "CouponSheet") -> list[_Fact]:
    getting = int((sheet.table["coupons"] > 0).sum())
    facts: list[_Fact] = [
        (say("people waiting"), len(sheet.table)),
        (say("people who get coupons"), getting),
        (say("coupons given out this round"), sheet.spend),
        (say("coupons kept for later rounds"), sheet.order.available - sheet.spend),
        (say("recruits expected from this round"), f"{float(sheet.table['expected_now'].sum()):.1f}"),
        *_ahead(sheet),
    ]
    if sheet.share_of_best is not None:
        share = say("at least {share}", share=percent(sheet.share_of_best))
        facts.append((say("of what the best plan could bring, by the model"), share))
    return facts


def _ahead(sheet: "CouponSheet") -> list[_Fact]:
    if sheet.outlook is None:
        return [(say("recruits expected in all"), f"{sheet.promised:.1f}")]
    plan = sheet.outlook.of_plan
    what = say("more people {until}, on average (8 of 10 simulated studies)", until=horizon_text(sheet.outlook))
    return [(what, f"{plan['recruits']:.0f} ({band_text(plan['p10'], plan['p90'])})")]


def _provenance(sheet: "CouponSheet") -> list[_Fact]:
    return [
        (say("seed of lots and random numbers"), sheet.order.seed),
        (say("worth of a recruit one round later"), f"{sheet.discount:g}"),
        (say("fingerprint of the model (sha256 in its manifest.json)"), sheet.model_fingerprint or say("unknown")),
        (say("made by"), f"peerfront {peerfront.__version__}"),
    ]


def _write_stories(page: Worksheet, row: int, sheet: "CouponSheet") -> int:
    """Write the results by part of the belief as a table; nothing without an outlook."""
    if sheet.outlook is None:
        return row
    row = _section(page, row + 1, say("More people in all, by what a coupon does"))
    names = (say("if ..."), say("weight"), say("people"), say("8 of 10"))
    for number, name in enumerate(names, start=1):
        cell = put(page, row, number, str(name))
        cell.font, cell.alignment = _SOFT, Alignment(wrap_text=True, horizontal="left" if number == 1 else "right")
    for each in sheet.outlook.parts_of().to_dict("records"):
        row += 1
        story = str(story_phrase(each["part"]))
        cells = (story, str(percent(each["weight"])), f"{each['recruits']:.0f}", band_text(each["p10"], each["p90"]))
        for number, value in enumerate(cells, start=1):
            cell = put(page, row, number, value)
            cell.alignment = Alignment(wrap_text=True, vertical="top", horizontal="left" if number == 1 else "right")
        page.row_dimensions[row].height = _LINE * _lines(story, 42)
    return row + 1


def _write_lines(page: Worksheet, row: int, title: Text, lines: Sequence[object], font: Font | None = None) -> int:
    row = _section(page, row + 1, title)
    for line in map(str, lines):
        page.merge_cells(start_row=row, end_row=row, start_column=1, end_column=4)
        indented = len(line) - len(line.lstrip())
        cell = put(page, row, 1, line.strip())
        cell.alignment = Alignment(wrap_text=True, vertical="top", indent=min(indented, 4))
        if font is not None:
            cell.font = font
        page.row_dimensions[row].height = _LINE * _lines(line, 92)
        row += 1
    return row


def _section(page: Worksheet, row: int, title: Text) -> int:
    cell = put(page, row, 1, str(title))
    cell.font = _SECTION
    for number in range(1, 5):
        page.cell(row, number).border = Border(bottom=_THIN)
    page.row_dimensions[row].height = 20
    return row + 1


def _lines(text: str, characters: int) -> int:
    """How many lines a text takes in a column of this width."""
    return max(1, len(textwrap.wrap(visible(text, 1000), characters)))


# Every number ------------------------------------------------------------------------------------------------------


def _write_table(page: Worksheet, names: Sequence[str], rows: Sequence[Sequence[object]], footer: str = "") -> None:
    """Write a plain table with a header, for formulas and filters."""
    for number, name in enumerate(names, start=1):
        put(page, 1, number, name).font = _BOLD
        page.column_dimensions[get_column_letter(number)].width = max(14, len(name) + 2)
    for row, values in enumerate(rows, start=2):
        for number, value in enumerate(values, start=1):
            put(page, row, number, value if isinstance(value, int | float) else str(value))
    page.freeze_panes = "A2"
    set_print(page, repeated="1:1", landscape=False, footer=footer)
