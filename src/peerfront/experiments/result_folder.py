"""The folder in which a comparison is kept.

It holds `settings.json` (what is compared, by which program, from which data), one file per finished task in `parts/`
(the source of everything else, and what resuming builds on), and what is made from them at the end: CSV tables,
Markdown, figures. Files are written to a temporary name and renamed, so the folder never holds half a file. Nothing is
touched before the first result is there: a command that fails early leaves the folder as it was.
"""

import dataclasses
import gzip
import hashlib
import io
import json
import zipfile
import zlib
from contextlib import AbstractContextManager
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from peerfront.experiments.comparison import BOUND, Comparison, Task, TaskResult, file_digests, files_of, tasks
from peerfront.experiments.results import Results
from peerfront.experiments.store import Form, program
from peerfront.foundation.errors import DamagedFile, DataFileError, OutputExists
from peerfront.foundation.files import (
    LARGEST_FILE,
    check_not_read,
    claimed_folder,
    output_path,
    write_bytes,
    write_text,
)
from peerfront.foundation.locks import names_in
from peerfront.foundation.messages import Message, Remedy, note
from peerfront.foundation.own_files import own_bytes, own_json
from peerfront.foundation.stored import Stored
from peerfront.problem import Ending, Trajectories

TABLES = ("episodes.csv", "rounds.csv.gz", "prepared.csv", "summary.csv", "differences.csv")
PARTS = "parts"
BOUNDS, LEARNING = "bounds.csv", "learning.csv"
REPORT, LATEX = "table.md", "table.tex"
FIGURES = "curves-*"


class ResultFolder:
    """Where a comparison is kept: whether work may start or go on there, what is done, and what is added."""

    def __init__(self, path: Path, comparison: Comparison) -> None:
        self.path = output_path(path)
        self.comparison = comparison
        self.settings_file = self.path / "settings.json"
        self.parts = self.path / PARTS
        self._settings = _settings(comparison)

    def claimed(self, *, resume: bool, overwrite: bool) -> AbstractContextManager[None]:
        """Hold the folder while the comparison runs; one that cannot be used is refused at once."""
        return claimed_folder(self.path, lambda: self.check(resume=resume, overwrite=overwrite), (PARTS,))

    def check(self, *, resume: bool, overwrite: bool) -> None:
        """Refuse a folder that cannot hold this comparison, saying why; touches nothing."""
        if self.path.exists() and not self.path.is_dir():
            raise OutputExists("comparison_folder.is_a_file", path=self.path)
        self._refuse_inputs()
        if not names_in(self.path) or (names_in(self.path) == [PARTS] and not names_in(self.parts)):
            return  # a killed run may have come as far as an empty folder of parts
        saved = self._saved_settings()
        if saved is None:
            raise OutputExists("comparison_folder.holds_something_else", path=self.path)
        if not (resume or overwrite):
            raise OutputExists(
                "comparison_folder.has_results",
                path=self.path,
                resume=Remedy("resume", True),
                overwrite=Remedy("overwrite", True),
            )
        if resume:
            self._refuse_differences(saved)

    def _refuse_inputs(self) -> None:
        """Refuse a folder whose files a world is made from: they would be removed or replaced."""
        inputs = [file for world in self.comparison.worlds for file in files_of(self.comparison, world)]
        check_not_read([self.path, *self._own_files()], inputs)

    def _own_files(self) -> list[Path]:
        """Every file of a comparison that may be here, what identifies it last."""
        parts = self.parts.iterdir() if self.parts.is_dir() else ()
        names = (*TABLES, BOUNDS, LEARNING, REPORT, LATEX)
        return [*parts, *(self.path / name for name in names), *self.path.glob(FIGURES), self.settings_file]

    def _saved_settings(self) -> dict[str, Any] | None:
        """The settings of the comparison that is here; None if there is none."""
        try:
            saved: dict[str, Any] = own_json(self.settings_file, {"comparison": {}, "made_by": {}, "files": {}})
        except DamagedFile:
            return None
        return saved

    def _refuse_differences(self, saved: dict[str, Any]) -> None:
        settings = json.loads(json.dumps(self._settings))
        different = [
            change_note(name, saved[part].get(name), value)
            for part in ("comparison", "files", "made_by")
            for name, value in settings[part].items()
            if saved[part].get(name) != value
        ]
        if different:
            raise OutputExists(
                "comparison_folder.changed", path=self.path, changes=different, overwrite=Remedy("overwrite", True)
            )

    def finished(self) -> list[TaskResult]:
        """The tasks already done. A part that cannot be read is as good as none."""
        return [result for task in tasks(self.comparison) if (result := self._load(task)) is not None]

    def begin(self, *, overwrite: bool) -> None:
        """Make the folder ready for the first result."""
        try:
            if overwrite and self.path.exists():
                self._clear()
            self.parts.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DataFileError("result_store.cannot_use", path=self.path, problem=str(problem)) from None
        own = {"own": dict(digests)} if (digests := self.comparison.own_digests()) else {}
        write_text(self.settings_file, json.dumps({**self._settings, **own}, indent=2) + "\n")

    def _clear(self) -> None:
        """Remove what a comparison writes, and nothing else that may lie there; what identifies it is replaced."""
        for file in self._own_files()[:-1]:
            file.unlink(missing_ok=True)

    def save(self, result: TaskResult) -> None:
        """Keep a finished task."""
        arrays: dict[str, Any] = dict(stored_result(result).arrays)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, prepared=np.array(result.prepared), **arrays)
        write_bytes(self._part(result.task), buffer.getvalue())

    def _load(self, task: Task) -> TaskResult | None:
        try:
            with np.load(io.BytesIO(own_bytes(self._part(task), LARGEST_FILE)), allow_pickle=False) as saved:
                arrays = dict(saved)
            settings = {"prepared": [str(text) for text in arrays.pop("prepared")]}
            return restored_result(Stored(settings, arrays, "a part"), task, self.comparison.episodes)
        except (DataFileError, OSError, TypeError, ValueError, KeyError, EOFError, MemoryError, OverflowError):
            return None
        except (NotImplementedError, zipfile.BadZipFile, zlib.error):
            return None

    def _part(self, task: Task) -> Path:
        # The settings are part of the name, so a part of another comparison can never be taken for one of this.
        # So are the digests of one's own policy and world: after a change of theirs, other results stay what they are.
        identity = json.dumps([self._settings, dataclasses.asdict(task), self.comparison.own_digests(task)])
        digest = hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()
        return self.parts / f"{task.policy.partition(':')[0]}-{digest}.npz"


