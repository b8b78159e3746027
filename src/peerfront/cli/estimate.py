"""`peerfront estimate`: what the sample says about the population, and which estimator is valid here."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli import options
from peerfront.cli.options import claim, number, output, schema_in, study_in, text
from peerfront.cli.screen import show_result, show_written
from peerfront.words.result_files import estimate_files, write_estimates


def estimate_command(
    context: typer.Context,
    file: options.FILE,
    outcome: Annotated[list[str], text("FIELD", "The column to estimate, such as hiv; repeatable.")],
    population: Annotated[float | None, number("People in the population, if that is known.")] = None,
    by: Annotated[list[str] | None, text("FIELD", "Also for each category of this column; repeatable.")] = None,
    strata: Annotated[
        list[str] | None,
        text(
            "FIELD", "The column by which coupons were given out; repeatable. Otherwise the number of coupons issued."
        ),
    ] = None,
    sheet: Annotated[
        list[Path] | None,
        text(
            "FILE",
            "Take strata from this coupon sheet (CSV or .xlsx), as plan wrote it; repeatable, one for each round.",
        ),
    ] = None,
    decisions: Annotated[
        Path | None, text("FILE", "Take strata from this decision log: of `plan --decisions`, or the folder of `week`.")
    ] = None,
    interval: Annotated[
        str, text("KIND", "How intervals are made: neighbourhood or tree (bootstrap).")
    ] = "neighbourhood",
    bootstraps: Annotated[float, number("Times the sample is drawn again.")] = 1000,
    seed: options.SEED = 0,
    out: Annotated[Path | None, output("Folder for tables (CSV), words (text) and pictures (PNG, SVG).")] = None,
    schema: options.SCHEMA = None,
    format: options.FORMAT = None,
    map: options.MAP = None,
    missing: options.MISSING = None,
    coupons_each: options.COUPONS_EACH = None,
    strict: options.STRICT = False,
    overwrite: options.OVERWRITE = False,
) -> None:
    """Estimate shares and means in the population, also where coupons depended on people.

    Says which estimator is valid here and why. Those that are not are shown in grey, with how far they are likely off.
    """
    names = estimate_files(len(outcome))
    claim(context, out, names, overwrite=overwrite, inputs=(file, schema, decisions, *(sheet or ())))
    from peerfront.study.estimation import estimate
    from peerfront.words.estimates import estimate_table

    study = study_in(
        file, schema_in(schema), strict=strict, format=format, map=map, missing=missing, coupons_each=coupons_each
    )
    estimates = estimate(
        study,
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
        show_written(out, names)
