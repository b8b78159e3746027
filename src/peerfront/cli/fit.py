"""`peerfront fit`: learn from a study's file how people refer, and prepare a planner for its coupons."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli import options
from peerfront.cli.options import number, output, schema_in, shown_progress, study_in, text
from peerfront.cli.screen import show, tell


def fit_command(
    context: typer.Context,
    file: options.FILE,
    out: Annotated[Path, output("Folder for the model; it holds nobody's row and no ids.")],
    budget: Annotated[float, number("Most coupons that are left to give out.")],
    discount: Annotated[float, typer.Option(help="Worth of a recruit a round later; 1 for the same.")] = 1.0,
    rounds: Annotated[float, number("Most rounds that are left, this one included.")] = 5,
    max_per_person: Annotated[
        float | None, number("Most coupons for one person; otherwise 3, or fewer if hardly anybody in the study had 3.")
    ] = None,
    round_cap: Annotated[float | None, number("Most coupons in one round.")] = None,
    people: Annotated[
        float | None,
        number("About how many people wait for coupons at once; otherwise those with open coupons, or 20."),
    ] = None,
    response: Annotated[
        str,
        text(
            "STORY",
            "What a coupon does, if you know it: capacity (one coupon works almost as well as three), per_coupon (each "
            "coupon is used on its own); auto lets the study say.",
        ),
    ] = "auto",
    seed: options.SEED = 0,
    schema: options.SCHEMA = None,
    accept_gain: Annotated[
        bool,
        typer.Option(
            "--accept-gain", help="Go on although the columns predict recruits too well to have been known before."
        ),
    ] = False,
    as_of: options.AS_OF = None,
    prior: options.PRIOR = None,
    strict: options.STRICT = False,
    overwrite: options.OVERWRITE = False,
) -> None:
    """Learn from a study's file how many people bring and whom, and prepare plans for the coupons that are left.

    --schema says how the file is read: `peerfront check FILE --out FOLDER` writes FOLDER/schema.toml. Without it, fit
    guesses as check does. Columns that hold what came of the coupons stop it; a column that only looks so, and was
    known before, is used if its block in the schema says use = true. Where there are dates, coupons that are still open
    count for as long as they were out, on the last date of the file or on the day of --as-of.

    --prior names models of earlier studies. They count as far as they agree with each other and with this study, and a
    study of a dozen people can be fitted with them.
    """
    from peerfront.study.artifacts import claimed_target

    context.with_resource(claimed_target(out, overwrite))
    from peerfront.study.fit_settings import USUAL, FitSettings
    from peerfront.study.model import fit, load

    settings = FitSettings(
        budget, discount, rounds, USUAL if max_per_person is None else max_per_person, round_cap, people, seed,  # type: ignore[arg-type] # checked there
        response=response, accept_gain=accept_gain,
    )  # fmt: skip
    saved = schema_in(schema)
    earlier = [load(folder) for folder in prior or ()]
    study = study_in(file, saved, strict=strict, as_of=as_of)
    with shown_progress() as progress:
        fitted = fit(study, saved, settings, prior=earlier, progress=progress)
    fitted.save(out, overwrite=overwrite)
    for line in fitted.summary.lines():
        show(line)
    show("")
    tell(
        "Written to {out}. Next: peerfront plan {out} FRONTIER.csv --budget {budget}",
        out=str(out),
        budget=settings.budget,
    )
