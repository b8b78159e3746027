"""`peerfront convert`: a study's file in another of the field's formats."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli.options import FILE, OVERWRITE, SCHEMA, STRICT, claim, out_path, read_settings
from peerfront.cli.screen import show
from peerfront.words.language import n_people, say, say_n


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
    from peerfront.foundation.messages import note

    if to not in WRITERS:
        raise UnknownName(note("formats.to_write"), to, WRITERS)
    claim(context, out, overwrite=overwrite, inputs=(file, schema), make_folder=False)
    saved = read_schema(schema) if schema is not None else None
    study = read_study(file, read_settings(saved, strict=strict))
    write_study(study, out, to, overwrite=overwrite)
    show(say("{people} written to {file}.", people=n_people(len(study)), file=out))
    if study.problems:
        show(
            say_n(
                "{n:,} warning: see peerfront check {file}.",
                "{n:,} warnings: see peerfront check {file}.",
                len(study.problems),
                file=file,
            )
        )
