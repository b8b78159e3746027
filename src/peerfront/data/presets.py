"""How the exports of the usual programs look: REDCap, Kobo, ODK Central and SurveyCTO.

A preset is found by columns that only its program writes. It knows which columns are the program's own (submission ids,
devices, completion marks), which of them serve as id and date where the study has none, and how groups stand in names.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from peerfront.data.checkboxes import Boxes
from peerfront.data.read_settings import AUTO, KOBO, ODK, PLAIN, PRESETS, REDCAP, SURVEYCTO
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.messages import Remedy, first_of

_DEVICE = (
    "start", "end", "today", "deviceid", "device_id", "subscriberid", "simid", "simserial", "phonenumber",
    "devicephonenum", "username", "imei", "audit",
)  # fmt: skip
_COMPLETE = {"", "0", "1", "2", "Incomplete", "Unverified", "Complete"}
_MOST_LISTED = 12  # columns that a message lists


@dataclass(frozen=True)
class Preset:
    """What the export of one program looks like."""

    name: str
    marks: tuple[frozenset[str], ...]
    """Sets of columns in lower case; a file that has all of one set is such an export."""
    own: re.Pattern[str]
    """Columns of the program itself, in lower case."""
    ids: tuple[str, ...] = ()
    """Columns of the program that serve as id, in lower case."""
    dates: tuple[str, ...] = ()
    """Columns of the program that serve as date, in lower case."""
    groups: str = ""
    """Characters that separate groups from the names of questions."""


def _any_of(*names: str) -> re.Pattern[str]:
    return re.compile("|".join(names))


_PRESETS = {
    REDCAP: Preset(
        REDCAP,
        (
            frozenset({"redcap_event_name"}),
            frozenset({"redcap_repeat_instrument"}),
            frozenset({"redcap_repeat_instance"}),
            frozenset({"redcap_survey_identifier"}),
            frozenset({"redcap_data_access_group"}),
            frozenset({"record id", "event name"}),
            frozenset({"record id", "repeat instrument"}),
        ),
        _any_of(
            "redcap_(?!data_access_group).*", "event name", "repeat instrument", "repeat instance", "survey identifier",
        ),
    ),
    KOBO: Preset(
        KOBO,
        (frozenset({"_uuid", "_submission_time"}), frozenset({"_uuid", "_id", "_index"})),
        _any_of("_.*", "formhub/.*", "meta/.*", *_DEVICE),
        ids=("_uuid", "_id"),
        dates=("today", "_submission_time", "start"),
        groups="/",
    ),
    SURVEYCTO: Preset(
        SURVEYCTO,
        (
            frozenset({"submissiondate", "formdef_version", "key"}),
            frozenset({"submissiondate", "instanceid", "starttime"}),
        ),
        _any_of(
            "submissiondate", "completiondate", "starttime", "endtime", "duration", "caseid", "instanceid",
            "instancename", "formdef_version", "key", "set-of-.*", "review_.*", "text_audit.*", *_DEVICE,
        ),
        ids=("key", "instanceid"),
        dates=("today", "submissiondate", "starttime"),
        groups="/-",
    ),
    ODK: Preset(
        ODK,
        (
            frozenset({"submissiondate", "key"}),
            frozenset({"submissiondate", "meta-instanceid"}),
            frozenset({"__id", "__system/submissiondate"}),
            frozenset({"meta:instanceid", "submissiondate"}),
        ),
        _any_of(
            "submissiondate", "key", "submitterid", "submittername", "attachmentspresent", "attachmentsexpected",
            "status", "reviewstate", "edits", "formversion", "meta[-:/].*", "__.*", "instanceid", "instancename",
            *_DEVICE,
        ),
        ids=("key", "meta-instanceid", "__id"),
        dates=("today", "submissiondate", "start"),
        groups="/-:",
    ),
}  # fmt: skip


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
            columns=["+".join(sorted(mark)) for mark in preset.marks[:4]],
            header=first_of(header, _MOST_LISTED),
            other=PRESETS[PLAIN if other is None else other.name],
            remedy=Remedy("preset", PLAIN if other is None else other.name),
        )
    return preset


def _fits(preset: Preset, frame: pd.DataFrame) -> bool:
    header = {str(name).lower() for name in frame.columns}
    if any(mark <= header for mark in preset.marks):
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
    own = {name for name in map(str, frame.columns) if preset.own.fullmatch(name.lower())}
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
    leaves = {name: cut.split(name)[-1].strip() for name in header if not preset.own.fullmatch(name.lower())}
    for group in boxes:
        question = cut.split(group.name)[-1].strip()
        leaves |= {
            column: f"{question}/{answer}"
            for column, answer in zip(group.columns, group.answers, strict=True)
            if column in leaves and column != group.name + "_" + answer
        }
    taken = [leaf for name, leaf in leaves.items()] + [name for name in header if name not in leaves]
    return {name: leaf for name, leaf in leaves.items() if leaf and leaf != name and taken.count(leaf) == 1}
