"""The research part of the front door: compare, make_policy and make_world with plain arguments."""

import doctest

import numpy as np
import pandas as pd
import pytest

import peerfront as pf
from experiments.small import SMALL
from peerfront.experiments.comparison_run import run_comparison
from peerfront.foundation.errors import SettingError, UnknownName
from peerfront.problem import Rules


@pytest.mark.parametrize("name", ["Results", "compare", "make_policy", "make_world"])
def test_the_examples_run(name) -> None:
    example = doctest.DocTestFinder(recurse=False).find(getattr(pf, name), name, globs={})[0]
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.fixture(scope="module")
def results() -> pf.Results:
    return pf.compare(
        list(SMALL.worlds), list(SMALL.policies), draws=2, episodes=12, discounts=[0.9, 1], budget=20, people=4
    )


def test_plain_arguments_give_the_same_results(results) -> None:
    same = run_comparison(SMALL)
    pd.testing.assert_frame_equal(results.table, same.table)
    pd.testing.assert_frame_equal(results.differences, same.differences)
    assert results.comparison == SMALL


def test_results_show_themselves(results) -> None:
    first = results.table.iloc[0]
    assert first["world"] == "bridge"
    html = results._repr_html_()
    assert html.count("<table") == 4  # two worlds, two metrics
    assert "Discounted reward in icpsr22140" in html
    assert f"{first['mean']:.1f}" in html
    assert "Discounted reward in icpsr22140" in str(results)
    assert f"{first['mean']:.1f}" in str(results)
    axes = results.plot("icpsr22140").axes
    assert len(axes) == 4  # two discounts, rewards and recruits
    assert len(axes[0].lines) == len(results.policies)
    with pytest.raises(UnknownName, match="Did you mean 'bridge'"):
        results.plot("brigde")


def test_names_in_html_are_text() -> None:
    results = pf.compare(["bridge"], ["constant:name=a b"], draws=1, episodes=2, discounts=[1], budget=4)
    assert "<td>a b</td>" in results._repr_html_()


def test_a_policy_is_prepared_in_a_world() -> None:
    rules = Rules(budget=20, people=4)
    tuned = pf.make_policy("threshold", "bridge", rules, discount=0.9)
    assert tuned.name.startswith("threshold:cutoff=")
    same = pf.make_policy("threshold", pf.make_world("bridge"), rules, discount=0.9)
    assert same.name == tuned.name
    played = pf.rollout(pf.make_world("bridge"), tuned, rules, pf.named_luck(("test",), 5))
    assert (played.spend.sum(axis=1) <= 20).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pf.make_policy("treshold", "bridge"), UnknownName, "Did you mean 'threshold'"),
        (lambda: pf.make_policy("threshold", "bridge", discount=2), SettingError, "discount must lie above 0"),
        (lambda: pf.make_policy("random_split", "bridge", seed=-1), SettingError, "seed must be a whole number"),
        (lambda: pf.compare("bridge", ["constant"]), SettingError, "worlds must be a list; found 'bridge'"),
        (lambda: pf.compare(["bridge"], ["constant"], draws=0), SettingError, "draws must be a whole number"),
        (lambda: pf.compare(["bridge"], ["constant"], budget=1.5), SettingError, "budget must be a whole number"),
    ],
)
def test_bad_arguments_say_what_is_allowed(make, error, message) -> None:
    with pytest.raises(error, match=message):
        make()


def test_settings_are_kept_as_plain_values() -> None:
    comparison = pf.compare(
        ["bridge"], ["constant"], draws=np.int64(1), episodes=np.int64(2), discounts=(np.float64(0.9),), budget=4
    ).comparison
    assert type(comparison.episodes) is int
    assert type(comparison.discounts[0]) is float
