"""Rows that are no people: totals, notes, headers, legends and groups are left out or asked about, people never."""

import io

import openpyxl
import pytest

from data.made_exports import made_study, table_bytes
from peerfront.data.columns.schema_guess import guess_schema
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_frontier, read_study
from peerfront.foundation.errors import DataFileError

HEADER = ["id", "own coupon", "coupon 1", "coupon 2", "coupon 3", "sex", "age", "district", "date"]
ANYWAY = ReadSettings(read_anyway=True)
_NAMES = ("Ana Ruiz", "Luis D.", "Maria", "Juan Pablo Soto", "Eva", "Tom Sung", "Li Wei", "Suma", "Sum Kim", "Rosa M.")
IDS = {
    "codes": lambda n: f"P{n + 1:03d}",
    "numbers": lambda n: str(n + 1),
    "names": lambda n: f"{_NAMES[n % 10]} {'abcdefgh'[n // 10]}",
    "hashes": lambda n: f"{n * 7919 % 65536:04x}-{n * 104729 % 65536:04x}",
}


def people(ids, n_people: int = 60, seed: int = 1):
    """The rows of a study, and everybody's recruiter."""
    made = made_study(seed, n_people)
    called = {person.id: ids(n) for n, person in enumerate(made.people)}
    rows = [[called[p.id], p.own, *p.slots, p.sex, str(p.age), p.district, p.date] for p in made.people]
    return rows, {called[p.id]: called.get(p.recruiter, "") for p in made.people}


def ages(rows) -> str:
    return str(sum(int(row[6]) for row in rows))


def beside(rows, table):
    """Rows with a table to the right of them, after an empty column."""
    table = table + [[""] * len(table[0])] * (len(rows) - len(table))
    return [[*row, "", *other] for row, other in zip(rows, table, strict=True)]


LABELS = ["Number", "Coupon brought", "First", "Second", "Third", "Sex of person", "Age in years", "Where", "Day"]
GROUPED = [["Person", "Coupon received", "Coupons given", "", "", "About", "", "", ""],
           ["", "", "1", "2", "3", "sex", "age", "district", "date"]]  # fmt: skip
