"""The picture of a design: recruits against the error of the estimate, a point for each rule."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from peerfront.foundation.figures import COLOURS, NARROW, new_figure
from peerfront.foundation.shown import visible
from peerfront.study.design_results import acceptable, recommended

_MARKERS = "oDs^vP*X<>hp"
_GREY = "#999999"


def design_figure(rules: pd.DataFrame, table: pd.DataFrame, *, narrow: bool = False) -> Figure:
    """Draw the error of the advised estimate (filled) and of plain RDS-II (hollow, grey) against recruits."""
    figure = new_figure(NARROW if narrow else 8.2, 5.6 if narrow else 5.0)
    axis = figure.subplots()
    known = rules[rules.get("rmse", pd.Series(np.nan, index=rules.index)).notna()]
    if not len(known):
        axis.text(0.5, 0.5, "No study gave an estimate.", ha="center", va="center", transform=axis.transAxes)
        return figure
    fine, best = dict(zip(rules["rule"], acceptable(rules), strict=True)), recommended(rules)
    for place, row in enumerate(known.to_dict("records")):
        marker, colour = _MARKERS[place % len(_MARKERS)], COLOURS[place % len(COLOURS)]
        plain = table[(table["rule"] == row["rule"]) & (table["estimator"] == "RDS-II")]
        if len(plain):
            axis.plot(row["recruits"], plain.iloc[0]["rmse"], marker, color=_GREY, fillstyle="none", markersize=8)
        spread = row["rmse"] / np.sqrt(2.0 * max(row["estimated"], 1.0))
        reach = 0.0 if np.isnan(row["recruits_error"]) else 2.0 * row["recruits_error"]
        chosen = row["rule"] == best
        axis.errorbar(
            row["recruits"], row["rmse"], yerr=2.0 * spread, xerr=reach, fmt=marker, color=colour,
            markersize=11 if chosen else 8, capsize=2, linewidth=1.0,
            markeredgecolor="black" if chosen else colour, markeredgewidth=2.0 if chosen else 1.0,
            label=f"{visible(str(row['rule']), 60)}{' (use this)' if chosen else ''}"
            f"{'' if fine[row['rule']] else ' *'}",
        )  # fmt: skip
    axis.set(xlabel="recruits", ylabel="error of the estimate (root mean square)")
    axis.set_ylim(bottom=0.0)
    axis.set_title("Recruits and error, by rule" if narrow else "What a rule for coupons brings, and what it costs")
    axis.grid(alpha=0.3)
    figure.legend(
        loc="outside lower center", ncols=1 if narrow else 2, frameon=False, fontsize=8 if narrow else 9,
        title="filled: the estimate that is advised; hollow: plain RDS-II\n"
        "* its estimate is too far off, or missing in some studies; whiskers: chance in the simulation",
        title_fontsize=6.5 if narrow else 8.5,
    )  # fmt: skip
    return figure
