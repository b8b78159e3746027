"""Signs that a study slows down: what its file and its belief show about each reason, and what that may cost.

`lost` is the share of the recruits ahead that a reason may cost, by a rule of thumb that makes reasons comparable:

- drift: what recruits per coupon fall until the middle of the time ahead, by the median of the posterior;
- reach: the share of the people still to be reached who are gone by then, by the median;
- pace: people who wait for an interview on the last day, of all who came until then in simulated studies; or what
  drift costs, if that is more: where staff are the limit, coupons seem to bring less;
- tree: the share of what is to come that belongs to one tree, times the chance that nobody comes of it (Poisson);
- expiry: recruits who would come if coupons that expire within two weeks were valid two weeks longer, of all ahead.

A reason matters if `lost` is at least 10% and it is likely: recruits per coupon fall with a chance of 90%, staff are
the limit with a chance of 50%. A tree matters if two thirds of what is to come belong to it, in a study of three trees
or more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from peerfront.data.study import Study
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.foundation.stored import rounded_count
from peerfront.models.belief.belief import Belief
from peerfront.models.returns.return_times import NEVER, ReturnTimes
from peerfront.study.artifacts import Fit
from peerfront.study.coupon_calendar import calendar_step, coupons_seen, exposure_of, generations_of
from peerfront.study.day_policies import expected_to_come
from peerfront.study.slowing import limit_of, people_left
from peerfront.study.study_state import Standing

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_LOST = 0.1
_FALLS = 0.9
_LIMITED = 0.5
_CARRIES, _FEWEST_TREES = 2 / 3, 3
_SOON = 14.0
_TREES_NAMED = 4
_FEWEST_COUPONS, _FEWEST_ROUNDED = 10.0, 25.0  # of a generation, with time to be used: fewer show nothing
_UNIFORMS = (np.arange(9) + 0.5) / 9


@dataclass(frozen=True)
class Generation:
    """Coupons that were given out at about the same time, or to people of one wave."""

    coupons: int
    recruits: int
    come: float
    """The share of its recruits who have come by now, as expected."""
    per_coupon: float | None
    """Recruits per coupon in the end; None if too few coupons have had the time."""
    low: float | None
    high: float | None
    """The 80% interval."""
    believed: tuple[float, float, float]
    """Recruits per coupon by the belief: 10%, 50% and 90% points."""

    @classmethod
    def of(
        cls, coupons: int, recruits: int, come: float, believed: tuple[float, float, float], fewest: float
    ) -> "Generation":
        """With the interval, if at least `fewest` coupons have had the time to be used."""
        seen = coupons * come
        if seen < fewest:
            return cls(coupons, recruits, come, None, None, None, believed)
        came = min(float(recruits), seen)
        low, high = np.asarray(beta.ppf([0.1, 0.9], came + 0.5, seen - came + 0.5)).tolist()
        return cls(coupons, recruits, come, came / seen, low, high, believed)

    def published(self) -> "Generation":
        """With counts that are rounded to five."""
        coupons, recruits = rounded_count(self.coupons), rounded_count(self.recruits)
        return self.of(coupons, recruits, self.come, self.believed, _FEWEST_ROUNDED)


@dataclass(frozen=True)
class Drift:
    """How recruits per coupon change from one generation to the next."""

    change: float
    """The median of the posterior; -.08: 8% fewer in each generation than in the one before."""
    low: float
    high: float
    """The 80% interval."""
    chance: float
    """That they fall."""
    days: float | None
    """Days of a generation by the calendar; None where it is a wave."""
    generations: tuple[Generation, ...]
    lost: float
    matters: bool


@dataclass(frozen=True)
class Reach:
    """People who can be reached."""

    people: tuple[int, int, int, int, int]
    """Their number in all: 10%, 25%, 50%, 75% and 90% points; all alike if the population is known."""
    took_part: int
    share: tuple[float, float, float]
    """Who took part, as a share of them: 10%, 50% and 90% points."""
    nobody_left: float | None
    """Share of the people waiting who said that all their acquaintances have taken part; None if nobody was asked."""
    lost: float
    matters: bool


@dataclass(frozen=True)
class Pace:
    """Interviews by week, and the limit that staff may be."""

    weeks: tuple[int, ...]
    """Interviews in each whole week so far."""
    chance: float
    """That staff are the limit; 1 if it was given."""
    limit: float | None
    """Interviews a week; None if staff are hardly the limit."""
    lost: float
    matters: bool


@dataclass(frozen=True)
class CarryingTree:
    """The tree to which most of what is to come belongs."""

    trees: int
    """Trees that have recruits."""
    sizes: tuple[tuple[int, ...], ...]
    """Recruits by tree and generation: the carrying tree first, then the next largest; the last row: all others."""
    share: float
    """Of the recruits expected from open coupons and people waiting."""
    share_of_last: float | None
    """Of the recruits of the last generation; None if there are too few."""
    lost: float
    matters: bool


@dataclass(frozen=True)
class Expiry:
    """Open coupons that expire."""

    weeks: tuple[int, ...]
    """Open coupons by weeks until they expire: the first, second, third, fourth, and later or never."""
    soon: int
    """Within two weeks."""
    open: int
    recruits: float
    """Who would come with those that expire within two weeks, if they were valid two weeks longer."""
    lost: float
    matters: bool


Sign = Drift | Reach | Pace | CarryingTree | Expiry


@dataclass(frozen=True)
class Signs:
    """What a study shows about each reason; None where it shows nothing."""

    pace: Pace | None
    drift: Drift | None
    reach: Reach | None
    tree: CarryingTree | None
    expiry: Expiry | None

    @property
    def each(self) -> list[Sign]:
        """Those that there are, the most important first."""
        found: list[Sign | None] = [getattr(self, field.name) for field in fields(self)]
        return sorted((sign for sign in found if sign), key=lambda sign: (not sign.matters, -sign.lost))

    @property
    def strongest(self) -> Sign | None:
        """The most important one that matters."""
        return next((sign for sign in self.each if sign.matters), None)

    def published(self) -> "Signs":
        """With counts that are rounded to five, for a page that names no small group."""
        drift, pace, tree, expiry = self.drift, self.pace, self.tree, self.expiry
        return replace(
            self,
            drift=drift and replace(drift, generations=tuple(each.published() for each in drift.generations)),
            pace=pace and replace(pace, weeks=_rounded(pace.weeks)),
            tree=tree and _with_sizes(tree, tuple(_rounded(row) for row in tree.sizes), _FEWEST_ROUNDED),
            expiry=expiry
            and replace(
                expiry,
                weeks=_rounded(expiry.weeks), soon=rounded_count(expiry.soon), open=rounded_count(expiry.open),
            ),
        )  # fmt: skip


def signs_of(
    fit: Fit,
    standing: Standing,
    times: ReturnTimes,
    study: Study | None = None,
    *,
    recruits: float,
    queue: float,
    generations: float,
    population: int | None = None,
    interviews_per_week: float | None = None,
) -> Signs:
    """What slows a study down, where it stands and by its file, if there is one.

    `recruits` are expected in the number of `generations` ahead, and `queue` people wait for an interview at their end;
    population and interviews a week are those that were given.
    """
    dated = standing.today is not None
    drift = _drift(fit.belief, times if dated else None, study, generations)
    falls = 0.0 if drift is None else drift.lost
    return Signs(
        _pace(standing, queue / max(recruits + queue, 1e-9), falls, interviews_per_week),
        drift,
        _reach(fit.belief, standing, recruits, population),
        None if study is None else _tree(fit, standing, times, study),
        _expiry(fit, standing, times, recruits) if dated else None,
    )


# Recruits per coupon --------------------------------------------------------------------------------------------------


def _drift(belief: Belief, times: ReturnTimes | None, study: Study | None, ahead: float) -> Drift | None:
    """None if the belief was learned from a single wave."""
    if belief.waves < 2:
        return None
    by_wave = _recruits_by_wave(belief, belief.waves)
    change = (by_wave[:, -1] / by_wave[:, 0]) ** (1.0 / (belief.waves - 1)) - 1.0
    low, middle, high = np.quantile(change, [0.1, 0.5, 0.9]).tolist()
    chance = float((change < 0.0).mean())
    lost = max(1.0 - (1.0 + middle) ** ((ahead + 1.0) / 2.0), 0.0)
    counts = () if study is None else _generations(study, times, belief)
    days = None if times is None else calendar_step(times)
    return Drift(middle, low, high, chance, days, counts, lost, chance >= _FALLS and lost >= _LOST)


def _recruits_by_wave(belief: Belief, waves: int) -> Array:
    """Recruits of somebody with the most coupons of whom nothing is known, in each wave, [draws, waves]."""
    nobody = np.full((1, len(belief.schema.fields)), -1, dtype=np.int16)
    back = np.arange(waves) - (belief.waves - 1.0)  # 0: the last that it was learned from
    each = [belief.of_most(nobody, belief.drift * since)[:, 0] @ np.arange(belief.most + 1) for since in back]
    return np.stack(each, axis=1)


def _generations(study: Study, times: ReturnTimes | None, belief: Belief) -> tuple[Generation, ...]:
    """Coupons, and recruits so far, of each generation, with what the belief says of it."""
    if times is None:
        rows = np.flatnonzero((study.issued > 0) & (study.recruits <= study.issued) & ~study.still_open)
        generation, exposure = study.trees.wave, np.ones(len(study))
    else:
        rows = coupons_seen(study)[1]
        generation, exposure = generations_of(study, times), exposure_of(study, times)
    if not len(rows):
        return ()
    of = generation[rows]
    coupons = np.bincount(of, study.issued[rows])
    recruits = np.bincount(of, study.recruits[rows])
    come = np.bincount(of, study.issued[rows] * exposure[rows]) / np.maximum(coupons, 1.0)
    by_wave = _recruits_by_wave(belief, len(coupons))
    level = recruits.sum() / np.maximum(by_wave @ (coupons * come), 1e-9)  # [draws]: in all as many as came
    believed = np.quantile(by_wave * level[:, None], [0.1, 0.5, 0.9], axis=0).T.tolist()
    rows_of = zip(coupons.astype(int).tolist(), recruits.astype(int).tolist(), come.tolist(), believed, strict=True)
    return tuple(
        Generation.of(own, came, share, tuple(points), _FEWEST_COUPONS) for own, came, share, points in rows_of
    )


# People who can be reached --------------------------------------------------------------------------------------------


def _reach(belief: Belief, standing: Standing, recruits: float, population: int | None) -> Reach | None:
    """None if nobody is known to have taken part."""
    took_part = standing.enrolled
    if not took_part:
        return None
    if population is None:
        drift, uniform = np.repeat(belief.drift, len(_UNIFORMS)), np.tile(_UNIFORMS, len(belief.drift))
        left = people_left(drift, belief.waves, took_part, uniform)
    else:
        left = np.array([max(population - took_part, 0.0)])
    people = np.quantile(took_part + left, [0.1, 0.25, 0.5, 0.75, 0.9]).round().astype(int)
    share = took_part / np.maximum(people[[4, 2, 0]], took_part)
    lost = float(np.median(np.minimum(recruits / 2.0 / np.maximum(left, 1.0), 1.0)))
    answers = np.zeros(0) if standing.waiting.left is None else standing.waiting.left[standing.waiting.left >= 0]
    nobody_left = float((answers == 0).mean()) if len(answers) else None
    five, three = tuple(people.tolist()), tuple(share.tolist())
    return Reach(five, took_part, three, nobody_left, lost, lost >= _LOST)


# Interviews -----------------------------------------------------------------------------------------------------------


def _pace(standing: Standing, waiting: float, falls: float, given: float | None) -> Pace | None:
    """None without dates. A limit costs the share who wait at the end, or what recruits per coupon fall."""
    if not len(standing.weeks):
        return None
    chance, middle, _ = limit_of(standing.weeks)
    limit = float(np.exp(middle)) if chance >= _LIMITED else None
    if given is not None:
        chance, limit = 1.0, given
    lost = waiting if limit is None else max(waiting, falls)
    return Pace(tuple(standing.weeks.tolist()), chance, limit, lost, limit is not None and lost >= _LOST)


# Trees ----------------------------------------------------------------------------------------------------------------


def _tree(fit: Fit, standing: Standing, times: ReturnTimes, study: Study) -> CarryingTree | None:
    """None if nothing is to come of the study's own trees."""
    came, root = study.recruiter != NOBODY, study.trees.root
    row = {person: number for number, person in enumerate(study.ids.tolist())}
    waiting = np.array([row.get(person, NOBODY) for person in standing.waiting.ids.tolist()], dtype=np.int64)
    known = waiting != NOBODY
    coming = np.zeros(len(study))  # by the row of each tree's seed
    if known.any():
        each = fit.belief.response.expected_recruits(standing.waiting.covariates[known], fit.belief.most)[:, -1]
        np.add.at(coming, root[waiting[known]], each)
    if standing.today is not None and len(standing.open):
        holders = coupons_seen(study)[1][standing.seen.open > 0]
        np.add.at(coming, root[holders], expected_to_come(fit.planner, standing.open, times))
    if not came.any() or not coming.sum():
        return None
    of_tree = np.bincount(root[came], minlength=len(study))
    carrying = int(coming.argmax())
    others = [seed for seed in np.argsort(-of_tree, kind="stable").tolist() if seed != carrying and of_tree[seed]]
    generation = study.trees.wave - 1 if standing.today is None else generations_of(study, times)
    length = int(generation[came].max()) + 1
    named = [carrying, *others[: _TREES_NAMED - 1]]
    sizes = [np.bincount(generation[came & (root == seed)], minlength=length) for seed in named]
    sizes.append(np.bincount(generation[came & ~np.isin(root, named)], minlength=length))
    share = float(coming[carrying] / coming.sum())
    trees = int((of_tree > 0).sum())
    matters = share >= _CARRIES and trees >= _FEWEST_TREES
    tree = CarryingTree(trees, (), share, None, share * float(np.exp(-coming[carrying])), matters)
    return _with_sizes(tree, tuple(tuple(row.tolist()) for row in sizes))


