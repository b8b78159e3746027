"""Comparisons as tables: means, errors and paired differences, as data, in Markdown and in the terminal.

With one draw the episodes are the sample. With several, each draw is another world and its episodes resemble each
other, so the draws are the sample: the standard error comes from the spread of the draw means, and 95% intervals use
Student's t with (draws - 1) degrees of freedom.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from peerfront.foundation.shown import visible

if TYPE_CHECKING:
    from rich.console import Group

    from peerfront.experiments.results import Results

METRICS = ("discounted_reward", "recruits")


@dataclass(frozen=True)
class Estimate:
    """A mean and how sure it is."""

    mean: float
    standard_error: float
    low: float
    high: float
    """The ends of the 95% interval."""


def estimate(values: NDArray[np.float64], draws: NDArray[np.int64]) -> Estimate:
    """The mean of `values` [episodes], clustered by `draws` [episodes] when there are several."""
    names, cluster = np.unique(draws, return_inverse=True)
    sample = values if len(names) == 1 else np.bincount(cluster, weights=values) / np.bincount(cluster)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Estimate(mean, float("nan"), float("nan"), float("nan"))
    error = float(sample.std(ddof=1) / np.sqrt(len(sample)))
    reach = float(student.ppf(0.975, len(sample) - 1)) * error
    return Estimate(mean, error, mean - reach, mean + reach)


def summary(episodes: pd.DataFrame) -> pd.DataFrame:
    """One row per world, discount, policy and metric."""
    rows = []
    for (world, discount, policy), group in episodes.groupby(["world", "discount", "policy"], sort=False):
        draws = group["draw"].to_numpy()
        for metric in METRICS:
            mean = estimate(group[metric].to_numpy(dtype=float), draws)
            keys = {"world": world, "discount": discount, "policy": policy, "metric": metric}
            rows.append({**keys, **_estimate_columns(mean, group)})
    return pd.DataFrame(rows)


def differences(episodes: pd.DataFrame) -> pd.DataFrame:
    """Paired differences `policy - against`, one row per world, discount, metric and pair of policies."""
    rows = []
    for (world, discount), group in episodes.groupby(["world", "discount"], sort=False):
        by_policy = {
            policy: part.set_index(["draw", "episode"]).sort_index()
            for policy, part in group.groupby("policy", sort=False)
        }
        for against, policy in combinations(by_policy, 2):
            one, other = by_policy[policy], by_policy[against]
            draws = one.index.get_level_values("draw").to_numpy()
            for metric in METRICS:
                # Same index on both sides: subtraction pairs the same people with the same luck.
                mean = estimate((one[metric] - other[metric]).to_numpy(dtype=float), draws)
                keys = {"world": world, "discount": discount, "policy": policy, "against": against, "metric": metric}
                rows.append({**keys, **_estimate_columns(mean, one.reset_index())})
    columns = ["world", "discount", "policy", "against", "metric", "mean", "standard_error", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, "draws", "episodes"])


def _estimate_columns(of: Estimate, group: pd.DataFrame) -> dict[str, float | int]:
    return {
        "mean": of.mean,
        "standard_error": of.standard_error,
        "low": of.low,
        "high": of.high,
        "draws": int(group["draw"].nunique()),
        "episodes": len(group),
    }


# Tables for people -----------------------------------------------------------------------------------------------

BOUND_ROW = "upper bound"
_TITLES = {"discounted_reward": "Discounted reward", "recruits": "Recruits"}


def _number(mean: float, error: float) -> str:
    return f"{mean:.1f}" if math.isnan(error) else f"{mean:.1f} ± {error:.1f}"


def _interval(row: pd.Series) -> str:
    return (
        f"{row['mean']:+.1f}"
        if math.isnan(row["low"])
        else f"{row['mean']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]"
    )


def mean_tables(results: "Results") -> list[tuple[str, list[str], list[list[str]]]]:
    """(title, header, rows) for each world and metric: a row per policy, a column per discount."""
    means = results.table
    tables = []
    for world in results.worlds:
        for metric, title in _TITLES.items():
            part = means[(means["world"] == world) & (means["metric"] == metric)]
            cells = {
                (row["policy"], row["discount"]): _number(row["mean"], row["standard_error"])
                for _, row in part.iterrows()
            }
            names = results.policies
            if metric == "discounted_reward" and results.bounds is not None:
                names = (*names, BOUND_ROW)
                cells |= {(BOUND_ROW, discount): text for discount, text in _bound_cells(results.bounds, world)}
            tables.append((f"{title} in {world}", *_layout(results, names, cells)))
    return tables


def _bound_cells(bounds: pd.DataFrame, world: str) -> list[tuple[float, str]]:
    own = bounds[bounds["world"] == world]
    cells = []
    for discount, part in own.groupby("discount", sort=False):
        mean = estimate(part["bound"].to_numpy(dtype=float), part["draw"].to_numpy())
        cells.append((float(str(discount)), _number(mean.mean, mean.standard_error)))
    return cells


def difference_tables(results: "Results", against: str | None = None) -> list[tuple[str, list[str], list[list[str]]]]:
    """Paired differences in discounted reward to one policy (the first unless named), with 95% intervals."""
    reference = against or results.policies[0]
    others = tuple(policy for policy in results.policies if policy != reference)
    if not others:
        return []
    pairs = results.differences
    pairs = pairs[pairs["metric"] == "discounted_reward"]
    flipped = pairs.rename(columns={"policy": "against", "against": "policy"})
    flipped = flipped.assign(mean=-flipped["mean"], low=-flipped["high"], high=-flipped["low"])
    both = pd.concat([pairs, flipped], ignore_index=True)
    tables = []
    for world in results.worlds:
        part = both[(both["world"] == world) & (both["against"] == reference)]
        cells = {(row["policy"], row["discount"]): _interval(row) for _, row in part.iterrows()}
        title = f"Discounted reward above {reference} in {world}, paired, 95% intervals"
        tables.append((title, *_layout(results, others, cells)))
    return tables


def _layout(
    results: "Results", policies: tuple[str, ...], cells: dict[tuple[str, float], str]
) -> tuple[list[str], list[list[str]]]:
    discounts = results.comparison.discounts
    header = ["policy", *(f"discount {discount:g}" for discount in discounts)]
    return header, [[policy, *(cells[policy, discount] for discount in discounts)] for policy in policies]


def markdown_report(results: "Results", against: str | None = None) -> str:
    """What was compared, the means, and the paired differences."""
    comparison = results.comparison
    rules = comparison.rules
    caps = "".join(
        f", at most {cap} coupons a {kind}"
        for cap, kind in ((rules.max_per_person, "person"), (rules.max_per_round, "round"))
        if cap is not None
    )
    draws, models = len(comparison.draws), comparison.models
    sample, errors = "1 draw", " over episodes of this one draw."
    if draws > 1:
        sample, errors = f"{draws} draws", f"; with {draws} draws these come from the spread between draws."
    planned_with = "the true models" if models == "oracle" else f"models fitted to a simulated history ({models})"
    lines = [
        "# Comparison",
        "",
        f"{rules.budget} coupons, {rules.people} people at the start, at most {rules.rounds} rounds{caps}. "
        f"{comparison.episodes} episodes in each of {sample}, the same people with the same luck for every policy "
        f"(seed {comparison.seed}). Policies plan with {planned_with}.",
        f"Means ± standard errors{errors}",
    ]
    if results.bounds is not None:
        lines += ["", "No policy, whatever it knows of the true models, can expect more than the upper bound."]
    for title, header, rows in [*mean_tables(results), *difference_tables(results, against)]:
        lines += ["", f"## {title}", "", markdown_table(header, rows)]
    return "\n".join(lines) + "\n"


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def terminal_tables(results: "Results", against: str | None = None) -> "list[Group]":
    """The same tables for the terminal, each below its title."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown = []
    for title, header, rows in [*mean_tables(results), *difference_tables(results, against)]:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column(header[0], overflow="fold", min_width=8)
        cells = [[cell.replace(" [", "\n[") for cell in row] for row in rows]  # intervals below: narrower
        for number, name in enumerate(header[1:], start=1):
            widest = max(len(line) for row in cells for line in row[number].split("\n"))
            # Numbers are never cut short; a long name is folded instead.
            table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True, min_width=widest)
        for row in cells:
            table.add_row(*(Text(visible(cell)) for cell in row))
        shown.append(Group(Text(visible(f"\n{title}"), style="bold"), table))
    return shown