WEEKS = [["Week", "Interviews", "Coupons"], ["1", "20", "60"], ["2", "25", "75"], ["3", "15", "45"]]
PRICES = [["item", "price", "unit"], ["coupon", "5", "USD"], ["interview", "10", "USD"], ["bus", "2", "USD"]]
MESS = {
    "total": lambda r: [HEADER, *r, ["Total", "", "", "", "", "", ages(r)]],
    "total alone": lambda r: [HEADER, *r, ["TOTAL:"]],
    "total in German": lambda r: [HEADER, *r, ["Summe", "", "", "", "", "", ages(r)]],
    "total elsewhere": lambda r: [HEADER, *r, ["", "", "", "", "", "Total", ages(r)]],
    "sum without a word": lambda r: [HEADER, *r, ["", "", "", "", "", "", ages(r)]],
    "n": lambda r: [HEADER, *r, [], ["n=60"]],
    "subtotals": lambda r: [HEADER, *r[:30], ["Subtotal", "", "", "", "", "", ages(r[:30])], *r[30:], ["Total"]],
    "total in the middle": lambda r: [HEADER, *r[:30], ["Total", "30", "", "", "", "", ages(r[:30])], *r[30:]],
    "note below": lambda r: [HEADER, *r, ["* coupons from 3 May on are blue"]],
    "note between": lambda r: [HEADER, *r[:20], ["* coupons from 3 May on are blue"], *r[20:]],
    "note elsewhere": lambda r: [HEADER, *r[:20], ["", "", "see paper form of Ana"], *r[20:]],
    "signature": lambda r: [HEADER, *r, [], ["Checked by:", "R. Mora", "", "", "", "", "", "", "in June"]],
    "blank lines": lambda r: [HEADER, *r[:20], [], [], *r[20:40], [""] * 9, *r[40:]],
    "header again": lambda r: [HEADER, *r[:20], HEADER, *r[20:40], HEADER, *r[40:]],
    "pages": lambda r: [HEADER, *r[:20], [], ["Page 2"], HEADER, *r[20:40], [], ["Page 3"], HEADER, *r[40:]],
    "legend": lambda r: [HEADER, *r, [], ["Legend:"], ["f", "woman"], ["m", "man"]],
    "legend of numbers": lambda r: [HEADER, *r, [], ["Legend"], ["1", "yes"], ["2", "no"], ["99", "not known"]],
    "legend of equations": lambda r: [HEADER, *r, [], ["f = woman"], ["m = man"]],
    "groups": lambda r: [HEADER, ["Site: North"], *r[:30], ["Site: South"], *r[30:]],
    "groups that are answers": lambda r: [HEADER, ["North"], *r[:30], ["South"], *r[30:]],
    "units": lambda r: [HEADER, ["", "", "", "", "", "f/m", "years", "", "yyyy-mm-dd"], *r],
    "labels": lambda r: [HEADER, LABELS, *r],
    "labels and marks": lambda r: [HEADER, LABELS, [f'{{"ImportId":"QID{n}"}}' for n in range(9)], *r],
    "two header rows": lambda r: [*GROUPED, *r],
    "groups above a whole header": lambda r: [["Person", "", "Coupons", "", "", "About", "", "", ""], HEADER, *r],
    "groups beside a number": lambda r: [HEADER, ["Site: North", *[""] * 5, "1"], *r[:30], ["Site: South"], *r[30:]],
    "total beside an answer": lambda r: [HEADER, *r[:40], ["Total", *[""] * 5, ages(r[:40]), "North"], *r[40:]],
    "total, then a table": lambda r: [HEADER, *r[:40], ["Total"], *r[40:], [], *WEEKS],
    "title": lambda r: [["Study of 2024, clinic East"], [], HEADER, *r],
    "titles": lambda r: [["Site:", "North"], ["Printed", "3 May"], [], HEADER, *r],
    "table below": lambda r: [HEADER, *r, [], [], *WEEKS],
    "table below with a title": lambda r: [HEADER, *r, [], ["Prices"], *PRICES],
    "table above": lambda r: [["Site", "n"], ["North", "40"], ["South", "20"], [], HEADER, *r],
    "table beside": lambda r: beside([HEADER, *r], [["code", "meaning"], ["f", "woman"], ["m", "man"]]),
    "same names beside": lambda r: beside([HEADER, *r], [["id", "phone"], ["Q1", "77"], ["Q2", "78"]]),
    "empty column": lambda r: [[*row[:2], "", *row[2:]] for row in (HEADER, *r)],
    "few answers": lambda r: [HEADER, *r[:59], r[59][:5]],
}  # fmt: skip


def written(tmp_path, rows, suffix: str):
    path = tmp_path / f"study.{suffix}"
    if suffix == "csv":
        width = max(map(len, rows))
        path.write_bytes(table_bytes([row + [""] * (width - len(row)) if row else [] for row in rows]))
        return path
    book = openpyxl.Workbook()
    for number, row in enumerate(rows, start=1):
        for column, cell in enumerate(row, start=1):
            if cell:
                book.active.cell(number, column, int(cell) if column == 7 and cell.isdigit() else cell)
    buffer = io.BytesIO()
    book.save(buffer)
    path.write_bytes(buffer.getvalue())
    return path


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
@pytest.mark.parametrize("ids", IDS)
def test_only_people_are_people(tmp_path, ids, suffix) -> None:
    rows, recruiters = people(IDS[ids])
    wrong = {}
    for name, mess in MESS.items():
        study = read_study(written(tmp_path, mess([list(row) for row in rows]), suffix))
        found = dict(zip(study.ids, study.recruiter_ids(), strict=True))
        if found != recruiters or study.issued.sum() != sum(bool(code) for row in rows for code in row[2:5]):
            wrong[name] = sorted(set(found) ^ set(recruiters))
        if {"code", "phone", "meaning"} & set(study.people.columns):
            wrong[name] = list(study.people.columns)
    assert wrong == {}


