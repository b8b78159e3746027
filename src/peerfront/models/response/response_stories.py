"""What a coupon does: fit each story to the same history, and weigh them by what they predict for people left out.

Three stories (`foundation.response_families`): a person can bring a limited number and uses the first coupons first
(capacity), each coupon is used on its own (per_coupon), or both. Where everybody had the same number of coupons no
count can tell them apart. Likelihoods differ all the same, because one story's families happen to have the better
shape. Weights must not come from that. So before stories are compared, each may bend its shape: the chance of y
recruits is multiplied by exp(b(y)), the same for everybody and for every number of coupons, and divided by the sum.
The b(y) maximise the held-out likelihood less b(y)^2 / (2 BEND^2) each, which the story pays: a shape that is a little
off costs next to nothing, one that cannot fit costs much. What is left is how counts change with the number of coupons.

People with the usual number of coupons (the most common one) hardly tell the stories apart, so they are weighed with
care: stacking with an even Dirichlet prior, whose weights w maximise

    sum over people of log sum_m w_m p_m(y)  +  strength * sum_m log w_m.

People with another number do tell, and their evidence adds up: by Bayes' rule w_m is multiplied by the product of
p_m(y) over them, as `gfp.updating` does with the counts of a round. A plain story is ruled out only if it also
predicts worse by more than the standard error, and never while fewer than ten people had another number.

`both` has more freedom than the pure stories. It is considered only if it predicts people left out better than each of
them by more than the standard error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, stdtrit

from peerfront.foundation.binomials import log_thinning
from peerfront.foundation.covariates import Codes, Kinds, kinds_of
from peerfront.foundation.errors import SettingError
from peerfront.foundation.machine import one_thread
from peerfront.foundation.messages import Progress, part_of, silent
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.response_families import STORIES, story_of
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.rates import folds_of
from peerfront.models.response.response_fit import ResponseSettings
from peerfront.problem import History

Array = NDArray[np.float64]
PURE = ("capacity", "per_coupon")
RULED_OUT = 0.05
"""Weight below which a story is no longer considered."""
PRIOR_STRENGTH = 2.0
"""Of the even Dirichlet prior of the weights, in people who speak for each story."""
FEWEST_OTHERS = 10
"""People with another than the usual number of coupons; fewer, and everybody counts as having had the same."""
BEND = 1.0
_MOST_COUPONS = 50  # rows with more do not take part in the comparison, and `both` is not fitted where there are some
_NEWTON_STEPS = 100
_EM_STEPS = 5_000


@dataclass(frozen=True, eq=False)
class StoryFit:
    """One story, fitted, with what its members say of the people they were fitted without."""

    name: str
    response: LearnedResponse
    logs: Array  # [rows, most coupons + 1], held-out log P(N = n); -inf beyond the person's coupons
    recruits: NDArray[np.int64]  # [rows]
    coupons: NDArray[np.int64]  # [rows]
    exposure: Array | None = None  # [rows]; None where everybody who will come has come

    @property
    def held_out(self) -> Array:
        """Held-out log-likelihood of each row, [rows]."""
        return _seen(self.logs, self.recruits, self.exposure)

    @property
    def comparable(self) -> Array:
        """The same after the story has bent its shape, less what that costs, [rows]."""
        bent, cost = _bent(self.logs, self.recruits, self.exposure)
        own = _seen(bent, self.recruits, self.exposure)
        return own - cost / max(len(own), 1)


@dataclass(frozen=True, eq=False)
class StoryWeights:
    """How much each story is believed."""

    weights: dict[str, float]
    """Of the stories that are left; they sum to 1."""
    stacked: dict[str, float]
    """Of all that were considered, before any was ruled out."""
    ruled_out: tuple[str, ...]
    """Stories that are not considered any more, `both` included unless it predicted clearly better."""
    behind: dict[str, tuple[float, float]]
    """How far the held-out log-likelihood of each story is below the best one's, and the standard error."""
    same_coupons: bool
    """Whether (nearly) everybody had the same number of coupons, so that the history cannot say."""
    prior: float
    pinned: str | None = None
    """The story that is believed because the user knows it; None if the study decides."""


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected recruits of one person with 1 .. max coupons, averaged over people, with intervals; [max coupons]."""

    mean: Array
    low: Array
    high: Array


def fit_stories(
    history: History, settings: ResponseSettings | None = None, progress: Progress = silent
) -> tuple[StoryFit, ...]:
    """Fit the stories on the same folds: capacity, per_coupon, and both.

    Shape, fields and penalty are chosen once, in the story that describes people better where all are alike (capacity
    unless the other is clearly better), and serve the others too. A family that the settings name is that story's.
    """
    from peerfront.models.response.response_choice import SURE, Search, clearly

    settings = settings or ResponseSettings()
    with one_thread(training=True):
        searches = {name: Search(history, _settings_of(name, settings), silent) for name in STORIES}
        order = list(PURE)
        for search, end in ((searches["capacity"], 0.05), (searches["per_coupon"], 0.1)):
            search.progress = part_of(progress, end - 0.05, end)
            assert search.alike
        alone, other = (searches[name].alike.candidate.held_out for name in PURE)
        if searches["capacity"].held_out and clearly(other - alone, SURE):
            order.reverse()
        lead = searches[order[0]]
        lead.progress = part_of(progress, 0.1, 0.8)
        leader, why, gain = lead.choice()
        learned = {order[0]: replace(lead.response(leader, why), gain_of_knowing=gain)}
        for name in (order[1], "both"):
            if name == "both" and int(history.coupons.max()) > _MOST_COUPONS:
                continue
            searches[name].progress = part_of(progress, 0.8 if name != "both" else 0.9, 0.9 if name != "both" else 1.0)
            learned[name] = replace(searches[name].following(leader), gain_of_knowing=gain)
        return tuple(story_fit(name, learned[name], history, lead.settings) for name in STORIES if name in learned)


def _settings_of(story: str, settings: ResponseSettings) -> ResponseSettings:
    family = settings.family if settings.family != "auto" and story_of(settings.family) == story else "auto"
    return replace(settings, family=family, story=story)


def story_fit(name: str, response: LearnedResponse, history: History, settings: ResponseSettings) -> StoryFit:
    """What the members of a response say of the people they were fitted without."""
    rows = history.informative_rows()
    folds = folds_of(len(rows), settings.folds, named_generator("capacity fit", settings.seed))
    comparable = history.coupons[rows] <= _MOST_COUPONS
    rows, folds = rows[comparable], folds[comparable]
    people, coupons, recruits = history.referrers[rows], history.coupons[rows], history.recruits[rows]
    logs = np.full((len(rows), int(coupons.max(initial=0)) + 1), -np.inf)
    for member in np.unique(folds).tolist():
        own = np.flatnonzero(folds == member)
        # Judged by predictions as they are: limits for people unlike any other come later.
        model = replace(response, rates=replace(response.rates, largest=np.inf)).member(max(member, 0))
        means = model.means(people[own])
        for count in range(logs.shape[1]):
            able = own[coupons[own] >= count]
            logs[able, count] = _log_chances(model, means[coupons[own] >= count], coupons[able], count)
    return StoryFit(name, response, logs, recruits, coupons, history.exposure_of(rows))


def _log_chances(model: LearnedResponse, means: Array, coupons: NDArray[np.int64], count: int) -> Array:
    from peerfront.foundation.response_families import response_log_likelihood

    recruits = np.full(len(coupons), count)
    return response_log_likelihood(model.family, coupons, recruits, means, model.size, model.zero, model.use)


def _seen(logs: Array, recruits: NDArray[np.int64], exposure: Array | None) -> Array:
    """Log-likelihood of the recruits so far, [rows], from log P(N = n), [rows, counts]."""
    if exposure is None:
        return np.take_along_axis(logs, recruits[:, None], axis=1)[:, 0]
    seen: Array = logsumexp(logs + log_thinning(recruits, exposure, logs.shape[1] - 1), axis=1)
    return seen


def _eventual(logs: Array, recruits: NDArray[np.int64], exposure: Array) -> Array:
    """P(N = n) of each row given the recruits so far, [rows, counts]."""
    after = logs + log_thinning(recruits, exposure, logs.shape[1] - 1)
    chances: Array = np.exp(after - logsumexp(after, axis=1, keepdims=True))
    return chances


def _bent(logs: Array, recruits: NDArray[np.int64], exposure: Array | None = None) -> tuple[Array, float]:
    """Log chances of N with the best-fitting shape corrections, and the penalty of these.

    Recruits who are still to come count with their chances, given the bends so far (a generalised EM algorithm).
    """
    levels = logs.shape[1]
    seen = np.bincount(recruits, minlength=levels)[1:].astype(np.float64)
    bends = np.zeros(levels - 1)

    def bent(by: Array) -> Array:
        raised = logs + np.concatenate([[0.0], by])
        return raised - logsumexp(raised, axis=1, keepdims=True)

    def score(by: Array) -> float:
        own = _seen(bent(by), recruits, exposure)
        return float(own.sum() - (by**2).sum() / (2 * BEND**2))

    now = score(bends)
    for _ in range(_NEWTON_STEPS):
        chances = np.exp(bent(bends))[:, 1:]
        if exposure is not None:
            seen = _eventual(bent(bends), recruits, exposure).sum(axis=0)[1:]
        slope = seen - chances.sum(axis=0) - bends / BEND**2
        curve = np.diag(chances.sum(axis=0) + 1.0 / BEND**2) - chances.T @ chances
        step = np.linalg.solve(curve, slope)
        while (later := score(bends + step)) < now and np.abs(step).max() > 1e-9:
            step = step / 2
        bends, gained, now = bends + step, later - now, later
        if gained < 1e-9:
            break
    return bent(bends), float((bends**2).sum() / (2 * BEND**2))


# Weights -----------------------------------------------------------------------------------------------------------


def usual_coupons(coupons: NDArray[np.int64]) -> int:
    """The number of coupons that most people had."""
    return int(np.bincount(coupons[coupons > 0], minlength=2).argmax())


def same_coupons(coupons: NDArray[np.int64]) -> bool:
    """Whether (nearly) everybody who had coupons had the same number."""
    return int(((coupons > 0) & (coupons != usual_coupons(coupons))).sum()) < FEWEST_OTHERS


def weigh(stories: Sequence[StoryFit], prior: float = PRIOR_STRENGTH) -> StoryWeights:
    """Weigh the stories; rule out those with a weight under 5%, and `both` unless it is clearly better than each.

    A plain story that is not clearly worse than the best keeps 5%, and so does any where everybody had the same number
    of coupons.
    `prior` is the strength of the even Dirichlet prior.
    """
    from peerfront.models.response.response_choice import SURE, clearly, total_error

    alike = same_coupons(stories[0].coupons)
    if not prior > 0.0 or not np.isfinite(prior):
        raise SettingError("response_model.prior_not_positive", prior=prior)
    logs = {story.name: story.comparable for story in stories}
    pure = [name for name in logs if name != "both"]
    considered = list(pure)
    if "both" in logs and all(clearly(logs["both"] - logs[name], SURE) for name in pure):
        considered.append("both")
    evidence = np.stack([logs[name] for name in considered], axis=1)
    usual = stories[0].coupons == usual_coupons(stories[0].coupons)
    odds = np.log(stacking(evidence[usual], prior)) + evidence[~usual].sum(axis=0)
    stacked = dict(zip(considered, np.exp(odds - logsumexp(odds)).tolist(), strict=True))
    best = max(logs, key=lambda name: float(logs[name].sum()))
    unsure = [name for name in pure if alike or not clearly(logs[best] - logs[name], SURE)]
    left = {
        name: max(weight, RULED_OUT) if name in unsure else weight
        for name, weight in stacked.items()
        if name in unsure or weight >= RULED_OUT
    }
    total = sum(left.values())
    gaps = {name: logs[best] - own for name, own in logs.items()}
    return StoryWeights(
        weights={name: weight / total for name, weight in left.items()},
        stacked=stacked,
        ruled_out=tuple(name for name in logs if name not in left),
        behind={name: (float(gap.sum()), total_error(gap)) for name, gap in gaps.items()},
        same_coupons=alike,
        prior=prior,
    )


def stacking(logs: Array, prior: float) -> list[float]:
    """Weights of the columns that maximise the penalised log score of their mixture, by expectation-maximisation."""
    rows, columns = logs.shape
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(columns, 1.0 / columns)
    for _ in range(_EM_STEPS):
        mixed = chances * weights
        spoke = (mixed / mixed.sum(axis=1, keepdims=True)).sum(axis=0)
        later = (spoke + prior) / (rows + columns * prior)
        moved, weights = np.abs(later - weights).max(), later
        if moved < 1e-10:
            break
    return [float(weight) for weight in weights]


def updated(
    weights: Mapping[str, float],
    responses: Mapping[str, LearnedResponse],
    covariates: Codes,
    coupons: NDArray[np.int64],
    recruits: NDArray[np.int64],
    exposure: Array | None = None,
) -> dict[str, float]:
    """Weights after new counts, by Bayes' rule; with an exposure the recruits are those so far."""
    from peerfront.gfp.updating import updated_weights

    names = list(weights)
    missing = [name for name in names if name not in responses]
    if missing:
        raise SettingError("response_model.no_such_story", story=missing[0], stories=list(responses))
    evidence = [responses[name].log_likelihoods(covariates, coupons, recruits, exposure).sum() for name in names]
    later = updated_weights(np.array([weights[name] for name in names]), np.array([evidence]))[0]
    return dict(zip(names, (float(weight) for weight in later), strict=True))


