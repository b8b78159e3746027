"""Codes and names as people type them: ranges, several in a cell, signs, near matches and what is offered."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from data.made_exports import MadeStudy, made_study
from peerfront.data.problems import FaultyStudy, Problem
from peerfront.data.read.code_cells import MOST_IN_RANGE, range_of
from peerfront.data.read.near_codes import folded, near_codes, near_names, same_codes
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.study import Study

# Ranges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["101-103", "101 - 103", "101\u2013103", "101\u2014103", "101~103", "101..103", "101\u2026103", "101 to 103",
     "101 a 103", "101 à 103", "101 bis 103", "del 101 al 103", "101 hasta 103", "101 até 103", "101 hadi 103",
     "from 101 to 103", "101-3", "\u0661\u0660\u0661-\u0661\u0660\u0663", "\uff11\uff10\uff11-\uff11\uff10\uff13"],
)  # fmt: skip
def test_ranges_as_people_write_them(text) -> None:
    assert range_of(text).codes == ("101", "102", "103")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("C12A-C", ("C12A", "C12B", "C12C")),
        ("C12A-C12C", ("C12A", "C12B", "C12C")),
        ("A1-A3", ("A1", "A2", "A3")),
        ("C101-3", ("C101", "C102", "C103")),
        ("S-101-103", ("S-101", "S-102", "S-103")),
        ("001-003", ("001", "002", "003")),
        ("98-101", ("98", "99", "100", "101")),
        ("139-1", ("139", "140", "141")),
        ("17-1 to 17-3", ("17-1", "17-2", "17-3")),
    ],
)
def test_ranges_of_other_codes(text, codes) -> None:
    assert range_of(text).codes == codes


@pytest.mark.parametrize("text", ["101", "AB-17", "C12A", "", "x" * 10_000, "101-101", "a-b-c-d", "C1-D3"])
def test_what_is_no_range(text) -> None:
    assert range_of(text) is None


@given(
    st.sampled_from(["", "C", "S-", "12/"]),
    st.integers(0, 10**6),
    st.integers(2, MOST_IN_RANGE),
    st.integers(1, 8),
    st.sampled_from(["-", " to ", "..", "\u2013"]),
)
def test_a_range_written_out_and_written_again_is_the_same(stem, first, size, width, to) -> None:
    codes = tuple(f"{stem}{number:0{width}d}" for number in range(first, first + size))
    read = range_of(f"{codes[0]}{to}{codes[-1]}")
    assert (read.codes, read.size, read.turned) == (codes, size, None)


def test_ranges_that_are_endless_or_backwards_are_not_written_out() -> None:
    assert range_of("1-1000000").codes == ()
    assert range_of("1-1000000").size == 1_000_000
    assert range_of("103-101").turned == "101-103"


# In a study -------------------------------------------------------------------------------------------------------


def numbered(first: int = 101, code=str, people: int = 60) -> MadeStudy:
    """A made study whose coupons are numbered in the order of issue."""
    made, numbers = made_study(3, people), itertools.count(first)
    new = {old: code(next(numbers)) for person in made.people for old in person.coupons}
    for person in made.people:
        person.coupons, person.own = [new[old] for old in person.coupons], new.get(person.own, "")
    return made


def table_of(made: MadeStudy, **columns: list[str]) -> pd.DataFrame:
    own = columns.pop("own", [person.own for person in made.people])
    people = {"id": [person.id for person in made.people], "own_coupon": own}
    return pd.DataFrame({**people, "date": [person.date for person in made.people], **columns})


def is_right(study: Study, made: MadeStudy) -> bool:
    read = zip(study.ids, study.recruiter_ids(), study.issued.tolist(), strict=True)
    return {who: (by, n) for who, by, n in read} == {p.id: (p.recruiter, len(p.coupons)) for p in made.people}


def problems_of(table: pd.DataFrame, **settings) -> tuple[Problem, ...]:
    try:
        return read_study(table, ReadSettings(**settings)).problems
    except FaultyStudy as stopped:
        return stopped.problems


WAYS = {
    "range": lambda codes: f"{codes[0]}-{codes[-1]}",
    "words": lambda codes: f"{codes[0]} to {codes[-1]}",
    "dash": lambda codes: f"{codes[0]} \u2013 {codes[-1]}",
    "commas": ", ".join,
    "and": lambda codes: " & ".join([", ".join(codes[:-1]), codes[-1]]),
    "slashes": "/".join,
    "short": lambda codes: "/".join([codes[0], *(c[-1] if c[:-1] == codes[0][:-1] else c for c in codes[1:])]),
    "blanks": " ".join,
    "colours": lambda codes: ", ".join(f"{code} (blue)" for code in codes),
    "signs": lambda codes: "; ".join(f"#{code}" for code in codes),
    "names": lambda codes: "; ".join(f"No. {code}" for code in codes),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_several_coupons_in_a_cell(way) -> None:
    made = numbered()
    mixed = [WAYS[way](p.coupons) if n % 4 else ", ".join(p.coupons) for n, p in enumerate(made.people)]
    for cells in ([WAYS[way](p.coupons) for p in made.people], mixed):
        study = read_study(table_of(made, coupons_out=cells))
        assert is_right(study, made)
        assert [step.code for step in study.steps][:1] == ["steps.codes_apart"]
        assert study.steps[0].arguments["n"] == len(made.people)
        assert study.problems == ()


def test_a_list_among_ranges_is_cut_though_nobody_came_with_its_codes() -> None:
    table = pd.DataFrame(
        {
            "id": ["1", "2", "3", "4", "5"],
            "own coupon": ["", "101", "103", "104", "105"],
            "coupons given": ["101-103", "104-106", "107, 108, 109", "110/111", ""],
        }
    )
    study = read_study(table)
    assert study.issued.tolist() == [3, 3, 3, 2, 0]
    assert study.recruiter.tolist() == [-1, 0, 0, 1, 1]


def test_a_range_in_one_of_several_columns_is_read_again_from_the_schema() -> None:
    made = numbered()
    columns = {
        "coupon_1": [f"{p.coupons[0]}-{p.coupons[-1]}" if n % 3 else p.coupons[0] for n, p in enumerate(made.people)],
        "coupon_2": ["" if n % 3 else p.slots[1] for n, p in enumerate(made.people)],
        "coupon_3": ["" if n % 3 else p.slots[2] for n, p in enumerate(made.people)],
    }
    study = read_study(table_of(made, **columns))
    assert is_right(study, made)
    assert is_right(read_study(table_of(made, **columns), ReadSettings(columns=study.columns)), made)


def test_first_and_last_coupon_in_two_columns() -> None:
    made = numbered()
    ends = {"First coupon": [p.coupons[0] for p in made.people], "Last coupon": [p.coupons[-1] for p in made.people]}
    study = read_study(table_of(made, **ends))
    assert is_right(study, made)
    assert [step.code for step in study.steps] == ["steps.first_and_last", "steps.codes_apart"]


def test_codes_that_look_like_ranges_and_are_none_stay_as_they_are() -> None:
    made = numbered()
    for number, person in enumerate(made.people):
        new = {code: f"{number + 1}-{slot + 1}" for slot, code in enumerate(person.coupons)}
        for other in made.people:
            other.own = new.get(other.own, other.own)
        person.coupons = list(new.values())
    columns = {f"coupon_{slot + 1}": [p.slots[slot] for p in made.people] for slot in range(3)}
    study = read_study(table_of(made, **columns))
    assert is_right(study, made)
    assert study.steps == ()
    assert is_right(read_study(table_of(made, coupons_out=[", ".join(p.coupons) for p in made.people])), made)
    only = table_of(made, **columns).head(5)  # nobody came with a coupon yet
    assert read_study(only, ReadSettings(format="coupons")).issued.tolist() == [len(p.coupons) for p in made.people[:5]]


def test_ranges_of_a_study_that_begins_and_of_one_without_own_coupons() -> None:
    made = numbered()
    cells = [f"{p.coupons[0]}-{p.coupons[-1]}" for p in made.people]
    counts = [len(p.coupons) for p in made.people]
    begun = read_study(table_of(made, coupons_out=cells).head(5), ReadSettings(format="coupons"))
    assert begun.issued.tolist() == counts[:5]
    by_id = pd.DataFrame({"id": [p.id for p in made.people], "recruiter": [p.recruiter for p in made.people]})
    assert read_study(by_id.assign(coupons_out=cells)).issued.tolist() == counts


def test_ranges_that_cannot_be_right_are_errors_with_their_rows() -> None:
    made = numbered()
    cells = [f"{p.coupons[0]}-{p.coupons[-1]}" for p in made.people]
    cells[10] = "-".join(reversed(cells[10].split("-")))
    cells[20], cells[31] = "1-1000000", cells[30]
    faults = [p for p in problems_of(table_of(made, coupons_out=cells)) if p.kind == "bad-range"]
    assert [(p.row, p.message.code.rpartition("_")[2]) for p in faults] == [
        (12, "backwards"),
        (22, "long"),
        (33, "overlaps"),
    ]
    offer = faults[0].proposal
    assert (offer.row, offer.column, offer.found) == (12, "coupons_out", cells[10])
    assert offer.proposed == "-".join([made.people[10].coupons[0], made.people[10].coupons[-1]])
    assert [p.proposal for p in faults[1:]] == [None, None]


def test_remarks_in_a_column_of_counts() -> None:
    table = pd.DataFrame({"id": list("abcd"), "recruiter": ["", "a", "a", "b"]})
    counts = ["3 (blue)", "\uff12", "3 coupons", "1"]
    assert read_study(table.assign(coupons_issued=counts)).issued.tolist() == [3, 2, 3, 1]
    for unclear in ("3 or 4", "3 (2 lost)", "blue"):
        assert "bad-count" in [p.kind for p in problems_of(table.assign(coupons_issued=[unclear, "2", "3", "1"]))]


# Signs ------------------------------------------------------------------------------------------------------------

CODES = numbered(1010, "C0{}".format)
TABLE = table_of(CODES, coupons_out=[", ".join(p.coupons) for p in CODES.people])
LATE = 30  # somebody in the middle, whose recruiter is known


def typed(change) -> tuple[pd.DataFrame, str]:
    """The study with one code typed otherwise, and the code."""
    code = TABLE.loc[LATE, "own_coupon"]
    table = TABLE.copy()
    table.loc[LATE, "own_coupon"] = change(code)
    assert table.loc[LATE, "own_coupon"] != code
    return table, code


ARABIC, EASTERN, DEVANAGARI, WIDE = (
    str.maketrans("0123456789", "".join(chr(zero + n) for n in range(10))) for zero in (0x660, 0x6F0, 0x966, 0xFF10)
)


@pytest.mark.parametrize(
    "change",
    [
        str.lower,
        lambda code: f"{code[:2]} {code[2:]}",
        lambda code: f"{code[:2]}\u00a0{code[2:]}",
        lambda code: f"\u200b{code[:2]}\u200d{code[2:]}",
        lambda code: code.translate(ARABIC),
        lambda code: code.translate(EASTERN),
        lambda code: code.translate(DEVANAGARI),
        lambda code: code.translate(WIDE).replace("C", "\uff23"),
        lambda code: f"coupon {code}",
        lambda code: f"# {code}",
        lambda code: f"No. {code}",
        lambda code: f"{code} (blue)",
    ],
)
def test_signs_that_nobody_means_are_read_at_once(change) -> None:
    table, _ = typed(change)
    study = read_study(table)
    assert is_right(study, CODES)
    assert study.problems == ()
    assert [step.code for step in study.steps] == ["steps.codes_apart", "steps.written_alike"]


def test_zeros_that_a_program_took_from_a_whole_column() -> None:
    made = numbered(101, "0{}".format)
    lost = [p.own.lstrip("0") for p in made.people]
    assert is_right(read_study(table_of(made, own=lost, coupons_out=[", ".join(p.coupons) for p in made.people])), made)
    decimals = [f"{code}.0" if code else "" for code in lost]
    whole = [", ".join(code.lstrip("0") for code in p.coupons) for p in made.people]
    assert is_right(read_study(table_of(made, own=decimals, coupons_out=whole)), made)


@pytest.mark.parametrize(
    "change",
    [
        lambda code: code.replace("0", "O", 1),
        lambda code: code.replace("1", "l"),
        lambda code: code.replace("C", "\u0421"),
        lambda code: code.replace("0", "", 1),
        lambda code: f"{code[:2]}-{code[2:]}",
        lambda code: f"{code}x",
    ],
)
def test_guesses_are_offered_and_not_made(change) -> None:
    table, code = typed(change)
    study = read_study(table)
    fault = next(p for p in study.problems if p.kind == "not-issued")
    assert study.recruiter_ids()[LATE] == ""
    offer = fault.proposal
    assert (offer.row, offer.column, offer.found) == (LATE + 2, "own_coupon", table.loc[LATE, "own_coupon"])
    assert offer.proposed == code
    assert offer.why.arguments["person"] == CODES.people[LATE].recruiter
    table.loc[LATE, "own_coupon"] = offer.proposed
    assert is_right(read_study(table), CODES)


HEAD = {"id": list("abcdef"), "date": [f"2024-05-{day:02d}" for day in range(1, 7)]}


@pytest.mark.parametrize(
    ("own", "coupons", "code"),
    [
        (["", "X101", "X1O2", "", "", ""], ["X101 X102", "X201", "", "", "", ""], "but_near"),
        (["", "X101", "X103", "", "", ""], ["X101 X113", "X133", "", "", "", ""], "but_several"),
        (["", "X101", "X1O1", "", "", ""], ["X101 Y102", "Y201", "", "", "", ""], "but_used"),
        (["", "X101", "X2O1", "X1O1", "", ""], ["X101 Y102", "Y201", "X201", "", "", ""], "but_several"),  # their own
        (["", "X1O1", "X2O1", "", "", ""], ["X301", "", "X101", "X201", "", ""], "but_several"),  # came later
        (["", "X1O1", "X101.1", "", "", ""], ["X101", "", "", "", "", ""], "but_several"),  # two want the same
    ],
)
def test_what_is_not_certain_is_named_and_not_offered(own, coupons, code) -> None:
    cells = pd.DataFrame([[*text.split(), "", ""][:2] for text in coupons], columns=["coupon_1", "coupon_2"])
    table = pd.concat([pd.DataFrame({**HEAD, "own_coupon": own}), cells], axis=1)
    fault = [p for p in problems_of(table) if p.kind == "not-issued"][-1 if code == "but_used" else 0]
    assert fault.message.code == f"problems.not_issued_{code}"
    assert (fault.proposal is None) == (code != "but_near")


codes = st.text("C0O1lI2 .-\u0421\u200b", min_size=1, max_size=5).map(str.strip).filter(bool)


@given(st.lists(codes, min_size=1, max_size=8, unique=True), st.lists(codes, max_size=8))
def test_codes_that_are_read_as_the_same_never_make_two_of_those_known_one(known, wanted) -> None:
    same = same_codes(wanted, known)
    assert not set(same) & set(known)
    for written, code in same.items():
        assert code in known
        assert sum(folded(other) == folded(written) for other in known) <= 1


@given(st.integers(0, 10**9))
def test_all_that_is_offered_can_be_accepted_together(number) -> None:
    luck = np.random.default_rng(number)
    made = numbered(1010, "C{}".format, people=25)
    own = []
    for person in made.people:
        code = list(person.own)
        for _ in range(int(luck.integers(0, 3)) if code else 0):
            code[int(luck.integers(len(code)))] = str(luck.choice(list("CO01l2345")))
        own.append("".join(code))
    table = table_of(made, own=own, coupons_out=[", ".join(p.coupons) for p in made.people])
    before = problems_of(table, read_anyway=True)
    offers = [p.proposal for p in before if p.proposal is not None]
    assume(offers)
    for offer in offers:
        assert table.loc[offer.row - 2, offer.column] == offer.found
        table.loc[offer.row - 2, offer.column] = offer.proposed
    after = problems_of(table, read_anyway=True)
    for kind in ("cycle", "self-recruited", "redeemed-twice", "ambiguous-coupon", "before-recruiter"):
        assert sum(p.kind == kind for p in after) <= sum(p.kind == kind for p in before)


# Recruiters -------------------------------------------------------------------------------------------------------

NAMES = ["Luis D\u00edaz", "Ana P\u00e9rez", "Mar\u00eda Ruiz", "Luis Mu\u00f1oz", "Jos\u00e9 Mora", "Marta L\u00f3pez"]


def named(recruiter: str, ids: list[str] = NAMES) -> pd.DataFrame:
    recruiters = ["", ids[0], ids[0], ids[1], recruiter, ids[2]]
    return pd.DataFrame({"id": ids, "recruiter": recruiters, "coupons_issued": ["3"] * 6})


@pytest.mark.parametrize("recruiter", ["luis diaz", "LUIS D\u00cdAZ", "Luis  D\u00edaz", "Luis D\u00edaz (seed)"])
def test_recruiters_in_other_case_accents_and_blanks(recruiter) -> None:
    study = read_study(named(recruiter))
    assert study.recruiter_ids()[4] == "Luis D\u00edaz"
    assert [step.code for step in study.steps] == ["steps.written_alike"]


@pytest.mark.parametrize(
    "recruiter",
    ["Luis D.", "luis d", "L. D\u00edaz", "D\u00edaz, Luis", "D\u00edaz Luis", "Lius D\u00edaz", "Luis Diz"],
)
def test_recruiters_who_are_nearly_named_are_offered(recruiter) -> None:
    faults = [p for p in problems_of(named(recruiter)) if p.kind == "unknown-recruiter"]
    assert [(p.row, p.proposal.found, p.proposal.proposed) for p in faults] == [(6, recruiter, "Luis D\u00edaz")]


def test_two_who_are_equally_near_are_both_named() -> None:
    fault = next(p for p in problems_of(named("Luis")) if p.kind == "unknown-recruiter")
    assert fault.proposal is None
    assert "'Luis D\u00edaz', 'Luis Mu\u00f1oz'" in str(fault.message)
    ids = ["P1", "p 1", "P2", "P3", "P4", "P5"]
    faults = problems_of(named("p1", ids))
    assert [(p.kind, p.proposal) for p in faults if p.kind != "too-many-recruits"] == [
        ("unknown-recruiter", None),
        ("alike-ids", None),
    ]


@pytest.mark.parametrize("recruiter", ["Maria (P101)", "P101 Maria", "P1O1", "P1001", "P-101"])
def test_recruiters_by_id_that_are_nearly_right(recruiter) -> None:
    ids = ["P101", "P212", "P323", "P434", "P545", "P656"]
    faults = [p for p in problems_of(named(recruiter, ids)) if p.kind == "unknown-recruiter"]
    assert [p.proposal.proposed for p in faults] == ["P101"]
    assert read_study(named("P101 (Maria)", ids)).recruiter_ids()[4] == "P101"


def test_recruiters_by_another_column_by_coupon_and_by_row() -> None:
    made = numbered(people=40)
    names = [
        f"{first} {last}"
        for last in "ABCD"
        for first in ("Luis", "Ana", "Eva", "Jo", "Uli", "Kim", "Ida", "Max", "Pia", "Tom")
    ]
    by_id = {p.id: name for p, name in zip(made.people, names, strict=True)}
    table = pd.DataFrame({"id": list(by_id), "coupons_issued": [len(p.coupons) for p in made.people]})
    study = read_study(table.assign(name=names, recruiter=[by_id.get(p.recruiter, "").lower() for p in made.people]))
    assert is_right(study, made)
    assert [step.code for step in study.steps] == ["steps.recruiters_by"]
    slots = {f"coupon_{slot + 1}": [p.slots[slot] for p in made.people] for slot in range(3)}
    assert is_right(
        read_study(pd.DataFrame({"id": list(by_id), "recruiter": [p.own for p in made.people], **slots})), made
    )
    rows = {p.id: str(row) for row, p in enumerate(made.people, start=2)}
    faults = problems_of(table.assign(recruiter=[rows.get(p.recruiter, "") for p in made.people]))
    assert {p.person: p.proposal and p.proposal.proposed for p in faults} == {
        p.id: p.recruiter for p in made.people if p.recruiter
    }


def test_an_offer_makes_no_circle() -> None:
    ids = ["Luis D\u00edaz", "Ana P\u00e9rez"]
    table = pd.DataFrame({"id": ids, "recruiter": ["Ana P.", "Luis D."], "coupons_issued": ["1", "1"]})
    offers = [p.proposal for p in problems_of(table) if p.kind == "unknown-recruiter"]
    assert sum(offer is not None for offer in offers) == 1


texts = st.lists(st.text("ab1 O0l(", max_size=4), max_size=8)


@given(texts, texts)
def test_near_ones_are_known(known, wanted) -> None:
    for near in (near_codes(wanted, known), near_names(wanted, known)):
        assert all(set(found) <= set(known) and found for found in near.values())
