"""Files that unpack to far more than they hold, or that say they do; and what looks like a file of R or Excel."""

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping

import openpyxl

from hostile.making import TABLE
from hostile.options import STUDY, WAITING
from hostile.runner import EITHER, REFUSED, Case

# Workbooks ---------------------------------------------------------------------------------------------------------

_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
    '<Override PartName="/xl/sharedStrings.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>'
)
_RELS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_ROOT = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_RELS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
)
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_BOOK = (
    f'<?xml version="1.0"?><workbook {_MAIN} xmlns:r="{_RELS}"><sheets><sheet name="Study" sheetId="1" r:id="rId1"/>'
    "</sheets></workbook>"
)
_BOOK_RELS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_RELS}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_RELS}/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
)


def workbook(sheet: bytes | str, strings: bytes | str = "", **parts: bytes | str) -> bytes:
    """A workbook with this sheet, written part by part."""
    content = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _ROOT,
        "xl/workbook.xml": _BOOK,
        "xl/_rels/workbook.xml.rels": _BOOK_RELS,
        "xl/worksheets/sheet1.xml": sheet,
        "xl/sharedStrings.xml": strings or f"<sst {_MAIN}></sst>",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (content | {name.replace("__", "/"): text for name, text in parts.items()}).items():
            archive.writestr(name, text)
    return buffer.getvalue()


def _sheet(rows: str) -> str:
    return f'<?xml version="1.0"?><worksheet {_MAIN}><sheetData>{rows}</sheetData></worksheet>'


def _cells(columns: int, rows: int) -> str:
    row = "<row>" + "<c><v>1</v></c>" * columns + "</row>"
    return _sheet(row * rows)


def _made_workbook() -> bytes:
    book = openpyxl.Workbook()
    for line in TABLE.splitlines():
        book.active.append(line.split(","))  # type: ignore[union-attr]
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _without(part: str) -> bytes:
    """A good workbook that lacks one of its parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_made_workbook())) as whole, zipfile.ZipFile(buffer, "w") as made:
        for name in whole.namelist():
            if part not in name:
                made.writestr(name, whole.read(name))
    return buffer.getvalue()


def _with(part: str, content: bytes) -> bytes:
    """A good workbook, one of whose parts holds something else."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_made_workbook())) as whole, zipfile.ZipFile(buffer, "w") as made:
        for name in whole.namelist():
            made.writestr(name, content if part in name else whole.read(name))
    return buffer.getvalue()


_LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "'
    + "ha" * 50
    + '">'
    + "".join(f'<!ENTITY {name} "{f"&{before};" * 20}">' for before, name in zip("abcdefg", "bcdefgh", strict=True))
)
WORKBOOKS: Mapping[str, Callable[[], bytes]] = {
    "16 million cells": lambda: workbook(_cells(4_000, 4_000)),
    "a million rows": lambda: workbook(_cells(16, 1_000_000)),
    "a cell far away": lambda: workbook(_sheet('<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')),
    "a row that does not exist": lambda: workbook(_sheet('<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>')),
    "row 0": lambda: workbook(_sheet('<row r="0"><c r="A0"><v>1</v></c></row>')),
    "row -1": lambda: workbook(_sheet('<row r="-1"><c r="A-1"><v>1</v></c></row>')),
    "row nan": lambda: workbook(_sheet('<row r="nan"><c r="??"><v>nan</v></c></row>')),
    "column ZZZZZZ": lambda: workbook(_sheet('<row r="1"><c r="ZZZZZZ1"><v>1</v></c></row>')),
    "a string that is not there": lambda: workbook(_sheet('<row r="1"><c r="A1" t="s"><v>7</v></c></row>')),
    "string -1": lambda: workbook(_sheet('<row r="1"><c r="A1" t="s"><v>-1</v></c></row>')),
    "string 1e308": lambda: workbook(_sheet('<row r="1"><c r="A1" t="s"><v>1e308</v></c></row>')),
    "a style that is not there": lambda: workbook(_sheet('<row r="1"><c r="A1" s="999"><v>1</v></c></row>')),
    "an unknown type": lambda: workbook(_sheet('<row r="1"><c r="A1" t="zzz"><v>1</v></c></row>')),
    "a date of 1e308": lambda: workbook(_sheet('<row r="1"><c r="A1" t="d"><v>1e308</v></c></row>')),
    "a truth of 7": lambda: workbook(_sheet('<row r="1"><c r="A1" t="b"><v>7</v></c></row>')),
    "a number that is none": lambda: workbook(_sheet('<row r="1"><c r="A1" t="n"><v>x</v></c></row>')),
    "merged over all": lambda: workbook(
        f'<worksheet {_MAIN}><sheetData><row><c><v>1</v></c></row></sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells></worksheet>'
    ),
    "merged nowhere": lambda: workbook(f'<worksheet {_MAIN}><sheetData/><mergeCells><mergeCell ref="x"/></mergeCells></worksheet>'),
    "a dimension that lies": lambda: workbook(f'<worksheet {_MAIN}><dimension ref="A1:XFD1048576"/><sheetData/></worksheet>'),
    "ten million strings": lambda: workbook(_cells(2, 2), f"<sst {_MAIN}>" + "<si><t>x</t></si>" * 10_000_000 + "</sst>"),
    "a string of 300 million": lambda: workbook(_cells(2, 2), f"<sst {_MAIN}><si><t>" + "x" * 300_000_000 + "</t></si></sst>"),
    "a laugh": lambda: workbook(f"{_LAUGHS}]>" + _cells(1, 1).partition("?>")[2].replace("<v>1", "<v>&h;")),
    "an external entity": lambda: workbook('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>' + _sheet("<row><c><v>&a;</v></c></row>").partition("?>")[2]),
    "deep": lambda: workbook("<a>" * 100_000),
    "XML that ends": lambda: workbook(_cells(3, 3)[:200]),
    "no XML": lambda: workbook(b"\x00\xff" * 100),
    "UTF-7": lambda: workbook(b'<?xml version="1.0" encoding="utf-7"?><worksheet/>'),
    "no sheets": lambda: workbook(_cells(1, 1), **{"xl__workbook.xml": f"<workbook {_MAIN}><sheets/></workbook>"}),
    "no workbook": lambda: _without("workbook.xml"),
    "no sheet": lambda: _without("sheet1"),
    "no types": lambda: _without("Content_Types"),
    "no styles": lambda: _without("styles"),
    "broken styles": lambda: _with("styles", b"<x"),
    "broken strings": lambda: _with("sharedStrings", b"\x00"),
    "broken workbook": lambda: _with("workbook.xml", b"<workbook>"),
    "half a file": lambda: _made_workbook()[:2_000],
    "its end only": lambda: _made_workbook()[-500:],
    "a byte changed": lambda: _made_workbook()[:900] + b"\xff\xff\xff" + _made_workbook()[903:],
    "a zip of nothing": lambda: b"PK\x05\x06" + b"\0" * 18,
    "a zip in a zip": lambda: workbook(_made_workbook()),
    "sizes that lie": lambda: _made_workbook().replace(b"PK\x01\x02", b"PK\x01\x02"[:2] + b"\x01\x02", 1)[:-1],
    "an old workbook": lambda: bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 2_000,
    "macros": lambda: workbook(_cells(1, 1), **{"xl__vbaProject.bin": b"\0" * 100}),
    "a document": lambda: _zip({"word/document.xml": b"<x/>", "[Content_Types].xml": _TYPES.encode()}),
    "an OpenDocument": lambda: _zip({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": b"<x/>"}),
    "10,000 members": lambda: _zip({f"xl/{n}.xml": b"<x/>" for n in range(10_000)}),
    "a member called ..": lambda: _zip({"../../x": b"x", "[Content_Types].xml": _TYPES.encode()}),
}  # fmt: skip


def _zip(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


# Files of R --------------------------------------------------------------------------------------------------------

_HEAD = b"X\n" + struct.pack(">iii", 3, 0x040000, 0x020300)


def _i(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}i", *numbers)


def _compact(length: float) -> bytes:
    """A compact sequence of integers (ALTREP) that says how long it is."""
    symbol = _i(1, 0x00040009, 14) + b"compact_intseq"
    package = _i(1, 0x00040009, 4) + b"base"
    info = _i(2) + symbol + _i(2) + package + _i(2) + _i(13, 1, 13) + _i(254)
    return _i(238) + info + _i(14, 3) + struct.pack(">ddd", length, 1.0, 1.0) + _i(254)


R_FILES: Mapping[str, Callable[[], bytes]] = {
    "a header": lambda: _HEAD,
    "RDX3 alone": lambda: b"RDX3\n",
    "RDX3, gzipped": lambda: gzip.compress(b"RDX3\n"),
    "RDX3, bzip2": lambda: bz2.compress(b"RDX3\n" + _HEAD),
    "RDX3, xz": lambda: lzma.compress(b"RDX3\n" + _HEAD),
    "RDX2, ASCII": lambda: b"RDA2\nA\n2\n262144\n131840\n1026\n1\n",
    "a vector of two billion": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(13, 2**31 - 1)),
    "a vector of -5": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(13, -5)),
    "a long vector": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(13, -1, 2**30, 0)),
    "text of -7": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(16, 1, 9, -7)),
    "an unknown type": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(99)),
    "a reference to nothing": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(0x7FFFFF00 | 255)),
    "a list of lists": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(19, 1) * 20_000),
    "a pair list without end": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(0x402, 1, 0x40009, 1) + b"x"),
    "attributes of attributes": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(0x202) * 20_000),
    "a compact vector of two billion": lambda: gzip.compress(_HEAD + _i(5) + b"UTF-8" + _compact(2e9)),
    "a compact vector of 1e300": lambda: gzip.compress(_HEAD + _i(5) + b"UTF-8" + _compact(1e300)),
    "a compact vector of nan": lambda: gzip.compress(_HEAD + _i(5) + b"UTF-8" + _compact(float("nan"))),
    "a compact vector of -1": lambda: gzip.compress(_HEAD + _i(5) + b"UTF-8" + _compact(-1.0)),
    "a gigabyte of zeros": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(13, 2**28) + bytes(2**26), 9),
    "gzip that ends": lambda: gzip.compress(b"RDX3\n" + _HEAD * 500)[:60],
    "gzip with a wrong sum": lambda: gzip.compress(b"RDX3\n" + _HEAD)[:-8] + b"\0" * 8,
    "gzip of text": lambda: gzip.compress(TABLE.encode()),
    "zlib": lambda: zlib.compress(b"RDX3\n" + _HEAD),
    "version 99": lambda: gzip.compress(b"RDX3\nX\n" + _i(99, 0, 0)),
    "an encoding of two billion": lambda: gzip.compress(b"RDX3\n" + _HEAD + _i(2**31 - 1)),
    "random": lambda: gzip.compress(b"RDX3\n" + bytes((n * 7919 + n * n) % 256 for n in range(4_000))),
}  # fmt: skip


def _must(name: str) -> str:
    """Files of a size that must be refused; the others may be read, if there is something in them."""
    return REFUSED if name in ("16 million cells", "a million rows", "a laugh", "ten million strings") else EITHER


def cases() -> Iterator[Case]:
    for suffix, made in (("study.xlsx", WORKBOOKS), ("study.RData", R_FILES)):
        for name, content in made.items():
            files = {suffix: lambda path, content=content: path.write_bytes(content())}
            kind = "workbook" if suffix.endswith("xlsx") else "file of R"
            yield Case(kind, f"check {name}", ("check", suffix), _must(name), "", files)
            if _must(name) == EITHER and "million" not in name:
                plan = ("plan", "{model}", suffix, "--budget=5")
                yield Case(kind, f"plan {name}", plan, EITHER, "", files)
                estimate = ("estimate", suffix, "--outcome=sex")
                yield Case(kind, f"estimate {name}", estimate, EITHER, "", {**files, "people": WAITING, "study": STUDY})
