"""Lists of things with settings, for the commands that describe them."""

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from peerfront.specs import Option


def print_list(console: Console, kind: str, summaries: Mapping[str, str]) -> None:
    table = Table(kind, "what it is")
    for name, summary in summaries.items():
        table.add_row(name, summary)
    console.print(table)


def print_options(console: Console, name: str, options: Mapping[str, Option]) -> None:
    console.print(f"Settings, written [bold]{name}:{escape('key=value,key=value')}[/]:")
    for key, option in {**options, "name": Option(str, "what tables and figures call it")}.items():
        console.print(f"  [bold]{key}[/]  {escape(option.help)}", highlight=False)
