"""`peerfront backtest`: forecasts that could have been made on earlier days of a study, beside what came."""

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
    PRESET,
    SCHEMA,
    SEED,
    SHEET,
    STRICT,
    claim,
    out_path,
    read_settings,
    shown_progress,
)
from peerfront.cli.screen import cell, new_screen, show

if TYPE_CHECKING:
    from rich.table import Table

    from peerfront.study.backtest import Backtest

FILES = ("forecasts.csv", "coverage.csv", "weeks.csv", "backtest.txt", "backtest.png", "backtest.svg")


def backtest_command(
    context: typer.Context,
    study: FILE,
    schema: SCHEMA = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATE",
            help="A day at which to cut, such as 2026-03-02 (a wave where there are no dates); repeatable. Otherwise "
            "quarters of the study's time.",
            show_default=False,
        ),
    ] = None,
    by_waves: Annotated[bool, typer.Option("--by-waves", help="Cut by waves although there are dates.")] = False,
    interviews_per_week: Annotated[
        float | None,
        typer.Option(metavar="N", help="Interviews that could be held in a week; others queue.", show_default=False),
    ] = None,
    episodes: Annotated[float, typer.Option(metavar="N", help="Simulated studies for each cut.")] = 300,
    seed: SEED = 0,
    valid_days: Annotated[
        float | None,
        typer.Option(metavar="DAYS", help="Days that coupons are valid, if the file does not say.", show_default=False),
    ] = None,
    format: FORMAT = None,
    map: MAP = None,
    missing: MISSING = None,
    coupons_each: COUPONS_EACH = None,
    sheet: SHEET = None,
    preset: PRESET = None,
    strict: STRICT = False,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=out_path,
            metavar="PATH",
            help="Folder for tables (CSV), words and picture; a run that was stopped goes on there.",
            show_default=False,
        ),
    ] = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Cut a study at earlier days, fit to what was known, forecast the rest, and compare with what came.

    Forecasts are told how many coupons people really got afterwards, not who came. The words say whether forecasts can
    be trusted on this study, near and far.
    """
    from dataclasses import replace

    from peerfront.data.column_findings import vetted
    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema
    from peerfront.data.schema_guess import guess_schema
    from peerfront.foundation.errors import SettingError
    from peerfront.study.backtest import BacktestSettings, backtest

    if overwrite and out is None:
        raise SettingError("outputs.overwrite_needs_out")
    settings = BacktestSettings(tuple(at or ()), by_waves, episodes, interviews_per_week, seed)  # type: ignore[arg-type] # checked there
    if out is not None:
        claim(context, out, FILES, overwrite=overwrite, inputs=(study, schema))
    columns = None if schema is None else read_schema(schema)
    reading = read_settings(
        columns, strict=strict, format=format, map=map, missing=missing, coupons_each=coupons_each, sheet=sheet,
        preset=preset,
    )  # fmt: skip
    if valid_days is not None:
        reading = replace(reading, valid_days=valid_days)
    file = read_study(study, reading)
    if columns is None:
        columns = guess_schema(file).schema
    columns.check_columns(file)
    with shown_progress() as progress:
        test = backtest(file, vetted(file, columns).schema, settings, progress, kept=out)
    console = new_screen()
    console.print(_table(test))
    for line in test.lines():
        console.print(cell(line))
    if out is not None:
        _write(test, out)
        show(f"\nWritten to {out}: {', '.join(FILES)}.")


def _table(test: "Backtest") -> "Table":
    from rich.table import Table

    table = Table(title="Forecasts, and what came", title_justify="left", box=None, pad_edge=False)
    table.add_column("from")
    table.add_column("ahead")
    for name in ("people then", "middle", "8 of 10", "came", ""):
        table.add_column(name, justify="right")
    for row in test.forecasts.to_dict("records"):
        table.add_row(
            cell(str(row["cut"])),
            str(row["horizon"]),
            f"{row['people']:,}",
            f"{row['median']:.0f}",
            f"{row['p10']:.0f} - {row['p90']:.0f}",
            f"{row['realised']:,}",
            "inside" if row["inside"] else "above" if row["realised"] > row["p90"] else "below",
        )
    return table


def _write(test: "Backtest", out: Path) -> None:
    from peerfront.foundation.figures import rendered
    from peerfront.foundation.files import write_bytes, write_text
    from peerfront.foundation.spreadsheets import csv_text

    write_text(out / "forecasts.csv", csv_text(test.forecasts))
    write_text(out / "coverage.csv", csv_text(test.coverage))
    write_text(out / "weeks.csv", csv_text(test.weeks))
    write_text(out / "backtest.txt", "\n".join(test.lines()) + "\n")
    figure = test.plot()
    for kind in ("png", "svg"):
        write_bytes(out / f"backtest.{kind}", rendered(figure, kind))
