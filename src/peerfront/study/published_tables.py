"""Tables that pages and pictures publish, computed from counts rounded to five, with small parts left out.

`published_counts.py` has the counts themselves.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from peerfront.foundation.privacy import FEWEST, rounded_counts
from peerfront.models.model_diagnostics import CapacityReport, OffspringReport, share_interval


def published_capacity(report: CapacityReport) -> CapacityReport:
    """People by number of recruits, and use of coupons, computed from counts rounded to five alone.

    Rounded are the numbers who brought at least 1, 2, ..., as in a saved model.
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


def published_offspring(report: OffspringReport, homophily: pd.DataFrame) -> OffspringReport:
    """Shares of recruits like their recruiter, as in `published_homophily`."""
    return replace(report, fields=report.fields.assign(match_data=homophily["same"].to_numpy()))


def published_homophily(table: pd.DataFrame) -> pd.DataFrame:
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
    chance, share = shown["chance"].to_numpy(dtype=np.float64), shown["same"].to_numpy(dtype=np.float64)
    span = np.where(share >= chance, 1.0 - chance, chance)
    index = np.divide(share - chance, span, out=np.zeros(len(span)), where=span > 0)
    shown["index"] = np.where(hidden, np.nan, index.round(2))
    return shown
