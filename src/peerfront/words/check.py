"""What `peerfront check` says of a study's file."""

from collections.abc import Iterable

import pandas as pd

from peerfront.data.problems import Problem


def problem_table(problems: Iterable[Problem]) -> pd.DataFrame:
    """The problems as a table for people."""
    columns = ["severity", "row", "person", "problem", "what", "what to do"]
    rows = [
        (p.severity.value, "" if p.row is None else p.row, p.person, str(p.title), str(p.message), str(p.remedy))
        for p in problems
    ]
    return pd.DataFrame(rows, columns=columns)
