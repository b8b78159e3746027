"""What to expect from here on: the learned world simulated from a frontier, under the plan and under its rivals.

All policies meet the same people with the same luck, so their differences are not luck, and leaving a rival out changes
no other number. Bands are quantiles of the simulated studies: what luck alone does if the fitted models are right.
A second band adds what the data leave open about capacities (`uncertainty`). No band allows for models that are wrong
in kind, for people who change during a study, or for a population that is finite.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.advice.orders import PlanOrder, task_of
from peerfront.advice.uncertainty import UncertainWorld
from peerfront.artifacts import Fit
from peerfront.baselines.simple_rules import Constant, Evenly, TuningGrid, tune_threshold
from peerfront.foundation.progress import Progress, silent
from peerfront.foundation.randomness import named_luck
from peerfront.foundation.settings import seed_number, whole_number
from peerfront.foundation.threads import one_thread
from peerfront.foundation.words import as_html, counted, n_coupons, n_people, percent
from peerfront.problem import Ending, Frontier, Policy, Rules, Trajectories, World, rollout
from peerfront.problem.limits import MOST_EPISODES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAN = "plan"
_QUANTILES = {"p10": 0.10, "p25": 0.25, "median": 0.50, "p75": 0.75, "p90": 0.90}
_QUICK_GRID = TuningGrid((0.2, 0.4, 0.6, 0.8, 0.9, 0.98), (0.02, 0.1, 0.2, 0.4, 1.0), 48, 3, 200)


@dataclass(frozen=True, eq=False)
class Forecast:
    """What to expect from here on, under the plan and under its rivals. `Model.forecast` makes it.

    >>> forecast = model.forecast(study.waiting, budget=20, target=15, episodes=50)
    >>> list(forecast.summary["policy"])[:2]
    ['plan', 'constant:coupons=3']
    >>> print(forecast.lines()[0])
    From ... people with 20 coupons and 2 rounds to go, the plan brings ... recruits on average; ...
    >>> figure = forecast.plot()  # a notebook shows it; figure.savefig("forecast.png") keeps it
    """

    rounds: pd.DataFrame
    """policy, round, and for the recruits of that round and for all so far (`total_...`): mean, p10, p25, median, p75,
    p90, and with the uncertainty of the model (`..._with_model_p10`, `..._with_model_p90`); coupons issued, mean."""
    summary: pd.DataFrame
    """One row per policy, the plan first: recruits, chances, coupons, the plan's lead and its standard error."""
    rules: Rules
    people: int
    """On the frontier now."""
    target: int | None
    """People wanted in all."""
    already: int
    """People who have taken part so far, towards the target."""
    episodes: int
    seed: int
    with_model: bool
    """Whether the second band could be made."""
    nothing_because: str = ""
    """Why nothing is given out, in any simulated study; empty where something is."""

    @property
    def of_plan(self) -> "pd.Series[float]":
        return self.summary.iloc[0]

    @property
    def still_wanted(self) -> int | None:
        """Recruits to come until the target is reached."""
        return None if self.target is None else max(self.target - self.already, 0)

    def lines(self) -> list[str]:
        """The forecast in words, one statement a line."""
        plan, rules = self.of_plan, self.rules
        if self.nothing_because:
            return [f"Nothing is given out: {self.nothing_because}. So nobody is recruited."]
        lines = [
            f"From {n_people(self.people)} with {n_coupons(rules.budget)} and "
            f"{counted(rules.rounds, 'round', 'rounds')} to go, the plan brings {plan['recruits']:.0f} recruits on "
            f"average; in 8 of 10 simulated studies between {plan['p10']:.0f} and {plan['p90']:.0f}.",
        ]
        wanted = self.still_wanted
        if wanted is not None:
            lines.append(self._target_line(wanted))
        lines.append(
            f"Chance that nobody is left who could refer while coupons and rounds remain: {_chance(plan['dies_out'])}."
        )
        lines.append(
            f"Of {n_coupons(rules.budget)}, {plan['recruits']:.0f} are used, {plan['unused']:.0f} are issued "
            f"and not used, {plan['never_issued']:.0f} are never issued (averages)."
        )
        lines += [self._rival_line(row) for _, row in self.summary.iloc[1:].iterrows()]
        lines.append(self.caveat)
        return lines

    def _target_line(self, wanted: int) -> str:
        plan, whole = self.of_plan, f"{n_people(self.target or 0)} in all"
        if wanted == 0:
            return f"The target, {whole}, is reached already."
        come = f"{whole}, {wanted:,} to come" if self.already else counted(wanted, "recruit", "recruits")
        if wanted > self.rules.budget:
            return f"The target ({come}) is out of reach: {n_coupons(self.rules.budget)} bring no more than that."
        text = f"Chance to reach the target ({come}): {_chance(plan['reaches_target'])}"
        if self.with_model:
            text += f"; {_chance(plan['with_model_reaches_target'])} when the model's uncertainty is counted in"
        return text + "."

    def _rival_line(self, row: "pd.Series[float]") -> str:
        lead, error = row["plan_lead"], row["plan_lead_error"]
        clear = abs(lead) > max(2 * error, 0.05)
        who = "more" if lead > 0 else "fewer"
        verdict = f"the plan brings {abs(lead):.1f} ± {error:.1f} {who}" if clear else "no clear difference to the plan"
        chance = "" if self.still_wanted is None else f", target {_chance(row['reaches_target'])}"
        return (
            f"{row['described']}: {row['recruits']:.0f} recruits ({row['p10']:.0f} to {row['p90']:.0f}){chance}, "
            f"dies out {_chance(row['dies_out'])}; {verdict}."
        )

    @property
    def caveat(self) -> str:
        """What the bands hold and what they do not."""
        inside = (
            "The bands hold luck; the wider ones also what the data leave open about how many people somebody brings."
            if self.with_model
            else "The bands hold luck alone, as if the fitted model were exact: it was fitted without a held-out part, "
            "so its uncertainty is not known."
        )
        return (
            f"{inside} Not in them: a model that is wrong in kind, people who change during the study, and a "
            "population that runs out."
        )

    def plot(self, *, narrow: bool = False) -> "Figure":
        """Draw recruits so far and by round; side by side, or one below the other."""
        from peerfront.advice.figures import forecast_figure

        return forecast_figure(self, narrow=narrow)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        columns = ["described", "recruits", "p10", "p90", "reaches_target", "dies_out", "unused", "never_issued"]
        return as_html(self.lines(), self.summary[columns].round(2))


