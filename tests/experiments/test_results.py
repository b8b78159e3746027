import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp, ttest_rel

from peerfront.experiments.results import differences, estimate, summary


def table(rng: np.random.Generator, draws: int, episodes: int) -> pd.DataFrame:
    rows = []
    for draw in range(draws):
        people = rng.normal(50, 10, episodes) + 5 * draw
        for policy, gain in (("a", 0.0), ("b", 2.0)):
            reward = people + gain + rng.normal(0, 1, episodes)
            rows += [
                {
                    "world": "w", "draw": draw, "policy": policy, "discount": 0.9, "episode": e,
                    "discounted_reward": reward[e], "recruits": round(reward[e]),
                }
                for e in range(episodes)
            ]  # fmt: skip
    return pd.DataFrame(rows)


def test_one_draw_is_an_ordinary_sample() -> None:
    values = np.random.default_rng(0).normal(3, 2, 50)
    found = estimate(values, np.zeros(50, dtype=int))
    interval = ttest_1samp(values, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(50))


def test_several_draws_are_the_sample() -> None:
    rng = np.random.default_rng(1)
    draws = np.repeat(np.arange(5), 40)
    values = rng.normal(0, 1, 200) + 10 * draws
    found = estimate(values, draws)
    means = values.reshape(5, 40).mean(axis=1)
    interval = ttest_1samp(means, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.standard_error > 10 * values.std() / np.sqrt(200) / np.sqrt(5)  # far from pretending independence


def test_one_episode_has_no_error() -> None:
    found = estimate(np.array([4.0]), np.array([0]))
    assert found.mean == 4.0
    assert np.isnan(found.standard_error)


def test_differences_are_paired_by_draw_and_episode() -> None:
    episodes = table(np.random.default_rng(2), 1, 200)
    shuffled = episodes.sample(frac=1, random_state=0)
    found = differences(shuffled)
    row = found[(found["metric"] == "discounted_reward")].iloc[0]
    by_policy = {p: g.sort_values("episode")["discounted_reward"].to_numpy() for p, g in episodes.groupby("policy")}
    sign = 1 if (row["policy"], row["against"]) == ("b", "a") else -1
    interval = ttest_rel(by_policy["b"], by_policy["a"]).confidence_interval()
    assert sorted([sign * row["low"], sign * row["high"]]) == pytest.approx([interval.low, interval.high])
    assert row["high"] - row["low"] < 1.0  # pairing removes the spread between people (sd 10)


def test_summary_counts_what_it_saw() -> None:
    found = summary(table(np.random.default_rng(3), 3, 20))
    assert set(found["draws"]) == {3}
    assert set(found["episodes"]) == {60}
    assert len(found) == 4
