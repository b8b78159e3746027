"""The replay: never more than its capacity, the oldest forgotten first, everything else drawn alike."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from peerfront.baselines.agents import Action
from peerfront.baselines.q_learning import Replay, Transition
from peerfront.foundation.randomness import named_generator
from peerfront.problem import Frontier, State

STATE = State(3, Frontier.of(np.zeros((1, 1), dtype=np.int16)))


def numbered(number: int) -> Transition:
    return Transition(STATE, Action(np.array([1])), float(number), None)


@given(st.integers(1, 20), st.integers(1, 60))
def test_it_holds_the_last_so_many(capacity, added) -> None:
    replay = Replay(capacity)
    for number in range(added):
        replay.add(numbered(number))
        assert len(replay) == min(number + 1, capacity)
    rewards = {transition.reward for transition in replay.sample(500, named_generator("replay", capacity))}
    assert rewards <= set(range(max(0, added - capacity), added))


def test_everything_it_holds_is_drawn_alike_also_after_more_was_added() -> None:
    replay, rng = Replay(10), named_generator("alike")
    for number in range(10):
        replay.add(numbered(number))
    replay.sample(5, rng)
    replay.add(numbered(10))
    drawn = [int(transition.reward) for transition in replay.sample(4000, rng)]
    assert chisquare(np.bincount(drawn, minlength=11)[1:]).pvalue > 1e-4
    assert 0 not in drawn