@one_thread()
def forecast(
    fit: Fit,
    frontier: Frontier,
    order: PlanOrder,
    target: float | None = None,
    episodes: float = 1000,
    seed: int = 0,
    *,
    already: float = 0,
    rivals: Sequence[tuple[str, Policy]] | None = None,
    progress: Progress = silent,
) -> Forecast:
    """Simulate the plan and its rivals (`usual_rivals`, unless others are given: what they do, and the policy).

    An order whose round cap is 0 gives out nothing, now or later, and so has no rivals. The same arguments give the
    same tables, to the last bit.
    """
    n_episodes, seed = whole_number("episodes", episodes, 2, MOST_EPISODES), seed_number("seed", seed)
    n_already = whole_number("people who have taken part already", already, 0)
    n_wanted = None if target is None else whole_number("target", target, 1)
    task = task_of(fit, frontier, order)
    task.check_study_goes_on()
    rules, nothing = task.rules, task.nothing_because
    world = fit.world(frontier)
    planner: Policy = Constant(0) if nothing else replace(fit.planner, least_per_person=order.min_per_person)
    progress(0.0, "choosing rivals")
    if nothing:
        rivals = ()
    others = usual_rivals(world, rules, fit.discount, seed) if rivals is None else rivals
    luck = named_luck(("forecast", seed), n_episodes)
    uncertain = UncertainWorld.of(world, fit.capacity, luck)
    to_come = None if n_wanted is None else max(n_wanted - n_already, 0)
    first: Trajectories | None = None
    rounds: list[pd.DataFrame] = []
    summary: list[dict[str, object]] = []
    for name, described, policy in [(PLAN, "the plan", planner), *((p.name, text, p) for text, p in others)]:
        progress((1 + len(summary)) / (2 + len(others)), f"simulating {described}")
        played = rollout(world, policy, rules, luck)
        first = first or played
        unsure = None if uncertain is None else rollout(uncertain, policy, rules, luck)
        rounds.append(_rounds_table(name, played, unsure))
        summary.append({"policy": name, "described": described, **_summary(played, unsure, first, rules, to_come)})
    return Forecast(
        rounds=pd.concat(rounds, ignore_index=True),
        summary=pd.DataFrame(summary),
        rules=rules,
        people=len(frontier),
        target=n_wanted,
        already=n_already,
        episodes=n_episodes,
        seed=seed,
        with_model=uncertain is not None,
        nothing_because=nothing,
    )


