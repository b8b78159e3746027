"""`peerfront policies`: which policies there are, and their settings."""


def policies_command() -> None:
    """List the policies that can play, with their settings."""
    from rich.console import Console

    from peerfront.cli.listing import print_list, print_options
    from peerfront.experiments.policies import POLICIES

    console = Console()
    print_list(console, "policy", {name: entry.summary for name, entry in POLICIES.items()})
    for name, entry in POLICIES.items():
        print_options(console, name, entry.options)
