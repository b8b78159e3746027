"""Which column of a shaped table is what: by the user's word, by its name, and where names leave it open by its
content.

The coupon with which somebody came was issued to somebody else, most often in a row above. So the column of own coupons
is the one whose codes stand elsewhere in the table, and the columns in which they stand are the coupons issued. In the
same way a column that holds ids of other rows names the recruiter. Nothing is used unasked: the suggestion is a remedy
of the error.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from peerfront.data.read.coupon_codes import are_marks, are_seed_marks, code_shape
from peerfront.data.read.listing import VOCABULARY, called_in_words, guess_columns, named_like, texts
from peerfront.data.read.read_settings import AUTO, COUPONS, RECRUITER, Columns
from peerfront.data.read.shaping import Shaped
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Lines, Message, Remedies, Remedy, note
from peerfront.foundation.typed_dates import read_days
from peerfront.foundation.typed_values import read_numbers


def recognised(shaped: Shaped, source: str) -> tuple[Columns, tuple[Message, ...]]:
    """Return the columns by role, and what was assumed."""
    frame = shaped.table.frame
    used = {name for names in shaped.named.values() for name in names}
    header = [name for name in map(str, frame.columns) if name not in shaped.own or name in used]
    named = {role: tuple(names) for role, names in shaped.named.items()}
    for name in (name for names in named.values() for name in names):
        if name not in header:
            guess_columns(list(map(str, frame.columns)), shaped.named, source)  # says which column there is not
    columns = dict(guess_columns(header, named, source))
    steps: list[Message] = []
    for role, name in shaped.instead.items():
        if role not in columns and role not in named and name not in {n for names in columns.values() for n in names}:
            columns[role] = (name,)
            steps.append(note("steps.instead", role=role, column=name))
    single = columns.get("coupons", ()) if "coupons" not in named and "coupons_issued" not in columns else ()
    if len(single) == 1 and _are_counts(frame[single[0]]) and not frame[single[0]].is_unique:
        columns["coupons_issued"] = columns.pop("coupons")  # it says how many, and not which
    for role, fits in _FITTING.items():
        if role not in columns and role not in named:
            taken = {name for names in columns.values() for name in names}
            open_to = [name for name in called_in_words(role, header) if name not in taken and fits(frame[name])]
            if open_to:
                columns[role] = (open_to[0],)
    if "seed" in columns and "seed" not in named and not are_seed_marks(texts(frame, columns["seed"][0])):
        del columns["seed"]  # it names the seed, or counts them
    if "waiting" in columns and "waiting" not in named and not are_marks(texts(frame, columns["waiting"][0])):
        del columns["waiting"]  # it holds something else than yes and no
    if "own_coupon" in columns and "own_coupon" not in named and "coupons" in columns:
        columns["own_coupon"] = _own_coupon(frame, header, columns, source, steps)
    return columns, tuple(steps)


_MOSTLY = 0.6  # share of the values of a column that must be dates, or numbers
_MOST_ISSUED = 30  # coupons of one person; larger numbers are codes


def _are_dates(values: pd.Series) -> bool:
    filled = values[values != ""]
    return bool(len(filled)) and float(np.isfinite(read_days(filled)).mean()) >= _MOSTLY


def _are_sizes(values: pd.Series) -> bool:
    filled = values[values != ""]
    return bool(len(filled)) and float(np.isfinite(read_numbers(filled)).mean()) >= _MOSTLY


def _are_counts(values: pd.Series) -> bool:
    filled = read_numbers(values[values != ""])
    known = filled[np.isfinite(filled)]
    return len(known) > 0 and len(known) >= _MOSTLY * len(filled) and 0 <= known.min() <= known.max() <= _MOST_ISSUED


_FITTING: Mapping[str, Callable[[pd.Series], bool]] = {
    "issued_date": _are_dates, "expiry_date": _are_dates, "date": _are_dates, "network_size": _are_sizes,
    "coupons_issued": _are_counts,
}  # fmt: skip
"""What the values of a column must be that is recognised by the words of its name, in the order of looking."""


def _own_coupon(
    frame: pd.DataFrame, header: Sequence[str], columns: Columns, source: str, steps: list[Message]
) -> tuple[str, ...]:
    """Choose among columns that are all called like the coupon people came with: its codes were issued to somebody."""
    taken = {name for role, names in columns.items() if role != "own_coupon" for name in names}
    candidates = [name for name in named_like("own_coupon", header) if name not in taken]
    candidates = [name for name in candidates if not frame[name].equals(frame[candidates[0]]) or name == candidates[0]]
    if len(candidates) < 2:
        return columns["own_coupon"]
    issued = set(frame[list(columns["coupons"])].to_numpy().ravel()) - {""}
    n_issued = {name: int(frame[name].isin(issued).sum()) for name in candidates}
    fitting = [name for name, count in n_issued.items() if count]
    if len(fitting) == 1:
        if fitting[0] != columns["own_coupon"][0]:
            steps.append(note("steps.own_coupon", column=fitting[0]))
        return (fitting[0],)
    if not fitting:
        return columns["own_coupon"]
    listed = [note("recognition.codes_issued", column=name, n=n_issued[name]) for name in fitting]
    fault = note("recognition.several_own_coupons", n=len(fitting), columns=listed)
    remedies = Lines(Remedies((Remedy("map", ("own_coupon", name)),)) for name in fitting)
    raise DataFileError("recognition.own_coupons", source=source, fault=fault, remedies=remedies)


def layout_in(shaped: Shaped, columns: Columns, wanted: str, path: Path) -> str:
    """Return the layout that the columns make, or the one that is wanted; without it, offer the likely columns."""
    needed = {COUPONS: ("id", "own_coupon", "coupons"), RECRUITER: ("id", "recruiter")}
    for layout in needed if wanted == AUTO else (wanted,):
        if columns.keys() >= set(needed[layout]):
            return layout
    if wanted == AUTO:
        roles = ("id",) if "recruiter" in columns else needed[COUPONS]
        absent, fault = [role for role in roles if role not in columns], note("recognition.no_tree")
    else:
        absent = [role for role in needed[wanted] if role not in columns]
        fault = note("recognition.no_column", roles=absent)
    used = {name for names in columns.values() for name in names}
    header = [name for name in map(str, shaped.table.frame.columns) if name not in shaped.own or name in used]
    others = Remedies(Remedy("map", (role,)) for role in absent)
    offer = offered(shaped.table.frame[header], columns) or note("recognition.name_others", remedies=others)
    named = "; ".join(f"{role} = {'+'.join(names)}" for role, names in columns.items())
    recognised = named or note("recognition.nothing")
    raise DataFileError(
        "recognition.unclear", source=path.name, fault=fault, recognised=recognised, header=header, offer=offer
    )


# Suggestions from what the columns hold ---------------------------------------------------------------------------


_MOST_COLUMNS = 300  # that are compared with each other
_DIFFERENT = 0.9  # share of different values in a column of codes
_REAPPEARING = 0.5  # share of a column's codes that must reappear
_ABOVE = 0.7  # share of them that must stand in a row above
_FEWEST = 3  # codes that reappear
_ALIKE = 0.8  # share of codes of a shape that coupons have
_LONGEST_CODE = 40
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|.*\d:\d\d.*")
_DECIMAL = re.compile(r"-?\d+[.,]\d+")


@dataclass(frozen=True)
class _Match:
    """A column whose codes reappear, and where."""

    column: str
    places: tuple[str, ...]
    n_matches: int
    filled: int
    most: int = 0
    """How often the most frequent value stands in it."""


def offered(frame: pd.DataFrame, columns: Columns) -> Message | None:
    """Offer the likely columns, as remedies; None if the content suggests none."""
    taken = {name for role, names in columns.items() if role not in ("own_coupon", "coupons") for name in names}
    codes = [name for name in map(str, frame.columns) if name not in taken and _are_codes(frame[name])]
    match = _best_coupons(frame, codes[:_MOST_COLUMNS], columns)
    issued = _with_their_like(frame, match, codes) if match is not None else []
    people = _id_column(frame, columns, {*issued, match.column} if match is not None else set())
    if people is None:
        return None
    if match is not None:
        coupons = tuple(name for name in issued if name != people)
        likely = {"id": (people,), "own_coupon": (match.column,), "coupons": coupons}
        counts = {"n": match.n_matches, "filled": match.filled}
        reason = note("recognition.codes_reappear", column=match.column, places=match.places, **counts)
        return _offer(likely, columns, reason)
    if "id" not in columns:
        taken -= set(columns.get("recruiter", ()))  # it may tell which column holds the ids
    recruiter = _best_recruiter(frame, people, taken)
    if recruiter is not None:
        reason = note("recognition.holds_ids", column=recruiter.column, id=people)
        has_coupons = "coupons" in columns or "coupons_issued" in columns
        also = () if has_coupons else (Remedy("coupons_each", recruiter.most),)
        return _offer({"id": (people,), "recruiter": (recruiter.column,)}, columns, reason, also)
    return None


def _offer(likely: Columns, columns: Columns, reason: Message, also: tuple[Remedy, ...] = ()) -> Message:
    new = (Remedy("map", (role, *names)) for role, names in likely.items() if columns.get(role) != names)
    return note("recognition.likely", reason=reason, remedies=Remedies((*new, *also)))


def suggested_columns(remedies: Iterable[Remedy]) -> Columns:
    """The columns that the remedies of an error suggest, by role; a role with several suggestions is left out."""
    named = [each.value for each in remedies if each.setting == "map" and len(each.value) > 1]
    counts = Counter(role for role, *_ in named)
    return {role: tuple(names) for role, *names in named if counts[role] == 1}


def _id_column(frame: pd.DataFrame, columns: Columns, coupons: set[str]) -> str | None:
    """Return the column that was recognised, or the likeliest one in which every value differs."""
    if "id" in columns:
        return columns["id"][0]
    unique = [
        name
        for name in map(str, frame.columns)
        if name not in coupons
        and (frame[name] != "").all()
        and frame[name].is_unique
        and not frame[name].head(50).str.fullmatch(_DATE).any()
    ]
    unique = [name for name in unique if not frame[name].head(50).str.fullmatch(_DECIMAL).any()]
    speaking = [name for name in unique if any(word in name.lower() for word in VOCABULARY["suggestions"]["id"])]
    return next(iter(speaking or unique), None)


def _are_codes(values: pd.Series) -> bool:
    filled = values[values != ""]
    if len(filled) < _FEWEST or filled.nunique() < _DIFFERENT * len(filled):
        return False
    first = filled.head(50)
    return not (first.str.len() > _LONGEST_CODE).any() and not first.str.fullmatch(_DATE).any()


def _first_rows(values: pd.Series) -> pd.Series:
    """Return the first row of each code."""
    filled = values[values != ""].drop_duplicates()
    return pd.Series(filled.index.to_numpy(), index=filled.to_numpy(dtype=object))


def _best_coupons(frame: pd.DataFrame, codes: list[str], columns: Columns) -> _Match | None:
    """Find the column whose codes reappear most in other columns, in rows above."""
    rows = {name: _first_rows(frame[name].reset_index(drop=True)) for name in codes}
    best: tuple[float, int, _Match] | None = None
    for own in columns.get("own_coupon", ()) or codes:
        mine = rows.get(own)
        if mine is None:
            continue
        places, reappears = [], np.zeros(len(mine), dtype=bool)
        above = below = 0
        for other in codes:
            if other == own:
                continue
            holder = rows[other].reindex(mine.index).to_numpy(dtype=float)
            here = np.isfinite(holder) & (holder != mine.to_numpy())
            if here.any():
                above += int((holder[here] < mine.to_numpy()[here]).sum())
                below += int((holder[here] > mine.to_numpy()[here]).sum())
                places.append(other)
                reappears |= here
        match = _Match(own, tuple(places), int(reappears.sum()), len(mine))
        if match.n_matches < max(_FEWEST, _REAPPEARING * match.filled) or above < _ABOVE * (above + below):
            continue
        score = (match.n_matches / match.filled, len(places), match)
        if best is None or score[:2] > best[:2]:
            best = score
    return None if best is None else best[2]


def _with_their_like(frame: pd.DataFrame, match: _Match, codes: list[str]) -> list[str]:
    """Add columns of coupons none of which came back: called like those found but for a number, with like codes."""
    stems = {_stem(name) for name in match.places}
    shapes = {code_shape(code) for name in match.places for code in frame[name]}

    def is_like(name: str) -> bool:
        if name not in codes or name == match.column or _stem(name) not in stems:
            return False
        return float(np.mean([code_shape(code) in shapes for code in frame[name] if code])) > _ALIKE

    return [name for name in map(str, frame.columns) if name in match.places or is_like(name)]


def _stem(name: str) -> str:
    return re.sub(r"\d+|(?<=[\W_])[A-Za-z]$", "#", name)


def _best_recruiter(frame: pd.DataFrame, people: str, taken: set[str]) -> _Match | None:
    """Find a column that holds ids of other rows, most of them above; small numbers need a name that says so."""
    ids = _first_rows(frame[people].reset_index(drop=True))
    for name in map(str, frame.columns):
        values = frame[name].reset_index(drop=True)
        filled = values[values != ""]
        if name == people or name in taken or filled.nunique() < 2:
            continue
        place = ids.reindex(filled.to_numpy(dtype=object)).to_numpy(dtype=float)
        is_id = np.isfinite(place)
        speaks = any(word in name.lower() for word in VOCABULARY["suggestions"]["recruiter"])
        small = filled.str.fullmatch(r"\d{1,3}").all()
        above = (place < filled.index.to_numpy()) & is_id
        if is_id.sum() >= _FEWEST and above.sum() >= _ABOVE * len(filled) and (speaks or not small):
            return _Match(name, (people,), int(is_id.sum()), len(filled), int(filled[is_id].value_counts().max()))
    return None