@pytest.mark.parametrize("ids", IDS)
def test_nobody_is_taken_for_something_else(tmp_path, ids) -> None:
    for seed in range(8):
        rows, recruiters = people(IDS[ids], 20 + 5 * seed, seed)
        for row in rows[::7]:
            row[1:] = [row[1], *[""] * 7]  # somebody who answered nothing
        study = read_study(written(tmp_path, [HEADER, *rows], "csv"), ANYWAY)
        assert dict(zip(study.ids, study.recruiter_ids(), strict=True)).keys() == recruiters.keys()
        assert not [p for p in study.problems if p.kind in ("not-a-person", "other-table")]


def test_a_legend_above_a_signature(tmp_path) -> None:
    rows, _ = people(IDS["codes"])
    below = [[], ["f = woman"], ["99", "not known"], [], ["Checked by:", "A. Smith"]]
    study = read_study(written(tmp_path, [HEADER, *rows, *below], "csv"))
    assert len(study) == len(rows)
    assert [p.proposal for p in study.problems if p.kind == "not-a-person"] == [None] * 3


def test_what_was_left_out_is_said_and_what_is_doubtful_is_offered(tmp_path) -> None:
    rows, _ = people(IDS["codes"])
    mess = [HEADER, *rows[:20], ["Maria"], *rows[20:], ["Total", "", "", "", "", "", ages(rows)]]
    study = read_study(written(tmp_path, mess, "csv"))
    doubtful, plain = (p for p in study.problems if p.kind == "not-a-person")
    assert (doubtful.row, plain.row) == (22, 63)
    assert str(plain.message) == f"'Total | {ages(rows)}' is a total and was left out."
    assert plain.message.arguments["what"].code == "row_kinds.total"
    assert plain.proposal is None
    assert "Total" not in study.ids
    assert "Maria" in study.ids  # until somebody accepts the proposal
    assert doubtful.proposal is not None
    assert (doubtful.proposal.row, doubtful.proposal.column, doubtful.proposal.proposed) == (22, "", None)
    assert str(doubtful.message) == "'Maria' may be the name of a group and no person."


def test_a_person_without_an_id_is_an_error_and_no_note(tmp_path) -> None:
    rows, _ = people(IDS["codes"])
    rows[30][0] = ""
    with pytest.raises(DataFileError, match="row 32: The id is empty"):
        read_study(written(tmp_path, [HEADER, *rows], "csv"))


def test_formulas_of_a_total_row_do_not_stop_the_import(tmp_path) -> None:
    rows, recruiters = people(IDS["codes"])
    study = read_study(written(tmp_path, [HEADER, *rows, ["Total", "=COUNTA(B2:B61)"]], "xlsx"))
    assert set(study.ids) == set(recruiters)


def test_two_tables_that_fit_are_asked_about(tmp_path) -> None:
    rows, _ = people(IDS["codes"])
    other, _ = people(IDS["names"], seed=2)
    turned = [[row[5], row[6], row[0], *row[1:5]] for row in other]
    names = ["gender", "years", "person", "coupon received", "coupon A", "coupon B", "coupon C"]
    with pytest.raises(DataFileError, match=r"any of these tables could be meant: .*rows 2 to 61.*rows 64 to 123"):
        read_study(written(tmp_path, [HEADER, *rows, [], names, *turned], "csv"))


def test_tables_that_were_not_read_are_named(tmp_path) -> None:
    rows, _ = people(IDS["codes"])
    study = read_study(written(tmp_path, [HEADER, *rows, [], *PRICES], "csv"))
    (other,) = (p for p in study.problems if p.kind == "other-table")
    assert str(other.message) == "Not read: the table with the columns item, price, unit, rows 64 to 66."


def test_totals_do_not_wait_for_coupons(tmp_path) -> None:
    rows, _ = people(IDS["codes"])
    schema = guess_schema(read_study(written(tmp_path, [HEADER, *rows], "csv"))).schema
    waiting = [["id", "sex", "age", "district"], *([f"Q{n}", "f", "30", "North"] for n in range(8)), ["Total", "8"]]
    assert "Total" not in read_frontier(written(tmp_path, waiting, "csv"), schema).ids
