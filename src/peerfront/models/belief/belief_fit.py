"""Learn what coupons do from counts: a posterior over the family of `coupon_family`.

Somebody's distribution of Y, the recruits with `most` coupons, is f(Y) proportional to exp(c_Y + Y * zeal), with
c_0 = 0. The zeal adds up: effects of answers, a drift by wave, the luck of the wave, and a favour where staff gave
another number of coupons than planned or usual, because people who are given more may be those who seem keen.

The few numbers that shape the rest (`limited`, `spur` and the spread of waves) are points of a grid with prior weights.
For each of them the other parameters have a posterior that is nearly normal: its mode by Newton's method, its evidence
by Laplace's formula. Draws come from these normals and are weighed by what the formula misses.
"""

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.stored import rounded_counts
from peerfront.models.belief.belief import Belief, Misfit
from peerfront.models.belief.coupon_family import seen_so_far, tilt, transport
from peerfront.models.belief.prior import Prior

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
MOST_COUPONS = 12
"""More coupons than this count as this many in the likelihood."""
_FEW = 5  # people who must have had a number of coupons, so that it counts as one that data show
_NEWTON_STEPS = 50
_MOST_WAVES = 15
N_DRAWS = 400
"""Draws that intervals and simulations are made of."""
_CLEAR = 1.0  # log odds above which answers count
_EXPOSURES = 20  # steps of exposure in which coupons count as alike
_FEWEST_COMPARED = 10  # people with a number of coupons, of whom the belief is held against what they brought
_STUDIES_OF_DRAW = 5  # that it is compared with
_ANY_LUCK, _MUCH_LUCK = 1.5, 0.5  # of waves, where a belief has failed: of those seen, and of those to come
_CONTRADICTED = 0.1  # p-value of the least likely number (times how many), below which chance does not explain it


@dataclass(frozen=True, eq=False)
class Counts:
    """Who had how many coupons, and how many came: what a belief is learned from."""

    schema: Schema
    covariates: Codes  # [people, fields]
    coupons: Numbers  # [people]
    recruits: Numbers  # [people]
    exposure: Array | None = None
    """[people] or [people, draws]: the chance that a recruit who will come has come, or draws of it."""
    wave: Numbers | None = None  # [people]
    planned: Numbers | None = None
    """[people], the number that a plan or a lot gave; -1 where staff decided."""
    weight: Array | None = None  # [people], how much each counts; None for 1

    def take(self, rows: Numbers) -> "Counts":
        """Some of the people."""
        arrays: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "schema"}
        own: dict[str, Any] = {name: None if each is None else each[rows] for name, each in arrays.items()}
        return replace(self, **own)

    def private(self) -> "Counts":
        """The same people, weighed so that as many brought each number with each number of coupons as the nearest
        multiple of five: what is learned from them tells no count more exactly.
        """
        _, cell, people = np.unique(
            np.column_stack([self.coupons, self.recruits]), axis=0, return_inverse=True, return_counts=True
        )
        return replace(self, weight=(rounded_counts(people) / people)[cell.reshape(-1)])

    def __len__(self) -> int:
        return len(self.coupons)

    @property
    def usual(self) -> int:
        """The number of coupons that most people had."""
        return int(np.bincount(self.coupons[self.coupons > 0], minlength=2).argmax())

    @property
    def most(self) -> int:
        """The most coupons that a few people had."""
        people = np.bincount(np.minimum(self.coupons, MOST_COUPONS), minlength=2)
        at_least = people[::-1].cumsum()[::-1]
        return max(int(np.flatnonzero(at_least >= min(_FEW, at_least[1])).max()), 1)


