"""The people of a coupon sheet as pages show them: by number of coupons, with the reasons that they share."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.core.paginator import Page, Paginator

PER_PAGE = 200
_MOST_REASONS = 3  # named for a group
_FEW = 5  # people found whose reasons are shown at once


@dataclass(frozen=True)
class Person:
    """A row of the sheet."""

    person: str
    coupons: int
    short: str
    """Why, in a few words."""
    reason: str


@dataclass(frozen=True)
class PeopleGroup:
    """The people with one number of coupons."""

    coupons: int
    n_people: int
    """All of them, also those on other pages."""
    why: tuple[tuple[str, int], ...]
    """The most frequent reasons in a few words, each with its number of people."""
    n_other: int
    """People with other reasons than these."""
    shared: str | None
    """The whole reason, if everybody has the same."""
    people: tuple[Person, ...]
    """Those on this page."""


@dataclass(frozen=True)
class SheetPeople:
    """A page of the people of a sheet."""

    groups: tuple[PeopleGroup, ...]
    page: Page[Person]
    who: str
    """What was searched for; empty for everybody."""
    n_people: int
    """On the whole sheet."""

    @property
    def few(self) -> bool:
        """Whether so few people were found that their reasons are shown at once."""
        return bool(self.who) and self.page.paginator.count <= _FEW


def sheet_people(result: Mapping[str, Any], who: str = "", page: str | None = None) -> SheetPeople | None:
    """The people of a step's result whose id holds `who`; None if there are none, or an earlier version made it."""
    reasons = [(str(short), str(reason)) for short, reason in result.get("reasons", ())]
    rows = [
        Person(str(row["person"]), row["coupons"], *reasons[row["reason"]])
        for row in (result.get("people", ()) if reasons else ())
    ]
    if not rows:
        return None
    rows.sort(key=lambda row: -row.coupons)
    found = [row for row in rows if who.casefold() in row.person.casefold()]
    shown = Paginator(found, PER_PAGE).get_page(page)
    of_page = {coupons: tuple(own) for coupons, own in groupby(shown, lambda row: row.coupons)}
    groups = [
        _group(coupons, tuple(own), of_page.get(coupons, ())) for coupons, own in groupby(rows, lambda row: row.coupons)
    ]
    return SheetPeople(tuple(each for each in groups if each.people), shown, who, len(rows))


def _group(coupons: int, everybody: tuple[Person, ...], shown: tuple[Person, ...]) -> PeopleGroup:
    often = Counter(each.short for each in everybody).most_common(_MOST_REASONS)
    whole = {each.reason for each in everybody}
    return PeopleGroup(
        coupons, len(everybody), tuple(often), len(everybody) - sum(n for _, n in often),
        whole.pop() if len(whole) == 1 else None, shown,
    )  # fmt: skip
