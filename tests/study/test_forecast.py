"""A forecast is what its world does: exact where nothing is left to chance, paired, and honest about its bands."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.errors import SettingError
from peerfront.foundation.pictures import rendered
from peerfront.foundation.randomness import named_luck
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.rates import RateEnsemble, RateShape
from peerfront.problem import Frontier, Rules, rollout
from peerfront.study.forecast import PLAN, forecast, usual_rivals
from peerfront.study.orders import task_of
from peerfront.study.uncertainty import UncertainWorld, log_rate_errors
from study.small_advice import a_fit, a_frontier, order

THREE = (("three each", Constant(3)),)


@pytest.fixture(scope="module")
def found():
    return forecast(a_fit(), a_frontier(), order(), target=8, episodes=300)


def with_means(*members: float, family: str = "poisson", zero: float = 0.0) -> LearnedResponse:
    """A capacity model whose members say the same of everybody."""
    schema = a_fit().schema
    biases = np.log(np.array(members)).reshape(-1, 1, 1)
    rates = RateEnsemble(
        RateShape((), "exp"), (np.zeros((len(members), schema.columns, 1)),), (biases,), np.zeros((len(members), 1))
    )
    return LearnedResponse(schema, family, rates, np.inf, zero, (), "made up")


def with_capacity(response: LearnedResponse):
    fit = a_fit()
    story = dataclasses.replace(fit.planner.story, response=response)
    return dataclasses.replace(fit, planner=dataclasses.replace(fit.planner, stories=(story,)))


def test_bands_are_ordered_and_totals_add_up(found) -> None:
    for prefix in ("", "total_"):
        bands = found.rounds[[f"{prefix}{name}" for name in ("p10", "p25", "median", "p75", "p90")]].to_numpy()
        assert (np.diff(bands, axis=1) >= 0).all()
        assert (found.rounds[f"{prefix}with_model_p10"] <= found.rounds[f"{prefix}with_model_p90"]).all()
    for policy, own in found.rounds.groupby("policy"):
        np.testing.assert_allclose(own["recruits"].cumsum(), own["total"])
        summary = found.summary.set_index("policy").loc[policy]
        assert own["total"].iloc[-1] == pytest.approx(summary["recruits"])
        assert own["issued"].sum() == pytest.approx(summary["recruits"] + summary["unused"])
        assert own["issued"].sum() + summary["never_issued"] == pytest.approx(12)
    assert found.with_model


def test_where_everything_is_certain_the_forecast_is_exact() -> None:
    """Everybody could bring a thousand: each coupon is used, so 6 people with 3 each and 15 coupons bring 15."""
    sure = with_capacity(with_means(1000.0, 1000.0))
    found = forecast(sure, a_frontier(), order(15), target=15, episodes=20, rivals=THREE)
    three = found.summary.iloc[1]
    assert [three[name] for name in ("recruits", "p10", "p90", "with_model_p10", "with_model_p90")] == [15.0] * 5
    assert (three["reaches_target"], three["dies_out"], three["unused"], three["never_issued"]) == (1.0, 0.0, 0.0, 0.0)
    rounds = found.rounds[found.rounds["policy"] == Constant(3).name]
    assert rounds["recruits"].tolist() == [15.0, 0.0, 0.0, 0.0]
    nobody = with_capacity(with_means(1e-9, 1e-9))
    found = forecast(nobody, a_frontier(), order(15), target=1, episodes=20, rivals=(("one each", Constant(1)),))
    one = found.summary.iloc[1]
    assert (one["recruits"], one["reaches_target"], one["dies_out"]) == (0.0, 0.0, 1.0)
    assert (one["unused"], one["never_issued"], one["rounds"]) == (6.0, 9.0, 1.0)
    assert "0% of the simulated studies" in str(found)


def test_one_round_is_a_binomial() -> None:
    """One coupon each, one round: the chance of the target is known in closed form."""
    one = with_capacity(with_means(0.7, 0.7))
    found = forecast(one, a_frontier(), order(rounds_left=1), target=4, episodes=4000, rivals=(("one", Constant(1)),))
    chance = binom.sf(3, 6, 1 - np.exp(-0.7))
    assert found.summary["reaches_target"].iloc[1] == pytest.approx(
        chance, abs=4 * np.sqrt(chance * (1 - chance) / 4000)
    )


def test_a_larger_target_is_never_more_likely() -> None:
    chances = [
        forecast(a_fit(), a_frontier(), order(), target=target, episodes=100, rivals=()).of_plan["reaches_target"]
        for target in (1, 4, 8, 12, 13)
    ]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.9
    assert chances[-1] == 0.0  # 12 coupons


def test_nothing_depends_on_the_rivals_and_everything_is_repeatable(found) -> None:
    alone = forecast(a_fit(), a_frontier(), order(), target=8, episodes=300, rivals=())
    pd.testing.assert_frame_equal(alone.rounds, found.rounds[found.rounds["policy"] == PLAN])
    again = forecast(a_fit(), a_frontier(), order(), target=8, episodes=300)
    assert again.rounds.to_csv() == found.rounds.to_csv()
    assert again.summary.to_csv() == found.summary.to_csv()
    assert rendered(again.plot(), "svg") == rendered(found.plot(), "svg")
    other = forecast(a_fit(), a_frontier(), order(), episodes=300, seed=1, rivals=())
    assert other.rounds.to_csv() != alone.rounds.to_csv()
    copy = forecast(a_fit(), a_frontier(), order(), episodes=60, rivals=(("itself", a_fit().planner),))
    assert copy.summary["plan_lead"].iloc[1] == copy.summary["plan_lead_error"].iloc[1] == 0.0  # the same luck


def test_words_say_what_matters(found) -> None:
    text = str(found)
    for part in (
        "From 6 people with 12 coupons and 4 rounds to go",
        "target (8 recruits)",
        "3 coupons each",
        "wrong in kind",
    ):
        assert part in text
    assert "model's uncertainty is counted in" in text
    unsure = forecast(a_fit(1), a_frontier(), order(), episodes=20, rivals=())
    assert not unsure.with_model
    assert np.isnan(unsure.of_plan["with_model_p10"])
    assert "as if the model were exact" in str(unsure)
    far = forecast(a_fit(), a_frontier(), order(), target=200, already=90, episodes=20, rivals=())
    assert "target (200 people in all, 110 to come) is out of reach: 12 coupons" in str(far)
    done = forecast(a_fit(), a_frontier(), order(), target=50, already=90, episodes=20, rivals=())
    assert "is reached already" in str(done)
    assert done.of_plan["reaches_target"] == 1.0
    for narrow in (False, True):
        assert rendered(far.plot(narrow=narrow), "png").startswith(b"\x89PNG")


def test_limits_are_kept_and_the_reserve_is_out_of_reach() -> None:
    fit, people = a_fit(), a_frontier()
    rules = task_of(fit, people, order(14, max_per_person=2, round_cap=5, rounds_left=3, reserve=4)).rules
    assert (rules.budget, rules.people, rules.rounds, rules.max_per_person, rules.max_per_round) == (10, 6, 3, 2, 5)
    assert task_of(fit, people, order(rounds_left=None)).rules.rounds == fit.rules.rounds
    found = forecast(fit, people, order(14, round_cap=5, reserve=4), episodes=30, rivals=THREE)
    assert (found.rounds["issued"] <= 5).all()
    assert (found.rounds.groupby("policy")["issued"].sum() <= 10).all()
    each = forecast(fit, people, order(15, min_per_person=1, rounds_left=1), episodes=5, rivals=())
    assert each.rounds["issued"].iloc[0] >= 6
    small = Rules(budget=2, people=6, rounds=1, max_per_person=1)
    assert usual_rivals(fit.world(people), small, 0.9)[0][1] == Constant(1)


@pytest.mark.parametrize(
    ("changes", "frontier", "more", "message"),
    [
        ({"budget": 0}, 6, {}, "budget must be a whole number of at least 1; found 0"),
        ({"budget": 21}, 6, {}, "at most 20 coupons; found 21"),
        ({"reserve": 12}, 6, {}, "leaves nothing"),
        ({"rounds_left": 0}, 6, {}, "rounds left must be"),
        ({"min_per_person": 4}, 6, {}, "contradict each other"),
        ({}, 0, {}, "Nobody is on the frontier"),
        ({}, 6, {"target": -5}, "target must be a whole number of at least 1; found -5"),
        ({}, 6, {"episodes": 1}, "episodes must be"),
        ({}, 6, {"already": -1}, "taken part already must be"),
    ],
)
def test_impossible_orders_are_refused(changes: dict, frontier: int, more: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        forecast(a_fit(), a_frontier(frontier), order(**changes), **more)


# How sure the model is -----------------------------------------------------------------------------------------------


def test_members_that_agree_add_no_uncertainty() -> None:
    fit = with_capacity(with_means(1.2, 1.2, 1.2))
    found = forecast(fit, a_frontier(), order(), episodes=50, rivals=())
    for end in ("p10", "p90"):
        assert found.rounds[f"with_model_{end}"].tolist() == found.rounds[end].tolist()
    np.testing.assert_array_equal(log_rate_errors(fit.planner.story.response, a_frontier().covariates), 0.0)
    assert np.isnan(log_rate_errors(with_means(1.0), a_frontier().covariates)).all()


def test_drawn_rates_have_the_jackknife_s_spread() -> None:
    """Log rates drawn for episodes: Student's t with G - 1 degrees of freedom, times the jackknife's error."""
    members = np.exp(np.array([-0.2, -0.1, 0.0, 0.05, 0.25]))
    response = with_means(*members)
    people = Frontier.of(a_frontier().covariates[:1])
    error = log_rate_errors(response, people.covariates)[0]
    logs = np.log(members)
    assert error == pytest.approx(np.sqrt(4 / 5 * ((logs - logs.mean()) ** 2).sum()))
    luck = named_luck(("t",), 20_000)
    world = UncertainWorld.of(with_capacity(response).world(people), response, luck)
    assert world is not None
    shift = (world.weights * (logs - logs.mean())).sum(axis=1) / error
    inside = [(np.abs(shift) < quantile).mean() for quantile in (0.741, 2.776)]  # of t with 4 degrees: 50% and 95%
    assert inside == pytest.approx([0.5, 0.95], abs=0.015)


def test_the_wider_band_is_wider_and_its_world_is_the_learned_one() -> None:
    spread = with_capacity(with_means(0.4, 0.8, 1.6))
    found = forecast(spread, a_frontier(), order(), episodes=400, rivals=())
    plan = found.of_plan
    assert plan["with_model_p10"] < plan["p10"]
    assert plan["with_model_p90"] >= plan["p90"]
    learned = spread.world(a_frontier())
    luck = named_luck(("same",), 10)
    uncertain = UncertainWorld.of(learned, spread.planner.story.response, luck)
    assert uncertain is not None
    assert (uncertain.schema, uncertain.response, uncertain.offspring) == (
        learned.schema,
        spread.planner.story.response,
        learned.offspring,
    )
    certain = dataclasses.replace(uncertain, weights=np.zeros_like(uncertain.weights))
    rules = task_of(spread, a_frontier(), order()).rules
    one, other = (rollout(world, Constant(2), rules, luck) for world in (learned, certain))
    np.testing.assert_array_equal(one.recruits, other.recruits)
    np.testing.assert_array_equal(uncertain.population(luck), learned.population(luck))
    assert "uncertain" in uncertain.name


def test_the_share_who_bring_nobody_is_uncertain_too() -> None:
    """Members agree on rates and not on zeros: capacities move as if the share of zeros did, by the same weights."""
    schema, people = a_fit().schema, np.zeros((20_000, len(a_fit().schema.fields)), dtype=np.int16)
    logits = np.array([[0.0, -0.4], [0.0, 0.0], [0.0, 0.4]])
    response = dataclasses.replace(with_means(50.0, 50.0, 50.0, family="zip", zero=0.5), members=logits)
    luck = named_luck(("zeros",), len(people))
    for weight, zero in ((0.0, 0.5), (1.0, 1 / (1 + np.exp(-0.4))), (-1.0, 1 / (1 + np.exp(0.4)))):
        drawn = response.sample_shifted(people, 10**6, luck, np.tile([0.0, 0.0, weight], (len(people), 1)))
        assert (drawn == 0).mean() == pytest.approx(zero, abs=0.015)
    unshifted = response.sample_shifted(people, 10**6, luck, np.zeros((len(people), 3)))
    np.testing.assert_array_equal(unshifted, response.sample(people, 10**6, luck))
    assert schema == response.schema
