"""`peerfront compare`: policies against each other, on the same people with the same luck."""

from pathlib import Path
from typing import Annotated

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
from peerfront.cli.screen import new_screen, show


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
    from peerfront.experiments.compare import Workers, run_comparison
    from peerfront.experiments.comparison import (
        DEFAULT_POLICIES,
        DEFAULT_WORLDS,
        PAPER_DISCOUNTS,
        Comparison,
        draws_from,
    )
    from peerfront.experiments.tables import terminal_tables
    from peerfront.foundation.errors import SettingError, UnknownName
    from peerfront.foundation.specs import Spec

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
        raise UnknownName("policy in this comparison", against, labels)
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
                show(f"\nWhat is done is kept in {out}. Repeat the command with --resume to complete it.", err=True)
            raise typer.Exit(INTERRUPTED) from None
    console = new_screen()
    for table in terminal_tables(results, against):
        console.print(table)
    if out is not None:
        show(f"\nTrajectories, tables and curves are in {out}; start with {out / 'table.md'}.")
