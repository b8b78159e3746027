"""A reproduction in words: tables as CSV, Markdown and LaTeX, figures, trajectories, and an HTML report.

The report begins with what was reproduced, what was not, and why (`answers`).
"""

import base64
import gzip
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib.figure import Figure

from peerfront.experiments.reproduction import DESCRIBED, PAPER_METHODS, PUBLISHED, PUBLISHED_GFP, Part, Reproduction
from peerfront.experiments.reproduction_tables import (
    EPISODES,
    METHODS,
    METRICS,
    RECRUITS,
    REPRODUCED_WITHIN,
    REWARD,
    Difference,
    ReproductionFindings,
    published_results,
    reproduction_findings,
    reproduction_table,
)
from peerfront.experiments.results import Results
from peerfront.experiments.store import program
from peerfront.foundation.files import write_bytes, write_text
from peerfront.foundation.pictures import COLOURS, STYLES, new_figure, rendered
from peerfront.words.comparison_words import curves, markdown_table
from peerfront.words.language import Text, joined, say, speaker

_SHOWN = (*PAPER_METHODS.values(), PUBLISHED_GFP, "gfp", "threshold")
"""Policies in the figures: the paper's five, ours, and the one to beat."""


# Questions and answers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """A question about the reproduction, and its answer."""

    question: Text
    answer: Text


def answers(findings: ReproductionFindings, discounts: Sequence[float]) -> list[Answer]:
    """What the reproduction shows, most important first."""
    listed = [_is_gfp_best(findings), _ordering(findings, discounts), _training(findings)]
    if findings.cells:
        listed.insert(0, _reproduced(findings))
    if findings.shares_of_bound:
        shares = [say("{share:.1%}", share=share) for share in findings.shares_of_bound]
        earned = say("Repaired GFP earns {shares} of an upper bound on every policy (by discount).", shares=shares)
        listed.append(Answer(say("How much better could any method be?"), earned))
    listed.append(_early_speed(findings, max(discounts)))
    return listed


def _reproduced(findings: ReproductionFindings) -> Answer:
    cells = say(
        "{near} of {cells} cells of Table 1 are within {errors:g} standard errors of ours (the spread between "
        "trainings included).",
        near=findings.near,
        cells=findings.cells,
        errors=REPRODUCED_WITHIN,
    )
    missed = [
        say(
            "{method}: {cells} cells are not, by up to {worst:.1f}. {why}",
            method=each.method,
            cells=each.cells,
            worst=each.worst,
            why=_why_different(each.method),
        )
        for each in findings.missed
    ]
    return Answer(say("Is Table 1 reproduced?"), joined([cells, *missed]))


def _why_different(method: str) -> Text:
    training = say("One training depends on its luck; the published one is one.")
    reasons = {
        "Random": say(
            "Its total depends on the draw of the oracle: a standard deviation of 3.8 recruits between draws."
        ),
        "Budget-DQN": training,
        "Factorized RL": training,
        "IID-Population DP": say(
            "The paper's row is above what the method earns with the true capacities; its twenty episodes were lucky, "
            "and our fits of its count model cost a point or two."
        ),
        "GFP, as published": say("A few studies in a hundred die early; twenty without one have a higher mean."),
    }
    return reasons[method]


def _is_gfp_best(findings: ReproductionFindings) -> Answer:
    behind = [f"{lead.discount:g}" for lead in findings.leads if lead.difference.mean <= 0]
    unsure = [f"{lead.discount:g}" for lead in findings.leads if not lead.difference.low > 0]
    if behind:
        verdict = say("Not at {discounts}.", discounts=behind)
    elif unsure:
        verdict = say("Yes, but at {discounts} within the noise.", discounts=unsure)
    else:
        verdict = say("Yes.")
    parts = [
        say(
            "{discount:g}: {difference} above {method}",
            discount=lead.discount,
            difference=_interval(lead.difference),
            method=METHODS[lead.rival].lower(),
        )
        for lead in findings.leads
    ]
    by_discount = say(
        "Paired differences of repaired GFP to the best other method, by discount: {differences}.",
        differences=joined(parts, "; "),
    )
    return Answer(say("Is GFP best at every discount?"), joined([verdict, by_discount]))


def _ordering(findings: ReproductionFindings, discounts: Sequence[float]) -> Answer:
    orders = findings.orders
    methods = " > ".join(METHODS[policy] for policy in orders[0])
    text = say("The paper's five methods: {methods} at every discount.", methods=methods)
    if any(order != orders[0] for order in orders):
        text = say(
            "The paper's five methods: {methods} at {discount:g}; it changes with the discount.",
            methods=methods,
            discount=discounts[0],
        )
    return Answer(say("Is the ordering of the methods stable?"), text)


def _training(findings: ReproductionFindings) -> Answer:
    text = say(
        "Above the untrained planner, by discount: to the letter {letter}; repaired {repaired}.",
        letter=[_interval(gain) for gain in findings.gains["gfp-paper"]],
        repaired=[_interval(gain) for gain in findings.gains["gfp"]],
    )
    return Answer(say("Does the value network's training matter?"), text)


