"""Run a reproduction: fit the models of every draw, then train and test every method, keeping each piece as it is done.

Pieces are found again by what they depend on (`store.py`), so an interrupted run goes on where it was, a second run
reads everything, and another discount trains for that discount only.
"""

import json
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from peerfront.experiments.compare import Workers
from peerfront.experiments.comparison import (
    Task,
    TaskResult,
    planned_in,
    run_task,
    task_identity,
    tasks,
    world_identity,
)
from peerfront.experiments.reproduction.plan import Part, ReproductionPlan
from peerfront.experiments.results import Results
from peerfront.experiments.store import Store, program
from peerfront.foundation.errors import DataFileError, OutputExists
from peerfront.foundation.files import write_text
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.specs import Spec

SETTINGS, STORE = "settings.json", "store"
Progress = Callable[[int, int, str], None]
"""Told (pieces done, pieces in all, what was done last)."""


@dataclass(frozen=True)
class Reproduction:
    """What was run, and what came out."""

    plan: ReproductionPlan
    results: dict[str, Results]
    """By the name of the part."""
    timings: pd.DataFrame
    """part, piece, policy, seconds, peak_memory (MiB) of every piece, from the run that made it."""


@dataclass(frozen=True)
class Piece:
    """One task of a part, or (without a task) the fitting of the models of one draw."""

    part: Part
    draw: int
    task: Task | None = None

    @property
    def label(self) -> str:
        return f"models of draw {self.draw}" if self.task is None else self.task.label


@dataclass(frozen=True)
class DonePiece:
    """A piece, its result if it has one, and what it took to make, whenever that was."""

    piece: Piece
    result: TaskResult | None
    seconds: float
    peak_memory: int
    """Of the process that made it, up to then, in MiB."""


def reproduce(
    plan: ReproductionPlan,
    folder: Path,
    *,
    workers: Workers | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Run everything of the plan that is not in the folder yet. Results do not depend on workers or interruptions."""
    check_folder(plan, folder, overwrite=overwrite)
    for part in plan.parts:
        part.comparison.check_worlds()
    store = Store(folder / STORE)
    tell = progress or (lambda done, total, last: None)
    fits = [
        Piece(part, draw)
        for part in plan.parts
        if part.comparison.models != "oracle"
        for draw in part.comparison.draws_of(part.comparison.worlds[0])
    ]
    played = [Piece(part, task.draw, task) for part in plan.parts for task in tasks(part.comparison)]
    total = len(fits) + len(played)
    tell(0, total, "")
    finished: list[DonePiece] = []
    for stage in (fits, played):  # in this order, so that workers find each draw's models instead of all fitting them
        with closing((workers or Workers()).map_unordered(partial(_do, store), stage)) as arriving:
            for done in arriving:
                if not finished:
                    _begin(plan, folder)
                finished.append(done)
                tell(len(finished), total, done.piece.label)
    results = {
        part.name: Results.of(
            part.comparison,
            [done.result for done in finished if done.piece.part == part and done.result is not None],
        )
        for part in plan.parts
    }
    return Reproduction(plan, results, timings(finished))


def check_folder(plan: ReproductionPlan, folder: Path, *, overwrite: bool) -> None:
    """Say why not, if this reproduction cannot be kept here; touches nothing."""
    if folder.exists() and not folder.is_dir():
        raise OutputExists(f"{folder} is a file. Choose another folder for the reproduction.")
    if not folder.exists() or not any(file for file in folder.iterdir() if file.name != STORE):
        return
    try:
        saved = json.loads((folder / SETTINGS).read_text())["plan"]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputExists(f"{folder} holds something that is not a reproduction; choose another folder.") from None
    asked = _settings(plan)["plan"]
    if saved != asked and not overwrite:
        different = ", ".join(f"{name} {saved.get(name)} there, {asked[name]} now" for name in asked)
        raise OutputExists(
            f"{folder} holds another reproduction ({different}). Use --overwrite to replace its tables and report "
            "(what both have in common is not computed again), or choose another folder."
        )


def _settings(plan: ReproductionPlan) -> dict[str, Any]:
    asked = {"scale": plan.scale, "discounts": list(plan.discounts), "seed": plan.seed}
    parts = {part.name: {"purpose": part.purpose, "comparison": part.comparison.as_json()} for part in plan.parts}
    return {"plan": asked, "parts": parts, "made_by": dict(program())}


def _begin(plan: ReproductionPlan, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DataFileError(f"Cannot use {folder} for results ({problem}). Choose another folder.") from None
    write_text(folder / SETTINGS, json.dumps(_settings(plan), indent=2) + "\n")


def _do(store: Store, piece: Piece) -> DonePiece:
    comparison = piece.part.comparison
    if piece.task is not None:
        identity = task_identity(comparison, piece.task)
    else:
        identity = world_identity(comparison, comparison.worlds[0], piece.draw)
    result, seconds, peak = store.find_or_make("piece", identity, lambda: _made(store, piece))
    return DonePiece(piece, result, seconds, peak)


def _made(store: Store, piece: Piece) -> tuple[TaskResult | None, float, int]:
    comparison = piece.part.comparison
    begun = time.perf_counter()
    if piece.task is not None:
        result = run_task(comparison, piece.task, store)
    else:
        result = None
        world = planned_in(comparison, comparison.worlds[0], piece.draw, store)
        luck = named_luck(("fit",), 1)
        world.offspring.sample(world.population(luck), luck)  # the offspring model is fitted when it is asked
    return result, time.perf_counter() - begun, _peak_memory()


def _peak_memory() -> int:
    """Of this process, in MiB; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def timings(finished: Iterable[DonePiece]) -> pd.DataFrame:
    """part, piece, seconds, peak_memory of every piece, from the run that made it."""
    rows = [
        {
            "part": done.piece.part.name,
            "piece": done.piece.label,
            "policy": "models" if done.piece.task is None else Spec.parse(done.piece.task.policy).label,
            "seconds": round(done.seconds, 2),
            "peak_memory": done.peak_memory,
        }
        for done in finished
    ]
    return pd.DataFrame(rows).sort_values(["part", "piece"], ignore_index=True)
