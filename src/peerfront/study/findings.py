"""The findings of a fit: numbers about the study and its models that may be published, and warnings about them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study
from peerfront.foundation.covariates import Codes, kinds_of
from peerfront.foundation.messages import Message, Remedy, n_coupons, note, warning
from peerfront.foundation.stored import FEWEST, rounded_count
from peerfront.gfp.learning import ValueReport
from peerfront.gfp.planner import Planner
from peerfront.models.finite_population import QUANTILES
from peerfront.models.model_diagnostics import CapacityReport, response_report, share_interval
from peerfront.models.offspring.generator_choice import OffspringChoice
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.response_stories import StoryWeights, expected_recruits, usual_coupons
from peerfront.problem import History, Rules
from peerfront.study.coupon_calendar import Returning
from peerfront.study.earlier_studies import Help
from peerfront.study.orders import beyond_shown
from peerfront.study.reasons import MIN_EFFECT_TO_MENTION, chance_if
from peerfront.study.stories import STORY_CODES

MISFIT = 0.01
"""p-value of the counts below which the model is said not to fit."""
CLEARLY = 2.0
"""Standard errors that chance does not explain."""
_FEWEST_SIZES = 50  # fewest answers to "how many do you know" of which quantiles are saved
_MOST_COUPONS = 10  # most coupons for which the findings list what they bring
_AS_GOOD = 0.005  # share of the recruits: a smaller lead of a simple rule is not mentioned
_FEW_PAIRS = 50
_MOST_SEEN = 0.6  # the fit warns if a smaller share of all recruits of the coupons has come


@dataclass(frozen=True, eq=False)
class Findings:
    """A study, the models fitted to it, and numbers about both; `scores` and `messages` hold nobody's row."""

    study: Study
    schema: StudySchema
    history: History
    small: bool
    """Whether only simple models were tried."""
    n_learned_from: int | None
    """Number of rows, drawn at random, that the models were fitted to; None for all."""
    responses: Mapping[str, LearnedResponse]
    """The fitted response of each story."""
    stories: StoryWeights
    offspring: OffspringChoice
    values: Mapping[str, ValueReport]
    """The value learned in the world of each remaining story, the most credible first."""
    planner: Planner
    rules: Rules
    played: Rules
    """The rules that were simulated: the study's, or scaled down to fewer people and coupons."""
    discount: float
    merged: Mapping[str, Message]
    """Columns with answers that too few people gave, and what was done with these: merged or left out."""
    notes: tuple[Message, ...] = ()
    """Warnings about doubtful columns that are used because the user wants it."""
    returning: Returning | None = None
    """The return times, if dates show them."""
    undated: Message | None = None
    """Why there are no return times."""
    help: Help | None = None
    """How far earlier studies help, if there are any."""

    @property
    def n_holders(self) -> int:
        """People with usable coupons: finished, or open and dated."""
        return int((self.history.coupons > 0).sum())

    @property
    def n_pairs(self) -> int:
        return len(self.history.parents)

    @property
    def n_open(self) -> int:
        """People whose coupons may still be used."""
        return int(self.study.still_open.sum()) if self.returning is None else self.returning.open_holders

    @cached_property
    def expected_of_open(self) -> float:
        """Recruits still to come with coupons that are open."""
        if self.returning is None:
            return 0.0
        return self.returning.expected(self.responses, self.stories.weights, encode_study(self.study, self.schema))

    @property
    def best(self) -> str:
        """The name of the most credible story."""
        return next(iter(self.values))

    @property
    def response(self) -> LearnedResponse:
        """The response model of the most credible story."""
        return self.responses[self.best]

    @property
    def value(self) -> ValueReport:
        """The value learned in the world of the most credible story."""
        return self.values[self.best]

    @cached_property
    def reports(self) -> dict[str, CapacityReport]:
        """How well each remaining story's model describes the study."""
        return {name: response_report(self.responses[name], self.history) for name in self.values}

    @property
    def report(self) -> CapacityReport:
        """How well the most credible story's model describes the study."""
        return self.reports[self.best]

    @property
    def best_fit(self) -> CapacityReport:
        """The report of the model that describes the study best."""
        return max(self.reports.values(), key=lambda report: np.nan_to_num(report.p_value, nan=1.0))

    @property
    def all_used(self) -> bool:
        """Whether every coupon was used, so that the study shows nobody's limit."""
        return bool(self.history.saturated[self.history.coupons > 0].all())

    @property
    def calibration(self) -> pd.DataFrame:
        """coupon, people, predicted, observed, low, high."""
        return self.report.calibration

    @cached_property
    def shown(self) -> tuple[int, int]:
        """The fewest and the most coupons that at least five people had (or all people, if there are fewer)."""
        coupons = np.sort(self.history.coupons[self.history.coupons > 0])
        place = min(FEWEST, len(coupons)) - 1
        return int(coupons[place]), int(coupons[-1 - place])

    @cached_property
    def coupon_stories(self) -> dict[str, Any]:
        """What the study shows about coupons: `shown` and, by story, weights and recruits of 1, 2, ... coupons."""
        most = max(self.shown[1], self.rules.max_per_person or 3, 3)
        people = self.history.referrers[self.history.coupons > 0]
        expected = expected_recruits(self.responses, people, min(most, _MOST_COUPONS))
        left = self.stories.weights
        return {
            "shown": list(self.shown),
            "usual": usual_coupons(self.history.coupons),
            "same_coupons": self.stories.same_coupons,
            "prior": self.stories.prior,
            "pinned": self.stories.pinned,
            "stories": [
                {
                    "name": name,
                    "family": self.responses[name].family,
                    "weight": round(left.get(name, 0.0), 3),
                    "by_the_study": round(self.stories.stacked.get(name, 0.0), 3),
                    "ruled_out": name in self.stories.ruled_out,
                    "behind": [round(number, 1) for number in self.stories.behind[name]],
                    "expected": [round(float(number), 2) for number in each.mean],
                    "low": [round(float(number), 2) for number in each.low],
                    "high": [round(float(number), 2) for number in each.high],
                }
                for name, each in expected.items()
            ],
        }

    @cached_property
    def gain(self) -> tuple[float, float]:
        """Held-out log-likelihood gained by people's answers over "everybody is alike", and its standard error."""
        return self.response.gain_of_knowing or (0.0, 0.0)

    @cached_property
    def effects(self) -> list[dict[str, Any]]:
        """field, and the chance that a first coupon is used in each category: the largest differences first."""
        return field_effects(self.planner, encode_study(self.study, self.schema))

    @property
    def _network_size(self) -> dict[str, Any]:
        """Five rounded quantiles of people's network sizes, for plans in which the population runs out."""
        sizes = self.study.network_size
        given = None if sizes is None else sizes[np.isfinite(sizes) & (sizes > 0)]
        if given is None or len(given) < _FEWEST_SIZES:
            return {}
        return {"network_sizes": [max(round(float(f"{size:.2g}")), 1) for size in np.quantile(given, QUANTILES)]}

    def messages(self) -> list[Message]:
        """Notes and warnings for users of this fit."""
        rules = [rule_against_plans(report) for report in self.values.values()]
        parts = [*self._columns(), *self._about_data(), *self._misfits(), *self._about_coupons(), *rules]
        return [each for each in parts if each is not None]

    def _columns(self) -> list[Message]:
        merged = [note("fits.merged_column", column=column, done=done) for column, done in self.merged.items()]
        return [*merged, *self.notes]

    def _about_data(self) -> list[Message]:
        """Warnings about few people, few pairs, and coupons that are still out."""
        messages, helped = [], self.help is not None and self.help.used
        if self.returning is not None and self.returning.share_seen < _MOST_SEEN:
            messages.append(warning("fits.few_have_come", share=self.returning.share_seen))
        if self.small:
            code = "fits.few_people_helped" if helped else "fits.few_people"
            messages.append(warning(code, people=about(self.n_holders)))
        if self.n_pairs < _FEW_PAIRS and not (helped and self.help is not None and self.help.alike):
            messages.append(warning("fits.few_pairs", pairs=about(self.n_pairs)))
        if not self.n_open and self.returning is None:
            why = self.undated
            messages.append(note("fits.all_finished") if why is None else note("fits.all_finished_because", why=why))
        return messages

    def _misfits(self) -> list[Message]:
        p_values = {name: report.p_value for name, report in self.reports.items() if report.p_value < MISFIT}
        if len(p_values) == len(self.reports):
            return [warning("fits.misfit", chance=_rarely(max(p_values.values())))]
        return [
            warning("fits.misfit_of_story", story=note(STORY_CODES[name]), chance=_rarely(p_value))
            for name, p_value in p_values.items()
        ]

    def _about_coupons(self) -> list[Message | None]:
        """Warnings about numbers of coupons that only a few people had."""
        messages: list[Message | None] = []
        fewest, most_shown = self.shown[0], self.response.most_shown
        if fewest > 1 and (len(self.stories.weights) > 1 or self.stories.pinned):
            messages.append(warning("evidence.fewer_coupons", coupons=n_coupons(fewest)))
        beyond = beyond_shown(most_shown, self.rules.max_per_person)
        if beyond is None and most_shown == 1:
            beyond = warning("fits.only_one_coupon", three=Remedy("max_per_person", 3))
        messages.append(beyond)
        return [*messages, warning("evidence.all_used") if self.all_used else None]

    def scores(self) -> dict[str, Any]:
        """The findings as JSON for a saved fit."""
        gain, gain_error = self.gain
        return {
            "people": rounded_count(len(self.study)),
            "finished_coupon_holders": rounded_count(self.n_holders),
            "pairs": rounded_count(self.n_pairs),
            "still_open": rounded_count(self.n_open),
            **self._network_size,
            **({} if self.help is None else {"earlier_studies": self.help.scores()}),
            "responses": {name: response.scores() for name, response in self.responses.items()},
            "coupon_stories": self.coupon_stories,
            "all_used": self.all_used,
            "fit_of_counts": {
                "chi_square": round(self.best_fit.chi_square),
                "degrees": self.best_fit.degrees,
                "p_value": round(self.best_fit.p_value, 3) if np.isfinite(self.best_fit.p_value) else None,
            },
            "offspring": self.offspring.scores(),
            "coupon_use": rounded_use(self.calibration),
            "gain_of_knowing_people": {"log_likelihood": round(gain, 2), "standard_error": round(gain_error, 2)},
            "effects": self.effects,
            **({} if self.returning is None else {"returns": self.returning.scores(self.expected_of_open)}),
            "value": {
                "promised": self.value.promised,
                "simulated": self.value.simulated,
                "simulated_error": self.value.simulated_error,
                "history": [[what, value] for what, value in self.value.history],
                "candidates": [asdict(each) for each in self.value.candidates],
            },
            "values": {name: _value_scores(report) for name, report in self.values.items()},
            "played": {"people": self.played.people, "budget": self.played.budget},
            "small": self.small,
            "learned_from": self.n_learned_from,
        }


