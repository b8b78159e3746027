"""`peerfront`: the commands, the language they speak, and the one place where errors become messages and exit codes."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType
from typing import Annotated, Any

import typer

from peerfront import __version__
from peerfront.cli.check import check_command, convert_command, example_command
from peerfront.cli.doctor import doctor_command
from peerfront.cli.estimate import design_command, estimate_command
from peerfront.cli.forecast_command import backtest_command, forecast_command, report_command
from peerfront.cli.json_output import error_document, json_asked_for, nothing_printed, result_document
from peerfront.cli.live import app_command, live_app
from peerfront.cli.plan import fit_command, plan_command
from peerfront.cli.research import (
    compare_command,
    policies_command,
    reproduce_command,
    simulate_command,
    worlds_command,
)
from peerfront.cli.screen import Shown, show
from peerfront.cli.week_command import week_command
from peerfront.foundation.errors import PeerfrontError, UnknownName
from peerfront.foundation.messages import Remedy
from peerfront.foundation.shown import lose_nothing, visible_message
from peerfront.words.language import (
    LANGUAGES,
    SPEAKER,
    Medium,
    Text,
    Typed,
    catalogue,
    joined,
    language_of_the_user,
    say,
    speaker,
    speaking,
)

BAD_INPUT = 2
_LANGUAGE = "--language"
_SIGNALS = ("SIGTERM", "SIGHUP")  # SIGHUP is unknown to Windows

app = typer.Typer(
    name="peerfront",
    help="Decide who gets how many referral coupons, this round and the next.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# In the order of use. Modules of commands import what takes long to load only when the command runs.
GROUPS: dict[str, dict[str, Callable[..., object]]] = {
    "A study": {
        "app": app_command,
        "check": check_command,
        "week": week_command,
        "fit": fit_command,
        "plan": plan_command,
        "forecast": forecast_command,
        "backtest": backtest_command,
        "report": report_command,
        "estimate": estimate_command,
        "design": design_command,
        "convert": convert_command,
        "example": example_command,
        "doctor": doctor_command,
    },
    "Research": {
        "worlds": worlds_command,
        "policies": policies_command,
        "simulate": simulate_command,
        "compare": compare_command,
        "reproduce": reproduce_command,
    },
}
for group, commands in GROUPS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=group)(command)
app.add_typer(live_app, name="live", rich_help_panel="A study in a browser")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"peerfront {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Language of everything shown: en or es; otherwise that of this computer (LANG).",
            show_default=False,
        ),
    ] = None,  # read by language_asked_for, before anything is said
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print the result as JSON, and errors too, instead of tables and sentences. Stands anywhere.",
        ),
    ] = False,  # read by json_asked_for
) -> None:
    pass


def main() -> None:
    """Run the program. What the user can repair ends with a message and exit code 2, Ctrl-C with exit code 130.

    Other signals that end it (SIGTERM, SIGHUP) do so as Ctrl-C does, with the exit code of the signal: what is finished
    is kept, temporary files are removed and workers ended.
    """
    # The networks are small: several threads for one only get in each other's way. Commands share work among processes.
    # And with one thread a command gives the same answer on every machine.
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
    for stream in (sys.stdout, sys.stderr):
        lose_nothing(stream)
    as_json = json_asked_for(sys.argv)
    with ended_by_signals(), Shown() as shown:
        try:
            with speaking(catalogue(language_asked_for(sys.argv), Medium.TERMINAL)):
                _run(as_json)
        except PeerfrontError as problem:  # an unknown language
            _fail(problem, problem.code, problem.remedies, as_json=as_json)
        finally:
            if fault := shown.fault():
                _say(str(say("What was to be shown could not be written ({fault}). Free some space.", fault=fault)))
                sys.exit(BAD_INPUT)


def typed_command(app: Any, words: list[str]) -> Typed | None:
    """The command that was typed, which settings it takes, and its study's file; None if there is no such command."""
    name, *rest = [word for word in words if word != "--json"] or [""]
    command = app.commands.get(name)
    if command is None or hasattr(command, "commands"):
        return None
    try:
        given = command.make_context(name, list(rest), resilient_parsing=True).params
    except Exception:  # whatever is wrong with the command line, running it says so
        return None
    return Typed((name, *rest), frozenset(given), str(given.get("file") or ""))


READ_BY_CHECK = ("map", "format", "sheet", "preset", "missing", "coupons_each", "still_open", "read_anyway")
KEPT_BY_CHECK = say(
    "How a file is read is said once: run `peerfront check FILE` with such settings and `--out FOLDER`; other commands "
    "then read the file as it says with `--schema FOLDER/schema.toml`."
)


