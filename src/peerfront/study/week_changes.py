"""Compare a study's file with earlier weeks: what changed, what was handed out, who waits, which coupons are left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from peerfront.data.read.dates import EPOCH, date_text
from peerfront.data.read.read_settings import ReadSettings
from peerfront.data.reading import read_study
from peerfront.data.study import Study
from peerfront.data.study_calendar import issued_since
from peerfront.foundation.errors import DamagedFile, SettingError
from peerfront.foundation.files import decoded, file_bytes
from peerfront.foundation.messages import Remedy, note
from peerfront.foundation.own_files import sha256_of
from peerfront.foundation.text_tables import read_table
from peerfront.study.log_lines import Week
from peerfront.study.study_folder import LOG, StudyFolder, folder_beside

_NUMBERS = ("seed", "issued", "recruits")
_COLUMNS = ("id", "recruiter", *_NUMBERS)


def snapshot(study: Study) -> pd.DataFrame:
    """The people of this week, kept to compare next week with: id, recruiter, seed, issued, recruits."""
    return pd.DataFrame(
        {
            "id": study.ids,
            "recruiter": study.recruiter_ids(),
            "seed": study.seed.astype(np.int64),
            "issued": study.issued,
            "recruits": study.recruits,
        }
    )


@dataclass(frozen=True, eq=False)
class HandedOut:
    """Last week's plan, and what was handed out according to the file."""

    table: pd.DataFrame
    """person, planned, given; given is missing (NaN) for people who are no longer in the file."""
    unplanned: pd.DataFrame
    """person, given: people who got coupons but were not on the sheet."""
    assumed: bool = False
    """Whether the sheet counts as followed, because the file has no column of coupons."""

    def entries(self, week: int) -> list[dict[str, Any]]:
        """Lines for the log."""
        planned = [
            {"week": week, "person": who, "planned": int(planned), "given": None if np.isnan(given) else int(given)}
            for who, planned, given in _rows(self.table)
        ]
        return planned + [
            {"week": week, "person": who, "planned": None, "given": int(given)} for who, given in _rows(self.unplanned)
        ]


@dataclass(frozen=True)
class Changes:
    """What is new, gone or different in the file since last week."""

    seeds: int
    recruits: int
    issued: int
    """Coupons handed out since last week."""
    lost: tuple[str, ...]
    """Ids of last week's file that are missing in this one."""
    fewer_coupons: tuple[tuple[str, int, int], ...]
    """Person, coupons now, coupons last week: people with fewer coupons than last week."""
    other_recruiter: tuple[tuple[str, str, str], ...]
    """Person, recruiter now, recruiter last week (empty: nobody): people whose recruiter has changed."""

    @property
    def people(self) -> int:
        """People who are new in the file."""
        return self.seeds + self.recruits


def changes_since(before: pd.DataFrame, study: Study) -> Changes:
    """Compare a file with last week's `snapshot`."""
    now = snapshot(study).set_index("id")
    then = before.set_index("id")
    new = now.index.difference(then.index, sort=False)
    both = then.index.intersection(now.index, sort=False)
    old, same = then.loc[both], now.loc[both]
    coupons = zip(both, same["issued"].tolist(), old["issued"].tolist(), strict=True)
    recruiters = zip(both, same["recruiter"].tolist(), old["recruiter"].tolist(), strict=True)
    more = (same["issued"] - old["issued"]).clip(lower=0).sum() + now.loc[new, "issued"].sum()
    seeds = int(now.loc[new, "seed"].sum())
    return Changes(
        seeds=seeds,
        recruits=len(new) - seeds,
        issued=int(more),
        lost=tuple(str(person) for person in then.index.difference(now.index, sort=False)),
        fewer_coupons=tuple((str(who), has, had) for who, has, had in coupons if has < had),
        other_recruiter=tuple(
            (str(who), new_one, old_one) for who, new_one, old_one in recruiters if new_one != old_one
        ),
    )


def handed_out(decisions: Sequence[Mapping[str, Any]], before: pd.DataFrame, study: Study) -> HandedOut:
    """Compare last week's decisions with the coupons that people have according to the file."""
    now = pd.Series(study.issued, index=study.ids)
    people = [str(entry["person"]) for entry in decisions]
    table = pd.DataFrame(
        {
            "person": pd.Series(people, dtype=object),
            "planned": [int(entry["planned"]) for entry in decisions],
            "given": now.reindex(people).to_numpy(dtype=np.float64),
        }
    )
    had = before.set_index("id")["issued"].reindex(now.index).fillna(0)
    off_sheet = now[(now > had) & ~now.index.isin(people)] - had[(now > had) & ~now.index.isin(people)]
    unplanned = pd.DataFrame({"person": off_sheet.index.astype(object), "given": off_sheet.to_numpy(dtype=np.int64)})
    return HandedOut(table, unplanned, study.settings.coupons_each is not None)


def read_running_study(file: Path | str, settings: ReadSettings, *folders: Path, newest: bool = False) -> Study:
    """Read a study's file, and when coupons were handed out from the log in its usual folder or one of `folders`.

    `newest` refuses a file that is older than the log, as `week` does.
    """
    study = read_study(file, settings)
    for folder in (folder_beside(Path(file)), *folders):
        if (folder / LOG).exists():
            kept = StudyFolder(folder)
            if newest and kept.last is not None:
                before, last_date = people_of_week(kept, kept.last), last_date_of(study)
                check_newest(
                    kept, study.source, digest_of(Path(file)), last_date, changes_since(before, study), len(before)
                )
            return with_hand_outs(study, kept)
    return study


def last_date_of(study: Study) -> str:
    """The last date of a file; empty without dates."""
    return "" if study.day is None else date_text(study.day, study.numbered_days)


