"""One draw of a response model as a model of its own."""

import numpy as np
import pytest

from peerfront.foundation.randomness import named_luck
from peerfront.models.response.learned_response import shifted
from study.small_advice import a_fit, a_frontier


@pytest.mark.parametrize("story", ["capacity", "per_coupon"])
def test_it_draws_what_sample_shifted_draws(story: str) -> None:
    response, people = a_fit(5, story).responses[story], a_frontier(400).covariates
    luck, weights = named_luck(("shifted", story), 400), np.array([0.4, -0.8, 0.3, 1.1, -0.5])
    one = shifted(response, weights, 0.3)
    np.testing.assert_array_equal(
        one.sample(people, 3, luck), response.sample_shifted(people, 3, luck, np.tile(weights, (400, 1)), 0.3)
    )
    calm = shifted(response, np.zeros(5))
    np.testing.assert_allclose(calm.gains(people, 3), response.gains(people, 3), rtol=1e-12)
    assert (shifted(response, np.zeros(5), 0.5).gains(people, 3) > response.gains(people, 3)).all()


def test_its_counts_are_those_of_what_it_draws() -> None:
    response, people = a_fit(5, "capacity").responses["capacity"], a_frontier(1).covariates
    one = shifted(response, np.array([1.0, -1.0, 0.5, 0.2, 0.1]), -0.4)
    drawn = one.sample(np.repeat(people, 20_000, axis=0), 3, named_luck(("counts",), 20_000))
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(shares, one.counts(people, 3)[0], atol=4 * 0.5 / np.sqrt(len(drawn)))
