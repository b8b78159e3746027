"""Import a study that began in a spreadsheet, and export this one; both are noted in the chain of events."""

import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Protocol

from peerfront.data.study import Study
from peerfront.foundation.errors import SettingError
from peerfront.foundation.files import write_bytes
from peerfront.foundation.messages import Message, note
from peerfront.web.live.exporting import write_study
from peerfront.web.live.operations.imported_people import FromFile, Place, people_of
from peerfront.web.live.operations.staff import accepted, answer_here, ask_here
from peerfront.web.live.records import models
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.rules.actions import Action, Role
from peerfront.web.live.rules.deciding import Accepted, Answer
from peerfront.web.live.rules.events import ActionNoted
from peerfront.web.live.rules.requests import ChangeSettings, ImportPeople, NoteAction, Wish


@dataclass(frozen=True)
class Imported:
    """The result of an import: what was done, or why nothing was."""

    answer: Answer
    file: FromFile
    new_questions: int = 0

    @property
    def counts(self) -> tuple[int, int]:
        """People who were imported, and people who were there before."""
        fact = self.answer.events[0].fact
        assert isinstance(fact, ActionNoted)
        counts = dict(fact.details)
        return int(counts["imported"]), int(counts["there_before"])


def file_for_study(study: Study, site: str | None) -> FromFile:
    """Convert a file for import into the study of this database."""
    row = DatabaseRecords().study()
    if row is None:
        raise SettingError("live_import.not_begun")
    sites = dict(models.Site.objects.values_list("site", "name"))
    if not sites:
        raise SettingError("live_import.no_site_yet")
    if site is not None and site not in sites:
        raise SettingError("live_import.unknown_site", site=site, sites=sorted(sites))
    began: datetime = models.Event.objects.order_by("number").values_list("at", flat=True)[0]
    return people_of(study, Place(row.settings, sites, site, began))


class Ask(Protocol):
    """Submits a wish to the rules; `ending` makes the request keys of several wishes differ."""

    def __call__(
        self, wish: Wish, *, ending: str = "", alongside: Callable[[Accepted], None] | None = None
    ) -> Answer: ...


def import_study(study: Study, source: str, site: str | None, ask: Ask) -> Imported:
    """Import a file, and make questions from its columns if the study has none, in one transaction."""
    file = file_for_study(study, site)
    new_questions = 0

    def make_questions(_: Accepted) -> None:
        nonlocal new_questions
        row = DatabaseRecords().study()
        assert row is not None, "people were imported into it"
        if row.settings.questions or not file.questions:
            return
        why = str(note("live_import.why_questions", file=source[:100]))
        wish = ChangeSettings(replace(row.settings, questions=file.questions), why)
        changed = ask(wish, ending="-questions")
        if not isinstance(changed, Accepted):
            raise SettingError("live_import.no_questions", problem=changed.refusal.messages[0])
        new_questions = len(file.questions)

    answered = ask(ImportPeople(file.people, source[:100]), alongside=make_questions)
    return Imported(answered, file, new_questions)


def import_here(study: Study, source: str, site: str | None) -> list[Message]:
    """Import from the command line; return messages for the user."""

    def ask(wish: Wish, *, ending: str = "", alongside: Callable[[Accepted], None] | None = None) -> Answer:
        return answer_here(wish, alongside=alongside)  # each wish gets a request key of its own

    done = import_study(study, source, site, ask)
    accepted(done.answer)
    imported, there = done.counts
    notes = [note("live_import.imported", imported=imported, there=there), *done.file.notes]
    if done.new_questions:
        notes.append(note("live_import.new_questions", number=done.new_questions))
    return notes


def export_zip() -> bytes:
    """The study's files as one zip file."""
    content = BytesIO()
    with tempfile.TemporaryDirectory(prefix="peerfront-export-") as folder:
        files = write_study(Path(folder))
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files.all:
                archive.write(path, path.name)
    return content.getvalue()


def export_here(out: Path) -> Message:
    """Export from the command line into a zip file or a folder; return messages for the user."""
    if out.suffix.lower() == ".zip":
        content = export_zip()
        _note(out.name)
        write_bytes(out, content, private=True)
        return note("live_export.zipped", path=out)
    files = write_study(out)
    _note(out.name)
    return note("live_export.written", path=out, study=files.study, schema=files.schema)


def export_note(name: str) -> NoteAction:
    """The note of an export."""
    return NoteAction(Action.EXPORT, name[:100])


def _note(name: str) -> None:
    ask_here(export_note(name), role=Role.ANALYST)
