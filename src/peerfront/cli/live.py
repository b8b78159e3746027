"""A study in a browser: `peerfront app` for one person's files, `peerfront live` for several people."""

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import Annotated, TypeVar

import typer

from peerfront.cli import live_records
from peerfront.cli.doctor import drill_command, live_doctor_command
from peerfront.cli.live_records import FOLDER, live_command, opened
from peerfront.cli.options import number, text
from peerfront.cli.screen import show, tell
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.foundation.messages import Remedy, note
from peerfront.words.language import PAGE_LANGUAGES, Text, say

T = TypeVar("T", int, str)
PORT = Annotated[int, number("The port on which the server listens.")]

live_app = typer.Typer(
    help="Run a study in a browser: begin, serve, import, export, back up, restore, verify, look after.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def app_command(
    folder: Annotated[
        Path, typer.Argument(help="Folder of the study; made if there is none. Next week the same folder goes on.")
    ] = Path("peerfront-study"),
    port: Annotated[
        int, typer.Option(metavar="N", help="Port on this computer; otherwise a free one.", min=0, max=65_535)
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Show the link, and open nothing.")] = False,
) -> None:
    """Open a study in the browser: its file, what is wrong with it, fit, coupon sheet, forecast, estimates, report.

    The pages are served to this computer only, to whoever has the link, and nothing leaves it. Everything is kept in
    FOLDER, and every step shows the command that does the same in a terminal. Stop it with Ctrl-C.
    """
    from peerfront.web.app.app_server import serve

    serve(folder, port, show, open_browser=not no_browser)


def init_command(
    folder: Annotated[Path, typer.Argument(help="A folder for the study; it is made.")],
    name: Annotated[str | None, typer.Option(help="What pages call the study.")] = None,
    budget: Annotated[int | None, number("Coupons for the whole study.")] = None,
    cap: Annotated[int | None, number("Most coupons for one person.")] = None,
    at_least_one: Annotated[
        bool | None,
        typer.Option(
            "--at-least-one/--no-at-least-one",
            help="Whether plans give everybody at least one coupon, while coupons last.",
        ),
    ] = None,
    site: Annotated[list[str] | None, text("SHORT=NAME", "A site, such as north='North clinic'; repeatable.")] = None,
    timezone: Annotated[str, typer.Option(help="Days on coupons are days here, such as Europe/Lisbon.")] = "UTC",
    valid_days: Annotated[int, number("Days on which a coupon is valid.")] = 28,
    active_after_days: Annotated[int, number("Days from issue to the first day on which a coupon is valid.")] = 0,
    currency: Annotated[str, typer.Option(help="Of payments, such as EUR.")] = "EUR",
    interview_payment: Annotated[int, number("For an interview, in cents or whatever the smallest unit is.")] = 0,
    recruiting_payment: Annotated[int, number("For each recruit, in the smallest unit, too.")] = 0,
    manager: Annotated[str, typer.Option(help="Name with which the manager logs in.")] = "manager",
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="Name or address by which browsers reach the server, such as study.example.org; repeatable. This "
            "computer always works."
        ),
    ] = None,
    tls: Annotated[
        bool, typer.Option("--tls", help="A proxy in front speaks HTTPS; see the how-to of a site server.")
    ] = False,
    language: Annotated[str, typer.Option(help="Of pages, until somebody chooses another: en, es or ar.")] = "en",
) -> None:
    """Begin a study: make its folder and database, and print a one-time link for its manager.

    What is not given as an option and has no default is asked for. Everything can be changed later on the settings
    page. There is no default password: the manager follows the link and chooses one.
    """
    from peerfront.web.live.folder import HOST_FORM, LiveFolder, Serving, is_host
    from peerfront.web.live.operations.opening import new_folder
    from peerfront.web.live.rules.study_settings import Settings

    if language not in PAGE_LANGUAGES:
        raise UnknownName(note("live_command.language"), language, PAGE_LANGUAGES)
    sites = dict(each.partition("=")[::2] for each in site or ())
    if any(not short or not long for short, long in sites.items()):
        raise SettingError("live_command.site", remedy=Remedy("site", "north=North clinic"))
    if wrong := [each for each in host or () if not is_host(each)]:
        raise SettingError("live_command.host", remedy=Remedy("host", wrong[0]), form=HOST_FORM)
    study = LiveFolder(folder.resolve())
    study.check_new()
    settings = Settings(
        budget=_asked(say("Coupons for the whole study"), budget, "budget", int),
        cap=_asked(say("Most coupons for one person"), cap, "cap", int),
        name=_asked(say("Name of the study"), name, "name", str),
        active_after_days=active_after_days,
        valid_days=valid_days,
        interview_payment=interview_payment,
        recruiting_payment=recruiting_payment,
        currency=currency,
        timezone=timezone,
        at_least_one=_one_each(at_least_one),
    )
    hosts = (*(host or ()), "127.0.0.1", "localhost")
    with new_folder(study, Serving(tuple(dict.fromkeys(hosts)), tls, language)):
        from peerfront.web.live.operations.staff import begin_with_manager, new_link

        link = new_link(begin_with_manager(settings, sites, manager), study.serving.address())
    tell("{name} begins in {path}.", name=settings.name, path=study.path)
    show("")
    tell("Start the server:  {command}", command=f"peerfront live serve {quote(str(folder))}")
    days = link.valid.days
    tell("Then follow this link, once and within {days} days, to choose the manager's password:", days=days)
    show(f"\n  {link.address}\n")
    _show_other_port(tls)
    if settings.at_least_one is None:
        tell("To decide on the settings page: shall everybody get at least one coupon? Each plan shows the price.")
    tell(
        "Keep a copy of {path} in a safe place: no back-up holds it, and without it contact details cannot be read.",
        path=study.path / "keys.json",
    )