def _early_speed(findings: ReproductionFindings, discount: float) -> Answer:
    (gfp_early, gfp_final), (dp_early, dp_final) = findings.speed["gfp"], findings.speed["population_dp"]
    text = say(
        "At discount {discount:g}, after four rounds GFP has {gfp_early:.0f} recruits and IID-Population DP "
        "{dp_early:.0f}; in the end {gfp_final:.0f} and {dp_final:.0f}.",
        discount=discount,
        gfp_early=gfp_early,
        dp_early=dp_early,
        gfp_final=gfp_final,
        dp_final=dp_final,
    )
    return Answer(say("Does early speed predict the final result?"), text)


def _interval(difference: Difference) -> str:
    ends = "" if math.isnan(difference.low) else f" [{difference.low:.1f}, {difference.high:.1f}]"
    return f"{difference.mean:+.1f}{ends}"


# Tables ----------------------------------------------------------------------------------------------------------

Line = tuple[str, list[object]]
"""What a line of a table is (paper, short, own, spread, far), and its cells."""


def blocks(table: pd.DataFrame) -> list[tuple[Text, list[Line]]]:
    """Title and lines of each world and metric: of each method the paper's figures, ours, and the distance."""
    titles = {
        REWARD: lambda world: say("Discounted reward, {world} world", world=world),
        RECRUITS: lambda world: say("Recruits, {world} world", world=world),
    }
    return [
        (titles[metric](world), _lines(part))
        for world in table["world"].unique()
        for metric in METRICS
        if len(part := table[(table["world"] == world) & (table["metric"] == metric)])
    ]


def _lines(table: pd.DataFrame) -> list[Line]:
    lines: list[Line] = []
    for method, part in table.groupby("method", sort=False):
        cells = [row for _, row in part.iterrows()]
        in_paper = bool(part["paper"].notna().any())
        if in_paper:
            name = say("{method}: the paper", method=method)
            lines.append(("paper", [name, *(_cell(c["paper"], c["paper_error"]) for c in cells)]))
            if (part["world"] == PUBLISHED).all():
                name = say("{method}: ours, {episodes} episodes", method=method, episodes=EPISODES)
                short = [_cell(c[f"mean_{EPISODES}"], c[f"error_{EPISODES}"]) for c in cells]
                lines.append(("short", [name, *short]))
        lines.append(("own", [str(method), *(_cell(c["mean"], c["error"]) for c in cells)]))
        if part["spread"].notna().any():
            name = say("standard deviation between {n} trainings", n=int(part["trainings"].max()))
            lines.append(("spread", [name, *("" if pd.isna(c["spread"]) else f"{c['spread']:.1f}" for c in cells)]))
        if in_paper:
            distances = [c["difference_in_errors"] for c in cells]
            distances = ["" if pd.isna(distance) else f"{distance:+.1f}" for distance in distances]
            lines.append(("far", [say("difference in standard errors"), *distances]))
    return lines


def _cell(mean: float, error: float) -> str:
    if pd.isna(mean):
        return ""
    return f"{mean:.1f}" if pd.isna(error) else f"{mean:.1f} ± {error:.1f}"


def markdown_text(table: pd.DataFrame, discounts: Sequence[float], listed: list[Answer]) -> str:
    """Answers and tables in Markdown."""
    lines = [f"# {say('Generative Frontier Planning, reproduced')}", ""]
    lines += [f"- **{each.question}** {each.answer}" for each in listed]
    header = ["", *(f"{discount:g}" for discount in discounts)]
    for title, block in blocks(table):
        lines += ["", f"## {title}", "", markdown_table(header, [cells for _, cells in block])]
    return "\n".join(lines) + "\n"


def latex_table(table: pd.DataFrame, discounts: Sequence[float]) -> str:
    """The same as a LaTeX table (booktabs)."""
    text = [
        r"\begin{tabular}{l" + "r" * len(discounts) + "}",
        r"\toprule",
        " & ".join(["", *(f"$\\gamma = {discount:g}$" for discount in discounts)]) + r" \\",
    ]
    for title, lines in blocks(table):
        text += [r"\midrule", rf"\multicolumn{{{len(discounts) + 1}}}{{l}}{{\emph{{{title}}}}} \\"]
        text += [" & ".join(map(str, cells)).replace("±", r"$\pm$") + r" \\" for _, cells in lines]
    return "\n".join([*text, r"\bottomrule", r"\end{tabular}"]) + "\n"


# The folder ------------------------------------------------------------------------------------------------------


