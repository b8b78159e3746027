"""The results of a comparison as tidy tables, and their folder on disk.

A folder holds `settings.json`, one file per finished task under `parts/` (the source of everything else, and what
resuming builds on), and what is made from them at the end: CSV tables, Markdown, figures. Files are written to a
temporary name and renamed, so a folder never holds half a file.
"""

import dataclasses
import hashlib
import io
import json
import os
import platform
import shutil
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from peerfront.errors import DataFileError, OutputExists
from peerfront.experiments.comparison import Comparison, Task, TaskResult, tasks
from peerfront.problem import Ending, Trajectories
from peerfront.specs import Spec

_LIBRARIES = ("peerfront", "numpy", "scipy", "numba", "pandas", "networkx", "joblib")


@dataclass(frozen=True)
class Run:
    """One policy under one discount in one draw of one world."""

    world: str
    draw: int
    policy: str
    discount: float
    prepared: str
    trajectories: Trajectories


@dataclass(frozen=True)
class Results:
    """All runs of a comparison, in the order of its settings."""

    comparison: Comparison
    runs: tuple[Run, ...]

    @property
    def worlds(self) -> tuple[str, ...]:
        """The labels of the worlds, in order."""
        return tuple(_label(world) for world in self.comparison.worlds)

    @property
    def policies(self) -> tuple[str, ...]:
        """The labels of the policies, in order."""
        return tuple(_label(policy) for policy in self.comparison.policies)

    @classmethod
    def of(cls, comparison: Comparison, finished: Iterable[TaskResult]) -> "Results":
        by_task = {result.task: result for result in finished}
        runs = []
        for task in tasks(comparison):
            result = by_task[task]
            runs += [
                Run(_label(task.world), task.draw, _label(task.policy), discount, result.prepared, result.trajectories)
                for discount in (comparison.discounts if task.discount is None else (task.discount,))
            ]
        return cls(comparison, tuple(runs))

    def episodes(self) -> pd.DataFrame:
        """One row per run and episode."""
        names = {ending.value: ending.name.lower() for ending in Ending}
        return pd.concat(
            [
                pd.DataFrame(
                    {
                        **_columns(run),
                        "episode": np.arange(len(run.trajectories.rounds)),
                        "discounted_reward": run.trajectories.discounted_rewards(run.discount),
                        "recruits": run.trajectories.total_recruits,
                        "spend": run.trajectories.spend.sum(axis=1),
                        "rounds": run.trajectories.rounds,
                        "ending": [names[int(code)] for code in run.trajectories.ending],
                    }
                )
                for run in self.runs
            ],
            ignore_index=True,
        )

    def rounds(self) -> pd.DataFrame:
        """One row per run, episode and round played."""
        return pd.concat([_round_rows(run) for run in self.runs], ignore_index=True)

    def prepared(self) -> pd.DataFrame:
        """What each policy was after its preparation (a tuned threshold's values, for example)."""
        return pd.DataFrame([{**_columns(run), "prepared": run.prepared} for run in self.runs])


def _label(spec: str) -> str:
    return Spec.parse(spec).label


def _columns(run: Run) -> dict[str, Any]:
    return {"world": run.world, "draw": run.draw, "policy": run.policy, "discount": run.discount}


def _round_rows(run: Run) -> pd.DataFrame:
    played = run.trajectories
    episode, number = np.nonzero(np.arange(played.recruits.shape[1]) < played.rounds[:, None])
    return pd.DataFrame(
        {
            **_columns(run),
            "episode": episode,
            "round": number,
            "frontier": played.frontier[episode, number],
            "spend": played.spend[episode, number],
            "recruits": played.recruits[episode, number],
        }
    )


class ResultFolder:
    """Where a comparison is kept. Opening it decides whether work starts, goes on, or is refused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings_file = path / "settings.json"
        self.parts = path / "parts"

    def open(self, comparison: Comparison, *, resume: bool, overwrite: bool) -> None:
        """Prepare the folder, or say why not: nothing that exists is touched unless asked."""
        if self.path.exists() and not self.path.is_dir():
            raise OutputExists(f"{self.path} is a file. Choose another folder for the results.")
        occupied = self.path.exists() and any(self.path.iterdir())
        if occupied and not (resume or overwrite):
            raise OutputExists(
                f"{self.path} holds results already. Use --resume to complete them, --overwrite to replace them, "
                "or choose another folder."
            )
        if occupied and not self.settings_file.exists():
            raise OutputExists(f"{self.path} holds something that is not a comparison; choose another folder.")
        if occupied and overwrite:
            self._clear()
        elif occupied:
            self._check_same(comparison)
        self.parts.mkdir(parents=True, exist_ok=True)
        write_text(self.settings_file, json.dumps(_settings(comparison), indent=2) + "\n")

    def _clear(self) -> None:
        """Remove what a comparison writes, and nothing else that may lie there."""
        shutil.rmtree(self.parts, ignore_errors=True)
        for pattern in ("settings.json", "*.csv", "*.csv.gz", "table.md", "curves-*"):
            for file in self.path.glob(pattern):
                file.unlink()

    def _check_same(self, comparison: Comparison) -> None:
        try:
            saved = json.loads(self.settings_file.read_text())["comparison"]
        except (ValueError, KeyError, TypeError):
            raise DataFileError(f"{self.settings_file} cannot be read. Use --overwrite to start anew.") from None
        asked = json.loads(json.dumps(comparison.as_json()))
        different = [name for name in asked if asked[name] != saved.get(name)]
        if different:
            found = "; ".join(f"{name} {saved.get(name)} there, {asked[name]} now" for name in different)
            raise OutputExists(
                f"{self.path} holds a comparison with other settings ({found}). "
                "Resume with the same settings, use --overwrite, or choose another folder."
            )

    def finished(self, comparison: Comparison) -> list[TaskResult]:
        """The tasks already done. A part that cannot be read is as good as none."""
        return [result for task in tasks(comparison) if (result := self._load(task)) is not None]

    def save(self, result: TaskResult) -> None:
        """Keep a finished task."""
        arrays = dataclasses.asdict(result.trajectories)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, prepared=np.array(result.prepared), **arrays)
        write_bytes(self._part(result.task), buffer.getvalue())

    def _load(self, task: Task) -> TaskResult | None:
        try:
            with np.load(io.BytesIO(self._part(task).read_bytes()), allow_pickle=False) as saved:
                arrays = {field.name: saved[field.name] for field in dataclasses.fields(Trajectories)}
                return TaskResult(task, str(saved["prepared"]), Trajectories(**arrays))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def _part(self, task: Task) -> Path:
        digest = hashlib.blake2b(repr(dataclasses.astuple(task)).encode(), digest_size=8).hexdigest()
        return self.parts / f"{task.policy.partition(':')[0]}-{digest}.npz"


def _settings(comparison: Comparison) -> dict[str, Any]:
    return {"comparison": comparison.as_json(), "versions": _versions()}


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "not installed"
    return found


def write_bytes(path: Path, content: bytes) -> None:
    """Write under a temporary name, then rename: readers see the old file or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode())
