"""What a reproduction runs: comparisons by name, at one of three scales.

`published` is Table 1's own world with the paper's models and training; `published, repaired` adds our methods there;
`described` is the world of the paper's text over several draws, which is what conclusions should rest on.
"""

from dataclasses import dataclass, replace

from peerfront.errors import SettingError, UnknownName
from peerfront.experiments.comparison import PAPER_DISCOUNTS, Comparison
from peerfront.problem import checked_discount

PAPER_METHODS = {
    "Random": "random_split",
    "Budget-DQN": "budget_dqn",
    "Factorized RL": "factorized_rl",
    "IID-Population DP": "population_dp",
    "GFP": "gfp-paper",
}
"""The paper's methods and the policies that follow its text."""
OUR_METHODS = ("gfp", "threshold", "constant")
SCALES = ("quick", "default", "full")

PUBLISHED, REPAIRED, DESCRIBED = "published", "published, repaired", "described"


@dataclass(frozen=True)
class Part:
    """One comparison of a reproduction, and what it is for."""

    name: str
    purpose: str
    comparison: Comparison


@dataclass(frozen=True)
class ReproductionPlan:
    """Everything a reproduction runs."""

    scale: str = "default"
    discounts: tuple[float, ...] = PAPER_DISCOUNTS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise UnknownName("scale", self.scale, SCALES)
        object.__setattr__(self, "discounts", tuple(checked_discount(d) for d in self.discounts))
        if not self.discounts or len(set(self.discounts)) != len(self.discounts):
            raise SettingError(f"A reproduction needs discounts, each once; found {list(self.discounts)}.")

    @property
    def parts(self) -> tuple[Part, ...]:
        """The comparisons, in the order in which they are run."""
        everything = (*PAPER_METHODS.values(), *OUR_METHODS, "gfp-untrained")
        described = Part(
            DESCRIBED,
            "the world of the paper's text, models learned from a simulated history, several draws",
            Comparison(
                policies=everything,
                draws=tuple(range({"quick": 1, "default": 5, "full": 20}[self.scale])),
                discounts=self.discounts,
                episodes=100 if self.scale == "quick" else 400,
                models="learned",
                bound=True,
                seed=self.seed,
            ),
        )
        if self.scale == "quick":
            return (described,)
        published = Comparison(
            worlds=("published",),
            policies=(*PAPER_METHODS.values(), "gfp-untrained"),
            discounts=self.discounts,
            models="learned-paper",
            seed=self.seed,
        )
        ours = replace(published, policies=OUR_METHODS, models="learned", bound=True)
        return (
            Part(PUBLISHED, "the world behind Table 1, with the paper's models and training", published),
            Part(REPAIRED, "the same world, with our models and methods", ours),
            described,
        )
