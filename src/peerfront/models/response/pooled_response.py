"""A response model of a small study that earlier studies help: their rates, shifted and stretched by what it shows.

Earlier models say how many people somebody brings with the usual number of coupons, whatever their story and family. As
log rates of one family, and as sums over the answers that the new study knows, these are m_j + x . w_j for study j. In
the new study the log rate is

    m + gamma * (x - mean x) . w,          w the mean of the w_j,

with two numbers that both the study and its predecessors know something about (`models.pooling`): the level m, which
the earlier studies put at m_j, and the slope gamma of their differences between people, which they put at the slope of
each w_j on the mean of the others (1 if there is one study alone). Size, share of zeros and chance of use are those of
the earlier studies. Where these differ among themselves or from the new study, m and gamma are the study's own.

A study that is large enough to be fitted alone has weights v of its own (none if everybody is alike to it). Then

    weights = lambda * gamma * w + (1 - lambda) * v,

with lambda averaged over 0, 1/4, .. 1 by how well each predicts the people who were left out.

No count under five can be told from it: w is known from models that are out already, v is that of a private model, m
and gamma are rounded to what five people move, and lambda to a tenth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from peerfront.foundation.messages import note
from peerfront.foundation.response_families import (
    STORIES,
    has_size,
    has_zero,
    response_log_likelihood,
    story_of,
)
from peerfront.foundation.stored import FEWEST, rounded_count, rounded_counts
from peerfront.models.pooling import Pooled, pooled
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.rates import RateEnsemble, RateShape
from peerfront.problem import History

Array = NDArray[np.float64]
LEVELS_DIFFER = 0.35
"""How much log rates usually differ between studies (the scale of the prior): about 40%."""
SLOPES_DIFFER = 0.5
_UNSURE_SLOPE = 0.5  # of a single earlier study, of which nothing else says how well it travels
_UNSURE_LEVEL = 0.2  # of an earlier model that was fitted without a held-out part
_LEAST_ERROR = 0.03
_SLIGHT = 0.02  # standard deviation of log rates below which earlier studies tell nobody apart
_RATES = np.geomspace(1e-4, 60.0, 300)  # to find a rate by the recruits that it brings
_RIDGE = 1e-3
_LOOSE = 3.0  # standard deviations of level and slope where nothing else holds them
_STEP = 1e-4
_PARTS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # of the differences between people that may be the earlier studies'
_PATTERN = np.array([-1.0, 0.5, 1.0, -0.5, 0.0])  # how members stand around their mean


@dataclass(frozen=True, eq=False)
class EarlierRates:
    """What one earlier model says about people of the new study, with some number of coupons each."""

    expected: Array  # [people], recruits with `coupons` coupons
    member_means: Array  # [members], the same by each member, over the study's own people
    model: LearnedResponse
    """The model that said so; its family is taken if it is of the story in question."""
    shared: NDArray[np.bool_]  # [columns], of the new study's one-hot rows that it knows something about


@dataclass(frozen=True, eq=False)
class OwnRates:
    """What a fit to the new study alone says about the same people: recruits with a given number of coupons."""

    expected: Array  # [people], by a private model
    by_fold: Array  # [folds, people], by the members, each fitted without one fold


@dataclass(frozen=True, eq=False)
class PooledStory:
    """One story of the new study, pooled with earlier studies."""

    response: LearnedResponse
    """Its members are as far apart as is not known; rounded."""
    by_fold: LearnedResponse
    """Its members were each fitted without one fold of the study, in the folds' order; for judging."""
    level: Pooled
    slope: Pooled | None
    """None where earlier studies tell nobody of the new one apart."""
    believed: float = 1.0
    """Lambda: how far differences between people are the earlier studies', and not those of the study alone."""


