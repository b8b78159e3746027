"""Whole coupons from softmax shares."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from peerfront.baselines.agents import best_few, largest_remainders, softmax_weights

weights_lists = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.0, 3.0, 20.0]), min_size=1, max_size=8)


def split(weights, total: int, most: int) -> np.ndarray:
    return largest_remainders(np.array([weights], dtype=float), np.array([total]), np.array([most]))[0]


def plain_largest_remainders(weights, total: int) -> list[int]:
    quotas = [total * w / sum(weights) for w in weights]
    whole = [int(np.floor(q + 1e-9)) for q in quotas]
    for person in sorted(range(len(weights)), key=lambda i: (-(round(quotas[i] - whole[i], 9)), i)):
        if sum(whole) < total and weights[person] > 0:
            whole[person] += 1
    return whole


@given(weights_lists.filter(any), st.integers(0, 40))
def test_without_caps_it_is_the_method_of_largest_remainders(weights, total) -> None:
    given_out, plain = split(weights, total, total), plain_largest_remainders(weights, total)
    assert given_out.sum() == total
    quotas = total * np.array(weights) / sum(weights)
    assert (np.abs(given_out - quotas) < 1 + 1e-9).all()
    assert (given_out[np.array(weights) == 0] == 0).all()
    # Equal remainders may differ in the last bit, so who of the equals comes first is left open.
    assert np.allclose(np.sort(np.abs(given_out - quotas)), np.sort(np.abs(np.array(plain) - quotas)), atol=1e-6)


@given(weights_lists.filter(any), st.integers(1, 6), st.data())
def test_caps_hold_and_everything_is_given_out(weights, most, data) -> None:
    people = sum(weight > 0 for weight in weights)
    total = data.draw(st.integers(0, most * people))
    given_out = split(weights, total, most)
    assert given_out.sum() == total
    assert given_out.max() <= most
    assert given_out.min() >= 0
    assert (given_out[np.array(weights) == 0] == 0).all()
    # Larger weights never get less, beyond the one coupon that a tie of remainders decides.
    for i, j in product(range(len(weights)), repeat=2):
        if weights[i] > weights[j]:
            assert given_out[i] >= given_out[j] - 1


def test_known_answers() -> None:
    assert split([0.5, 0.3, 0.2], 7, 7).tolist() == [4, 2, 1]  # 3.5, 2.1, 1.4
    assert split([0.8, 0.1, 0.1], 10, 4).tolist() == [4, 3, 3]
    assert split([1.0, 1.0], 1, 1).tolist() == [1, 0]
    both = largest_remainders(np.array([[1.0, 3.0], [1.0, 0.0]]), np.array([4, 5]), np.array([9, 9]))
    assert both.tolist() == [[1, 3], [5, 0]]


def test_the_best_few_and_their_shares() -> None:
    scores = np.array([[0.0, np.log(3.0), -1.0, 0.0], [5.0, 4.0, -np.inf, -np.inf]])
    chosen = best_few(scores, np.array([2, 1]))
    assert chosen.tolist() == [[True, True, False, False], [True, False, False, False]]  # ties to the first
    assert np.allclose(softmax_weights(scores, chosen, 1.0), [[0.25, 0.75, 0, 0], [1, 0, 0, 0]])
    assert np.allclose(softmax_weights(scores, chosen, 0.5)[0], [0.1, 0.9, 0, 0])
