"""Reproduce the paper: which comparisons that takes, at one of three scales, and how they are run.

`published` is Table 1's own world with the paper's models, each method trained as it was for the table; because one
training is luck, everything learned there is learned several times, models included (`published, training 2` to 5).
`published, repaired` adds our methods there; `described` is the world of the paper's text over several draws, which is
what conclusions should rest on.

A run fits the models of every draw, then trains and tests every method, and keeps each piece as it is done. Pieces are
found again by what they depend on (`store.py`), so an interrupted run goes on where it was, a second run reads
everything, and another discount trains for that discount only.
"""

import json
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from peerfront.experiments.comparison import (
    PAPER_DISCOUNTS,
    Comparison,
    Task,
    TaskResult,
    planned_in,
    run_task,
    task_identity,
    tasks,
    world_identity,
)
from peerfront.experiments.comparison_run import Workers
from peerfront.experiments.planning_world import TABLES_OF_DIFFUSION
from peerfront.experiments.result_folder import change_note, form_with_cost
from peerfront.experiments.results import Results
from peerfront.experiments.store import Store, program
from peerfront.foundation.errors import DamagedFile, DataFileError, OutputExists
from peerfront.foundation.files import claimed_folder, output_path, write_text
from peerfront.foundation.locks import names_in
from peerfront.foundation.messages import Message, Progress, Remedy, in_english, note, silent
from peerfront.foundation.own_files import own_json
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.settings import Spec, one_of

PAPER_METHODS = {
    "Random": "random_split",
    "Budget-DQN": "budget_dqn",
    "Factorized RL": "factorized_rl",
    "IID-Population DP": "population_dp",
    "GFP": "gfp-paper",
}
"""The paper's methods and the policies that follow its text."""
PUBLISHED_GFP = "gfp-published"
PUBLISHED_METHODS = (
    "random_split",
    "budget_dqn:training=published,name=budget_dqn",
    "factorized_rl:training=published,name=factorized_rl",
    "population_dp:population=300,recruits=4096,name=population_dp",
    f"gfp:training=published,name={PUBLISHED_GFP}",
)
"""The same methods as the published table was made with them."""
TRAININGS = 5
PUBLISHED_MODELS = f"learned:capacity=paper,offspring={TABLES_OF_DIFFUSION}"
OUR_METHODS = ("gfp", "threshold", "constant")
SCALES = ("quick", "default", "full")
SETTINGS, STORE = "settings.json", "store"  # in the folder of a reproduction

PUBLISHED, REPAIRED, DESCRIBED = "published", "published, repaired", "described"


def training_name(number: int) -> str:
    """The part of a training, from 1."""
    return PUBLISHED if number == 1 else f"{PUBLISHED}, training {number}"


@dataclass(frozen=True)
class Part:
    """One comparison of a reproduction, and what it is for."""

    name: str
    purpose: Message | str
    comparison: Comparison


@dataclass(frozen=True)
class ReproductionPlan:
    """Everything a reproduction runs."""

    scale: str
    discounts: tuple[float, ...]
    seed: int
    parts: tuple[Part, ...]
    """The comparisons, in the order in which they are run; `described` is among them."""


def reproduction_plan(
    scale: str = "default", discounts: tuple[float, ...] = PAPER_DISCOUNTS, seed: int = 0
) -> ReproductionPlan:
    """What a reproduction of this scale runs."""
    one_of(note("kinds.scale"), scale, SCALES)
    described = Comparison(
        policies=(*PAPER_METHODS.values(), *OUR_METHODS, "gfp-untrained"),
        draws=tuple(range({"quick": 1, "default": 5, "full": 20}[scale])),
        discounts=discounts,
        episodes=100 if scale == "quick" else 400,
        models="learned",
        bound=True,
        seed=seed,
    )
    parts = [
        Part(DESCRIBED, note("reproduction_part.described"), described),
    ]
    if scale != "quick":
        published = replace(
            described,
            worlds=("published",),
            policies=(*PUBLISHED_METHODS, "gfp-paper"),
            draws=(0,),
            models=PUBLISHED_MODELS,
            bound=False,
        )
        ours = replace(published, policies=OUR_METHODS, models="learned", bound=True)
        again = [replace(published, policies=PUBLISHED_METHODS, seed=seed + number) for number in range(1, TRAININGS)]
        purpose = note("reproduction_part.another_seed")
        parts = [
            Part(PUBLISHED, note("reproduction_part.published"), published),
            *(Part(training_name(number), purpose, other) for number, other in enumerate(again, start=2)),
            Part(REPAIRED, note("reproduction_part.repaired"), ours),
            *parts,
        ]
    return ReproductionPlan(scale, described.discounts, described.seed, tuple(parts))


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
    def label(self) -> Message:
        return note("comparison_progress.models", draw=self.draw) if self.task is None else self.task.label


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
    with claimed_folder_of(plan, folder, overwrite=overwrite):
        for part in plan.parts:
            part.comparison.check_worlds()
        return _reproduced(plan, folder, workers or Workers(), progress or silent)


