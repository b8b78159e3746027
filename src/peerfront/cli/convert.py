"""`peerfront convert`: a study's file in another of the field's formats."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli.options import FILE, OVERWRITE, SCHEMA, STRICT, claim, out_path, read_settings
from peerfront.cli.screen import show


def convert_command(
    context: typer.Context,
    file: FILE,
    to: Annotated[str, typer.Option(help="coupons, recruiter, rdsat, app, or dot (GraphViz).")],
    out: Annotated[Path, typer.Option(parser=out_path, metavar="PATH", help="The file to write.")],
    schema: SCHEMA = None,
    strict: STRICT = False,
    overwrite: OVERWRITE = False,
) -> None:
    """Write a study in another format: coupon CSV, recruiter-id CSV, RDSAT, survey-app JSON, or GraphViz.

    --schema says how the file is read: `peerfront check FILE --out FOLDER` writes FOLDER/schema.toml. Without it,
    convert guesses as check does.
    """
    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema
    from peerfront.data.writers import WRITERS, write_study
    from peerfront.foundation.errors import UnknownName

    if to not in WRITERS:
        raise UnknownName("format to write", to, WRITERS)
    claim(context, out, overwrite=overwrite, inputs=(file, schema), make_folder=False)
    saved = read_schema(schema) if schema is not None else None
    study = read_study(file, read_settings(saved, strict=strict))
    write_study(study, out, to, overwrite=overwrite)
    count = len(study.problems)
    warnings = f" {count} warning{'s' if count > 1 else ''}: see peerfront check {file}." if count else ""
    show(f"{len(study):,} people written to {out}.{warnings}")
