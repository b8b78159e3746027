"""Options that several commands share, with what turns them into settings, and the progress bar of long work."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerfront.words.language import say

if TYPE_CHECKING:
    import rich.progress

    from peerfront.data.read.read_settings import ReadSettings
    from peerfront.data.study_schema import StudySchema
    from peerfront.foundation.messages import Message, Progress
    from peerfront.problem import Rules
    from peerfront.study.coupon_sheet import Heading
    from peerfront.study.orders import PlanOrder

INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended

# What there is to give out. Numbers, not whole numbers: a budget of 1.5 then meets the message of `Rules`, which says
# what was found.
BUDGET = Annotated[float, typer.Option(metavar="N", help="Coupons for the whole study.")]
PEOPLE = Annotated[float, typer.Option(metavar="N", help="People on the first frontier.")]
ROUNDS = Annotated[float, typer.Option(metavar="N", help="Rounds after which the study ends.")]
MAX_PER_PERSON = Annotated[float | None, typer.Option(metavar="N", help="Most coupons one person may get in a round.")]
MAX_PER_ROUND = Annotated[
    float | None, typer.Option(metavar="N", help="Most coupons that may be given out in a round.")
]
SEED = Annotated[int, typer.Option(help="Names the luck; the same seed gives the same people and the same results.")]
WORKERS = Annotated[int, typer.Option(help="Processes that share the work; results do not depend on it.")]
BACKEND = Annotated[str, typer.Option(help="loky (this machine), dask or ray (a cluster; optional extras).")]
SCHEDULER = Annotated[
    str | None, typer.Option(help="Address of a running Dask scheduler or Ray head.", show_default=False)
]
# Plans for the people who wait now.
MAX_PER_PERSON_NOW = Annotated[
    float | None,
    typer.Option(metavar="N", help="Most coupons for one person; otherwise the model's.", show_default=False),
]
MIN_PER_PERSON = Annotated[float, typer.Option(metavar="N", help="Fewest coupons for everybody, in every round.")]
ROUND_CAP = Annotated[
    float | None,
    typer.Option(metavar="N", help="Most coupons in one round; otherwise the model's.", show_default=False),
]
ROUNDS_LEFT = Annotated[
    float | None,
    typer.Option(
        metavar="N", help="Rounds left, this one included; otherwise as many as the model knows.", show_default=False
    ),
]
RESPONSE = Annotated[
    str,
    typer.Option(
        metavar="STORY",
        help="What a coupon is believed to do: average (over what the study leaves open), cautious (smallest worst "
        "regret), capacity (one coupon works almost as well as three), per_coupon (each coupon is used on its own) or "
        "both.",
    ),
]
AT_LEAST = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD=CATEGORY:SHARE",
        help="A floor for a group, such as district=East:0.2: its people get at least this share of everybody's mean "
        "number of coupons; repeatable.",
        show_default=False,
    ),
]
LEARN = Annotated[
    bool,
    typer.Option(
        "--learn",
        help="Give random numbers of coupons to some people, to find out what a coupon does; how many people is chosen "
        "by simulation, and may be none.",
    ),
]
LEARN_SHARE = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="The same for this share of the people, such as 0.1.", show_default=False),
]
STRATA = Annotated[
    str | None,
    typer.Option(
        metavar="FIELD[+FIELD]",
        help="Let coupons differ only between the strata that these columns form (at most 12): everybody in a stratum "
        "gets the same number, or the same lottery. Keeps estimates from the study valid; the sheet says what it "
        "costs.",
        show_default=False,
    ),
]
RANDOMISE = Annotated[
    float,
    typer.Option(
        metavar="CHANCE",
        help="Give everybody at least this chance of each number that a person may get, such as 0.1; the probability "
        "of each number is on the sheet, and what it costs.",
    ),
]
RESERVE = Annotated[float, typer.Option(metavar="N", help="Coupons to keep back.")]
TARGET = Annotated[float | None, typer.Option(metavar="N", help="People wanted in all.", show_default=False)]
POPULATION = Annotated[
    list[str] | None,
    typer.Option(
        metavar="N",
        help="People in the population, so that it runs out; or FIELD=CATEGORY:N for every group of one field, such as "
        "sex=f:300 (sex=f:300:80 if 80 of them have taken part); repeatable.",
        show_default=False,
    ),
]
ACQUAINTANCES = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        help="People of the population whom somebody knows, about; otherwise as the study says (its network sizes), or "
        "10.",
        show_default=False,
    ),
]
LEFT_COLUMN = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the people waiting that says how many of their acquaintances have not taken part; otherwise "
        "'acquaintances left', if there is one.",
        show_default=False,
    ),
]
EPISODES = Annotated[float, typer.Option(metavar="N", help="Simulated studies.")]

SPEND = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        help="Coupons to give out this round, exactly; otherwise the best number. The sheet says what that loses.",
        show_default=False,
    ),
]

# What stands above sheets and reports.
STUDY = Annotated[
    str | None,
    typer.Option(
        "--study", metavar="NAME", help="Name of the study, above the page; otherwise its file's.", show_default=False
    ),
]
DATE = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="Day of the hand-out, such as 2026-03-02; otherwise today.", show_default=False),
]
ROUND = Annotated[
    float | None,
    typer.Option(
        "--round", metavar="N", help="Which round this is; otherwise left open to be written in.", show_default=False
    ),
]


def heading_of(study: str | None, date: str | None, number: Any) -> "Heading":
    """What stands above a page; without a date, today's."""
    from datetime import date as calendar_date

    from peerfront.study.coupon_sheet import Heading

    return Heading(study or "", calendar_date.today().isoformat() if date is None else date, number)


