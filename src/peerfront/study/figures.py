"""Pictures of a study, its plan and its outlook, for a coordinator and an ethics board: no ids, no names."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from peerfront.data.study import NOBODY, Study
from peerfront.foundation.figures import COLOURS, NARROW, STYLES, label_of, new_figure, two_panels
from peerfront.foundation.words import n_coupons
from peerfront.study.stories import IN_WORDS

if TYPE_CHECKING:
    from peerfront.study.sheet import CouponSheet

_TREES_NAMED = 7
_OTHERS = "#BBBBBB"
_TREE_COLOURS = (*COLOURS[:_TREES_NAMED], _OTHERS)
MOST_DRAWN = 2000
"""People up to which each is drawn; above, a slice would be thinner than a line."""


# Coupon sheet ---------------------------------------------------------------------------------------------------------


def curve_figure(sheet: "CouponSheet") -> Figure:
    """Draw the recruits expected in all against the coupons given out this round, and mark the plan."""
    figure = new_figure(6.4, 4.0)
    axis = figure.subplots()
    axis.plot(sheet.curve["spend"], sheet.curve["value"], color=COLOURS[0], linewidth=2.0)
    planned = sheet.curve[sheet.curve["spend"] == sheet.spend]
    axis.plot(planned["spend"], planned["value"], "o", color=COLOURS[1], label=f"the plan: {n_coupons(sheet.spend)}")
    axis.set(xlabel="coupons given out this round", ylabel="recruits expected in all", title="Other numbers of coupons")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    return figure


# What a coupon does ---------------------------------------------------------------------------------------------------


def coupons_figure(known: Mapping[str, Any], *, narrow: bool = False) -> Figure:
    """Draw the recruits that 1, 2, 3, ... coupons would bring by each story that is left, with intervals.

    `known` is what a fit tells about coupons (`Findings.coupon_stories`).
    """
    figure = new_figure(NARROW if narrow else 7.2, 4.4)
    axis = figure.subplots()
    fewest, most = known["shown"]
    axis.axvspan(fewest - 0.35, most + 0.35, color="#EEEEEE", zorder=0, label="coupons that people of the study had")
    left = [story for story in known["stories"] if not story["ruled_out"]]
    for number, story in enumerate(left):
        coupons = np.arange(1, len(story["expected"]) + 1) + 0.06 * (number - (len(left) - 1) / 2)
        middle = np.array(story["expected"])
        reach = np.array([middle - np.array(story["low"]), np.array(story["high"]) - middle])
        axis.errorbar(
            coupons,
            middle,
            yerr=np.maximum(reach, 0.0),
            color=COLOURS[number % len(COLOURS)],
            linestyle=STYLES[number % len(STYLES)],
            marker="o",
            capsize=3,
            label=label_of(f"if {IN_WORDS[story['name']]} (weight {story['weight']:.0%})", narrow),
        )
    axis.set(xlabel="coupons for a person", ylabel="recruits expected, with 95% interval", title="What coupons bring")
    axis.set_ylim(bottom=0)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=1, frameon=False)
    return figure


# Recruitment trees ---------------------------------------------------------------------------------------------------


def tree_figure(study: Study, *, narrow: bool = False) -> Figure:
    """Draw who recruited whom, in layers (each person's recruits stand to the right of them), and people by wave."""
    largest, tree = _trees_by_size(study)
    if len(study) <= MOST_DRAWN:
        figure, (layers, counts) = two_panels(narrow)
        _draw_icicle(layers, study, tree)
    else:
        figure = new_figure(NARROW if narrow else 10.5, 4.8)
        counts = figure.subplots()
    waves = np.arange(int(study.trees.wave.max(initial=0)) + 1)
    below = np.zeros(len(waves))
    for number in range(min(len(largest), _TREES_NAMED + 1)):
        mine = tree == number if number < _TREES_NAMED else tree >= _TREES_NAMED
        people = np.bincount(study.trees.wave[mine], minlength=len(waves)).astype(np.float64)
        colour = _TREE_COLOURS[number]
        label = f"tree {number + 1}" if number < _TREES_NAMED else "smaller trees"  # sizes would tell of few people
        counts.bar(waves, people, bottom=below, color=colour, edgecolor="white", linewidth=0.4, label=label)
        below += people
    counts.set(
        xlabel="wave (seeds are wave 0)",
        ylabel="people",
        title="People by wave",
        ylim=(0, 1.05 * below.max(initial=1.0)),
    )
    counts.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside lower center", ncols=2 if narrow else 4, frameon=False)
    return figure


def _trees_by_size(study: Study) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Roots, the largest tree first, and for each person the place of their tree among them, [people]."""
    roots, inverse, sizes = np.unique(study.trees.root, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    place = np.empty(len(roots), dtype=np.int64)
    place[order] = np.arange(len(roots))
    return roots[order], place[inverse]


def _draw_icicle(axis: Axes, study: Study, tree: NDArray[np.int64]) -> None:
    """A person is a bar as high as the number of people at the ends of their chains."""
    top, height = icicle(study.recruiter, study.trees.wave, tree)
    wave = study.trees.wave.astype(np.float64)
    corners = np.stack(
        [
            np.stack([wave, top], axis=1),
            np.stack([wave + 1, top], axis=1),
            np.stack([wave + 1, top + height], axis=1),
            np.stack([wave, top + height], axis=1),
        ],
        axis=1,
    )  # [people, corners, 2]
    colours = [_TREE_COLOURS[min(number, _TREES_NAMED)] for number in tree.tolist()]
    thin = 0.6 if len(study) <= 400 else 0.2
    axis.add_collection(PolyCollection(list(corners), facecolors=colours, edgecolors="white", linewidths=thin))
    axis.set_xlim(0, wave.max(initial=0) + 1)
    axis.set_ylim(float((top + height).max(initial=1.0)), 0)
    ticks = np.arange(int(wave.max(initial=0)) + 1)
    shown = ticks[:: max(1, len(ticks) // 12)]
    axis.set_xticks(shown + 0.5, [str(t) for t in shown])
    axis.set_yticks([])
    axis.set(xlabel="wave", title="Who recruited whom")
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)


def icicle(
    recruiter: NDArray[np.int64], wave: NDArray[np.int64], tree: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where each person's bar begins and how high it is, [people] each: recruits lie within their recruiter's bar."""
    people = len(recruiter)
    height = np.zeros(people)
    deepest_first = np.argsort(-wave, kind="stable")
    for person in deepest_first.tolist():  # ends of chains count one; everybody else what their recruits count
        height[person] = max(height[person], 1.0)
        if recruiter[person] != NOBODY:
            height[recruiter[person]] += height[person]
    top = np.zeros(people)
    used = np.zeros(people)  # of each person's bar, by recruits placed so far
    at = 0.0
    for person in np.lexsort((np.arange(people), -height, tree, wave)).tolist():
        if recruiter[person] == NOBODY:
            top[person], at = at, at + height[person]
        else:
            top[person] = top[recruiter[person]] + used[recruiter[person]]
            used[recruiter[person]] += height[person]
    return top, height
