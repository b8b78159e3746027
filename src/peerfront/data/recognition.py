"""Which column of a shaped table is what: by the user's word, by its name, and where names leave it open by its
content.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from peerfront.data.listing import guess_columns, layout_of, named_like, need_columns, texts
from peerfront.data.read_settings import COUPONS, RECRUITER, Columns
from peerfront.data.seeds import are_marks, are_seed_marks
from peerfront.data.shaping import Shaped
from peerfront.data.suggestions import offered
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Lines, Message, Remedy, note


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
    if "seed" in columns and "seed" not in named and not are_seed_marks(texts(frame, columns["seed"][0])):
        del columns["seed"]  # it names the seed, or counts them
    if "waiting" in columns and "waiting" not in named and not are_marks(texts(frame, columns["waiting"][0])):
        del columns["waiting"]  # it holds something else than yes and no
    if "own_coupon" in columns and "own_coupon" not in named and "coupons" in columns:
        columns["own_coupon"] = _own_coupon(frame, header, columns, source, steps)
    return columns, tuple(steps)


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
    known = {name: int(frame[name].isin(issued).sum()) for name in candidates}
    fitting = [name for name, count in known.items() if count]
    if len(fitting) == 1:
        if fitting[0] != columns["own_coupon"][0]:
            steps.append(note("steps.own_coupon", column=fitting[0]))
        return (fitting[0],)
    if not fitting:
        return columns["own_coupon"]
    listed = [note("recognition.codes_issued", column=name, n=known[name]) for name in fitting]
    raise DataFileError(
        "recognition.own_coupons",
        source=source,
        fault=note("recognition.several_own_coupons", n=len(fitting), columns=listed),
        remedies=Lines(Remedy("map", ("own_coupon", name)) for name in fitting),
    )


def layout_in(shaped: Shaped, columns: Columns, wanted: str, path: Path) -> str:
    """Return the layout that the columns make, or the one that is wanted; without it, offer the likely columns."""
    source = path.name
    frame = shaped.table.frame
    header = [name for name in map(str, frame.columns) if name not in shaped.own]
    needed = {COUPONS: ("id", "own_coupon", "coupons"), RECRUITER: ("id", "recruiter")}
    possible = (needed[wanted],) if wanted else tuple(needed.values())
    offer = None if any(set(roles) <= set(columns) for roles in possible) else offered(frame[header], columns)
    layout = wanted or layout_of(columns, source, header, offer)
    need_columns(columns, needed[layout], source, header, offer)
    return layout