def order_of(
    budget: Any,
    *,
    at_least: list[str] | None = None,
    learn: bool = False,
    learn_share: float | None = None,
    strata: str | None = None,
    population: list[str] | None = None,
    **limits: Any,
) -> "PlanOrder":
    """What was ordered on the command line; `PlanOrder` checks it. `limits` are its fields by name."""
    from peerfront.study.orders import AUTO, PlanOrder

    return PlanOrder(
        budget,
        at_least=tuple(at_least or ()),
        learn=AUTO if learn and learn_share is None else learn_share,
        strata=() if strata is None else (strata,),
        population=tuple(population or ()),
        **limits,
    )


def rules_of(budget: Any, people: Any, rounds: Any, max_per_person: Any, max_per_round: Any) -> "Rules":
    """Rules from numbers as they were typed; `Rules` refuses fractions and says what was found."""
    from peerfront.problem import Rules

    return Rules(budget, people, rounds, max_per_person, max_per_round)


# How a study's file is read.
FILE = Annotated[Path, typer.Argument(help="The study's file: CSV, Excel, RDSAT text, or a survey app's JSON.")]
FORMAT = Annotated[
    str | None,
    typer.Option(help="coupons, recruiter, rdsat or app; otherwise detected.", show_default=False),
]
MAP = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="PART=COLUMN",
        help="Name a column that was not recognised, such as own_coupon=CouponR or coupons=C1+C2; PART= for none. "
        "Parts: id, own_coupon, coupons, recruiter, coupons_issued, network_size, date, seed, issued_date, "
        "redeemed_date, expiry_date, valid_days, site, waiting.",
        show_default=False,
    ),
]
SHEET = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The sheet of an Excel workbook, if several would do.", show_default=False),
]
PRESET = Annotated[
    str | None,
    typer.Option(
        help="The program that exported the file: redcap, kobo, odk, surveycto or none; otherwise detected.",
        show_default=False,
    ),
]
MISSING = Annotated[
    list[str] | None,
    typer.Option(metavar="CODE", help="A code that means 'not known', such as 99; repeatable.", show_default=False),
]
COUPONS_EACH = Annotated[
    float | None,
    typer.Option(metavar="N", help="Coupons issued to everybody, if the file does not say.", show_default=False),
]
STILL_OPEN = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Whose coupons may still be used: auto (as the dates say), none, last-wave, or a number of days, such as "
        "30: recruits of people from the last days of the file are then not counted yet; otherwise auto.",
        show_default=False,
    ),
]
VALID_DAYS = Annotated[
    float | None,
    typer.Option(metavar="N", help="Days from issue until coupons expire, if no column says so.", show_default=False),
]
AS_OF = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DATE",
        help="See the study as it was in the evening of this day, such as 2026-03-02; otherwise of its last date.",
        show_default=False,
    ),
]
SCHEMA = Annotated[
    Path | None,
    typer.Option(help="How the file is read: schema.toml, which check writes and you may edit.", show_default=False),
]


def out_path(text: str) -> Path:
    """An output as it was typed: Path("") would be the folder one is in."""
    from peerfront.foundation.errors import SettingError

    if not str(text).strip():
        raise SettingError("commands.out_is_empty")
    return Path(text)


STRICT = Annotated[bool, typer.Option("--strict", help="Stop on warnings too.")]
OVERWRITE = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]


def claim(
    context: typer.Context,
    out: Path,
    names: Sequence[str] = (),
    *,
    overwrite: bool,
    inputs: Iterable[Path | None] = (),
    advice: "str | Message" = "",
    make_folder: bool = True,
) -> None:
    """Hold the output until the command has ended; refuse one that cannot be written, before any work."""
    from peerfront.foundation.files import claimed

    read = [path for path in inputs if path is not None]
    context.with_resource(claimed(out, names, overwrite=overwrite, advice=advice, inputs=read, make_folder=make_folder))


def read_settings(
    schema: "StudySchema | None",
    *,
    strict: bool,
    format: str | None = None,
    map: list[str] | None = None,
    missing: list[str] | None = None,
    coupons_each: float | None = None,
    still_open: str | None = None,
    sheet: str | None = None,
    preset: str | None = None,
    valid_days: float | None = None,
) -> "ReadSettings":
    """Combine what a schema file says about reading with what the command line says instead or in addition."""
    from peerfront.data.read.read_settings import ReadSettings, parse_columns

    saved = schema.reading if schema is not None else ReadSettings()
    return ReadSettings(
        format=saved.format if format is None else format,
        columns={**saved.columns, **parse_columns(map or ())},
        missing=tuple(dict.fromkeys((*saved.missing, *(missing or ())))),
        coupons_each=saved.coupons_each if coupons_each is None else coupons_each,  # type: ignore[arg-type] # checked
        still_open=saved.still_open if still_open is None else still_open,
        strict=strict,
        sheet=saved.sheet if sheet is None else sheet,
        preset=saved.preset if preset is None else preset,
        checkboxes=saved.checkboxes,
        valid_days=saved.valid_days if valid_days is None else valid_days,
        active_after_days=saved.active_after_days,
    )


@contextmanager
def shown_progress() -> "Iterator[Progress]":
    """Show a bar with the share that is done and what is being done, from the first report on.

    Ctrl-C says that nothing was written, unless the command handles it within.
    """
    from peerfront.foundation.messages import DONE

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
        raise _stopped() from None


def _stopped() -> typer.Exit:
    typer.echo(f"\n{say('Stopped. Nothing was written.')}", err=True)
    return typer.Exit(INTERRUPTED)


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
