"""A world like a study: the paper's recipe for a simulated world (appendix C.1) with a study's own data in it.

- Fields are those of the study's schema. First recruits are its people, drawn with replacement (the paper draws a pool
  of random people). Answers that are not known are filled with those of other people of the study, so that everybody
  has one category in each field, as in the paper.
- A recruit inherits field k with probability p_k; otherwise the field is drawn evenly from its c_k categories, or like
  the recruits of the study. Recruiter and recruit then agree with probability p_k + (1 - p_k) / c_k, so the study's
  pairs give p_k = (match_k - 1 / c_k) / (1 - 1 / c_k), with match_k the share of pairs that agree
  (`estimate_inheritance`). Where fields are drawn like the recruits, agreement by chance is
  sum_j P(recruiter has j) P(recruit has j) in place of 1 / c_k.
- Capacities are Poisson with rate kappa * softplus(w . x). The weights w are drawn for each draw, because a study says
  too little about them; kappa makes the capacities fit the study's counts, in one of two ways (`calibrate`):
  `recruits`: people with usable counts, given the coupons they had, are expected to bring as many as they did;
  `mean`: their mean rate is the study's censored mean, the one Poisson rate that makes its counts most likely, a person
  who used all k coupons counting as "k or more". The first is the default. Both are the same if everybody is alike
  (sigma = 0), up to the spread of counts; if not, the second brings fewer recruits than the study had, because those
  who could bring many run out of coupons.

In other stories of what a coupon does (`coupon_stories`) capacities are made fit in the same way: `recruits` counts the
recruits that are expected in the story.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from peerfront.foundation.counts import poisson_log_pmf, poisson_log_survival, poisson_survival
from peerfront.foundation.covariates import Codes, Schema
from peerfront.foundation.errors import DataFileError, SettingError
from peerfront.foundation.messages import Measured, Message, note
from peerfront.foundation.randomness import Luck, named_generator
from peerfront.foundation.settings import among, at_least, check_fields, mean_rate, optional, spread
from peerfront.problem import BranchingWorld, History
from peerfront.simulation.coupon_stories import CAPACITY, PAPER, PER_COUPON, CouponStory
from peerfront.simulation.icpsr22140 import Inheritance, Pool, SoftplusPoisson, calibrated

Array = NDArray[np.float64]
UNIFORM, RECRUITS = OTHERWISE = ("uniform", "recruits")
"""How a field is drawn that is not inherited: evenly from its categories (the paper), or like the recruits'."""
FIT_RECRUITS, FIT_MEAN = "recruits", "mean"
_LOG_RATES = (-60.0, 60.0)  # where rates and scales are searched


