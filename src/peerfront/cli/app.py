"""`peerfront app`: everything for one study's files in a browser, on this computer only."""

from pathlib import Path
from typing import Annotated

import typer

from peerfront.cli.screen import show


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
