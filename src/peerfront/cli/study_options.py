"""Options of the commands that read a study's file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from peerfront.data import ReadSettings, StudySchema

FILE = Annotated[Path, typer.Argument(help="The study's file: CSV, RDSAT text, or a survey app's JSON.")]
FORMAT = Annotated[
    str | None,
    typer.Option(help="coupons, recruiter, rdsat or app; otherwise found out.", show_default=False),
]
MAP = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="PART=COLUMN",
        help="Name a column that was not recognised, such as own_coupon=CouponR or coupons=C1+C2; PART= for none. "
        "Parts: id, own_coupon, coupons, recruiter, coupons_issued, network_size, date.",
        show_default=False,
    ),
]
MISSING = Annotated[
    list[str] | None,
    typer.Option(metavar="CODE", help="A code that means 'not known', such as 99; repeatable.", show_default=False),
]
COUPONS_EACH = Annotated[
    float | None,
    typer.Option(metavar="N", help="Coupons issued to everybody, if the file does not say.", show_default=False),
]
STILL_OPEN = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Whose coupons may still be used: last-wave, or those of the last so many days, such as 30. "
        "They do not count yet. Otherwise nobody's.",
        show_default=False,
    ),
]
SCHEMA = Annotated[
    Path | None, typer.Option(help="A schema file, as check writes it and you edit it.", show_default=False)
]
STRICT = Annotated[bool, typer.Option("--strict", help="Stop on warnings too.")]
OVERWRITE = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]


def read_settings(
    schema: "StudySchema | None",
    format: str | None,
    map: list[str] | None,
    missing: list[str] | None,
    coupons_each: float | None,
    still_open: str | None,
    strict: bool,
) -> "ReadSettings":
    """What the schema file says, and what the command line says instead or in addition."""
    from peerfront.data import ReadSettings, parse_columns

    saved = schema.reading if schema is not None else ReadSettings()
    return ReadSettings(
        format=format or saved.format,
        columns={**saved.columns, **parse_columns(map or ())},
        missing=tuple(dict.fromkeys((*saved.missing, *(missing or ())))),
        coupons_each=saved.coupons_each if coupons_each is None else coupons_each,  # type: ignore[arg-type] # checked
        still_open=still_open or saved.still_open,
        strict=strict,
    )
