"""`peerfront check`: read a study's file, report what is in it and what is wrong with it, and guess a schema.

The report is a few tables that a coordinator can read. `--out` keeps it in a folder, which holds participants' ids.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli.options import (
    AS_OF,
    COUPONS_EACH,
    FILE,
    FORMAT,
    MAP,
    MISSING,
    OVERWRITE,
    PRESET,
    SCHEMA,
    SHEET,
    STILL_OPEN,
    STRICT,
    VALID_DAYS,
    claim,
    out_path,
    read_settings,
)
from peerfront.cli.screen import cell, new_screen, show
from peerfront.words.result_files import CHECK_FILES, SCHEMA_FILE, write_check, write_waiting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from peerfront.data.study import Study, Summary
    from peerfront.data.study_calendar import CouponCounts
    from peerfront.data.study_schema import FieldRule, StudySchema
    from peerfront.foundation.messages import Message

_TREES = 8  # largest trees shown
_MOST_ROWS = 200  # columns of the file shown
_LONGEST = 600  # characters of a fault shown
_WIDEST_NAME = 48  # characters of a column's name on one line
_EXAMPLES = 2  # faults of a kind shown
_COUNT_COLUMNS = ("number", "people who brought", "", "people issued")


def check_command(
    context: typer.Context,
    file: FILE,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=out_path, metavar="PATH", help="Folder for problems, summary, schema and tree.", show_default=False
        ),
    ] = None,
    waiting: Annotated[
        Path | None,
        typer.Option(
            parser=out_path,
            metavar="PATH",
            help="CSV file for the people who wait for coupons, as `plan` reads it.",
            show_default=False,
        ),
    ] = None,
    schema: SCHEMA = None,
    sheet: SHEET = None,
    preset: PRESET = None,
    format: FORMAT = None,
    map: MAP = None,
    missing: MISSING = None,
    coupons_each: COUPONS_EACH = None,
    still_open: STILL_OPEN = None,
    valid_days: VALID_DAYS = None,
    as_of: AS_OF = None,
    strict: STRICT = False,
    overwrite: OVERWRITE = False,
) -> None:
    """Check a study's file: who recruited whom, coupons, dates, and what is known about people.

    Nothing is written without --out. With it, the folder holds the problems, a summary, the tree for GraphViz and,
    unless --schema names one, a guessed schema.toml to edit. fit and convert read the file as schema.toml says.
    Where there are dates, it says which coupons are open, expired and used, and who waits, on the last of them or on
    the day of --as-of.
    """
    from peerfront.foundation.errors import SettingError

    names = CHECK_FILES if schema is None else tuple(name for name in CHECK_FILES if name != SCHEMA_FILE)
    if out is not None:
        advice = f" An edited schema can be used with --schema {out / SCHEMA_FILE}." if schema is None else ""
        claim(context, out, names, overwrite=overwrite, inputs=(file, schema), advice=advice)
    elif overwrite and waiting is None:
        raise SettingError("--overwrite needs --out, the folder it is about.")
    if waiting is not None:
        claim(context, waiting, overwrite=overwrite, inputs=(file, schema))

    from peerfront.data.column_findings import vetted
    from peerfront.data.reading import read_study
    from peerfront.data.schema_file import read_schema
    from peerfront.data.schema_guess import guess_schema
    from peerfront.data.study import summarise
    from peerfront.data.study_schema import history_of

    saved = read_schema(schema) if schema is not None else None
    settings = read_settings(
        saved,
        strict=strict,
        format=format,
        map=map,
        missing=missing,
        coupons_each=coupons_each,
        still_open=still_open,
        sheet=sheet,
        preset=preset,
        valid_days=valid_days,
    )
    if sheet is not None:
        _check_workbook(file, sheet)
    study = read_study(file, settings)
    if as_of is not None:
        study = study.as_of(as_of)
    notes: tuple[Message, ...] = ()
    if saved is None:
        guess = guess_schema(study)
        study_schema, reasons = guess.schema, guess.reasons
    else:
        saved.check_columns(study)
        allowed = vetted(study, saved)
        study_schema, reasons, notes = allowed.schema, allowed.reasons, allowed.notes
    history_of(study, study_schema)  # a value that fit would refuse is refused here
    summary = summarise(study)
    _print_report(new_screen(), study, summary, study_schema, reasons, notes, guessed=saved is None)
    if waiting is not None:
        _write_waiting(waiting, study)
    if out is not None:
        write_check(out, study, summary, study_schema, reasons, names)
        show(f"\nWritten to {out}: {', '.join(names)}.")
        if saved is None:
            show(
                "Edit schema.toml there (leave out columns, name categories), then look again with "
                f"--schema {out / SCHEMA_FILE}."
            )
    elif saved is None and waiting is None:
        typer.echo("\nKeep this, with a schema to edit: add --out FOLDER.")


def _write_waiting(file: Path, study: "Study") -> None:
    show(f"\nWritten: {file} (people who wait for coupons: {write_waiting(file, study):,}).")


def _check_workbook(file: Path, sheet: str) -> None:
    """Refuse the name of a sheet for a file that has none."""
    from peerfront.data.sheets import holds_sheets
    from peerfront.foundation.errors import SettingError
    from peerfront.foundation.text_files import file_bytes

    if not holds_sheets(file_bytes(file)):
        raise SettingError(f"--sheet {sheet}: {file} is no Excel workbook and no file of R. Leave --sheet out.")


def _print_report(
    console: "Console",
    study: "Study",
    summary: "Summary",
    schema: "StudySchema",
    reasons: Mapping[str, "Message"],
    notes: tuple["Message", ...],
    *,
    guessed: bool,
) -> None:
    """Print everything, in the order in which questions come up."""
    from peerfront.data.read_settings import FORMATS

    console.print(cell(study.source, "bold").append(f": {FORMATS[study.format]}.", style="not bold"))
    _print_columns(console, study)
    _print_sample(console, summary)
    _print_calendar(console, study)
    _print_counts(console, summary)
    _print_trees(console, summary)
    _print_fields(console, study, summary, schema, reasons, guessed)
    _print_left_out(console, reasons, notes)
    _print_problems(console, study)
    _print_verdict(console, summary)


def _table(
    console: "Console", title: str, *columns: str, right: tuple[str, ...] = (), widest: tuple[str, ...] = ()
) -> "Table":
    """Print the title, and begin a table; columns without names make one without a header.

    The first column is as wide as the `widest` texts in it, up to 48 characters: names of columns are read whole.
    """
    from rich import box
    from rich.table import Table

    console.print(cell(f"\n{title}", style="bold"))
    headed = any(name.strip() for name in columns)
    table = Table(box=box.SIMPLE_HEAD if headed else None, pad_edge=headed, show_header=headed)
    room = min(max(map(len, widest), default=0), _WIDEST_NAME, console.width * 2 // 5)
    for number, name in enumerate(columns):
        table.add_column(
            name,
            justify="right" if name and name in right else "left",
            overflow="fold",
            no_wrap=not name,
            min_width=room if number == 0 and room else None,
        )
    return table


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{names[0]}, {names[1]}, ... {names[-1]} ({len(names)} columns)"


def _print_columns(console: "Console", study: "Study") -> None:
    from peerfront.data.read_settings import ROLES

    table = _table(console, "How it was read", "", "")
    table.columns[1].no_wrap = False  # long names go on in the next line
    for role, meaning in ROLES.items():
        if role in study.columns:
            table.add_row(cell(meaning), cell(_names(study.columns[role])))
    if study.settings.coupons_each is not None:
        table.add_row(cell(ROLES["coupons_issued"]), cell(f"{study.settings.coupons_each} each, as you said"))
    console.print(table)
    for step in study.steps:
        console.print(cell(step))


def _print_sample(console: "Console", summary: "Summary") -> None:
    table = _table(console, "The sample", "", " ", right=(" ",))
    for what, number in summary.facts:
        if number or what in ("people", "seeds", "deepest wave", "coupons issued", "coupons redeemed"):
            shared = what == "coupons redeemed" and summary.coupons_issued
            table.add_row(what, _share(number, summary.coupons_issued) if shared else f"{number:,}")
    console.print(table)


def _print_calendar(console: "Console", study: "Study") -> None:
    """Print what is open, expired and used on the study's day, and who waits."""
    if study.day is None:
        return
    from peerfront.data.dates import date_text
    from peerfront.data.study_calendar import RECENT_DAYS, coupon_counts

    counts = coupon_counts(study)
    table = _table(console, f"Coupons on {date_text(study.day, study.numbered_days)}", "", " ", right=(" ",))
    rows = {
        "used": counts.used,
        "open": counts.open,
        "people with open coupons": counts.holders_open,
        "expired, or no longer open": counts.expired,
        "not used, date of issue not known": counts.undated,
        "people who wait for coupons": counts.waiting,
    }
    for what, number in rows.items():
        if number or what in ("used", "open", "people who wait for coupons"):
            table.add_row(what, f"{number:,}")
    console.print(table)
    for sentence in _calendar_words(study, counts, round(RECENT_DAYS)):
        console.print(cell(sentence))


