"""`peerfront forecast`: what to expect from here on, under the plan and under other rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli.options import (
    ACQUAINTANCES,
    EPISODES,
    LEFT_COLUMN,
    MAX_PER_PERSON_NOW,
    MIN_PER_PERSON,
    OVERWRITE,
    POPULATION,
    RANDOMISE,
    RESERVE,
    RESPONSE,
    ROUND_CAP,
    ROUNDS_LEFT,
    SEED,
    SHEET,
    STRATA,
    TARGET,
    claim,
    order_of,
    out_path,
)
from peerfront.cli.screen import show, show_result

if TYPE_CHECKING:
    from peerfront.study.date_forecast import DateForecast
    from peerfront.study.forecast import Forecast


def forecast_command(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="The folder of a fit.")],
    budget: Annotated[float, typer.Option(metavar="N", help="Coupons that are left.")],
    frontier: Annotated[
        Path | None,
        typer.Argument(help="CSV or Excel file with the people who may refer next.", show_default=False),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of FRONTIER, the study's file with dates: forecast by date, open coupons included.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="With --study: the deadline, such as 2027-03-01.", show_default=False),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="DATE", help="With --study: the day to look ahead from; otherwise its last.", show_default=False
        ),
    ] = None,
    interviews_per_week: Annotated[
        float | None,
        typer.Option(
            metavar="N", help="With --study: interviews that can be held in a week; others queue.", show_default=False
        ),
    ] = None,
    sheet: SHEET = None,
    target: TARGET = None,
    already: Annotated[
        float,
        typer.Option(metavar="N", help="People who have taken part so far, towards the target and of the population."),
    ] = 0,
    population: POPULATION = None,
    acquaintances: ACQUAINTANCES = None,
    left_column: LEFT_COLUMN = None,
    rounds_left: ROUNDS_LEFT = None,
    max_per_person: MAX_PER_PERSON_NOW = None,
    min_per_person: MIN_PER_PERSON = 0,
    round_cap: ROUND_CAP = None,
    reserve: RESERVE = 0,
    response: RESPONSE = "average",
    strata: STRATA = None,
    randomise: RANDOMISE = 0.0,
    episodes: EPISODES = 1000,
    seed: SEED = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=out_path,
            metavar="PATH",
            help="Folder for the tables (CSV) and the picture (PNG, SVG).",
            show_default=False,
        ),
    ] = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Simulate the study from here on: recruits by round, chances, coupons that stay unused.

    With FRONTIER, a file of the people who may refer next, by rounds; with --study and --until by date: interviews per
    week, the date of the target, open coupons and a queue of interviews.
    """
    from peerfront.cli.options import shown_progress
    from peerfront.foundation.errors import SettingError
    from peerfront.study.model import load
    from peerfront.words.date_forecast_words import date_forecast_tables
    from peerfront.words.forecast_words import forecast_tables
    from peerfront.words.language import say
    from peerfront.words.result_files import DATE_FORECAST_FILES, FORECAST_FILES, write_forecast

    if overwrite and out is None:
        raise SettingError("outputs.overwrite_needs_out")
    if (frontier is None) == (study is None):
        raise SettingError("forecast_options.one_of_two")
    if study is None and (until or as_of or interviews_per_week is not None):
        raise SettingError("forecast_options.by_date_only")
    if study is not None and (already or left_column or not until):
        raise SettingError("forecast_options.by_date_needs")
    files = FORECAST_FILES if study is None else DATE_FORECAST_FILES
    if out is not None:
        claim(context, out, files, overwrite=overwrite, inputs=(model, frontier, study))
    order = order_of(
        budget, max_per_person=max_per_person, min_per_person=min_per_person, round_cap=round_cap,
        rounds_left=rounds_left, reserve=reserve, response=response, strata=strata, randomise=randomise,
        population=population, acquaintances=acquaintances,
    )  # fmt: skip
    fitted = load(model)
    with shown_progress() as progress:
        if study is not None and until:
            by_date = fitted.forecast_by_date(
                study, until, order, as_of=as_of, target=target, interviews_per_week=interviews_per_week,
                episodes=episodes, seed=seed, sheet=sheet or "", progress=progress,
            )  # fmt: skip
            forecast: Forecast | DateForecast = by_date
            tables = date_forecast_tables(by_date)
        else:
            assert frontier is not None, "one of the two is there"
            people = fitted.frontier(frontier, sheet or "", left_column)
            forecast = by_rounds = fitted.forecast(
                people, order, target=target, already=already, episodes=episodes, seed=seed, progress=progress
            )
            tables = forecast_tables(by_rounds)
    show_result(tables, forecast.lines())
    if out is not None:
        write_forecast(out, forecast)
        show(say("\nWritten to {folder}: {files}.", folder=out, files=files))
