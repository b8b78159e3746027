"""A picture of how well a response model fits, for readers who know statistics but not this program."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from peerfront.foundation.pictures import NARROW, new_figure
from peerfront.models.model_diagnostics import CapacityReport
from peerfront.words.language import say

_OBSERVED, _EXPECTED = "#56B4E9", "#D55E00"


def capacity_figure(report: CapacityReport, title: str = "", *, narrow: bool = False) -> Figure:
    """Draw a hanging rootogram (bars end at zero if the model fits), and observed against predicted use of each coupon.

    In a narrow figure they stand one below the other.
    """
    figure = new_figure(NARROW, 7.4) if narrow else new_figure(9, 4.1)
    left, right = figure.subplots(2, 1) if narrow else figure.subplots(1, 2)
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 1 if narrow else 2, "frameon": False}
    counts = report.rootogram["recruits"].to_numpy()
    expected, observed = (np.sqrt(report.rootogram[name].to_numpy(float)) for name in ("expected", "observed"))
    left.bar(counts, observed, bottom=expected - observed, color=_OBSERVED, label=str(say("seen, hung from the curve")))
    left.plot(counts, expected, color=_EXPECTED, marker="o", label=str(say("expected by the model")))
    left.axhline(0.0, color="black", linewidth=0.8)
    left.set(xlabel=str(say("recruits of a person")), ylabel=str(say("people (square root)")))
    left.set_title(str(say("People by how many they brought")))
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.legend(**below)
    table = report.calibration
    reach = np.array([table["observed"] - table["low"], table["high"] - table["observed"]])
    seen, predicted = str(say("seen, with 95% interval")), str(say("predicted by the model"))
    right.errorbar(table["coupon"], table["observed"], yerr=reach, fmt="s", color=_OBSERVED, label=seen)
    right.plot(table["coupon"], table["predicted"], color=_EXPECTED, marker="o", label=predicted)
    right.set(xlabel=str(say("coupon")), ylabel=str(say("share used")), ylim=(0.0, 1.02))
    right.set_title(str(say("Is each coupon used as predicted?")))
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.legend(**below)
    if title:
        figure.suptitle(title)
    return figure
