"""How the exports of the usual programs look: REDCap, Kobo, ODK Central and SurveyCTO, and their checkboxes.

A preset is found by columns that only its program writes. It knows which columns are the program's own (submission ids,
devices, completion marks), which of them serve as id and date where the study has none, and how groups stand in names.

Questions with several answers are exported as a column of ticks for each of them. REDCap writes `race___1`, `race___2`
(or `Race (choice=White)`), Kobo and ODK `race/white` beside `race` with all answers in one text, SurveyCTO `race_1`
beside it. Where hardly anybody ticked two boxes they are one question with one answer: a field whose values are the
answers, `several` for more than one, and `none`. Otherwise each box is a field of its own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from peerfront.data.read.listing import VOCABULARY
from peerfront.data.read.read_settings import AUTO, PLAIN, PRESETS, REDCAP
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Message, Remedy, first_of, note

# Checkboxes -------------------------------------------------------------------------------------------------------


_REDCAP = re.compile(r"(.+?)___(\w+)|(.+?) \(choice=(.+)\)")
_TICKED = {"1", "true", "yes", "checked", "1.0"}
_NOT_TICKED = {"0", "false", "no", "unchecked", "0.0"}
_MOST_SEVERAL = 0.1  # share of those who answered; with more, ticking several is what the question is for
_SAME_ANSWERS = 0.95  # share of rows in which the text and the ticks agree
SEVERAL, NONE = "several", "none"


@dataclass(frozen=True)
class Boxes:
    """The columns of one question."""

    name: str
    columns: tuple[str, ...]
    answers: tuple[str, ...]
    """What each column stands for."""
    text: str | None = None
    """The column that holds all answers as one text, if there is one."""


def find_boxes(frame: pd.DataFrame, *, named: bool) -> list[Boxes]:
    """Find the groups of checkboxes: by REDCap's names if `named`, otherwise beside a text with the same answers."""
    header = [str(name) for name in frame.columns]
    ticks = [name for name in header if _are_ticks(frame[name])]
    questions: dict[str, dict[str, str]] = {}  # question -> column -> answer
    if named:
        for match in filter(None, map(_REDCAP.fullmatch, ticks)):
            questions.setdefault(match[1] or match[3], {})[match[0]] = match[2] or match[4]
    else:
        for text in header:
            beside = re.compile(re.escape(text) + r"[/_-](.+)")
            questions[text] = {match[0]: match[1] for match in filter(None, map(beside.fullmatch, ticks))}
    groups = [
        Boxes(name, tuple(boxes), tuple(boxes.values()), None if named else name)
        for name, boxes in questions.items()
        if len(boxes) > 1
    ]
    return groups if named else [group for group in groups if _agree(frame, group)]


def _are_ticks(values: pd.Series) -> bool:
    different = {value.lower() for value in set(values)} - {""}
    return bool(different) and different <= _TICKED | _NOT_TICKED


def _agree(frame: pd.DataFrame, boxes: Boxes) -> bool:
    """Tell whether the text lists exactly the answers that are ticked."""
    assert boxes.text is not None
    ticks = _ticks(frame, boxes)
    answers = np.array(boxes.answers, dtype=object)
    texts = [set(text.split()) for text in frame[boxes.text]]
    same = [set(answers[row]) == text for row, text in zip(ticks, texts, strict=True)]
    return bool(same) and any(texts) and float(np.mean(same)) >= _SAME_ANSWERS


def _ticks(frame: pd.DataFrame, boxes: Boxes) -> np.ndarray:
    columns = [frame[name].str.lower().isin(_TICKED).to_numpy() for name in boxes.columns]
    return np.stack(columns, axis=1)  # [people, boxes]


def merge_boxes(
    frame: pd.DataFrame, groups: list[Boxes], one_field: tuple[str, ...] | None
) -> tuple[pd.DataFrame, list[str], list[Message]]:
    """Make one field of the groups named in `one_field` (None: of those where hardly anybody ticked two).

    Also returned: the names of those groups, and what was done.
    """
    merged: list[str] = []
    steps: list[Message] = []
    for boxes in groups:
        ticks = _ticks(frame, boxes)
        count = ticks.sum(axis=1)
        several = int((count > 1).sum())
        if one_field is None:
            is_one = several <= _MOST_SEVERAL * max(int((count > 0).sum()), 1)
        else:
            is_one = boxes.name in one_field
        if not is_one:
            frame = frame.drop(columns=[boxes.text] if boxes.text else [])
            columns = first_of(boxes.columns, 3)
            steps.append(note("steps.boxes_apart", question=boxes.name, several=several, columns=columns))
            continue
        values = np.array(boxes.answers, dtype=object)[ticks.argmax(axis=1)]
        values = np.where(count > 1, SEVERAL, np.where(count == 0, NONE, values))
        answered = (frame[list(boxes.columns)] != "").any(axis=1).to_numpy()
        gone = [name for name in (*boxes.columns, boxes.text) if name]
        place = min(list(frame.columns).index(name) for name in gone)
        frame = frame.drop(columns=gone)
        name = boxes.name if boxes.name not in frame.columns else f"{boxes.name} (boxes)"
        frame.insert(place, name, np.where(answered, values, ""))
        merged.append(boxes.name)
        none = int((answered & (count == 0)).sum())
        counts = {"several_name": SEVERAL, "several": several, "none_name": NONE, "none": none}
        steps.append(note("steps.boxes_joined", n=len(boxes.columns), question=boxes.name, **counts))
    return frame, merged, steps


