"""What a design found: tables of every rule and estimator, the rule to use, and both in words."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.words import counted, percent

ROW_COLUMNS = (
    "rule", "repetition", "recruits", "coupons", "truth", "estimator", "estimate", "low", "high", "design_effect",
    "valid", "advised",
)  # fmt: skip
ADVISED = "as advised"
"""The estimator that `estimate` would use, study by study."""
MOST_ERROR = 1.2
"""Root mean square error that a recommended rule may have, for each of the most exact rule's."""
MOST_BIAS = 0.02
"""Bias that a recommended rule may have though it can be told from chance, if others have less."""
LEAST_COVERAGE, MOSTLY = 0.9, 0.95
_FEW = 20  # studies below which nothing is recommended


def summarised(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables by rule and estimator, and by rule alone (with the advised estimator)."""
    advised = rows[rows["advised"].astype(bool)].assign(estimator=ADVISED)
    named = rows[rows["estimator"].fillna("") != ""]
    studies = rows.groupby("rule", sort=False)["repetition"].nunique()
    parts = []
    for (rule, estimator), own in pd.concat([named, advised]).groupby(["rule", "estimator"], sort=False):
        parts.append({"rule": rule, "estimator": estimator, **_accuracy(own, int(studies[str(rule)]))})
    order = {rule: place for place, rule in enumerate(dict.fromkeys(rows["rule"]))}
    table = pd.DataFrame(parts)
    if len(table):
        table = table.sort_values("rule", key=lambda rules: rules.map(order), kind="stable").reset_index(drop=True)
    by_study = rows.drop_duplicates(["rule", "repetition"])
    rules = []
    for rule, own in by_study.groupby("rule", sort=False):
        brought = own["recruits"].to_numpy(dtype=np.float64)
        of_rule = table[(table["rule"] == rule) & (table["estimator"] == ADVISED)] if len(table) else table
        accuracy: dict[Any, Any] = {"studies": len(own)}
        if len(of_rule):
            accuracy = of_rule.iloc[0].drop(["rule", "estimator"]).to_dict()
        rules.append(
            {
                "rule": rule,
                "recruits": brought.mean(),
                "recruits_error": _error(brought),
                "coupons": own["coupons"].mean(),
                **accuracy,
            }
        )
    return table, pd.DataFrame(rules)


def _accuracy(rows: pd.DataFrame, studies: int) -> dict[str, float]:
    known = rows[rows["estimate"].notna()]
    off = (known["estimate"] - known["truth"]).to_numpy(dtype=np.float64)
    bounded = known[known["low"].notna()]
    inside = (bounded["low"] <= bounded["truth"]) & (bounded["truth"] <= bounded["high"])
    some = len(off) > 0
    return {
        "studies": studies,
        "estimated": len(off),
        "bias": float(off.mean()) if some else np.nan,
        "bias_error": _error(off),
        "rmse": float(np.sqrt((off**2).mean())) if some else np.nan,
        "coverage": float(inside.mean()) if len(bounded) else np.nan,
        "design_effect": float(known["design_effect"].median()) if some else np.nan,
        "valid": float(rows["valid"].astype(bool).mean()),
    }


def _error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def trusted(rules: pd.DataFrame) -> NDArray[np.bool_]:
    """Which rules give an estimate in nearly every study, whose intervals hold the truth about as often as they say."""
    if "coverage" not in rules:
        return np.zeros(len(rules), dtype=bool)
    chance = 2.0 * np.sqrt(LEAST_COVERAGE * (1.0 - LEAST_COVERAGE) / np.maximum(rules["estimated"].fillna(0.0), 1.0))
    fine = (rules["coverage"] >= LEAST_COVERAGE - chance) & (rules["estimated"] >= MOSTLY * rules["studies"])
    return np.asarray(fine.to_numpy(dtype=bool))


def acceptable(rules: pd.DataFrame) -> NDArray[np.bool_]:
    """Which rules can be trusted and are nearly as exact as the best of those; without clear bias, if there are any."""
    fine = trusted(rules)
    if not fine.any():
        return fine
    errors = rules["rmse"].to_numpy(dtype=np.float64)
    fine = np.asarray(fine & (errors <= MOST_ERROR * np.nanmin(errors[fine])))
    unbiased = fine & ~clearly_biased(rules)
    return unbiased if unbiased.any() else fine


def clearly_biased(rules: pd.DataFrame) -> NDArray[np.bool_]:
    """Which rules' advised estimates are off on average by more than chance explains, and by enough to matter."""
    bias, error = (rules[name].to_numpy(dtype=np.float64) for name in ("bias", "bias_error"))
    return np.asarray(np.abs(bias) > np.fmax(2.0 * error, MOST_BIAS))


def recommended(rules: pd.DataFrame) -> str | None:
    """The rule with the most recruits among the acceptable ones; None if no rule can be trusted."""
    fine = rules[acceptable(rules)]
    return str(fine["rule"].iloc[int(fine["recruits"].to_numpy().argmax())]) if len(fine) else None


def lines_of(rules: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Say what each rule brings and costs, and which one to use."""
    first, studies = rules.iloc[0], int(rules["studies"].min())
    if "rmse" not in rules or not np.isfinite(first.get("rmse", np.nan)):
        return ["The studies were too small to estimate anything. Give more coupons, or people who bring more."]
    lines = []
    for row in rules.to_dict("records"):
        more = row["recruits"] - first["recruits"]
        compared = "" if row["rule"] == first["rule"] else f" ({more:+.0f})"
        if not np.isfinite(row.get("rmse", np.nan)):
            lines.append(f"{row['rule']}: {row['recruits']:.0f} recruits{compared}; no valid estimate in any study.")
            continue
        missing = row["studies"] - row["estimated"]
        none = f"; no valid estimate in {missing:.0f} of {row['studies']:.0f} studies" if missing else ""
        lines.append(
            f"{row['rule']}: {row['recruits']:.0f} recruits{compared}; the advised estimate is off by "
            f"{row['rmse']:.3f} (bias {row['bias']:+.3f} +- {2 * row['bias_error']:.3f}), and its 95% intervals hold "
            f"the truth in {percent(row['coverage'])} of {row['estimated']:.0f} studies{none}."
        )
    plain = table[(table["estimator"] == "RDS-II") & (table["rule"] != first["rule"])]
    if len(plain):
        worst = plain.iloc[int(plain["bias"].abs().to_numpy().argmax())]
        lines.append(
            f"Plain RDS-II, which counts on the same number for everybody, would be off by up to {worst['bias']:+.3f} "
            f"on average ({worst['rule']})."
        )
    return [*lines, *_advice(rules, studies)]


def _advice(rules: pd.DataFrame, studies: int) -> list[str]:
    if studies < _FEW:
        return [f"{studies} studies are too few to recommend a rule; play at least {_FEW}, better 200."]
    name = recommended(rules)
    if name is None:
        closest = rules.iloc[int(np.nanargmin(rules["rmse"].to_numpy(dtype=np.float64)))]
        return [
            "Under no rule do the advised intervals hold the truth often enough. Record more of what people are like "
            "as strata (--strata), or give fewer people more than others. The estimate is nearest to the truth under "
            f"this rule: {closest['rule']}."
        ]
    first, best = rules.iloc[0], rules[rules["rule"] == name].iloc[0]
    more = best["recruits"] - first["recruits"]
    beside = (
        ""
        if name == first["rule"]
        else f", {abs(more):.0f} {'more' if more >= 0 else 'fewer'} than {first['rule']} "
        f"({percent(abs(more) / first['recruits'])})"
    )
    lines = [
        f"Use this rule: {name}. It brings {best['recruits']:.0f} recruits{beside}, the most of those whose estimate "
        f"can be trusted (intervals hold the truth in about {percent(LEAST_COVERAGE)} of the studies or more) and is "
        f"nearly as exact as any (an error of at most {MOST_ERROR:g} times the smallest)."
    ]
    if clearly_biased(rules)[rules["rule"] == name].any():
        lines.append(
            f"Its estimate is still off by {best['bias']:+.3f} on average. Record more of what people are like as "
            "strata (--strata)."
        )
    free = rules[rules["rule"] == "the plan"]
    price = round(free.iloc[0]["recruits"] - best["recruits"]) if len(free) else 0
    if price >= 1:
        lines.append(
            f"It costs {counted(price, 'recruit', 'recruits')} beside the free plan: the price of an estimate one can "
            "trust."
        )
    return lines
