"""Random studies with dates, some of them missing or contradictory."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from peerfront.data.reading import study_from_table
from peerfront.data.study import Study

FIRST = pd.Timestamp("2024-03-01")


def day_text(day: int | None) -> str:
    """A day of a made study as its file has it."""
    return "" if day is None else (FIRST + pd.Timedelta(days=day)).strftime("%Y-%m-%d")


def study_of_rows(rows: list[tuple[str, str, str, str]], **columns: list[str]) -> Study:
    """A study of people with id, recruiter, coupons issued and date; more columns by name."""
    table = pd.DataFrame(rows, columns=["id", "recruiter.id", "coupons.issued", "date"], dtype=object)
    return study_from_table(table.assign(**columns), name="made.csv")


@st.composite
def dated_studies(draw: st.DrawFn) -> Study:
    """Trees of up to fourteen people over forty days; recruits may be dated before their recruiters."""
    people = draw(st.integers(1, 14))
    recruiter = [draw(st.integers(-1, i - 1)) for i in range(people)]
    days = st.one_of(st.none(), st.integers(0, 40))
    taken = [draw(st.integers(0, 40)), *(draw(days) for _ in range(people - 1))]
    brought = np.bincount([r for r in recruiter if r >= 0], minlength=people)
    rows = [
        (f"p{i}", "seed" if recruiter[i] < 0 else f"p{recruiter[i]}", str(brought[i] + draw(st.integers(0, 2))),
         day_text(taken[i]))
        for i in range(people)
    ]  # fmt: skip
    columns = {}
    for name in ("issued_date", "redeemed_date", "expiry_date"):
        if draw(st.booleans()):
            columns[name] = [day_text(draw(days)) for _ in range(people)]
    return study_of_rows(rows, **columns)
