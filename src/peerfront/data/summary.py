"""A study in numbers: how many, how deep, how many coupons came back, and what is missing."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from peerfront.data.study import Study
from peerfront.data.trees import NOBODY


@dataclass(frozen=True)
class Summary:
    """Everything that `peerfront check` says about a study, ready to print or to save."""

    source: str
    people: int
    seeds: int
    recruiter_unknown: int
    waves: int
    """The deepest wave; seeds are wave 0."""
    coupons_issued: int
    coupons_redeemed: int
    """People who came with a coupon whose holder is known."""
    still_open: int
    """People whose coupons may still be used."""
    triples: int
    """People who say how many one can bring."""
    pairs: int
    """Recruits whose recruiter is known."""
    recruits_per_person: dict[int, int]
    coupons_per_person: dict[int, int]
    people_per_wave: dict[int, int]
    trees: pd.DataFrame  # one row per root, largest first: seed, people, waves
    missing: dict[str, int]
    """Missing values by column."""

    @property
    def facts(self) -> list[tuple[str, int]]:
        """The single numbers, with words for each."""
        return [
            ("people", self.people),
            ("seeds", self.seeds),
            ("recruiter unknown", self.recruiter_unknown),
            ("deepest wave", self.waves),
            ("coupons issued", self.coupons_issued),
            ("coupons redeemed", self.coupons_redeemed),
            ("coupons may still be open (people)", self.still_open),
            ("people who show how many one brings", self.triples),
            ("recruiter-recruit pairs", self.pairs),
        ]

    def table(self) -> pd.DataFrame:
        """All of it as one tidy table: what, of which, number."""
        rows: list[tuple[str, str, int]] = [(what, "", number) for what, number in self.facts]
        distributions = {
            "people with this many recruits": self.recruits_per_person,
            "people with this many coupons": self.coupons_per_person,
            "people in this wave": self.people_per_wave,
        }
        for what, counts in distributions.items():
            rows += [(what, str(value), count) for value, count in counts.items()]
        sizes = zip(self.trees["seed"], self.trees["people"], strict=True)
        rows += [("people in the tree of", str(seed), int(people)) for seed, people in sizes]
        rows += [("missing values in", name, count) for name, count in self.missing.items()]
        return pd.DataFrame(rows, columns=["what", "of which", "number"])

    def as_json(self) -> str:
        content = {
            "file": self.source,
            **dict(self.facts),
            "recruits per person": self.recruits_per_person,
            "coupons per person": self.coupons_per_person,
            "people per wave": self.people_per_wave,
            "trees": self.trees.to_dict("records"),
            "missing values": self.missing,
        }
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def summarise(study: Study) -> Summary:
    """Count everything once."""
    came = study.recruiter != NOBODY
    trees = study.trees
    by_root = pd.DataFrame({"root": trees.root, "wave": trees.wave}).groupby("root")["wave"].agg(["size", "max"])
    roots = by_root.index.to_numpy(dtype=np.int64)
    sizes = pd.DataFrame(
        {
            "seed": study.ids[roots],
            "people": by_root["size"].to_numpy(),
            "waves": by_root["max"].to_numpy(),
            "seed known": study.seed[roots],
        }
    ).sort_values("people", ascending=False, kind="stable", ignore_index=True)
    return Summary(
        source=study.source,
        people=len(study),
        seeds=int(study.seed.sum()),
        recruiter_unknown=int(study.orphan.sum()),
        waves=int(trees.wave.max(initial=0)),
        coupons_issued=int(study.issued.sum()),
        coupons_redeemed=int(came.sum()),
        still_open=int(study.still_open.sum()),
        triples=int(study.informative.sum()),
        pairs=int(came.sum()),
        recruits_per_person=_counts(study.recruits),
        coupons_per_person=_counts(study.issued),
        people_per_wave=_counts(trees.wave),
        trees=sizes,
        missing={str(name): int((study.people[name] == "").sum()) for name in study.people.columns},
    )


def _counts(values: np.ndarray) -> dict[int, int]:
    return {int(value): int(count) for value, count in zip(*np.unique(values, return_counts=True), strict=True)}
