"""The models of a running study in its folder: models/FINGERPRINT.

model/          the saved fit; missing for the plain rule of a study that is too small for a model
fitted.json     the data it was fitted to, by which the next plan decides whether to refit
plan-SEED/      results of a plan made with it: summary.json, curve.csv, and forecast.csv (people by date as the plan
                expects them: date, expected, low, high)

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

from peerfront.foundation.errors import DamagedFile, DataFileError
from peerfront.foundation.files import make_folder, write_text
from peerfront.foundation.locks import remove_leftovers
from peerfront.foundation.messages import Message, Severity
from peerfront.foundation.own_files import (
    ANYTHING,
    COUNT,
    NUMBER,
    TEXT,
    TRUTH,
    check_shape,
    day,
    maybe,
    own_json,
)
from peerfront.study.artifacts import load_fit
from peerfront.study.log_lines import FITTED_TO
from peerfront.study.model import Model
from peerfront.study.outlook import Outlook
from peerfront.study.rivals import Gain
from peerfront.study.week_model import FittedTo
from peerfront.web.live.folder import LiveFolder
from peerfront.words.stored_text import as_data, restored

SAME_FOR_ALL = "same-for-all"
"""The name of the plain rule of a study that is too small for a model."""
_NAME = 16  # characters of a checksum
Line = Any
"""A `Text` or `Message`, put into words when somebody reads it; plain text in plans of earlier versions."""
_LINES = ("words", "details", "about_model")
_OF_A_PERSON = ("chances", "brings")
"""Figures of a plan by person, which follow from answers and network sizes."""
_FITTED = {"fitted_to": FITTED_TO, "columns": [TEXT], "cap": COUNT, "rounds": COUNT}
_COMPARED = {"rule": TEXT, **dict.fromkeys(("recruits", "lead", "low", "high"), NUMBER)}
_EXPECTED = {
    "recruits": NUMBER, "low?": maybe(NUMBER), "high?": maybe(NUMBER), "until?": TEXT, "rounds?": maybe(COUNT),
    "from_open?": maybe(NUMBER), "target_chance?": maybe(NUMBER), "off_by?": maybe(NUMBER), "gains?": [_COMPARED],
    "choices?": [_COMPARED],
}  # fmt: skip
_SUMMARY = {
    "day": day(), "refitted": TRUTH, "waiting": COUNT, "budget": COUNT, "open_coupons": COUNT,
    **{name: [ANYTHING] for name in _LINES}, "chances": {str: TEXT}, "brings": {str: (NUMBER, NUMBER)},
    "strata": {str: [NUMBER]}, "strata_columns": [TEXT], "by_hand?": {str: COUNT},
}  # fmt: skip


@dataclass(frozen=True)
class Fitted:
    """The data and settings that a model was fitted with."""

    fitted_to: FittedTo
    columns: tuple[str, ...]
    """Answers that plans were allowed to use."""
    cap: int
    rounds: int


@dataclass(frozen=True)
class Compared:
    """Recruits of a rule or of another plan, and how many more the plan brings, with its 95% interval."""

    rule: str
    """Its name, or the code of its description."""
    recruits: float
    lead: float
    low: float
    high: float


@dataclass(frozen=True)
class Expected:
    """The figures of a plan's outlook. Plans of earlier versions have `recruits` alone."""

    recruits: float
    """People who come from the day of the plan on, with open coupons and with new ones: the mean."""
    low: float | None = None
    """The ends of the band that holds 8 of 10 simulated studies."""
    high: float | None = None
    until: str = ""
    """The last day; empty by rounds."""
    rounds: int | None = None
    from_open: float | None = None
    """Of the recruits, those with coupons that were open on the day of the plan."""
    target_chance: float | None = None
    off_by: float | None = None
    """The factor by which earlier forecasts so far ahead missed, if it is too large to rely on this one."""
    gains: tuple[Compared, ...] = ()
    choices: tuple[Compared, ...] = ()
    """Other plans, such as at least one coupon each (`choices.at_least_one`)."""

    @property
    def one_each(self) -> Compared | None:
        """The plan that gives everybody at least one coupon; None if it was not looked at."""
        return next((each for each in self.choices if each.rule == "choices.at_least_one"), None)

    @classmethod
    def of(cls, outlook: Outlook) -> "Expected":
        plan = outlook.of_plan
        return cls(
            recruits=float(plan["recruits"]),
            low=float(plan["p10"]),
            high=float(plan["p90"]),
            until="" if outlook.horizon.until is None else outlook.horizon.until.isoformat(),
            rounds=outlook.horizon.days if outlook.by_rounds else None,
            from_open=outlook.from_open,
            target_chance=None if outlook.target is None else float(plan["reaches_target"]),
            off_by=None if outlook.trust is None or outlook.trust.relied_on else outlook.trust.factor,
            gains=tuple(_compared(gain.policy, gain) for gain in outlook.gains.each),
            choices=tuple(_compared(_code(gain), gain) for gain in outlook.choices.each),
        )


