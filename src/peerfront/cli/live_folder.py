"""What the commands of `peerfront live` share: the study's folder, opened."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from peerfront.live.folder import LiveFolder

FOLDER = Annotated[Path, typer.Argument(help="The study's folder: its keys, its database (SQLite), its back-ups.")]


def opened(folder: Path) -> "LiveFolder":
    """Open a study whose tables are up to date."""
    needs_extra()
    from peerfront.live.operations.opening import check_migrated, open_folder

    study = open_folder(folder)
    check_migrated()
    return study


def needs_extra() -> None:
    """Say how to install what a live study needs and files do not."""
    from importlib.util import find_spec

    from peerfront.foundation.errors import MissingExtra

    if any(find_spec(name) is None for name in ("django", "waitress", "cryptography", "axes", "csp", "whitenoise")):
        raise MissingExtra("peerfront live", "live")