@dataclass(frozen=True)
class StudyWorldSettings:
    """Which world like a study to draw."""

    draw: int = 0
    """Which oracle: capacity weights (and answers for those not known) are drawn anew for each number."""
    sigma: float = 1.0
    """Heterogeneity of the capacity weights; 0 makes everybody alike."""
    mean_capacity: float | None = None
    """Mean rate of the study's people with usable counts; None takes it from their counts."""
    calibrate: str = FIT_RECRUITS
    """What the capacities keep of the counts: the number of recruits, or the censored mean."""
    otherwise: str = UNIFORM
    """How a field is drawn that is not inherited: evenly (the paper), or like the recruits of the study."""
    story: CouponStory = PAPER
    """What a coupon does."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            draw=at_least(0),
            sigma=spread,
            mean_capacity=optional(mean_rate),
            calibrate=among(note("kinds.way_to_calibrate"), (FIT_RECRUITS, FIT_MEAN)),
            otherwise=among(note("kinds.otherwise"), OTHERWISE),
        )


# Inheritance -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InheritanceEstimate:
    """Inheritance probabilities of the fields, and how sure they are. Every array is [fields]."""

    schema: Schema
    pairs: NDArray[np.int64]
    """Pairs in which the field of both is known."""
    match: Array
    """Share of these pairs that agree; nan without pairs."""
    chance: Array
    """Share that would agree without any inheritance."""
    estimates: Array
    """p_k as the formula gives it: below 0 where people agree less than by chance, nan where nothing can be said."""
    standard_errors: Array
    """Of the estimates; nan where nothing can be said."""

    @property
    def probabilities(self) -> Array:
        """p_k for a kernel: negative estimates are 0, because a kernel cannot avoid; so are those that are nan."""
        return np.clip(np.nan_to_num(self.estimates, nan=0.0), 0.0, 1.0)


def estimate_inheritance(
    schema: Schema,
    recruiters: Codes,
    recruits: Codes,
    *,
    otherwise: str = UNIFORM,
    groups: NDArray[np.integer] | None = None,
) -> InheritanceEstimate:
    """Estimate p_k of every field from pairs of recruiters and recruits, row by row: appendix C.1 of the paper.

    A pair counts for a field if both values are known. A field with a single category, one in which everybody agrees by
    chance, and one without pairs say nothing: their estimate is nan.

    The standard error is that of a share, divided by 1 - chance. Two agreeing and two disagreeing pairs are added to it
    (Agresti and Coull), so that few pairs which happen to agree do not look certain. `groups` says which recruiter each
    pair belongs to, [pairs]; the error then allows for recruits of one recruiter being alike, which the paper's kernel
    excludes and real studies show. With `otherwise=RECRUITS` the agreement by chance counts as known.
    """
    both = (recruiters >= 0) & (recruits >= 0)
    agree = both & (recruiters == recruits)
    pairs = both.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        match = agree.sum(axis=0) / pairs
        chance = 1.0 / schema.sizes if otherwise == UNIFORM else _agreement_by_chance(schema, recruiters, recruits)
        room = np.where(chance < 1.0, 1.0 - chance, np.nan)
        estimates = (match - chance) / room
    added = (agree.sum(axis=0) + 2.0) / (pairs + 4.0)
    variance = added * (1.0 - added) / (pairs + 4.0)
    if groups is not None:
        variance = np.maximum(variance, _variance_by_group(both, agree, groups))
    errors = np.where(np.isnan(estimates), np.nan, np.sqrt(variance) / room)
    return InheritanceEstimate(schema, pairs, match, chance, estimates, errors)


def recruit_shares(schema: Schema, recruits: Codes) -> tuple[Array, ...]:
    """The share of each category among recruits whose value is known, a row per field; even where none is known."""
    shares = []
    for field, size in enumerate(schema.sizes):
        counts = np.bincount(recruits[recruits[:, field] >= 0, field], minlength=size).astype(np.float64)
        shares.append(counts / counts.sum() if counts.any() else np.full(size, 1.0 / size))
    return tuple(shares)


def _agreement_by_chance(schema: Schema, recruiters: Codes, recruits: Codes) -> Array:
    both = (recruiters >= 0) & (recruits >= 0)
    of_recruiters = recruit_shares(schema, np.where(both, recruiters, -1).astype(np.int16))
    of_recruits = recruit_shares(schema, np.where(both, recruits, -1).astype(np.int16))
    return np.array([float(a @ b) for a, b in zip(of_recruiters, of_recruits, strict=True)])


def _variance_by_group(both: NDArray[np.bool_], agree: NDArray[np.bool_], groups: NDArray[np.integer]) -> Array:
    """Variance of the share that agrees if the pairs of a group are not independent, [fields]."""
    _, group = np.unique(groups, return_inverse=True)
    pairs = np.maximum(both.sum(axis=0), 1)
    off = np.where(both, agree - agree.sum(axis=0) / pairs, 0.0)
    variances = [float((np.bincount(group, weights=column) ** 2).sum()) for column in off.T]
    variance: Array = np.array(variances) / pairs**2
    return variance


@dataclass(frozen=True)
class InheritanceElseShares:
    """Each field is the parent's with its probability p_k, else drawn from given shares of its categories."""

    schema: Schema
    probabilities: Array  # [fields]
    shares: tuple[Array, ...]  # [fields][categories], rows sum to 1

    def sample(self, parents: Codes, luck: Luck) -> Codes:
        # One uniform decides both, as in `Inheritance`: what lies above p_k, stretched to (0, 1), picks the category.
        u = luck.uniforms("offspring", len(self.schema.fields))
        room = np.where(self.probabilities < 1.0, 1.0 - self.probabilities, 1.0)
        fresh = np.maximum(u - self.probabilities, 0.0) / room
        drawn = np.stack(
            [np.searchsorted(np.cumsum(of)[:-1], fresh[:, k], side="right") for k, of in enumerate(self.shares)], axis=1
        )
        children: Codes = np.where(u < self.probabilities, parents, drawn).astype(np.int16)
        return children


