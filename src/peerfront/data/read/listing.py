"""What a file lists about each person, whatever its layout, before anything is checked.

In a table the columns have to be recognised first: by the names that studies use, or as the user says where these are
not enough.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import Problem, Proposal, noted
from peerfront.data.read.read_settings import ANSWER_ROLES, COUPONS, MOST_COUPONS_EACH, RECRUITER, Columns, ReadSettings
from peerfront.foundation.errors import DataFileError, SettingError, UnknownName
from peerfront.foundation.messages import Message, Remedies, Remedy, note
from peerfront.foundation.text_tables import TextTable
from peerfront.foundation.typed_values import WORDS, read_numbers, unified

Texts = NDArray[np.object_]  # an array of str; "" for nothing

USUAL_MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", ".", *(f".{x}" for x in ascii_lowercase))
"""What programs write for "not known"; .a to .z are Stata's."""
_REMARK = r"\s*\([^()\d]*\)$|(?i:\s+(?:coupons?|cup[oó]n(?:es)?|vouchers?|vales?|bons?))$"
_MANY_PEOPLE = 50  # people among whom somebody uses all coupons


@dataclass(frozen=True)
class Listing:
    """One entry per person, all of it text as in the file except the counts."""

    source: str
    """Name of the file."""
    format: str
    settings: ReadSettings
    """Those that read the file again in the same way: with the sheet, preset and checkboxes that were found."""
    place: str
    """What its entries are called: row, line or record."""
    rows: NDArray[np.int64]  # [people], place in the file
    ids: Texts  # [people]
    people: pd.DataFrame  # [people, columns]: everything that is neither id, coupon nor recruiter
    columns: Columns
    """Which column of the file is what."""
    recruiters: Texts | None = None  # [people], ids
    own_coupons: Texts | None = None  # [people]
    coupons: Texts | None = None  # [people, slots], issued
    issued: NDArray[np.int64] | None = None  # [people], where a column says how many
    seed_marks: Texts | None = None  # [people], where a column says who is a seed
    problems: tuple[Problem, ...] = ()
    steps: tuple[Message, ...] = ()
    """What was done and assumed."""
    not_known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Codes such as 99 that were taken for "not known", by column; they are empty in `people`."""


def each(
    listing: Listing,
    kind: str,
    people: NDArray[np.intp],
    messages: Iterable[Message],
    column: str = "",
    mends: Iterable[tuple[str, str, str | None, Message] | None] | None = None,
) -> list[Problem]:
    """Make one problem per person, with the place in the file; `mends` hold column, found, proposed and why."""
    rows = [int(listing.rows[i]) for i in people]
    offers = (
        [None] * len(rows) if mends is None else [m and Proposal(row, *m) for row, m in zip(rows, mends, strict=True)]
    )
    return [
        Problem(kind, row, str(listing.ids[i]), message, column, offer)
        for row, i, message, offer in zip(rows, people, messages, offers, strict=True)
    ]


def of_people(
    listing: Listing, kind: str, people: NDArray[np.intp], code: str, column: str = "", /, **values: Any
) -> list[Problem]:
    """Make one problem per person with the message of this code.

    Values are arrays and columns with an entry for everybody, functions of the person's place, or the same for all.
    """

    def value_of(value: Any, person: int) -> Any:
        if callable(value):
            return value(person)
        return value[person] if isinstance(value, np.ndarray | pd.Series) else value

    messages = []
    for i in people:
        own = {name: value_of(value, i) for name, value in values.items()}
        messages.append(note(code, person=listing.ids[i], column=column, **own))
    return each(listing, kind, people, messages, column)


def without_missing(frame: pd.DataFrame, codes: Iterable[str]) -> pd.DataFrame:
    """Replace every code that means "not known" by an empty text."""
    return frame.mask(frame.isin([*USUAL_MISSING, *codes]), "")


def texts(frame: pd.DataFrame, name: str) -> Texts:
    return frame[name].to_numpy(dtype=object)


def list_table(table: TextTable, columns: Columns, format: str, settings: ReadSettings, source: str) -> Listing:
    """List the people of a coupon or recruiter-id table without missing codes, given which column is what."""
    frame, each_got = table.frame, settings.coupons_each

    def column(role: str) -> Texts | None:
        return texts(frame, columns[role][0]) if role in columns else None

    codes = {name for role in ("id", "own_coupon", "coupons", "recruiter") for name in columns.get(role, ())}
    problems = list(noted(table.notes, codes))
    ids, recruiters = texts(frame, columns["id"][0]), column("recruiter")
    own = column("own_coupon") if format == COUPONS else None
    coupons = issued = None
    if format == COUPONS and each_got is not None:
        remedies = {"coupons_each": Remedy("coupons_each"), "format": Remedy("format", RECRUITER)}
        raise SettingError("recognition.listed_already", source=source, **remedies)
    if each_got is not None:
        issued = np.full(len(frame), each_got, dtype=np.int64)
    elif "coupons_issued" in columns and format == RECRUITER:
        issued, faults = _counts(texts(frame, columns["coupons_issued"][0]), table.rows, ids)
        problems += faults
    elif "coupons" in columns:
        coupons = frame[list(columns["coupons"])].to_numpy(dtype=object)
    else:
        number = _likely_number(recruiters, ids)
        column_remedy = Remedy("map", ("coupons_issued",))
        raise DataFileError("recognition.how_many_coupons", source=source, column=column_remedy, number=number)
    apart = {*codes, *columns.get("seed", ()), *columns.get("coupons_issued", ())}
    roles = {"id", "recruiter", "seed", *ANSWER_ROLES, "own_coupon" if format == COUPONS else "coupons_issued"}
    roles |= {"coupons"} if coupons is not None else set()
    return Listing(
        source=source,
        format=format,
        settings=settings,
        place="row",
        rows=table.rows,
        ids=ids,
        people=frame[[name for name in frame.columns if name not in apart]],
        columns={role: names for role, names in columns.items() if role in roles},
        recruiters=recruiters,
        own_coupons=own,
        coupons=coupons,
        issued=issued,
        seed_marks=column("seed"),
        problems=tuple(problems),
    )


def _likely_number(recruiters: Texts | None, ids: Texts) -> Message:
    """Offer the number of coupons that everybody probably got: no fewer than the most recruits of anybody."""
    named = pd.Series(recruiters, dtype=object)
    counts = named[named.isin(set(ids)) & (named != "")].value_counts()
    most = int(counts.max()) if len(counts) else 0
    likely = most if len(ids) >= _MANY_PEOPLE and most > 1 else max(most, 3)
    coupons_each = Remedies((Remedy("coupons_each", likely),))
    if most:
        return note("recognition.likely_number", most=most, coupons_each=coupons_each)
    return note("recognition.example_number", coupons_each=coupons_each)


def _counts(values: Texts, rows: NDArray[np.int64], ids: Texts) -> tuple[NDArray[np.int64], list[Problem]]:
    """Read whole numbers, also with a remark such as `3 (blue)`; 0 and a problem where a text is none."""
    numbers = read_numbers(pd.Series(values, dtype=object).str.replace(_REMARK, "", regex=True))
    with np.errstate(invalid="ignore"):
        wrong = ~((numbers >= 0) & (numbers == np.floor(numbers)) & (numbers <= MOST_COUPONS_EACH))
    words = {text: WORDS["numbers"].get(unified(text)) for text in set(values[wrong])}
    for i in np.flatnonzero([words.get(text) is not None for text in values]):
        numbers[i], wrong[i] = words[values[i]], False
    problems = []
    for i in np.flatnonzero(wrong):
        fault = note("problems.bad_count", person=ids[i], value=values[i], most=MOST_COUPONS_EACH)
        problems.append(Problem("bad-count", int(rows[i]), ids[i], fault))
    return np.where(wrong, 0, numbers).astype(np.int64), problems


# Which column is what ------------------------------------------------------------------------------------------------

VOCABULARY = tomllib.loads(Path(__file__).with_name("column_names.toml").read_text("utf-8"))
_NAMES, _COUPONS = VOCABULARY["roles"], VOCABULARY["coupons"]
_ISSUED = re.compile(
    r"(?:issued|given|out|outgoing|new|referral|recruit|rds|peer)?"
    r"(?:coupon|coup|outpon|voucher|cpn|cupon|cupone|cupom|kuponi)s?"
    r"(?:issued|given|out|no|num|number|code|id|entregado|emitido|entregue|remis|donne)*(?:\d+|[a-h])"
    r"(?:issued|given|out|no|num|number|code|id|entregado|emitido|entregue|remis|donne)*"
)


LOW, HIGH = "[a-z\u0430-\u044f]", "[A-Z\u0410-\u042f]"  # Latin and Cyrillic
_CASES = re.compile(rf"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<={LOW})(?={HIGH})|(?<={HIGH})(?={HIGH}{LOW})")
LONGEST_NAME = 200
"""Characters of a name that are looked at."""


@lru_cache(maxsize=10_000)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name: lower case, without accents, split at signs, digits and capital letters.

    >>> words_of("Orientación_sexual"), words_of("isSeed"), words_of("race___1")
    (('orientacion', 'sexual'), ('is', 'seed'), ('race', '1'))
    """
    parted = _CASES.sub(" ", plain(name[:LONGEST_NAME]))
    return tuple(word.lower() for word in re.split(r"[\W_]+", parted) if word)


