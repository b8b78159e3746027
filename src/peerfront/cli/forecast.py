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
from peerfront.cli.screen import cell, new_screen, say

if TYPE_CHECKING:
    from rich.table import Table

    from peerfront.advice.forecast import Forecast

_FILES = ("rounds.csv", "summary.csv", "stories.csv", "forecast.png", "forecast.svg")


def forecast_command(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="The folder of a fit.")],
    frontier: Annotated[Path, typer.Argument(help="CSV or Excel file with the people who may refer next.")],
    budget: Annotated[float, typer.Option(metavar="N", help="Coupons that are left.")],
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
    """Simulate the study from the people who may refer next: recruits by round, chances, coupons that stay unused."""
    from peerfront.advice.model import load
    from peerfront.cli.options import shown_progress
    from peerfront.foundation.errors import SettingError

    if overwrite and out is None:
        raise SettingError("--overwrite needs --out, the folder it is about.")
    if out is not None:
        claim(context, out, _FILES, overwrite=overwrite, inputs=(model, frontier))
    order = order_of(
        budget, max_per_person=max_per_person, min_per_person=min_per_person, round_cap=round_cap,
        rounds_left=rounds_left, reserve=reserve, response=response, strata=strata, randomise=randomise,
        population=population, acquaintances=acquaintances,
    )  # fmt: skip
    fitted = load(model)
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
        _write(forecast, out)
        say(f"\nWritten to {out}: {', '.join(_FILES)}.")


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


def _write(forecast: "Forecast", out: Path) -> None:
    from peerfront.foundation.figures import rendered
    from peerfront.foundation.files import write_bytes, write_text
    from peerfront.foundation.spreadsheets import csv_text

    write_text(out / "rounds.csv", csv_text(forecast.rounds))
    write_text(out / "summary.csv", csv_text(forecast.summary))
    write_text(out / "stories.csv", csv_text(forecast.stories))
    figure = forecast.plot()
    for kind in ("png", "svg"):
        write_bytes(out / f"forecast.{kind}", rendered(figure, kind))
