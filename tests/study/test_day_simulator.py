"""The simulation by days against a plain one in loops, with the same luck; and what must hold in every study."""

from dataclasses import replace

import numpy as np
import pytest

from peerfront.baselines.simple_rules import Constant
from peerfront.foundation.errors import SettingError
from peerfront.foundation.randomness import Luck, named_luck
from peerfront.problem import Frontier, State, rollout
from peerfront.study.day_models import DayModels, DrawnModels
from peerfront.study.day_policies import ByRule, PlanByDate, PlanningDay, coming_of, expected_to_come
from peerfront.study.day_simulator import GOES_ON, DayPaths, DaySettings, NewSeeds, simulate_days
from peerfront.study.orders import task_of
from peerfront.study.slowing import Brakes, Reachable
from peerfront.study.study_state import AT_ONCE, Standing, generation_days, rounds_until
from study.small_advice import RULES, a_fit, a_frontier, order
from study.small_standing import a_standing, at_most, drawn_models, plain_study, some_times

SETTINGS = DaySettings(days=59, budget=40)


class Three:
    """Three each while they last, in both simulations."""

    name = "three"

    def hand_out(self, moment: PlanningDay) -> np.ndarray:
        coupons = np.zeros(len(moment.crowd), np.int64)
        left = moment.remaining.copy()
        for row, episode in enumerate(moment.crowd.episode.tolist()):
            coupons[row] = min(3, left[episode])
            left[episode] -= coupons[row]
        return coupons

    def one(self, day, days_left, people, remaining, holders, study, luck):
        coupons = []
        for _ in people:
            coupons.append(min(3, remaining - sum(coupons)))
        return coupons


class PlanOne(PlanByDate):
    """The plan of one study, state by state: what `PlanByDate` does in bulk."""

    def one(self, day, days_left, people, remaining, holders, study, luck):
        if not remaining:
            return [0] * len(people)
        from peerfront.models.returns.coupons_seen import CouponsSeen
        from peerfront.study.study_state import OpenHolders

        rounds = rounds_until(days_left, self.generation, RULES.rounds)
        state = State(
            remaining, Frontier.of(np.array([codes for _, codes, _ in people])), 0, replace(self.rules, rounds=rounds)
        )
        out = [h for h in holders if day - h["issued"] < h["valid"] and h["coupons"] > h["returned"]]
        planner = self.planner
        if out:
            returned = np.array([h["returned"] for h in out])
            holder = np.repeat(np.arange(len(out)), returned)
            seen = CouponsSeen(
                np.array([h["coupons"] for h in out]),
                np.array([float(day - h["issued"]) for h in out]),
                holder,
                np.full(len(holder), np.nan),
                np.array([float(h["valid"]) for h in out]),
            )
            now = OpenHolders(seen, np.array([h["codes"] for h in out]))
            planner = planner.with_coming(coming_of(planner, now, self.times, days_left))
        return planner.allocate(state, luck).coupons.tolist()


def the_plan() -> PlanOne:
    return PlanOne(a_fit("capacity", "per_coupon").planner, some_times(), RULES, generation_days(some_times(), 45.0, 7))


@pytest.mark.parametrize(
    ("settings", "limit", "policy"),
    [
        (SETTINGS, None, Three()),
        (SETTINGS, 4.0, Three()),
        (DaySettings(days=40, budget=15, planning_days=5), 1.5, Three()),
        (replace(SETTINGS, budget=15), None, the_plan()),
        (DaySettings(days=30, budget=15), 3.0, the_plan()),
    ],
)
def test_many_studies_at_once_are_the_plain_ones(settings: DaySettings, limit: float | None, policy: Three) -> None:
    studies = 12
    models, luck = drawn_models(studies)
    standing, brakes = a_standing(), at_most(limit, studies)
    paths = simulate_days(models, standing, policy, settings, luck, brakes)
    for study in range(studies):
        interviews, arrivals, queues, spents, opens, stopped = plain_study(
            models, standing, policy, settings, luck, study, brakes
        )
        assert paths.stopped[study] == stopped
        np.testing.assert_array_equal(paths.interviews[study], interviews)
        np.testing.assert_array_equal(paths.arrivals[study], arrivals)
        np.testing.assert_array_equal(paths.queue[study], queues)
        np.testing.assert_array_equal(paths.spent[study], spents)
        np.testing.assert_array_equal(paths.open[study], opens)
    assert paths.total.sum() > 0


