"""What the commands of `peerfront live` share: the study's folder, opened."""

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from peerfront.web.live.folder import LiveFolder

FOLDER = Annotated[Path, typer.Argument(help="The study's folder: its keys, its database (SQLite), its back-ups.")]


def opened(folder: Path) -> "LiveFolder":
    """Open a study whose tables are up to date."""
    needs_extra()
    from peerfront.web.live.operations.opening import check_migrated, open_folder

    study = open_folder(folder)
    check_migrated()
    return study


def telling_database_faults(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command say in words that its database went away or has no room; its transaction was undone."""

    @wraps(command)
    def told(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except Exception as fault:
            if not _is_of_the_database(fault):
                raise
            from peerfront.foundation.errors import DataFileError

            first_line = (str(fault).strip().splitlines() or [type(fault).__name__])[0]
            raise DataFileError("live_database.failed", problem=first_line) from None

    return told


def _is_of_the_database(fault: Exception) -> bool:
    """Whether the database failed, and not what it was asked for, which would be a defect of the program."""
    database = sys.modules.get("django.db")  # not loaded before a study is opened
    if database is None:
        return False
    return (
        isinstance(fault, database.OperationalError | database.InterfaceError) or type(fault) is database.DatabaseError
    )


def needs_extra() -> None:
    """Say how to install what a live study needs and files do not."""
    from importlib.util import find_spec

    from peerfront.foundation.errors import MissingExtra

    if any(find_spec(name) is None for name in ("django", "waitress", "cryptography", "axes", "csp", "whitenoise")):
        raise MissingExtra("peerfront live", "live")
