"""`peerfront worlds`, `policies` and `simulate`: what there is to compare, and one episode watched round by round."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from peerfront.cli.options import BUDGET, MAX_PER_PERSON, MAX_PER_ROUND, PEOPLE, ROUNDS, SEED, rules_of
from peerfront.cli.screen import cell, new_screen

if TYPE_CHECKING:
    from rich.console import Console

    from peerfront.foundation.specs import Option


def worlds_command(
    name: Annotated[str | None, typer.Argument(help="Describe this world; leave out to list all.")] = None,
) -> None:
    """List the worlds a policy can be tested in, or describe one."""
    from peerfront.foundation.shown import visible
    from peerfront.foundation.specs import Spec
    from peerfront.simulation.catalog import WORLDS, make_world, world_entry

    console = new_screen()
    if name is None:
        print_list(console, "world", {key: entry.summary for key, entry in WORLDS.items()})
        console.print("Describe one with peerfront worlds NAME.")
        return
    spec = Spec.parse(name)
    entry, world = world_entry(spec), make_world(spec)
    console.print(cell(spec.name, "bold").append(f": {entry.summary}\n\n{entry.description}\n", style="not bold"))
    fields = ", ".join(f"{visible(field.name, 60)} ({len(field)})" for field in world.schema.fields[:_FIELDS_SHOWN])
    left_out = len(world.schema.fields) - _FIELDS_SHOWN
    fields += f", and {left_out:,} more" if left_out > 0 else ""
    console.print(f"Fields (categories): {fields}. {world.schema.columns} one-hot columns.")
    for fact in getattr(world, "facts", ()):
        console.print(cell(fact))
    console.print(
        "Draws: " + ("each is another world." if entry.has_draws else "all are this one world, with other luck.")
    )
    print_options(console, spec.name, entry.options)


def policies_command() -> None:
    """List the policies that can play, with their settings."""
    from peerfront.experiments.policies import POLICIES

    console = new_screen()
    print_list(console, "policy", {name: entry.summary for name, entry in POLICIES.items()})
    for name, entry in POLICIES.items():
        print_options(console, name, entry.options)


def print_list(console: "Console", kind: str, summaries: Mapping[str, str]) -> None:
    from rich.table import Table

    table = Table(kind, "what it is")
    for name, summary in summaries.items():
        table.add_row(name, summary)
    console.print(table)


def print_options(console: "Console", name: str, options: Mapping[str, "Option"]) -> None:
    from peerfront.foundation.specs import Option

    console.print(cell("Settings, written ").append(f"{name}:key=value,key=value", style="bold").append(":"))
    for key, option in {**options, "name": Option(str, "what tables and figures call it")}.items():
        console.print(cell(f"  {key}", "bold").append(f"  {option.help}", style="not bold"))


_FIELDS_SHOWN = 60
_ENDINGS = {
    "BUDGET": "every coupon is given out",
    "EXTINCT": "nobody is left who could refer",
    "STOPPED": "the policy gave out no coupons, so nobody can come",
    "HORIZON": "the last round is over",
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

    table = Table(title=cell(f"{player.name} in {world}, draw {draw}, episode {episode}"), title_justify="left")
    for name in ("round", "people", "coupons", "given", "to people, coupons each", "recruits", "reward so far"):
        table.add_column(name, justify="left" if name.startswith("to") else "right", no_wrap=not name.startswith("to"))
    left, reward = rules.budget, 0.0

    def show(played: Round) -> None:
        nonlocal left, reward
        recruits = int(played.referrals.recruits.sum())
        reward += recruits * discount**played.number
        given = int(played.coupons.sum())
        amounts, counts = np.unique(played.coupons, return_counts=True)
        shares = ", ".join(f"{n} x {k}" for k, n in zip(amounts[::-1], counts[::-1], strict=True) if k)
        nobody = int((played.coupons == 0).sum())
        if nobody:
            shares += f"{'; ' if shares else ''}{nobody} none"
        table.add_row(
            str(played.number), str(len(played.crowd)), str(left), str(given), shares, str(recruits), f"{reward:.2f}"
        )
        left -= given

    result = rollout(testing_world, player, rules, episode_luck(comparison, task).row(episode), watch=show)
    console = new_screen()
    console.print(table)
    total, ending = int(result.total_recruits[0]), Ending(int(result.ending[0])).name
    console.print(
        f"{total} recruits with {rules.budget - left} coupons in {int(result.rounds[0])} rounds; "
        f"reward {reward:.2f} at discount {discount:g}. It ended because {_ENDINGS[ending]}.",
    )
    console.print("coupons: left at the start of the round; 3 x 4: three people get four each.", style="dim")