def _run(as_json: bool) -> None:
    """Run the command that was asked for. It returns its result, or after Ctrl-C an exit code."""
    try:
        with nothing_printed() if as_json else contextlib.nullcontext():
            command = translated(typer.main.get_command(app))
            SPEAKER.set(replace(speaker(), typed=typed_command(command, sys.argv[1:])))
            result = command.main(standalone_mode=False)
            if isinstance(result, int):
                sys.exit(result)
        if as_json and result is not None:
            typer.echo(result_document(_command_name(command, sys.argv[1:]), result))
        sys.exit(getattr(result, "exit_code", 0))
    except PeerfrontError as problem:
        told = "check" in sys.argv or problem.message.has_lines
        by_check = not told and any(remedy.setting in READ_BY_CHECK for remedy in problem.remedies)
        more = KEPT_BY_CHECK if by_check else None
        _fail(problem, problem.code, problem.remedies, getattr(problem, "problems", ()), as_json=as_json, more=more)
    except MemoryError as problem:
        memory = say(
            "There is not enough memory for this ({problem}). Use fewer people, coupons, rounds or episodes, a file "
            "with fewer columns, or a larger computer.",
            problem=str(problem) or "MemoryError",
        )
        _fail(memory, "commands.memory", as_json=as_json)
    except OSError as problem:  # a place that cannot be, such as a name too long
        if problem.filename is None:
            raise
        place = say("{path}: {problem}. Check the path.", path=str(problem.filename), problem=problem.strerror)
        _fail(place, "commands.place", as_json=as_json)
    except Exception as problem:
        if not hasattr(problem, "format_message"):  # nothing that Typer says about a command line
            raise
        _fail(usage_fault(problem), "commands.usage", as_json=as_json)


def _command_name(command: Any, words: list[str]) -> str:
    """The command that was run, such as `plan` or `live doctor`."""
    names = []
    for word in words:
        if word in getattr(command, "commands", {}):
            names.append(word)
            command = command.commands[word]
    return " ".join(names)


def _fail(
    problem: object,
    code: str,
    remedies: tuple[Remedy, ...] = (),
    problems: tuple[object, ...] = (),
    *,
    as_json: bool,
    more: Text | None = None,
) -> None:
    """Show an error, and end with the exit code of bad input."""
    if as_json:
        typer.echo(error_document(code, str(problem), remedies, problems, getattr(problem, "results", None)), err=True)
    else:
        _say(str(problem))
        if more is not None:
            show(more, err=True)
    sys.exit(BAD_INPUT)


def _say(problem: str) -> None:
    typer.secho(f"{say('Error:')} ", fg="red", bold=True, nl=False, err=True)
    typer.echo(visible_message(problem), err=True)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let signals raise KeyboardInterrupt; what exits then does so with the signal's exit code. A second one kills."""
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    former = {}
    for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
        with contextlib.suppress(ValueError):  # not in the main thread: signals are somebody else's
            if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP, and so shall we
                former[number] = signal.signal(number, end)
    try:
        yield
    except (SystemExit, KeyboardInterrupt):
        if received:
            sys.exit(128 + received[0])
        raise
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def language_asked_for(arguments: list[str]) -> str:
    """Take `--language CODE` off the command line, wherever it stands; otherwise the language of the computer.

    Behind `live` it stays: there it is the language of a new study.
    """
    for place, word in enumerate(arguments):
        if word in ("live", "--"):
            break
        if word == _LANGUAGE and place + 1 < len(arguments):
            code = arguments[place + 1]
            del arguments[place : place + 2]
        elif word.startswith(f"{_LANGUAGE}="):
            code = word.partition("=")[2]
            del arguments[place]
        else:
            continue
        if code not in LANGUAGES:
            raise UnknownName("language", code, LANGUAGES)
        return code
    return language_of_the_user()


def with_help(command: Any) -> Iterator[Any]:
    """A command of Typer's own copy of Click, its options and the commands below it: those with a help text."""
    yield from (each for each in (command, *command.params) if getattr(each, "help", None))
    for each in getattr(command, "commands", {}).values():
        yield from with_help(each)


def translated(command: Any) -> Any:
    """The same command with all help texts in the language in use."""
    for each in with_help(command):
        each.help = str(say(unfolded(each.help)))
    return command


def unfolded(text: str) -> str:
    """A docstring without the breaks inside its paragraphs, which are where the source file happens to break."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def usage_fault(problem: Any) -> Text:
    """What is wrong with a command line: an error of Typer in the language in use."""
    context, parameter = getattr(problem, "ctx", None), getattr(problem, "param", None)
    name = "/".join(getattr(parameter, "opts", ()))
    match type(problem).__name__:
        case "NoArgsIsHelpError":
            return joined([problem.format_message()])
        case "MissingParameter" if getattr(parameter, "param_type_name", "") == "argument":
            fault = say("Missing argument {name!r}.", name=str(getattr(parameter, "name", "")))
        case "MissingParameter":
            fault = say("Missing option {name!r}.", name=name)
        case "NoSuchOption" if problem.possibilities:
            fault = say(
                "No such option: {name} (did you mean {near}?).", name=problem.option_name, near=problem.possibilities
            )
        case "NoSuchOption":
            fault = say("No such option: {name}.", name=problem.option_name)
        case "BadParameter" if getattr(parameter, "bare_type", None) in (int, float):
            fault = say("Invalid value for {name}: it must be a number, such as 3.", name=name)
        case "BadParameter" if name:
            fault = say("Invalid value for {name}: {problem}", name=name, problem=problem.message)
        case _:
            fault = joined([problem.format_message()])
    hint = say("Help: {command} --help", command=context.command_path) if context is not None else Text("")
    return joined([fault, hint], "\n")
