"""One forecast of a back-test: fit to the data up to an earlier day or wave, and simulate the rest.

The forecast uses what the staff decided later, but not who came. People who are recruited in the simulation get as many
coupons as real people who took part at about the same time (a number drawn from the 20 nearest by date), on the day of
their interview; whoever gets none stays without. Seeds, people with an unknown recruiter, and people who got their
coupons later than they took part join on their own days with their own coupons. So it tests the models of how many
people bring, whom and when, through all generations, and neither the plan nor guesses about staff. (Giving the forecast
the real people who came later would give away the number to be forecast.)

By waves, a generation takes one day, everybody of the last wave keeps their own coupons, and only numbers are forecast.
"""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from peerfront.data.read.dates import EPOCH
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study, history_of
from peerfront.foundation.errors import DataFileError
from peerfront.foundation.machine import one_thread
from peerfront.foundation.messages import Remedy
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.recruitment_trees import NOBODY
from peerfront.models.belief.belief_fit import learned_belief
from peerfront.models.offspring.generator_choice import fit_offspring
from peerfront.models.returns.return_fit import fit_return_times
from peerfront.models.returns.return_times import NEVER, ReturnTimes
from peerfront.problem import Frontier, History
from peerfront.problem.state import MOST_COUPONS
from peerfront.study.coupon_calendar import coupons_seen, exposure_of, generations_of
from peerfront.study.day_models import DayModels, DrawnModels
from peerfront.study.day_policies import PlanningDay
from peerfront.study.day_simulator import DayPaths, DaySettings, Joiners, simulate_days
from peerfront.study.fit_models import FEWEST, counts_of
from peerfront.study.slowing import brakes_of
from peerfront.study.study_state import AT_ONCE, Standing, interviews_by_week, trees_of_people
from peerfront.study.tree_lifts import tree_lifts

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
NEAREST = 20
"""People of the study from whom a simulated person's number of coupons is drawn: those nearest by date."""
_FEWEST_ALIVE, _TIMES_ALIVE = 1_000, 10  # a simulated study stops giving out coupons beyond this many people


@dataclass(frozen=True, eq=False)
class PastForecast:
    """Simulated studies after one cut, and the real number of recruits."""

    label: str
    """The day of the cut, or its wave."""
    people: int
    """People who had taken part by the cut."""
    paths: DayPaths
    realised: Whole  # [days + 1], real recruits by day (or wave) since the cut; 0 on day 0

    @property
    def days(self) -> int:
        return len(self.realised) - 1

    def totals(self, day: int) -> Whole:
        """Recruits of the simulated studies by a day, [studies]."""
        total: Whole = self.paths.interviews[:, : day + 1].sum(axis=1)
        return total