# Programs ---------------------------------------------------------------------------------------------------------


_COMPLETE = {"", "0", "1", "2", "Incomplete", "Unverified", "Complete"}
_MOST_LISTED = 12  # columns that a message lists


@dataclass(frozen=True)
class Preset:
    """What the export of one program looks like; names of columns in lower case."""

    name: str
    marks: list[list[str]]
    """Sets of columns; a file that has all of one set is such an export."""
    own: list[str]
    """Columns of the program itself, as patterns."""
    devices: bool
    """Whether columns about the device and its times are the program's own, too."""
    ids: list[str]
    """Columns of the program that serve as id."""
    dates: list[str]
    """Columns of the program that serve as date."""
    groups: str
    """Characters that separate groups from the names of questions."""

    def owns(self, column: str) -> bool:
        """Tell whether a column is the program's own, which says nothing about people."""
        patterns = self.own + (VOCABULARY["devices"]["columns"] if self.devices else [])
        return re.fullmatch("|".join(patterns), column.lower()) is not None


_PRESETS = {name: Preset(name, **facts) for name, facts in VOCABULARY["programs"].items()}


def preset_of(name: str, frame: pd.DataFrame, source: str) -> Preset | None:
    """Return the preset that was named, or that a table fits; None for a table of no particular program."""
    header = [str(column) for column in frame.columns]
    if name == PLAIN:
        return None
    if name == AUTO:
        return next((preset for preset in _PRESETS.values() if _fits(preset, frame)), None)
    preset = _PRESETS[name]
    if not _fits(preset, frame):
        other = next((other for other in _PRESETS.values() if _fits(other, frame)), None)
        raise DataFileError(
            "recognition.not_preset" if other is None else "recognition.other_preset",
            source=source,
            preset=PRESETS[name],
            columns=["+".join(mark) for mark in preset.marks[:4]],
            header=first_of(header, _MOST_LISTED),
            other=PRESETS[PLAIN if other is None else other.name],
            remedy=Remedy("preset", PLAIN if other is None else other.name),
        )
    return preset


def _fits(preset: Preset, frame: pd.DataFrame) -> bool:
    header = {str(name).lower() for name in frame.columns}
    if any(header.issuperset(mark) for mark in preset.marks):
        return True
    # A classic REDCap project has neither events nor repeats: an id comes first, and each form ends with a mark.
    if preset.name != REDCAP or not len(frame.columns):
        return False
    has_id = str(frame.columns[0]).lower().replace(" ", "_").endswith(("id", "record", "_no", "number"))
    return has_id and bool(completion_marks(frame))


def completion_marks(frame: pd.DataFrame) -> list[str]:
    """Return REDCap's columns that say whether a form is complete."""
    names = [name for name in map(str, frame.columns) if name.lower().endswith(("_complete", "complete?"))]
    return [name for name in names if set(frame[name]) <= _COMPLETE]


def own_columns(preset: Preset, frame: pd.DataFrame) -> set[str]:
    """Return the columns of the program itself, which say nothing about people."""
    own = {name for name in map(str, frame.columns) if preset.owns(name)}
    if preset.name == REDCAP:
        own |= set(completion_marks(frame))
        own |= {name for name in map(str, frame.columns) if name.lower().endswith(("_timestamp", "survey timestamp"))}
    return own


def without_groups(preset: Preset, header: Sequence[str], boxes: Sequence[Boxes] = ()) -> dict[str, str]:
    """Return shorter names for columns that begin with their groups, where the question's own name is unique.

    Checkboxes keep the name of their question: `about/drugs/heroin` becomes `drugs/heroin`.
    """
    if not preset.groups:
        return {}
    cut = re.compile(f"[{re.escape(preset.groups)}]")
    leaves = {name: cut.split(name)[-1].strip() for name in header if not preset.owns(name)}
    for group in boxes:
        question = cut.split(group.name)[-1].strip()
        leaves |= {
            column: f"{question}/{answer}"
            for column, answer in zip(group.columns, group.answers, strict=True)
            if column in leaves and column != group.name + "_" + answer
        }
    taken = [leaf for name, leaf in leaves.items()] + [name for name in header if name not in leaves]
    return {name: leaf for name, leaf in leaves.items() if leaf and leaf != name and taken.count(leaf) == 1}
