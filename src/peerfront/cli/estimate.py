"""`peerfront design` and `peerfront estimate`: estimates of the population, before a study and from its sample."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli import options
from peerfront.cli.options import claim, kept_in, number, output, schema_in, shown_progress, study_in, text
from peerfront.cli.screen import show_result, show_written, tell
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Remedy, note
from peerfront.words.result_files import DESIGN_FILES, estimate_files, write_design, write_estimates


def design_command(
    context: typer.Context,
    model: Annotated[
        Path | None,
        typer.Argument(
            help="The folder of a fit, for people like its study's and its plan; without it, assumptions alone."
        ),
    ] = None,
    population: Annotated[float, number("People in the population.")] = 2000,
    prevalence: Annotated[float, number("Share of people with the outcome.")] = 0.2,
    homophily: Annotated[
        float, number("Ties between people with and without the outcome: by chance, divided by those there are.")
    ] = 1.5,
    activity: Annotated[
        float, number("Acquaintances of people with the outcome, divided by those of the others (without a model).")
    ] = 1.0,
    outcome: Annotated[
        str | None,
        text(
            "FIELD[=CATEGORY]",
            "With a model: its field that is the outcome. Otherwise one is spread over the network by --prevalence and "
            "--homophily.",
        ),
    ] = None,
    brings: Annotated[
        float, number("Mean number of people whom somebody with enough coupons would bring (without a model).")
    ] = 1.5,
    unequal: Annotated[
        float,
        number(
            "How much kinds of people differ in what they bring (more: with the outcome, in group a); 0: not at all."
        ),
    ] = 1.0,
    coupons: Annotated[float, number("Coupons for the whole study.")] = 500,
    max_per_person: Annotated[float, number("Most coupons for one person.")] = 3,
    sample: Annotated[float | None, number("People after whom interviews end; otherwise all who come.")] = None,
    seeds: Annotated[float, number("People with whom the study begins.")] = 10,
    rounds: options.ROUNDS = 12,
    strata: Annotated[
        list[str] | None,
        text(
            "FIELD[+FIELD]",
            "Try a plan in which coupons differ only between these strata; repeatable. Otherwise group, or the field "
            "of the model whose people differ most.",
        ),
    ] = None,
    randomise: Annotated[
        list[float] | None,
        text(
            "CHANCE",
            "Try a plan in which everybody has at least this chance of each number; repeatable. Otherwise 0.1; 0 for "
            "none.",
        ),
    ] = None,
    repetitions: Annotated[float, number("Simulated studies under each rule.")] = 100,
    bootstraps: Annotated[float, number("Times each sample is drawn again for its interval.")] = 50,
    seed: options.SEED = 0,
    out: Annotated[Path | None, output("Folder for tables (CSV), words (text) and the picture (PNG, SVG).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what --out already holds.")] = False,
    overwrite: options.OVERWRITE = False,
) -> object:
    """Before a study starts: compare rules for coupons by the recruits they bring and by what they do to its estimate.

    Whole studies are played on networks in which everybody's outcome is known: with the same number for everybody,
    under the plan, within strata, with random numbers. Recommends a rule. With --out, Ctrl-C keeps what is finished:
    repeat the command with --resume.
    """
    from peerfront.study.design_worlds import DesignSettings

    going_on = {"resume": Remedy("resume", True), "overwrite": Remedy("overwrite", True)}
    if (resume or overwrite) and out is None:
        raise SettingError("design.folder_needed", **going_on, out=Remedy("out", True))
    if resume and overwrite:
        raise SettingError("design.resume_or_overwrite", **going_on)
    if outcome and model is None:
        raise SettingError(
            "design.outcome_needs_model",
            outcome=Remedy("outcome", True), prevalence=Remedy("prevalence"), homophily=Remedy("homophily"),
        )  # fmt: skip
    chances = (0.1,) if randomise is None else tuple(chance for chance in randomise if chance != 0.0)
    settings = DesignSettings(
        population=population, prevalence=prevalence, homophily=homophily, activity=activity,  # type: ignore[arg-type] # checked
        brings=brings, unequal=unequal, coupons=coupons, max_per_person=max_per_person,  # type: ignore[arg-type]
        sample=sample, seeds=seeds, rounds=rounds, outcome=outcome or "",  # type: ignore[arg-type]
        strata=None if strata is None else tuple(strata), randomise=chances,
        repetitions=repetitions, bootstraps=bootstraps, seed=seed,  # type: ignore[arg-type]
    )  # fmt: skip
    if out is not None:
        advice = note("design.or_resume", resume=Remedy("resume", True))
        claim(context, out, DESIGN_FILES, overwrite=overwrite or resume, inputs=(model,), advice=advice)
    from peerfront.study.design import design, design_in_folder
    from peerfront.study.model import load
    from peerfront.words.design_words import design_tables

    fitted = None if model is None else load(model)
    with shown_progress(kept_in(out)) as progress:
        if out is None:
            result = design(fitted, settings, progress=progress)
        else:
            result = design_in_folder(out, fitted, settings, resume=resume, progress=progress)
    show_result(design_tables(result), result.lines())
    if out is not None:
        write_design(out, result)
        show_written(out, DESIGN_FILES)
    return {
        "settings": settings, "rules": result.rules, "estimators": result.table, "recommended": result.recommended,
        "lines": result.lines(),
    }  # fmt: skip


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
    population_guess: Annotated[
        float | None,
        number("A guess of the population's size: say what the order of network sizes adds to it."),
    ] = None,
    interval: Annotated[
        str,
        text("KIND", "The bootstrap of the intervals: neighbourhood, tree, salganik, or ss (needs --population)."),
    ] = "neighbourhood",
    bootstraps: Annotated[float, number("Times the sample is drawn again.")] = 1000,
    weights: Annotated[
        bool, typer.Option("--weights", help="Also everybody's weights, and replicate weights (for R's survey).")
    ] = False,
    estimator: Annotated[
        str | None, text("NAME", "The estimator of the weights, such as RDS-II; otherwise the advised one.")
    ] = None,
    details: options.DETAILS = False,
    seed: options.SEED = 0,
    out: Annotated[Path | None, output("Folder for tables (CSV), words (text) and pictures (PNG, SVG).")] = None,
    schema: options.SCHEMA = None,
    format: options.FORMAT = None,
    map: options.MAP = None,
    missing: options.MISSING = None,
    coupons_each: options.COUPONS_EACH = None,
    strict: options.STRICT = False,
    read_anyway: options.READ_ANYWAY = None,
    overwrite: options.OVERWRITE = False,
) -> object:
    """Estimate shares and means in the population, also where coupons depended on people.

    Says which estimator to use here and why. With --details all are shown: those that are not valid in grey, with how
    far they are likely off.
    """
    groups = bool(by)
    if estimator is not None and not weights:
        raise SettingError("estimation.estimator_of_weights", remedy=Remedy("weights", True))
    names = estimate_files(len(outcome), groups=groups, guess=population_guess is not None, weights=weights)
    claim(context, out, names, overwrite=overwrite, inputs=(file, schema, decisions, *(sheet or ())))
    from peerfront.study.estimation import estimate
    from peerfront.words.estimates import estimate_table

    study = study_in(
        file, schema_in(schema), near=schema, strict=strict, format=format, map=map, missing=missing,
        coupons_each=coupons_each, read_anyway=read_anyway,
    )  # fmt: skip
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
        population_guess=population_guess,  # type: ignore[arg-type] # checked there
    )
    weighed = [
        (estimates.weights(name, estimator), estimates.replicate_weights(name, estimator))
        for name in (outcome if weights else ())
    ]
    if details:
        show_result([estimate_table(estimates)], [*estimates.lines(), *estimates.details()])
    else:
        show_result([], estimates.lines())
        tell("All estimators, and why: --details. Files: --out FOLDER.")
    if out is not None:
        write_estimates(out, estimates, groups=groups, weights=weighed)
        show_written(out, names)
    elif weights:
        tell("Weights are for files: give --out FOLDER, or read them with --json.")
    of_each = [
        {"outcome": name, "people": people, "replicates": replicates.iloc[:, 1:].to_numpy().T}
        for name, (people, replicates) in zip(outcome, weighed, strict=False)
    ]
    verdicts = {each.outcome.name: each.verdict for each in estimates.outcomes}
    return {
        "estimates": estimates.table, "verdicts": verdicts, "population": estimates.population,
        "interval": estimates.interval, "comparisons": estimates.comparisons,
        "population_size": estimates.population_size, "notes": estimates.notes, "lines": estimates.lines(),
        "details": estimates.details(), **({"weights": of_each} if weights else {}),
    }  # fmt: skip
