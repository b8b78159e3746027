"""Write a reproduction down: tables as CSV, Markdown and LaTeX, figures, trajectories, and an HTML report.

The report begins with findings: sentences made from the numbers that say what was reproduced, what was not, and why.
"""

import base64
import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib.figure import Figure

from peerfront.experiments.comparison import Comparison
from peerfront.experiments.reproduction import DESCRIBED, PAPER_METHODS, PUBLISHED, PUBLISHED_GFP, Reproduction
from peerfront.experiments.reproduction_tables import (
    EPISODES,
    METHODS,
    REWARD,
    blocks,
    latex_table,
    markdown_tables,
    published_results,
    reproduction_table,
)
from peerfront.experiments.results import Results, curves
from peerfront.experiments.store import program
from peerfront.foundation.figures import COLOURS, STYLES, new_figure, rendered
from peerfront.foundation.files import write_bytes, write_text

REPRODUCED_WITHIN = 2.0  # standard errors
IN_TABLE_1 = ("random_split", "budget_dqn", "factorized_rl", "population_dp", PUBLISHED_GFP)

WHY_DIFFERENT = {
    "Random": "Its total depends on the draw of the oracle: a standard deviation of 3.8 recruits between draws.",
    **dict.fromkeys(("Budget-DQN", "Factorized RL"), "One training depends on its luck; the published one is one."),
    "IID-Population DP": "The paper's row is above what the method earns with the true capacities; its twenty episodes "
    "were lucky, and our fits of its count model cost a point or two.",
    "GFP, as published": "A few studies in a hundred die early; twenty without one have a higher mean.",
}


@dataclass(frozen=True)
class Finding:
    """A question and its answer."""

    question: str
    answer: str


def findings(reproduction: Reproduction, table: pd.DataFrame) -> list[Finding]:
    """What the reproduction shows, most important first."""
    described = reproduction.results[DESCRIBED]
    answers = [_is_gfp_best(described), _ordering(described), _training(described)]
    if (table["world"] == PUBLISHED).any():
        answers.insert(0, _reproduced(table))
    if described.bounds is not None:
        answers.append(_room(described))
    answers.append(_early_speed(described))
    return answers


def _reproduced(table: pd.DataFrame) -> Finding:
    part = table[(table["world"] == PUBLISHED) & table["policy"].isin(IN_TABLE_1)]
    near = part["difference_in_errors"].abs() <= REPRODUCED_WITHIN
    noise = "standard errors of ours (the spread between trainings included)"
    text = f"{int(near.sum())} of {len(part)} cells of Table 1 are within {REPRODUCED_WITHIN:g} {noise}."
    for method, rows in part[~near].groupby("method", sort=False):
        worst = rows["difference_in_errors"].abs().max()
        text += f" {method}: {len(rows)} cells are not, by up to {worst:.1f}. {WHY_DIFFERENT[str(method)]}"
    return Finding("Is Table 1 reproduced?", text)


def _is_gfp_best(described: Results) -> Finding:
    pairs = described.differences
    pairs = pairs[pairs["metric"] == REWARD]
    rivals = [policy for policy in described.policies if not policy.startswith("gfp")]
    parts, behind, unsure = [], [], []
    for discount in described.comparison.discounts:
        ahead = {rival: _difference(pairs, "gfp", rival, discount) for rival in rivals}
        nearest = min(rivals, key=lambda rival: ahead[rival][0])
        mean, low, high = ahead[nearest]
        parts.append(f"{discount:g}: {mean:+.1f}{_interval(low, high)} above {METHODS[nearest].lower()}")
        if mean <= 0:
            behind.append(f"{discount:g}")
        elif not low > 0:
            unsure.append(f"{discount:g}")
    verdict = "Yes"
    if behind:
        verdict = f"Not at {', '.join(behind)}"
    elif unsure:
        verdict = f"Yes, but at {', '.join(unsure)} within the noise"
    text = f"{verdict}. Paired differences of repaired GFP to the best other method, by discount: {'; '.join(parts)}."
    return Finding("Is GFP best at every discount?", text)


def _ordering(described: Results) -> Finding:
    means = described.table[described.table["metric"] == REWARD]
    orders = []
    for discount in described.comparison.discounts:
        part = means[means["discount"] == discount].sort_values("mean", ascending=False)
        orders.append(tuple(policy for policy in part["policy"] if policy in PAPER_METHODS.values()))
    named = " > ".join(METHODS[policy] for policy in orders[0])
    same = all(order == orders[0] for order in orders)
    text = f"The paper's five methods: {named}" + (
        " at every discount." if same else f" at {described.comparison.discounts[0]:g}; it changes with the discount."
    )
    return Finding("Is the ordering of the methods stable?", text)


