"""The paper's Table 1 beside ours: one tidy table, and Markdown and LaTeX made from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from peerfront.experiments.comparison import PAPER_DISCOUNTS
from peerfront.experiments.reproduction import (
    DESCRIBED,
    PAPER_METHODS,
    PUBLISHED,
    PUBLISHED_GFP,
    REPAIRED,
    Reproduction,
)
from peerfront.experiments.results import Results
from peerfront.experiments.tables import Estimate, estimate, markdown_table

EPISODES = 20  # of the paper's means and standard errors
REWARD, RECRUITS = "discounted_reward", "recruits"


@dataclass(frozen=True)
class Published:
    """One cell of the paper's Table 1."""

    mean: float
    standard_error: float


def _cells(*cells: tuple[float, float]) -> dict[float, Published]:
    return {discount: Published(*cell) for discount, cell in zip(PAPER_DISCOUNTS, cells, strict=True)}


_RANDOM_RECRUITS = (39.4, 4.4)
TABLE_1: dict[str, dict[str, dict[float, Published]]] = {
    REWARD: {
        "Random": _cells((35.6, 3.9), (37.4, 4.1), (39.0, 4.3), (39.4, 4.4)),
        "Budget-DQN": _cells((65.9, 2.7), (68.4, 1.8), (70.7, 1.6), (72.4, 1.7)),
        "Factorized RL": _cells((57.9, 2.4), (63.0, 3.8), (85.4, 1.8), (90.3, 2.7)),
        "IID-Population DP": _cells((79.4, 1.3), (84.4, 1.2), (88.9, 0.8), (91.3, 1.0)),
        "GFP": _cells((82.5, 1.5), (89.2, 0.9), (96.3, 0.4), (99.5, 0.2)),
    },
    RECRUITS: {
        "Random": _cells(*[_RANDOM_RECRUITS] * 4),
        "Budget-DQN": _cells((72.9, 2.6), (75.8, 1.9), (71.9, 1.6), (72.4, 1.7)),
        "Factorized RL": _cells((75.1, 2.8), (85.2, 5.1), (90.4, 1.8), (90.3, 2.7)),
        "IID-Population DP": _cells((88.5, 1.0), (89.3, 1.1), (90.0, 0.8), (91.3, 1.0)),
        "GFP": _cells((94.5, 1.0), (97.0, 0.6), (98.6, 0.3), (99.5, 0.2)),
    },
}
"""The paper's Table 1: metric -> method -> discount -> cell."""

METRIC_TITLES = {REWARD: "Discounted reward", RECRUITS: "Recruits"}
BOUND = "upper bound"
METHODS = {
    **{policy: method for method, policy in PAPER_METHODS.items()},
    PUBLISHED_GFP: "GFP, as published",
    "gfp-paper": "GFP, trained to the letter",
    "gfp": "GFP, repaired",
    "gfp-untrained": "GFP, untrained",
    "threshold": "Threshold, tuned",
    "constant": "Constant, 3 each",
    BOUND: "Upper bound",
}
"""How policies are called in a reproduction, in the order of its tables."""
_OTHERWISE_DESCRIBED = {"gfp-paper": "GFP, trained to the letter, with our models"}
"""What they are called where the planning world is the one of our own fits."""


def published_results(reproduction: Reproduction) -> Results | None:
    """Everything played in the published world, as one: the paper's methods with its models, and ours with ours."""
    if PUBLISHED not in reproduction.results:
        return None
    paper, ours = reproduction.results[PUBLISHED], reproduction.results.get(REPAIRED)
    if ours is None:
        return paper
    together = replace(paper.comparison, policies=(*paper.comparison.policies, *ours.comparison.policies))
    return Results(together, (*paper.runs, *ours.runs), ours.bounds)


def reproduction_table(reproduction: Reproduction) -> pd.DataFrame:
    """One row per world, method, metric and discount: the paper's figure, ours by its protocol, and ours."""
    rows = []
    published = published_results(reproduction)
    if published is not None:
        rows += _rows(PUBLISHED, published, published_episodes(reproduction))
    if (described := reproduction.results.get(DESCRIBED)) is not None:
        rows += _rows(DESCRIBED, described, described.episodes.assign(training=1))
    return pd.DataFrame(rows)


