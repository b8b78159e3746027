"""What a reproduction runs: comparisons by name, at one of three scales.

`published` is Table 1's own world with the paper's models and training; `published, repaired` adds our methods there;
`described` is the world of the paper's text over several draws, which is what conclusions should rest on.

Table 1 of the paper: means and standard errors over 20 episodes, by metric, method and discount.
"""

from dataclasses import dataclass, replace

from peerfront.experiments.comparison import PAPER_DISCOUNTS, Comparison
from peerfront.foundation.errors import UnknownName

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


DISCOUNTS = (0.9, 0.95, 0.99, 1.0)
EPISODES = 20
REWARD, RECRUITS = "discounted_reward", "recruits"


@dataclass(frozen=True)
class Published:
    """One cell of the table."""

    mean: float
    standard_error: float


def _row(*cells: tuple[float, float]) -> dict[float, Published]:
    return {discount: Published(*cell) for discount, cell in zip(DISCOUNTS, cells, strict=True)}


_RANDOM_RECRUITS = (39.4, 4.4)
TABLE: dict[str, dict[str, dict[float, Published]]] = {
    REWARD: {
        "Random": _row((35.6, 3.9), (37.4, 4.1), (39.0, 4.3), (39.4, 4.4)),
        "Budget-DQN": _row((65.9, 2.7), (68.4, 1.8), (70.7, 1.6), (72.4, 1.7)),
        "Factorized RL": _row((57.9, 2.4), (63.0, 3.8), (85.4, 1.8), (90.3, 2.7)),
        "IID-Population DP": _row((79.4, 1.3), (84.4, 1.2), (88.9, 0.8), (91.3, 1.0)),
        "GFP": _row((82.5, 1.5), (89.2, 0.9), (96.3, 0.4), (99.5, 0.2)),
    },
    RECRUITS: {
        "Random": _row(*[_RANDOM_RECRUITS] * 4),
        "Budget-DQN": _row((72.9, 2.6), (75.8, 1.9), (71.9, 1.6), (72.4, 1.7)),
        "Factorized RL": _row((75.1, 2.8), (85.2, 5.1), (90.4, 1.8), (90.3, 2.7)),
        "IID-Population DP": _row((88.5, 1.0), (89.3, 1.1), (90.0, 0.8), (91.3, 1.0)),
        "GFP": _row((94.5, 1.0), (97.0, 0.6), (98.6, 0.3), (99.5, 0.2)),
    },
}
"""metric -> method -> discount -> cell."""
