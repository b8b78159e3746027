"""A study as its file tells it: people, who recruited whom, coupons issued and redeemed, everything else as text."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.listing import Texts
from peerfront.data.problems import ERROR, Problem
from peerfront.data.read_settings import Columns, ReadSettings
from peerfront.data.trees import NOBODY, Trees, trees_of

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, eq=False)
class Study:
    """One entry per person in every array. `peerfront.data.read_study` makes it, checked."""

    source: str
    """Name of the file."""
    format: str
    place: str
    """What an entry is called in the file: row, line or record."""
    settings: ReadSettings
    """How it was read, guesses included, so that it can be read so again."""
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
    own_coupons: Texts | None  # [people], as in the file
    coupons: Texts | None  # [people, slots], as in the file
    still_open: NDArray[np.bool_]  # [people], whether their coupons may still be used
    problems: tuple[Problem, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def recruits(self) -> NDArray[np.int64]:
        """How many people each person recruited, y, [people]."""
        return np.bincount(self.recruiter[self.recruiter != NOBODY], minlength=len(self)).astype(np.int64)

    @cached_property
    def trees(self) -> Trees:
        return trees_of(self.recruiter)

    @property
    def orphan(self) -> NDArray[np.bool_]:
        """People who were recruited by somebody, and nobody knows by whom, [people]."""
        return np.asarray((self.recruiter == NOBODY) & ~self.seed)

    @property
    def informative(self) -> NDArray[np.bool_]:
        """People whose coupons say how many they can bring, [people].

        They had coupons, those coupons can no longer be used, and no more people came with them than there were. All
        people with open coupons are left out, also those whose coupons are used up: keeping only these would make
        recruiting look easier than it is.
        """
        return (self.issued > 0) & (self.recruits <= self.issued) & ~self.still_open

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity != ERROR)

    @property
    def date_column(self) -> str | None:
        return self.columns.get("date", (None,))[0]

    @property
    def network_column(self) -> str | None:
        return self.columns.get("network_size", (None,))[0]

    def recruiter_ids(self) -> Texts:
        """Ids of recruiters, "" for nobody, [people]."""
        found: Texts = np.append(self.ids, "")[self.recruiter]  # -1 is the last one
        return found

    def table(self) -> pd.DataFrame:
        """One row per person: the tree, the counts, then the columns of the file."""
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

    def graph(self) -> "nx.DiGraph[str]":
        """The recruitment trees, an edge from recruiter to recruit; people carry their columns."""
        import networkx as nx  # only here: it takes a while to load

        graph: nx.DiGraph[str] = nx.DiGraph()
        for person, record in zip(
            self.ids, self.table().drop(columns=["id", "recruiter"]).to_dict("records"), strict=True
        ):
            graph.add_node(person, **{str(name): value for name, value in record.items()})
        came = self.recruiter != NOBODY
        graph.add_edges_from(zip(self.recruiter_ids()[came], self.ids[came], strict=True))
        return graph
