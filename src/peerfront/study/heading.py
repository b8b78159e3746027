"""What stands above a sheet or a report: which study, which day, which round."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from peerfront.foundation.errors import SettingError
from peerfront.foundation.settings import check_fields, one_or_more, optional, optional_day

LONGEST_STUDY = 120
"""Characters of a study's name."""


@dataclass(frozen=True)
class Heading:
    """Study, date and round. What is empty is left out, or left open to be written by hand.

    >>> pf.Heading("Harbour study", "2026-03-02", 4).line
    'Harbour study, 2026-03-02, round 4'
    """

    study: str = ""
    date: str = ""
    """Year, month and day: 2026-03-02. Nothing is filled in, so that the same settings give the same page."""
    round: int | None = None
    """Which round this is; the first is 1."""

    def __post_init__(self) -> None:
        check_fields(self, study=_name, date=optional_day, round=optional(one_or_more))

    @property
    def line(self) -> str:
        """All that is known, in one line."""
        number = "" if self.round is None else f"round {self.round:,}"
        return ", ".join(part for part in (self.study, self.date, number) if part)

    def or_study(self, source: str) -> "Heading":
        """The same, named after the study's file if it has no name."""
        return self if self.study else Heading(name_of(source), self.date, self.round)


def name_of(source: str) -> str:
    """The name of a study whose file is called so."""
    return " ".join(PurePath(source).stem.split())[:LONGEST_STUDY]


def _name(name: str, value: Any) -> str:
    text = " ".join(str(value or "").split())
    if len(text) > LONGEST_STUDY:
        raise SettingError(
            f"{name} has {len(text):,} characters; at most {LONGEST_STUDY} fit above a page. Shorten it."
        )
    return text
