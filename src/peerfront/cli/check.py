"""`peerfront check`: read a study's file, say what is in it and what is wrong with it, and guess a schema."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli.study_options import (
    COUPONS_EACH,
    FILE,
    FORMAT,
    MAP,
    MISSING,
    OVERWRITE,
    SCHEMA,
    STILL_OPEN,
    STRICT,
    read_settings,
)


def check_command(
    file: FILE,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for problems, summary, schema and tree.", show_default=False),
    ] = None,
    schema: SCHEMA = None,
    format: FORMAT = None,
    map: MAP = None,
    missing: MISSING = None,
    coupons_each: COUPONS_EACH = None,
    still_open: STILL_OPEN = None,
    strict: STRICT = False,
    overwrite: OVERWRITE = False,
) -> None:
    """Check a study's file: who recruited whom, coupons, dates, and what is known about people.

    Nothing is written without --out. With it, the folder holds the problems, a summary, the tree for GraphViz and,
    unless --schema names one, a guessed schema.toml to edit.
    """
    from rich.console import Console

    from peerfront.cli.check_folder import CheckFolder
    from peerfront.cli.check_report import print_report
    from peerfront.data import guess_schema, history_of, read_schema, read_study, summarise
    from peerfront.errors import SettingError

    if overwrite and out is None:
        raise SettingError("--overwrite needs --out, the folder it is about.")
    folder = CheckFolder(out, overwrite=overwrite, with_schema=schema is None) if out is not None else None
    known = read_schema(schema) if schema is not None else None
    study = read_study(file, read_settings(known, format, map, missing, coupons_each, still_open, strict))
    reasons: dict[str, str] = {}
    if known is None:
        guess = guess_schema(study)
        known, reasons = guess.schema, guess.reasons
    else:
        known.check_columns(study)
    history_of(study, known)  # whatever a later command would stumble over is found now
    summary = summarise(study)
    print_report(Console(), study, summary, known, reasons, guessed=schema is None)
    if folder is not None:
        folder.write(study, summary, known, reasons)
        typer.echo(f"\nWritten to {folder.path}: {', '.join(folder.names)}.")
        if schema is None:
            typer.echo(
                "Edit schema.toml there (leave out columns, name categories), then look again with "
                f"--schema {folder.path / 'schema.toml'}."
            )
    elif schema is None:
        typer.echo("\nKeep this, with a schema to edit: add --out FOLDER.")
