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
    RESERVE,
    RESPONSE,
    ROUND,
    ROUND_CAP,
    ROUNDS_LEFT,
    SEED,
    SHEET,
    STUDY,
    TARGET,
    claim,
    heading_of,
    out_path,
)
from peerfront.cli.screen import say


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
            help="CSV or Excel file with the people who may refer next; otherwise "
            "those of the study's file whose coupons are open.",
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
    episodes: EPISODES = 1000,
    seed: SEED = 0,
    with_ids: Annotated[
        bool, typer.Option("--with-ids", help="Show the coupon sheet to print, participants' ids included.")
    ] = False,
    without_trees: Annotated[
        bool,
        typer.Option("--without-trees", help="Do not draw who recruited whom; single people can be counted there."),
    ] = False,
    study_name: STUDY = None,
    date: DATE = None,
    round: ROUND = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Write a page that can be printed and sent: plan, forecast, what is known, data, trees, fit, what to disclose.

    Nothing in it is loaded from elsewhere, and no id is in it unless you ask with --with-ids. The same files, settings
    and --date give the same page.
    """
    from peerfront.advice.model import load
    from peerfront.advice.orders import AUTO, PlanOrder
    from peerfront.cli.options import shown_progress
    from peerfront.data.reading import read_study

    heading = heading_of(study_name, date, round)
    claim(context, out, overwrite=overwrite, inputs=(model, file, frontier), make_folder=False)
    fitted = load(model)
    coupons = fitted.fit.rules.budget if budget is None else budget
    order = PlanOrder(
        coupons,  # type: ignore[arg-type] # checked there, as are the others
        max_per_person,  # type: ignore[arg-type]
        min_per_person,  # type: ignore[arg-type]
        round_cap,  # type: ignore[arg-type]
        rounds_left,  # type: ignore[arg-type]
        reserve,  # type: ignore[arg-type]
        response,
        tuple(at_least or ()),
        AUTO if learn and learn_share is None else learn_share,
        seed,
    )
    people = None if frontier is None else fitted.frontier(frontier, sheet or "")
    study = read_study(file, fitted.schema.reading)
    with shown_progress() as progress:
        fitted.report(
            study, people, order,
            out=out, target=target, episodes=episodes, seed=seed, with_ids=with_ids,
            with_trees=not without_trees, heading=heading, progress=progress,
        )  # fmt: skip
    say(f"Written: {out}.")
