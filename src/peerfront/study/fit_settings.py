"""The settings of a fit: the coupons and rounds it prepares for, and how much is simulated."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from peerfront.foundation.checked_calls import checked_settings
from peerfront.foundation.errors import SettingError
from peerfront.foundation.messages import Remedy
from peerfront.foundation.settings import (
    MOST_SEED,
    among,
    at_least,
    check_fields,
    discount_factor,
    one_or_more,
    optional,
    truth,
    up_to,
)
from peerfront.gfp.policy_iteration import PolicyIterationSettings
from peerfront.gfp.surrogate import SurrogateSettings
from peerfront.models.belief.prior import Prior, prior_belief
from peerfront.problem import Rules
from peerfront.problem.state import MOST_COUPONS_FITTED, MOST_PEOPLE, MOST_ROUNDS_LEFT

USUAL = "usual"
AUTO = "auto"
PINNED = ("capacity", "per_coupon")
"""What users may know about coupons."""
USUAL_MOST = 3
"""Coupons for one person that most studies give; plans give no more unless asked."""
_USUAL_SIZE = 250.0  # with more people and coupons, fewer episodes are simulated


@checked_settings
@dataclass(frozen=True)
class FitSettings:
    """What the planner is prepared for, and how it is learned: the keywords of `peerfront.fit`.

    >>> settings = pf.FitSettings(budget=60, rounds=5)
    >>> settings.max_per_person
    'usual'
    >>> pf.FitSettings(budget=0)
    Traceback (most recent call last):
    peerfront.foundation.errors.SettingError: budget must be a whole number of at least 1; found 0.
    """

    budget: int
    """Most coupons that are left to give out."""
    discount: float = 1.0
    """The worth of a recruit of the next round relative to one of this round; 1 for the same."""
    rounds: int = 5
    """Most rounds that are left, this one included."""
    max_per_person: int | str | None = USUAL
    """Most coupons for one person; None for no limit; "usual": 3, or fewer if hardly anybody in the study had 3, so
    that plans stay within what the study shows."""
    max_per_round: int | None = None
    """Most coupons in one round; None for no limit."""
    people: int | None = None
    """About how many people wait for coupons at once; None: the number of people with open coupons in the study if
    that is at least 10 (a value learned with one or two would be used on many), else 20."""
    seed: int = 0
    """Names the luck of simulations and splits: the same seed gives the same fit."""
    effort: float = 1.0
    """Share of the usual simulations from which the value is learned; 0.2 for a first look."""
    response: str = "auto"
    """What a coupon does, if you know it: capacity (people bring a limited number, and use the first coupons first) or
    per_coupon (each coupon is used on its own); auto believes what the study's counts show, and says how sure that
    is."""
    prior_belief: Prior | Path | str | None = None
    """What is believed about coupons before any data, or a TOML file with it; None for the usual prior."""
    learning: PolicyIterationSettings | None = None
    """How the value is learned; None: chosen by the size of the study and the effort."""
    accept_gain: bool = False
    """Whether to go on even if the columns predict recruits so well that they were probably filled in afterwards."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            budget=at_least(1, MOST_COUPONS_FITTED),
            discount=discount_factor,
            rounds=at_least(1, MOST_ROUNDS_LEFT),
            max_per_person=_usual_or_more,
            max_per_round=optional(one_or_more),
            people=optional(at_least(1, MOST_PEOPLE)),
            seed=at_least(0, MOST_SEED),
            response=among("response", (AUTO, *PINNED)),
            accept_gain=truth,
            effort=up_to(10.0),
            prior_belief=prior_belief,
        )
        if self.prior_belief is not None and self.response != AUTO:
            response = Remedy("response", self.response)
            raise SettingError("prior_belief.contradiction", prior=Remedy("prior_belief", "FILE"), response=response)

    @property
    def prior(self) -> Prior:
        """What is believed before any data."""
        if self.response != AUTO:
            return Prior.knowing(self.response)
        return self.prior_belief if isinstance(self.prior_belief, Prior) else Prior()

    def rules_for(self, people: int, most_shown: int) -> Rules:
        """The rules of a study that shows what up to `most_shown` coupons do."""
        most = min(USUAL_MOST, most_shown) if isinstance(self.max_per_person, str) else self.max_per_person
        return Rules(self.budget, people, self.rounds, most, self.max_per_round)

    def learning_for(self, people: int) -> PolicyIterationSettings:
        """Learning settings: enough for some hundred coupons, with fewer episodes if each is larger."""
        if self.learning is not None:
            if not self.learning.surrogate.deadline:
                raise SettingError("fits.no_deadline")
            return self.learning
        size = min(1.0, _USUAL_SIZE / (people + self.budget))
        share = self.effort * size
        return PolicyIterationSettings(
            rounds=2 if self.effort > 0.5 else 1,
            episodes=max(20, round(150 * share)),
            states=max(100, round(600 * share)),
            returns=max(1, round(4 * size)),  # large returns are nearly certain
            steps=500 if self.effort > 0.5 else 200,
            judged_episodes=max(20, round(200 * share)),
            surrogate=SurrogateSettings(deadline=True),
            seed=self.seed,
        )


def _usual_or_more(name: str, value: Any) -> int | str | None:
    """Rule: a whole number of at least 1, None for no limit, or "usual"."""
    return (
        value if isinstance(value, str) and value == USUAL else cast("int | None", optional(one_or_more)(name, value))
    )
