"""`peerfront estimate`: what the sample says about the population, and which estimator is valid here."""

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
    SCHEMA,
    SEED,
    STRICT,
    claim,
    out_path,
    read_settings,
)
from peerfront.cli.screen import show, show_result
from peerfront.words.language import say
from peerfront.words.result_files import estimate_files, write_estimates


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
        raise SettingError("outputs.overwrite_needs_out")

    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema
    from peerfront.study.estimation import estimate
    from peerfront.words.estimates import estimate_table

    saved = read_schema(schema) if schema is not None else None
    settings = read_settings(saved, strict=strict, format=format, map=map, missing=missing, coupons_each=coupons_each)
    estimates = estimate(
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
    show_result([estimate_table(estimates)], estimates.lines())
    if out is not None:
        write_estimates(out, estimates)
        show(say("Written to {out}: {files}.", out=out, files=names))