def test_a_population_that_runs_out() -> None:
    """In each study another number of people can be reached, and staff are another limit."""
    models, luck = drawn_models(20)
    left = Brakes(Reachable(np.linspace(6.0, 16.0, 20)), np.linspace(3.0, 8.0, 20))
    whole = simulate_days(models, a_standing(), Three(), SETTINGS, luck)
    thinned = simulate_days(models, a_standing(), Three(), SETTINGS, luck, left)
    assert thinned.total.mean() < 0.9 * whole.total.mean()
    for study in range(3):
        interviews, *_ = plain_study(models, a_standing(), Three(), SETTINGS, luck, study, left)
        np.testing.assert_array_equal(thinned.interviews[study], interviews)


def _check(paths: DayPaths, settings: DaySettings, limit: float | None) -> None:
    came, held = np.cumsum(paths.arrivals, axis=1), np.cumsum(paths.by_week, axis=1)
    np.testing.assert_array_equal(came - held, paths.queue)  # everybody is interviewed or in the queue
    assert (paths.spent.sum(axis=1) <= settings.budget).all()
    assert (paths.open >= 0).all()
    if limit is not None:
        assert paths.by_week.max() <= np.ceil(limit * settings.planning_days / 7) + 1


@pytest.mark.parametrize("places", [None, 1.0, 5.0])
def test_nobody_is_lost_and_nothing_is_given_out_twice(places: float | None) -> None:
    models, luck = drawn_models(60)
    settings, brakes = replace(SETTINGS, budget=12), at_most(places, 60)
    fit = a_fit("capacity", "per_coupon")
    for policy in (ByRule(Constant(3), RULES), PlanByDate(fit.planner, some_times(), RULES, 15.5)):
        _check(simulate_days(models, a_standing(), policy, settings, luck, brakes), settings, places)


def test_fewer_interviews_delay_people_and_lose_nobody_who_had_come() -> None:
    models, luck = drawn_models(60)
    enough = replace(SETTINGS, budget=10_000)  # else later people could get the coupons of earlier ones
    free = simulate_days(models, a_standing(), Three(), enough, luck)
    tight = simulate_days(models, a_standing(), Three(), enough, luck, at_most(2.0, 60))
    assert (np.cumsum(tight.interviews, axis=1) <= np.cumsum(free.interviews, axis=1)).all()
    assert tight.queue[:, -1].mean() > 0.0


def test_open_coupons_alone_bring_what_is_expected_of_them() -> None:
    """With nothing to give out and exact models, the mean is the closed form; over time too."""
    models, luck = drawn_models(3000, exact=True, stories=("capacity",))
    standing = a_standing()
    paths = simulate_days(models, standing, Three(), DaySettings(days=59, budget=0), luck)
    planner, times = a_fit("capacity").planner, models.models.times
    for days in (14, 59):
        expected = expected_to_come(planner, standing.open, times, days).sum()
        came = paths.interviews[:, : days + 1].sum(axis=1)
        assert abs(came.mean() - expected) < 4.0 * came.std() / np.sqrt(len(came))


def test_errors_of_the_models_widen_what_is_expected() -> None:
    drawn, luck = drawn_models(400)
    exact, _ = drawn_models(400, exact=True)
    wide, narrow = (simulate_days(m, a_standing(), Three(), SETTINGS, luck).total for m in (drawn, exact))
    assert wide.std() > 1.05 * narrow.std()


def test_slow_returns_go_with_more_use_in_the_end() -> None:
    models, luck = drawn_models(400)
    belief = replace(models.models.belief, spread=np.zeros(len(models.models.belief)))  # waves without luck
    drawn = DrawnModels.of(replace(models.models, belief=belief), a_standing().seen, luck)
    slow = np.array([times.median for times in drawn.times])[drawn.time_of]
    assert np.corrcoef(np.log(slow), drawn.shift)[0, 1] > 0.5


