"""Designs in words: what each rule for coupons brings and costs, which one to use, and a picture."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from peerfront.estimates.estimators import RDS_II
from peerfront.foundation.messages import Measured, Remedy
from peerfront.foundation.shown import visible
from peerfront.study.design_results import (
    FEW_STUDIES,
    LEAST_COVERAGE,
    MOST_ERROR,
    acceptable,
    best_simple,
    recommendation,
    recommended,
)
from peerfront.words.language import Text, joined, percent, say, say_n, warn
from peerfront.words.result_table import ResultTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from peerfront.study.design import Design

_MARKERS = "oDs^vP*X<>hp"
_GREY = "#999999"


def design_lines(design: "Design") -> list[Text]:
    """What each rule brings and costs, and which one to use."""
    rules, table = design.rules, design.table
    if "rmse" not in rules or not np.isfinite(rules.iloc[0].get("rmse", np.nan)):
        return [warn("The studies were too small to estimate anything. Give more coupons, or people who bring more.")]
    lines = [_rule_line(row, best_simple(rules)) for row in rules.to_dict("records")]
    plain = table[(table["estimator"] == RDS_II) & (table["rule"] != rules.iloc[0]["rule"])]
    if len(plain):
        worst = plain.iloc[int(plain["bias"].abs().to_numpy().argmax())]
        lines.append(
            say(
                "Plain RDS-II, which counts on the same number for everybody, would be off by up to {bias:+.3f} on "
                "average ({rule}).",
                bias=worst["bias"],
                rule=worst["rule"],
            )
        )
    return [*lines, *_advice(rules)]


def _rule_line(row: Mapping[Any, Any], first: "pd.Series[Any]") -> Text:
    recruits = say("{rule}: {recruits:.0f} recruits", rule=row["rule"], recruits=row["recruits"])
    if row["rule"] != first["rule"]:
        recruits = say(
            "{rule}: {recruits:.0f} recruits ({more:+.0f})",
            rule=row["rule"], recruits=row["recruits"], more=row["recruits"] - first["recruits"],
        )  # fmt: skip
    if not np.isfinite(row.get("rmse", np.nan)):
        return say("{rule_and_recruits}; no valid estimate in any study.", rule_and_recruits=recruits)
    missing = row["studies"] - row["estimated"]
    off = say(
        "{rule_and_recruits}; the advised estimate is off by {rmse:.3f} (bias {bias:+.3f}, 95%), and its 95% "
        "intervals hold the truth in {coverage} of {estimated:.0f} studies.",
        rule_and_recruits=recruits, rmse=row["rmse"], coverage=percent(row["coverage"]), estimated=row["estimated"],
        bias=Measured.of(row["bias"], row["bias_error"], stdtrit(row["estimated"] - 1, 0.975)),
    )  # fmt: skip
    without = say(
        "No valid estimate in {missing:.0f} of {studies:.0f} studies.", missing=missing, studies=row["studies"]
    )
    return joined([off, without]) if missing else off


def _advice(rules: pd.DataFrame) -> Iterator[Text]:
    studies, best, first = int(rules["studies"].min()), recommendation(rules), best_simple(rules)
    if studies < FEW_STUDIES:
        yield warn(
            "{studies} studies are too few to recommend a rule; play at least {few}, better 200.",
            studies=studies,
            few=FEW_STUDIES,
        )
        return
    if best is None:
        yield warn(
            "Under no rule do the advised intervals hold the truth often enough. Record more of what people are like "
            "as strata ({strata}), or give fewer people more than others. The estimate is nearest to the truth under "
            "this rule: {rule}.",
            strata=Remedy("strata", "FIELD"),
            rule=rules.iloc[int(np.nanargmin(rules["rmse"].to_numpy(dtype=np.float64)))]["rule"],
        )
        return
    values = {"rule": best.rule, "recruits": best.recruits, "coverage": percent(LEAST_COVERAGE), "error": MOST_ERROR}
    compared = {"more": abs(best.more), "first": first["rule"], "share": percent(abs(best.more) / first["recruits"])}
    if best.rule == first["rule"]:
        yield say("Use this rule: {rule}. It brings {recruits:.0f} recruits.", **values)
    elif best.more >= 0:
        yield say(
            "Use this rule: {rule}. It brings {recruits:.0f} recruits, {more:.0f} more than {first} ({share}).",
            **values, **compared,
        )  # fmt: skip
    else:
        yield say(
            "Use this rule: {rule}. It brings {recruits:.0f} recruits, {more:.0f} fewer than {first} ({share}).",
            **values, **compared,
        )  # fmt: skip
    yield say(
        "These are the most of those rules whose estimate can be trusted (intervals hold the truth in about {coverage} "
        "of the studies or more) and is nearly as exact as any (an error of at most {error:g} times the smallest).",
        **values,
    )
    if best.bias is not None:
        yield warn(
            "Its estimate is still off by {bias:+.3f} on average. Record more of what people are like as strata "
            "({strata}).",
            bias=best.bias,
            strata=Remedy("strata", "FIELD"),
        )
    if best.price:
        yield say_n(
            "The plan without restrictions would bring {n} recruit more, but an estimate one cannot trust.",
            "The plan without restrictions would bring {n} recruits more, but an estimate one cannot trust.",
            best.price,
        )


# Tables --------------------------------------------------------------------------------------------------------------

_COLUMNS = {
    "recruits": (say("recruits"), "{:.0f}"),
    "coupons": (say("coupons"), "{:.0f}"),
    "estimated": (say("studies"), "{:.0f}"),
    "bias": (say("bias"), "{:+.3f}"),
    "rmse": (say("error (rms)"), "{:.3f}"),
    "coverage": (say("coverage"), "{:.0%}"),
    "design_effect": (say("design effect"), "{:.1f}"),
}


def design_tables(design: "Design") -> tuple[ResultTable, ResultTable]:
    """Two tables: each rule with its advised estimate, and every estimator under each rule."""
    return (
        _table(say("Rules, with the estimate that is advised"), design.rules, {"rule": say("rule")}),
        _table(say("Every estimator"), design.table, {"rule": say("rule"), "estimator": say("estimator")}),
    )


def _table(title: Text, frame: pd.DataFrame, names: Mapping[str, Text]) -> ResultTable:
    columns = {name: both for name, both in _COLUMNS.items() if name in frame.columns}
    rows = []
    before = ""
    for row in frame.to_dict("records"):
        shown = {name: row[name] for name in names} | {"rule": "" if row["rule"] == before else row["rule"]}
        values = ["" if row[name] != row[name] else form.format(row[name]) for name, (_, form) in columns.items()]
        rows.append((*(shown[name] for name in names), *values))
        before = row["rule"]
    headings = (*names.values(), *(heading for heading, _ in columns.values()))
    return ResultTable(title, headings, tuple(rows), len(names))


# The picture ---------------------------------------------------------------------------------------------------------


def design_figure(design: "Design", *, narrow: bool = False) -> "Figure":
    """Draw the error of the advised estimate (filled) and of plain RDS-II (hollow, grey) against recruits."""
    from peerfront.foundation.pictures import COLOURS, NARROW, new_figure

    rules, table = design.rules, design.table
    figure = new_figure(NARROW if narrow else 8.2, 5.6 if narrow else 5.0)
    axis = figure.subplots()
    estimated = rules[rules.get("rmse", pd.Series(np.nan, index=rules.index)).notna()]
    if not len(estimated):
        nothing = str(say("No study gave an estimate."))
        axis.text(0.5, 0.5, nothing, ha="center", va="center", transform=axis.transAxes)
        return figure
    fine, best = dict(zip(rules["rule"], acceptable(rules), strict=True)), recommended(rules)
    for place, row in enumerate(estimated.to_dict("records")):
        marker, colour = _MARKERS[place % len(_MARKERS)], COLOURS[place % len(COLOURS)]
        plain = table[(table["rule"] == row["rule"]) & (table["estimator"] == RDS_II)]
        if len(plain):
            axis.plot(row["recruits"], plain.iloc[0]["rmse"], marker, color=_GREY, fillstyle="none", markersize=8)
        spread = row["rmse"] / np.sqrt(2.0 * max(row["estimated"], 1.0))
        reach = 0.0 if np.isnan(row["recruits_error"]) else 1.96 * row["recruits_error"]
        is_best = row["rule"] == best
        name = visible(str(row["rule"]), 60)
        label = say("{rule} (use this)", rule=name) if is_best else name
        axis.errorbar(
            row["recruits"], row["rmse"], yerr=1.96 * spread, xerr=reach, fmt=marker, color=colour,
            markersize=11 if is_best else 8, capsize=2, linewidth=1.0,
            markeredgecolor="black" if is_best else colour, markeredgewidth=2.0 if is_best else 1.0,
            label=f"{label}{'' if fine[row['rule']] else ' *'}",
        )  # fmt: skip
    axis.set(xlabel=str(say("recruits")), ylabel=str(say("error of the estimate (root mean square)")))
    axis.set_ylim(bottom=0.0)
    wide = say("What a rule for coupons brings, and what it costs")
    axis.set_title(str(say("Recruits and error, by rule") if narrow else wide))
    axis.grid(alpha=0.3)
    legend = [
        say("filled: the estimate that is advised; hollow: plain RDS-II"),
        say("* its estimate is too far off, or missing in some studies; whiskers: 95% intervals"),
    ]
    figure.legend(
        loc="outside lower center", ncols=1 if narrow else 2, frameon=False, fontsize=8 if narrow else 9,
        title="\n".join(map(str, legend)), title_fontsize=6.5 if narrow else 8.5,
    )  # fmt: skip
    return figure