def plain(text: str) -> str:
    """Remove accents; ß becomes ss."""
    parts = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(c for c in parts if not unicodedata.combining(c) or c == "\u0306").replace("\u0306", "")


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", plain(name).lower())


def describes_the_tree(name: str) -> bool:
    """Tell whether a column of this name describes how recruitment went, which must never be used to predict it."""
    letters = _plain(name)
    return letters in VOCABULARY["tree"]["describes"] or "coupon" in letters or "voucher" in letters


def looks_like_issued(name: str) -> bool:
    """Tell whether a column of this name may hold a code that was issued: it speaks of coupons, and not of dates."""
    letters = _plain(name)
    is_issued = _ISSUED.fullmatch(letters) is not None or letters in _COUPONS["one_issued"]
    speaks = any(word in letters for word in ("coupon", "voucher", "outpon", "cpn"))
    counts = any(word in name.lower() for word in _COUPONS["not_a_code"]) or letters in _NAMES["coupons_issued"]
    return is_issued or (speaks and not counts)


def named_like(role: str, header: Sequence[str]) -> list[str]:
    """Return the columns that are called like this part of a study, the likeliest first."""
    names = _NAMES[role]
    letters = {name: _plain(name) for name in header}
    return [name for _, name in sorted((names.index(text), name) for name, text in letters.items() if text in names)]


