"""`peerfront week`: the one command of a running study."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli import options
from peerfront.cli.options import number, shown_progress, text
from peerfront.cli.screen import cell, new_screen, show, show_result, tell
from peerfront.foundation.errors import SettingError
from peerfront.words.language import marked

if TYPE_CHECKING:
    from peerfront.study.week import WeekResult


def week_command(
    file: Annotated[
        Path | None,
        typer.Argument(help="The study's file as it is today: CSV, Excel, RDSAT text, or a survey app's JSON."),
    ] = None,
    folder: Annotated[
        Path | None,
        text(
            "PATH", "The study's folder: its log, its sheets, its models. Otherwise one beside the file, of its name."
        ),
    ] = None,
    budget: Annotated[
        float | None,
        number("Coupons that are left to give out, in the first week; later what is left follows from the file."),
    ] = None,
    more_coupons: Annotated[float | None, number("Coupons that were added since the last week.")] = None,
    deadline: Annotated[str | None, text("DATE", "The study's last day, such as 2026-06-30.")] = None,
    valid_days: Annotated[float | None, number("Days until a coupon expires; otherwise never.")] = None,
    target: options.TARGET = None,
    max_per_person: options.MAX_PER_PERSON_NOW = None,
    min_per_person: Annotated[float | None, number("Fewest coupons for everybody.")] = None,
    week_cap: Annotated[float | None, number("Most coupons in one week.")] = None,
    reserve: Annotated[float | None, number("Coupons to keep back.")] = None,
    response: Annotated[str | None, text("STORY", "What a coupon is believed to do, as in `peerfront plan`.")] = None,
    at_least: options.AT_LEAST = None,
    interviews_per_week: Annotated[float | None, number("Interviews that can be held in a week; more wait.")] = None,
    population: options.POPULATION = None,
    strata: options.STRATA = None,
    randomise: Annotated[
        float | None, text("CHANCE", "Chance that everybody has of each allowed number, at least.")
    ] = None,
    prior: options.PRIOR = None,
    prior_belief: options.PRIOR_BELIEF = None,
    spend: options.SPEND = None,
    rounds_left: options.ROUNDS_LEFT = None,
    model: Annotated[
        Path | None, text("PATH", "In the first week: a model that was fitted to this file, instead of a new fit.")
    ] = None,
    refit: Annotated[str, text("WHEN", "Fit the model again: auto (if enough is new), always or never.")] = "auto",
    date: Annotated[str | None, text("DATE", "Day of the plan, such as 2026-03-02; otherwise today.")] = None,
    study: Annotated[str | None, text("NAME", "Name of the study, above its sheets.")] = None,
    seed: Annotated[int | None, typer.Option(help="Names the luck of lots; kept from week to week.")] = None,
    schema: options.SCHEMA = None,
    details: options.DETAILS = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back the last week; its folder and log stay.")] = False,
) -> object:
    """Make this week's plan: what changed, last week's plan against what was done, the sheet, the forecast by date.

    Options are kept from week to week, so that from the second week on `peerfront week FILE` is enough. Everything is
    written to a new folder below the study's, and every decision to its log; nothing is ever overwritten.
    """
    from peerfront.foundation.settings import calendar_day
    from peerfront.study.study_folder import folder_beside
    from peerfront.study.week import WeekRequest, run_week, undo_week

    if folder is not None:
        place = folder
    elif file is not None:
        place = folder_beside(file)
    else:
        raise SettingError("week_options.needs_file_or_folder")
    if undo:
        week = undo_week(place)
        tell(
            "Week {number} of {day} is undone. Its folder, {folder}, and its lines in the log stay.",
            number=week.number,
            day=week.day,
            folder=week.folder,
        )
        return {"undone": week}
    if file is None:
        raise SettingError("week_options.needs_file")
    given = {
        "budget": budget, "more_coupons": more_coupons, "deadline": deadline, "valid_days": valid_days,
        "target": target, "max_per_person": max_per_person, "min_per_person": min_per_person, "round_cap": week_cap,
        "reserve": reserve, "response": response, "at_least": at_least, "interviews_per_week": interviews_per_week,
        "population": population, "strata": None if strata is None else (strata,), "randomise": randomise,
        "prior": None if prior is None else tuple(str(path.resolve()) for path in prior), "prior_belief": prior_belief,
        "seed": seed, "spend": spend, "rounds_left": rounds_left,
    }  # fmt: skip
    day = None if date is None else calendar_day("--date", date)
    with shown_progress() as progress:
        result = run_week(file, place, WeekRequest(day, refit, schema, model, study or "", given), progress)
    _show(result, details=details)
    new, plan = result.new, result.plan
    return {
        "number": result.week.number, "day": result.week.day, "folder": result.folder, "again": result.again,
        "changes": new and new.changes, "handed_out": new and new.handed_out, "coupons": new and new.coupons,
        "sheet": plan and plan.sheet, "same_for_all": plan and plan.same_for_all, "lines": result.lines(),
    }  # fmt: skip


def _show(result: "WeekResult", *, details: bool) -> None:
    """Print the sections, with the sheet below "This week", and the files that were written."""
    from rich.padding import Padding

    from peerfront.words.sheet import people_table
    from peerfront.words.week_words import DETAILS, THIS_WEEK, log_line, sections_of

    screen = new_screen()
    for section in sections_of(result):
        if section.key == DETAILS and not details:
            continue
        if section.title:
            show("")
            screen.print(cell(section.title))
        for line in section.lines:
            text = marked(line)
            indent = len(text) - len(text.lstrip()) + (2 if section.title else 0)
            screen.print(Padding(cell(text.strip()), (0, 0, 0, indent)))
        table = None if section.key != THIS_WEEK or result.plan is None else result.plan.table
        if table is not None and len(table) and (details or table["coupons"].any()):
            show_result([people_table(table, details=details)], [])
    show("")
    show(log_line(result))
    if result.plan is None:
        tell(
            "This week was made before, from the same file; nothing was changed. It is in {folder}.",
            folder=result.folder,
        )
    else:
        tell("Written to {folder}.", folder=result.folder)
