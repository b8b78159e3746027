"""The commands of research: `peerfront worlds`, `policies`, `simulate`, `compare` and `reproduce`."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from peerfront.cli import options
from peerfront.cli.json_output import figures_of
from peerfront.cli.options import kept_in, output, shown_progress
from peerfront.cli.screen import cell, new_screen, show_result, tell
from peerfront.foundation.errors import ComparisonFailed, PeerfrontError, SettingError, UnknownName
from peerfront.foundation.messages import note
from peerfront.foundation.shown import visible
from peerfront.words.language import Text, joined, say
from peerfront.words.result_table import ResultTable

if TYPE_CHECKING:
    from rich.console import Console, Group

    from peerfront.foundation.messages import Message
    from peerfront.foundation.settings import Option

E = TypeVar("E")
_FIELDS_SHOWN = 60
_ENDINGS = {
    "BUDGET": say("It ended because every coupon is given out."),
    "EXTINCT": say("It ended because nobody is left who could refer."),
    "STOPPED": say("It ended because the policy gave out no coupons, so nobody can come."),
    "HORIZON": say("It ended because the last round is over."),
}


def worlds_command(
    name: Annotated[str | None, typer.Argument(help="Describe this world; leave out to list all.")] = None,
) -> object:
    """List the worlds a policy can be tested in, or describe one."""
    from peerfront.foundation.settings import Spec
    from peerfront.simulation.catalog import GROUP, WORLDS, make_world, world_entry

    console = new_screen()
    if name is None:
        entries, faults = entries_of_packages(GROUP, WORLDS, world_entry)
        summaries = {key: entry.summary for key, entry in {**WORLDS, **entries}.items()} | faults
        print_list(say("world"), summaries)
        console.print(str(say("Describe one with {command}.", command="peerfront worlds NAME")))
        return summaries
    spec = Spec.parse(name)
    entry, world = world_entry(spec.name), make_world(spec)
    about = dict.fromkeys([str(entry.summary), str(entry.description)])  # a world of another package has one sentence
    console.print(cell(spec.name, "bold").append(": " + "\n\n".join(about) + "\n", style="not bold"))
    fields: list[object] = [
        f"{visible(field.name, 60)} ({len(field)})" for field in world.schema.fields[:_FIELDS_SHOWN]
    ]
    if (left_out := len(world.schema.fields) - _FIELDS_SHOWN) > 0:
        fields.append(say("and {n:,} more", n=left_out))
    sentence = say(
        "Fields (categories): {fields}. {columns} one-hot columns.",
        fields=joined(fields, ", "),
        columns=world.schema.columns,
    )
    console.print(str(sentence))
    for fact in getattr(world, "facts", ()):
        console.print(cell(fact))
    draws = say("Draws: all are this one world, with other luck.")
    console.print(str(say("Draws: each is another world.") if entry.has_draws else draws))
    print_options(console, spec.name, entry.options)
    return {
        "world": spec.name, "summary": entry.summary, "description": entry.description, "has_draws": entry.has_draws,
        "fields": {field.name: len(field) for field in world.schema.fields}, "facts": getattr(world, "facts", ()),
        "options": {key: option.help for key, option in entry.options.items()},
    }  # fmt: skip


def policies_command() -> object:
    """List the policies that can play, with their settings."""
    from peerfront.experiments.policies import GROUP, POLICIES, policy_entry

    of_others, faults = entries_of_packages(GROUP, POLICIES, policy_entry)
    entries = {**POLICIES, **of_others}
    print_list(say("policy"), {name: entry.summary for name, entry in entries.items()} | faults)
    console = new_screen()
    for name, entry in entries.items():
        print_options(console, name, entry.options)
    found = {
        name: {"summary": entry.summary, "options": {key: option.help for key, option in entry.options.items()}}
        for name, entry in entries.items()
    }
    return found | {name: {"summary": fault, "options": {}} for name, fault in faults.items()}


def entries_of_packages(
    group: str, ours: Collection[str], entry_of: "Callable[[str], E]"
) -> "tuple[dict[str, E], dict[str, Message]]":
    """What other packages offer under names that are not ours, and what is wrong with those that cannot be loaded."""
    from peerfront.foundation.own_parts import offered

    entries: dict[str, E] = {}
    faults: dict[str, Message] = {}
    for name in offered(group):
        if name not in ours:
            try:
                entries[name] = entry_of(name)
            except PeerfrontError as problem:
                faults[name] = problem.message
    return entries, faults


def print_list(kind: Text, summaries: Mapping[str, object]) -> None:
    show_result([ResultTable(Text(""), (kind, say("what it is")), tuple(summaries.items()), n_names=2)], ())


def print_options(console: "Console", name: str, options: Mapping[str, "Option"]) -> None:
    from peerfront.foundation.settings import Option

    console.print(cell(say("Settings, written {example}:", example=f"{name}:key=value,key=value")))
    for key, option in {**options, "name": Option(str, str(say("what tables and figures call it")))}.items():
        console.print(cell(f"  {key}", "bold").append(f"  {option.help}", style="not bold"))


def simulate_command(
    world: Annotated[str, typer.Option(help="The world, such as bridge or icpsr22140:sigma=0.2.")] = "icpsr22140",
    policy: Annotated[str, typer.Option(help="The policy, such as threshold or constant:coupons=3.")] = "threshold",
    discount: Annotated[float, typer.Option(help="Worth of a recruit one round later.")] = 0.95,
    draw: Annotated[int, typer.Option(help="Which draw of the world.")] = 0,
    episode: Annotated[int, typer.Option(help="Which episode: the same number as in compare.")] = 0,
    budget: options.BUDGET = 100,
    people: options.PEOPLE = 10,
    rounds: options.ROUNDS = 50,
    max_per_person: options.MAX_PER_PERSON = None,
    max_per_round: options.MAX_PER_ROUND = None,
    seed: options.SEED = 0,
) -> object:
    """Play one episode and print its rounds as a table."""
    import numpy as np

    from peerfront.experiments.comparison import Comparison, Task, episode_luck, prepared_policy
    from peerfront.foundation.settings import whole_number
    from peerfront.problem import Ending, Round, Rules, rollout
    from peerfront.problem.state import MOST_EPISODES

    rules = Rules(budget, people, rounds, max_per_person, max_per_round)  # type: ignore[arg-type] # checked there
    whole_number("episode", episode, 0, MOST_EPISODES - 1)
    comparison = Comparison((world,), (policy,), (draw,), (discount,), episode + 1, rules, seed)
    task = Task(world, draw, policy, (discount,))
    with comparison.named_world(world):
        testing_world, player = prepared_policy(comparison, task, discount)

    rows: list[tuple[object, ...]] = []
    coupons: list[object] = []
    left, reward = rules.budget, 0.0

    def watch(played: Round) -> None:
        nonlocal left, reward
        recruits = int(played.referrals.recruits.sum())
        reward += recruits * discount**played.number
        given = int(played.coupons.sum())
        amounts, counts = np.unique(played.coupons, return_counts=True)
        shares = ", ".join(f"{n} x {k}" for k, n in zip(amounts[::-1], counts[::-1], strict=True) if k)
        nobody = int((played.coupons == 0).sum())
        both = joined([shares, say("{n} none", n=nobody) if nobody else ""], "; ")
        rows.append((played.number, len(played.crowd), left, given, both, recruits, f"{reward:.2f}"))
        coupons.append(played.coupons)
        left -= given

    with comparison.named_world(world):
        result = rollout(testing_world, player, rules, episode_luck(comparison, task).row(episode), watch=watch)
    where = {"policy": player.name, "world": world, "draw": draw, "episode": episode}
    title = say("{policy} in {world}, draw {draw}, episode {episode}", **where)
    given_out = (say("coupons"), say("given"), say("to people, coupons each"))
    headings = (say("round"), say("people"), *given_out, say("recruits"), say("reward so far"))
    summary = say(
        "{recruits} recruits with {coupons} coupons in {rounds} rounds; reward {reward:.2f} at discount {discount:g}.",
        recruits=int(result.total_recruits[0]),
        coupons=rules.budget - left,
        rounds=int(result.rounds[0]),
        reward=reward,
        discount=discount,
    )
    legend = say("coupons: left at the start of the round; 3 x 4: three people get four each.")
    ending = _ENDINGS[Ending(int(result.ending[0])).name]
    show_result([ResultTable(title, headings, tuple(rows), n_names=0)], [joined([summary, ending]), legend])
    return {
        **where,
        "discount": discount,
        "reward": reward,
        "ending": Ending(int(result.ending[0])).name.lower(),
        "rounds": [
            {"round": row[0], "people": row[1], "left": row[2], "given": row[3], "recruits": row[5], "coupons": each}
            for row, each in zip(rows, coupons, strict=True)
        ],
    }


def compare_command(
    world: Annotated[
        list[str] | None, typer.Option(help="A world; repeat for several.", show_default="icpsr22140")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy; repeat for several.", show_default="random_split, constant, threshold, population_dp"
        ),
    ] = None,
    discount: Annotated[
        list[float] | None, typer.Option(help="A discount; repeat for several.", show_default="0.9, 0.95, 0.99, 1")
    ] = None,
    draws: Annotated[int, typer.Option(help="How many draws of each world.")] = 1,
    first_draw: Annotated[
        int, typer.Option(help="Number of the first of them: settings were chosen on draws 0 to 4, so 5 is fairer.")
    ] = 0,
    episodes: Annotated[int, typer.Option(help="Episodes in each draw.")] = 400,
    budget: options.BUDGET = 100,
    people: options.PEOPLE = 10,
    rounds: options.ROUNDS = 50,
    max_per_person: options.MAX_PER_PERSON = None,
    max_per_round: options.MAX_PER_ROUND = None,
    seed: options.SEED = 0,
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
    out: Annotated[Path | None, output("Folder for trajectories, tables and figures.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Complete what --out already holds.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what --out already holds.")] = False,
    workers: options.WORKERS = 2,
    backend: options.BACKEND = "loky",
    scheduler: options.SCHEDULER = None,
) -> object:
    """Play policies in worlds and compare them fairly: paired episodes, several draws, intervals.

    Without --out the tables are only printed. With it, Ctrl-C keeps what is finished: repeat the command with --resume.
    """
    from peerfront.experiments.comparison import (
        DEFAULT_POLICIES,
        DEFAULT_WORLDS,
        PAPER_DISCOUNTS,
        Comparison,
        draws_from,
    )
    from peerfront.experiments.comparison_run import Workers, run_comparison
    from peerfront.foundation.settings import Spec
    from peerfront.problem import Rules
    from peerfront.words.comparison_words import difference_tables, mean_tables

    comparison = Comparison(
        worlds=tuple(world or DEFAULT_WORLDS),
        policies=tuple(policy or DEFAULT_POLICIES),
        draws=draws_from(first_draw, draws),
        discounts=tuple(discount or PAPER_DISCOUNTS),
        episodes=episodes,
        rules=Rules(budget, people, rounds, max_per_person, max_per_round),  # type: ignore[arg-type] # checked there
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

    failed = None
    with shown_progress(kept_in(out)) as progress:
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
        except ComparisonFailed as problem:
            if problem.results is None:
                raise
            failed, results = problem, problem.results
    console = new_screen()
    shown = against if against in results.policies else None
    for table in [*mean_tables(results), *difference_tables(results, shown)]:
        console.print(terminal_table(table))
    if failed is not None:
        raise failed
    if out is not None:
        tell("\nTrajectories, tables and curves are in {folder}; start with {file}.", folder=out, file=out / "table.md")
    return figures_of(results)


def terminal_table(table: ResultTable) -> "Group":
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


def reproduce_command(
    context: typer.Context,
    quick: Annotated[
        bool, typer.Option("--quick", help="One draw, two discounts: does everything work? (minutes)")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Twenty draws instead of five (hours).")] = False,
    discount: Annotated[
        list[float] | None,
        typer.Option(help="A discount; repeat for several.", show_default="0.9, 0.95, 0.99, 1; with --quick 0.9, 1"),
    ] = None,
    out: Annotated[Path, output("Folder for tables, figures, trajectories and the report.")] = Path(
        "results/reproduction"
    ),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the tables and the report of another reproduction in --out.")
    ] = False,
    seed: options.SEED = 0,
    workers: options.WORKERS = 2,
    backend: options.BACKEND = "loky",
    scheduler: options.SCHEDULER = None,
) -> object:
    """Fit the dynamics, train every method for every discount, test all of them, and set the paper's table beside ours.

    Ctrl-C and even a crash keep what is finished: repeat the command to go on. Fitted models, trained methods and
    played episodes are kept in OUT/store and used again wherever they fit.
    """
    from peerfront.experiments.comparison import PAPER_DISCOUNTS
    from peerfront.experiments.comparison_run import Workers
    from peerfront.experiments.reproduction import TRAININGS, claimed_folder_of, reproduce, reproduction_plan
    from peerfront.words.reproduction_report import write_reproduction

    if quick and full:
        raise SettingError("reproduction_folder.quick_or_full")
    scale = "quick" if quick else "full" if full else "default"
    usual = (PAPER_DISCOUNTS[0], PAPER_DISCOUNTS[-1]) if quick else PAPER_DISCOUNTS
    plan = reproduction_plan(scale, tuple(discount or usual), seed)
    context.with_resource(claimed_folder_of(plan, out, overwrite=overwrite))
    described = {"draws": len(plan.parts[-1].comparison.draws), "episodes": plan.parts[-1].comparison.episodes}
    if quick:
        tell(
            "Table: the world that the paper's text describes, {draws} draw of {episodes} episodes, at discounts "
            "{discounts}. The published Table 1 needs a run without --quick.",
            discounts=[f"{each:g}" for each in plan.discounts],
            **described,
        )
    else:
        tell(
            "Tables: the published Table 1 in its own world, {trainings} trainings; and the world that the paper's "
            "text describes, {draws} draws of {episodes} episodes.",
            trainings=TRAININGS,
            **described,
        )
    stopped = say("What is done is kept in {folder}. Repeat the command to go on from there.", folder=out)
    with shown_progress(stopped) as progress:
        reproduction = reproduce(
            plan, out, workers=Workers(workers, backend, scheduler), overwrite=overwrite, progress=progress
        )
    console = new_screen()
    answers = write_reproduction(reproduction, out)
    for each in answers:
        console.print(cell(each.question, "bold").append(f" {each.answer}\n", style="not bold"))
    tell(
        "The report is {report}; the tables are {table}, .csv and .tex.",
        report=out / "report.html",
        table=out / "table.md",
    )
    tables = {name: results.table for name, results in reproduction.results.items()}
    return {"folder": out, "answers": answers, "tables": tables, "timings": reproduction.timings}