def _calendar_words(study: "Study", counts: "CouponCounts", recent: int) -> list[str]:
    by_dates = study.settings.open_by_dates
    words = []
    if study.cut:
        words.append("What came later is left out, as --as-of says.")
    if not by_dates:
        words.append(f"Open are those that still_open = {study.settings.still_open!r} says, whatever their dates.")
    elif counts.open and study.valid_days is not None and bool((study.valid_days == float("inf")).any()):
        words.append(
            "Some coupons have no date of expiry and stay open: --valid-days N (valid_days in a schema file) says when "
            "they expire."
        )
    if counts.waiting and "waiting" not in study.columns:
        words.append("People wait who took part since the last coupons were issued, and have none.")
    if counts.passed_over:
        words.append(
            f"{counts.passed_over:,} more of the {recent} days before have none either, and are not taken for people "
            "who wait; a column of yes and no decides instead (--map waiting=COLUMN)."
        )
    return words


def _print_counts(console: "Console", summary: "Summary") -> None:
    widest = max(summary.recruits_per_person.values())
    block = "█" if console.encoding.startswith("utf") else "#"
    table = _table(
        console,
        "How many recruits people brought, and how many coupons they were issued",
        *_COUNT_COLUMNS,
        right=_COUNT_COLUMNS,
    )
    for number in sorted({*summary.recruits_per_person, *summary.coupons_per_person}):
        brought, given = summary.recruits_per_person.get(number, 0), summary.coupons_per_person.get(number, 0)
        if brought or given:
            bar = block * round(16 * brought / widest)
            table.add_row(str(number), f"{brought:,}", cell(bar, style="cyan"), f"{given:,}")
    console.print(table)


