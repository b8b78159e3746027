"""`peerfront report`: one page about the study, the model, the plan and what to expect."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli import options
from peerfront.cli.options import claim, heading_of, number, order_of, output, shown_progress, text
from peerfront.cli.screen import tell


def report_command(
    context: typer.Context,
    model: options.MODEL,
    file: options.FILE,
    out: Annotated[Path, output("The page to write, such as report.html.")],
    frontier: Annotated[
        Path | None,
        typer.Option(
            help="CSV or Excel file with the people who may refer next; otherwise those of the study's file who wait."
        ),
    ] = None,
    sheet: options.SHEET = None,
    budget: Annotated[float | None, number("Coupons that are left; otherwise the model's budget.")] = None,
    target: options.TARGET = None,
    rounds_left: options.ROUNDS_LEFT = None,
    max_per_person: options.MAX_PER_PERSON_NOW = None,
    min_per_person: options.MIN_PER_PERSON = 0,
    round_cap: options.ROUND_CAP = None,
    reserve: options.RESERVE = 0,
    response: options.RESPONSE = "average",
    at_least: options.AT_LEAST = None,
    learn: options.LEARN = False,
    learn_share: options.LEARN_SHARE = None,
    strata: options.STRATA = None,
    randomise: options.RANDOMISE = 0.0,
    episodes: options.EPISODES = 1000,
    seed: options.SEED = 0,
    with_ids: Annotated[
        bool, typer.Option("--with-ids", help="Show the coupon sheet to print, participants' ids included.")
    ] = False,
    without_trees: Annotated[
        bool,
        typer.Option("--without-trees", help="Do not draw who recruited whom; single people can be counted there."),
    ] = False,
    forecast_before: Annotated[
        Path | None, text("PATH", "Folder of an earlier forecast by date, to show beside what came since.")
    ] = None,
    backtest: Annotated[Path | None, text("PATH", "Folder that `backtest` wrote, to show how forecasts fared.")] = None,
    outcome: Annotated[
        list[str] | None,
        text("FIELD", "Also estimate this column in the population, with diagnostics of the sample; repeatable."),
    ] = None,
    population: Annotated[float | None, number("People in the population, for --outcome.")] = None,
    decisions: Annotated[Path | None, text("FILE", "The decision log with people's strata, for --outcome.")] = None,
    study_name: options.STUDY = None,
    date: options.DATE = None,
    round: options.ROUND = None,
    overwrite: options.OVERWRITE = False,
) -> None:
    """Write a page that can be printed and sent: plan, forecast, what is known, data, trees, fit, what to disclose.

    Nothing in it is loaded from elsewhere, and no id is in it unless you ask with --with-ids. The same files, settings
    and --date give the same page.
    """
    from peerfront.data.reading import read_study
    from peerfront.foundation.errors import SettingError
    from peerfront.foundation.messages import Remedy
    from peerfront.study.model import load

    if (population is not None or decisions is not None) and not outcome:
        remedies = {name: Remedy(name) for name in ("population", "decisions", "outcome")}
        raise SettingError("report.needs_outcome", **remedies)
    heading = heading_of(study_name, date, round)
    claim(
        context, out, overwrite=overwrite, inputs=(model, file, frontier, forecast_before, backtest, decisions),
        make_folder=False,
    )  # fmt: skip
    fitted = load(model)
    order = order_of(
        fitted.fit.rules.budget if budget is None else budget,
        max_per_person=max_per_person, min_per_person=min_per_person, round_cap=round_cap, rounds_left=rounds_left,
        reserve=reserve, response=response, at_least=at_least, learn=learn,
        learn_share=learn_share, strata=strata, randomise=randomise, seed=seed,
    )  # fmt: skip
    people = None if frontier is None else fitted.frontier(frontier, sheet or "")
    study = read_study(file, fitted.schema.reading)
    with shown_progress() as progress:
        fitted.report(
            study, people, order,
            out=out, target=target, episodes=episodes, seed=seed, with_ids=with_ids,
            with_trees=not without_trees, heading=heading, forecast_before=forecast_before, backtest=backtest,
            outcome=outcome or (), population=population, decisions=decisions, progress=progress,
        )  # fmt: skip
    tell("Written: {file}.", file=out)
