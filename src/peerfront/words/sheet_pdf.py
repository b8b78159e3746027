"""The coupon sheet as a PDF: who gets how many coupons, with room to write, then the facts and reasons behind the plan.

The first pages are for the desk: they say nothing about a person but a sentence that can be said aloud.
The pages are A4 landscape with margins that also fit Letter. The font comes with matplotlib and has most alphabets;
characters that it lacks are spelled out. The same sheet and heading give the same bytes.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import peerfront
from peerfront.foundation.errors import MissingExtra
from peerfront.foundation.messages import note
from peerfront.foundation.shown import LONGEST_LINE, visible
from peerfront.study.coupon_sheet import Heading
from peerfront.words.language import Text, say
from peerfront.words.reason_words import spoken_reason
from peerfront.words.sheet import (
    fact_lines,
    page_columns,
    page_facts,
    page_footer,
    page_title,
    warning_lines,
)

if TYPE_CHECKING:
    from fpdf import FPDF

    from peerfront.study.coupon_sheet import CouponSheet

_WIDTHS = (40.0, 22.0, 82.0, 25.0, 22.0, 68.0)  # of the columns, in millimetres
_MARGIN, _TOP, _BOTTOM = 19.0, 12.0, 15.0
_FONT = "DejaVu"
_FILES = {"": "DejaVuSans.ttf", "B": "DejaVuSans-Bold.ttf"}
_ALL_PAGES = "\x01pages\x01"  # replaced by the number of pages; no id contains it (see `visible`)
_LINE, _SMALL_LINE, _WRITTEN = 5.0, 3.7, 9.5  # millimetres of a printed line, of a small one, and of one to write on
_NUMBERS_IN_A_LINE = 3  # coupon numbers that fit side by side
_PADDING = 1.4
_HIGHEST = 150.0  # millimetres of the highest row (a person with very many coupons): it fits on a page
_LONGEST_NAME = 150  # most characters of an id that are printed: as many as fit into such a row
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_GREY, _LIGHT, _BLACK = (231, 231, 231), (140, 140, 140), (17, 17, 17)


def sheet_pdf(sheet: "CouponSheet", heading: Heading) -> bytes:
    """The sheet to print as the bytes of a PDF file."""
    heading = heading.or_study(sheet.study) if sheet.study else heading
    page = _new_document(sheet, heading)
    _write_people(page, sheet)
    _write_facts(page, sheet)
    return bytes(page.output())


def _new_document(sheet: "CouponSheet", heading: Heading) -> "FPDF":
    """A document with the study, the day and the round at the top of each page, and page numbers at the bottom."""
    try:
        from fpdf import FPDF
    except ImportError:
        raise MissingExtra(note("sheets.pdf"), "live") from None
    title, facts = _printable(str(page_title(heading))), str(page_facts(sheet, heading))

    class _Document(FPDF):
        table_header = True

        def header(self) -> None:
            self.set_font(_FONT, "B", 15)
            self.multi_cell(0, 7.5, title, new_x="LMARGIN", new_y="NEXT")
            self.set_font(_FONT, "", 10)
            self.cell(0, 6.5, facts, new_x="LMARGIN", new_y="NEXT")
            self.ln(1.5)
            if self.table_header:
                _write_header(self)

        def footer(self) -> None:
            self.set_y(-_BOTTOM + 2)
            self.set_font(_FONT, "", 8)
            self.set_text_color(85, 85, 85)
            self.cell(0, 5, str(page_footer()), new_x="LMARGIN", new_y="TOP")
            # Pages are counted at the end: the mark stands for their number, and must not be spelled out.
            page = str(say("Page {number} of {pages}", number=self.page_no(), pages="PAGES"))
            self.cell(0, 5, page.replace("PAGES", _ALL_PAGES), align="R")
            self.set_text_color(*_BLACK)

    document = _Document(orientation="landscape", unit="mm", format="A4")
    document.alias_nb_pages(_ALL_PAGES)
    document.set_creation_date(_EPOCH)
    document.set_title(title)
    document.set_producer(f"peerfront {peerfront.__version__}")
    for style, file in _FILES.items():
        document.add_font(_FONT, style, _fonts() / file)
    document.set_margins(_MARGIN, _TOP, _MARGIN)
    document.set_auto_page_break(False)
    document.set_text_color(*_BLACK)
    document.set_draw_color(*_LIGHT)
    document.set_line_width(0.2)
    document.add_page()
    return document


def _fonts() -> Path:
    import matplotlib

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf"


def _printable(text: str) -> str:
    """Text that can be printed: invisible characters, and those that the font lacks, are spelled out."""
    shown = visible(text, LONGEST_LINE).replace("\n", " ")
    characters = _characters()
    return "".join(sign if ord(sign) in characters else f"\\u{ord(sign):04x}" for sign in shown)


@cache
def _characters() -> set[int]:
    """Code points of the characters that the font has, both regular and bold."""
    from fontTools.ttLib import TTFont

    both = []
    for file in _FILES.values():
        with TTFont(_fonts() / file, lazy=True) as font:
            both.append(set(font.getBestCmap()))
    return set.intersection(*both)


# The people ----------------------------------------------------------------------------------------------------------


def _write_header(page: "FPDF") -> None:
    page.set_font(_FONT, "B", 9.5)
    page.set_fill_color(*_GREY)
    for number, (name, width) in enumerate(zip(page_columns(), _WIDTHS, strict=True)):
        page.cell(width, 7, str(name), border=1, fill=True, align="C" if number == 1 else "L")
    page.ln(7)


def _write_people(page: "FPDF", sheet: "CouponSheet") -> None:
    people = zip(sheet.table["person"], sheet.table["coupons"], sheet.table["reason"], strict=True)
    for person, coupons, reason in people:
        said = str(spoken_reason(reason, last=sheet.rounds_left <= 1))
        _write_person(page, _printable(visible(str(person), _LONGEST_NAME)), int(coupons), _printable(said))


def _write_person(page: "FPDF", person: str, coupons: int, said: str) -> None:
    widths = _WIDTHS
    name = _wrapped(page, person, widths[0], "B", 10.5)
    spoken = _wrapped(page, said, widths[5], "", 8.5)
    by_hand = _WRITTEN * math.ceil(coupons / _NUMBERS_IN_A_LINE)
    height = max(by_hand, len(name) * _LINE, len(spoken) * _SMALL_LINE) + 2 * _PADDING
    height = min(max(height, 7.5), _HIGHEST)
    if page.get_y() + height > page.h - _BOTTOM:
        page.add_page()
    left, top = _MARGIN, page.get_y()
    page.set_fill_color(*_GREY)
    for number, width in enumerate(widths):
        nothing_to_write = 2 <= number <= 4 and not coupons
        page.rect(left, top, width, height, style="DF" if nothing_to_write else "D")
        if number == 0:
            _write_lines(page, name, left, top, height, _LINE, "B", 10.5)
        elif number == 1:
            page.set_font(_FONT, "B" if coupons else "", 14)
            page.set_xy(left, top)
            page.cell(width, height, str(coupons), align="C")
        elif number == 5:
            _write_lines(page, spoken, left, top, height, _SMALL_LINE, "", 8.5)
        left += width
    page.set_xy(_MARGIN, top + height)


def _wrapped(page: "FPDF", text: str, width: float, style: str, size: float) -> list[str]:
    """The lines that a text takes in a column."""
    page.set_font(_FONT, style, size)
    lines: Any = page.multi_cell(width - _PADDING, _LINE, text or " ", dry_run=True, output="LINES", align="L")
    return [str(line) for line in lines] or [""]


def _write_lines(
    page: "FPDF", lines: Sequence[str], left: float, top: float, height: float, line: float, style: str, size: float
) -> None:
    """Write lines in the middle of a cell."""
    page.set_font(_FONT, style, size)
    y = top + (height - line * len(lines)) / 2
    for text in lines:
        page.set_xy(left, y)
        page.cell(0, line, text)
        y += line


# Facts behind it -----------------------------------------------------------------------------------------------------


def _write_facts(page: "FPDF", sheet: "CouponSheet") -> None:
    """Warnings first, then what the plan expects and how good it is, in sentences."""
    page.table_header = False  # type: ignore[attr-defined] # of our own document
    warnings = warning_lines(sheet)
    provenance = say(
        "Model {model}, seed {seed}, peerfront {version}.",
        model=sheet.model_fingerprint[:16] or say("unknown"), seed=sheet.order.seed, version=peerfront.__version__,
    )  # fmt: skip
    page.add_page()
    sections: list[tuple[Text, Sequence[object]]] = [
        (say("Warnings"), warnings),
        (say("What this sheet rests on"), [*fact_lines(sheet), provenance]),
        (say("Why (not for the desk)"), _reasons(sheet)),
    ]
    for title, texts in sections:
        if texts:
            _write_text(page, str(title), "B", 12, 7)
        for text in map(str, texts):
            _write_text(page, text.strip(), "", 9, 4.8, indent=2.5 * (len(text) - len(text.lstrip())))
        page.ln(2)


def _reasons(sheet: "CouponSheet") -> list[Text]:
    """Who gets their number for the same reason, and the reason."""
    people: dict[str, list[str]] = {}
    for person, reason in zip(sheet.table["person"], sheet.table["reason"], strict=True):
        people.setdefault(str(reason), []).append(str(person))
    return [say("{people}: {reason}", people=own, reason=reason) for reason, own in people.items()]


def _write_text(page: "FPDF", text: str, style: str, size: float, line: float, indent: float = 0.0) -> None:
    page.set_font(_FONT, style, size)
    width = page.w - 2 * _MARGIN - indent
    lines: Any = page.multi_cell(width, line, _printable(text) or " ", dry_run=True, output="LINES", align="L")
    for each in lines:
        if page.get_y() + line > page.h - _BOTTOM:
            page.add_page()
            page.set_font(_FONT, style, size)
        page.set_x(_MARGIN + indent)
        page.cell(width, line, str(each), new_x="LMARGIN", new_y="NEXT")
    page.ln(0.8)