def _with_sizes(tree: CarryingTree, sizes: tuple[tuple[int, ...], ...], fewest: float = 1.0) -> CarryingTree:
    last = sum(row[-1] for row in sizes)
    return replace(tree, sizes=sizes, share_of_last=sizes[0][-1] / last if last >= fewest else None)


# Coupons that expire --------------------------------------------------------------------------------------------------


def _expiry(fit: Fit, standing: Standing, times: ReturnTimes, recruits: float) -> Expiry | None:
    """None if no coupon is open, or none of them expires."""
    now = standing.open
    seen = now.seen
    left = seen.validity - seen.ages
    if not len(now) or not np.isfinite(left).any():
        return None
    edges = (0.0, 7.0, 14.0, 21.0, 28.0, np.inf)
    weeks = tuple(
        int(seen.open[(left > low) & ((left <= high) | np.isinf(high))].sum()) for low, high in pairwise(edges)
    )
    in_time = expected_to_come(fit.planner, now, times)
    by_expiry, longer = (times.cdf(seen.validity + more, NEVER, seen.site_codes) for more in (0.0, _SOON))
    later = (seen.recruits + in_time) * (longer / np.maximum(by_expiry, 1e-6) - 1.0)
    soon = left <= _SOON
    n_soon = int(seen.open[soon].sum())
    after = float(np.minimum(later, seen.open - np.minimum(in_time, seen.open))[soon].sum())
    lost = after / max(recruits + after, 1e-9)
    return Expiry(weeks, n_soon, int(seen.open.sum()), after, lost, lost >= _LOST)


def _rounded(counts: Sequence[int]) -> tuple[int, ...]:
    return tuple(rounded_count(count) for count in counts)
