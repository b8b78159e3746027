"""Table 1 of the paper: means and standard errors over 20 episodes, by metric, method and discount."""

from dataclasses import dataclass

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
