"""What the tests of both Q-learners need: states of all kinds, and a study small enough to learn in seconds."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from peerfront.baselines.q_learning import QLearningSettings
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Frontier, Policy, Rules, State, rollout
from peerfront.simulation.catalog import make_world

WORLD = make_world("boom_bust")
TYPES = len(WORLD.schema.fields[0])
RULES = Rules(budget=15, people=4, rounds=6)
EPISODES = named_luck(("judged",), 400)


@st.composite
def capped_states(draw: st.DrawFn) -> State:
    """Any state of a study with at most RULES.budget coupons, with and without caps."""
    people = draw(st.lists(st.integers(0, TYPES - 1), min_size=1, max_size=14))
    rules = replace(
        RULES,
        max_per_person=draw(st.none() | st.integers(1, 4)),
        max_per_round=draw(st.none() | st.integers(1, 9)),
    )
    frontier = Frontier.of(np.array(people, dtype=np.int16)[:, None])
    return State(draw(st.integers(1, RULES.budget)), frontier, draw(st.integers(0, RULES.rounds - 1)), rules)


def earned(policy: Policy, discount: float = 0.9) -> np.ndarray:
    """In the same 400 episodes for every policy, so that differences are paired."""
    return rollout(WORLD, policy, RULES, EPISODES).discounted_rewards(discount)


def clearly_better(policy: np.ndarray, than: np.ndarray, by: float) -> bool:
    """The paired difference exceeds the margin by four standard errors."""
    difference = policy - than
    return difference.mean() - 4 * difference.std(ddof=1) / np.sqrt(len(difference)) > by


def brief(learning: QLearningSettings, **changes: object) -> QLearningSettings:
    """As many episodes as the small study needs."""
    return replace(learning, **{"episodes": 300, "warm_up": 100, **changes})


def untrained(learning: QLearningSettings) -> QLearningSettings:
    """One episode and no gradient step: the network as it starts."""
    return brief(learning, episodes=1)
