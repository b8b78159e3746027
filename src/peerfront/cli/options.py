"""Options that several commands share, with what turns them into settings, and the progress bar of long work.

An option that may be left out is None then; its help says what holds instead.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import DONE, Message, Progress
from peerfront.foundation.shown import visible_message
from peerfront.words.language import Text, marked, say

if TYPE_CHECKING:
    import rich.progress

    from peerfront.data.read.read_settings import ReadSettings
    from peerfront.data.study import Study
    from peerfront.data.study_schema import StudySchema
    from peerfront.problem import Frontier
    from peerfront.study.coupon_sheet import Heading
    from peerfront.study.model import Model
    from peerfront.study.orders import PlanOrder

INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended
_OUTPUTS = "peerfront.outputs"  # of the command that runs
_NOTHING_WRITTEN = say("Stopped. Nothing was written.")


def number(help: str) -> Any:
    """An option that is a number. Also of whole ones the type is float: 1.5 then meets the message of the settings."""
    return typer.Option(metavar="N", help=help)


def text(metavar: str, help: str) -> Any:
    """An option, such as a date or a column, that `metavar` describes."""
    return typer.Option(metavar=metavar, help=help)


def output(help: str) -> Any:
    """A file or folder to write."""
    return typer.Option(parser=out_path, metavar="PATH", help=help)


def out_path(typed: str) -> Path:
    """An output as it was typed: Path("") would be the folder one is in."""
    if not str(typed).strip():
        raise SettingError("commands.out_is_empty")
    return Path(typed)


# Simulated studies.
BUDGET = Annotated[float, number("Coupons for the whole study.")]
PEOPLE = Annotated[float, number("People on the first frontier.")]
ROUNDS = Annotated[float, number("Rounds after which the study ends.")]
MAX_PER_PERSON = Annotated[float | None, number("Most coupons one person may get in a round.")]
MAX_PER_ROUND = Annotated[float | None, number("Most coupons that may be given out in a round.")]
SEED = Annotated[int, typer.Option(help="Names the luck; the same seed gives the same people and the same results.")]
WORKERS = Annotated[int, typer.Option(help="Processes that share the work; results do not depend on it.")]
BACKEND = Annotated[str, typer.Option(help="loky (this machine), dask or ray (a cluster; optional extras).")]
SCHEDULER = Annotated[str | None, typer.Option(help="Address of a running Dask scheduler or Ray head.")]

# Plans for the people who wait now.
MODEL = Annotated[Path, typer.Argument(help="The folder of a fit.")]
MAX_PER_PERSON_NOW = Annotated[float | None, number("Most coupons for one person; otherwise the model's.")]
MIN_PER_PERSON = Annotated[float, number("Fewest coupons for everybody, in every round.")]
ROUND_CAP = Annotated[float | None, number("Most coupons in one round; otherwise the model's.")]
ROUNDS_LEFT = Annotated[float | None, number("Rounds left, this one included; otherwise as many as the model knows.")]
RESPONSE = Annotated[
    str,
    text(
        "STORY",
        "What a coupon is believed to do: average (over what the study leaves open; where counts contradict the model, "
        "everybody gets the usual number), belief (the average whatever the counts), capacity (one coupon works almost "
        "as well as three), per_coupon (each coupon is used on its own) or motivate (three are needed).",
    ),
]
AT_LEAST = Annotated[
    list[str] | None,
    text(
        "FIELD=CATEGORY:SHARE",
        "A floor for a group, such as district=East:0.2: its people get at least this share of everybody's mean number "
        "of coupons; repeatable.",
    ),
]
LEARN = Annotated[
    bool,
    typer.Option(
        "--learn",
        help="Consider numbers of coupons drawn by lot, to find out what a coupon does; whether they pay is found by "
        "simulation. Without this option they are considered only where everybody has had the same number.",
    ),
]
LEARN_SHARE = Annotated[
    float | None, text("SHARE", "Draw by lot who of them gets the most coupons, with this share; 0 for nobody.")
]
STRATA = Annotated[
    str | None,
    text(
        "FIELD[+FIELD]",
        "Let coupons differ only between the strata that these columns form (at most 12): everybody in a stratum gets "
        "the same number, or the same lottery. Keeps estimates from the study valid; the sheet says what it costs.",
    ),
]
RANDOMISE = Annotated[
    float,
    text(
        "CHANCE",
        "Give everybody at least this chance of each number that a person may get, such as 0.1; the probability of "
        "each number is on the sheet, and what it costs.",
    ),
]
RESERVE = Annotated[float, number("Coupons to keep back.")]
STUDY_FILE = Annotated[
    Path | None,
    typer.Option(
        "--study-file",
        metavar="FILE",
        help="The study's file, instead of a file of people who wait: who waits and which coupons are open is in it.",
    ),
]
DEADLINE = Annotated[
    str | None, text("DATE", "The study's last day, such as 2027-03-01, if its file has dates; otherwise by rounds.")
]
INTERVIEWS = Annotated[float | None, number("With --study-file: interviews that can be held in a week; others queue.")]
DETAILS = Annotated[bool, typer.Option("--details", help="Say everything: what it rests on, and how good it is.")]
TARGET = Annotated[float | None, number("People wanted in all.")]
SPEND = Annotated[float | None, number("Coupons to give out this round, exactly; otherwise the best number.")]
POPULATION = Annotated[
    list[str] | None,
    number(
        "People in the population, so that it runs out; or FIELD=CATEGORY:N for every group of one field, such as "
        "sex=f:300 (sex=f:300:80 if 80 of them have taken part); repeatable."
    ),
]
ACQUAINTANCES = Annotated[
    float | None,
    number(
        "People of the population whom somebody knows, about; otherwise as the study says (its network sizes), or 10."
    ),
]
LEFT_COLUMN = Annotated[
    str | None,
    text(
        "COLUMN",
        "Column of the people waiting that says how many of their acquaintances have not taken part; otherwise "
        "'acquaintances left', if there is one.",
    ),
]
EPISODES = Annotated[float | None, number("Simulated studies; otherwise 400.")]
PRIOR = Annotated[
    list[Path] | None,
    text("MODEL", "Folder of a model of an earlier study, which helps this one as far as they agree; repeatable."),
]
PRIOR_BELIEF = Annotated[
    Path | None, text("FILE", "TOML file of what is believed about coupons before any data; otherwise the usual prior.")
]

# What stands above sheets and reports.
STUDY = Annotated[
    str | None, typer.Option("--study", metavar="NAME", help="Name of the study, above the page; otherwise its file's.")
]
DATE = Annotated[str | None, text("DATE", "Day of the hand-out, such as 2026-03-02; otherwise today.")]
ROUND = Annotated[
    float | None,
    typer.Option("--round", metavar="N", help="Which round this is; otherwise left open to be written in."),
]

# How a study's file is read.
FILE = Annotated[Path, typer.Argument(help="The study's file: CSV, Excel, RDSAT text, or a survey app's JSON.")]
FORMAT = Annotated[str | None, typer.Option(help="coupons, recruiter, rdsat or app; otherwise detected.")]
MAP = Annotated[
    list[str] | None,
    text(
        "PART=COLUMN",
        "Name a column that was not recognised, such as own_coupon=CouponR or coupons=C1+C2; PART= for none. Parts: "
        "id, own_coupon, coupons, recruiter, coupons_issued, network_size, date, seed, issued_date, redeemed_date, "
        "expiry_date, valid_days, site, waiting.",
    ),
]
SHEET = Annotated[str | None, text("NAME", "The sheet of an Excel workbook, if several would do.")]
PRESET = Annotated[
    str | None,
    typer.Option(help="The program that exported the file: redcap, kobo, odk, surveycto or none; otherwise detected."),
]
MISSING = Annotated[list[str] | None, text("CODE", "A code that means 'not known', such as 99; repeatable.")]
COUPONS_EACH = Annotated[float | None, number("Coupons issued to everybody, if the file does not say.")]
STILL_OPEN = Annotated[
    str | None,
    text(
        "RULE",
        "Whose coupons may still be used: auto (as the dates say), none, last-wave, or a number of days, such as 30: "
        "recruits of people from the last days of the file are then not counted yet; otherwise auto.",
    ),
]
AS_OF = Annotated[
    str | None,
    text("DATE", "See the study as it was in the evening of this day, such as 2026-03-02; otherwise of its last date."),
]
SCHEMA = Annotated[
    Path | None, typer.Option(help="How the file is read: schema.toml, which check writes and you may edit.")
]
READ_ANYWAY = Annotated[
    bool | None,
    typer.Option("--read-anyway", help="Read a study that looks wrongly read: most recruiters unknown, many seeds."),
]
STRICT = Annotated[bool, typer.Option("--strict", help="Stop on warnings too.")]
OVERWRITE = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]


def heading_of(study: str | None, date: str | None, number: Any) -> "Heading":
    """What stands above a page; without a date, today's."""
    from datetime import date as calendar_date

    from peerfront.study.coupon_sheet import Heading

    return Heading(study or "", calendar_date.today().isoformat() if date is None else date, number)


