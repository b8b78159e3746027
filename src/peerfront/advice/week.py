"""A week of a running study: read the file, say what changed, refit if it pays, plan for who waits, look ahead by date.

`run_week` makes a `WeekResult` and keeps it in the study's folder (`study_folder`). The same file on the same day gives
the same answer: it is read back, not made again.
"""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from peerfront.advice.fitting import USUAL, FitSettings
from peerfront.advice.heading import Heading, name_of
from peerfront.advice.model import Model, fit, load
from peerfront.advice.study_folder import SCHEMA, StudyFolder, Week
from peerfront.advice.week_changes import Changes, HandedOut, changes_since, handed_out, snapshot
from peerfront.advice.week_order import WeekOrder
from peerfront.data.reading import read_study
from peerfront.data.schema_file import read_schema, schema_text
from peerfront.data.schema_guess import guess_schema
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema
from peerfront.foundation.claims import claimed_folder
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.files import write_text
from peerfront.foundation.progress import Progress, part_of, silent
from peerfront.foundation.spreadsheets import csv_text
from peerfront.foundation.words import counted, n_coupons, n_people

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