@dataclass(frozen=True, eq=False)
class Problem:
    """The likelihood as data: people who look alike counted together."""

    people: Array  # [cells]
    group: Numbers  # [cells]
    coupons: Numbers  # [cells], up to `most`
    seen: Array  # [cells, most + 1], chance of what was seen if N(coupons) = 0 .. most; 0 beyond the coupons
    nobody: Array  # [cells, most + 1], the same of nobody having come so far
    design: Array  # [groups, slopes]
    deviation: Array  # [slopes], prior standard deviations; waves' are 1 and scaled by the spread
    waves: int
    """Number of waves; the last slopes are their luck."""
    most: int
    columns: Numbers  # columns of the schema that the first slopes belong to
    drift: int | None
    """The place of the drift among the slopes."""

    def rows(self, limited: float, spur: float, seen: Array | None = None) -> Array:
        """The chance of what was seen (or could be) given Y, [cells, most + 1]."""
        seen = self.seen if seen is None else seen
        table = np.zeros_like(seen)
        for coupons in np.unique(self.coupons).tolist():
            own = self.coupons == coupons
            table[own] = seen[own][:, : coupons + 1] @ transport(coupons, self.most, limited, spur)
        return table

    def of_most(self, theta: Array) -> Array:
        """f of each group by parameters [draws, parameters], [draws, groups, most + 1]."""
        scores = tilt(self.most) * (theta[:, self.most :] @ self.design.T)[:, :, None]
        scores[:, :, 1:] += theta[:, None, : self.most]
        f: Array = np.exp(scores - logsumexp(scores, axis=2, keepdims=True))
        return f


def problem_of(counts: Counts, fields: tuple[int, ...], prior: Prior) -> Problem:
    """Count people who look alike, as far as these fields of the schema, waves and favours tell them apart."""
    schema, most = counts.schema, counts.most
    coupons = np.minimum(counts.coupons, most)
    recruits = np.minimum(counts.recruits, coupons)
    exposure = np.ones((len(counts), 1)) if counts.exposure is None else counts.exposure.reshape(len(counts), -1)
    rows = np.flatnonzero((coupons > 0) & (exposure.max(axis=1) > 0.0))
    steps = np.maximum(np.round(exposure[rows] * _EXPOSURES), 1).astype(np.int64)
    wave = np.zeros(len(rows), np.int64) if counts.wave is None else counts.wave[rows]
    wave = np.minimum(wave - wave.min(initial=0), _MOST_WAVES - 1)
    n_waves = int(wave.max(initial=0)) + 1
    planned = np.full(len(rows), -1) if counts.planned is None else counts.planned[rows]
    favour = counts.coupons[rows] - np.where(planned >= 0, planned, counts.usual)
    codes = counts.covariates[rows][:, list(fields)].astype(np.int64)
    groups, group = np.unique(np.column_stack([codes, wave, favour]), axis=0, return_inverse=True)
    weight = np.ones(len(rows)) if counts.weight is None else counts.weight[rows]
    cells, cell = np.unique(
        np.column_stack([group.reshape(-1), coupons[rows], recruits[rows], steps]), axis=0, return_inverse=True
    )
    people = np.bincount(cell.reshape(-1), weight, len(cells)).astype(np.float64)
    seen, nobody = np.zeros((2, len(cells), most + 1))
    for place, (_, given, came, *open_for) in enumerate(cells.tolist()):
        chances = _seen(given, tuple(open_for))
        seen[place, : given + 1], nobody[place, : given + 1] = chances[came], chances[0]
    shown = np.full((len(groups), len(schema.fields)), -1, dtype=np.int16)
    shown[:, list(fields)] = groups[:, : len(fields)]
    columns = np.concatenate(
        [np.arange(schema.offsets[f], schema.offsets[f] + schema.sizes[f]) for f in fields] or [np.zeros(0)]
    ).astype(np.int64)
    parts = [schema.one_hot(shown)[:, columns].astype(np.float64)]
    deviations = [np.full(len(columns), prior.answer)]
    drift: int | None = None
    if n_waves > 1:
        drift = len(columns)
        parts.append(groups[:, len(fields), None] - (n_waves - 1.0))  # 0 in the last wave
        deviations.append(np.array([prior.drift]))
    if (groups[:, -1] != 0).any():
        parts.append(groups[:, -1:].astype(np.float64))
        deviations.append(np.array([prior.favour]))
    waves = n_waves if n_waves > 1 else 0
    parts.append(np.eye(n_waves)[groups[:, len(fields)]][:, :waves])
    return Problem(
        people, cells[:, 0], cells[:, 1], seen, nobody, np.concatenate(parts, axis=1),
        np.concatenate([*deviations, np.ones(waves)]), waves, most, columns, drift,
    )  # fmt: skip


@lru_cache(maxsize=1 << 16)
def _seen(coupons: int, steps: tuple[int, ...]) -> Array:
    return seen_so_far(coupons, np.array(steps) / _EXPOSURES)