def pool_story(
    story: str,
    history: History,
    folds: NDArray[np.int64],
    earlier: Sequence[EarlierRates],
    people: Array,
    coupons: int,
    most_shown: int,
    alone: OwnRates | None = None,
) -> PooledStory:
    """Fit one story to the informative rows of the history, helped by earlier studies.

    `folds` [rows] says which member does not see each row; `people` [people, columns] are one-hot rows of those whom
    the earlier studies were asked about, with `coupons` coupons each.
    """
    rows = history.informative_rows()
    seen = history.schema.one_hot(history.referrers[rows]).astype(np.float64)
    shape = _shape_of(story, [each.model for each in earlier])
    levels, errors, weights = [], [], []
    for each in earlier:
        bias, own = _line(people, np.log(_rates_of(shape, each.expected, coupons)), each.shared)
        levels.append(float(bias + (seen @ own).mean()))
        errors.append(_level_error(shape, each.member_means, coupons))
        weights.append(own)
    pattern = np.mean(weights, axis=0)
    effects = (seen - seen.mean(axis=0)) @ pattern  # [rows]
    telling = len(rows) > 1 and float(effects.std()) > _SLIGHT
    slopes = _slopes(seen, weights) if telling else []
    data = _Data(
        shape,
        history.coupons[rows],
        history.recruits[rows],
        history.exposure_of(rows),
        effects if telling else np.zeros(len(rows)),
        float(np.mean(levels)),
    )

    def fitted(kept: NDArray[np.bool_]) -> tuple[Pooled, Pooled | None]:
        own, own_errors = data.part(kept).maximum()
        level = pooled(own[0], own_errors[0], levels, errors, LEVELS_DIFFER)
        if not telling:
            return level, None
        unsure = [_UNSURE_SLOPE] * len(slopes)
        return level, pooled(own[1], own_errors[1], slopes, unsure, SLOPES_DIFFER)

    everything = np.ones(people.shape[1], dtype=bool)

    def own_weights(expected: Array) -> Array:
        return _line(people, np.log(_rates_of(shape, expected, coupons)), everything)[1]

    def model(levels_: Array, each: Array, middle_person: Array) -> LearnedResponse:
        biases = levels_ - each @ middle_person
        rates = RateEnsemble(
            RateShape((), "exp"),
            (np.round(each, 6)[:, :, None],),
            (np.round(biases, 6)[:, None, None],),
            np.zeros((len(levels_), 1)),
        )
        extra = np.array([np.log(shape.size) if has_size(shape.family) else 0.0, _logit(shape.zero), _logit(shape.use)])
        extra[~np.array([has_size(shape.family), has_zero(shape.family), shape.family == "thinned"])] = 0.0
        return LearnedResponse(
            schema=history.schema,
            family=shape.family,
            rates=rates,
            size=shape.size,
            zero=shape.zero,
            candidates=(),
            reason=note("fit_reason.earlier_studies"),
            members=np.tile(np.round(extra, 6), (len(levels_), 1)),
            most_shown=most_shown,
            use=shape.use,
        )

    level, slope = fitted(np.ones(len(rows), dtype=bool))
    without = [fitted(folds != fold) for fold in range(int(folds.max()) + 1)]
    fold_levels = np.array([own.mean for own, _ in without])
    fold_weights = np.array([(0.0 if own is None else own.mean) * pattern for _, own in without])
    believed, own_final = 1.0, np.zeros(len(pattern))
    if alone is not None:
        own_by_fold = np.array([own_weights(expected) for expected in alone.by_fold])
        own_final = own_weights(alone.expected)
        scores = []
        for part in _PARTS:
            mixed = part * fold_weights + (1.0 - part) * own_by_fold
            logs = fold_levels[folds] + ((seen - seen.mean(axis=0)) * mixed[folds]).sum(axis=1)
            scores.append(shape.log_likelihood(data.coupons, data.recruits, logs, data.exposure).sum())
        odds = np.exp(np.array(scores) - max(scores))
        believed = round(float(odds @ _PARTS / odds.sum()), 1)
        fold_weights = believed * fold_weights + (1.0 - believed) * own_by_fold
    by_fold = model(fold_levels, fold_weights, seen.mean(axis=0))
    level_step, slope_step = data.moved_by_five(level, slope)
    spread = _PATTERN * np.sqrt(len(_PATTERN) / ((len(_PATTERN) - 1) * (_PATTERN**2).sum()))
    middle = level_step * np.round(level.mean / level_step)
    steep = 0.0 if slope is None else slope_step * np.round(slope.mean / slope_step)
    apart = 0.0 if slope is None else slope.error
    slopes_ = steep + apart * spread[[1, 2, 3, 4, 0]]
    mixed = believed * slopes_[:, None] * pattern + (1.0 - believed) * own_final
    average = rounded_counts(seen.sum(axis=0)) / max(rounded_count(len(seen)), FEWEST)
    return PooledStory(model(middle + level.error * spread, mixed, average), by_fold, level, slope, believed)