def usual_rivals(world: World, rules: Rules, discount: float, seed: int = 0) -> list[tuple[str, Policy]]:
    """What most studies do, and the best simple rules: three each, a tuned threshold, an even pace."""
    each = min(3, rules.max_per_person or 3)
    threshold = tune_threshold(world, rules, [discount], seed=seed, grid=_QUICK_GRID)[discount]
    return [
        (f"{each} coupons each, while they last", Constant(each)),
        (
            f"where use is likely (a chance of {threshold.cutoff:g} or more, at least {threshold.at_least} a round)",
            threshold,
        ),
        ("an even pace, where use is most likely", Evenly(world.capacity)),
    ]


def _rounds_table(name: str, played: Trajectories, unsure: Trajectories | None) -> pd.DataFrame:
    totals = np.cumsum(played.recruits, axis=1)
    columns: dict[str, object] = {
        "policy": name,
        "round": np.arange(1, played.recruits.shape[1] + 1),
        "issued": played.spend.mean(axis=0),
        "recruits": played.recruits.mean(axis=0),
        **_bands("", played.recruits),
        "total": totals.mean(axis=0),
        **_bands("total_", totals),
    }
    for prefix in ("", "total_"):
        counts = None if unsure is None else unsure.recruits if not prefix else np.cumsum(unsure.recruits, axis=1)
        for label in ("p10", "p90"):
            share = _QUANTILES[label]
            values = np.full(len(totals[0]), np.nan) if counts is None else _quantile(counts, share)
            columns[f"{prefix}with_model_{label}"] = values
    return pd.DataFrame(columns)


def _bands(prefix: str, counts: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    return {f"{prefix}{label}": _quantile(counts, share) for label, share in _QUANTILES.items()}


def _quantile(counts: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """Over episodes; whole people."""
    quantiles: NDArray[np.float64] = np.quantile(counts, share, axis=0, method="inverted_cdf").astype(np.float64)
    return quantiles


def _summary(
    played: Trajectories, unsure: Trajectories | None, plan: Trajectories, rules: Rules, wanted: int | None
) -> dict[str, float]:
    totals, spent = played.total_recruits, played.spend.sum(axis=1)
    lead = plan.total_recruits - totals
    with_model = None if unsure is None else unsure.total_recruits
    return {
        "recruits": float(totals.mean()),
        **{label: float(_quantile(totals, share)) for label, share in _QUANTILES.items()},
        **{
            f"with_model_{label}": math.nan if with_model is None else float(_quantile(with_model, _QUANTILES[label]))
            for label in ("p10", "p90")
        },
        "reaches_target": _share_of(totals, wanted),
        "with_model_reaches_target": math.nan if with_model is None else _share_of(with_model, wanted),
        "dies_out": float(_dies_out(played, rules).mean()),
        "unused": float((spent - totals).mean()),
        "never_issued": float((rules.budget - spent).mean()),
        "rounds": float(played.rounds.mean()),
        "plan_lead": float(lead.mean()),
        "plan_lead_error": float(lead.std(ddof=1) / np.sqrt(len(lead))),
    }


def _share_of(totals: NDArray[np.int64], wanted: int | None) -> float:
    return math.nan if wanted is None else float((totals >= wanted).mean())


def _dies_out(played: Trajectories, rules: Rules) -> NDArray[np.bool_]:
    """Nobody is left who could refer, although coupons and rounds remain, [episodes]."""
    ended = (played.ending == Ending.EXTINCT) | (played.ending == Ending.STOPPED)
    return np.asarray(ended & (played.rounds < rules.rounds))


def _chance(share: float) -> str:
    """A share of simulated studies as a person would say it; none of a thousand is not the same as never."""
    return f"{share:.0%} of the simulated studies" if share in (0.0, 1.0) else percent(share)
