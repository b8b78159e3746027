"""The results of a design: tables by rule and estimator, the rule to use, and the folder that keeps its studies."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.foundation.errors import DamagedFile, DataFileError
from peerfront.foundation.files import LARGEST_FILE
from peerfront.foundation.messages import Remedy
from peerfront.foundation.own_files import own_bytes, own_json

PER_NETWORK = 10
"""Studies that are played on one network before another is drawn."""
PLAN = "the plan"
"""The name of the rule that is the plan without restrictions."""
SETTINGS_FILE, ROWS_FILE = "settings.json", "repetitions.csv"
ROW_COLUMNS = (
    "rule", "repetition", "recruits", "coupons", "truth", "estimator", "estimate", "low", "high", "design_effect",
    "valid", "advised",
)  # fmt: skip
_KINDS = {
    "rule": "str", "estimator": "str", **dict.fromkeys(("repetition", "recruits", "coupons"), "int64"),
    **dict.fromkeys(("truth", "estimate", "low", "high", "design_effect"), "float64"),
    **dict.fromkeys(("valid", "advised"), "bool"),
}  # fmt: skip
ADVISED = "as advised"
"""The estimator that `estimate` would use, study by study."""
MOST_ERROR = 1.2
"""Largest root mean square error of a recommended rule, relative to that of the most exact rule."""
MOST_BIAS = 0.02
"""Largest bias of a recommended rule that is more than chance, if other rules have less."""
LEAST_COVERAGE, MOSTLY = 0.9, 0.95
FEW_STUDIES = 20
"""Studies below which nothing is recommended."""


_SIMPLE = ("3 each", "2 each", "1 each", "as so far", "threshold")  # rules that need no plan


def simple_name(policy: str) -> str:
    """The name of a simple rule in a design: that of its policy, without settings."""
    return policy.partition(":")[0]


def best_simple(rules: pd.DataFrame) -> "pd.Series[Any]":
    """The simple rule with the most recruits, which others are compared with; the first rule if there is none."""
    simple = rules[rules["rule"].isin(_SIMPLE)]
    return rules.iloc[0] if simple.empty else simple.iloc[int(simple["recruits"].to_numpy().argmax())]


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
    estimated = rows[rows["estimate"].notna()]
    off = (estimated["estimate"] - estimated["truth"]).to_numpy(dtype=np.float64)
    bounded = estimated[estimated["low"].notna()]
    inside = (bounded["low"] <= bounded["truth"]) & (bounded["truth"] <= bounded["high"])
    some = len(off) > 0
    return {
        "studies": studies,
        "estimated": len(off),
        "bias": float(off.mean()) if some else np.nan,
        "bias_error": _error(off),
        "rmse": float(np.sqrt((off**2).mean())) if some else np.nan,
        "coverage": float(inside.mean()) if len(bounded) else np.nan,
        "design_effect": float(estimated["design_effect"].median()) if some else np.nan,
        "valid": float(rows["valid"].astype(bool).mean()),
    }


def _error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def trusted(rules: pd.DataFrame) -> NDArray[np.bool_]:
    """Mark rules that nearly always give an estimate, with intervals that cover the truth about as often as stated."""
    if "coverage" not in rules:
        return np.zeros(len(rules), dtype=bool)
    chance = 2.0 * np.sqrt(LEAST_COVERAGE * (1.0 - LEAST_COVERAGE) / np.maximum(rules["estimated"].fillna(0.0), 1.0))
    fine = (rules["coverage"] >= LEAST_COVERAGE - chance) & (rules["estimated"] >= MOSTLY * rules["studies"])
    return np.asarray(fine.to_numpy(dtype=bool))


def acceptable(rules: pd.DataFrame) -> NDArray[np.bool_]:
    """Mark trusted rules nearly as exact as the best of them; only those without clear bias, if there are any."""
    fine = trusted(rules)
    if not fine.any():
        return fine
    errors = rules["rmse"].to_numpy(dtype=np.float64)
    fine = np.asarray(fine & (errors <= MOST_ERROR * np.nanmin(errors[fine])))
    unbiased = fine & ~clearly_biased(rules)
    return unbiased if unbiased.any() else fine


def clearly_biased(rules: pd.DataFrame) -> NDArray[np.bool_]:
    """Mark rules whose advised estimates are biased by more than chance explains, and by enough to matter."""
    bias, error = (rules[name].to_numpy(dtype=np.float64) for name in ("bias", "bias_error"))
    return np.asarray(np.abs(bias) > np.fmax(2.0 * error, MOST_BIAS))


def recommended(rules: pd.DataFrame) -> str | None:
    """The rule with the most recruits among the acceptable ones; None if no rule can be trusted."""
    fine = rules[acceptable(rules)]
    return str(fine["rule"].iloc[int(fine["recruits"].to_numpy().argmax())]) if len(fine) else None


@dataclass(frozen=True)
class Recommendation:
    """Which rule to use, compared with the best simple rule and with the plan without restrictions."""

    rule: str
    recruits: float
    more: float
    """Recruits compared with the best simple rule; negative if there are fewer."""
    bias: float | None
    """The bias of its estimate; None if it is not clear."""
    price: int
    """How many more recruits the plan without restrictions would bring."""


def recommendation(rules: pd.DataFrame) -> Recommendation | None:
    """The rule to use; None if too few studies were played (`FEW_STUDIES`) or if no rule can be trusted."""
    name = recommended(rules)
    if name is None or int(rules["studies"].min()) < FEW_STUDIES:
        return None
    best, free = rules[rules["rule"] == name].iloc[0], rules[rules["rule"] == PLAN]
    is_biased = bool(clearly_biased(rules)[rules["rule"] == name].any())
    return Recommendation(
        name,
        float(best["recruits"]),
        float(best["recruits"] - best_simple(rules)["recruits"]),
        float(best["bias"]) if is_biased else None,
        max(round(free.iloc[0]["recruits"] - best["recruits"]), 0) if len(free) else 0,
    )


# The folder of a design ----------------------------------------------------------------------------------------------


def in_order(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Sort all rows by study and rule, so that they are the same whether or not the work was interrupted."""
    rows = pd.concat([part for part in parts if len(part)], ignore_index=True)
    order = {rule: place for place, rule in enumerate(dict.fromkeys(rows["rule"]))}
    network = rows["repetition"].astype(int) // PER_NETWORK
    return (
        rows.assign(_network=network, _place=rows["rule"].map(order))
        .sort_values(["_network", "_place", "repetition"], kind="stable")
        .drop(columns=["_network", "_place"])
        .reset_index(drop=True)
    )