@dataclass(frozen=True)
class _Shape:
    """What the family has besides rates."""

    family: str
    size: float
    zero: float
    use: float

    def log_likelihood(
        self, coupons: NDArray[np.int64], recruits: NDArray[np.int64], log_rates: Array, exposure: Array | None = None
    ) -> Array:
        rates = np.exp(np.clip(log_rates, -12.0, 4.0))
        return response_log_likelihood(self.family, coupons, recruits, rates, self.size, self.zero, self.use, exposure)


@dataclass(frozen=True, eq=False)
class _Data:
    """Rows of the new study, and the line through their log rates."""

    shape: _Shape
    coupons: NDArray[np.int64]
    recruits: NDArray[np.int64]
    exposure: Array | None
    effects: Array  # [rows]
    centre: float

    def part(self, kept: NDArray[np.bool_]) -> "_Data":
        exposure = None if self.exposure is None else self.exposure[kept]
        return replace(
            self,
            coupons=self.coupons[kept],
            recruits=self.recruits[kept],
            exposure=exposure,
            effects=self.effects[kept],
        )

    def each(self, level: float, slope: float, recruits: NDArray[np.int64] | None = None) -> Array:
        counts = self.recruits if recruits is None else recruits
        return self.shape.log_likelihood(self.coupons, counts, level + slope * self.effects, self.exposure)

    def maximum(self) -> tuple[Array, Array]:
        """Level and slope that make the rows most likely, and their standard errors; infinite where nothing is known.

        A loose prior around the earlier studies' level, and a slope of 0, keeps both finite.
        """
        if not len(self.coupons):
            return np.array([self.centre, 0.0]), np.array([np.inf, np.inf])

        def loss(both: Array) -> float:
            loose = ((both[0] - self.centre) ** 2 + both[1] ** 2) / (2.0 * _LOOSE**2)
            return float(loose - self.each(both[0], both[1]).sum())

        optimum = minimize(loss, np.array([self.centre, 0.0]), method="Nelder-Mead", options={"xatol": 1e-5})
        level, slope = (float(number) for number in optimum.x)
        curvature = -self._curvature(level, slope)
        errors = np.sqrt(1.0 / np.maximum(curvature, 1e-9))
        return np.array([level, slope]), np.where(curvature > 1e-6, errors, np.inf)

    def _scores(self, level: float, slope: float, recruits: NDArray[np.int64] | None = None) -> Array:
        """Derivatives of each row's log-likelihood by its log rate, [rows]."""
        more, less = self.each(level + _STEP, slope, recruits), self.each(level - _STEP, slope, recruits)
        slopes: Array = (more - less) / (2 * _STEP)
        return slopes

    def _curvature(self, level: float, slope: float) -> Array:
        """Second derivatives of the log-likelihood by level and slope; the two hardly depend on each other."""
        each = (self._scores(level + _STEP, slope) - self._scores(level - _STEP, slope)) / (2 * _STEP)
        return np.array([each.sum(), (each * self.effects**2).sum()])

    def moved_by_five(self, level: Pooled, slope: Pooled | None) -> tuple[float, float]:
        """How far level and slope move if five people bring one recruit more or fewer."""
        steep = 0.0 if slope is None else slope.mean
        other = np.where(self.recruits < self.coupons, self.recruits + 1, self.recruits - 1)
        change = np.abs(self._scores(level.mean, steep, other) - self._scores(level.mean, steep))
        moved = FEWEST * float(np.median(change)) * level.error**2
        if slope is None:
            return max(moved, 1e-3), 1.0
        return max(moved, 1e-3), max(FEWEST * float(np.median(change * np.abs(self.effects))) * slope.error**2, 1e-3)


