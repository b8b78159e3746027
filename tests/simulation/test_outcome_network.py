"""Networks with a known outcome are as their settings say, and referral samples keep to their ties."""

import numpy as np
import pytest

from peerfront.foundation.errors import SettingError
from peerfront.simulation.catalog import make_world
from peerfront.simulation.outcome_network import OUTCOME, YES, OutcomeNetworkSettings, outcome_network
from simulation.referral_sampling import referral_sample


def with_outcome(society) -> np.ndarray:
    place = society.schema.names.index(OUTCOME)
    return society.covariates[:, place] == society.schema.fields[place].code_of[YES]


@pytest.mark.parametrize(("homophily", "activity", "prevalence"), [(1.0, 1.0, 0.5), (2.0, 1.5, 0.2), (1.4, 0.7, 0.1)])
def test_settings_are_met(homophily, activity, prevalence) -> None:
    society = outcome_network(OutcomeNetworkSettings(4000, prevalence, homophily, activity, mean_degree=12.0))
    yes, degrees = with_outcome(society), society.degrees
    assert yes.mean() == pytest.approx(prevalence)
    assert degrees.min() >= 1
    assert degrees.mean() == pytest.approx(12.0, rel=0.03)
    assert degrees[yes].mean() / degrees[~yes].mean() == pytest.approx(activity, rel=0.06)
    owner = np.repeat(np.arange(len(society)), degrees)
    across = (yes[owner] != yes[society.acquaintances]).sum() / 2
    inside, outside = degrees[yes].sum(), degrees[~yes].sum()
    assert inside * outside / (inside + outside) / across == pytest.approx(homophily, rel=0.06)


def test_a_draw_is_one_network() -> None:
    one, same, other = (outcome_network(OutcomeNetworkSettings(200, draw=draw)) for draw in (1, 1, 2))
    np.testing.assert_array_equal(one.acquaintances, same.acquaintances)
    assert not np.array_equal(one.acquaintances, other.acquaintances)


def test_the_world_is_in_the_catalogue() -> None:
    world = make_world("outcome_network:people=300,prevalence=0.3", draw=2)
    assert world.name == "outcome_network"
    assert with_outcome(world.society).mean() == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prevalence": 0.0001}, "leaves 0 of 1,000"),
        ({"homophily": 0.5}, "homophily must be"),
        ({"mean_degree": 400}, "too large"),
        ({"people": 3}, "people must be"),
    ],
)
def test_impossible_settings_are_refused(settings, message) -> None:
    with pytest.raises(SettingError, match=message):
        OutcomeNetworkSettings(**settings)


def test_samples_follow_ties_use_each_person_once_and_keep_to_coupons() -> None:
    society = outcome_network(OutcomeNetworkSettings(400))
    coupons = np.arange(400) % 4
    drawn = referral_sample(society, coupons, np.random.default_rng(1), people=150, seeds=5, chance=0.9)
    assert len(set(drawn.members.tolist())) == len(drawn.members) == 150
    assert (drawn.recruiter < np.arange(150)).all()
    for child, parent in enumerate(drawn.recruiter.tolist()):
        if parent >= 0:
            assert drawn.members[child] in society.acquaintances_of(int(drawn.members[parent]))
    brought = np.bincount(drawn.recruiter[drawn.recruiter >= 0], minlength=150)
    interviewed = drawn.coupons >= 0
    assert (brought[interviewed] <= drawn.coupons[interviewed]).all()
    assert (brought[~interviewed] == 0).all()
    np.testing.assert_array_equal(drawn.coupons[interviewed], coupons[drawn.members[interviewed]])


def test_seeds_can_be_chosen() -> None:
    society = outcome_network(OutcomeNetworkSettings(300))
    yes = with_outcome(society)
    drawn = referral_sample(
        society, np.full(300, 3), np.random.default_rng(2), people=100, seeds=8, seed_weights=yes.astype(float)
    )
    assert yes[drawn.members[:8]].all()