def change_note(name: str, there: object, now: object) -> Message:
    """A setting that differs between a folder and what is asked now."""
    return note("comparison_folder.change", name=name, there=str(there), now=str(now))


def _settings(comparison: Comparison) -> dict[str, Any]:
    """What results depend on: what is compared, the contents of data files, and the program itself."""
    digests = [file_digests(comparison, world) for world in comparison.worlds]
    files = {file: contents for each in digests for file, contents in each.items()}
    return {"comparison": comparison.as_json(), "files": files, "made_by": dict(program())}


def write_outputs(results: Results, folder: Path, against: str | None = None) -> None:
    """Tidy CSV tables; `words`, which is above this room, adds a Markdown report and the curves of each world."""
    tables = (results.episodes, results.rounds(), results.prepared(), results.table, results.differences)
    for name, table in zip(TABLES, tables, strict=True):
        content = table.to_csv(index=False).encode()
        # No time stamp inside: same results, same bytes.
        write_bytes(folder / name, gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    if results.bounds is not None:
        write_text(folder / BOUNDS, results.bounds.to_csv(index=False))
    if len(learning := results.learning()):
        write_text(folder / LEARNING, learning.to_csv(index=False))
    import_module("peerfront.words.comparison_words").write_report(results, folder, against)


# Results of tasks as data ---------------------------------------------------------------------------------------


def stored_result(result: TaskResult) -> Stored:
    """Everything but the task itself, which whoever asks for the result knows."""
    arrays = {
        f"{field.name}_{number}": getattr(played, field.name)
        for number, played in enumerate(result.trajectories)
        for field in fields(played)
    }
    arrays |= {f"bound_{number}": bounds for number, bounds in enumerate(result.bounds)}
    arrays |= {f"learning_{n}": returns for n, returns in enumerate(result.learning) if returns is not None}
    return Stored({"prepared": list(result.prepared)}, arrays)


def restored_result(stored: Stored, task: Task, episodes: int) -> TaskResult:
    """The result `stored_result` wrote: of this task, with this number of episodes."""
    prepared = stored.texts("prepared")
    if len(prepared) not in (1, len(task.discounts)):
        raise ValueError(f"{len(prepared)} policies were prepared for {len(task.discounts)} discounts")
    numbers = range(len(prepared))
    if task.policy == BOUND:
        bounds = tuple(stored.array(f"bound_{n}", (episodes,), finite=False) for n in numbers)
        return TaskResult(task, prepared, (), bounds)
    played = tuple(_trajectories(stored, n, episodes) for n in numbers)
    learning = [f"learning_{n}" for n in numbers]
    returns = (stored.array(name, (None,), finite=False) if name in stored.arrays else None for name in learning)
    return TaskResult(task, prepared, played, learning=tuple(returns))


def _trajectories(stored: Stored, number: int, episodes: int) -> Trajectories:
    rounds = stored.array(f"rounds_{number}", (episodes,), np.int64)
    ending = stored.array(f"ending_{number}", (episodes,), np.int64)
    last = int(rounds.max(initial=0))
    by_round = [
        stored.array(f"{name}_{number}", (episodes, last), np.int32) for name in ("recruits", "spend", "frontier")
    ]
    if any((counts < 0).any() for counts in (rounds, *by_round)) or not np.isin(ending, list(Ending)).all():
        raise ValueError("a number of people, coupons or rounds is impossible")
    recruits, spend, frontier = by_round
    return Trajectories(recruits, spend, frontier, rounds, ending)


def form_with_cost(task: Task | None, episodes: int) -> Form[tuple[TaskResult | None, float, int]]:
    """How the result of a task, or the mere fact that it was done (no task), is kept with its seconds and memory."""

    def stored_piece(piece: tuple[TaskResult | None, float, int]) -> Stored:
        result, seconds, peak = piece
        settings = {"seconds": seconds, "peak_memory": peak}
        return Stored(settings, {}) if result is None else Stored.of_parts(settings, result=stored_result(result))

    def restored_piece(stored: Stored) -> tuple[TaskResult | None, float, int]:
        result = None if task is None else restored_result(stored.part("result"), task, episodes)
        return result, stored.setting("seconds", float), stored.setting("peak_memory", int)

    return Form(stored_piece, restored_piece)
