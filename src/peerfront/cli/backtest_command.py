"""`peerfront backtest`: forecasts that could have been made on earlier days of a study, beside what came."""

from pathlib import Path
from typing import Annotated

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
from peerfront.cli.screen import show, show_result


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

    Forecasts know how many coupons people really got afterwards, not who came. The result says whether forecasts can
    be trusted on this study, near and far.
    """
    from dataclasses import replace

    from peerfront.data.columns.column_findings import vetted
    from peerfront.data.columns.schema_guess import guess_schema
    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema
    from peerfront.foundation.errors import SettingError
    from peerfront.study.backtest import BacktestSettings, backtest
    from peerfront.words.backtest_words import backtest_table
    from peerfront.words.language import say
    from peerfront.words.result_files import BACKTEST_FILES, write_backtest

    if overwrite and out is None:
        raise SettingError("outputs.overwrite_needs_out")
    settings = BacktestSettings(tuple(at or ()), by_waves, episodes, interviews_per_week, seed)  # type: ignore[arg-type] # checked there
    if out is not None:
        claim(context, out, BACKTEST_FILES, overwrite=overwrite, inputs=(study, schema))
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
    show_result([backtest_table(test)], test.lines())
    if out is not None:
        write_backtest(out, test)
        show(say("\nWritten to {folder}: {files}.", folder=out, files=BACKTEST_FILES))
