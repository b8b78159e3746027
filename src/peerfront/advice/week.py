"""A week of a running study: read the file, say what changed, refit if it pays, plan for who waits, look ahead by date.

`run_week` makes a `WeekResult` and keeps it in the study's folder (`study_folder`). The same file on the same day gives
the same answer: it is read back, not made again.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from peerfront.advice.study_folder import Week

if TYPE_CHECKING:
    from peerfront.advice.sheet import CouponSheet

AUTO, ALWAYS, NEVER = "auto", "always", "never"
REFIT = (AUTO, ALWAYS, NEVER)
_PEOPLE, _SUMMARY = "people.csv", "summary.txt"
_NEWS = 0.05  # share of what a model was fitted to that must be new before a refit pays
_FEW_NEWS = 5  # returns and finished coupons
_OLD_FILE = 60  # days since the last date of a file beyond which somebody forgot --date


@dataclass(frozen=True, eq=False)
class WeekResult:
    """What a week made."""

    week: Week
    folder: Path
    """Where its files are."""
    lines: tuple[str, ...]
    """Everything in words."""
    sheet: "CouponSheet | None"
    """This week's sheet; None where the week was made before and is shown again."""
    again: bool = False
    """Whether the week had been made before."""
