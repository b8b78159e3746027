"""`peerfront`: the commands, and the one place where errors become messages and exit codes."""

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from peerfront import __version__
from peerfront.cli.app import app_command
from peerfront.cli.backtest_command import backtest_command
from peerfront.cli.check import check_command
from peerfront.cli.compare import compare_command
from peerfront.cli.convert import convert_command
from peerfront.cli.design_command import design_command
from peerfront.cli.endings import Shown, ended_by_signals
from peerfront.cli.estimate import estimate_command
from peerfront.cli.example import example_command
from peerfront.cli.fit import fit_command
from peerfront.cli.forecast_command import forecast_command
from peerfront.cli.languages import language_asked_for, translated, usage_fault
from peerfront.cli.live import live_app
from peerfront.cli.plan import plan_command
from peerfront.cli.report_command import report_command
from peerfront.cli.reproduce import reproduce_command
from peerfront.cli.screen import show
from peerfront.cli.week_command import week_command
from peerfront.cli.worlds import policies_command, simulate_command, worlds_command
from peerfront.foundation.errors import PeerfrontError
from peerfront.foundation.shown import lose_nothing, visible_message
from peerfront.words.language import Medium, catalogue, say, speaking

BAD_INPUT = 2

app = typer.Typer(
    name="peerfront",
    help="Decide who gets how many referral coupons, this round and the next.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# In the order of use. Modules of commands import what takes long to load only when the command runs.
GROUPS: dict[str, dict[str, Callable[..., None]]] = {
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
    with ended_by_signals(), Shown() as shown:
        try:
            with speaking(catalogue(language_asked_for(sys.argv), Medium.TERMINAL)):
                _run()
        except PeerfrontError as problem:  # an unknown language
            _say(str(problem))
            sys.exit(BAD_INPUT)
        finally:
            if fault := shown.fault():
                _say(str(say("What was to be shown could not be written ({fault}). Free some space.", fault=fault)))
                sys.exit(BAD_INPUT)


READ_BY_CHECK = ("map", "format", "sheet", "preset", "missing", "coupons_each", "still_open")
KEPT_BY_CHECK = say(
    "How a file is read is said once: run `peerfront check FILE` with such settings and `--out FOLDER`; other commands "
    "then read the file as it says with `--schema FOLDER/schema.toml`."
)


def _run() -> None:
    try:
        sys.exit(translated(typer.main.get_command(app)).main(standalone_mode=False))
    except PeerfrontError as problem:
        _say(str(problem))
        if "check" not in sys.argv and any(remedy.setting in READ_BY_CHECK for remedy in problem.remedies):
            show(KEPT_BY_CHECK, err=True)
        sys.exit(BAD_INPUT)
    except MemoryError as problem:
        memory = say(
            "There is not enough memory for this ({problem}). Use fewer people, coupons, rounds or episodes, a file "
            "with fewer columns, or a larger computer.",
            problem=str(problem) or "MemoryError",
        )
        _say(str(memory))
        sys.exit(BAD_INPUT)
    except Exception as problem:
        if not hasattr(problem, "format_message"):  # nothing that Typer says about a command line
            raise
        _say(str(usage_fault(problem)))
        sys.exit(BAD_INPUT)


def _say(problem: str) -> None:
    typer.secho(f"{say('Error:')} ", fg="red", bold=True, nl=False, err=True)
    typer.echo(visible_message(problem), err=True)