def test_a_later_start_of_use_shifts_returns() -> None:
    models, luck = drawn_models(60)
    nobody_out = replace(a_standing(), seen=a_standing(holders=0).seen, holders=a_standing(holders=0).holders)
    now = simulate_days(models, nobody_out, Three(), replace(SETTINGS, days=120), luck)
    later = simulate_days(models, replace(nobody_out, active_after_days=7), Three(), replace(SETTINGS, days=120), luck)
    first = [np.argmax(paths.interviews.sum(axis=0) > 0) for paths in (now, later)]
    assert first[1] >= 7 > first[0]


def test_rounds_are_the_generations_that_fit() -> None:
    assert [rounds_until(days, 20.0, 5) for days in (1, 29, 31, 60, 500)] == [1, 1, 2, 3, 5]
    assert generation_days(some_times()) == pytest.approx(12.0 + 3.5)
    assert generation_days(some_times(), valid_days=7.0) < 10.0


def test_impossible_settings_are_refused() -> None:
    for wrong in ({"days": 0}, {"days": 5000}, {"budget": -1}):
        with pytest.raises(SettingError):
            DaySettings(**{"days": 30, "budget": 10, **wrong})


def test_the_same_luck_is_the_same_people_under_every_policy() -> None:
    """Whom the open coupons bring does not depend on the policy."""
    models, luck = drawn_models(20)
    one, other = (
        simulate_days(models, a_standing(waiting=0), policy, DaySettings(days=6, budget=30), luck)
        for policy in (Three(), ByRule(Constant(1), RULES))
    )
    np.testing.assert_array_equal(one.interviews, other.interviews)
    assert isinstance(luck, Luck)


# Who gets none, and rounds as days -------------------------------------------------------------------------------


class TwoPeople(Three):
    """One coupon for the two who have waited longest."""

    def hand_out(self, moment: PlanningDay) -> np.ndarray:
        episode = moment.crowd.episode
        place = np.arange(len(episode)) - np.searchsorted(episode, episode)
        return ((place < 2) & (moment.remaining[episode] > place)).astype(np.int64)

    def one(self, day, days_left, people, remaining, holders, study, luck):
        return [int(place < 2 and remaining > place) for place in range(len(people))]


def test_who_gets_none_waits_on() -> None:
    models, luck = drawn_models(12)
    settings = DaySettings(days=59, budget=15)
    paths = simulate_days(models, a_standing(), TwoPeople(), settings, luck)
    for study in range(12):
        interviews, _, _, spents, *_ = plain_study(models, a_standing(), TwoPeople(), settings, luck, study)
        np.testing.assert_array_equal(paths.interviews[study], interviews)
        np.testing.assert_array_equal(paths.spent[study], spents)
    assert (paths.spent[:, :3] == 2).all(), "six wait today"
    gone = simulate_days(models, a_standing(holders=0), TwoPeople(), replace(settings, none_wait=False), luck)
    assert (gone.spent[:, 1] == np.minimum(gone.by_week[:, 0], 2)).all()


def test_nobody_brings_more_than_the_acquaintances_left() -> None:
    models, luck = drawn_models(200)
    standing = a_standing(holders=0)
    left = np.array([0, 1, 0, 0, -1, 0])
    asked = replace(standing, waiting=replace(standing.waiting, left=left))
    none_left = replace(standing, waiting=replace(standing.waiting, left=np.zeros(6, np.int64)))
    settings = DaySettings(days=40, budget=18, planning_days=40)
    free, fewer, nobody = (
        simulate_days(models, each, Three(), settings, luck).total for each in (standing, asked, none_left)
    )
    assert nobody.sum() == 0
    assert (fewer <= 4).all()
    assert 0 < fewer.sum() < free.sum()


