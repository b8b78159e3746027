"""What changed in a study's file since last week, and what was handed out against the plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from peerfront.data.study import Study
from peerfront.foundation.words import counted, n_coupons, n_people

_LISTED = 8  # ids in one sentence


def snapshot(study: Study) -> pd.DataFrame:
    """What next week is compared with: id, recruiter, seed, issued, recruits."""
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
    """Last week's plan against what the file now says was handed out."""

    table: pd.DataFrame
    """person, planned, given; given is missing (NaN) for people who are no longer in the file."""
    unplanned: pd.DataFrame
    """person, given: people who got coupons without being on the sheet."""

    def lines(self) -> list[str]:
        """The comparison in words."""
        if not len(self.table):
            return ["Last week nobody was waiting, so there was no sheet to follow."]
        known = self.table.dropna()
        right = known["planned"] == known["given"]
        planned, given = int(known["planned"].sum()), int(known["given"].sum())
        lines = [
            f"Last week's sheet: {n_coupons(planned)} planned for {n_people(len(known))}, {given:,} handed out; "
            f"{int(right.sum()):,} of {len(known):,} as planned."
        ]
        wrong = known[~right]
        not_yet = wrong[wrong["given"] == 0]
        if len(not_yet):
            lines.append(
                f"  Nothing yet for {_named(not_yet['person'])}: they are waiting still, and are on this week's sheet."
            )
        other = wrong[wrong["given"] > 0]
        if len(other):
            shown = [f"{who} ({given:.0f}, planned {planned})" for who, planned, given in _rows(other)]
            lines.append(f"  Another number: {_listed(shown)}.")
        if len(self.unplanned):
            shown = [f"{who} ({given})" for who, given in _rows(self.unplanned)]
            lines.append(f"  Not on the sheet, and got coupons: {_listed(shown)}.")
        return lines

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
    """Coupons handed out since."""
    lost: tuple[str, ...]
    """Ids that were in last week's file and are not in this one."""
    different: tuple[str, ...]
    """Facts about people that were different last week, in sentences."""

    @property
    def people(self) -> int:
        return self.seeds + self.recruits

    def lines(self) -> list[str]:
        """The changes in words."""
        came = f"{counted(self.recruits, 'recruit', 'recruits')}, {counted(self.seeds, 'seed', 'seeds')}"
        lines = [f"New since last week: {came}; {n_coupons(self.issued)} handed out."]
        if self.lost:
            lines.append(
                f"Warning: {n_people(len(self.lost))} of last week's file {'is' if len(self.lost) == 1 else 'are'} "
                f"missing: {_listed(self.lost)}. Rows that are lost take their recruits and coupons with them; restore "
                "them, unless they withdrew."
            )
        if self.different:
            lines.append("Changed since last week: " + "; ".join(self.different[:_LISTED]) + _more(self.different))
        return lines


def changes_since(before: pd.DataFrame, study: Study) -> Changes:
    """Compare a file with last week's `snapshot`."""
    now = snapshot(study).set_index("id")
    then = before.set_index("id")
    new = now.index.difference(then.index, sort=False)
    both = then.index.intersection(now.index, sort=False)
    old, same = then.loc[both], now.loc[both]
    different = [
        f"{who} has {n_coupons(has)}, last week {had}"
        for who, has, had in zip(both, same["issued"].tolist(), old["issued"].tolist(), strict=True)
        if has < had
    ] + [
        f"{who} is a recruit of {now_of or 'nobody'}, last week of {then_of or 'nobody'}"
        for who, now_of, then_of in zip(both, same["recruiter"].tolist(), old["recruiter"].tolist(), strict=True)
        if now_of != then_of
    ]
    more = (same["issued"] - old["issued"]).clip(lower=0).sum() + now.loc[new, "issued"].sum()
    seeds = int(now.loc[new, "seed"].sum())
    return Changes(
        seeds=seeds,
        recruits=len(new) - seeds,
        issued=int(more),
        lost=tuple(str(person) for person in then.index.difference(now.index, sort=False)),
        different=tuple(different),
    )


def handed_out(decisions: Sequence[Mapping[str, Any]], before: pd.DataFrame, study: Study) -> HandedOut:
    """Compare last week's decisions with the coupons that the file now says people have."""
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
    return HandedOut(table, unplanned)


def _rows(table: pd.DataFrame) -> list[list[Any]]:
    return table.to_numpy(dtype=object).tolist()


def _named(people: "pd.Series[Any]") -> str:
    return _listed([str(person) for person in people])


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(texts[:_LISTED]) + _more(texts)


def _more(texts: Sequence[str]) -> str:
    return f" and {len(texts) - _LISTED:,} more" if len(texts) > _LISTED else ""
