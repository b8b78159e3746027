"""What a reproduction runs: comparisons by name, at one of three scales.

`published` is Table 1's own world with the paper's models and training; `published, repaired` adds our methods there;
`described` is the world of the paper's text over several draws, which is what conclusions should rest on.
"""

from dataclasses import dataclass, replace

from peerfront.errors import UnknownName
from peerfront.experiments.comparison import PAPER_DISCOUNTS, Comparison

PAPER_METHODS = {
    "Random": "random_split",
    "Budget-DQN": "budget_dqn",
    "Factorized RL": "factorized_rl",
    "IID-Population DP": "population_dp",
    "GFP": "gfp-paper",
}
"""The paper's methods and the policies that follow its text."""
_PAPER_TRAINING = {name: f"{name}:training=paper,name={name}" for name in ("budget_dqn", "factorized_rl")}
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

    scale: str
    discounts: tuple[float, ...]
    seed: int
    parts: tuple[Part, ...]
    """The comparisons, in the order in which they are run; `described` is among them."""


def planned(scale: str = "default", discounts: tuple[float, ...] = PAPER_DISCOUNTS, seed: int = 0) -> ReproductionPlan:
    """The reproduction of a scale."""
    if scale not in SCALES:
        raise UnknownName("scale", scale, SCALES)
    described = Comparison(
        policies=(*PAPER_METHODS.values(), *OUR_METHODS, "gfp-untrained"),
        draws=tuple(range({"quick": 1, "default": 5, "full": 20}[scale])),
        discounts=discounts,
        episodes=100 if scale == "quick" else 400,
        models="learned",
        bound=True,
        seed=seed,
    )
    parts = [
        Part(
            DESCRIBED,
            "the world of the paper's text, models learned from a simulated history",
            described,
        )
    ]
    if scale != "quick":
        published = replace(
            described,
            worlds=("published",),
            policies=(*(_PAPER_TRAINING.get(policy, policy) for policy in PAPER_METHODS.values()), "gfp-untrained"),
            draws=(0,),
            models="learned-paper",
            bound=False,
        )
        ours = replace(published, policies=OUR_METHODS, models="learned", bound=True)
        parts = [
            Part(PUBLISHED, "the world behind Table 1, with the paper's models and training", published),
            Part(REPAIRED, "the same world, with our models and methods", ours),
            *parts,
        ]
    return ReproductionPlan(scale, described.discounts, described.seed, tuple(parts))
