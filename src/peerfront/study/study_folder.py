"""The folder of a running study: a log of everything that was decided, and a folder of results for every week.

    harbour/
      log.jsonl                 every week, decision, hand-out and undo: only ever added to (`foundation.chained_log`)
      schema.toml               how the study's file is read; edit it
      week-01_2026-03-02/       results of the week: sheet, forecast, summary, people in the file, model if refitted,
                                changes of a mended copy
      week-02_2026-03-09/

Nothing in it is ever overwritten or removed. Undoing a week adds a line to the log; its folder stays, and the next
attempt gets a folder of its own.

A chain of hashes does not show that its last lines were cut off. So a week's line says how many decisions follow it,
and every folder keeps the log's last hash after its week or its undo (`LOGGED`, `UNDONE`): a log without this hash has
lost lines, and is refused. Nor does it show that somebody made the whole chain anew. So every line must follow from
those before it (`log_lines`), and a week's line holds the checksums of its people, of the schema and of the model.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from peerfront.data.mending import original_stem
from peerfront.foundation.chained_log import ChainedLog
from peerfront.foundation.errors import DamagedFile, DataFileError, SettingError
from peerfront.foundation.files import LARGEST_FILE, write_bytes
from peerfront.foundation.locks import temporary_folder
from peerfront.foundation.messages import Message, note
from peerfront.foundation.own_files import own_bytes, sha256_of
from peerfront.study.log_lines import DECISION, GIVEN, MODEL, PEOPLE, SCHEMA, UNDO, WEEK, LogLines, Week

LOG, CHANGES = "log.jsonl", "changes.csv"
UNDONE, LOGGED = "UNDONE.txt", "logged.txt"
_LONGEST_NOTE = 10_000  # bytes of such a file


def folder_beside(file: Path) -> Path:
    """The usual folder of a study's file, the same for its mended copies."""
    return file.with_name(f"{original_stem(file)}-study")


def study_of(model: Path) -> Path:
    """The folder of the study in one of whose weeks a model was fitted."""
    return model.resolve().parent.parent


def logged_checksum(model: Path) -> str:
    """The checksum of a week's model by the log of its study; empty for other models."""
    place = model.resolve()
    if place.name != MODEL or not place.parent.name.startswith("week-") or not (study_of(model) / LOG).exists():
        return ""
    name = f"{place.parent.name}/{MODEL}"
    weeks = StudyFolder(study_of(model)).weeks
    return next((str(week.facts["model"]) for week in weeks if week.facts["model_folder"] == name), "")


def check_is_folder(path: Path) -> None:
    """Refuse a path that is not a folder."""
    if path.exists() and not path.is_dir():
        raise DataFileError("study_folder.is_a_file", path=path, suggestion=f"{path.stem}-study")


