"""`peerfront check`, `convert` and `example`: a study's file and what is wrong in it, other formats, a made-up one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli import options
from peerfront.cli.mend_offers import mend_file
from peerfront.cli.options import claim, number, output, schema_in, settings_in, study_as, study_in
from peerfront.cli.screen import cell, new_screen, show, show_written, tell
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.foundation.shown import visible
from peerfront.words.language import marked, n_people, say, say_n
from peerfront.words.result_files import CHANGES_FILE, CHECK_FILES, SCHEMA_FILE, write_check, write_waiting

if TYPE_CHECKING:
    from rich.console import Console

    from peerfront.data.study import Study
    from peerfront.words.study_check import Section

_LONGEST = 600  # characters of a fault shown
_WIDEST_NAME = 48  # characters of a column's name on one line


def check_command(
    context: typer.Context,
    file: options.FILE,
    out: Annotated[Path | None, output("Folder for problems, summary, schema and tree.")] = None,
    waiting: Annotated[Path | None, output("CSV file for the people who wait for coupons, as `plan` reads it.")] = None,
    schema: options.SCHEMA = None,
    sheet: options.SHEET = None,
    preset: options.PRESET = None,
    format: options.FORMAT = None,
    map: options.MAP = None,
    missing: options.MISSING = None,
    coupons_each: options.COUPONS_EACH = None,
    still_open: options.STILL_OPEN = None,
    valid_days: Annotated[float | None, number("Days from issue until coupons expire, if no column says so.")] = None,
    as_of: options.AS_OF = None,
    strict: options.STRICT = False,
    read_anyway: options.READ_ANYWAY = None,
    mend: Annotated[bool, typer.Option("--mend", help="Offer changes that would mend problems, in a copy.")] = False,
    copy: Annotated[Path | None, output("With --mend: the copy; otherwise FILE.mended.csv beside the file.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --mend: accept every offer without asking.")] = False,
    details: options.DETAILS = False,
    overwrite: options.OVERWRITE = False,
) -> object:
    """Check a study's file: who recruited whom, coupons, dates, and what is known about people.

    Nothing is written without --out. With it, the folder holds the problems, a summary, the tree for GraphViz and,
    unless --schema names one, a guessed schema.toml to edit. fit and convert read the file as schema.toml says.
    Where there are dates, it says which coupons are open, expired and used, and who waits, on the last of them or on
    the day of --as-of.
    With --mend it asks for each kind of change ("CO160A -> C0160A (issued to P0160)?"), and writes those you accept
    into a copy, with a log of them beside it. The file itself is never changed.
    """
    from peerfront.data.mending import changes_of

    if not mend and (yes or copy is not None):
        raise SettingError("mending.without_mend", mend=Remedy("mend", True))
    names = CHECK_FILES if schema is None else tuple(name for name in CHECK_FILES if name != SCHEMA_FILE)
    if mend or changes_of(file) is not None:
        names = (*names, CHANGES_FILE)
    if out is not None:
        claim(context, out, names, overwrite=overwrite, inputs=(file, schema))
    elif overwrite and waiting is None and not mend:
        raise SettingError("check.overwrite_what", overwrite=Remedy("overwrite", True), out=Remedy("out", "FOLDER"))
    if waiting is not None:
        claim(context, waiting, overwrite=overwrite, inputs=(file, schema))

    from peerfront.data.columns.column_findings import too_many_categories, vetted
    from peerfront.data.columns.schema_guess import guess_schema
    from peerfront.data.study import summarise
    from peerfront.data.study_schema import history_of
    from peerfront.words import study_check

    saved = schema_in(schema)
    if sheet is not None:
        _check_workbook(file, sheet)
    settings = settings_in(
        saved, strict=strict, format=format, map=map, missing=missing, coupons_each=coupons_each,
        still_open=still_open, sheet=sheet, preset=preset, valid_days=valid_days,
        read_anyway=read_anyway,
    )  # fmt: skip
    mended = {}
    if mend:
        mended = mend_file(context, file, settings, copy, yes=yes, overwrite=overwrite)
        if mended["copy"] is not None and out is None and waiting is None:
            return {"mended": mended}
        file = mended["copy"] or file
    study = study_as(file, settings, near=schema, as_of=as_of)
    notes: tuple[Message, ...] = ()
    if saved is None:
        guess = guess_schema(study)
        study_schema, reasons, notes = guess.schema, guess.reasons, too_many_categories(study, guess.schema)
    else:
        saved.check_columns(study)
        allowed = vetted(study, saved)
        study_schema, reasons, notes = allowed.schema, allowed.reasons, allowed.notes
    history_of(study, study_schema)  # a value that fit would refuse is refused here
    summary = summarise(study)
    console = new_screen()
    console.print(cell(study_check.heading(study), "bold"))
    block = "█" if console.encoding.startswith("utf") else "#"
    if details:
        sections = study_check.check_sections(study, summary, study_schema, reasons, guessed=saved is None, block=block)
    else:
        sections = [study_check.how_read(study)]
    for section in sections:
        _print_section(console, section)
    if not details:
        console.print()
        for line in study_check.short_lines(study, summary, study_schema):
            console.print(cell(line))
    for text in study_check.left_out_notes(reasons):
        console.print(cell(text))
    for warning in notes:
        console.print(cell(marked(warning), style="yellow"))
    _print_problems(console, study)
    console.print()
    console.print(cell(study_check.verdict(summary), style="bold"))
    if waiting is not None:
        n = write_waiting(waiting, study)
        show("")
        tell("Written: {file} (people who wait for coupons: {n:,}).", file=waiting, n=n)
    if out is not None:
        changes = changes_of(file)
        names = tuple(name for name in names if name != CHANGES_FILE or changes is not None)
        write_check(out, study, summary, study_schema, reasons, names, changes)
        show_written(out, names)
        if saved is None:
            tell(
                "Edit schema.toml there (leave out columns, name categories), then look again with --schema {file}.",
                file=out / SCHEMA_FILE,
            )
    elif saved is None and waiting is None:
        show("")
        tell("Keep it: --out FOLDER. More: --details.")
    return {
        "summary": summary, "waiting": len(study.waiting), "fields": study_schema.fields, "left_out": reasons,
        "notes": notes, "problems": study.problems, **({"mended": mended} if mend else {}),
    }  # fmt: skip


def _check_workbook(file: Path, sheet: str) -> None:
    """Refuse the name of a sheet for a file that has none."""
    from peerfront.data.read.sheets import holds_sheets
    from peerfront.foundation.files import file_bytes

    if not holds_sheets(file_bytes(file)):
        raise SettingError("sheets.no_workbook", path=file, sheet=Remedy("sheet", sheet))


def _print_section(console: "Console", section: "Section") -> None:
    """Print a title, its table and what is said below; names of columns are read whole where there is room."""
    from rich import box
    from rich.table import Table

    console.print()
    console.print(cell(section.title, style="bold"))
    headed = bool(section.header)
    table = Table(box=box.SIMPLE_HEAD if headed else None, pad_edge=headed, show_header=headed)
    room = min(max(map(len, section.names), default=0), _WIDEST_NAME, console.width * 2 // 5)
    for place in range(len(section.header) or 2):
        table.add_column(
            str(section.header[place]) if headed else "",
            justify="right" if place in section.numbers else "left",
            overflow="fold",
            no_wrap=not section.header[place] if headed else place == 0,
            min_width=room if place == 0 and room else None,
        )
    for place, row in enumerate(section.rows):
        quiet = section.quiet is not None and place >= section.quiet
        table.add_row(*map(cell, row), style="dim" if quiet else None)
    console.print(table)
    for text in section.below:
        console.print(cell(text))


def _print_problems(console: "Console", study: "Study") -> None:
    from rich import box
    from rich.table import Table

    from peerfront.words.study_check import problem_kinds

    console.print()
    if not study.problems:
        console.print(cell(say("No problems found."), style="bold green"))
        return
    kinds = problem_kinds(study)
    console.print(cell(say_n("{n:,} warning", "{n:,} warnings", len(kinds)), style="bold"))
    table = Table(str(say("how many")), str(say("what, and what to do")), box=box.SIMPLE_HEAD)
    table.columns[0].justify = "right"
    table.columns[1].overflow = "fold"
    for kind in kinds:
        text = cell(kind.title, style="bold yellow")
        for example in kind.examples:
            text.append(f"\n{visible(str(example), _LONGEST)}", style="not bold default")
        if kind.more:
            text.append(f"\n{kind.more}", style="dim not bold")
        text.append(f"\n{kind.remedy}", style="italic not bold default")
        table.add_row(f"{kind.count:,}", text)
        table.add_section()
    console.print(table)


def convert_command(
    context: typer.Context,
    file: options.FILE,
    to: Annotated[
        str, typer.Option(help="coupons, recruiter, rdsat, app, dot (GraphViz), graphml or edges (igraph, Gephi).")
    ],
    out: Annotated[Path, output("The file to write.")],
    schema: options.SCHEMA = None,
    sheet: options.SHEET = None,
    preset: options.PRESET = None,
    format: options.FORMAT = None,
    map: options.MAP = None,
    missing: options.MISSING = None,
    coupons_each: options.COUPONS_EACH = None,
    strict: options.STRICT = False,
    read_anyway: options.READ_ANYWAY = None,
    overwrite: options.OVERWRITE = False,
) -> object:
    """Write a study in another format: coupon CSV, recruiter-id CSV, RDSAT, survey-app JSON, or its trees as a graph.

    The file is read as check reads it: with the same options, or as the schema.toml says that check writes.
    """
    from peerfront.data.writers import WRITERS, write_study

    if to not in WRITERS:
        raise UnknownName(note("formats.to_write"), to, WRITERS)
    claim(context, out, overwrite=overwrite, inputs=(file, schema), make_folder=False)
    if sheet is not None:
        _check_workbook(file, sheet)
    study = study_in(
        file, schema_in(schema), near=schema, strict=strict, format=format, map=map, missing=missing,
        coupons_each=coupons_each, sheet=sheet, preset=preset, read_anyway=read_anyway,
    )  # fmt: skip
    write_study(study, out, to, overwrite=overwrite)
    tell("{people} written to {file}.", people=n_people(len(study)), file=out)
    return {"file": out, "format": to, "people": len(study), "problems": study.problems}


def example_command(
    context: typer.Context,
    out: Annotated[Path, output("Folder for study.csv and frontier.csv.")],
    people: Annotated[float, number("About how many people took part so far.")] = 500,
    seed: options.SEED = 0,
    overwrite: options.OVERWRITE = False,
) -> object:
    """Write a made-up study (nobody in it exists) and the people who wait for coupons now."""
    from peerfront.simulation.demo_study import EXAMPLE_FILES, demo_study

    claim(context, out, EXAMPLE_FILES, overwrite=overwrite)
    tables = demo_study(people, seed)  # type: ignore[arg-type] # checked there
    tables.write(out)
    tell(
        "{people:,} people written to {study}, and the {waiting:,} of them who wait for coupons to {frontier}. "
        "Nobody in them exists.\nNext: {command}",
        people=len(tables.study),
        study=out / "study.csv",
        waiting=len(tables.frontier),
        frontier=out / "frontier.csv",
        command=f"peerfront check {out / 'study.csv'} --out {out / 'checked'}",
    )
    return {"folder": out, "files": EXAMPLE_FILES, "people": len(tables.study), "waiting": len(tables.frontier)}
