"""Comparisons as tables a person reads: in Markdown and in the terminal."""

import math

import pandas as pd
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from peerfront.experiments.results import Results
from peerfront.experiments.statistics import estimate

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


def mean_tables(results: Results) -> list[tuple[str, list[str], list[list[str]]]]:
    """(title, header, rows) for each world and metric: a row per policy, a column per discount."""
    means = results.summary
    found = []
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
            found.append((f"{title} in {world}", *_layout(results, names, cells)))
    return found


def _bound_cells(bounds: pd.DataFrame, world: str) -> list[tuple[float, str]]:
    own = bounds[bounds["world"] == world]
    found = []
    for discount, part in own.groupby("discount", sort=False):
        mean = estimate(part["bound"].to_numpy(dtype=float), part["draw"].to_numpy())
        found.append((float(str(discount)), _number(mean.mean, mean.standard_error)))
    return found


def difference_tables(results: Results, against: str | None = None) -> list[tuple[str, list[str], list[list[str]]]]:
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
    found = []
    for world in results.worlds:
        part = both[(both["world"] == world) & (both["against"] == reference)]
        cells = {(row["policy"], row["discount"]): _interval(row) for _, row in part.iterrows()}
        title = f"Discounted reward above {reference} in {world}, paired, 95% intervals"
        found.append((title, *_layout(results, others, cells)))
    return found


def _layout(
    results: Results, policies: tuple[str, ...], cells: dict[tuple[str, float], str]
) -> tuple[list[str], list[list[str]]]:
    discounts = results.comparison.discounts
    header = ["policy", *(f"discount {discount:g}" for discount in discounts)]
    return header, [[policy, *(cells[policy, discount] for discount in discounts)] for policy in policies]


def markdown_report(results: Results, against: str | None = None) -> str:
    """What was compared, the means, and the paired differences."""
    asked = results.comparison
    rules = asked.rules
    caps = "".join(
        f", at most {cap} vouchers a {kind}"
        for cap, kind in ((rules.max_per_person, "person"), (rules.max_per_round, "round"))
        if cap is not None
    )
    lines = [
        "# Comparison",
        "",
        f"{rules.budget} vouchers, {rules.people} people at the start, at most {rules.rounds} rounds{caps}. "
        f"{asked.episodes} episodes in each of {len(asked.draws)} draw{'s' if len(asked.draws) > 1 else ''}, "
        f"the same people with the same luck for every policy (seed {asked.seed}). Policies plan with "
        + (
            "the true models."
            if asked.models == "oracle"
            else f"models fitted to a simulated history ({asked.models})."
        ),
        "Means ± standard errors"
        + (
            f"; with {len(asked.draws)} draws these come from the spread between draws."
            if len(asked.draws) > 1
            else " over episodes of this one draw."
        ),
    ]
    if results.bounds is not None:
        lines += ["", "No policy, whatever it knows of the true models, can expect more than the upper bound."]
    for title, header, rows in [*mean_tables(results), *difference_tables(results, against)]:
        lines += ["", f"## {title}", "", markdown_table(header, rows)]
    return "\n".join(lines) + "\n"


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def terminal_tables(results: Results, against: str | None = None) -> list[Group]:
    """The same tables for the terminal, each below its title."""
    found = []
    for title, header, rows in [*mean_tables(results), *difference_tables(results, against)]:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column(header[0], overflow="fold", min_width=8)
        cells = [[cell.replace(" [", "\n[") for cell in row] for row in rows]  # intervals below: narrower
        for number, name in enumerate(header[1:], start=1):
            widest = max(len(line) for row in cells for line in row[number].split("\n"))
            # Numbers are never cut short; a long name is folded instead.
            table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True, min_width=widest)
        for row in cells:
            table.add_row(*(Text(cell) for cell in row))
        found.append(Group(Text(f"\n{title}", style="bold"), table))
    return found