class Posterior:
    """The posterior of c and the slopes for one shape: a point of the grid."""

    def __init__(self, problem: Problem, rows: Array, spread: float, prior: Prior) -> None:
        self.problem, self.rows = problem, rows
        scale = np.ones(len(problem.deviation))
        scale[len(scale) - problem.waves :] = spread
        means, deviations = prior.levels(problem.most)
        self.mean = np.concatenate([means, np.zeros(len(scale))])
        if problem.drift is not None:
            self.mean[problem.most + problem.drift] = -prior.slowing
        self.deviation = np.concatenate([deviations, problem.deviation * scale])

    def terms(self, theta: Array) -> tuple[float, Array, Array]:
        """Log density up to a constant, its gradient, and minus its second derivatives."""
        problem, most = self.problem, self.problem.most
        design, tilted_by = problem.design, tilt(most)
        scores = tilted_by * (design @ theta[most:])[:, None]
        scores[:, 1:] += theta[:most]
        f = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))  # [groups, most + 1]
        joint = self.rows * f[problem.group]
        total = np.maximum(joint.sum(axis=1), 1e-300)
        q = joint / total[:, None]  # of Y, given what was seen
        weight = problem.people[:, None]
        size = (len(design), most + 1)
        after, before = np.zeros(size), np.bincount(problem.group, problem.people, len(design))[:, None] * f
        np.add.at(after, problem.group, weight * q)
        residual = after - before
        gradient = np.concatenate([residual.sum(axis=0)[1:], design.T @ (residual @ tilted_by)])
        # Of each group: the spread of Y before what was seen less the spread after.
        people = np.bincount(problem.group, problem.people, len(design))[:, None, None]
        bend = people * (f[:, :, None] * np.eye(most + 1) - f[:, :, None] * f[:, None, :])
        own = problem.people[:, None, None] * (q[:, :, None] * np.eye(most + 1) - q[:, :, None] * q[:, None, :])
        np.subtract.at(bend, problem.group, own)
        tilted = bend @ tilted_by  # [groups, most + 1]
        curve = np.empty((len(theta), len(theta)))
        curve[:most, :most] = bend.sum(axis=0)[1:, 1:]
        curve[most:, :most] = design.T @ tilted[:, 1:]
        curve[:most, most:] = curve[most:, :most].T
        curve[most:, most:] = design.T @ (design * (tilted @ tilted_by)[:, None])
        off = (theta - self.mean) / self.deviation
        value = float(problem.people @ np.log(total) - 0.5 * off @ off)
        curve[np.diag_indices_from(curve)] += 1.0 / np.square(self.deviation)
        return value, gradient - off / self.deviation, curve

    def value(self, theta: Array) -> Array:
        """Log densities of many parameters, [draws, parameters], constants of the prior included."""
        problem = self.problem
        f = problem.of_most(theta)
        total = np.maximum(np.einsum("dcy,cy->dc", f[:, problem.group], self.rows), 1e-300)
        off = (theta - self.mean) / self.deviation
        logs: Array = np.log(total) @ problem.people - 0.5 * np.square(off).sum(axis=1)
        return logs - float(np.log(self.deviation).sum()) - 0.5 * theta.shape[1] * np.log(2 * np.pi)

    def mode(self, start: Array) -> tuple[Array, float, Array]:
        """The mode, the density there, and minus the second derivatives."""
        theta, (height, gradient, curve) = start, self.terms(start)
        for _ in range(_NEWTON_STEPS):
            values, vectors = np.linalg.eigh(curve)
            step = vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), 1e-6))
            size = 1.0
            while (later := self.terms(theta + size * step))[0] < height and size > 1e-6:
                size /= 2
            if later[0] < height:
                break
            gained, theta = later[0] - height, theta + size * step
            height, gradient, curve = later
            if gained < 1e-8:
                break
        return theta, height, curve

    def log_evidence(self, height: float, curve: Array) -> float:
        """Log marginal likelihood by Laplace's formula."""
        return height - float(np.log(self.deviation).sum()) - 0.5 * float(np.linalg.slogdet(curve)[1])


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from the posterior over all points of the grid."""

    shape: Array  # [draws, 3]: limited, spur, spread
    theta: Array  # [draws, parameters]
    log_evidence: float
    weights: Array  # [points], posterior weights of the grid
    points: tuple[tuple[float, float, float], ...]
    effective: float
    """Draws that the weighed ones are worth, as a share: 1 if Laplace's formula is exact."""
    likeliest: tuple[tuple[float, float, float], Prior]
    """The likeliest point, and the prior of levels there."""


