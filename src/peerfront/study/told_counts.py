"""Counts of people as a page may tell them, so that no group of fewer than five follows by subtraction.

Hiding a small count is not enough where a total is told, and so are the others. Tables that hold a group of one to four
people are told in bands (5 to 9, 10 to 14), wide enough that each such group could still be of several sizes, given
every total and sum that the page tells; that is checked with whole-number programming (`foundation/subtraction.py`).
Where no width will do, the table is not told. What is told of everybody stays exact: the people of the study, the
people who wait, the coupons of the plan.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from peerfront.foundation.privacy import FEWEST, rounded_count, rounded_counts
from peerfront.foundation.subtraction import Span
from peerfront.foundation.words import percent
from peerfront.models.model_diagnostics import CapacityReport, OffspringReport, share_interval

NOT_TOLD = "\N{EN DASH}"
WIDTHS = (1, 5, 10, 20, 50)
"""Widths of bands, narrowest first; 1 tells the number."""
MOST_ROWS = 12
"""Rows up to which tables with small groups are told in bands; longer ones are not told."""


def told(span: Span) -> str:
    """A count, or the band it lies in."""
    low, high = span
    if low == high:
        return f"{low:,}"
    return f"under {high + 1:,}" if low == 0 else f"{low:,} to {high:,}"


def told_about(count: int) -> str:
    """A count to the nearest five."""
    return f"about {rounded_count(count):,}" if count > FEWEST // 2 else f"under {FEWEST}"


def told_few(count: int) -> str:
    """A count that is part of no sum: exactly, unless it is small."""
    return f"under {FEWEST}" if 0 < count < FEWEST else f"{count:,}"


def told_share(part: int, whole: int) -> str:
    """The share of people to whom something applies, unless these or the others are few."""
    if 0 < part < FEWEST:
        return f"under {FEWEST} people"
    if 0 < whole - part < FEWEST:
        return "nearly all"
    return percent(part / whole) if whole else NOT_TOLD


# Pictures and tables of shares -------------------------------------------------------------------------------------


def told_capacity(report: CapacityReport) -> CapacityReport:
    """How many people brought 0, 1, 2, ..., as a picture may show it: from counts to the nearest five alone.

    The numbers who brought at least 1, 2, ... are rounded, as a saved model tells them, and nothing else enters.
    """
    observed = report.rootogram["observed"].to_numpy(dtype=np.int64)
    at_least = rounded_counts(np.cumsum(observed[::-1])[::-1])
    scale = at_least[0] / max(observed.sum(), 1)
    rootogram = report.rootogram.assign(
        observed=at_least - np.append(at_least[1:], 0.0), expected=report.rootogram["expected"] * scale
    )
    calibration = report.calibration.copy()
    used = rounded_counts((calibration["observed"] * calibration["people"]).round())
    people = np.maximum(rounded_counts(calibration["people"]), FEWEST)
    shares = np.minimum(used / people, 1.0)
    low, high = zip(*(share_interval(s, int(n)) for s, n in zip(shares, people, strict=True)), strict=True)
    return replace(
        report,
        rootogram=rootogram,
        calibration=calibration.assign(people=people, observed=shares, low=low, high=high),
    )


def told_offspring(report: OffspringReport, homophily: pd.DataFrame) -> OffspringReport:
    """Shares of recruits like their recruiter, as a picture may show them: as `told_homophily` tells them."""
    return replace(report, fields=report.fields.assign(match_data=homophily["same"].to_numpy()))


def told_homophily(table: pd.DataFrame) -> pd.DataFrame:
    """Homophily from counts to the nearest five; intervals and chance to whole percents.

    Where fewer than five pairs are alike, or fewer than five are not, the share is 0 or 1 and has no interval.
    """
    pairs = table["pairs"].to_numpy(dtype=np.float64)
    alike = np.nan_to_num(table["same"].to_numpy(dtype=np.float64)) * pairs
    rounded = rounded_counts(pairs)
    same = np.clip(rounded_counts(alike.round()) / np.maximum(rounded, 1.0), 0.0, 1.0)
    few, all_but_few = alike.round() < FEWEST, (pairs - alike).round() < FEWEST
    same = np.where(few, 0.0, np.where(all_but_few, 1.0, same))
    hidden = few | all_but_few
    shown = table.assign(pairs=rounded.astype(np.int64), same=np.where(rounded > 0, same, np.nan))
    for name in ("low", "high", "chance", "chance_low", "chance_high"):
        shown[name] = table[name].round(2)
    shown["low"] = np.where(hidden, np.nan, np.minimum(shown["low"], shown["same"]))
    shown["high"] = np.where(hidden, np.nan, np.maximum(shown["high"], shown["same"]))
    chance, told_same = shown["chance"].to_numpy(dtype=np.float64), shown["same"].to_numpy(dtype=np.float64)
    span = np.where(told_same >= chance, 1.0 - chance, chance)
    index = np.divide(told_same - chance, span, out=np.zeros(len(span)), where=span > 0)
    shown["index"] = np.where(hidden, np.nan, index.round(2))
    return shown
