"""What was found by a fit: the study, the models fitted to it, and the numbers that may be told about both."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study
from peerfront.foundation.covariates import Codes, kinds_of
from peerfront.foundation.messages import Message
from peerfront.foundation.privacy import FEWEST, rounded_count
from peerfront.gfp.learning import ValueReport
from peerfront.gfp.planner import Planner
from peerfront.models.finite_population import QUANTILES
from peerfront.models.model_diagnostics import CapacityReport, response_report, share_interval
from peerfront.models.offspring.generator_choice import OffspringChoice
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.response.response_stories import StoryWeights, expected_recruits, usual_coupons
from peerfront.problem import History, Rules
from peerfront.study.earlier_studies import Help
from peerfront.study.reasons import MIN_EFFECT_TO_MENTION, chance_if
from peerfront.study.returning import Returning

_FEWEST_SIZES = 50  # answers to "how many do you know" from which something is told of them
_MOST_TOLD = 10  # coupons up to which it is told what they bring


@dataclass(frozen=True, eq=False)
class Findings:
    """A study, the models fitted to it, and what can be said about both; numbers and sentences hold nobody's row."""

    study: Study
    schema: StudySchema
    history: History
    small: bool
    """Whether only simple models were tried."""
    n_learned_from: int | None
    """Rows drawn at random that the models were fitted to; None for all."""
    responses: Mapping[str, LearnedResponse]
    """What a coupon does by each story that was fitted."""
    stories: StoryWeights
    offspring: OffspringChoice
    values: Mapping[str, ValueReport]
    """What was learned in the world of each story that is left, the most believed first."""
    planner: Planner
    rules: Rules
    played: Rules
    """What was simulated: the rules, or fewer people and coupons in proportion."""
    discount: float
    merged: Mapping[str, Message]
    """Columns of which answers were merged or left out because too few people gave them, and what was done."""
    notes: tuple[str, ...] = ()
    """Warnings about columns that are used because the user says so."""
    returning: Returning | None = None
    """When people return, if dates say so."""
    undated: str = ""
    """Why they do not."""
    help: Help | None = None
    """What came of earlier studies, if there are some."""

    @property
    def n_holders(self) -> int:
        """People whose coupons show how many one brings: finished, or open and dated."""
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
        """The story that is believed most."""
        return next(iter(self.values))

    @property
    def response(self) -> LearnedResponse:
        """The model of the story that is believed most."""
        return self.responses[self.best]

    @property
    def value(self) -> ValueReport:
        """What was learned where that story is true."""
        return self.values[self.best]

    @cached_property
    def reports(self) -> dict[str, CapacityReport]:
        """How well the model of each story that is left describes the study."""
        return {name: response_report(self.responses[name], self.history) for name in self.values}

    @property
    def report(self) -> CapacityReport:
        """The same of the story that is believed most."""
        return self.reports[self.best]

    @property
    def best_fit(self) -> CapacityReport:
        """The same of the story that describes the study best."""
        return max(self.reports.values(), key=lambda report: np.nan_to_num(report.p_value, nan=1.0))

    @property
    def all_used(self) -> bool:
        """Whether every coupon was used, so that nobody's limit was ever seen."""
        return bool(self.history.saturated[self.history.coupons > 0].all())

    @property
    def calibration(self) -> pd.DataFrame:
        """coupon, people, predicted, observed, low, high."""
        return self.report.calibration

    @cached_property
    def shown(self) -> tuple[int, int]:
        """The fewest and the most coupons that at least five people had (all of them, if they are fewer)."""
        coupons = np.sort(self.history.coupons[self.history.coupons > 0])
        place = min(FEWEST, len(coupons)) - 1
        return int(coupons[place]), int(coupons[-1 - place])

    @cached_property
    def coupon_stories(self) -> dict[str, Any]:
        """What the study says about what a coupon does: `shown` and, by story, weights and recruits of 1 .. coupons."""
        most = max(self.shown[1], self.rules.max_per_person or 3, 3)
        people = self.history.referrers[self.history.coupons > 0]
        expected = expected_recruits(self.responses, people, min(most, _MOST_TOLD))
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
    def told_use(self) -> list[dict[str, Any]]:
        """`calibration` as it may be told, from rounded numbers alone: coupon, people, predicted, observed, low, high.

        Where nearly all or hardly any people used it, the last three are None and `by` says so; it is None otherwise.
        """
        return told_use(self.calibration)

    @cached_property
    def gain(self) -> tuple[float, float]:
        """Held-out log-likelihood gained by knowing people's answers, over "everybody is alike", and its error."""
        return self.response.gain_of_knowing or (0.0, 0.0)

    @cached_property
    def effects(self) -> list[dict[str, Any]]:
        """field, and the chance that a first coupon is used in each category: the largest differences first."""
        return field_effects(self.planner, encode_study(self.study, self.schema))

    @property
    def _network_size(self) -> dict[str, Any]:
        """How many people somebody knows, five rounded numbers for plans in which the population runs out."""
        sizes = self.study.network_size
        known = None if sizes is None else sizes[np.isfinite(sizes) & (sizes > 0)]
        if known is None or len(known) < _FEWEST_SIZES:
            return {}
        return {"network_sizes": [max(round(float(f"{size:.2g}")), 1) for size in np.quantile(known, QUANTILES)]}

    def scores(self) -> dict[str, Any]:
        """The findings as a saved fit keeps them."""
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
            "coupon_use": self.told_use,
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
        }


def field_effects(planner: Planner, people: Codes) -> list[dict[str, Any]]:
    """Per field the chance that a first coupon is used if everybody had one category of it, other things equal."""
    kinds = kinds_of(people)  # a national study has a million people, of far fewer kinds
    effects = []
    for number, field in enumerate(planner.schema.fields):
        there = [code for code in range(len(field)) if (people[:, number] == code).sum() >= FEWEST]
        by_kind = {code: chance_if(planner, kinds.rows, number, code) for code in there}
        chances = {field.categories[code]: float(np.average(by_kind[code], weights=kinds.number)) for code in there}
        if len(chances) > 1 and max(chances.values()) - min(chances.values()) >= MIN_EFFECT_TO_MENTION:
            effects.append({"field": field.name, "chances": chances})
    return sorted(effects, key=lambda e: min(e["chances"].values()) - max(e["chances"].values()))


def told_use(calibration: pd.DataFrame) -> list[dict[str, Any]]:
    """Turn `CapacityReport.calibration` into what may be told of it (`Findings.told_use`)."""
    rows: list[dict[str, Any]] = []
    for row in calibration.to_dict("records"):
        people = rounded_count(row["people"])
        used = rounded_count(round(row["observed"] * row["people"]))
        if people < 2 * FEWEST:
            continue
        told = {"coupon": int(row["coupon"]), "people": people, "predicted": round(row["predicted"], 2)}
        if FEWEST <= used <= people - FEWEST:
            low, high = share_interval(used / people, people)
            told |= {"observed": round(used / people, 2), "low": round(low, 2), "high": round(high, 2), "by": None}
        else:
            by = "hardly any" if used < FEWEST else "nearly all"
            told |= {"observed": None, "low": None, "high": None, "by": by}
        rows.append(told)
    return rows