def _training(described: Results) -> Finding:
    pairs = described.differences
    pairs = pairs[pairs["metric"] == REWARD]
    gains_of = []
    for policy, name in (("gfp-paper", "to the letter"), ("gfp", "repaired")):
        gains = [_difference(pairs, policy, "gfp-untrained", d) for d in described.comparison.discounts]
        shown = ", ".join(f"{mean:+.1f}{_interval(low, high)}" for mean, low, high in gains)
        gains_of.append(f"{name} {shown}")
    text = f"Above the untrained planner, by discount: {'; '.join(gains_of)}."
    return Finding("Does the value network's training matter?", text)


def _room(described: Results) -> Finding:
    assert described.bounds is not None, "called only where there are bounds"
    rewards = described.episodes[described.episodes["policy"] == "gfp"].groupby("discount")["discounted_reward"].mean()
    bounds = described.bounds.groupby("discount")["bound"].mean()
    shares = ", ".join(f"{rewards[d] / bounds[d]:.1%}" for d in described.comparison.discounts)
    return Finding(
        "How much better could any method be?",
        f"Repaired GFP earns {shares} of an upper bound on every policy (by discount).",
    )


def _early_speed(described: Results) -> Finding:
    discount = max(described.comparison.discounts)
    early = {}
    for policy in ("gfp", "population_dp"):
        runs = [run for run in described.runs if run.policy == policy and run.discount == discount]
        so_far = [run.trajectories.recruits[:, :4].sum(axis=1).mean() for run in runs]
        final = [run.trajectories.total_recruits.mean() for run in runs]
        early[policy] = (sum(so_far) / len(runs), sum(final) / len(runs))
    text = (
        f"At discount {discount:g}, after four rounds GFP has {early['gfp'][0]:.0f} recruits and IID-Population DP "
        f"{early['population_dp'][0]:.0f}; in the end {early['gfp'][1]:.0f} and {early['population_dp'][1]:.0f}."
    )
    return Finding("Does early speed predict the final result?", text)


def _difference(pairs: pd.DataFrame, policy: str, against: str, discount: float) -> tuple[float, float, float]:
    """Mean and 95% interval of policy - against."""
    rows = pairs[pairs["discount"] == discount]
    forward = rows[(rows["policy"] == policy) & (rows["against"] == against)]
    if len(forward):
        row = forward.iloc[0]
        return float(row["mean"]), float(row["low"]), float(row["high"])
    row = rows[(rows["policy"] == against) & (rows["against"] == policy)].iloc[0]
    return -float(row["mean"]), -float(row["high"]), -float(row["low"])


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) else f" [{low:.1f}, {high:.1f}]"


# In the figures: the paper's five, ours, and the one to beat.
_SHOWN = (*PAPER_METHODS.values(), PUBLISHED_GFP, "gfp", "threshold")


def write_reproduction(reproduction: Reproduction, folder: Path) -> list[Finding]:
    """Write everything into the folder; the same results give the same files."""
    results = {DESCRIBED: reproduction.results[DESCRIBED]}
    if (published := published_results(reproduction)) is not None:
        results = {"published": published, **results}
    table = reproduction_table(reproduction)
    answers = findings(reproduction, table)
    write_text(folder / "table.csv", table.to_csv(index=False))
    write_text(folder / "table.md", _markdown(reproduction, table, answers))
    write_text(folder / "table.tex", latex_table(table, reproduction.plan.discounts))
    write_text(folder / "timings.csv", reproduction.timings.to_csv(index=False))
    _write_data(folder, results)
    figures = []
    for name, part in results.items():
        figure = curves(part, part.worlds[0], _SHOWN)
        figures.append(_drawn(figure, f"The paper's figure, {name} world", folder / f"figure-{name}"))
    for name, part in results.items():
        if not len(learning := part.learning()):  # a plan of one's own may have no method that learns by playing
            continue
        figure = _learning_curves(learning, f"{name} world")
        figures.append(_drawn(figure, f"Learning by playing, {name} world", folder / f"learning-{name}"))
    write_text(folder / "report.html", _report(reproduction, table, answers, figures))
    return answers


