"""Export a study as a zip of the files that peerfront's other commands read, and note it in the chain of events."""

import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

from peerfront.foundation.files import write_bytes
from peerfront.web.live.exporting import write_study
from peerfront.web.live.operations.beginning import ask_here
from peerfront.web.live.rules.actions import Action, Role
from peerfront.web.live.rules.requests import NoteAction


def export_zip() -> bytes:
    """The study's files as one zip file."""
    content = BytesIO()
    with tempfile.TemporaryDirectory(prefix="peerfront-export-") as folder:
        files = write_study(Path(folder))
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files.all:
                archive.write(path, path.name)
    return content.getvalue()


def export_here(out: Path) -> str:
    """Export from the command line, into a zip file or a folder; gives what to say."""
    if out.suffix.lower() == ".zip":
        content = export_zip()
        _note(out.name)
        write_bytes(out, content, private=True)
        return f"Exported to {out}. Unpack it, then: peerfront check study.csv --schema schema.toml"
    files = write_study(out)
    _note(out.name)
    return f"Exported to {out}. Next: peerfront check {files.study} --schema {files.schema}"


def export_note(name: str) -> NoteAction:
    """The note of an export."""
    return NoteAction(Action.EXPORT, name[:100])


def _note(name: str) -> None:
    ask_here(export_note(name), role=Role.ANALYST)