def _show_other_port(tls: bool) -> None:
    if not tls:
        tell("If you serve the study with another --port, write it in place of 8000.")
        show("")


def _asked(what: Text, given: T | None, option: str, kind: type[T]) -> T:
    """An answer that was given as an option, or is typed now."""
    if given is not None:
        return given
    if not sys.stdin.isatty():
        raise SettingError("live_command.missing", remedy=Remedy(option))
    return kind(typer.prompt(str(what), type=kind))


def _one_each(given: bool | None) -> bool | None:
    """Whether everybody gets at least one coupon: asked once, where somebody can answer; else plans ask."""
    if given is not None or not sys.stdin.isatty():
        return given
    return typer.confirm(str(say("Shall everybody get at least one coupon, while coupons last?")), default=None)


def link_command(folder: FOLDER, user: Annotated[str, typer.Argument(help="Name with which they log in.")]) -> None:
    """Print a new one-time link for somebody who forgot the password; the old one works no more."""
    study = opened(folder)
    from peerfront.web.live.operations.staff import ask_here, member_note, named_user, new_link

    person = named_user(user)
    ask_here(member_note("new link", person))
    link = new_link(person, study.serving.address())
    days = link.valid.days
    tell("This link lets {user} choose a password, once and within {days} days:", user=user, days=days)
    show(f"\n  {link.address}\n")
    _show_other_port(study.serving.tls)


def serve_command(
    folder: FOLDER,
    host: Annotated[
        str, typer.Option(help="Address on which the server listens; 0.0.0.0 for all of this computer.")
    ] = "127.0.0.1",
    port: PORT = 8000,
    threads: Annotated[int, number("Requests that are answered at the same time.")] = 8,
    proxy: Annotated[
        str, typer.Option(help="Address of the proxy that speaks HTTPS, if the study has one (--tls of init).")
    ] = "127.0.0.1",
    migrate: Annotated[
        bool,
        typer.Option(
            "--migrate", help="Bring the tables up to date first, after an upgrade of peerfront and a back-up."
        ),
    ] = False,
) -> None:
    """Serve the study to browsers, until Ctrl-C or SIGTERM; requests that have begun are answered."""
    from peerfront.web.live.operations import opening

    study = opening.open_folder(folder)
    study.close_to_others()
    if migrate:
        from peerfront.web.live.operations.backups import upgrade

        if (backup := upgrade(study)) is not None:
            tell("Before the tables were changed, a back-up was written to {path}.", path=backup)
    opening.check_migrated()
    from peerfront.web.live.operations.serving import serve

    serve(study, host, port, threads=threads, proxy=proxy, tell=show)


