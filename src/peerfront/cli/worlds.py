"""`peerfront worlds`, `policies` and `simulate`: what there is to compare, and one episode watched round by round."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli.options import BUDGET, MAX_PER_PERSON, MAX_PER_ROUND, PEOPLE, ROUNDS, SEED, rules_of
from peerfront.cli.screen import cell, new_screen
from peerfront.words.language import joined, say

if TYPE_CHECKING:
    from rich.console import Console

    from peerfront.foundation.settings import Option


def worlds_command(
    name: Annotated[str | None, typer.Argument(help="Describe this world; leave out to list all.")] = None,
) -> None:
    """List the worlds a policy can be tested in, or describe one."""
    from peerfront.foundation.settings import Spec
    from peerfront.foundation.shown import visible
    from peerfront.simulation.catalog import WORLDS, make_world, world_entry

    console = new_screen()
    if name is None:
        print_list(console, say("world"), {key: entry.summary for key, entry in WORLDS.items()})
        console.print(str(say("Describe one with {command}.", command="peerfront worlds NAME")))
        return
    spec = Spec.parse(name)
    entry, world = world_entry(spec), make_world(spec)
    console.print(cell(spec.name, "bold").append(f": {entry.summary}\n\n{entry.description}\n", style="not bold"))
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


def policies_command() -> None:
    """List the policies that can play, with their settings."""
    from peerfront.experiments.policies import POLICIES

    console = new_screen()
    print_list(console, say("policy"), {name: entry.summary for name, entry in POLICIES.items()})
    for name, entry in POLICIES.items():
        print_options(console, name, entry.options)


def print_list(console: "Console", kind: object, summaries: Mapping[str, object]) -> None:
    from rich.table import Table

    table = Table(str(kind), str(say("what it is")))
    for name, summary in summaries.items():
        table.add_row(name, cell(summary))
    console.print(table)


def print_options(console: "Console", name: str, options: Mapping[str, "Option"]) -> None:
    from peerfront.foundation.settings import Option

    console.print(cell(say("Settings, written {example}:", example=f"{name}:key=value,key=value")))
    for key, option in {**options, "name": Option(str, str(say("what tables and figures call it")))}.items():
        console.print(cell(f"  {key}", "bold").append(f"  {option.help}", style="not bold"))


_FIELDS_SHOWN = 60
_ENDINGS = {
    "BUDGET": say("It ended because every coupon is given out."),
    "EXTINCT": say("It ended because nobody is left who could refer."),
    "STOPPED": say("It ended because the policy gave out no coupons, so nobody can come."),
    "HORIZON": say("It ended because the last round is over."),
}


def simulate_command(
    world: Annotated[str, typer.Option(help="The world, such as bridge or icpsr22140:sigma=0.2.")] = "icpsr22140",
    policy: Annotated[str, typer.Option(help="The policy, such as threshold or constant:coupons=3.")] = "threshold",
    discount: Annotated[float, typer.Option(help="Worth of a recruit one round later.")] = 0.95,
    draw: Annotated[int, typer.Option(help="Which draw of the world.")] = 0,
    episode: Annotated[int, typer.Option(help="Which episode: the same number as in compare.")] = 0,
    budget: BUDGET = 100,
    people: PEOPLE = 10,
    rounds: ROUNDS = 50,
    max_per_person: MAX_PER_PERSON = None,
    max_per_round: MAX_PER_ROUND = None,
    seed: SEED = 0,
) -> None:
    """Play one episode and print its rounds as a table."""
    import numpy as np
    from rich.table import Table

    from peerfront.experiments.comparison import Comparison, Task, episode_luck, prepared_policy
    from peerfront.foundation.settings import whole_number
    from peerfront.problem import Ending, Round, rollout
    from peerfront.problem.limits import MOST_EPISODES

    rules = rules_of(budget, people, rounds, max_per_person, max_per_round)
    whole_number("episode", episode, 0, MOST_EPISODES - 1)
    comparison = Comparison((world,), (policy,), (draw,), (discount,), episode + 1, rules, seed)
    task = Task(world, draw, policy, (discount,))
    testing_world, player = prepared_policy(comparison, task, discount)

    title = say(
        "{policy} in {world}, draw {draw}, episode {episode}",
        policy=player.name,
        world=world,
        draw=draw,
        episode=episode,
    )
    table = Table(title=cell(title), title_justify="left")
    for heading in (say("round"), say("people"), say("coupons"), say("given")):
        table.add_column(str(heading), justify="right", no_wrap=True)
    table.add_column(str(say("to people, coupons each")))
    for heading in (say("recruits"), say("reward so far")):
        table.add_column(str(heading), justify="right", no_wrap=True)
    left, reward = rules.budget, 0.0

    def show(played: Round) -> None:
        nonlocal left, reward
        recruits = int(played.referrals.recruits.sum())
        reward += recruits * discount**played.number
        given = int(played.coupons.sum())
        amounts, counts = np.unique(played.coupons, return_counts=True)
        shares = ", ".join(f"{n} x {k}" for k, n in zip(amounts[::-1], counts[::-1], strict=True) if k)
        nobody = int((played.coupons == 0).sum())
        both = joined([shares, say("{n} none", n=nobody) if nobody else ""], "; ")
        row = (played.number, len(played.crowd), left, given, both, recruits, f"{reward:.2f}")
        table.add_row(*map(str, row))
        left -= given

    result = rollout(testing_world, player, rules, episode_luck(comparison, task).row(episode), watch=show)
    console = new_screen()
    console.print(table)
    total, ending = int(result.total_recruits[0]), Ending(int(result.ending[0])).name
    summary = say(
        "{recruits} recruits with {coupons} coupons in {rounds} rounds; reward {reward:.2f} at discount {discount:g}.",
        recruits=total,
        coupons=rules.budget - left,
        rounds=int(result.rounds[0]),
        reward=reward,
        discount=discount,
    )
    console.print(cell(joined([summary, _ENDINGS[ending]])))
    console.print(cell(say("coupons: left at the start of the round; 3 x 4: three people get four each."), "dim"))