def _code(gain: Gain) -> str:
    return gain.described.code if isinstance(gain.described, Message) else gain.described


def _compared(rule: str, gain: Gain) -> Compared:
    return Compared(rule, gain.recruits, gain.lead.mean, gain.lead.low, gain.lead.high)


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
    """What to hand out, what to expect, what could make it wrong, and what other plans would bring."""
    details: tuple[Line, ...]
    about_model: tuple[Line, ...]
    expected: "Expected | None"
    """None by the plain rule, or if nobody can come."""
    chances: dict[str, str] = field(default_factory=dict)
    """By person: the chance that each of their coupons is used."""
    brings: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By person: recruits expected from their coupons, and later ones through these."""
    strata: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """By stratum: the chance of 0, 1, ... coupons; empty without strata."""
    strata_columns: tuple[str, ...] = ()
    """The questions that form the strata."""
    by_hand: dict[str, int] = field(default_factory=dict)
    """By person: numbers chosen by hand instead of the plan's, as far as these results count them."""

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


def forget_people(names: Collection[str]) -> None:
    """Take what follows from these people's answers out of the results of all plans."""
    for file in live_folder().models.glob("*/plan-*/summary.json"):
        remove_leftovers(file.parent)  # such as a summary that was half written
        try:
            data = own_json(file, {})
        except DamagedFile:  # nobody can read it
            continue
        by_person = {each: data[each] for each in _OF_A_PERSON if isinstance(data.get(each), dict)}
        left = {each: {name: own[name] for name in own if name not in names} for each, own in by_person.items()}
        if left != by_person:
            _write_summary(file, data | left)


def _write_summary(file: Path, data: dict[str, Any]) -> None:
    write_text(file, json.dumps(data, indent=1, ensure_ascii=False) + "\n", private=True)


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

    def plan(self, seed: int) -> "PlanFolder":
        return PlanFolder(self.folder / f"plan-{seed}")

    @property
    def fitted(self) -> Fitted | None:
        """The data that the model was fitted to; None if the file is missing."""
        try:
            data = own_json(self.folder / "fitted.json", _FITTED)
        except DamagedFile:
            return None
        return Fitted(FittedTo.restored(data["fitted_to"]), tuple(data["columns"]), data["cap"], data["rounds"])

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
        data["expected"] = summary.expected and asdict(summary.expected)
        _write_summary(self.folder / "summary.json", data)

    @property
    def summary(self) -> PlanSummary | None:
        """The summary of the plan; None if its file is missing or damaged."""
        file = self.folder / "summary.json"
        try:
            data = _of_this_version(own_json(file, {}))
            check_shape(data, _SUMMARY if data["expected"] is None else {**_SUMMARY, "expected": _EXPECTED}, file)
            data |= {name: tuple(restored(data[name], file)) for name in _LINES}
            data["expected"] = data["expected"] and _expected(data["expected"])
            data["strata_columns"] = tuple(data["strata_columns"])
            data["brings"] = {person: tuple(pair) for person, pair in data["brings"].items()}
            data["strata"] = {name: tuple(chances) for name, chances in data["strata"].items()}
            return PlanSummary(**data)
        except (DamagedFile, KeyError, TypeError):  # or with other entries than this version has
            return None


def _expected(data: dict[str, Any]) -> Expected:
    for name in ("gains", "choices"):
        data[name] = tuple(Compared(**each) for each in data.get(name, ()))
    return Expected(**data)


def _of_this_version(data: dict[str, Any]) -> dict[str, Any]:
    """The data of a summary; those of versions to 0.3 had what to expect apart, and one number of recruits."""
    if "ahead" not in data:
        return data
    ahead, recruits = data.pop("ahead"), data.pop("expected")
    for name in ("certificate", "expected_error", "expected_now"):
        del data[name]
    expected = None if recruits is None else {"recruits": recruits}
    return data | {"words": [*data["words"], *ahead], "expected": expected}


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
    return Model(load_fit(artifact, artifact.parent.name))