def published_episodes(reproduction: Reproduction) -> pd.DataFrame:
    """Every episode played in the published world, with the number of the training it was played after."""
    first = published_results(reproduction)
    trainings = [*([] if first is None else [first]), *later_trainings(reproduction)]
    numbered = [results.episodes.assign(training=number) for number, results in enumerate(trainings, start=1)]
    return pd.concat(numbered, ignore_index=True)


def later_trainings(reproduction: Reproduction) -> list[Results]:
    """What was played after the second and later trainings in the published world."""
    parts = reproduction.plan.parts
    return [reproduction.results[part.name] for part in parts if part.name.startswith(f"{PUBLISHED}, training ")]


def _rows(world: str, results: Results, episodes: pd.DataFrame) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for metric in METRIC_TITLES:
        for policy, method in METHODS.items():
            for discount in results.comparison.discounts:
                if policy == BOUND:
                    part = _bound_rows(results, discount) if metric == REWARD else None
                else:
                    own = (episodes["policy"] == policy) & (episodes["discount"] == discount)
                    part = episodes[own].rename(columns={metric: "value"})
                if part is not None and len(part):
                    rows.append(_row(world, method, policy, metric, discount, part))
    return rows


def _bound_rows(results: Results, discount: float) -> pd.DataFrame | None:
    if results.bounds is None:
        return None
    return results.bounds[results.bounds["discount"] == discount].rename(columns={"bound": "value"}).assign(training=1)


def _row(world: str, method: str, policy: str, metric: str, discount: float, part: pd.DataFrame) -> dict[str, object]:
    published_as = "GFP" if policy in ("gfp", "gfp-paper", PUBLISHED_GFP) else method
    paper = TABLE_1[metric].get(published_as, {}).get(discount)
    everything = _estimate(part)
    first = (part["draw"] == part["draw"].min()) & (part["training"] == 1)
    short = _estimate(part[first & (part["episode"] < EPISODES)])
    trainings = part.groupby("training")["value"].mean()
    row: dict[str, object] = {
        "world": world,
        "method": _OTHERWISE_DESCRIBED.get(policy, method) if world == DESCRIBED else method,
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
        "trainings": len(trainings),
        "spread": trainings.std(ddof=1) if len(trainings) > 1 else None,
    }
    if paper is not None:
        # How far the paper's figure is from ours, given the noise of both; the paper's rests on one training.
        ours = everything.standard_error if len(trainings) == 1 else float(trainings.std(ddof=1))
        noise = (paper.standard_error**2 + ours**2) ** 0.5
        row["difference_in_errors"] = (everything.mean - paper.mean) / noise
    return row


def _estimate(part: pd.DataFrame) -> Estimate:
    """Clustered by trainings, if there are several, else by draws."""
    cluster = part["training"] if part["training"].nunique() > 1 else part["draw"]
    return estimate(part["value"].to_numpy(dtype=float), cluster.to_numpy())


def _cell(mean: float, error: float) -> str:
    if pd.isna(mean):
        return ""
    return f"{mean:.1f}" if pd.isna(error) else f"{mean:.1f} ± {error:.1f}"


Line = tuple[str, list[str]]
"""What a line of a table is (paper, short, own, spread, far), and its cells."""


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
        if part["spread"].notna().any():
            count = int(part["trainings"].max())
            spread = ["" if pd.isna(c["spread"]) else f"{c['spread']:.1f}" for c in cells]
            lines.append(("spread", [f"standard deviation between {count} trainings", *spread]))
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
    text = [
        r"\begin{tabular}{l" + "r" * len(discounts) + "}",
        r"\toprule",
        " & ".join(["", *(f"$\\gamma = {discount:g}$" for discount in discounts)]) + r" \\",
    ]
    for title, lines in blocks(table, discounts):
        text += [r"\midrule", rf"\multicolumn{{{len(discounts) + 1}}}{{l}}{{\emph{{{title}}}}} \\"]
        text += [" & ".join(cells).replace("±", r"$\pm$") + r" \\" for _, cells in lines]
    return "\n".join([*text, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _by_world_and_metric(table: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    return [
        ((str(world), metric), part)
        for world in table["world"].unique()
        for metric in METRIC_TITLES
        if len(part := table[(table["world"] == world) & (table["metric"] == metric)])
    ]
