"""Pages that MkDocs makes from the program itself: the commands, the front door, and every room of the library.

The pages are made anew in each build, so that a new command, option, module or exported name is always on one of them.
`tests/docs` checks that each has a text. Only `on_config` and `on_files` know MkDocs.
"""

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import typer
from typer.models import ArgumentInfo, OptionInfo
from typer.utils import get_params_from_function

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

PACKAGE = Path(__file__).parents[1] / "src" / "peerfront"
ROOMS_TITLE = "Rooms"  # the entry of mkdocs.yml's navigation that the pages of the rooms are put under


def on_config(config: "MkDocsConfig") -> "MkDocsConfig":
    """Put the rooms into the navigation."""
    reference = next(entry["Reference"] for entry in config.nav if "Reference" in entry)
    listed = next(entry for entry in reference if ROOMS_TITLE in entry)
    listed[ROOMS_TITLE] = [{room: room_page(room)} for room in rooms()]
    return config


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the pages that no file holds."""
    from mkdocs.structure.files import File

    made = {"reference/commands.md": commands_page(), "reference/library.md": library_page()}
    made |= {room_page(room): room_text(room) for room in rooms()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


# The commands.


@dataclass(frozen=True)
class Parameter:
    """An argument or an option of a command, as its function declares it."""

    shown: str  # MODEL, or --budget
    value: str  # what stands after an option; nothing after a flag
    help: str
    default: str
    is_argument: bool
    required: bool


@dataclass(frozen=True)
class Command:
    """A command as `peerfront --help` lists it."""

    name: str
    panel: str  # the group of commands it is listed in; empty without groups
    help: str
    parameters: tuple[Parameter, ...]

    @property
    def usage(self) -> str:
        """How it is called: its arguments, and the options it cannot do without."""
        parts = [f"peerfront {self.name}".strip()]
        for parameter in self.parameters:
            if parameter.is_argument:
                parts.append(parameter.shown if parameter.required else f"[{parameter.shown}]")
            elif parameter.required:
                parts.append(f"{parameter.shown} {parameter.value}")
        return " ".join([*parts, "[OPTIONS]"])


def commands() -> list[Command]:
    """Every command of `peerfront`, in the order of `peerfront --help`."""
    from peerfront.cli.main import app

    listed = _commands(app)
    for group in app.registered_groups:
        if group.typer_instance is not None and isinstance(group.rich_help_panel, str):
            within = _commands(group.typer_instance)
            listed += [replace(each, name=f"{group.name} {each.name}", panel=group.rich_help_panel) for each in within]
    panels = list(dict.fromkeys(command.panel for command in listed))
    return sorted(listed, key=lambda command: panels.index(command.panel))


def _commands(app: typer.Typer) -> list[Command]:
    return [
        Command(
            name=info.name or info.callback.__name__,
            panel=info.rich_help_panel if isinstance(info.rich_help_panel, str) else "",
            help=inspect.cleandoc((info.help if isinstance(info.help, str) else None) or info.callback.__doc__ or ""),
            parameters=parameters(info.callback),
        )
        for info in app.registered_commands
        if info.callback is not None and not info.hidden
    ]


def parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """What Typer makes of a function's arguments; its own context, which some commands take, is none for users."""
    declared = [one for one in get_params_from_function(function).values() if one.annotation is not typer.Context]
    return tuple(_parameter(one.name, one.annotation, one.default) for one in declared if not one.default.hidden)


def _parameter(name: str, kind: Any, info: ArgumentInfo | OptionInfo) -> Parameter:
    kinds, default = _parts(kind), info.default
    required = default is ...
    if isinstance(info, ArgumentInfo):
        shown, value = info.metavar or name.upper(), ""
    elif bool in kinds:
        dashed = name.replace("_", "-")
        shown, value = ", ".join(info.param_decls or (f"--{dashed}", f"--no-{dashed}")), ""
    else:
        shown = ", ".join(info.param_decls or (f"--{name.replace('_', '-')}",))
        value = info.metavar or next(word for word_kind, word in VALUES.items() if word_kind in kinds)
    if isinstance(info.show_default, str):
        said = info.show_default
    elif required:
        said = "required"
    else:
        said = (
            ""
            if default is None or bool in kinds
            else f"`{default:g}`"
            if isinstance(default, float)
            else f"`{default}`"
        )
    return Parameter(shown, value, info.help or "", said, isinstance(info, ArgumentInfo), required)


