"""The reinforcement-learning baselines by name: settings, discounts, and what a comparison keeps of them."""

import dataclasses

import pandas as pd
import pytest

from experiments.small import SMALL
from peerfront.experiments.comparison import tasks
from peerfront.experiments.comparison_run import run_comparison
from peerfront.foundation.errors import SettingError

ASKED = dataclasses.replace(
    SMALL,
    worlds=("boom_bust",),
    draws=(0,),
    policies=("budget_dqn:episodes=30", "factorized_rl:episodes=30,discount=0.99"),
)


def test_they_are_trained_and_played(tmp_path) -> None:
    results = run_comparison(ASKED, tmp_path / "trained")
    played = results.episodes.groupby("policy")["recruits"].mean()
    assert len(played) == 2
    assert (played > 0).all()
    prepared = (tmp_path / "trained" / "prepared.csv").read_text()
    assert "budget_dqn (30 episodes at discount 0.9, the last fifth of which earned" in prepared
    assert "budget_dqn (30 episodes at discount 1, " in prepared
    assert "factorized_rl (30 episodes at discount 0.99, " in prepared
    learning = pd.read_csv(tmp_path / "trained" / "learning.csv")
    assert learning.groupby(["policy", "discount"])["episode"].max().tolist() == [29, 29, 29, 29]
    assert learning["discounted_reward"].between(0, ASKED.rules.budget).all()
    again = run_comparison(ASKED, tmp_path / "trained", resume=True)  # read from the folder
    assert again.learning()["discounted_reward"].to_numpy() == pytest.approx(learning["discounted_reward"].to_numpy())


def test_a_training_discount_of_its_own_makes_one_policy_for_all_discounts() -> None:
    assert [(task.policy.split(":")[0], task.discounts) for task in tasks(ASKED)] == [
        ("budget_dqn", (0.9,)),
        ("budget_dqn", (1.0,)),
        ("factorized_rl", (0.9, 1.0)),
    ]


@pytest.mark.parametrize("spec", ["budget_dqn:discount=1.5", "factorized_rl:discount=0", "budget_dqn:episodes=0"])
def test_impossible_settings_are_refused_before_any_work(spec) -> None:
    with pytest.raises(SettingError, match="discount must lie above 0|episodes must be a whole number"):
        dataclasses.replace(SMALL, policies=(spec,))