# The world ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)  # compared by identity: arrays have no single truth value
class StudyWorld(BranchingWorld):
    """A branching world made from a study."""

    inheritance: InheritanceEstimate
    """What the study's pairs say, and how sure they are."""
    mean_rate: float
    """Mean capacity of the people with usable counts, in this world."""
    mean_recruits: tuple[float, ...]
    """Expected recruits of those people with 1, 2 and 3 coupons, in this world."""
    story: CouponStory

    @property
    def facts(self) -> tuple[Message, ...]:
        """What the world took from the study."""
        pairs = self.inheritance
        names, unknown = np.array(pairs.schema.names), np.isnan(pairs.estimates)
        fields = [
            note("study_world_fact.field", name=name, chance=Measured.of(chance, error))
            for name, chance, error in zip(names.tolist(), pairs.probabilities, pairs.standard_errors, strict=True)
        ]
        facts = [note("study_world_fact.mean_capacity", mean=self.mean_rate)]
        if self.story.response != CAPACITY:
            code = "study_world_fact.per_coupon" if self.story.response == PER_COUPON else "study_world_fact.both"
            facts.append(note(code, means=[f"{mean:.2f}" for mean in self.mean_recruits]))
        facts.append(note("study_world_fact.inherits", fields=fields))
        if len(low := names[~unknown & (pairs.estimates < 0.0)]):
            facts.append(note("study_world_fact.agree_too_little", fields=low.tolist()))
        if unknown.any():
            facts.append(note("study_world_fact.no_pairs", fields=names[unknown].tolist()))
        return tuple(facts)


def study_like(
    history: History,
    people: Codes,
    settings: StudyWorldSettings | None = None,
    *,
    source: str = "The study",
    recruiters: NDArray[np.integer] | None = None,
) -> StudyWorld:
    """Make a world like a study from its history and its people, [people, fields].

    `recruiters` says which recruiter each pair of the history belongs to, [pairs], for honest standard errors; `source`
    is what messages call the study.
    """
    settings, layout = settings or StudyWorldSettings(), history.schema
    if not len(history.parents):
        raise DataFileError("study_like_world.no_recruit", source=source)
    answers = named_generator("study world", "answers", settings.draw)
    pool = _filled(layout, people, people, answers)
    referrers = _filled(layout, history.referrers, people, answers)
    weights = named_generator("study world", "weights", settings.draw).standard_normal(layout.columns) * settings.sigma
    capacity = _capacity(layout, weights, referrers, history, settings, source)
    response = settings.story.response_of(capacity)
    inheritance = estimate_inheritance(
        layout, history.parents, history.children, otherwise=settings.otherwise, groups=recruiters
    )
    offspring: Inheritance | InheritanceElseShares = Inheritance(layout, inheritance.probabilities)
    if settings.otherwise != UNIFORM:
        shares = recruit_shares(layout, history.children)
        offspring = InheritanceElseShares(layout, inheritance.probabilities, shares)
    return StudyWorld(
        "study",
        layout,
        response,
        offspring,
        Pool(pool),
        inheritance,
        mean_rate=float(capacity.rates(referrers).mean()),
        mean_recruits=tuple(np.cumsum(response.gains(referrers, 3).mean(axis=0)).tolist()),
        story=settings.story,
    )