def claimed_folder_of(plan: ReproductionPlan, folder: Path, *, overwrite: bool) -> AbstractContextManager[None]:
    """Hold the folder of a reproduction while it is made; one that cannot be used is refused at once."""
    return claimed_folder(folder, lambda: check_folder(plan, folder, overwrite=overwrite), (STORE,))


def _reproduced(plan: ReproductionPlan, folder: Path, workers: Workers, tell: Progress) -> Reproduction:
    store = Store(output_path(folder) / STORE)
    fits = [
        Piece(part, draw)
        for part in plan.parts
        if part.comparison.models != "oracle"
        for draw in part.comparison.draws_of(part.comparison.worlds[0])
    ]
    played = [Piece(part, task.draw, task) for part in plan.parts for task in tasks(part.comparison)]
    total = len(fits) + len(played)
    tell(0.0, note("comparison_progress.begun", done=0, total=total))
    finished: list[DonePiece] = []
    for stage in (fits, played):  # in this order, so that workers find each draw's models instead of all fitting them
        with closing(workers.map_unordered(partial(_do, store), stage)) as arriving:
            for done in arriving:
                if not finished:
                    _begin(plan, folder)
                finished.append(done)
                step = note("comparison_progress.done", done=len(finished), total=total, piece=done.piece.label)
                tell(len(finished) / total, step)
    results = {
        part.name: Results.of(
            part.comparison,
            [done.result for done in finished if done.piece.part == part and done.result is not None],
        )
        for part in plan.parts
    }
    return Reproduction(plan, results, timings(finished))


def check_folder(plan: ReproductionPlan, folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that cannot hold this reproduction, saying why; touches nothing."""
    folder = output_path(folder)
    if folder.exists() and not folder.is_dir():
        raise OutputExists("reproduction_folder.is_a_file", path=folder)
    if set(names_in(folder)) <= {STORE}:
        return
    try:
        saved = own_json(folder / SETTINGS, {"plan": {}})["plan"]
    except DamagedFile:
        raise OutputExists("reproduction_folder.holds_something_else", path=folder) from None
    wanted = _settings(plan)["plan"]
    if saved != wanted and not overwrite:
        different = [change_note(name, saved.get(name), wanted[name]) for name in wanted]
        raise OutputExists(
            "reproduction_folder.holds_another", path=folder, changes=different, overwrite=Remedy("overwrite", True)
        )


def _settings(plan: ReproductionPlan) -> dict[str, Any]:
    scale = {"scale": plan.scale, "discounts": list(plan.discounts), "seed": plan.seed}
    parts = {
        part.name: {"purpose": in_english(part.purpose), "comparison": part.comparison.as_json()} for part in plan.parts
    }
    return {"plan": scale, "parts": parts, "made_by": dict(program())}


def _begin(plan: ReproductionPlan, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DataFileError("result_store.cannot_use", path=folder, problem=str(problem)) from None
    write_text(folder / SETTINGS, json.dumps(_settings(plan), indent=2) + "\n")


def _do(store: Store, piece: Piece) -> DonePiece:
    comparison = piece.part.comparison
    if piece.task is not None:
        identity = task_identity(comparison, piece.task)
    else:
        identity = world_identity(comparison, comparison.worlds[0], piece.draw)
    form = form_with_cost(piece.task, comparison.episodes)
    result, seconds, peak = store.find_or_make("piece", identity, lambda: _run(store, piece), form)
    return DonePiece(piece, result, seconds, peak)


def _run(store: Store, piece: Piece) -> tuple[TaskResult | None, float, int]:
    comparison = piece.part.comparison
    begun = time.perf_counter()
    if piece.task is not None:
        result = run_task(comparison, piece.task, store)
    else:
        result = None
        world = planned_in(comparison, comparison.worlds[0], piece.draw, store)
        luck = named_luck(("fit",), 1)
        world.offspring.sample(world.population(luck), luck)  # fits the offspring model
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
            "piece": in_english(done.piece.label),
            "policy": "models" if done.piece.task is None else Spec.parse(done.piece.task.policy).label,
            "seconds": round(done.seconds, 2),
            "peak_memory": done.peak_memory,
        }
        for done in finished
    ]
    return pd.DataFrame(rows).sort_values(["part", "piece"], ignore_index=True)
