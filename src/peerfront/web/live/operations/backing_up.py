"""Make a back-up and note it in the chain of events, so that the back-up holds its own note."""

from pathlib import Path

from peerfront.web.live.folder import LiveFolder
from peerfront.web.live.operations.backups import check_place, new_name, write_backup
from peerfront.web.live.operations.beginning import ask_here
from peerfront.web.live.records import models
from peerfront.web.live.rules.actions import Action
from peerfront.web.live.rules.requests import NoteAction


def backup_note(name: str) -> NoteAction:
    """The note of a back-up: its name, and the hash up to which events could be compared with it later."""
    last = models.Event.objects.order_by("-number").values_list("number", "hash").first()
    details = () if last is None else (("events", str(last[0])), ("head", last[1]))
    return NoteAction(Action.BACK_UP, name[:100], details)


def back_up_here(folder: LiveFolder, out: Path | None) -> Path:
    """Make a back-up from the command line."""
    path = out if out is not None else folder.backups / new_name(folder)
    check_place(path)  # before it is noted
    ask_here(backup_note(path.name))
    return write_backup(folder, path)