def demo_command(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder that is kept; without one the study ends with the server.")
    ] = None,
    port: PORT = 8000,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the study in this computer's browser.")
    ] = True,
) -> None:
    """Serve a made-up study in its third week, with one user for each role; nobody in it exists.

    Passwords are drawn at random and shown once.
    """
    import shutil
    import tempfile

    from peerfront.web.live.folder import LiveFolder, Serving
    from peerfront.web.live.operations.opening import new_folder
    from peerfront.web.live.operations.serving import listen

    listen("127.0.0.1", port).close()  # a port that is taken is told before the work
    place = folder.resolve() if folder is not None else Path(tempfile.mkdtemp(prefix="peerfront-demo-")) / "study"
    try:
        tell("Making up three weeks of a study ...")
        with new_folder(LiveFolder(place), Serving()):
            from peerfront.web.live.operations.demo import make_demo

            logins = make_demo()
        tell("Log in as one of these (the passwords were drawn for you and are shown only now):")
        width = max(len(each.member.name) for each in logins)
        for each in logins:
            show(f"  {each.member.name:<{width}}  {each.password}")
        from peerfront.web.live.operations.serving import serve
        from peerfront.web.live.planning.planning_jobs import ask_for_plan, stop

        job = ask_for_plan("coordinator")
        tell("A plan is being made in the background; in about a minute the coordinator can look at it.")
        try:
            serve(LiveFolder(place), "127.0.0.1", port, tell=show, browser=browser)
        finally:
            stop(job)
    finally:
        if folder is None:
            shutil.rmtree(place.parent, ignore_errors=True)


def clock_command(
    folder: FOLDER,
    accept: Annotated[
        str | None, text("WHY", "Go on by this clock, for this reason, which the audit keeps; compare it first.")
    ] = None,
) -> None:
    """Show what the server's clock says and what it should say; --accept goes on by it after a jump."""
    opened(folder)
    from peerfront.web.live.operations.staff import ask_here
    from peerfront.web.live.records.database import DatabaseRecords
    from peerfront.web.live.records.recording import clock_state
    from peerfront.web.live.rules.requests import AcceptClock

    if DatabaseRecords().study() is None:
        raise SettingError("live_import.not_begun")
    state = clock_state()
    tell("The clock says {now}; the last record is of {last}.", now=_second(state.now), last=_second(state.last_time))
    if accept is not None:
        ask_here(AcceptClock(accept))
        tell("What comes is recorded by this clock.")
    elif state.fault is not None:
        show("")
        for each in state.fault.messages:
            show(each)
        tell("From here: peerfront live clock FOLDER --accept WHY")
        raise typer.Exit(1)


def _second(at: datetime) -> str:
    return at.isoformat(sep=" ", timespec="seconds")


COMMANDS: dict[str, Callable[..., object]] = {
    "init": init_command,
    "serve": serve_command,
    "link": link_command,
    "import": live_records.import_command,
    "export": live_records.export_command,
    "backup": live_records.backup_command,
    "restore": live_records.restore_command,
    "verify": live_records.verify_command,
    "drill": drill_command,
    "doctor": live_doctor_command,
    "clock": clock_command,
    "demo": demo_command,
}
for name, command in COMMANDS.items():
    live_app.command(name)(live_command(command))
live_app.command("check", hidden=True)(live_command(live_doctor_command))  # its name until 0.3
