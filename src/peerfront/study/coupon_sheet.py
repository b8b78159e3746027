"""The coupon sheet: who gets how many coupons now and why, what other spends would bring, and how good the plan is.

`planning.plan_coupons` makes a `CouponSheet`: tables, numbers, codes and messages. `words.sheet` writes its sentences,
`words.printed_sheet` and `words.sheet_pdf` the pages to print.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from peerfront.bounds.certificate import Certificate
from peerfront.foundation.checked_calls import checked_class, checked_settings
from peerfront.foundation.errors import SettingError
from peerfront.foundation.files import check_output, write_bytes, write_csv
from peerfront.foundation.messages import Message, Readable
from peerfront.foundation.settings import check_fields, one_or_more, optional, optional_day
from peerfront.foundation.spreadsheets import csv_text
from peerfront.gfp.updating import DesignWorth
from peerfront.problem import Allocation
from peerfront.study.orders import PlanOrder
from peerfront.study.sheet_groups import Group, groups_of
from peerfront.study.stories import StoryResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from peerfront.study.outlook import Outlook

WORKBOOK, PDF, CSV = ".xlsx", ".pdf", ".csv"
"""What a sheet can be written as."""
_NOT_WRITTEN = (".xls", ".xlsm", ".xlsb", ".xltx", ".ods")
LONGEST_STUDY = 120
"""Characters of a study's name."""


@checked_settings
@dataclass(frozen=True)
class Heading:
    """The heading of a sheet or a report. Empty parts are left out, or left blank to be filled in by hand.

    >>> pf.Heading("Harbour study", "2026-03-02", 4).line
    'Harbour study, 2026-03-02, round 4'
    """

    study: str = ""
    date: str = ""
    """Year, month and day: 2026-03-02. Never filled in by itself, so that the same settings give the same page."""
    round: int | None = None
    """Which round this is; the first is 1."""

    def __post_init__(self) -> None:
        check_fields(self, study=_name, date=optional_day, round=optional(one_or_more))

    @property
    def line(self) -> str:
        """All parts that are not empty, in one line."""
        return str(import_module("peerfront.words.sheet").heading_line(self))

    def or_study(self, source: str) -> "Heading":
        """The same heading, named after the study's file if it has no name."""
        return self if self.study else Heading(study_name(source), self.date, self.round)


def study_name(source: str) -> str:
    """A study's name, from the name of its file."""
    return " ".join(PurePath(source).stem.split())[:LONGEST_STUDY]


def _name(name: str, value: Any) -> str:
    text = " ".join(str(value or "").split())
    if len(text) > LONGEST_STUDY:
        raise SettingError("sheets.long_name", name=name, length=len(text), most=LONGEST_STUDY)
    return text


