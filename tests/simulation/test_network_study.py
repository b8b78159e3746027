"""Studies on networks: trees along ties, nobody twice, coupons within the budget."""

import numpy as np
import pytest

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import named_luck
from peerfront.problem import Rules, rollout
from peerfront.simulation.catalog import make_world
from peerfront.simulation.network import NetworkWorld, network_studies
from peerfront.simulation.outcome_network import spread_outcome

RULES = Rules(budget=60, people=5, rounds=4, max_per_person=3)


def a_network() -> NetworkWorld:
    world = make_world("outcome_network:people=300")
    assert isinstance(world, NetworkWorld)
    return world


def test_samples_are_trees_along_ties() -> None:
    world, luck = a_network(), named_luck(("network study",), 4)
    studies = network_studies(world, Constant(2), RULES, luck)
    played = rollout(world, Constant(2), RULES, luck)
    for study, recruits, spend in zip(studies, played.total_recruits, played.spend.sum(axis=1), strict=True):
        assert len(set(study.members.tolist())) == len(study.members)
        assert (study.recruiter[:5] == -1).all()
        assert (study.recruiter[5:] >= 0).all()
        assert (study.recruiter < np.arange(len(study.members))).all()
        for child, parent in zip(study.members[5:], study.recruiter[5:], strict=True):
            assert child in world.society.acquaintances_of(int(study.members[parent]))
        assert len(study.members) - 5 == recruits
        assert np.maximum(study.coupons, 0).sum() == spend <= 60
        brought = np.bincount(study.recruiter[5:], minlength=len(study.members))
        assert (brought <= np.maximum(study.coupons, 0)).all()


def test_interviews_end_after_so_many_people() -> None:
    whole = network_studies(a_network(), Constant(2), RULES, named_luck(("network study",), 1))[0]
    part = network_studies(a_network(), Constant(2), RULES, named_luck(("network study",), 1), people=12)[0]
    assert part.members.tolist() == whole.members[:12].tolist()
    with pytest.raises(SettingError, match="smaller than its 5 seeds"):
        network_studies(a_network(), Constant(2), RULES, named_luck(("network study",), 1), people=3)


def test_an_outcome_is_as_common_and_as_clustered_as_wanted() -> None:
    before = a_network().society
    for homophily in (1.0, 1.5, 2.5):
        society, has = spread_outcome(before, 0.2, homophily, draw=3)
        assert society.degrees.tolist() == before.degrees.tolist()
        owner = np.repeat(np.arange(len(society)), society.degrees)
        assert has.sum() == 60
        inside, ends = society.degrees[has].sum(), society.degrees.sum()
        across = (has[owner] != has[society.acquaintances]).sum() / 2
        assert inside * (ends - inside) / ends / across == pytest.approx(homophily, rel=0.05)
