"""Boom-bust: those who bring the most bring dead ends.

A brings many (rate 5), but its recruits are C, who bring nobody (rate .01); B brings fewer (rate 2), and its recruits
are B. A recruit follows the rule with probability `fidelity`, else its type is drawn evenly.
"""

from peerfront.errors import SettingError
from peerfront.simulation.typed import TypedWorld, typed_world

_RULE = {"A": "C", "B": "B", "C": "C"}


def boom_bust(fidelity: float = 0.85) -> TypedWorld:
    if not 0.0 <= fidelity <= 1.0:
        raise SettingError(f"fidelity is a probability between 0 and 1; found {fidelity}.")
    evenly = (1.0 - fidelity) / len(_RULE)
    return typed_world(
        "boom_bust",
        rates={"A": 5.0, "B": 2.0, "C": 0.01},
        recruits={
            parent: {child: evenly + (fidelity if child == rule else 0.0) for child in _RULE}
            for parent, rule in _RULE.items()
        },
        start={"A": 0.45, "B": 0.45, "C": 0.10},
    )
