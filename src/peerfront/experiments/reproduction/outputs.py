"""What a reproduction leaves behind: tables as CSV, Markdown and LaTeX, figures, trajectories, and a report."""

import base64
import gzip
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib.figure import Figure

from peerfront.experiments.comparison import Comparison
from peerfront.experiments.figures import curves, learning_curves
from peerfront.experiments.reproduction.plan import DESCRIBED, PAPER_METHODS
from peerfront.experiments.reproduction.published import EPISODES
from peerfront.experiments.reproduction.run import Reproduction
from peerfront.experiments.reproduction.story import Finding, findings
from peerfront.experiments.reproduction.tables import (
    blocks,
    latex_table,
    markdown_tables,
    published_results,
    reproduction_table,
)
from peerfront.experiments.results import Results
from peerfront.experiments.store import program
from peerfront.figures import rendered
from peerfront.files import write_bytes, write_text

_SHOWN = (*PAPER_METHODS.values(), "gfp", "threshold")  # in the figures: the paper's five, ours, and the one to beat


def write_reproduction(found: Reproduction, folder: Path) -> list[Finding]:
    """Write everything into the folder; the same results give the same files."""
    results = {DESCRIBED: found.results[DESCRIBED]}
    if (published := published_results(found)) is not None:
        results = {"published": published, **results}
    table = reproduction_table(found)
    told = findings(found, table)
    write_text(folder / "table.csv", table.to_csv(index=False))
    write_text(folder / "table.md", _markdown(found, table, told))
    write_text(folder / "table.tex", latex_table(table, found.plan.discounts))
    write_text(folder / "timings.csv", found.timings.to_csv(index=False))
    _write_data(folder, results)
    figures = []
    for name, part in results.items():
        figure = curves(part, part.worlds[0], _SHOWN)
        figures.append(_drawn(figure, f"The paper's figure, {name} world", folder / f"figure-{name}"))
    for name, part in results.items():
        if not len(learning := part.learning()):  # a plan of one's own may have no method that learns by playing
            continue
        figure = learning_curves(learning, f"{name} world")
        figures.append(_drawn(figure, f"Learning by playing, {name} world", folder / f"learning-{name}"))
    write_text(folder / "report.html", _report(found, table, told, figures))
    return told


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


def _markdown(found: Reproduction, table: pd.DataFrame, told: list[Finding]) -> str:
    lines = ["# Generative Frontier Planning, reproduced", ""]
    lines += [f"- **{finding.question}** {finding.answer}" for finding in told]
    for title, text in markdown_tables(table, found.plan.discounts):
        lines += ["", f"## {title}", "", text]
    return "\n".join(lines) + "\n"


def _report(found: Reproduction, table: pd.DataFrame, told: list[Finding], figures: list[dict[str, str]]) -> str:
    environment = Environment(
        loader=PackageLoader("peerfront.experiments.reproduction", "."),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
    )
    plan, timings = found.plan, found.timings
    times = timings.groupby("policy", sort=False)["seconds"].agg(["count", "sum"]).sort_values("sum", ascending=False)
    return environment.get_template("report.html.j2").render(
        scale=plan.scale,
        discounts=", ".join(f"{discount:g}" for discount in plan.discounts),
        seed=plan.seed,
        pieces=len(timings),
        minutes=f"{timings['seconds'].sum() / 60:.0f}",
        peak=int(timings["peak_memory"].max()),
        findings=told,
        parts=[
            {
                "name": part.name,
                "purpose": part.purpose,
                "asked": part.comparison,
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