def censored_mean(coupons: NDArray[np.int64], recruits: NDArray[np.int64]) -> float:
    """The Poisson rate under which min(C, coupons) = recruits is most likely for everybody together.

    Infinite if everybody used all coupons, 0 if nobody came.
    """
    if not recruits.any():
        return 0.0
    full = recruits >= coupons
    if full.all():
        return np.inf
    exact, at_most = float(recruits[~full].sum()), int((~full).sum())
    levels, people = np.unique(coupons[full & (coupons > 0)].astype(np.float64), return_counts=True)

    def slope(log_rate: float) -> float:
        """Rate times the derivative of the log likelihood; it falls with the rate."""
        rate = float(np.exp(log_rate))
        rates = np.full(len(levels), rate)
        hazard = np.exp(poisson_log_pmf(levels - 1.0, rates) - poisson_log_survival(levels, rates))
        return exact - at_most * rate + rate * float(people @ hazard)

    return float(np.exp(_root(slope)))


def _capacity(
    layout: Schema,
    weights: NDArray[np.float64],
    referrers: Codes,
    history: History,
    settings: StudyWorldSettings,
    source: str,
) -> SoftplusPoisson:
    """The softplus Poisson model that fits the study's counts, or has the mean that was asked for."""
    if not (history.coupons > 0).any():
        raise DataFileError("study_like_world.no_counts", source=source)
    if settings.mean_capacity is not None:
        return calibrated(layout, weights, referrers, settings.mean_capacity)
    exposure = history.exposure_of(np.arange(len(history.coupons)))
    if exposure is not None and settings.calibrate == FIT_MEAN:
        raise SettingError("study_like_world.coupons_open", source=source, calibrate=FIT_RECRUITS)
    mean = censored_mean(history.coupons, history.recruits)
    if mean == 0.0 or np.isinf(mean):
        code = "study_like_world.nobody_came" if mean == 0.0 else "study_like_world.all_coupons_used"
        raise DataFileError(code, source=source, mean=0.2 if mean == 0.0 else 2.0 * history.coupons.mean())
    model = calibrated(layout, weights, referrers, mean)
    if settings.calibrate == FIT_MEAN:
        return model
    rates, came = model.rates(referrers), float(history.recruits.sum())
    given = np.arange(1, int(history.coupons.max()) + 1) <= history.coupons[:, None]

    def more(log_scale: float) -> float:
        factor = float(np.exp(log_scale))
        if settings.story.response == CAPACITY:
            gains = poisson_survival(factor * rates, given.shape[1])
        else:
            gains = settings.story.response_of(model.scaled(factor)).gains(referrers, given.shape[1])
        if exposure is None:
            return float(gains[given].sum()) - came
        return float((gains * given).sum(axis=1) @ exposure) - came  # so far

    if more(_LOG_RATES[1]) <= 0.0:
        raise DataFileError("study_like_world.more_than_the_story_allows", source=source, used=came / given.sum())
    return model.scaled(float(np.exp(_root(more))))


def _root(function: Callable[[float], float]) -> float:
    return float(brentq(function, *_LOG_RATES, xtol=1e-12))


def _filled(layout: Schema, codes: Codes, people: Codes, rng: np.random.Generator) -> Codes:
    """The codes, with unknown ones replaced by those of people drawn at random, field by field."""
    filled = codes.copy()
    for field, size in enumerate(layout.sizes):
        absent = np.flatnonzero(codes[:, field] < 0)
        answers = people[people[:, field] >= 0, field]
        choices = answers if len(answers) else np.arange(size, dtype=np.int16)
        filled[absent, field] = choices[rng.integers(0, len(choices), size=len(absent))]
    return filled