def kept_rows(folder: Path, record: dict[str, Any]) -> pd.DataFrame:
    """Read the studies that a folder holds, if they were simulated with the same settings."""
    empty = pd.DataFrame(columns=list(ROW_COLUMNS))
    settings, file, overwrite = folder / SETTINGS_FILE, folder / ROWS_FILE, Remedy("overwrite", True)
    if not settings.exists():
        return empty
    try:
        saved = own_json(settings, {})
        rows = pd.read_csv(io.BytesIO(own_bytes(file, LARGEST_FILE)), dtype=_KINDS) if file.exists() else empty
    except (DamagedFile, ValueError) as problem:
        fault = problem.fault if isinstance(problem, DamagedFile) else str(problem)
        raise DataFileError("design.unreadable", folder=folder, problem=fault, overwrite=overwrite) from None
    if saved != record:
        names = sorted(name for name in {*saved, *record} if saved.get(name) != record.get(name))
        raise DataFileError("design.other_settings", folder=folder, names=names, overwrite=overwrite)
    same = rows.duplicated(["rule", "repetition", "estimator"]).any() if tuple(rows.columns) == ROW_COLUMNS else True
    if same or (rows[["repetition", "recruits", "coupons"]] < 0).any(axis=None):
        raise DataFileError("design.changed_rows", file=file, overwrite=overwrite)
    return rows.assign(estimator=rows["estimator"].fillna(""))