def _print_trees(console: "Console", summary: "Summary") -> None:
    table = _table(console, "Trees, the largest first", "seed", "people", "waves", "", right=("people", "waves"))
    for seed, people, waves, is_seed in summary.trees.head(_TREES).itertuples(index=False):
        table.add_row(cell(str(seed)), f"{people:,}", str(waves), "" if is_seed else "recruiter unknown, not a seed")
    console.print(table)
    rest = summary.trees.iloc[_TREES:]
    if len(rest):
        alone = int((rest["people"] == 1).sum())
        console.print(
            f"... and {len(rest):,} more with {rest['people'].sum():,} people"
            + (f", {alone:,} of them one person alone." if alone else "."),
            style="dim",
            highlight=False,
        )


def _share(part: int, whole: int) -> str:
    percent = f"{part / whole:.0%}" if part == 0 or part / whole >= 0.005 else "<1%"
    return f"{part:,} ({percent})"


def _kind(rule: "FieldRule") -> str:
    return f"{len(rule.cuts) + 1} bands" if rule.cuts else f"{len(rule.categories)} categories"


def _print_fields(
    console: "Console",
    study: "Study",
    summary: "Summary",
    schema: "StudySchema",
    reasons: Mapping[str, "Message"],
    guessed: bool,
) -> None:
    from peerfront.foundation.messages import note

    title = "What is known about people" + (" (guessed)" if guessed else f" ({schema.source})")
    names = (*(rule.name for rule in schema.used), *schema.exclude)
    table = _table(console, title, "column", "used as", "values", "missing", right=("missing",), widest=names)
    for rule in schema.used[:_MOST_ROWS]:
        shown = ", ".join(rule.categories[:8]) + (", ..." if len(rule.categories) > 8 else "")
        absent = summary.missing.get(rule.name, 0)
        table.add_row(cell(rule.name), _kind(rule), cell(shown), _share(absent, len(study)))
    for name in schema.left_out[: max(_MOST_ROWS - len(schema.used), 0)]:
        absent = summary.missing.get(name, 0)
        reason = reasons.get(name, note("column_reasons.by_schema"))
        table.add_row(cell(name), "not used", cell(reason), _share(absent, len(study)), style="dim")
    console.print(table)
    left_out = len(schema.used) + len(schema.left_out) - _MOST_ROWS
    if left_out > 0:
        console.print(f"... and {left_out:,} more columns; all are in schema.toml with --out.", style="dim")
    if not schema.used:
        console.print("No column tells people apart, such as sex or an age band: everybody would be treated alike.")