def _learning_curves(learning: pd.DataFrame, title: str, window: int = 25) -> Figure:
    """What policies earned while they learned (`Results.learning`): means over draws and `window` episodes."""
    discounts = list(dict.fromkeys(learning["discount"]))
    window = min(window, int(learning["episode"].max()) + 1)
    figure = new_figure(2.2 + 2.9 * len(discounts), 3.6)
    axes = figure.subplots(1, len(discounts), sharey=True, squeeze=False)[0]
    for axis, discount in zip(axes, discounts, strict=True):
        part = learning[learning["discount"] == discount]
        for p, (policy, rows) in enumerate(part.groupby("policy", sort=False)):
            mean = rows.groupby("episode")["discounted_reward"].mean().rolling(window).mean()
            axis.plot(mean.index + 1, mean, label=policy, color=COLOURS[p], linestyle=STYLES[p], linewidth=1.8)
        axis.set_title(f"discount {discount:g}")
        axis.set_xlabel("training episode")
        axis.grid(alpha=0.3)
        axis.set_xlim(left=0)
    axes[0].set_ylim(bottom=0)  # of all, once all are drawn
    axes[0].set_ylabel("discounted reward")
    figure.suptitle(f"{title}: while learning, mean of the last {window} episodes")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _drawn(figure: Figure, title: str, file: Path) -> dict[str, str]:
    """Written as PNG and SVG, and for the report."""
    images = {kind: rendered(figure, kind) for kind in ("png", "svg")}
    for kind, content in images.items():
        write_bytes(file.with_name(f"{file.name}.{kind}"), content)
    return {"title": title, "content": base64.b64encode(images["png"]).decode()}


def _write_data(folder: Path, results: dict[str, Results]) -> None:
    def together(tables: Iterable[pd.DataFrame]) -> bytes:
        named = [table.assign(part=name) for name, table in zip(results, tables, strict=True)]
        return pd.concat(named, ignore_index=True).to_csv(index=False).encode()

    parts = results.values()
    # No time stamp inside: same results, same bytes.
    write_bytes(folder / "episodes.csv.gz", gzip.compress(together(part.episodes for part in parts), mtime=0))
    write_bytes(folder / "trajectories.csv.gz", gzip.compress(together(part.rounds() for part in parts), mtime=0))
    write_bytes(folder / "differences.csv", together(part.differences for part in parts))
    write_bytes(folder / "prepared.csv", together(part.prepared() for part in parts))
    write_bytes(folder / "learning.csv.gz", gzip.compress(together(part.learning() for part in parts), mtime=0))


def _markdown(reproduction: Reproduction, table: pd.DataFrame, answers: list[Finding]) -> str:
    lines = ["# Generative Frontier Planning, reproduced", ""]
    lines += [f"- **{finding.question}** {finding.answer}" for finding in answers]
    for title, text in markdown_tables(table, reproduction.plan.discounts):
        lines += ["", f"## {title}", "", text]
    return "\n".join(lines) + "\n"


def _report(
    reproduction: Reproduction, table: pd.DataFrame, answers: list[Finding], figures: list[dict[str, str]]
) -> str:
    environment = Environment(
        loader=PackageLoader("peerfront.experiments", "."),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
    )
    plan, timings = reproduction.plan, reproduction.timings
    times = timings.groupby("policy", sort=False)["seconds"].agg(["count", "sum"]).sort_values("sum", ascending=False)
    return environment.get_template("reproduction.html.j2").render(
        scale=plan.scale,
        discounts=", ".join(f"{discount:g}" for discount in plan.discounts),
        seed=plan.seed,
        pieces=len(timings),
        minutes=f"{timings['seconds'].sum() / 60:.0f}",
        peak=int(timings["peak_memory"].max()),
        findings=answers,
        parts=[
            {
                "name": part.name,
                "purpose": part.purpose,
                "comparison": part.comparison,
                "draws": _draws(part.comparison),
            }
            for part in plan.parts
        ],
        paper_episodes=EPISODES,
        figures=figures,
        columns=[f"{discount:g}" for discount in plan.discounts],
        tables=[
            {"title": title, "lines": [{"kind": kind, "cells": cells} for kind, cells in lines]}
            for title, lines in blocks(table, plan.discounts)
        ],
        times=[
            {
                "policy": policy,
                "pieces": int(row["count"]),
                "seconds": f"{row['sum']:.0f}",
                "each": f"{row['sum'] / row['count']:.1f}",
            }
            for policy, row in times.iterrows()
        ],
        made_by=program(),
    )


def _draws(comparison: Comparison) -> str:
    count = len(comparison.draws_of(comparison.worlds[0]))
    return "one draw" if count == 1 else f"each of {count} draws"