@checked_class
@dataclass(frozen=True, eq=False)
class CouponSheet(Readable):
    """Who gets how many coupons this round, why, and how good that is; returned by `Model.plan`.

    >>> sheet = model.plan(study.waiting, budget=20)
    >>> int(sheet.table["coupons"].sum()) == sheet.spend <= 20
    True
    >>> list(sheet.table.columns)
    ['person', 'coupons', 'chance_used', 'expected_now', 'expected_later', 'decided_by', 'probability', 'reason']
    >>> print(sheet.lines()[0])
    Give out ... coupons to ... of ... people...
    """

    _in_words = "sheet.sheet_lines"
    _details_in_words = "sheet.sheet_details"

    table: pd.DataFrame
    """person, coupons, chance_used (of each coupon), expected_now, expected_later, decided_by (plan, lot or random),
    probability (that this person got this number, before lots and random numbers were drawn), stratum (if coupons may
    differ only between strata), reason (a `Reason`: data, and as text a sentence or two); in the frontier's order.
    expected_later is 0 if the plan falls back to the usual number: the value was learned with a belief that failed."""
    spend: int
    """Coupons given out this round."""
    order: PlanOrder
    curve: pd.DataFrame
    """spend, value: recruits expected in all, by the plan's own value, for every spend that was evaluated."""
    certificates: Mapping[str, Certificate]
    """The upper bound on what any plan can expect, by story; empty if there is nothing to decide."""
    in_rounds: tuple[StoryResult, ...]
    """What the sheet brings by rounds where each remaining story is true, which bounds are compared with; empty if the
    rest of the study is too large to simulate."""
    promised: float
    """Recruits expected in all, discounted, by the plan's own value, without simulation; those of this round alone if
    the plan falls back to the usual number."""
    discount: float
    rounds_left: int
    notes: tuple[Message, ...]
    """Notes about the order, the lots that were drawn, and where the plan goes beyond what the study shows."""
    gap: float | None = None
    """If the plan uses a common price of a coupon: the most by which `promised` can fall short of the best plan's own
    value, as a share. None if coupons were given out one by one (exact greedy)."""
    learning: tuple[DesignWorth, ...] = ()
    """What random numbers of coupons for a share of the people would bring; empty unless the order asked."""
    study: str = ""
    """Name of the file that the model was fitted to; empty if the model does not say."""
    model_fingerprint: str = ""
    """Checksum of the model, as its manifest has it."""
    warnings: tuple[Message, ...] = ()
    """Warnings of the model itself, from its fit."""
    chances: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By stratum: everybody's chance of 0, 1, ... coupons; empty without strata."""
    outlook: "Outlook | None" = None
    """What to expect; None if nothing is to be expected, or the study is too large to simulate."""

    @property
    def allocation(self) -> Allocation:
        """Coupons of everybody, in the frontier's order."""
        return Allocation(self.table["coupons"].to_numpy(dtype=np.int64))

    @property
    def expected(self) -> float:
        """Recruits expected in all, those of open coupons included: of the outlook, or `promised` without one."""
        return self.promised if self.outlook is None else float(self.outlook.of_plan["recruits"])

    @property
    def groups(self) -> tuple[Group, ...]:
        """People by their number of coupons, the most first."""
        return groups_of(self.table)

    @property
    def why(self) -> "pd.Series[str]":
        """The reason for each person's number of coupons in a sentence or two, by person."""
        return self.table.set_index("person")["reason"].map(str)

    @property
    def share_of_best(self) -> float | None:
        """The least share of what any plan could expect that this one does, by rounds; None if it is not known."""
        if not self.certificates or not self.in_rounds:
            return None
        own = sum(each.weight * each.expected for each in self.in_rounds)
        most = sum(each.weight * self.certificates[each.name].high for each in self.in_rounds)
        return min(own / most, 1.0) if most > 0.0 else None

    @property
    def certificate(self) -> Certificate | None:
        """The upper bound on any plan by the most credible story; None if there is nothing to decide."""
        return next(iter(self.certificates.values()), None)

    def csv(self) -> str:
        """The table as the text of a CSV file."""
        table = self.table.copy()
        table["probability"] = [f"{each:.6g}" for each in table["probability"]]  # estimates need it exactly
        table["reason"] = table["reason"].map(str)
        return csv_text(table, float_format="%.3f")

    def excel(self, heading: Heading | None = None) -> bytes:
        """An Excel workbook to print and fill in, as the bytes of a file; `heading` says study, date and round."""
        return self._rendered("printed_sheet", "sheet_workbook", heading)

    def pdf(self, heading: Heading | None = None) -> bytes:
        """The sheet to print and fill in as the bytes of a PDF; `heading` says study, date and round."""
        return self._rendered("sheet_pdf", "sheet_pdf", heading)

    def save(self, path: Path | str, heading: Heading | None = None, *, overwrite: bool = False) -> None:
        """Write the sheet: `.xlsx` or `.pdf` to print and fill in, `.csv` for the table alone.

        The file holds participants' ids; a new one can be read by its owner alone.

        >>> sheet = model.plan(study.waiting, budget=20)
        >>> sheet.save("sheet.xlsx", pf.Heading("Harbour study", "2026-03-02", round=4))
        """
        path = Path(path)
        kind = sheet_kind(path)
        check_output(path, overwrite=overwrite)
        if kind == WORKBOOK:
            write_bytes(path, self.excel(heading), private=True)
        elif kind == PDF:
            write_bytes(path, self.pdf(heading), private=True)
        else:
            write_csv(path, self.csv(), private=True)

    def plot(self) -> "Figure":
        """Draw the recruits expected in all against the coupons given out this round."""
        figure: Figure = import_module("peerfront.words.outlook_figures").curve_figure(self)
        return figure

    def _rendered(self, module: str, function: str, heading: Heading | None) -> bytes:
        """Make a file of the sheet with a module of `words`, which this package must not import at the top."""
        written: bytes = getattr(import_module(f"peerfront.words.{module}"), function)(self, heading or Heading())
        return written

    def __str__(self) -> str:
        return "\n".join([self.table.drop(columns="reason").to_string(index=False), "", super().__str__()])


def sheet_kind(path: Path) -> str:
    """The kind of a sheet's file, by its name: workbook (`.xlsx`), PDF, or else CSV; refuse other spreadsheets."""
    ending = path.suffix.lower()
    if ending in _NOT_WRITTEN:
        raise SettingError("sheets.other_spreadsheet", file=path.name, ending=ending, better=f"{path.stem}.xlsx")
    return ending if ending in (WORKBOOK, PDF) else CSV