class StudyFolder:
    """A study's folder with its checked log. A folder that does not exist is a study that has not begun."""

    def __init__(self, path: Path) -> None:
        check_is_folder(path)
        self.path = path
        self.log = ChainedLog(path / LOG)
        self.weeks = self._active()

    @property
    def last(self) -> Week | None:
        return self.weeks[-1] if self.weeks else None

    @property
    def schema(self) -> Path | None:
        """The schema file, if there is one."""
        path = self.path / SCHEMA
        return path if path.exists() else None

    def given(self) -> list[Mapping[str, Any]]:
        """Coupons handed out and planned, without undone weeks: week, person, planned, given."""
        kept = {week.number for week in self.weeks}
        latest: dict[tuple[int, str], Mapping[str, Any]] = {}
        for entry in self.log.entries:
            if entry["kind"] == GIVEN and entry["week"] in kept:
                latest[entry["week"], entry["person"]] = entry
        return list(latest.values())

    def decided(self) -> pd.DataFrame:
        """Everybody's last decision: person, coupons (handed out, or else planned), stratum, probability."""
        handed_out = {str(entry["person"]): entry["given"] for entry in self.given() if entry["given"]}
        latest = {str(entry["person"]): entry for week in self.weeks for entry in week.decisions}
        return pd.DataFrame(
            [
                {
                    "person": person,
                    "coupons": handed_out.get(person, entry["planned"]),
                    "stratum": entry.get("stratum") or "",
                    "probability": entry["probability"],
                }
                for person, entry in latest.items()
            ],
            columns=["person", "coupons", "stratum", "probability"],
        )

    def people_of(self, week: Week) -> tuple[Path, bytes]:
        """The file with a week's people, as it was written."""
        path = self.path / week.folder / PEOPLE
        return path, own_bytes(path, LARGEST_FILE, week.facts.get("sha256", {}).get(PEOPLE, ""))

    def has_other_schema(self, week: Week) -> bool:
        """Whether somebody edited the schema file since a week; not known in weeks of earlier versions."""
        written = week.facts.get("sha256", {}).get(SCHEMA)
        return written is not None and self.schema is not None and sha256_of(own_bytes(self.schema)) != written

    def model_of(self, week: Week) -> Path:
        """The folder of the model that a week was planned with."""
        return self.path / str(week.facts["model_folder"])

    def free_name(self, number: int, day: str) -> str:
        """A name for the folder of a new week that no other week has, not even an undone one."""
        name = plain = f"week-{number:02d}_{day}"
        attempt = 1
        while (self.path / name).exists():
            attempt += 1
            name = f"{plain}_{attempt}"
        return name

    def add_week(
        self,
        name: str,
        files: Mapping[str, bytes],
        facts: Mapping[str, Any],
        decisions: Sequence[Mapping[str, Any]],
        given: Sequence[Mapping[str, Any]],
    ) -> None:
        """Write a week's folder as a whole, then its lines of the log. A run that is killed in between leaves a folder
        that no line names, and that is never read."""
        sha256 = {PEOPLE: sha256_of(files[PEOPLE]), SCHEMA: sha256_of(own_bytes(self.path / SCHEMA))}
        lines = [
            *({"kind": GIVEN, **entry} for entry in given),
            {"kind": WEEK, "folder": name, **facts, "decided": len(decisions), "sha256": sha256},
            *({"kind": DECISION, "week": facts["number"], **entry} for entry in decisions),
        ]
        self._weeks_in([*self.log.entries, *lines])  # refuses what could not be read again
        with_folders = temporary_folder(self.path)
        for file, content in files.items():
            place = with_folders / file
            place.parent.mkdir(exist_ok=True)
            write_bytes(place, content, private=True)
        try:
            with_folders.rename(self.path / name)
        except OSError as problem:
            raise DataFileError("study_folder.not_written", path=self.path / name, why=str(problem)) from None
        self.log.append(lines)
        self._note_hash(name, LOGGED)
        self.weeks = self._active()

    def undo(self) -> Week:
        """Take back the last week: its plan no longer counts, but its folder and its lines of the log stay."""
        week = self.last
        if week is None:
            raise SettingError("study_folder.nothing_to_undo", path=self.path)
        self.log.append([{"kind": UNDO, "week": week.number, "folder": week.folder}])
        self._note_hash(week.folder, UNDONE)
        self.weeks = self._active()
        return week

    def _note_hash(self, folder: str, name: str) -> None:
        """Keep the log's last hash in a week's folder, so that lines cut off later are noticed."""
        write_bytes(self.path / folder / name, f"{self.log.head}\n".encode(), private=True)

    def _check_end(self) -> None:
        """Refuse a log that lacks the last hash that a week's folder keeps."""
        hashes = set(self.log.hashes)
        for name in (LOGGED, UNDONE):
            for note_file in sorted(self.path.glob(f"week-*/{name}")):
                # Version 0.3 wrote a sentence before the hash.
                last = own_bytes(note_file, _LONGEST_NOTE).decode("utf-8", "replace").split()[-1]
                if last not in hashes:
                    values = {"folder": note_file.parent.name, "hash": last[:16]}
                    if name == UNDONE:
                        raise self._cut(note("study_folder.lacks_undo", **values))
                    raise self._cut(note("study_folder.lacks_week", **values))

    def _cut(self, why: Message) -> DataFileError:
        return DataFileError("study_folder.lines_missing", log=self.path / LOG, why=why)

    def _active(self) -> tuple[Week, ...]:
        """The weeks of the log that were not undone."""
        self._check_end()
        weeks = self._weeks_in(self.log.entries)
        for week in weeks:
            there, decided = len(week.decisions), week.facts.get("decided")
            if decided not in (None, there):
                raise self._cut(note("study_folder.lacks_decisions", folder=week.folder, there=there, decided=decided))
            if not (self.path / week.folder).is_dir():
                raise DataFileError("study_folder.lacks_folder", path=self.path, folder=week.folder)
        return weeks

    def _weeks_in(self, entries: Sequence[Mapping[str, Any]]) -> tuple[Week, ...]:
        lines = LogLines()
        for line, entry in enumerate(entries, start=1):
            try:
                lines.add(entry)
            except DamagedFile as problem:
                place = {"log": self.path / LOG, "line": line}
                raise DataFileError("study_folder.impossible", **place, fault=problem.fault) from None
        return lines.weeks