def order_of(context: typer.Context, **instead: Any) -> "PlanOrder":
    """What was ordered: options named as the fields of `PlanOrder`, which checks them; `instead` replaces some."""
    from peerfront.study.orders import AUTO, PlanOrder

    given = {**context.params, **instead}
    order = {each.name: given[each.name] for each in fields(PlanOrder) if each.name in given}
    return PlanOrder(
        **order
        | {
            "at_least": tuple(given["at_least"] or ()),
            "learn": AUTO if given.get("learn") and given["learn_share"] is None else given.get("learn_share"),
            "strata": () if given["strata"] is None else (given["strata"],),
            "population": tuple(given["population"] or ()),
            "deadline": given["deadline"] or "",
        }
    )


def claim(
    context: typer.Context,
    out: Path | None,
    names: Sequence[str] = (),
    *,
    overwrite: bool,
    inputs: Iterable[Path | None] = (),
    advice: "str | Message" = "",
    make_folder: bool = True,
) -> None:
    """Hold an output until the command has ended; refuse one that cannot be written, before any work."""
    from peerfront.foundation.files import check_apart, claimed

    if out is None:
        if overwrite:
            raise SettingError("outputs.overwrite_needs_out")
        return
    read, outputs = [path for path in inputs if path is not None], context.meta.setdefault(_OUTPUTS, [])
    for file in [out / name for name in names] or [out]:
        check_apart(file, outputs)
        outputs.append(file)
    context.with_resource(claimed(out, names, overwrite=overwrite, advice=advice, inputs=read, make_folder=make_folder))


