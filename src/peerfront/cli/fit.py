"""`peerfront fit`: learn from a study's file how people refer, and prepare a planner for its coupons."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli.options import AS_OF, FILE, OVERWRITE, SCHEMA, SEED, STRICT, out_path, read_settings
from peerfront.cli.screen import show
from peerfront.words.language import say


def fit_command(
    context: typer.Context,
    file: FILE,
    out: Annotated[
        Path,
        typer.Option(parser=out_path, metavar="PATH", help="Folder for the model; it holds nobody's row and no ids."),
    ],
    budget: Annotated[float, typer.Option(metavar="N", help="Most coupons that are left to give out.")],
    discount: Annotated[float, typer.Option(help="Worth of a recruit a round later; 1 for the same.")] = 1.0,
    rounds: Annotated[float, typer.Option(metavar="N", help="Most rounds that are left, this one included.")] = 5,
    max_per_person: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Most coupons for one person; otherwise 3, or fewer if hardly anybody in the study had 3.",
            show_default=False,
        ),
    ] = None,
    round_cap: Annotated[
        float | None, typer.Option(metavar="N", help="Most coupons in one round.", show_default=False)
    ] = None,
    people: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="About how many people wait for coupons at once; otherwise those with open coupons, or 20.",
            show_default=False,
        ),
    ] = None,
    response: Annotated[
        str,
        typer.Option(
            metavar="STORY",
            help="What a coupon does, if you know it: capacity (one coupon works almost as well as three), per_coupon "
            "(each coupon is used on its own) or both; auto lets the study say.",
        ),
    ] = "auto",
    seed: SEED = 0,
    schema: SCHEMA = None,
    accept_gain: Annotated[
        bool,
        typer.Option(
            "--accept-gain", help="Go on although the columns predict recruits too well to have been known before."
        ),
    ] = False,
    as_of: AS_OF = None,
    prior: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="MODEL",
            help="Folder of a model of an earlier study, which helps this one as far as they agree; repeatable.",
            show_default=False,
        ),
    ] = None,
    strict: STRICT = False,
    overwrite: OVERWRITE = False,
) -> None:
    """Learn from a study's file how many people bring and whom, and prepare plans for the coupons that are left.

    --schema says how the file is read: `peerfront check FILE --out FOLDER` writes FOLDER/schema.toml. Without it, fit
    guesses as check does. Columns that hold what came of the coupons stop it; a column that only looks so, and was
    known before, is used if its block in the schema says use = true. Where there are dates, coupons that are still open
    count for as long as they were out, on the last date of the file or on the day of --as-of.

    --prior names models of earlier studies. They count as far as they agree with each other and with this study, and a
    study of a dozen people can be fitted with them.
    """
    from peerfront.cli.options import shown_progress
    from peerfront.study.artifacts import claimed_target

    context.with_resource(claimed_target(out, overwrite))
    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema
    from peerfront.study.fit_settings import USUAL, FitSettings
    from peerfront.study.model import fit, load

    most = USUAL if max_per_person is None else max_per_person
    settings = FitSettings(
        budget,  # type: ignore[arg-type] # checked there
        discount,
        rounds,  # type: ignore[arg-type]
        most,  # type: ignore[arg-type]
        round_cap,  # type: ignore[arg-type]
        people,  # type: ignore[arg-type]
        seed,
        response=response,
        accept_gain=accept_gain,
    )
    saved = read_schema(schema) if schema is not None else None
    earlier = [load(folder) for folder in prior or ()]
    study = read_study(file, read_settings(saved, strict=strict))
    if as_of is not None:
        study = study.as_of(as_of)
    with shown_progress() as progress:
        fitted = fit(study, saved, settings, prior=earlier, progress=progress)
    fitted.save(out, overwrite=overwrite)
    for line in fitted.summary.lines():
        show(line)
    show("")
    show(
        say(
            "Written to {out}. Next: peerfront plan {out} FRONTIER.csv --budget {budget}",
            out=str(out),
            budget=settings.budget,
        )
    )
