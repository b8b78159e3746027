"""`peerfront design`: before launch, what each rule for coupons brings and what it does to the study's estimates."""

from pathlib import Path
from typing import Annotated, Any

import typer

from peerfront.cli.options import INTERRUPTED, OVERWRITE, SEED, claim, out_path
from peerfront.cli.screen import show, show_result
from peerfront.words.language import say
from peerfront.words.result_files import DESIGN_FILES, write_design


def _number(help: str) -> Any:
    return typer.Option(metavar="N", help=help)


def design_command(
    context: typer.Context,
    model: Annotated[
        Path | None,
        typer.Argument(
            help="The folder of a fit, for people like its study's and its plan; without it, assumptions alone.",
            show_default=False,
        ),
    ] = None,
    population: Annotated[float, _number("People in the population.")] = 2000,
    prevalence: Annotated[float, _number("Share of people with the outcome.")] = 0.2,
    homophily: Annotated[
        float,
        _number("Ties between people with and without the outcome: by chance, divided by those there are."),
    ] = 1.5,
    activity: Annotated[
        float, _number("Acquaintances of people with the outcome, divided by those of the others (without a model).")
    ] = 1.0,
    outcome: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD[=CATEGORY]",
            help="With a model: its field that is the outcome. Otherwise one is spread over the network by "
            "--prevalence and --homophily.",
            show_default=False,
        ),
    ] = None,
    brings: Annotated[
        float, _number("Mean number of people whom somebody with enough coupons would bring (without a model).")
    ] = 1.5,
    unequal: Annotated[
        float,
        _number(
            "How much kinds of people differ in what they bring (more: with the outcome, in group a); 0: not at all."
        ),
    ] = 1.0,
    coupons: Annotated[float, _number("Coupons for the whole study.")] = 500,
    max_per_person: Annotated[float, _number("Most coupons for one person.")] = 3,
    sample: Annotated[
        float | None,
        typer.Option(metavar="N", help="People after whom interviews end; otherwise all who come.", show_default=False),
    ] = None,
    seeds: Annotated[float, _number("People with whom the study begins.")] = 10,
    rounds: Annotated[float, _number("Rounds after which the study ends.")] = 12,
    strata: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD[+FIELD]",
            help="Try a plan in which coupons differ only between these strata; repeatable. Otherwise group, or the "
            "field of the model whose people differ most.",
            show_default=False,
        ),
    ] = None,
    randomise: Annotated[
        list[float] | None,
        typer.Option(
            metavar="CHANCE",
            help="Try a plan in which everybody has at least this chance of each number; repeatable. Otherwise 0.1; "
            "0 for none.",
            show_default=False,
        ),
    ] = None,
    repetitions: Annotated[float, _number("Simulated studies under each rule.")] = 100,
    bootstraps: Annotated[float, _number("Times each sample is drawn again for its interval.")] = 50,
    seed: SEED = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=out_path,
            metavar="PATH",
            help="Folder for tables (CSV), words (text) and the picture (PNG, SVG).",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what --out already holds.")] = False,
    overwrite: OVERWRITE = False,
) -> None:
    """Before a study starts: compare rules for coupons by the recruits they bring and by what they do to its estimate.

    Whole studies are played on networks in which everybody's outcome is known: with the same number for everybody,
    under the plan, within strata, with random numbers. Recommends a rule. With --out, Ctrl-C keeps what is finished:
    repeat the command with --resume.
    """
    from peerfront.foundation.errors import SettingError
    from peerfront.foundation.messages import Remedy, note
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
        population=population,  # type: ignore[arg-type] # checked there, as are the others
        prevalence=prevalence,
        homophily=homophily,
        activity=activity,
        brings=brings,
        unequal=unequal,
        coupons=coupons,  # type: ignore[arg-type]
        max_per_person=max_per_person,  # type: ignore[arg-type]
        sample=sample,  # type: ignore[arg-type]
        seeds=seeds,  # type: ignore[arg-type]
        rounds=rounds,  # type: ignore[arg-type]
        outcome=outcome or "",
        strata=None if strata is None else tuple(strata),
        randomise=chances,
        repetitions=repetitions,  # type: ignore[arg-type]
        bootstraps=bootstraps,  # type: ignore[arg-type]
        seed=seed,
    )
    if out is not None:
        advice = note("design.or_resume", resume=Remedy("resume", True))
        claim(context, out, DESIGN_FILES, overwrite=overwrite or resume, inputs=(model,), advice=advice)
    from peerfront.cli.options import shown_progress
    from peerfront.study.design import design, design_in_folder
    from peerfront.study.model import load
    from peerfront.words.design_words import design_tables

    fitted = None if model is None else load(model)
    with shown_progress() as progress:
        try:
            if out is None:
                result = design(fitted, settings, progress=progress)
            else:
                result = design_in_folder(out, fitted, settings, resume=resume, progress=progress)
        except KeyboardInterrupt:
            if out is None:
                show(say("Stopped. Nothing was written."), err=True)
            else:
                show(
                    say("Stopped. What is done is kept in {out}. Repeat the command with --resume to go on.", out=out),
                    err=True,
                )
            raise typer.Exit(INTERRUPTED) from None
    show_result(design_tables(result), result.lines())
    if out is not None:
        write_design(out, result)
        show(say("Written to {out}: {files}.", out=out, files=DESIGN_FILES))