def _value_scores(report: ValueReport) -> dict[str, Any]:
    """What the plans and the best simple rule bring in simulations."""
    plans, rule = report.best_planner, next((each for each in report.candidates if not each.is_planner), None)
    return {
        "plans": report.simulated if plans is None or rule is None else plans.earned,
        "error": report.simulated_error,
        "rule": None if plans is None or rule is None else rule.earned,
        "promised": report.promised,
        "simulated": report.simulated,
    }


def about(count: int) -> Message:
    """A count as a saved model may state it: to the nearest five."""
    return note("fits.about", count=rounded_count(count)) if count >= FEWEST else note("fits.fewer_than_five")


def _rarely(p_value: float) -> Message:
    return note("fits.in_cases", share=p_value) if p_value >= 0.001 else note("fits.in_hardly_any_case")


def field_effects(planner: Planner, people: Codes) -> list[dict[str, Any]]:
    """For each category: the chance that a first coupon is used if everybody had it, all else unchanged."""
    kinds = kinds_of(people)  # a national study may have a million people, but far fewer kinds
    effects = []
    for number, field in enumerate(planner.schema.fields):
        there = [code for code in range(len(field)) if (people[:, number] == code).sum() >= FEWEST]
        by_kind = {code: chance_if(planner, kinds.rows, number, code) for code in there}
        chances = {field.categories[code]: float(np.average(by_kind[code], weights=kinds.number)) for code in there}
        if len(chances) > 1 and max(chances.values()) - min(chances.values()) >= MIN_EFFECT_TO_MENTION:
            effects.append({"field": field.name, "chances": chances})
    return sorted(effects, key=lambda e: min(e["chances"].values()) - max(e["chances"].values()))


