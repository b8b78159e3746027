"""Write the files of a reproduction: tables as CSV, Markdown and LaTeX, figures, trajectories, an HTML report."""

import base64
import gzip
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib.figure import Figure

from peerfront.experiments.reproduction import DESCRIBED, PAPER_METHODS, PUBLISHED, PUBLISHED_GFP, Part, Reproduction
from peerfront.experiments.reproduction_tables import published_results, reproduction_findings, reproduction_table
from peerfront.experiments.results import Results
from peerfront.experiments.store import program
from peerfront.foundation.files import write_bytes, write_text
from peerfront.foundation.pictures import COLOURS, STYLES, new_figure, rendered
from peerfront.words.comparison_words import curves
from peerfront.words.language import Text, say, speaker
from peerfront.words.reproduction_words import Answer, answers, blocks, latex_table, markdown_text, what_intervals_are

_SHOWN = (*PAPER_METHODS.values(), PUBLISHED_GFP, "gfp", "threshold")
"""Policies in the figures: the paper's five, ours, and the one to beat."""


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
        if len(learning := part.learning()):  # a user's own plan may have no method that learns from episodes
            title = say("Learning by playing, {world} world", world=name)
            figures.append(_drawn(_learning_curves(learning, name), title, folder / f"learning-{name}"))
    write_text(folder / "report.html", _report(reproduction, table, listed, figures))
    return listed


def _learning_curves(learning: pd.DataFrame, world: str, window: int = 25) -> Figure:
    """Draw the reward of policies while they learned (`Results.learning`): means over draws and `window` episodes."""
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
    axes[0].set_ylim(bottom=0)  # after all curves are drawn
    axes[0].set_ylabel(str(say("discounted reward")))
    title = say("{world} world: while learning, mean of the last {n} episodes", world=world, n=window)
    figure.suptitle(str(title))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _drawn(figure: Figure, title: Text, file: Path) -> dict[str, object]:
    """Write a figure as PNG and SVG, and return it for the report."""
    images = {kind: rendered(figure, kind) for kind in ("png", "svg")}
    for kind, content in images.items():
        write_bytes(file.with_name(f"{file.name}.{kind}"), content)
    return {"title": title, "content": base64.b64encode(images["png"]).decode()}


def _write_data(folder: Path, results: dict[str, Results]) -> None:
    def together(tables: Iterable[pd.DataFrame]) -> bytes:
        named = [table.assign(part=name) for name, table in zip(results, tables, strict=True)]
        return pd.concat(named, ignore_index=True).to_csv(index=False).encode()

    parts = results.values()
    # No time stamp, so that the same results give the same bytes.
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
        "paired": say("Every method meets the same people with the same luck, so that differences are paired."),
        "intervals": what_intervals_are(),
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