def _print_left_out(console: "Console", reasons: Mapping[str, "Message"], notes: tuple["Message", ...]) -> None:
    """Say what can be done about columns that are left out, and warn of those that the schema insists on."""
    from peerfront.data.column_findings import is_sensitive, is_too_good
    from peerfront.data.sensitive import MEANING
    from peerfront.words.language import marked

    sensitive = [name for name, reason in reasons.items() if is_sensitive(reason)]
    if sensitive:
        console.print(cell(f"Left out because they are sensitive: {', '.join(map(repr, sensitive))}. {MEANING}"))
    suspect = [name for name, reason in reasons.items() if is_too_good(reason)]
    if suspect:
        remedy = "If one was known before people got their coupons, write use = true into its block of the schema file."
        console.print(
            cell(f"Left out because they predict recruits too well: {', '.join(map(repr, suspect))}. {remedy}")
        )
    for note in notes:
        console.print(cell(marked(note), style="yellow"))


def _print_problems(console: "Console", study: "Study") -> None:
    from peerfront.data.problems import KINDS
    from peerfront.foundation.shown import visible

    if not study.problems:
        console.print(cell("\nNo problems found.", style="bold green"))
        return
    counts = Counter(problem.kind for problem in study.problems)
    total = len(study.problems)
    title = f"{total:,} warning{'s' if total > 1 else ''}"
    table = _table(console, title, "how many", "what, and what to do", right=("how many",))
    for kind, count in counts.most_common():
        text = cell(KINDS[kind].title, style="bold yellow")
        mine = [problem for problem in study.problems if problem.kind == kind]
        for problem in mine[:_EXAMPLES]:
            where = "" if problem.row is None else f"{study.place} {problem.row:,}: "
            text.append(f"\n{where}{visible(str(problem.message), _LONGEST)}", style="not bold default")
        if count > _EXAMPLES:
            text.append(
                f"\n... and {count - _EXAMPLES:,} more; all are in problems.csv with --out.", style="dim not bold"
            )
        text.append(f"\n{KINDS[kind].remedy}", style="italic not bold default")
        table.add_row(f"{count:,}", text)
        table.add_section()
    console.print(table)


def _print_verdict(console: "Console", summary: "Summary") -> None:
    console.print(
        f"\nThis study can be learned from: it has {summary.triples:,} people with usable recruitment counts, and "
        f"{summary.pairs:,} recruiter-recruit pairs."
        if summary.triples and summary.pairs
        else "\nNothing can be learned from this study yet: there must be people with coupons, and recruits.",
        style="bold",
        highlight=False,
    )