def write_reproduction(reproduction: Reproduction, folder: Path) -> list[Answer]:
    """Write everything into the folder; the same results give the same files."""
    results = {DESCRIBED: reproduction.results[DESCRIBED]}
    if (published := published_results(reproduction)) is not None:
        results = {PUBLISHED: published, **results}
    table, discounts = reproduction_table(reproduction), reproduction.plan.discounts
    listed = answers(reproduction_findings(reproduction, table), discounts)
    write_text(folder / "table.csv", table.to_csv(index=False))
    write_text(folder / "table.md", markdown_text(table, discounts, listed))
    write_text(folder / "table.tex", latex_table(table, discounts))
    write_text(folder / "timings.csv", reproduction.timings.to_csv(index=False))
    _write_data(folder, results)
    figures = []
    for name, part in results.items():
        title = say("The paper's figure, {world} world", world=name)
        figures.append(_drawn(curves(part, part.worlds[0], _SHOWN), title, folder / f"figure-{name}"))
    for name, part in results.items():
        if len(learning := part.learning()):  # a plan of one's own may have no method that learns by playing
            title = say("Learning by playing, {world} world", world=name)
            figures.append(_drawn(_learning_curves(learning, name), title, folder / f"learning-{name}"))
    write_text(folder / "report.html", _report(reproduction, table, listed, figures))
    return listed


def _learning_curves(learning: pd.DataFrame, world: str, window: int = 25) -> Figure:
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
        axis.set_title(str(say("discount {discount:g}", discount=discount)))
        axis.set_xlabel(str(say("training episode")))
        axis.grid(alpha=0.3)
        axis.set_xlim(left=0)
    axes[0].set_ylim(bottom=0)  # of all, once all are drawn
    axes[0].set_ylabel(str(say("discounted reward")))
    title = say("{world} world: while learning, mean of the last {n} episodes", world=world, n=window)
    figure.suptitle(str(title))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _drawn(figure: Figure, title: Text, file: Path) -> dict[str, object]:
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


def _report(
    reproduction: Reproduction, table: pd.DataFrame, listed: list[Answer], figures: list[dict[str, object]]
) -> str:
    environment = Environment(
        loader=PackageLoader("peerfront.words", "."),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
    )
    plan, timings = reproduction.plan, reproduction.timings
    times = timings.groupby("policy", sort=False)["seconds"].agg(["count", "sum"]).sort_values("sum", ascending=False)
    return environment.get_template("reproduction.html.j2").render(
        language=speaker().language,
        words=_report_words(reproduction),
        answers=listed,
        parts=[_part_words(part) for part in plan.parts],
        figures=figures,
        columns=[f"{discount:g}" for discount in plan.discounts],
        tables=[
            {"title": title, "lines": [{"kind": kind, "cells": cells} for kind, cells in lines]}
            for title, lines in blocks(table)
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


def _report_words(reproduction: Reproduction) -> dict[str, Text]:
    plan, timings = reproduction.plan, reproduction.timings
    return {
        "title": say("Generative Frontier Planning, reproduced"),
        "scale": say(
            "Scale “{scale}”, discounts {discounts}, seed {seed}. {pieces} pieces of work took {minutes:.0f} minutes "
            "of computing in all, the largest process {peak} MiB.",
            scale=plan.scale,
            discounts=[f"{discount:g}" for discount in plan.discounts],
            seed=plan.seed,
            pieces=len(timings),
            minutes=timings["seconds"].sum() / 60,
            peak=int(timings["peak_memory"].max()),
        ),
        "results": say("What came out"),
        "runs": say("What was run"),
        "errors": say(
            "Every method meets the same people with the same luck, so that differences are paired. “±” is a standard "
            "error: over episodes where there is one draw, between draws or trainings where there are several. The "
            "paper reports {episodes} episodes of one draw.",
            episodes=EPISODES,
        ),
        "figure": say("discounted reward above, recruits below, one column for each discount"),
        "times": say("Where the time went"),
        "method": say("method"),
        "pieces": say("pieces"),
        "seconds": say("seconds"),
        "seconds_each": say("seconds each"),
        "made_by": say("Made by"),
        "data": say("The tidy data are beside this file:"),
        "table": say("every cell"),
        "episodes": say("every episode"),
        "trajectories": say("every round"),
        "differences": say("paired, with intervals"),
        "learning": say("what methods that learn by playing earned meanwhile"),
        "prepared": say("what each method was after training"),
    }


def _part_words(part: Part) -> dict[str, object]:
    comparison = part.comparison
    draws = len(comparison.draws_of(comparison.worlds[0]))
    values = {
        "purpose": part.purpose,
        "episodes": comparison.episodes,
        "coupons": comparison.rules.budget,
        "people": comparison.rules.people,
        "rounds": comparison.rules.rounds,
        "models": comparison.models,
    }
    if draws == 1:
        text = say(
            "{purpose}. {episodes} episodes in one draw, {coupons} coupons, {people} people at the start, at most "
            "{rounds} rounds; models: {models}.",
            **values,
        )
    else:
        text = say(
            "{purpose}. {episodes} episodes in each of {draws} draws, {coupons} coupons, {people} people at the start, "
            "at most {rounds} rounds; models: {models}.",
            draws=draws,
            **values,
        )
    return {"name": part.name, "text": text}