def digest_of(file: Path) -> str:
    """A checksum of a file, by which the log knows it again."""
    return sha256_of(file_bytes(file))[:16]


def check_newest(kept: StudyFolder, file: str, digest: str, last_date: str, changes: Changes, before: int) -> None:
    """Refuse a file that is older than the last week's, or that is another study's; `before` are the people there."""
    *earlier, last = kept.weeks
    undo = Remedy("undo", True)
    if digest != last.facts["digest"]:
        for week in earlier:
            if week.facts["digest"] == digest:
                raise SettingError("week.file_of_week", file=file, number=week.number, day=week.day, undo=undo)
    if 2 * len(changes.lost) > before:
        raise SettingError(
            "week.another_study",
            file=file,
            lost=len(changes.lost),
            before=before,
            day=last.day,
            folder=Remedy("folder", "FOLDER"),
        )
    is_older = last_date < last.facts.get("last_date", "") and not changes.people and not changes.issued
    if is_older and (changes.lost or changes.fewer_coupons):
        raise SettingError(
            "week.older_file", file=file, last=last_date, day=last.day, before=last.facts["last_date"], undo=undo
        )


def with_hand_outs(study: Study, kept: StudyFolder) -> Study:
    """The study with the hand-outs of its log.

    Whoever has coupons now, and had none when a sheet was made, got them by that sheet or later: they were issued on
    its day, unless the file names a later one. Where the file has no column of coupons, sheets count as followed. Who
    was on a sheet, or came after the last one, waits for coupons until there are some.
    """
    weeks = [(float((date.fromisoformat(week.day) - EPOCH).days), people_of_week(kept, week)) for week in kept.weeks]
    if weeks and study.settings.coupons_each is not None:
        before = set(weeks[0][1]["id"])
        planned = {str(entry["person"]): int(entry["planned"]) for week in kept.weeks for entry in week.decisions}
        each = study.settings.coupons_each
        numbers = [planned.get(person, each if person in before else 0) for person in study.ids.tolist()]
        study = replace(study, issued=np.maximum(numbers, study.recruits))
    if weeks:
        on_sheets = [str(entry["person"]) for week in kept.weeks for entry in week.decisions]
        listed = np.isin(study.ids, np.array(on_sheets, dtype=object)) | ~np.isin(study.ids, weeks[-1][1]["id"])
        left = int(kept.weeks[-1].facts["order"]["budget"]) - _handed_out_in_all(kept, study)
        study = replace(study, listed=listed, coupons_left=max(left, 0))
    without: dict[str, float] = {}
    had: set[str] = set()
    for day, people in weeks:
        had |= set(people.loc[people["issued"] > 0, "id"])
        without |= {person: day for person in people["id"] if person not in had}
    return issued_since(study, np.array([without.get(person, np.nan) for person in study.ids.tolist()]))


def _rows(table: pd.DataFrame) -> list[list[Any]]:
    return table.to_numpy(dtype=object).tolist()


def people_of_week(kept: StudyFolder, week: Week) -> pd.DataFrame:
    """The `snapshot` of an earlier week."""
    path, content = kept.people_of(week)
    table = read_table(path, decoded(path, content)[0]).frame
    ids = set(table["id"]) if "id" in table else set()
    fits = tuple(table.columns) == _COLUMNS and len(ids) == len(table) and "" not in ids
    if not fits or not table[list(_NUMBERS)].apply(lambda column: column.str.fullmatch("[0-9]{1,9}")).all(axis=None):
        raise DamagedFile(path, note("week.no_people_of_week", columns=_COLUMNS))
    return table.astype(dict.fromkeys(_NUMBERS, "int64"))


@dataclass(frozen=True)
class CouponsLeft:
    """Coupons left to give out."""

    left: int
    budget: int
    """All coupons of the study, later additions included."""
    of_missing: int
    """Coupons of people who are no longer in the file: they count as handed out."""


def coupons_left(kept: StudyFolder, study: Study, budget: int) -> CouponsLeft:
    """Count the coupons left since the first week; refuse a file by which more were handed out than there were."""
    of_missing, used = sum(_coupons_of_missing(kept, study).values()), _handed_out_in_all(kept, study)
    if used > budget and of_missing:
        raise SettingError(
            "week.too_many_and_missing",
            used=used, budget=budget, missing=of_missing, remedy=Remedy("more_coupons"),
        )  # fmt: skip
    if used > budget:
        raise SettingError("week.too_many_handed_out", used=used, budget=budget, remedy=Remedy("more_coupons"))
    return CouponsLeft(budget - used, budget, of_missing)


def _handed_out_in_all(kept: StudyFolder, study: Study) -> int:
    """Coupons handed out since the first week, with those of people who are no longer in the file."""
    if not kept.weeks:
        return 0
    now = dict(zip(study.ids.tolist(), study.issued.tolist(), strict=True)) | _coupons_of_missing(kept, study)
    # Person by person: a cell that was erased, of coupons from before the first week, gives no coupons back.
    begun = people_of_week(kept, kept.weeks[0]).set_index("id")["issued"].to_dict()
    return sum(max(issued - begun.get(person, 0), 0) for person, issued in now.items())


def _coupons_of_missing(kept: StudyFolder, study: Study) -> dict[str, int]:
    """Coupons of people who were in an earlier week's file, or on its sheet, and are not in this one, by id."""
    had: dict[str, int] = {}
    for week in kept.weeks:
        people = people_of_week(kept, week)
        had |= dict(zip(people["id"].tolist(), people["issued"].tolist(), strict=True))
        had |= {str(entry["person"]): int(entry["planned"]) for entry in week.decisions if entry["planned"]}
    here = set(study.ids.tolist())
    return {person: issued for person, issued in had.items() if person not in here}