def expected_recruits(
    responses: Mapping[str, LearnedResponse], covariates: Codes, max_coupons: int, level: float = 0.95
) -> dict[str, Expectation]:
    """What 1 .. max coupons bring on average over these people, in each story, with intervals.

    The members leave out a part of the data each: a delete-a-group jackknife of the log mean, with Student's t. Where
    nothing was held out, the ends are not known (NaN).
    """
    kinds = kinds_of(covariates)  # a national study has a million people, of far fewer kinds
    return {name: _expectation(response, kinds, max_coupons, level) for name, response in responses.items()}


def _expectation(response: LearnedResponse, people: Kinds, max_coupons: int, level: float) -> Expectation:
    def average(one: LearnedResponse) -> Array:
        means: Array = np.average(one.expected_recruits(people.rows, max_coupons), axis=0, weights=people.number)
        return means

    mean = average(response)
    members = len(response.rates.log_scale)
    if members < 2:
        return Expectation(mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan))
    each = [average(response.member(number)) for number in range(members)]
    errors = np.sqrt((members - 1) * np.log(np.maximum(each, 1e-12)).var(axis=0))
    reach = np.exp(stdtrit(members - 1, 0.5 + level / 2) * errors)
    return Expectation(mean, mean / reach, np.minimum(mean * reach, np.arange(1.0, max_coupons + 1)))
