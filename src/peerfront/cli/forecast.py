"""`peerfront forecast`: what to expect from here on, under the plan and under other rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli.forecast_by_date import show_by_date
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
from peerfront.cli.screen import cell, new_screen, show
from peerfront.words.result_files import DATE_FORECAST_FILES, FORECAST_FILES, write_forecast

if TYPE_CHECKING:
    from rich.table import Table

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

    if overwrite and out is None:
        raise SettingError("--overwrite needs --out, the folder it is about.")
    if (frontier is None) == (study is None):
        raise SettingError(
            "Give the people who may refer next (FRONTIER, a forecast by rounds) or the study's file (--study and "
            "--until, a forecast by date): one of them."
        )
    if study is None and (until or as_of or interviews_per_week is not None):
        raise SettingError(
            "--until, --as-of and --interviews-per-week are about a forecast by date: give --study, too."
        )
    if out is not None:
        files = FORECAST_FILES if study is None else DATE_FORECAST_FILES
        claim(context, out, files, overwrite=overwrite, inputs=(model, frontier, study))
    order = order_of(
        budget, max_per_person=max_per_person, min_per_person=min_per_person, round_cap=round_cap,
        rounds_left=rounds_left, reserve=reserve, response=response, strata=strata, randomise=randomise,
        population=population, acquaintances=acquaintances,
    )  # fmt: skip
    fitted = load(model)
    if study is not None:
        if already or left_column or not until:
            raise SettingError(
                "A forecast by date needs --until, its last day, such as 2027-03-01; who has taken part it counts "
                "itself, without --already and --left-column."
            )
        with shown_progress() as progress:
            by_date = fitted.forecast_by_date(
                study, until, order, as_of=as_of, target=target, interviews_per_week=interviews_per_week,
                episodes=episodes, seed=seed, sheet=sheet or "", progress=progress,
            )  # fmt: skip
        show_by_date(by_date, out)
        return
    assert frontier is not None, "one of the two is there"
    people = fitted.frontier(frontier, sheet or "", left_column)
    with shown_progress() as progress:
        forecast = fitted.forecast(
            people, order, target=target, already=already, episodes=episodes, seed=seed, progress=progress
        )
    console = new_screen()
    console.print(_rounds(forecast))
    console.print(_policies(forecast))
    for line in forecast.lines():
        console.print(cell(line))
    if out is not None:
        write_forecast(out, forecast)
        show(f"\nWritten to {out}: {', '.join(FORECAST_FILES)}.")


def _rounds(forecast: "Forecast") -> "Table":
    from rich.table import Table

    table = Table(title="The plan, round by round", title_justify="left", box=None, pad_edge=False)
    for name in ("round", "coupons issued", "recruits", "half of the time", "8 of 10", "so far", "8 of 10 so far"):
        table.add_column(name, justify="right")
    own = forecast.rounds[forecast.rounds["policy"] == forecast.summary["policy"].iloc[0]]
    for row in own.to_dict("records"):
        table.add_row(
            str(row["round"]),
            f"{row['issued']:.1f}",
            f"{row['recruits']:.1f}",
            f"{row['p25']:.0f} - {row['p75']:.0f}",
            f"{row['p10']:.0f} - {row['p90']:.0f}",
            f"{row['total']:.1f}",
            f"{row['total_p10']:.0f} - {row['total_p90']:.0f}",
        )
    return table


def _policies(forecast: "Forecast") -> "Table":
    from rich.table import Table

    from peerfront.foundation.words import percent

    table = Table(title="\nThe plan and others", title_justify="left", box=None, pad_edge=False)
    table.add_column("rule")
    names = ["recruits", "8 of 10", "model unsure too", "target", "dies out", "issued, not used", "never issued"]
    for name in names:
        table.add_column(name, justify="right")
    for row in forecast.summary.to_dict("records"):
        unsure = f"{row['with_model_p10']:.0f} - {row['with_model_p90']:.0f}" if forecast.with_model else "not known"
        table.add_row(
            str(row["policy"]).partition(":")[0],
            f"{row['recruits']:.1f}",
            f"{row['p10']:.0f} - {row['p90']:.0f}",
            unsure,
            "" if forecast.target is None else percent(row["reaches_target"]),
            percent(row["dies_out"]),
            f"{row['unused']:.1f}",
            f"{row['never_issued']:.1f}",
        )
    return table
