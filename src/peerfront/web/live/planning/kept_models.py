"""The models of a running study in its folder: models/FINGERPRINT.

model/          the saved fit; missing for the plain rule of a study that is too small for a model
fitted.json     the data it was fitted to, by which the next plan decides whether to refit
plan-SEED/      results of a plan made with it: summary.json, curve.csv, forecast.csv
forecast.csv    people by date as the newest plan with this model expects them: date, expected, low, high

A model's name is the beginning of its checksum.
"""

import json
import shutil
import threading
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings

from peerfront.foundation.errors import DataFileError
from peerfront.foundation.files import make_folder, write_text
from peerfront.foundation.messages import Severity
from peerfront.study.artifacts import MANIFEST
from peerfront.study.model import Model, load
from peerfront.study.week_model import FittedTo
from peerfront.web.live.folder import LiveFolder
from peerfront.words.stored_text import as_data, from_data

SAME_FOR_ALL = "same-for-all"
"""The name of the plain rule of a study that is too small for a model."""
_NAME = 16  # characters of a checksum
Line = Any
"""A `Text` or `Message`, put into words when somebody reads it; plain text in plans of earlier versions."""
_LINES = ("words", "ahead", "details", "about_model", "certificate")


@dataclass(frozen=True)
class Fitted:
    """The data and settings that a model was fitted with."""

    fitted_to: FittedTo
    columns: tuple[str, ...]
    """Answers that plans were allowed to use."""
    cap: int
    rounds: int


@dataclass(frozen=True)
class PlanSummary:
    """The results of a plan besides its lines, for the page of the plan."""

    day: str
    refitted: bool
    waiting: int
    budget: int
    """Coupons that were left to plan with."""
    open_coupons: int
    words: tuple[Line, ...]
    """What to hand out, and what was drawn by lot or at random."""
    ahead: tuple[Line, ...]
    """What to expect."""
    details: tuple[Line, ...]
    about_model: tuple[Line, ...]
    certificate: tuple[Line, ...]
    """How good the plan is, at least, by the model."""
    expected: float | None
    """Recruits expected in all; None by the plain rule."""
    expected_error: float | None
    expected_now: float | None
    """Recruits expected from this round's coupons."""
    chances: dict[str, str] = field(default_factory=dict)
    """By person: the chance that each of their coupons is used."""
    brings: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By person: recruits expected from their coupons, and later ones through these."""
    strata: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """By stratum: the chance of 0, 1, ... coupons; empty without strata."""
    strata_columns: tuple[str, ...] = ()
    """The questions that form the strata."""

    @property
    def warnings(self) -> tuple[Line, ...]:
        return tuple(line for line in self.words if getattr(line, "severity", None) is Severity.WARNING)

    @property
    def plain_words(self) -> tuple[Line, ...]:
        return tuple(line for line in self.words if line not in self.warnings)


def model_name(fingerprint: str) -> str:
    """The name of the model with this checksum, as records and folders use it."""
    return fingerprint[:_NAME]


def live_folder() -> LiveFolder:
    """The folder of the study that this process serves."""
    folder = django_settings.LIVE_FOLDER
    if folder is None:
        raise DataFileError("live_planning.no_folder")
    assert isinstance(folder, LiveFolder)
    return folder


def forget_models(in_use: Collection[tuple[str, int]]) -> None:
    """Remove the files of all plans but these models and seeds; a plan each night would fill the disk."""
    models = {model for model, _ in in_use}
    plans = {KeptModel(model).plan(seed).folder for model, seed in in_use}
    for folder in live_folder().models.iterdir():
        if folder.is_dir() and folder.name not in models and (folder / "fitted.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
        for plan in folder.glob("plan-*"):
            if plan not in plans:
                shutil.rmtree(plan, ignore_errors=True)


@dataclass(frozen=True)
class KeptModel:
    """The folder of one model."""

    name: str

    @property
    def folder(self) -> Path:
        return live_folder().models / self.name

    @property
    def artifact(self) -> Path:
        return self.folder / "model"

    @property
    def forecast(self) -> Path:
        return self.folder / "forecast.csv"

    def plan(self, seed: int) -> "PlanFolder":
        return PlanFolder(self.folder / f"plan-{seed}")

    @property
    def fitted(self) -> Fitted | None:
        """The data that the model was fitted to; None if the file is missing."""
        try:
            data = json.loads((self.folder / "fitted.json").read_text("utf-8"))
            return Fitted(FittedTo(**data["fitted_to"]), tuple(data["columns"]), int(data["cap"]), int(data["rounds"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, model: Model, fitted: Fitted) -> None:
        """Save a new model, unless the same one (by its checksum) is there."""
        make_folder(self.folder)
        if not self.artifact.exists():
            model.save(self.artifact)
        write_text(self.folder / "fitted.json", json.dumps(asdict(fitted), indent=2) + "\n")


@dataclass(frozen=True)
class PlanFolder:
    """The files of a plan's results besides its lines."""

    folder: Path

    @property
    def curve(self) -> Path:
        return self.folder / "curve.csv"

    @property
    def forecast(self) -> Path:
        return self.folder / "forecast.csv"

    def save(self, summary: PlanSummary, files: dict[str, str]) -> None:
        make_folder(self.folder)
        for name, content in files.items():
            write_text(self.folder / name, content, private=True)
        data = {each.name: getattr(summary, each.name) for each in fields(summary)}
        data |= {name: as_data(data[name]) for name in _LINES}
        text = json.dumps(data, indent=1, ensure_ascii=False)
        write_text(self.folder / "summary.json", text + "\n", private=True)

    @property
    def summary(self) -> PlanSummary | None:
        """The summary of the plan; None if its file is missing or damaged."""
        try:
            data: dict[str, Any] = json.loads((self.folder / "summary.json").read_text("utf-8"))
            data |= {name: tuple(from_data(data[name])) for name in _LINES}
            data["strata_columns"] = tuple(data["strata_columns"])
            data["brings"] = {person: tuple(pair) for person, pair in data["brings"].items()}
            data["strata"] = {name: tuple(chances) for name, chances in data["strata"].items()}
            return PlanSummary(**data)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


_loading = threading.Lock()


def loaded_model(name: str) -> Model | None:
    """A model by its name, loaded once in this process; None for the plain rule, or if it is missing."""
    artifact = KeptModel(name).artifact
    if not artifact.is_dir():
        return None
    with _loading:
        return _load(artifact)


@lru_cache(maxsize=2)
def _load(artifact: Path) -> Model:
    model = load(artifact)
    checksum = json.loads((artifact / MANIFEST).read_text("utf-8"))["sha256"]
    if model_name(str(checksum)) != artifact.parent.name:
        raise DataFileError("live_planning.another_model", path=artifact)
    return model
