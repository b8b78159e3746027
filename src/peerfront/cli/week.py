"""`peerfront week`: the one command of a running study."""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli.options import (
    AT_LEAST,
    MAX_PER_PERSON_NOW,
    POPULATION,
    SCHEMA,
    STRATA,
    TARGET,
)
from peerfront.cli.screen import cell, new_screen, show

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 40


def week_command(
    file: Annotated[
        Path | None,
        typer.Argument(help="The study's file as it is today: CSV, Excel, RDSAT text, or a survey app's JSON."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The study's folder: its log, its sheets, its models. Otherwise one beside the file, of its name.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Coupons that are left to give out, in the first week; later what is left follows from the file.",
            show_default=False,
        ),
    ] = None,
    more_coupons: Annotated[
        float | None,
        typer.Option(metavar="N", help="Coupons that were added since the last week.", show_default=False),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="The study's last day, such as 2026-06-30.", show_default=False),
    ] = None,
    valid_days: Annotated[
        float | None,
        typer.Option(metavar="N", help="Days until a coupon expires; otherwise never.", show_default=False),
    ] = None,
    target: TARGET = None,
    max_per_person: MAX_PER_PERSON_NOW = None,
    min_per_person: Annotated[
        float | None, typer.Option(metavar="N", help="Fewest coupons for everybody.", show_default=False)
    ] = None,
    week_cap: Annotated[
        float | None, typer.Option(metavar="N", help="Most coupons in one week.", show_default=False)
    ] = None,
    reserve: Annotated[
        float | None, typer.Option(metavar="N", help="Coupons to keep back.", show_default=False)
    ] = None,
    response: Annotated[
        str | None,
        typer.Option(
            metavar="STORY", help="What a coupon is believed to do, as in `peerfront plan`.", show_default=False
        ),
    ] = None,
    at_least: AT_LEAST = None,
    interviews_per_week: Annotated[
        float | None,
        typer.Option(metavar="N", help="Interviews that can be held in a week; more wait.", show_default=False),
    ] = None,
    population: POPULATION = None,
    strata: STRATA = None,
    randomise: Annotated[
        float | None,
        typer.Option(
            metavar="CHANCE", help="Chance that everybody has of each allowed number, at least.", show_default=False
        ),
    ] = None,
    prior: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="MODEL",
            help="Folder of a model of an earlier study, which helps this one as far as they agree; repeatable.",
            show_default=False,
        ),
    ] = None,
    refit: Annotated[
        str, typer.Option(metavar="WHEN", help="Fit the model again: auto (if enough is new), always or never.")
    ] = "auto",
    date: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Day of the plan, such as 2026-03-02; otherwise today.", show_default=False),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option("--study", metavar="NAME", help="Name of the study, above its sheets.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Names the luck of lots; kept from week to week.", show_default=False)
    ] = None,
    schema: SCHEMA = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take back the last week; its folder and log stay.")] = False,
) -> None:
    """Make this week's plan: what changed, last week's plan against what was done, the sheet, the forecast by date.

    Options are kept from week to week, so that from the second week on `peerfront week FILE` is enough. Everything is
    written to a new folder below the study's, and every decision to its log; nothing is ever overwritten.
    """
    from rich.padding import Padding

    from peerfront.cli.options import shown_progress
    from peerfront.foundation.errors import SettingError
    from peerfront.foundation.settings import calendar_day
    from peerfront.study.week import EXPECT, THE_MODEL, WeekRequest, run_week, undo_week

    if file is None and folder is None:
        raise SettingError("Name the study's file, or with --undo its folder (--folder).")
    place = folder if folder is not None else _beside(file)
    if undo:
        week = undo_week(place)
        show(f"Week {week.number} of {week.day} is undone. Its folder, {week.folder}, and its lines in the log stay.")
        return
    if file is None:
        raise SettingError("Name the study's file as it is today.")
    given = {
        "budget": budget,
        "more_coupons": more_coupons,
        "deadline": deadline,
        "valid_days": valid_days,
        "target": target,
        "max_per_person": max_per_person,
        "min_per_person": min_per_person,
        "round_cap": week_cap,
        "reserve": reserve,
        "response": response,
        "at_least": at_least,
        "interviews_per_week": interviews_per_week,
        "population": population,
        "strata": None if strata is None else (strata,),
        "randomise": randomise,
        "prior": None if prior is None else tuple(str(path.resolve()) for path in prior),
        "seed": seed,
    }
    day = None if date is None else calendar_day("--date", date)
    with shown_progress() as progress:
        made = run_week(file, place, WeekRequest(day, refit, schema, study or "", given), progress)
    console = new_screen()
    below_sheet = next((line for line in made.lines if line in (EXPECT, THE_MODEL)), None)
    for line in made.lines:
        if line == below_sheet and made.plan is not None:
            _print_sheet(made.plan.table)
        console.print(Padding(cell(line.strip()), (0, 0, 0, len(line) - len(line.lstrip()))))
    if made.again:
        show(f"\nThis week was made before, from the same file; nothing was changed. It is in {made.folder}.")
        return
    show(f"\nWritten: {made.folder}")
    for name, what in made.plan.written() if made.plan is not None else ():
        show(f"  {name:<16}{what}")
    show(f"Next week: peerfront week {file}" + (f" --folder {folder}" if folder is not None else ""))


def _print_sheet(table: "pd.DataFrame") -> None:
    from rich.table import Table

    if not len(table):
        return
    shown = Table(box=None, pad_edge=False)
    for name in ("person", "coupons", "reason"):
        shown.add_column(name, justify="right" if name == "coupons" else "left", overflow="fold")
    rows = zip(*(table[name].tolist() for name in ("person", "coupons", "reason")), strict=True)
    for person, coupons, reason in islice(rows, _SHOWN):
        shown.add_row(cell(person), str(coupons), cell(reason))
    console = new_screen()
    console.print(shown)
    if len(table) > _SHOWN:
        console.print(f"... and {len(table) - _SHOWN:,} more people, in the sheet.")
    console.print()


def _beside(file: Path | None) -> Path:
    assert file is not None
    return file.with_name(f"{file.stem}-study")
