"""A study as its file states it: people, who recruited whom, coupons issued and redeemed, everything else as text.

`Study` holds one entry per person in every array, and `Summary` counts what `peerfront check` prints. What there is on
a day (open coupons, people waiting) is worked out in `study_calendar`.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date as calendar_date
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.problems import ERROR, Problem
from peerfront.data.read.listing import Texts
from peerfront.data.read.read_settings import Columns, ReadSettings
from peerfront.data.study_calendar import open_table, study_as_of, waiting_people
from peerfront.foundation.checked_calls import checked_class
from peerfront.foundation.errors import check_extra
from peerfront.foundation.messages import Message, note
from peerfront.foundation.recruitment_trees import NOBODY as NOBODY
from peerfront.foundation.recruitment_trees import Trees
from peerfront.foundation.recruitment_trees import trees_of as trees_of

if TYPE_CHECKING:
    import networkx as nx


@checked_class
@dataclass(frozen=True, eq=False)
class Study:
    """A checked study, as `read_study` makes it; one entry per person in every array.

    >>> study = pf.read_study(pf.demo_study(people=120).study)
    >>> int(study.issued.max()), int(study.recruits.max()) <= 3
    (3, True)
    >>> list(study.waiting.columns)[:3]  # the people who may get coupons now
    ['id', 'date', 'gender']
    """

    source: str
    """Name of the file."""
    format: str
    place: str
    """What an entry is called in the file: row, line or record."""
    settings: ReadSettings
    """The settings it was read with."""
    columns: Columns
    """Which column of the file is what."""
    rows: NDArray[np.int64]  # [people], place in the file
    ids: Texts  # [people]
    recruiter: NDArray[np.int64]  # [people], index; -1 for seeds and where it is not known
    seed: NDArray[np.bool_]  # [people]
    issued: NDArray[np.int64]  # [people], coupons issued, k
    people: pd.DataFrame  # [people, columns], text; "" where nothing is known
    days: NDArray[np.float64] | None  # [people], date in days; nan where it is not known
    network_size: NDArray[np.float64] | None  # [people]; nan where it is not known
    own_coupons: Texts | None  # [people], as they were issued
    coupons: Texts | None  # [people, slots], as in the file
    still_open: NDArray[np.bool_]  # [people], whether their coupons may still be used
    problems: tuple[Problem, ...]
    steps: tuple[Message, ...] = ()
    """What was done and assumed to bring the file into this shape."""
    not_known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Codes such as 99 that were taken for "not known", by column; they are empty in `people`."""
    day: float | None = None
    """The day the study is seen, in the unit of `days`: the file's last date, or that of `as_of`; None: no dates."""
    issued_days: NDArray[np.float64] | None = None
    """[people], when coupons were issued, in whole days; nan where nobody knows or none were. None without dates."""
    issue_known: NDArray[np.bool_] | None = None
    """[people], whether a column or a log says when; otherwise the day they took part stands for it. None: no dates."""
    redeemed_days: NDArray[np.float64] | None = None
    """[people], when people came with a coupon, in whole days; nan where nobody knows or they had none."""
    valid_days: NDArray[np.float64] | None = None
    """[people], days from issue to expiry; inf where coupons never expire, nan where the date of issue is not known."""
    numbered_days: bool = False
    """Whether the file numbers its days instead of giving dates."""
    other_dates: tuple[str, ...] = ()
    """Where no column was read as the day people took part: columns of dates that may be it, the likeliest first."""
    cut: bool = False
    """Whether something that came after `day` was left out (`as_of`)."""
    listed: NDArray[np.bool_] | None = None
    """[people], whether they were on a sheet of the study's log, or came after the last one. None without a log."""
    coupons_left: int | None = None
    """Coupons left to give out on the study's day by its log; None without one, or on an earlier day."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def recruits(self) -> NDArray[np.int64]:
        """Number of recruits of each person, y, [people]."""
        return np.bincount(self.recruiter[self.recruiter != NOBODY], minlength=len(self)).astype(np.int64)

    @cached_property
    def trees(self) -> Trees:
        return trees_of(self.recruiter)

    @property
    def orphan(self) -> NDArray[np.bool_]:
        """People who were recruited, and whose recruiter is not known, [people]."""
        return np.asarray((self.recruiter == NOBODY) & ~self.seed)

    @property
    def informative(self) -> NDArray[np.bool_]:
        """People with usable recruitment counts, [people].

        They had coupons, these can no longer be used, and no more recruits came than there were coupons. All people
        with open coupons are left out, also those whose coupons are used up: keeping only these would make recruiting
        look easier than it is.
        """
        return (self.issued > 0) & (self.recruits <= self.issued) & ~self.still_open

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity != ERROR)

    @property
    def problem_kinds(self) -> dict[str, int]:
        """What reading noticed: kinds of problems and their numbers, the most frequent first."""
        return dict(Counter(problem.kind for problem in self.problems).most_common())

    @property
    def network_column(self) -> str | None:
        return self.columns.get("network_size", (None,))[0]

    def recruiter_ids(self) -> Texts:
        """Ids of recruiters, "" for nobody, [people]."""
        ids: Texts = np.append(self.ids, "")[self.recruiter]  # -1 is the last one
        return ids

    def table(self) -> pd.DataFrame:
        """Return one row per person: the tree, the counts, then the columns of the file."""
        tree = pd.DataFrame(
            {
                "id": self.ids,
                "recruiter": self.recruiter_ids(),
                "seed": self.seed,
                "wave": self.trees.wave,
                "coupons issued": self.issued,
                "recruits": self.recruits,
            }
        )
        named = {name: f"{name} (file)" for name in self.people.columns if name in tree.columns}
        return pd.concat([tree, self.people.rename(columns=named)], axis=1)

    @property
    def waiting(self) -> pd.DataFrame:
        """The people who may get coupons now, one row each: their id and the columns of the file.

        They took part since the last coupons were issued, by date or else in the order of the file, and have none. A
        column of yes and no (`waiting`) says it better; and where `still_open` says whose coupons may still be used,
        it is these people. See `study_calendar.waiting_people`.
        """
        here = np.flatnonzero(waiting_people(self)[0])
        ids = pd.DataFrame({self.columns.get("id", ("id",))[0]: self.ids[here]}, dtype=object)
        people = self.people.drop(columns=ids.columns, errors="ignore").iloc[here].reset_index(drop=True)
        return pd.concat([ids, people], axis=1)

    @property
    def open(self) -> pd.DataFrame:
        """Holders of coupons that can still be used on `day`: id, coupons, used, open, issued, age (days), expires.

        >>> study = pf.read_study(pf.demo_study(people=120).study)
        >>> list(study.open.columns)
        ['id', 'coupons', 'used', 'open', 'issued', 'age', 'expires']
        """
        return open_table(self)

    def as_of(self, date: str | calendar_date) -> "Study":
        """The study as it was seen in the evening of a day, such as 2024-05-31.

        People who took part later are not in it, coupons issued later are not issued, and what is open is as it was.

        >>> study = pf.read_study(pf.demo_study(people=120).study)
        >>> len(study.as_of("2024-01-20")) < len(study)
        True
        """
        return study_as_of(self, date)

    def _repr_html_(self) -> str:
        return str(import_module("peerfront.words.study_check").study_html(self))

    def graph(self) -> "nx.DiGraph[str]":
        """Return the recruitment trees, an edge from recruiter to recruit; people carry their columns."""
        check_extra("networkx", note("extras.graphs"), "research")
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        for person, record in zip(
            self.ids, self.table().drop(columns=["id", "recruiter"]).to_dict("records"), strict=True
        ):
            graph.add_node(str(person), **{str(name): value for name, value in record.items()})
        came = self.recruiter != NOBODY
        graph.add_edges_from(zip(self.recruiter_ids()[came], self.ids[came], strict=True))
        return graph


@dataclass(frozen=True)
class Summary:
    """What `peerfront check` counts in a study."""

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
    """People with usable recruitment counts (x, k, y); see `Study.informative`."""
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
            ("people with usable recruitment counts", self.triples),
            ("recruiter-recruit pairs", self.pairs),
        ]

    def table(self) -> pd.DataFrame:
        """Return everything as one tidy table: what, of which, number."""
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
    """Count what there is in a study."""
    recruited = study.recruiter != NOBODY
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
        coupons_redeemed=int(recruited.sum()),
        still_open=int(study.still_open.sum()),
        triples=int(study.informative.sum()),
        pairs=int(recruited.sum()),
        recruits_per_person=_counts(study.recruits),
        coupons_per_person=_counts(study.issued),
        people_per_wave=_counts(trees.wave),
        trees=sizes,
        missing={str(name): int(count) for name, count in (study.people == "").sum().items()},
    )


def _counts(values: np.ndarray) -> dict[int, int]:
    return {int(value): int(count) for value, count in zip(*np.unique(values, return_counts=True), strict=True)}