def draws_of(problem: Problem, prior: Prior, number: int, seed: int) -> Draws:
    """Draw from the posterior."""
    spreads = prior.spread if problem.waves else ((prior.spread[0][0], 1.0),)
    grid = list(product(prior.views(problem.most), prior.limited, prior.spur, spreads))
    theta = np.zeros(problem.most + len(problem.deviation))
    fitted, logs = [], []
    for view, (limited, a), (spur, b), (spread, c) in grid:
        posterior = Posterior(problem, problem.rows(limited, spur), spread, view)
        theta, height, curve = posterior.mode(theta)
        fitted.append((posterior, theta, curve))
        logs.append(posterior.log_evidence(height, curve) + np.log(a * b * c))
    evidence = float(logsumexp(logs))
    weights = np.exp(np.array(logs) - evidence)
    rng = named_generator("belief", seed)
    several = 4 * number
    which = np.searchsorted(np.cumsum(weights) / weights.sum(), (np.arange(several) + rng.random()) / several)
    which = np.minimum(which, len(grid) - 1)
    drawn, odds = np.empty((several, len(theta))), np.empty(several)
    for point in np.unique(which).tolist():
        own = np.flatnonzero(which == point)
        posterior, middle, curve = fitted[point]
        root = np.linalg.cholesky(np.linalg.inv(curve))
        normal = rng.standard_normal((len(own), len(theta)))
        drawn[own] = middle + normal @ root.T
        proposed = -0.5 * (np.square(normal) + np.log(2 * np.pi)).sum(axis=1) - np.log(np.diag(root)).sum()
        _, (_, a), (_, b), (_, c) = grid[point]
        odds[own] = posterior.value(drawn[own]) + np.log(a * b * c) - proposed - np.log(weights[point])
    shares = np.exp(odds - logsumexp(odds))
    effective = float(1.0 / np.square(shares).sum() / several)
    kept = np.searchsorted(np.cumsum(shares) / shares.sum(), (np.arange(number) + rng.random()) / number)
    kept = np.minimum(kept, several - 1)
    points = tuple((limited[0], spur[0], spread[0]) for _, limited, spur, spread in grid)
    best = int(weights.argmax())
    return Draws(
        np.array(points)[which[kept]], drawn[kept], evidence, weights, points, effective, (points[best], grid[best][0])
    )


def learned_belief(
    counts: Counts, prior: Prior | None = None, *, draws: int = N_DRAWS, seed: int = 0, as_last_wave: bool = False
) -> Belief:
    """Learn what coupons do from counts; `as_last_wave`: what is to come goes on from the luck of the last wave.

    Columns of answers are taken in one after another while the evidence for the best of them, with the prior chance
    that it matters, is clear (`_CLEAR`): everybody is alike until the counts show otherwise.
    """
    prior = prior or Prior()
    chosen: tuple[int, ...] = ()
    problem = problem_of(counts, chosen, prior)
    drawn = draws_of(problem, prior, draws, seed)
    gains: dict[str, float] = {}
    left = [n for n, each in enumerate(counts.schema.fields) if len(each.categories) > 1]
    while left:
        shape, view = drawn.likeliest
        plain = _evidence(problem, shape, view)
        others = {n: _evidence(problem_of(counts, (*chosen, n), prior), shape, view) - plain for n in left}
        for n in left:
            gains.setdefault(counts.schema.names[n], others[n])
        best = max(others, key=lambda n: others[n] + prior.log_odds(counts.schema.names[n]))
        if others[best] + prior.log_odds(counts.schema.names[best]) < _CLEAR:
            break
        gains[counts.schema.names[best]] = others[best]
        left.remove(best)
        chosen = (*chosen, best)
        problem = problem_of(counts, chosen, prior)
        drawn = draws_of(problem, prior, draws, seed)
    most, theta = problem.most, drawn.theta
    effects = np.zeros((len(theta), counts.schema.columns))
    effects[:, problem.columns] = theta[:, most : most + len(problem.columns)]
    luck = theta[:, -1:] if as_last_wave and problem.waves else 0.0
    return Belief(
        counts.schema,
        most,
        limited=drawn.shape[:, 0],
        spur=drawn.shape[:, 1],
        levels=theta[:, :most] + tilt(most)[1:] * luck,
        effects=effects,
        drift=_drift_before(prior, len(theta), seed) if problem.drift is None else theta[:, most + problem.drift],
        spread=drawn.shape[:, 2],
        fields=tuple(counts.schema.names[n] for n in sorted(chosen)),
        waves=max(problem.waves, 1),
        effective=drawn.effective,
        gains=gains,
        misfits=_misfits(problem_of(replace(counts, weight=None), chosen, prior), drawn, seed),
    )


