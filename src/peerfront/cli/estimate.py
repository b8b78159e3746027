"""`peerfront estimate`: what the sample says about the population, and which estimator is valid here."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli.options import (
    COUPONS_EACH,
    FILE,
    FORMAT,
    MAP,
    MISSING,
    OVERWRITE,
    SCHEMA,
    SEED,
    STRICT,
    claim,
    out_path,
    read_settings,
)
from peerfront.cli.screen import cell, new_screen, show
from peerfront.words.result_files import estimate_files, write_estimates

if TYPE_CHECKING:
    from rich.console import Console

    from peerfront.study.estimation import Estimates

_MOST_ROWS = 200


def estimate_command(
    context: typer.Context,
    file: FILE,
    outcome: Annotated[
        list[str],
        typer.Option(metavar="FIELD", help="The column to estimate, such as hiv; repeatable.", show_default=False),
    ],
    population: Annotated[
        float | None,
        typer.Option(metavar="N", help="People in the population, if that is known.", show_default=False),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Also for each category of this column; repeatable.", show_default=False),
    ] = None,
    strata: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="The column by which coupons were given out; repeatable. Otherwise the number of coupons issued.",
            show_default=False,
        ),
    ] = None,
    sheet: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take strata from this coupon sheet (CSV or .xlsx), as plan wrote it; repeatable, one for each round.",
            show_default=False,
        ),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take strata from this decision log: of `plan --decisions`, or the folder of `week`.",
            show_default=False,
        ),
    ] = None,
    interval: Annotated[
        str, typer.Option(metavar="KIND", help="How intervals are made: neighbourhood or tree (bootstrap).")
    ] = "neighbourhood",
    bootstraps: Annotated[float, typer.Option(metavar="N", help="Times the sample is drawn again.")] = 1000,
    seed: SEED = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=out_path,
            metavar="PATH",
            help="Folder for tables (CSV), words (text) and pictures (PNG, SVG).",
            show_default=False,
        ),
    ] = None,
    schema: SCHEMA = None,
    format: FORMAT = None,
    map: MAP = None,
    missing: MISSING = None,
    coupons_each: COUPONS_EACH = None,
    strict: STRICT = False,
    overwrite: OVERWRITE = False,
) -> None:
    """Estimate shares and means in the population, also where coupons depended on people.

    Says which estimator is valid here and why. Those that are not are shown in grey, with how far they are likely off.
    """
    from peerfront.foundation.errors import SettingError

    names = estimate_files(len(outcome))
    if out is not None:
        claim(context, out, names, overwrite=overwrite, inputs=(file, schema, decisions, *(sheet or ())))
    elif overwrite:
        raise SettingError("--overwrite needs --out, the folder it is about.")

    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema
    from peerfront.study.estimation import estimate

    saved = read_schema(schema) if schema is not None else None
    settings = read_settings(saved, strict=strict, format=format, map=map, missing=missing, coupons_each=coupons_each)
    made = estimate(
        read_study(file, settings),
        outcome,
        population=population,  # type: ignore[arg-type] # checked there
        by=by or (),
        strata=strata or (),
        sheet=sheet or (),
        decisions=decisions or (),
        bootstraps=bootstraps,  # type: ignore[arg-type] # checked there
        interval=interval,
        seed=seed,
    )
    console = new_screen()
    _print_table(console, made)
    for line in made.lines():
        console.print(cell(line))
    if out is not None:
        write_estimates(out, made)
        show(f"\nWritten to {out}: {', '.join(names)}.")


def _print_table(console: "Console", made: "Estimates") -> None:
    from rich.table import Table

    table = Table(title=f"{made.source}", title_justify="left", box=None, pad_edge=False)
    for name in ("what", "estimator"):
        table.add_column(name)
    for name in ("estimate", "95% interval", "design\neffect", "worth", "likely\noff by"):
        table.add_column(name, justify="right", no_wrap=True)
    numeric = {each.outcome.name: each.outcome.numeric for each in made.made}
    best = {each.outcome.name: each.verdict.best for each in made.made}
    before = ""
    for row in made.table.head(_MOST_ROWS).to_dict("records"):
        group = "" if row["group"] == "everybody" else f", {row['group']}"
        is_number = numeric[row["outcome"]]
        what = f"{row['outcome']}{'' if is_number else ' = ' + row['category']}{group}"
        chosen = row["estimator"] == best[row["outcome"]]
        style = "bold" if chosen else "" if row["valid"] else "bright_black"
        estimator = f"* {row['estimator']}" if chosen else row["estimator"] if row["valid"] else f"({row['estimator']})"
        table.add_row(
            cell(what if what != before else ""),
            cell(estimator, style),
            cell(_shown(row["estimate"], is_number), style),
            cell(_range(row["low"], row["high"], is_number), style),
            cell(_shown(row["design_effect"], True, "{:.1f}"), style),
            cell(_shown(row["effective_size"], True, "{:,.0f}"), style),
            cell(_off(row["likely_bias"], is_number), style),
        )
        before = what
    console.print(table)
    if len(made.table) > _MOST_ROWS:
        console.print(f"... and {len(made.table) - _MOST_ROWS:,} more rows; all are in estimates.csv with --out.")
    console.print(cell("* use this one; (in brackets, grey): not valid here.\n", "dim"))


def _shown(value: float, is_number: bool, pattern: str = "{:.4g}") -> str:
    if value != value:
        return ""
    return pattern.format(value) if is_number else f"{value:.1%}"


def _range(low: float, high: float, is_number: bool) -> str:
    if low != low:
        return ""
    return f"{low:.4g} - {high:.4g}" if is_number else f"{100 * low:.1f} - {high:.1%}"


def _off(bias: float, is_number: bool) -> str:
    if bias != bias:
        return ""
    return f"{bias:+.4g}" if is_number else f"{100 * bias:+.1f} points"
