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
from peerfront.cli.screen import cell, new_screen, show, show_result

if TYPE_CHECKING:
    import pandas as pd

    from peerfront.study.week import WeekResult

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
    from peerfront.cli.options import shown_progress
    from peerfront.foundation.errors import SettingError
    from peerfront.foundation.settings import calendar_day
    from peerfront.study.week import WeekRequest, run_week, undo_week
    from peerfront.words.language import say

    if file is None and folder is None:
        raise SettingError("week_options.needs_file_or_folder")
    place = folder if folder is not None else _beside(file)
    if undo:
        week = undo_week(place)
        show(
            say(
                "Week {number} of {day} is undone. Its folder, {folder}, and its lines in the log stay.",
                number=week.number,
                day=week.day,
                folder=week.folder,
            )
        )
        return
    if file is None:
        raise SettingError("week_options.needs_file")
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
        result = run_week(file, place, WeekRequest(day, refit, schema, study or "", given), progress)
    _show(result)
    if not result.again:
        repeat = f"peerfront week {file}" + (f" --folder {folder}" if folder is not None else "")
        show(say("Next week: {command}", command=repeat))


def _show(result: "WeekResult") -> None:
    """Print the sections, with the sheet below "This week", and the files that were written."""
    from rich.padding import Padding

    from peerfront.words.language import marked, say
    from peerfront.words.week_words import DETAILS, THIS_WEEK, files_written, log_line, sections_of

    screen = new_screen()
    for section in sections_of(result):
        if section.key == DETAILS:
            continue
        if section.title:
            show("")
            screen.print(cell(section.title))
        for line in section.lines:
            text = marked(line)
            indent = len(text) - len(text.lstrip()) + (2 if section.title else 0)
            screen.print(Padding(cell(text.strip()), (0, 0, 0, indent)))
        if section.key == THIS_WEEK and result.plan is not None:
            _print_sheet(result.plan.table)
    show(log_line(result))
    if result.plan is None:
        show(
            say(
                "\nThis week was made before, from the same file; nothing was changed. It is in {folder}.",
                folder=result.folder,
            )
        )
        return
    show(say("\nWritten: {folder}", folder=result.folder))
    for name, what in files_written(result.plan):
        show(f"  {name:<16}{what}")


def _print_sheet(table: "pd.DataFrame") -> None:
    from peerfront.words.language import Text, say
    from peerfront.words.result_table import ResultTable

    if not len(table):
        return
    columns = zip(*(table[name].tolist() for name in ("person", "reason", "coupons")), strict=True)
    rows = tuple((person, coupons, reason) for person, reason, coupons in islice(columns, _SHOWN))
    headings = say("person"), say("coupons"), say("reason")
    more = [say("... and {more:,} more people, in the sheet.", more=len(table) - _SHOWN)] if len(table) > _SHOWN else []
    show_result([ResultTable(Text(""), headings, rows, n_names=3)], more)


def _beside(file: Path | None) -> Path:
    assert file is not None
    return file.with_name(f"{file.stem}-study")