def rounded_use(calibration: pd.DataFrame) -> list[dict[str, Any]]:
    """`CapacityReport.calibration` from rounded numbers alone: coupon, people, predicted, observed, low, high, by.

    If nearly everybody or almost nobody used a coupon, observed, low and high are None and `by` says which.
    """
    rows: list[dict[str, Any]] = []
    for row in calibration.to_dict("records"):
        people = rounded_count(row["people"])
        used = rounded_count(round(row["observed"] * row["people"]))
        if people < 2 * FEWEST:
            continue
        rounded = {"coupon": int(row["coupon"]), "people": people, "predicted": round(row["predicted"], 2)}
        if FEWEST <= used <= people - FEWEST:
            low, high = share_interval(used / people, people)
            rounded |= {"observed": round(used / people, 2), "low": round(low, 2), "high": round(high, 2), "by": None}
        else:
            by = "hardly any" if used < FEWEST else "nearly all"
            rounded |= {"observed": None, "low": None, "high": None, "by": by}
        rows.append(rounded)
    return rows


def rule_against_plans(report: ValueReport) -> Message | None:
    """A message if a simple rule earned more than every planner; sheets still come from the best planner."""
    plans, kept = report.best_planner, report.kept
    if plans is None or kept is None or kept.is_planner:
        return None
    if plans.behind < CLEARLY * plans.behind_error or plans.behind < _AS_GOOD * kept.earned:
        return note("fits.rule_as_good")
    return warning("fits.rule_better", recruits=plans.behind, error=2 * plans.behind_error, effort=Remedy("effort", 2))