def _shape_of(story: str, models: Sequence[LearnedResponse]) -> _Shape:
    """The family that most earlier models of this story have, with their average parameters; else the simplest."""
    own = [model for model in models if story_of(model.family) == story]
    if not own:
        return _Shape(STORIES[story][0], np.inf if not has_size(STORIES[story][0]) else 1.0, 0.0, 1.0)
    families = [model.family for model in own]
    family = max(families, key=lambda name: (families.count(name), -families.index(name)))
    same = [model for model in own if model.family == family]
    size = float(np.exp(np.mean([np.log(model.size) for model in same]))) if has_size(family) else np.inf
    zero = _of_logit(np.mean([_logit(model.zero) for model in same])) if has_zero(family) else 0.0
    use = _of_logit(np.mean([_logit(model.use) for model in same])) if family == "thinned" else 1.0
    return _Shape(family, round(size, 6) if np.isfinite(size) else size, round(zero, 6), round(use, 6))


def _rates_of(shape: _Shape, expected: Array, coupons: int) -> Array:
    """Rates at which people with this number of coupons bring the expected recruits."""
    counts = np.arange(coupons + 1)
    given = np.full(coupons + 1, coupons)
    logs = [shape.log_likelihood(given, counts, np.full(coupons + 1, np.log(rate))) for rate in _RATES]
    brings = np.exp(logs) @ counts
    rates: Array = np.exp(np.interp(expected, brings, np.log(_RATES)))
    return rates


def _line(people: Array, log_rates: Array, shared: NDArray[np.bool_]) -> tuple[float, Array]:
    """The line through log rates by what is shared, a little drawn to "everybody alike": bias and weights."""
    inputs = np.where(shared, people, 0.0)
    middle = inputs.mean(axis=0)
    centred = inputs - middle
    gram = centred.T @ centred + _RIDGE * len(people) * np.eye(people.shape[1])
    weights: Array = np.linalg.solve(gram, centred.T @ (log_rates - log_rates.mean()))
    return float(log_rates.mean() - middle @ weights), weights


def _level_error(shape: _Shape, member_means: Array, coupons: int) -> float:
    """The jackknife error of an earlier study's log rate."""
    members = len(member_means)
    if members < 2:
        return _UNSURE_LEVEL
    logs = np.log(_rates_of(shape, member_means, coupons))
    return max(float(np.sqrt((members - 1) * logs.var())), _LEAST_ERROR)


def _slopes(seen: Array, weights: Sequence[Array]) -> list[float]:
    """How each earlier study's differences between people go on with the mean of the others; 1 for a single study."""
    if len(weights) == 1:
        return [1.0]
    effects = np.stack([(seen - seen.mean(axis=0)) @ own for own in weights])  # [studies, rows]
    slopes = []
    for number, own in enumerate(effects):
        others = np.delete(effects, number, axis=0).mean(axis=0)
        slopes.append(float(np.clip((own @ others) / max(others @ others, 1e-9), -1.0, 2.0)))
    return slopes


def _logit(share: float) -> float:
    share = min(max(share, 1e-6), 1.0 - 1e-6)
    return float(np.log(share / (1.0 - share)))


def _of_logit(logit: float | np.floating) -> float:
    return float(1.0 / (1.0 + np.exp(-float(logit))))