def usual_lately(counts: Counts, seed: int = 0) -> Belief:
    """What the usual number of coupons brought lately: where counts contradict a belief, expectations come from this.

    It is learned from people with that number alone. Waves may differ as they like, the next one is expected to be like
    the last, and those to come have much luck of their own, so that bands are wide.
    """
    own, any_luck = np.flatnonzero(counts.coupons == counts.usual), replace(Prior(), spread=((_ANY_LUCK, 1.0),))
    lately = learned_belief(counts.take(own).private(), any_luck, seed=seed, as_last_wave=True)
    return replace(lately, spread=np.full(len(lately), _MUCH_LUCK)).rounded()


def log_evidence(counts: Counts, prior: Prior) -> float:
    """Log marginal likelihood of the counts, everybody alike."""
    return draws_of(problem_of(counts, (), prior), prior, 1, 0).log_evidence


def _misfits(problem: Problem, drawn: Draws, seed: int) -> tuple[Misfit, ...]:
    """Hold the belief against the counts that it was learned from, by number of coupons and in the last wave.

    Studies of the same people are drawn from it. The luck of the last wave is drawn anew, because plans expect that of
    the next one; otherwise it would explain whatever a wave with a number of its own has brought.
    """
    rng, theta = named_generator("misfits", seed), drawn.theta.copy()
    last = np.zeros(len(problem.people), dtype=bool)
    if problem.waves:
        theta[:, -1] = drawn.shape[:, 2] * rng.standard_normal(len(theta))
        last = problem.design[problem.group, -1] > 0.0
    f, nobody = problem.of_most(theta), np.empty((len(theta), len(problem.people)))
    for limited, spur in np.unique(drawn.shape[:, :2], axis=0).tolist():
        own = np.flatnonzero((drawn.shape[:, 0] == limited) & (drawn.shape[:, 1] == spur))
        table = problem.rows(limited, spur, problem.nobody)
        nobody[own] = np.einsum("dcy,cy->dc", f[own][:, problem.group], table)
    people, somebody = problem.people.astype(np.int64), problem.seen[:, 0] == 0.0
    would = np.concatenate([rng.binomial(people, np.clip(1.0 - nobody, 0.0, 1.0)) for _ in range(_STUDIES_OF_DRAW)])
    compared = []
    for coupons in np.unique(problem.coupons).tolist():
        everybody = problem.coupons == coupons
        lately = everybody & last
        for own in (everybody, lately) if (lately != everybody).any() else (everybody,):
            number, brought = int(people[own].sum()), int(people[own & somebody].sum())
            if number >= _FEWEST_COMPARED:
                compared.append(Misfit.of(coupons, own is lately, number, brought, would[:, own].sum(axis=1)))
    return tuple(each for each in compared if each.chance * len(compared) < _CONTRADICTED)


def _drift_before(prior: Prior, draws: int, seed: int) -> Array:
    """Drifts of a study that shows a single wave: those of the prior, [draws]."""
    drift: Array = -prior.slowing + prior.drift * named_generator("drift", seed).standard_normal(draws)
    return drift


def _evidence(problem: Problem, shape: tuple[float, float, float], prior: Prior) -> float:
    limited, spur, spread = shape
    posterior = Posterior(problem, problem.rows(limited, spur), spread, prior)
    _, height, curve = posterior.mode(np.zeros(problem.most + len(problem.deviation)))
    return posterior.log_evidence(height, curve)
