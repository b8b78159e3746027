"""`peerfront report`: one page about the study, the model, the plan and what to expect."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli.options import (
    AT_LEAST,
    DATE,
    EPISODES,
    FILE,
    LEARN,
    LEARN_SHARE,
    MAX_PER_PERSON_NOW,
    MIN_PER_PERSON,
    OVERWRITE,
    RANDOMISE,
    RESERVE,
    RESPONSE,
    ROUND,
    ROUND_CAP,
    ROUNDS_LEFT,
    SEED,
    SHEET,
    STRATA,
    STUDY,
    TARGET,
    claim,
    heading_of,
    order_of,
    out_path,
)
from peerfront.cli.screen import show


def report_command(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="The folder of a fit.")],
    file: FILE,
    out: Annotated[
        Path,
        typer.Option(
            parser=out_path, metavar="PATH", help="The page to write, such as report.html.", show_default=False
        ),
    ],
    frontier: Annotated[
        Path | None,
        typer.Option(
            help="CSV or Excel file with the people who may refer next; otherwise those of the study's file who wait.",
            show_default=False,
        ),
    ] = None,
    sheet: SHEET = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="N", help="Coupons that are left; otherwise the model's budget.", show_default=False),
    ] = None,
    target: TARGET = None,
    rounds_left: ROUNDS_LEFT = None,
    max_per_person: MAX_PER_PERSON_NOW = None,
    min_per_person: MIN_PER_PERSON = 0,
    round_cap: ROUND_CAP = None,
    reserve: RESERVE = 0,
    response: RESPONSE = "average",
    at_least: AT_LEAST = None,
    learn: LEARN = False,
    learn_share: LEARN_SHARE = None,
    strata: STRATA = None,
    randomise: RANDOMISE = 0.0,
    episodes: EPISODES = 1000,
    seed: SEED = 0,
    with_ids: Annotated[
        bool, typer.Option("--with-ids", help="Show the coupon sheet to print, participants' ids included.")
    ] = False,
    without_trees: Annotated[
        bool,
        typer.Option("--without-trees", help="Do not draw who recruited whom; single people can be counted there."),
    ] = False,
    forecast_before: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Folder of an earlier forecast by date, to show beside what came since.",
            show_default=False,
        ),
    ] = None,
    backtest: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Folder that `backtest` wrote, to show how forecasts fared.", show_default=False
        ),
    ] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Also estimate this column in the population, with diagnostics of the sample; repeatable.",
            show_default=False,
        ),
    ] = None,
    population: Annotated[
        float | None,
        typer.Option(metavar="N", help="People in the population, for --outcome.", show_default=False),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The decision log with people's strata, for --outcome.", show_default=False),
    ] = None,
    study_name: STUDY = None,
    date: DATE = None,
    round: ROUND = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Write a page that can be printed and sent: plan, forecast, what is known, data, trees, fit, what to disclose.

    Nothing in it is loaded from elsewhere, and no id is in it unless you ask with --with-ids. The same files, settings
    and --date give the same page.
    """
    from peerfront.cli.options import shown_progress
    from peerfront.data.reading import read_study
    from peerfront.foundation.errors import SettingError
    from peerfront.foundation.messages import Remedy
    from peerfront.study.model import load
    from peerfront.words.language import say

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
    show(say("Written: {file}.", file=out))
