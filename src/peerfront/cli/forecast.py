"""`peerfront forecast`: what to expect from here on, under the plan and under other rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli.options import (
    EPISODES,
    MAX_PER_PERSON_NOW,
    MIN_PER_PERSON,
    OVERWRITE,
    RESERVE,
    ROUND_CAP,
    ROUNDS_LEFT,
    SEED,
    TARGET,
    order_of,
)

if TYPE_CHECKING:
    from rich.table import Table

    from peerfront.advice.forecast import Forecast

_FILES = ("rounds.csv", "summary.csv", "forecast.png", "forecast.svg")


def forecast_command(
    model: Annotated[Path, typer.Argument(help="The folder of a fit.")],
    frontier: Annotated[Path, typer.Argument(help="CSV with the people who may refer next.")],
    budget: Annotated[float, typer.Option(metavar="N", help="Coupons that are left.")],
    target: TARGET = None,
    already: Annotated[
        float, typer.Option(metavar="N", help="People who have taken part so far, towards the target.")
    ] = 0,
    rounds_left: ROUNDS_LEFT = None,
    max_per_person: MAX_PER_PERSON_NOW = None,
    min_per_person: MIN_PER_PERSON = 0,
    round_cap: ROUND_CAP = None,
    reserve: RESERVE = 0,
    episodes: EPISODES = 1000,
    seed: SEED = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the tables (CSV) and the picture (PNG, SVG).", show_default=False)
    ] = None,
    overwrite: OVERWRITE = False,
) -> None:
    """Simulate the study from the people who may refer next: recruits by round, chances, coupons that stay unused."""
    from rich.console import Console

    from peerfront.advice.fitting import study_schema_of
    from peerfront.advice.forecast import forecast
    from peerfront.artifacts import load
    from peerfront.cli.options import shown_share
    from peerfront.data.reading import read_frontier
    from peerfront.foundation.errors import SettingError
    from peerfront.foundation.files import check_output
    from peerfront.foundation.settings import whole_number

    if overwrite and out is None:
        raise SettingError("--overwrite needs --out, the folder it is about.")
    if out is not None:
        check_output(out, _FILES, overwrite=overwrite)
    order = order_of(budget, max_per_person, min_per_person, round_cap, rounds_left, reserve)
    wanted = None if target is None else whole_number("target", target, 1)
    so_far = whole_number("people who have taken part already", already, 0)
    count = whole_number("episodes", episodes, 2)
    fit = load(model)
    people = read_frontier(frontier, study_schema_of(fit))
    with shown_share() as progress:
        found = forecast(fit, people, order, wanted, count, seed, already=so_far, progress=progress)
    console = Console()
    console.print(_rounds(found))
    console.print(_policies(found))
    for line in found.lines():
        console.print(line, highlight=False, markup=False)
    if out is not None:
        _write(found, out)
        typer.echo(f"\nWritten to {out}: {', '.join(_FILES)}.")


def _rounds(found: "Forecast") -> "Table":
    from rich.table import Table

    table = Table(title="The plan, round by round", title_justify="left", box=None, pad_edge=False)
    for name in ("round", "coupons issued", "recruits", "half of the time", "8 of 10", "so far", "8 of 10 so far"):
        table.add_column(name, justify="right")
    own = found.rounds[found.rounds["policy"] == found.summary["policy"].iloc[0]]
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


def _policies(found: "Forecast") -> "Table":
    from rich.table import Table

    from peerfront.foundation.words import percent

    table = Table(title="\nThe plan and others", title_justify="left", box=None, pad_edge=False)
    table.add_column("rule")
    names = ["recruits", "8 of 10", "model unsure too", "target", "dies out", "issued, not used", "never issued"]
    for name in names:
        table.add_column(name, justify="right")
    for row in found.summary.to_dict("records"):
        unsure = f"{row['with_model_p10']:.0f} - {row['with_model_p90']:.0f}" if found.with_model else "not known"
        table.add_row(
            str(row["policy"]).partition(":")[0],
            f"{row['recruits']:.1f}",
            f"{row['p10']:.0f} - {row['p90']:.0f}",
            unsure,
            "" if found.target is None else percent(row["reaches_target"]),
            percent(row["dies_out"]),
            f"{row['unused']:.1f}",
            f"{row['never_issued']:.1f}",
        )
    return table


def _write(found: "Forecast", out: Path) -> None:
    from peerfront.foundation.figures import rendered
    from peerfront.foundation.files import make_folder, write_bytes, write_text

    make_folder(out)
    write_text(out / "rounds.csv", found.rounds.to_csv(index=False, lineterminator="\n"))
    write_text(out / "summary.csv", found.summary.to_csv(index=False, lineterminator="\n"))
    figure = found.figure()
    for kind in ("png", "svg"):
        write_bytes(out / f"forecast.{kind}", rendered(figure, kind))