# Studies that stop, and new seeds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "seeds"), [(60, 0), (60, 3), (19, 3)])
def test_studies_that_stop_are_those_of_the_plain_simulation(budget: int, seeds: int) -> None:
    """A few people wait, and nothing is open: some studies stop, and others have spent everything."""
    models, luck = drawn_models(40)
    standing, settings = a_standing(waiting=3, holders=0), DaySettings(days=80, budget=budget)
    new = NewSeeds(np.arange(40) % (seeds + 1), 3)
    paths = simulate_days(models, standing, Three(), settings, luck, seeds=new)
    assert 0 < paths.died.sum() < 40
    for study in range(40):
        interviews, *_, spents, _, stopped = plain_study(models, standing, Three(), settings, luck, study, seeds=new)
        np.testing.assert_array_equal(paths.interviews[study], interviews)
        np.testing.assert_array_equal(paths.spent[study], spents)
        assert paths.stopped[study] == stopped
    assert (paths.spent.sum(axis=1) <= budget).all()
    assert set(paths.stopped.tolist()) <= {*paths.ends, GOES_ON}


def test_who_comes_after_the_deadline_or_waits_keeps_a_study_going() -> None:
    models, luck = drawn_models(40)
    standing = a_standing(waiting=3, holders=0)
    short, long = (simulate_days(models, standing, Three(), DaySettings(days, 60), luck) for days in (7, 80))
    np.testing.assert_array_equal(short.died, long.total == 0)  # who comes at all may come after a week
    spent = simulate_days(models, standing, Three(), DaySettings(80, 9), luck)
    assert not spent.died.any(), "all nine coupons are given out at once"
    waits = simulate_days(models, standing, ByRule(Constant(0), RULES), DaySettings(80, 9), luck)
    assert not waits.died.any()


def test_more_new_seeds_bring_more_people_and_more_studies_go_on() -> None:
    models, luck = drawn_models(60)
    rows = np.tile(np.arange(60), 3)
    settings, standing = DaySettings(days=80, budget=500), a_standing(waiting=1, holders=0)
    new = NewSeeds(np.repeat([0, 2, 8], 60), 3)
    own, brakes = Luck(luck.keys[rows]), Brakes(Reachable(np.linspace(30.0, 90.0, 60)), np.full(60, np.inf))
    paths = simulate_days(models.of_studies(rows), standing, Three(), settings, own, brakes.of_studies(rows), seeds=new)
    alone = simulate_days(models, standing, Three(), settings, luck, brakes)
    np.testing.assert_array_equal(paths.interviews[:60], alone.interviews)
    none, two, eight = paths.died.reshape(3, 60).mean(axis=1)
    assert none > two > eight
    assert (np.diff(paths.total.reshape(3, 60).mean(axis=1)) > 0).all()


@pytest.mark.parametrize("rule", ["one each", "three each", "plan"])
def test_rounds_are_those_of_the_paper_s_world(rule: str) -> None:
    """With a round as a day, recruits are distributed as where the same policy plays by rounds."""
    fit, people, studies = a_fit("capacity", "per_coupon"), a_frontier(), 1500
    rules = task_of(fit, people, order(15)).rules
    policy = {"one each": Constant(1), "three each": Constant(3), "plan": fit.planner}[rule]
    by_days = PlanByDate(fit.planner, AT_ONCE, rules, 1.0) if rule == "plan" else ByRule(policy, rules)
    standing, luck = Standing.by_rounds(people), named_luck(("as days",), studies)
    models = DrawnModels.of(DayModels.of(fit, AT_ONCE), standing.seen, luck)
    settings = DaySettings(rules.rounds, rules.budget, 1, none_wait=False)  # as in the paper
    days = simulate_days(models, standing, by_days, settings, luck)
    rounds = rollout(fit.world(people), policy, rules, named_luck(("as rounds",), studies))
    for own, other in ((days.total, rounds.total_recruits), (days.by_week[:, 0], rounds.recruits[:, 0])):
        error = np.sqrt((own.var() + other.var()) / studies)
        assert abs(own.mean() - other.mean()) < 4.0 * error
    assert days.total.std() == pytest.approx(rounds.total_recruits.std(), rel=0.1)
