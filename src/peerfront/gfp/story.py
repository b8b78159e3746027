"""Stories of what a coupon does, each with its value, and what a planner sees of several at once.

Where stories differ, the plan maximises the average over them: with weights pi_m,

    Q = sum_i sum_m pi_m G^m_i(k_i) + discount * sum_{m, j} pi_m w^m_j (1 - prod_i T^m_ij(k_i)),

which is the coverage function of one story with as many coordinates as all of them have together: gains are averaged,
and coordinates, with their weights times pi_m, stand side by side. What is needed of a learned value are three
Protocols; `surrogate` implements them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.settings import check_fields, proportion
from peerfront.gfp.backup import Array, Tables, check_coming, check_embeddings
from peerfront.gfp.blocks import smoothed
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
        """The table for this number of rounds left, [budget + 1, latent]."""
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
    """What recruits still to come from coupons that are out leave uncovered of each coordinate, [latent] (`backup`);
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


# ---- several stories as one ----------------------------------------------------------------------------------------


def joined_weights(stories: Sequence[Story]) -> Array:
    """The weights w(r) of all stories side by side, each times its share, [tables, budget + 1, latent]."""
    if len(stories) == 1:
        return stories[0].surrogate.tables()
    return np.concatenate([story.weight * story.surrogate.tables() for story in stories], axis=2)


def joined_coming(stories: Sequence[Story]) -> Array | None:
    """What recruits still to come leave uncovered, the stories side by side, [latent]; None for nobody."""
    if all(story.coming is None for story in stories):
        return None
    return np.concatenate(
        [np.ones(story.surrogate.tables().shape[2]) if story.coming is None else story.coming for story in stories]
    )


def averaged_gains(stories: Sequence[Story], covariates: Codes, max_coupons: int) -> Array:
    """What each coupon adds to the expected recruits, averaged over the stories, [people, max_coupons]."""
    if len(stories) == 1:
        return stories[0].response.gains(covariates, max_coupons)
    parts = [story.weight * story.response.gains(covariates, max_coupons) for story in stories]
    total: Array = np.sum(parts, axis=0)
    return total


def averaged_tables(stories: Sequence[Story], covariates: Codes, most_per_person: int, *, check: bool) -> Tables:
    """What each coupon adds: gains averaged over the stories, what it covers story by story."""
    gains, covers = tables_by_story(stories, covariates, most_per_person, check=check)
    if len(gains) == 1:
        return smoothed(Tables(np.ascontiguousarray(gains[0]), covers))
    averaged = np.zeros(covers.shape[:2])
    for story, own in zip(stories, gains, strict=True):
        averaged[:, : own.shape[1]] += story.weight * own
    return smoothed(Tables(averaged, covers))


def tables_by_story(
    stories: Sequence[Story], covariates: Codes, most_per_person: int, *, check: bool = False
) -> tuple[list[Array], Array]:
    """Gains of each story, [people, coupons] up to the last that may be used, and what all of them cover.

    Coordinates of what coupons cover stand side by side, story by story, [people, coupons, latent].
    """
    parts = [story.tables(covariates, most_per_person) for story in stories]
    if check:
        for _, uncovered in parts:
            check_embeddings(uncovered)
    levels = max(gains.shape[1] for gains, _ in parts)
    covers = [
        story.response.covers(covariates, uncovered, levels)
        for story, (_, uncovered) in zip(stories, parts, strict=True)
    ]
    return [gains for gains, _ in parts], covers[0] if len(covers) == 1 else np.concatenate(covers, axis=2)
