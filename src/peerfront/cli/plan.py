"""`peerfront fit` and `peerfront plan`: learn from a study how people refer, and make this round's coupon sheet."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli import options
from peerfront.cli.options import claim, number, order_of, output, people_in, schema_in, shown_progress, study_in, text
from peerfront.cli.screen import show, show_result, tell
from peerfront.foundation.errors import SettingError
from peerfront.words.language import Text, say
from peerfront.words.result_files import curve_file, write_sheet


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
    prior_belief: options.PRIOR_BELIEF = None,
    strict: options.STRICT = False,
    details: options.DETAILS = False,
    overwrite: options.OVERWRITE = False,
) -> object:
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
        response=response, accept_gain=accept_gain, prior_belief=prior_belief,
    )  # fmt: skip
    saved = schema_in(schema)
    earlier = [load(folder) for folder in prior or ()]
    study = study_in(file, saved, near=schema, strict=strict, as_of=as_of)
    with shown_progress() as progress:
        fitted = fit(study, saved, settings, prior=earlier, progress=progress)
    fitted.save(out, overwrite=overwrite)
    for line in (*fitted.summary.lines(), *(fitted.summary.details() if details else [])):
        show(line)
    tell(
        "Written to {out}. Next: peerfront plan {out} --study-file {file} --budget {budget}",
        out=str(out), file=str(file), budget=settings.budget,
    )  # fmt: skip
    made = fitted.fit
    return {
        "model": out, "rules": made.rules, "settings": made.settings, "scores": made.scores, "messages": made.messages,
        "lines": fitted.summary.lines(), "details": fitted.summary.details(),
    }  # fmt: skip


def plan_command(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="The folder that `peerfront fit` wrote.")],
    budget: Annotated[float, number("Coupons that are left for the rest of the study.")],
    frontier: Annotated[
        Path | None,
        typer.Argument(help="CSV or Excel file of the people who may get coupons now: an id and the columns."),
    ] = None,
    study_file: options.STUDY_FILE = None,
    deadline: options.DEADLINE = None,
    as_of: options.AS_OF = None,
    interviews_per_week: options.INTERVIEWS = None,
    target: options.TARGET = None,
    sheet: options.SHEET = None,
    max_per_person: options.MAX_PER_PERSON_NOW = None,
    min_per_person: options.MIN_PER_PERSON = 0,
    round_cap: options.ROUND_CAP = None,
    rounds_left: options.ROUNDS_LEFT = None,
    reserve: options.RESERVE = 0,
    response: options.RESPONSE = "average",
    at_least: options.AT_LEAST = None,
    learn: options.LEARN = False,
    learn_share: options.LEARN_SHARE = None,
    population: options.POPULATION = None,
    already: Annotated[
        float | None,
        number(
            "People who have taken part so far, those who wait included, towards the target and of the population; "
            "otherwise as many as in the study of the model."
        ),
    ] = None,
    acquaintances: options.ACQUAINTANCES = None,
    left_column: options.LEFT_COLUMN = None,
    strata: options.STRATA = None,
    randomise: options.RANDOMISE = 0.0,
    spend: options.SPEND = None,
    seed: options.SEED = 0,
    details: options.DETAILS = False,
    out: Annotated[
        list[Path] | None,
        output(
            "File for the sheet: .xlsx or .pdf to print and fill in, otherwise CSV (the curve of spends goes beside "
            "it); repeatable."
        ),
    ] = None,
    decisions: Annotated[
        Path | None,
        output(
            "Add what was decided to this log (CSV): person, coupons, probability, stratum, seed, model. "
            "`estimate --decisions` reads it."
        ),
    ] = None,
    study: options.STUDY = None,
    date: options.DATE = None,
    round: options.ROUND = None,
    overwrite: options.OVERWRITE = False,
) -> object:
    """Make the coupon sheet: who gets how many coupons now, why, and what else could be done.

    --out sheet.xlsx writes a workbook that prints on A4 or Letter, headed by --study, --date and --round, with room for
    the numbers of the coupons, the date and initials; --out sheet.pdf the same pages as a PDF.
    """
    files = out or []
    if overwrite and not files:
        raise SettingError("commands.overwrite_needs_out")
    heading = options.heading_of(study, date, round)
    headed = False
    if files:
        from peerfront.study.coupon_sheet import CSV, sheet_kind

        kinds = [sheet_kind(file) for file in files]
        headed = any(kind != CSV for kind in kinds)
        for file, kind in zip(files, kinds, strict=True):
            claim(context, file, overwrite=overwrite, inputs=(model, frontier, study_file))
            if kind == CSV:
                claim(context, curve_file(file), overwrite=overwrite, inputs=(model, frontier, study_file))
    if decisions is not None:
        claim(context, decisions, overwrite=True, inputs=(model, frontier, study_file))
    elif not headed and (study or date or round):
        raise SettingError("commands.csv_has_no_title")
    from peerfront.study.model import load
    from peerfront.words.sheet import people_table

    order = order_of(context, already=already if population else None)
    fitted = load(model)
    people = people_in(model, fitted, frontier, study_file, sheet, left_column)
    with shown_progress() as progress:
        plan = fitted.advise(people, order, already=already or 0, as_of=as_of, progress=progress).sheet
    if decisions is not None:
        from peerfront.study.decision_log import extended_log, write_log

        log = extended_log(decisions, plan, heading)
    show_result([], [*plan.lines(), *(plan.details() if details else [])])
    if plan.spend or details:
        show("")
        show_result([people_table(plan.table, details=details)], [])
    for file in files:
        write_sheet(file, plan, heading)
        show("")
        show(_written(file))
    if decisions is not None:
        write_log(decisions, log)
        show("")
        tell(
            "Written: {file} ({added:,} decisions added; it holds {all:,}).",
            file=str(decisions),
            added=len(plan.table),
            all=len(log),
        )
    return plan


def _written(file: Path) -> Text:
    from peerfront.study.coupon_sheet import PDF, WORKBOOK, sheet_kind

    kind, names = sheet_kind(file), {"file": str(file), "curve": str(curve_file(file))}
    if kind == WORKBOOK:
        return say(
            "Written: {file} (to print and fill in; its other worksheets hold the facts and every number).", **names
        )
    if kind == PDF:
        return say("Written: {file} (to print and fill in).", **names)
    return say("Written: {file} (the sheet), {curve} (recruits expected for other numbers of coupons).", **names)
