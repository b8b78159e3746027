"""`peerfront compare`: policies against each other, on the same people with the same luck."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli.options import (
    BACKEND,
    BUDGET,
    INTERRUPTED,
    MAX_PER_PERSON,
    MAX_PER_ROUND,
    PEOPLE,
    ROUNDS,
    SCHEDULER,
    SEED,
    WORKERS,
    out_path,
    rules_of,
)
from peerfront.cli.screen import cell, new_screen, show
from peerfront.words.language import say

if TYPE_CHECKING:
    from rich.console import Group

    from peerfront.words.result_table import ResultTable


def compare_command(
    world: Annotated[
        list[str] | None, typer.Option(help="A world; repeat for several.", show_default="icpsr22140")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy; repeat for several.",
            show_default="random_split, constant, threshold, population_dp",
        ),
    ] = None,
    discount: Annotated[
        list[float] | None,
        typer.Option(help="A discount; repeat for several.", show_default="0.9, 0.95, 0.99, 1"),
    ] = None,
    draws: Annotated[int, typer.Option(help="How many draws of each world.")] = 1,
    first_draw: Annotated[
        int, typer.Option(help="Number of the first of them: settings were chosen on draws 0 to 4, so 5 is fairer.")
    ] = 0,
    episodes: Annotated[int, typer.Option(help="Episodes in each draw.")] = 400,
    budget: BUDGET = 100,
    people: PEOPLE = 10,
    rounds: ROUNDS = 50,
    max_per_person: MAX_PER_PERSON = None,
    max_per_round: MAX_PER_ROUND = None,
    seed: SEED = 0,
    models: Annotated[
        str,
        typer.Option(
            help="What policies plan with: oracle (the truth), learned (or learned:offspring=softmax, "
            "learned:capacity=paper), or learned-paper (slow)."
        ),
    ] = "oracle",
    bound: Annotated[
        bool, typer.Option("--bound", help="Add an upper bound on every policy as the last row (true models).")
    ] = False,
    against: Annotated[
        str | None, typer.Option(help="Show differences to this policy.", show_default="the first")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=out_path, metavar="PATH", help="Folder for trajectories, tables and figures.", show_default=False
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Complete what --out already holds.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what --out already holds.")] = False,
    workers: WORKERS = 2,
    backend: BACKEND = "loky",
    scheduler: SCHEDULER = None,
) -> None:
    """Play policies in worlds and compare them fairly: paired episodes, several draws, intervals.

    Without --out the tables are only printed. With it, Ctrl-C keeps what is finished: repeat the command with --resume.
    """
    from peerfront.cli.options import shown_progress
    from peerfront.experiments.comparison import (
        DEFAULT_POLICIES,
        DEFAULT_WORLDS,
        PAPER_DISCOUNTS,
        Comparison,
        draws_from,
    )
    from peerfront.experiments.comparison_run import Workers, run_comparison
    from peerfront.foundation.errors import SettingError, UnknownName
    from peerfront.foundation.messages import note
    from peerfront.foundation.settings import Spec
    from peerfront.words.comparison_words import difference_tables, mean_tables

    comparison = Comparison(
        worlds=tuple(world or DEFAULT_WORLDS),
        policies=tuple(policy or DEFAULT_POLICIES),
        draws=draws_from(first_draw, draws),
        discounts=tuple(discount or PAPER_DISCOUNTS),
        episodes=episodes,
        rules=rules_of(budget, people, rounds, max_per_person, max_per_round),
        seed=seed,
        models=models,
        bound=bound,
    )
    labels = [Spec.parse(policy).label for policy in comparison.policies]
    if against is not None and against not in labels:
        raise UnknownName(note("comparison.compared_policy"), against, labels)
    if (resume or overwrite) and out is None:
        raise SettingError("comparison.needs_folder")
    if resume and overwrite:
        raise SettingError("comparison.resume_or_overwrite")

    with shown_progress() as progress:
        try:
            results = run_comparison(
                comparison,
                out,
                workers=Workers(workers, backend, scheduler),
                resume=resume,
                overwrite=overwrite,
                against=against,
                progress=progress,
            )
        except KeyboardInterrupt:
            if out is not None:
                kept = say(
                    "\nWhat is done is kept in {folder}. Repeat the command with --resume to complete it.", folder=out
                )
                show(kept, err=True)
            raise typer.Exit(INTERRUPTED) from None
    console = new_screen()
    for table in [*mean_tables(results), *difference_tables(results, against)]:
        console.print(terminal_table(table))
    if out is not None:
        sentence = say(
            "\nTrajectories, tables and curves are in {folder}; start with {file}.", folder=out, file=out / "table.md"
        )
        show(sentence)


def terminal_table(table: "ResultTable") -> "Group":
    """A table below its title; intervals stand below their means, so that it is narrower."""
    from rich import box
    from rich.console import Group
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    drawn.add_column(str(table.headings[0]), overflow="fold", min_width=8)
    rows = [[str(each).replace(" [", "\n[") for each in row] for row in table.rows]
    for number, heading in enumerate(table.headings[1:], start=1):
        widest = max(len(line) for row in rows for line in row[number].split("\n"))
        # Numbers are never cut short; a long name is folded instead.
        drawn.add_column(str(heading).replace(" ", "\n"), justify="right", no_wrap=True, min_width=widest)
    for row in rows:
        drawn.add_row(*(cell(each) for each in row))
    return Group(cell(f"\n{table.title}", "bold"), drawn)
