"""The paper's numbers beside ours: one tidy table, and Markdown and LaTeX made from it."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from peerfront.experiments.reproduction.plan import (
    DESCRIBED,
    EPISODES,
    PAPER_METHODS,
    PUBLISHED,
    RECRUITS,
    REPAIRED,
    REWARD,
    TABLE,
)
from peerfront.experiments.reproduction.run import Reproduction
from peerfront.experiments.results import Estimate, Results, estimate
from peerfront.experiments.tables import markdown_table

METRIC_TITLES = {REWARD: "Discounted reward", RECRUITS: "Recruits"}
BOUND = "upper bound"
METHODS = {
    **{policy: method for method, policy in PAPER_METHODS.items()},
    "gfp-paper": "GFP, to the letter",
    "gfp": "GFP, repaired",
    "gfp-untrained": "GFP, untrained",
    "threshold": "Threshold, tuned",
    "constant": "Constant, 3 each",
    BOUND: "Upper bound",
}
"""How policies are called in a reproduction, in the order of its tables."""


def published_results(found: Reproduction) -> Results | None:
    """Everything played in the published world, as one: the paper's methods with its models, and ours with ours."""
    if PUBLISHED not in found.results:
        return None
    paper, ours = found.results[PUBLISHED], found.results[REPAIRED]
    together = replace(paper.comparison, policies=(*paper.comparison.policies, *ours.comparison.policies))
    return Results(together, (*paper.runs, *ours.runs), ours.bounds)


def reproduction_table(found: Reproduction) -> pd.DataFrame:
    """One row per world, method, metric and discount: the paper's figure, ours by its protocol, and ours."""
    rows = []
    published = published_results(found)
    if published is not None:
        rows += _rows(PUBLISHED, published)
    rows += _rows(DESCRIBED, found.results[DESCRIBED])
    return pd.DataFrame(rows)


def _rows(world: str, results: Results) -> list[dict[str, object]]:
    episodes = results.episodes
    rows: list[dict[str, object]] = []
    for metric in METRIC_TITLES:
        for policy, method in METHODS.items():
            for discount in results.comparison.discounts:
                if policy == BOUND:
                    part = _bound_rows(results, discount) if metric == REWARD else None
                else:
                    chosen = (episodes["policy"] == policy) & (episodes["discount"] == discount)
                    part = episodes[chosen].rename(columns={metric: "value"})
                if part is not None and len(part):
                    rows.append(_row(world, method, policy, metric, discount, part))
    return rows


def _bound_rows(results: Results, discount: float) -> pd.DataFrame | None:
    if results.bounds is None:
        return None
    return results.bounds[results.bounds["discount"] == discount].rename(columns={"bound": "value"})


def _row(world: str, method: str, policy: str, metric: str, discount: float, part: pd.DataFrame) -> dict[str, object]:
    paper = TABLE[metric].get("GFP" if policy in ("gfp", "gfp-paper") else method, {}).get(discount)
    everything = _estimate(part)
    short = _estimate(part[(part["draw"] == part["draw"].min()) & (part["episode"] < EPISODES)])
    row: dict[str, object] = {
        "world": world,
        "method": method,
        "policy": policy,
        "metric": metric,
        "discount": discount,
        "paper": None if paper is None else paper.mean,
        "paper_error": None if paper is None else paper.standard_error,
        f"mean_{EPISODES}": short.mean,
        f"error_{EPISODES}": short.standard_error,
        "mean": everything.mean,
        "error": everything.standard_error,
        "episodes": len(part),
        "draws": part["draw"].nunique(),
    }
    if paper is not None:
        # How far the paper's figure is from ours, given the noise of both.
        noise = (paper.standard_error**2 + everything.standard_error**2) ** 0.5
        row["difference_in_errors"] = (everything.mean - paper.mean) / noise
    return row


def _estimate(part: pd.DataFrame) -> Estimate:
    return estimate(part["value"].to_numpy(dtype=float), part["draw"].to_numpy())


def _cell(mean: float, error: float) -> str:
    if pd.isna(mean):
        return ""
    return f"{mean:.1f}" if pd.isna(error) else f"{mean:.1f} ± {error:.1f}"


Line = tuple[str, list[str]]
"""What a line of a table is (paper, short, own, far), and its cells."""


def blocks(table: pd.DataFrame, discounts: Sequence[float]) -> list[tuple[str, list[Line]]]:
    """(title, lines) of each world and metric: of each method the paper's figures, ours, and the distance."""
    return [
        (f"{METRIC_TITLES[metric]}, {world} world", _lines(part, discounts))
        for (world, metric), part in _by_world_and_metric(table)
    ]


def _lines(table: pd.DataFrame, discounts: Sequence[float]) -> list[Line]:
    lines: list[Line] = []
    for method, part in table.groupby("method", sort=False):
        cells = [row for _, row in part.iterrows()]
        in_paper = bool(part["paper"].notna().any())
        if in_paper:
            lines.append(("paper", [f"{method}: the paper", *(_cell(c["paper"], c["paper_error"]) for c in cells)]))
            if (part["world"] == PUBLISHED).all():
                short = [_cell(c[f"mean_{EPISODES}"], c[f"error_{EPISODES}"]) for c in cells]
                lines.append(("short", [f"{method}: ours, {EPISODES} episodes", *short]))
        lines.append(("own", [str(method), *(_cell(c["mean"], c["error"]) for c in cells)]))
        if in_paper:
            far = [c["difference_in_errors"] for c in cells]
            shown = ["" if pd.isna(f) else f"{f:+.1f}" for f in far]
            lines.append(("far", ["difference in standard errors", *shown]))
    return lines


def markdown_tables(table: pd.DataFrame, discounts: Sequence[float]) -> list[tuple[str, str]]:
    """(title, Markdown table) of each world and metric."""
    header = ["", *(f"{discount:g}" for discount in discounts)]
    return [(title, markdown_table(header, [cells for _, cells in lines])) for title, lines in blocks(table, discounts)]


def latex_table(table: pd.DataFrame, discounts: Sequence[float]) -> str:
    """The same as a LaTeX table (booktabs)."""
    found = [
        r"\begin{tabular}{l" + "r" * len(discounts) + "}",
        r"\toprule",
        " & ".join(["", *(f"$\\gamma = {discount:g}$" for discount in discounts)]) + r" \\",
    ]
    for title, lines in blocks(table, discounts):
        found += [r"\midrule", rf"\multicolumn{{{len(discounts) + 1}}}{{l}}{{\emph{{{title}}}}} \\"]
        found += [" & ".join(cells).replace("±", r"$\pm$") + r" \\" for _, cells in lines]
    return "\n".join([*found, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _by_world_and_metric(table: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    return [
        ((str(world), metric), part)
        for world in table["world"].unique()
        for metric in METRIC_TITLES
        if len(part := table[(table["world"] == world) & (table["metric"] == metric)])
    ]
