"""A made study of twelve weeks in which hardly anything is as models assume.

Interviews are on weekdays only, coupons are handed out on Mondays to those interviewed the week before, they expire
after 60 days, and rows enter the file some days after the interview.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from peerfront.foundation.randomness import named_generator

FIRST = pd.Timestamp("2024-03-04")  # a Monday
VALID_DAYS = 60
USE = 0.5
"""Chance that a coupon would be used, ever; fewer are used in time."""


@dataclass(frozen=True)
class MadeStudy:
    """All rows of the study, whenever they were entered."""

    rows: pd.DataFrame  # id, recruiter.id, coupons.issued, date, issued_date, and the days `interview` and `entered`

    def file_on(self, day: int) -> pd.DataFrame:
        """The file as it stood in the evening of a day."""
        there = self.rows[self.rows["entered"] <= day].copy()
        not_yet = there["issued"] > day
        there.loc[not_yet, "coupons.issued"] = "0"
        there.loc[not_yet, "issued_date"] = ""
        return there.drop(columns=["interview", "issued", "entered"]).reset_index(drop=True)


def date_of(day: int) -> str:
    """A day of the study as its file has it."""
    return (FIRST + pd.Timedelta(days=day)).strftime("%Y-%m-%d")


def made_study(seed: int = 0, weeks: int = 12, seeds: int = 30) -> MadeStudy:
    """Draw the study; each coupon is used on its own, after a lognormal time (median 20 days, quartiles 10 and 40)."""
    rng = named_generator("a made calendar", seed)
    waiting = [(int(day), "seed") for day in rng.integers(0, 14, seeds)]
    rows = []
    while waiting:
        waiting.sort()
        day, recruiter = waiting.pop(0)
        interview = day + max(0, 7 - day % 7) if day % 7 > 4 else day  # after a weekend, on Monday
        if interview >= 7 * weeks:
            continue
        person = f"p{len(rows):04d}"
        issued = interview + 7 - interview % 7
        entered = interview + int(rng.geometric(0.4)) - 1
        coupons = int(rng.integers(2, 4))
        sex = "fm"[int(rng.integers(2))]
        rows.append((person, recruiter, str(coupons), date_of(interview), date_of(issued), sex, interview, issued,
                     max(entered, interview)))  # fmt: skip
        for _ in range(coupons):
            lag = int(np.ceil(20.0 * np.exp(1.03 * rng.standard_normal()) - 0.5))
            if rng.random() < USE and lag <= VALID_DAYS:
                waiting.append((issued + lag, person))
    names = ["id", "recruiter.id", "coupons.issued", "date", "issued_date", "sex", "interview", "issued", "entered"]
    return MadeStudy(pd.DataFrame(rows, columns=names))