def schema_in(file: Path | None) -> "StudySchema | None":
    """The schema that `--schema` names, if it does."""
    from peerfront.data.schema_file import read_schema

    return None if file is None else read_schema(file)


def settings_in(
    schema: "StudySchema | None", *, map: list[str] | None = None, missing: list[str] | None = None, **settings: Any
) -> "ReadSettings":
    """How a file is read: as a schema says, except where the command line says something else or more."""
    from dataclasses import replace

    from peerfront.data.read.read_settings import ReadSettings, parse_columns

    saved = schema.reading if schema is not None else ReadSettings()
    given = {name: value for name, value in settings.items() if value is not None}
    columns = {**saved.columns, **parse_columns(map or ())}
    codes = tuple(dict.fromkeys((*saved.missing, *(missing or ()))))
    return replace(saved, columns=columns, missing=codes, **given)


def study_as(file: Path, settings: "ReadSettings", *, near: Path | None = None, as_of: str | None = None) -> "Study":
    """Read a study's file; `near` is a file in the folder of the running study, such as its schema."""
    from peerfront.study.week_changes import read_running_study

    study = read_running_study(file, settings, *(() if near is None else (near.parent,)))
    return study if as_of is None else study.as_of(as_of)


def study_in(
    file: Path, schema: "StudySchema | None", *, near: Path | None = None, as_of: str | None = None, **settings: Any
) -> "Study":
    """Read a study's file with the settings of `settings_in`, and show what reading noticed in one line."""
    study = study_as(file, settings_in(schema, **settings), near=near, as_of=as_of)
    show_doubts(study, file, near)
    return study


def people_in(
    folder: Path,
    model: "Model",
    frontier: Path | None,
    file: Path | None,
    sheet: str | None,
    left_column: str | None = None,
) -> "Study | Frontier":
    """The people to plan for: of a file of people who wait, or of the study's file; `folder` is the model's."""
    from dataclasses import replace

    from peerfront.study.study_folder import study_of
    from peerfront.study.week_changes import read_running_study

    if (frontier is None) == (file is None):
        raise SettingError("forecast_options.one_of_two")
    if frontier is not None:
        return model.frontier(frontier, sheet or "", left_column)
    if left_column:
        raise SettingError("forecast_options.of_a_list")
    assert file is not None, "one of the two is there"
    reading = replace(model.schema.reading, sheet=sheet or "")
    study = read_running_study(file, reading, study_of(folder), newest=True)
    show_doubts(study, file)
    return study


def show_doubts(study: "Study", file: Path, schema: Path | None = None) -> None:
    """Print what reading noticed, in one line."""
    from peerfront.words.study_check import doubts

    as_read = [] if schema is None else ["--schema", str(schema)]
    for line in doubts(study.source, study.problem_kinds, shlex.join(["peerfront", "check", str(file), *as_read])):
        typer.echo(visible_message(marked(line)))


def kept_in(out: Path | None) -> Text:
    """What Ctrl-C leaves of work that can be resumed."""
    if out is None:
        return _NOTHING_WRITTEN
    return say("Stopped. What is done is kept in {out}. Repeat the command with --resume to go on.", out=out)


@contextmanager
def shown_progress(stopped: Text = _NOTHING_WRITTEN) -> "Iterator[Progress]":
    """Show a bar with the share that is done and what is being done, from the first report on.

    After Ctrl-C say what was kept, which is nothing if no other sentence is given.
    """
    try:
        with _bar() as bar:
            task = None

            def show(share: float, what: "Message | str") -> None:
                nonlocal task
                if task is None:
                    task = bar.add_task("", total=1.0)
                bar.update(task, completed=share, description=str(what))

            yield show
            if task is not None:
                bar.update(task, completed=1.0, description=str(DONE))
    except KeyboardInterrupt:
        typer.echo(f"\n{visible_message(str(stopped))}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _bar() -> "rich.progress.Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    columns = (
        BarColumn(bar_width=16),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn(str(say("elapsed,"))),
        TimeRemainingColumn(),
        TextColumn(str(say("left"))),
        TextColumn("[dim]{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
    )
    return Progress(*columns, console=Console(stderr=True), expand=True)