def guess_columns(header: Sequence[str], named: Columns, source: str) -> Columns:
    """Return the columns by role: those the user named, and the best guess for the others."""
    names_in_file = set(header)
    for names in named.values():
        for name in names:
            if name not in names_in_file:
                raise UnknownName(note("recognition.column_in", source=source), name, header)
    roles: dict[str, str] = {}
    for role, names in named.items():
        for name in names:
            if name in roles:
                pair = {"first": roles[name], "second": role}
                raise SettingError("recognition.column_twice", source=source, column=name, **pair)
            roles[name] = role
    taken = set(roles)
    left = {name: _plain(name) for name in header if name not in taken}
    columns = dict(named)
    if "coupons" not in columns:
        issued = tuple(name for name, text in left.items() if _ISSUED.fullmatch(text))
        issued = issued or tuple(name for name, text in left.items() if text in _COUPONS["one_issued"])[:1]
        if issued:
            columns["coupons"] = issued
            left = {name: text for name, text in left.items() if name not in set(issued)}
    for role in _NAMES:
        if role in columns:
            continue
        matches = named_like(role, list(left))
        if matches:
            columns[role] = (matches[0],)
            del left[matches[0]]
    return {role: names for role, names in columns.items() if names}


def called_in_words(role: str, header: Iterable[str]) -> list[str]:
    """Return the columns whose names say in words, or in another language, that they are this part; likeliest first."""
    rule = VOCABULARY["words"].get(role)
    if rule is None:
        return []
    words = {name: set(words_of(name)) for name in header}
    fitting = [
        name
        for name, own in words.items()
        if all(own.intersection(needed) for needed in rule["needs"]) and not own.intersection(rule["unless"])
    ]
    return sorted(fitting, key=lambda name: not words[name].intersection(rule["prefers"]))
