"""Numbers and results as people read them."""

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from peerfront.foundation.shown import visible, visible_message

if TYPE_CHECKING:
    import pandas as pd

_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}


def percent(share: float) -> str:
    """Write a share as 31%; only nothing is called 0%, and only certainty 100%."""
    if 0.0 < share < 0.005:
        return "under 1%"
    if 0.995 <= share < 1.0:
        return "over 99%"
    return f"{share:.0%}"


def ordinal(number: int) -> str:
    """Write first, second, ..., 6th."""
    return _ORDINALS.get(number, f"{number}th")


def counted(number: int, one: str, many: str) -> str:
    """Write a number with its noun: 1 coupon, 1,200 coupons."""
    return f"{number:,} {one if number == 1 else many}"


def n_coupons(number: int) -> str:
    """Write 1 coupon, 1,200 coupons."""
    return counted(number, "coupon", "coupons")


def n_people(number: int) -> str:
    """Write 1 person, 1,200 people."""
    return counted(number, "person", "people")


class Sentences(tuple[str, ...]):
    """Sentences, one a line when printed."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def as_html(lines: Iterable[str], table: "pd.DataFrame | None" = None) -> str:
    """A result for a notebook: a table, and sentences below it."""
    shown = "" if table is None else visible(table.to_html(index=False, border=0, max_rows=60), 10**8)
    style = "margin: .2em 0; white-space: pre-wrap"
    return shown + "".join(f"<p style='{style}'>{escape(visible_message(line))}</p>" for line in lines)
