"""Simple rules that a plan is compared with, and how many more recruits it brings than each of them.

Rivals are what people would do without a plan: literally 3, 2 or 1 coupons each while they last, what this study has
done so far, and a threshold that is tuned by simulation, on luck that is not the one it is scored by. The same rules
are played by rounds and by days, with the same people and the same luck as the plan.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from peerfront.baselines.simple_rules import CouponGains, Threshold, TuningGrid, WhileTheyLast, threshold_rules
from peerfront.foundation.covariates import Codes
from peerfront.foundation.messages import Message, n_coupons, note
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.gfp.backup import Tables
from peerfront.gfp.blocks import majorants
from peerfront.problem import Policy, Rules, World, rollouts

Whole = NDArray[np.int64]
Play = Callable[[Sequence[Policy], Luck], Sequence[Whole]]
"""Recruits of each policy in the studies of this luck, [studies]."""
_MOST_EACH = 3
_GRID = TuningGrid((0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.9), (0.05, 0.2, 0.4, 1.0), 24, 3, 120)
_HARDLY = 0.02  # of a rival's recruits: a smaller lead is about the same
_95 = 1.96


@dataclass(frozen=True, eq=False)
class Rival:
    """A rule that the plan is compared with."""

    described: Message | str
    policy: Policy
    is_practice: bool = False
    """Whether it is what this study has done so far."""


def usual_rivals(
    so_far: Mapping[int, int], response: CouponGains, rules: Rules, play: Play, seed: int = 0
) -> list[Rival]:
    """3, 2 and 1 coupons each (or as the cap allows), what the study has done so far, and the tuned threshold.

    `so_far` says how many people had each number of coupons; empty before a study starts.
    """
    cap = rules.max_per_person or max([_MOST_EACH, *so_far])
    given: dict[int, int] = {}
    for coupons, people in so_far.items():
        given[min(coupons, cap)] = given.get(min(coupons, cap), 0) + people
    practice = WhileTheyLast.drawn_from(given) if given else None
    rivals = []
    for coupons in range(min(_MOST_EACH, cap), 0, -1):
        same = WhileTheyLast.each(coupons)
        code = "rivals.each_so_far" if same == practice else "rivals.each"
        rivals.append(Rival(note(code, coupons=n_coupons(coupons)), same, same == practice))
    if practice is not None and not any(rival.is_practice for rival in rivals):
        same_for_all = note("rivals.each_so_far", coupons=n_coupons(max(given)))
        rivals.append(Rival(note("rivals.so_far") if len(given) > 1 else same_for_all, practice, True))
    best = tuned_threshold(response, rules, play, seed)
    rivals.append(Rival(note("rivals.likely", chance=best.cutoff, least=best.at_least), best))
    return rivals


def by_rounds(world: World, rules: Rules) -> Play:
    """Play policies in a world by rounds."""
    return lambda policies, luck: [each.total_recruits for each in rollouts(world, policies, rules, luck)]


def tuned_threshold(
    response: CouponGains, rules: Rules, play: Play, seed: int = 0, grid: TuningGrid = _GRID
) -> Threshold:
    """The best of a grid of thresholds: all of them in few simulated studies, the best few in more."""

    def recruits(tried: Sequence[Threshold], studies: int) -> list[float]:
        return [float(own.mean()) for own in play(tried, named_luck(("tune threshold", seed), studies))]

    tried = threshold_rules(_InBlocks(response), rules.budget, grid.cutoffs, grid.at_least)
    screened = recruits(tried, grid.screening_episodes)
    finalists = [tried[place] for place in np.argsort(screened)[::-1][: grid.finalists].tolist()]
    final = recruits(finalists, grid.final_episodes)
    best: Threshold = finalists[final.index(max(final))]
    return best


@dataclass(frozen=True)
class _InBlocks:
    """A response whose gains never rise: where more coupons motivate, those of a block are worth the same each."""

    response: CouponGains

    def gains(self, covariates: Codes, max_coupons: int) -> NDArray[np.float64]:
        gains = self.response.gains(covariates, max_coupons)
        return majorants(Tables(gains, np.zeros((*gains.shape, 0))))[0].gains


# What a plan gains ---------------------------------------------------------------------------------------------------


class Verdict(StrEnum):
    """What a gain amounts to."""

    MORE = "more"
    SAME = "same"
    """The interval includes 0, or the difference is below 2% of the rival's recruits."""
    FEWER = "fewer"


@dataclass(frozen=True)
class Lead:
    """How many more recruits the plan brings than a rival: the mean of paired simulations and its 95% interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, plan: Whole, rival: Whole) -> "Lead":
        """From the recruits of the same simulated studies, [studies]."""
        lead = plan - rival
        mean = float(lead.mean())
        reach = _95 * float(lead.std(ddof=1)) / len(lead) ** 0.5 if len(lead) > 1 else np.inf
        return cls(mean, mean - reach, mean + reach)


@dataclass(frozen=True)
class Gain:
    """What the plan gains against one rival."""

    policy: str
    described: Message | str
    is_practice: bool
    recruits: float
    """Of the rival."""
    lead: Lead
    by_part: Mapping[str, Lead]
    """The same where a part of the belief is true, the most credible first."""

    @property
    def verdict(self) -> Verdict:
        """Whether the plan brings more, about the same, or fewer."""
        if self.lead.low <= 0.0 <= self.lead.high or abs(self.lead.mean) < _HARDLY * self.recruits:
            return Verdict.SAME
        return Verdict.MORE if self.lead.mean > 0.0 else Verdict.FEWER


@dataclass(frozen=True)
class Gains:
    """What the plan gains against each rival."""

    each: tuple[Gain, ...] = ()

    @property
    def best(self) -> Gain | None:
        """Against the rival that brings the most."""
        return max(self.each, key=lambda gain: gain.recruits, default=None)

    @property
    def practice(self) -> Gain | None:
        """Against what the study has done so far."""
        return next((gain for gain in self.each if gain.is_practice), None)

    @property
    def shown(self) -> list[Gain]:
        """The two that matter most: against the best rival, and against what the study has done so far."""
        two = (self.best, self.practice)
        return [gain for number, gain in enumerate(two) if gain is not None and gain not in two[:number]]


def gain_over(rival: Rival, plan: Whole, recruits: Whole, part_of: NDArray[np.object_], parts: Sequence[str]) -> Gain:
    """The gain over one rival, from the recruits of both and the part of the belief in each study, [studies]."""
    by_part = {name: Lead.of(plan[part_of == name], recruits[part_of == name]) for name in parts if name in part_of}
    return Gain(
        rival.policy.name,
        rival.described,
        rival.is_practice,
        float(recruits.mean()),
        Lead.of(plan, recruits),
        by_part,
    )
