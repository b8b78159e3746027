"""`peerfront worlds`: which worlds there are, and what each is like."""

from typing import Annotated

import typer


def worlds_command(
    name: Annotated[str | None, typer.Argument(help="Describe this world; leave out to list all.")] = None,
) -> None:
    """List the worlds a policy can be tested in, or describe one."""
    from rich.console import Console

    from peerfront.cli.listing import print_list, print_options
    from peerfront.simulation import WORLDS, make_world, world_entry
    from peerfront.specs import Spec

    console = Console()
    if name is None:
        print_list(console, "world", {key: entry.summary for key, entry in WORLDS.items()})
        console.print("Describe one with [bold]peerfront worlds NAME[/].")
        return
    spec = Spec.parse(name)
    entry, world = world_entry(spec), make_world(spec)
    console.print(f"[bold]{spec.name}[/]: {entry.summary}\n\n{entry.description}\n")
    fields = ", ".join(f"{field.name} ({len(field)})" for field in world.schema.fields)
    console.print(f"Fields (categories): {fields}. {world.schema.columns} one-hot columns.", highlight=False)
    console.print(
        "Draws: " + ("each is another world." if entry.has_draws else "all are this one world, with other luck.")
    )
    print_options(console, spec.name, entry.options)
