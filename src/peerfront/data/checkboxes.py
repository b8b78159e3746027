"""Checkboxes: questions with several answers, exported as a column of ticks for each of them.

REDCap writes `race___1`, `race___2` (or `Race (choice=White)`), Kobo and ODK `race/white` beside `race` with all
answers in one text, SurveyCTO `race_1` beside it. Where hardly anybody ticked two boxes they are one question with one
answer: a field whose values are the answers, `several` for more than one, and `none`. Otherwise each box is a field of
its own.
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from peerfront.foundation.messages import Message, first_of, note

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
    return _named(frame, header) if named else _beside_a_text(frame, header)


def _named(frame: pd.DataFrame, header: list[str]) -> list[Boxes]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for name in header:
        match = _REDCAP.fullmatch(name)
        if match and _are_ticks(frame[name]):
            groups.setdefault(match[1] or match[3], []).append((name, match[2] or match[4]))
    return [_boxes(name, boxes) for name, boxes in groups.items() if len(boxes) > 1]


def _beside_a_text(frame: pd.DataFrame, header: list[str]) -> list[Boxes]:
    ticks = [name for name in header if _are_ticks(frame[name])]
    found = []
    for text in header:
        boxes = [(name, name[len(text) + 1 :]) for name in ticks if re.fullmatch(re.escape(text) + r"[/_-].+", name)]
        if len(boxes) > 1:
            group = _boxes(text, boxes, text)
            if _agree(frame, group):
                found.append(group)
    return found


def _boxes(name: str, boxes: list[tuple[str, str]], text: str | None = None) -> Boxes:
    return Boxes(name, tuple(column for column, _ in boxes), tuple(answer for _, answer in boxes), text)


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
        steps.append(
            note(
                "steps.boxes_joined",
                n=len(boxes.columns),
                question=boxes.name,
                several_name=SEVERAL,
                several=several,
                none_name=NONE,
                none=none,
            )
        )
    return frame, merged, steps