def _parts(kind: Any) -> set[Any]:
    """The types that a type is made of: `list[str] | None` is made of str and None."""
    return set().union(*(_parts(part) for part in get_args(kind))) if get_args(kind) else {kind}


VALUES = {Path: "PATH", float: "NUMBER", int: "N", str: "TEXT"}


def commands_page() -> str:
    """The reference of all commands, as `--help` knows them."""
    lines = [COMMANDS_TEXT, ""]
    panel = ""
    for command in commands():
        if command.panel != panel:
            panel = command.panel
            lines += [f"## {panel}", ""]
        lines += [
            f"{'###' if panel else '##'} peerfront {command.name} {{ #{command.name.replace(' ', '-')} }}",
            "",
            _plain(command.help),
            "",
        ]
        lines += ["```text", command.usage, "```", ""]
        lines += _table("argument", [parameter for parameter in command.parameters if parameter.is_argument])
        lines += _table("option", [parameter for parameter in command.parameters if not parameter.is_argument])
    return "\n".join(lines)


COMMANDS_TEXT = """# Commands

What each command does, and every option it takes. This page is made from the commands themselves and says what
`peerfront COMMAND --help` says.

A command ends with status 0; with status 2 and one message if something has to be repaired; with 130 after Ctrl-C.
`peerfront --version` shows the version. Files that exist are never replaced without `--overwrite`."""


def _table(kind: str, rows: list[Parameter]) -> list[str]:
    lines = [f"| {kind} | what it is | default |", "| --- | --- | --- |"]
    for row in rows:
        name = f"{row.shown} {row.value}".strip()
        lines.append(f"| `{name}` | {_plain(row.help)} | {row.default} |")
    return [*lines, ""] if rows else []


def _plain(text: str) -> str:
    """Help texts are plain text: backticks are the only markup in them."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("\b", "")


# The library.


def exported() -> list[str]:
    """The names of the front door."""
    import peerfront

    return [name for name in getattr(peerfront, "__all__", ()) if not name.startswith("__")]


def library_page() -> str:
    """The front door: every name that `import peerfront` gives."""
    import peerfront

    lines = [LIBRARY_TEXT, ""]
    functions = [name for name in exported() if not inspect.isclass(getattr(peerfront, name))]
    classes = [name for name in exported() if name not in functions]
    for title, names in (("Functions", functions), ("Classes", classes)):
        lines += [f"## {title}", "", " · ".join(f"[{name}](#peerfront.{name})" for name in names), ""]
        for name in names:
            thing = getattr(peerfront, name)
            lines += [f"[](){{ #peerfront.{name} }}", "", f"::: {thing.__module__}.{thing.__qualname__}"]
            options = (f"heading: {name}", f"toc_label: {name}", "heading_level: 3", "skip_local_inventory: true")
            lines += ["    options:", *(f"      {option}" for option in options), ""]
    return "\n".join(lines)


LIBRARY_TEXT = """# The library

What `import peerfront as pf` gives: each name with its arguments and an example that runs. What stands behind them is
on the pages of the rooms, one for each package, module by module."""


def rooms() -> list[str]:
    """The packages of peerfront, then its single modules."""
    packages = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    single = sorted(path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("_"))
    return packages + single


def room_page(room: str) -> str:
    return f"reference/library/{room}.md"


def room_text(room: str) -> str:
    """All modules of a room, each from its docstrings."""
    path = PACKAGE / room
    modules = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    names = [_dotted(module) for module in modules if module.name != "__init__.py" and not module.stem.startswith("_")]
    lines = [f"# peerfront.{room}", ""]
    if path.is_dir():
        lines += [ast.get_docstring(ast.parse((path / "__init__.py").read_text())) or "", ""]
    for name in names:
        lines += [f"::: {name}", ""]
    return "\n".join(lines)


def _dotted(module: Path) -> str:
    return ".".join(module.relative_to(PACKAGE.parent).with_suffix("").parts)
