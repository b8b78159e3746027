"""Trees that carry a study: a tree that brought more than others of its time goes on so, as far as that is known."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, poisson

from peerfront.foundation.randomness import named_luck
from peerfront.models.returns.coupons_seen import CouponsSeen
from peerfront.study.day_models import DayModels, DrawnModels, place_of
from peerfront.study.study_state import Standing
from peerfront.study.tree_lifts import evidence, tree_lifts
from study.small_advice import a_fit
from study.small_standing import a_standing, some_times

LUCK = named_luck(("trees",), 300)


def test_the_evidence_is_a_gamma_mixture_of_poisson_counts() -> None:
    came, expected = np.array([3.0, 0.0, 7.0]), np.array([2.0, 1.5, 0.0])  # nothing is known of a tree without holders

    def exactly(differ: float) -> float:
        theta = gamma(1.0 / differ**2, scale=differ**2)
        each = [
            quad(lambda t, y=y, e=e: poisson.pmf(y, t * e) * theta.pdf(t), 0.0, 30.0, limit=200)[0]
            for y, e in ((3, 2.0), (0, 1.5))
        ]
        return float(np.log(each).sum())

    assert evidence(came, expected, 0.9) - evidence(came, expected, 0.3) == pytest.approx(
        exactly(0.9) - exactly(0.3), abs=1e-6
    )


def _standing(recruits: list[list[int]]) -> Standing:
    """Holders of three coupons each, long ago, of one tree after the other."""
    came = np.array([number for tree in recruits for number in tree])
    trees = np.repeat(np.arange(len(recruits)) + 1, [len(tree) for tree in recruits])
    holder = np.repeat(np.arange(len(came)), came)
    seen = CouponsSeen(np.full(len(came), 3), np.full(len(came), 200.0), holder, np.full(len(holder), 5.0))
    codes = np.tile(a_standing().holders[:1], (len(came), 1))
    return dataclasses.replace(a_standing(waiting=0, holders=0), seen=seen, holders=codes, trees=trees)


def test_a_tree_that_brought_more_goes_on_so() -> None:
    lifts = tree_lifts(a_fit().belief, _standing([[3] * 12, [0] * 12, [1] * 12, [0] * 2]), some_times(), LUCK)
    assert lifts is not None
    assert lifts.shape == (300, 5)
    assert (lifts[:, 0] == 0.0).all()
    means = lifts.mean(axis=0)
    assert means[1] > 0.4 > means[3] > means[4] > means[2]
    assert np.exp(lifts[:, 4]).mean() > 0.25  # two people show little


def test_trees_that_are_alike_have_no_lift() -> None:
    alike = tree_lifts(a_fit().belief, _standing([[1, 1, 1, 2, 0, 1] * 6] * 3), some_times(), LUCK)
    assert alike is not None
    assert np.abs(alike).mean() < 0.15
    assert tree_lifts(a_fit().belief, a_standing(), some_times(), LUCK) is None


def test_lifts_belong_to_their_studies() -> None:
    """Some studies, several times, keep their own lifts: they are simulated again with new seeds."""
    standing = _standing([[3] * 12, [0] * 12])
    lifts = tree_lifts(a_fit().belief, standing, some_times(), LUCK)
    models = DrawnModels.of(DayModels.of(a_fit(), some_times()), standing.seen, LUCK, lifts=lifts)
    rows = np.tile(np.arange(0, 300, 50), 60)  # more than there are studies
    place = place_of(1, np.arange(len(rows)) % 3, len(rows))
    here = models.of_studies(rows).zeal(np.arange(len(rows)), place)
    np.testing.assert_array_equal(here, models.zeal(rows, place))
