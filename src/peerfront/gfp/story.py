"""One story of what a coupon does, with its value: what a planner averages over.

What it needs of a learned value are three Protocols; `value.surrogate` implements them.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.settings import check_fields, proportion
from peerfront.gfp.backup import Array
from peerfront.gfp.coming import check_coming
from peerfront.problem import ResponseModel

_NEVER_USED = 1e-9  # a chance of use below this counts as none: it keeps tables of gains short
_FIRST_LEVELS = 24  # coupons per person in the first table of gains; doubled while some may still be used


class PersonView(Protocol):
    """What networks see of a person."""

    @property
    def schema(self) -> Schema: ...

    def rows(self, covariates: Codes) -> NDArray[np.float32]:
        """The networks' inputs, [people, inputs]."""
        ...


class FrontierValue(Protocol):
    """A latent-coverage value V(r, F) (Equations 3 and 4): the weights w(r), for every number of rounds left."""

    @property
    def inputs(self) -> PersonView: ...

    @property
    def budget(self) -> int:
        """The largest budget it was learned for."""
        ...

    @property
    def rounds(self) -> int | None:
        """The most rounds left that it tells apart; None if it does not depend on them."""
        ...

    def check_budget(self, budget: int) -> None:
        """Refuse a budget above the largest one it was learned for."""
        ...

    def tables(self) -> Array:
        """The weights w(r) for every number of rounds left it tells apart, [tables, budget + 1, latent]."""
        ...

    def table_with(self, rounds_left: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the table in `tables` for each number of rounds left, [states]."""
        ...

    def weights_with(self, rounds_left: int) -> Array:
        """The table for so many rounds left, [budget + 1, latent]."""
        ...


class RecruitEmbeddings(Protocol):
    """The conditional Laplace embeddings alpha(x) (Equation 5): how much of each coordinate a recruit of x leaves
    uncovered."""

    @property
    def inputs(self) -> PersonView: ...

    def uncovered(self, rows: NDArray[np.float32]) -> Array:
        """alpha of people described by `inputs.rows`, [people, latent]."""
        ...


@dataclass(frozen=True, eq=False)
class Story:
    """One story of what a coupon does, the value learned in a world where it is true, and how much it is believed."""

    response: ResponseModel
    surrogate: FrontierValue
    laplace: RecruitEmbeddings
    weight: float = 1.0
    """Its share among the stories that are left; they add up to 1."""
    name: str = "capacity"
    coming: Array | None = None
    """What recruits still to come from coupons that are out leave uncovered of each coordinate, [latent] (`coming.py`);
    None if nobody is to come. It belongs to one moment of a study and is never saved."""

    def __post_init__(self) -> None:
        check_fields(self, weight=proportion)
        if self.coming is not None:
            object.__setattr__(self, "coming", check_coming(self.coming, self.surrogate.tables().shape[2]))

    def uncovered(self, covariates: Codes) -> Array:
        """alpha of people: what a recruit of each leaves uncovered, [people, latent]."""
        return self.laplace.uncovered(self.laplace.inputs.rows(covariates))

    def tables(self, covariates: Codes, most_per_person: int) -> tuple[Array, Array]:
        """Gains [people, coupons], up to the last coupon that may be used, and alpha [people, latent]."""
        levels = min(most_per_person, _FIRST_LEVELS)
        gains = self.response.gains(covariates, levels)
        while levels < most_per_person and (gains[:, -1:] > _NEVER_USED).any():
            levels = min(2 * levels, most_per_person)
            gains = self.response.gains(covariates, levels)
        return gains, self.uncovered(covariates)