@dataclass(frozen=True, eq=False)
class AsHandedOut:
    """A policy: as many coupons as real people got at that time, drawn by each person's luck."""

    days: Array  # [people], days from the cut to each real person's interview, rising
    coupons: Whole  # [people]
    most_people: int
    name: str = "as handed out"

    def hand_out(self, moment: PlanningDay) -> Whole:
        place = int(np.searchsorted(self.days, moment.day))
        low = int(np.clip(place - NEAREST // 2, 0, max(len(self.days) - NEAREST, 0)))
        near = self.coupons[low : low + NEAREST]
        drawn = near[(moment.crowd.luck.uniform("coupons at that time") * len(near)).astype(np.int64)]
        growing = moment.recruited[moment.crowd.episode] < self.most_people
        return np.where(growing, drawn, 0)


@one_thread()
def forecast_from_day(
    study: Study,
    schema: StudySchema,
    cut: str,
    studies: int,
    seed: int = 0,
    interviews_per_week: float | None = None,
) -> PastForecast:
    """Forecast the study from one of its days to its last day."""
    past = study.as_of(cut)
    assert past.day is not None, "as_of refuses a study without dates"
    assert study.day is not None, "as_of refuses a study without dates"
    seen, rows = coupons_seen(past)
    if len(rows) < FEWEST or not len(seen.holder):
        raise DataFileError(
            "backtest.too_few_on_day", cut=cut, holders=len(rows), came=len(seen.holder), at=Remedy("at")
        )
    codes = encode_study(study, schema)
    of = {person: number for number, person in enumerate(study.ids.tolist())}
    whole = np.array([of[person] for person in past.ids.tolist()])  # rows of the past in the whole study
    times = fit_return_times(seen).times
    history = history_of(past, schema, exposure_of(past, times), wave=generations_of(past, times))
    horizon = int(study.day - past.day)
    validity = seen.validity
    standing = Standing(
        today=EPOCH + timedelta(days=int(past.day)),
        waiting=Frontier.of(codes[:0]),
        seen=seen,
        holders=codes[whole[rows]],
        enrolled=len(past),
        valid_days=float(np.median(validity)) if len(validity) else NEVER,
        active_after_days=int(study.settings.active_after_days),
        trees=trees_of_people(past, rows, rows[:0])[0],
        weeks=interviews_by_week(past),
    )
    is_new = ~np.isin(np.arange(len(study)), whole)
    took_part = _days_since(study.days, past.day)
    issued = _days_since(study.issued_days, past.day)
    joins = is_new & (study.recruiter == NOBODY)
    later = np.zeros(len(study), bool)
    later[whole] = (past.issued == 0) & (study.issued[whole] > 0)  # took part before, coupons after
    start = np.where(joins, took_part, issued)
    fixed = (joins | later) & np.isfinite(start)
    joiners = Joiners(np.maximum(start[fixed], 0).astype(np.int64), codes[fixed], study.issued[fixed])
    around = np.isfinite(took_part) & (is_new | (took_part > -28))
    policy = _policy(took_part[around], study.issued[around], len(study))
    luck = named_luck(("backtest", cut, seed), studies)
    models = _models(history, times, seed)
    drawn = DrawnModels.of(models, seen, luck, lifts=tree_lifts(models.belief, standing, times, luck))
    settings = DaySettings(horizon, MOST_COUPONS, 1, none_wait=False)
    belief = drawn.models.belief
    brakes = brakes_of(belief, drawn.draw, standing, luck, interviews_per_week=interviews_per_week)
    paths = simulate_days(drawn, standing, policy, settings, luck, brakes, joiners)
    came = is_new & (study.recruiter != NOBODY) & np.isfinite(took_part)
    realised = np.bincount(np.clip(took_part[came], 1, horizon).astype(np.int64), minlength=horizon + 1)
    return PastForecast(cut, len(past), paths, realised)


@one_thread()
def forecast_from_wave(study: Study, schema: StudySchema, wave: int, studies: int, seed: int = 0) -> PastForecast:
    """Forecast the waves after one, from the people of that wave and their coupons."""
    codes, waves = encode_study(study, schema), study.trees.wave
    counted = study.informative & (waves < wave)
    pairs = np.flatnonzero((study.recruiter != NOBODY) & (waves <= wave))
    if counted.sum() < FEWEST or not len(pairs):
        raise DataFileError("backtest.too_few_by_wave", wave=wave, holders=int(counted.sum()), at=Remedy("at"))
    history = History(
        schema.schema,
        codes[counted],
        study.issued[counted],
        study.recruits[counted],
        codes[study.recruiter[pairs]],
        codes[pairs],
        wave=waves[counted],
    )
    horizon = int(waves.max()) - wave
    standing = Standing.by_rounds(Frontier.of(codes[:0]), int((waves <= wave).sum()))
    now = waves == wave
    joiners = Joiners(np.zeros(int(now.sum()), np.int64), codes[now], study.issued[now])
    later = waves >= wave
    policy = _policy((waves[later] - wave).astype(np.float64), study.issued[later], len(study))
    luck = named_luck(("backtest wave", wave, seed), studies)
    drawn = DrawnModels.of(_models(history, AT_ONCE, seed), standing.seen, luck)
    settings = DaySettings(max(horizon, 1), MOST_COUPONS, 1, none_wait=False)
    brakes = brakes_of(drawn.models.belief, drawn.draw, standing, luck)
    paths = simulate_days(drawn, standing, policy, settings, luck, brakes, joiners)
    came = (waves > wave) & (study.recruiter != NOBODY)
    realised = np.bincount((waves[came] - wave).astype(np.int64), minlength=max(horizon, 1) + 1)
    return PastForecast(str(wave), int((waves <= wave).sum()), paths, realised)


def _models(history: History, times: ReturnTimes, seed: int) -> DayModels:
    """Learn the belief and whom people bring as `fit` does for a small study; no plan is learned."""
    offspring = fit_offspring(history, seed=seed, rivals=("inheritance",))
    return DayModels(learned_belief(counts_of(history)), offspring.model, times)


def _policy(days: Array, coupons: Whole, people: int) -> AsHandedOut:
    order = np.argsort(days, kind="stable")
    if not len(order):
        order, days, coupons = np.zeros(1, int), np.zeros(1), np.zeros(1, np.int64)
    return AsHandedOut(days[order], coupons[order], max(_FEWEST_ALIVE, _TIMES_ALIVE * people))


def _days_since(days: Array | None, day: float) -> Array:
    assert days is not None, "a study seen on a day has dates"
    since: Array = np.floor(days) - np.floor(day)
    return since
