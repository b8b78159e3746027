"""`peerfront reproduce`: the paper's table and figure beside ours."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli.options import BACKEND, INTERRUPTED, SCHEDULER, SEED, WORKERS, out_path
from peerfront.cli.screen import cell, new_screen, show
from peerfront.words.language import say


def reproduce_command(
    context: typer.Context,
    quick: Annotated[
        bool, typer.Option("--quick", help="One draw, two discounts: does everything work? (minutes)")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Twenty draws instead of five (hours).")] = False,
    discount: Annotated[
        list[float] | None,
        typer.Option(
            help="A discount; repeat for several.",
            show_default="0.9, 0.95, 0.99, 1; with --quick 0.9, 1",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(parser=out_path, metavar="PATH", help="Folder for tables, figures, trajectories and the report."),
    ] = Path("results/reproduction"),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the tables and the report of another reproduction in --out.")
    ] = False,
    seed: SEED = 0,
    workers: WORKERS = 2,
    backend: BACKEND = "loky",
    scheduler: SCHEDULER = None,
) -> None:
    """Fit the dynamics, train every method for every discount, test all of them, and set the paper's table beside ours.

    Ctrl-C and even a crash keep what is finished: repeat the command to go on. Fitted models, trained methods and
    played episodes are kept in OUT/store and used again wherever they fit.
    """
    from peerfront.cli.options import shown_progress
    from peerfront.experiments.comparison import PAPER_DISCOUNTS
    from peerfront.experiments.comparison_run import Workers
    from peerfront.experiments.reproduction import claimed_folder_of, reproduce, reproduction_plan
    from peerfront.foundation.errors import SettingError
    from peerfront.words.reproduction_report import write_reproduction

    if quick and full:
        raise SettingError("reproduction_folder.quick_or_full")
    scale = "quick" if quick else "full" if full else "default"
    usual = (PAPER_DISCOUNTS[0], PAPER_DISCOUNTS[-1]) if quick else PAPER_DISCOUNTS
    plan = reproduction_plan(scale, tuple(discount or usual), seed)
    context.with_resource(claimed_folder_of(plan, out, overwrite=overwrite))
    with shown_progress() as progress:
        try:
            reproduction = reproduce(
                plan, out, workers=Workers(workers, backend, scheduler), overwrite=overwrite, progress=progress
            )
        except KeyboardInterrupt:
            show(
                say("\nWhat is done is kept in {folder}. Repeat the command to go on from there.", folder=out), err=True
            )
            raise typer.Exit(INTERRUPTED) from None
    console = new_screen()
    for each in write_reproduction(reproduction, out):
        console.print(cell(each.question, "bold").append(f" {each.answer}\n", style="not bold"))
    show(
        say(
            "The report is {report}; the tables are {table}, .csv and .tex.",
            report=out / "report.html",
            table=out / "table.md",
        )
    )
