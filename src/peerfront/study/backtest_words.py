"""Whether forecasts can be trusted on a study, in words."""

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.words import counted, n_people, percent

if TYPE_CHECKING:
    from peerfront.study.backtest import Backtest

HELD = 0.65
"""Share of forecasts whose 8-of-10 band must hold what came, for forecasts to be called trustworthy."""
CLOSE = 0.2
"""Share of what came by which forecasts may miss in all."""
FEW_OFF = 10.0
"""Recruits by which they may always miss."""
FEWEST_CAME = 30
"""Recruits of a horizon, over all cuts, below which nothing is concluded."""
_FLAT_WEEKS, _FLAT_MEAN, _FLAT_VARIATION = 4, 5.0, 0.4


def flat_weeks(recruits: NDArray[np.int64]) -> bool:
    """Whether recruits came evenly, as if interviews were the limit.

    Of the weeks between the first and the last with recruits: at least 4, at least 5 recruits each on average, and a
    standard deviation of at most 40% of that. Chains that grow or die out vary more.
    """
    there = np.flatnonzero(recruits)
    if not len(there):
        return False
    inner = recruits[there[0] : there[-1] + 1]
    inner = inner[:-1] if len(inner) > _FLAT_WEEKS else inner  # the last week may not be whole
    if len(inner) < _FLAT_WEEKS or inner.mean() < _FLAT_MEAN:
        return False
    return bool(inner.std() / inner.mean() <= _FLAT_VARIATION)


def backtest_lines(test: "Backtest") -> list[str]:
    """The verdict first, then horizon by horizon, then what to know about it."""
    cuts = test.forecasts["cut"].nunique()
    where = "waves" if test.by_waves else "days"
    lines = [verdict_of(test.forecasts, test.coverage)]
    lines += [_horizon_line(row) for row in test.coverage.to_dict("records")]
    if test.by_waves:
        lines.append(
            "By waves nothing says when the study was closed: where it ended with coupons in people's hands, forecasts "
            "to the end are too high."
        )
    if test.is_flat:
        busiest = int(test.recruits["recruits"].max())
        usual = float(test.recruits["recruits"][test.recruits["recruits"] > 0].median())
        tried = test.settings.interviews_per_week
        lines.append(
            f"People came evenly, about {usual:.0f} a week (at most {busiest}), as if interviews were the limit: then "
            "coupons do not decide how many come in a week, and forecasts that do not know the limit promise too much. "
            + (
                f"These forecasts allow {tried:g} interviews a week."
                if tried is not None
                else f"Try --interviews-per-week {usual:.0f}, here and in forecast."
            )
        )
    lines.append(
        f"{test.source}, {n_people(test.people)}: {counted(len(test.forecasts), 'forecast', 'forecasts')} from "
        f"{cuts} {where if cuts != 1 else where[:-1]}, each with what was known then and with the numbers of coupons "
        "that people really got afterwards. Forecasts of one study are not independent, so that a few more or less "
        "inside their bands say little."
    )
    return [*lines, *test.notes]


def verdict_of(forecasts: pd.DataFrame, coverage: pd.DataFrame) -> str:
    """Whether forecasts can be trusted, near and far, with the counts that say so."""
    number, inside = len(forecasts), int(forecasts["inside"].sum())
    counts = f"In {inside} of {number} forecasts what came lay inside the 8-of-10 band"
    rows = coverage.to_dict("records")
    told = [row for row in rows if not _says_little(row)]
    good = [_ahead(row) for row in told if _is_trusted(row)]
    bad = [row for row in told if not _is_trusted(row)]
    little = [_ahead(row) for row in rows if _says_little(row)]
    sentences = [counts + "."]
    if good and not bad and not little:
        sentences = [f"{counts}: forecasts can be trusted on this study."]
    elif good:
        sentences.append(f"On this study forecasts can be trusted for {_listed(good)}.")
    if bad:
        faults = "; ".join(f"for {_ahead(row)} {_fault(row)}" for row in bad)
        sentences.append(f"Do not rely on {'others' if good else 'forecasts on this study'}: {faults}.")
    if little:
        sentences.append(f"Too few came to judge forecasts for {_listed(little)}.")
    return " ".join(sentences)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _says_little(row: Mapping[Hashable, Any]) -> bool:
    """Whether so few came, and were forecast, that bands hold anything."""
    return bool(max(row["middle"], row["realised"]) < FEWEST_CAME)


def _is_trusted(row: Mapping[Hashable, Any]) -> bool:
    """Whether enough bands held, and forecasts are not far off in all (a few people are never far)."""
    miss = abs(row["middle"] - row["realised"])
    return bool(row["inside"] >= HELD * row["forecasts"] and miss <= max(CLOSE * row["realised"], FEW_OFF))


def _fault(row: Mapping[Hashable, Any]) -> str:
    middle, realised = row["middle"], row["realised"]
    if abs(middle - realised) <= max(CLOSE * realised, FEW_OFF):
        return "they were right on average, with bands that are too narrow"
    what = "they promised too much" if middle > realised else "they expected too little"
    return f"{what} ({middle:,.0f} in all, and {realised:,.0f} came)"


def _ahead(row: Mapping[Hashable, Any]) -> str:
    """A horizon inside a sentence."""
    name = str(row["horizon"])
    return f"the {name}" if name.startswith("next") else "the rest of the study"


def _horizon_line(row: Mapping[Hashable, Any]) -> str:
    off = "no share" if np.isnan(row["bias"]) else _off(row["bias"])
    return (
        f"  {str(row['horizon'])[0].upper()}{str(row['horizon'])[1:]}: {row['inside']} of {row['forecasts']} inside; "
        f"the middle forecasts add up to {row['middle']:,.0f}, {row['realised']:,.0f} came ({off})."
    )


def _off(share: float) -> str:
    if not np.isfinite(share):
        return "everything"
    if abs(share) > 9.995:
        return f"{'+' if share > 0 else '-'}{abs(share):,.0f} times"
    return f"{'+' if share >= 0 else '-'}{percent(abs(share))}"
