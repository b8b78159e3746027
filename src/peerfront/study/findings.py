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
from peerfront.foundation.messages import Measured, Message, Remedy, n_coupons, note, warning
from peerfront.foundation.randomness import named_generator
from peerfront.foundation.stored import FEWEST, rounded_count
from peerfront.gfp.learning import ValueReport
from peerfront.gfp.planner import Planner
from peerfront.models.belief.belief import Array, Belief, Misfit
from peerfront.models.belief.belief_fit import learned_belief
from peerfront.models.finite_population import QUANTILES
from peerfront.models.model_diagnostics import CapacityReport, response_report, share_interval
from peerfront.models.offspring.generator_choice import OffspringChoice
from peerfront.problem import History, Rules
from peerfront.study.coupon_calendar import Returning
from peerfront.study.earlier_studies import Help
from peerfront.study.fit_models import counts_of
from peerfront.study.orders import beyond_shown
from peerfront.study.reasons import MIN_EFFECT_TO_MENTION, chance_if

CLEARLY = 2.0
"""Standard errors that chance does not explain."""
_FEWEST_SIZES = 50  # fewest answers to "how many do you know" of which quantiles are saved
_MOST_COUPONS = 10  # most coupons for which the findings list what they bring
_AS_GOOD = 0.005  # share of the recruits: a smaller lead of a simple rule is not mentioned
_FEW_PAIRS = 50
_FEWEST_OTHERS = 10  # people with another number of coupons; fewer, and everybody counts as having had the same
_EVIDENCE_DRAWS = 100
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
    belief: Belief
    pinned: str | None
    """What the user knows about coupons, if anything."""
    offspring: OffspringChoice
    value: ValueReport
    """The value learned in the world of the belief."""
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
        return self.returning.expected(self.belief.response, encode_study(self.study, self.schema))

    @cached_property
    def report(self) -> CapacityReport:
        """How well the belief describes the study."""
        return response_report(self.belief.response, self.history, self.belief.most)

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
        """What coupons bring by the belief: all of it, and its parts; and the evidence by number of coupons."""
        most = min(max(self.shown[1], self.rules.max_per_person or 3, 3), _MOST_COUPONS)
        kinds = kinds_of(self.history.referrers[self.history.coupons > 0])
        by_kind = self.belief.response.by_draw(kinds.rows, most)  # [draws, kinds, coupons]
        recruits = np.average(by_kind, axis=1, weights=kinds.number)
        parts = {name: recruits[self.belief.part_of == name] for name in self.belief.weights}
        return {
            "shown": list(self.shown),
            "usual": self._usual,
            "given": self._given,
            "same_coupons": self.same_coupons,
            "pinned": self.pinned,
            "effective": round(self.belief.effective, 2),
            "drift": [round(float(number), 2) for number in np.quantile(self.belief.drift, [0.025, 0.5, 0.975])],
            "all": _interval(recruits),
            "stories": [
                {"name": name, "weight": round(self.belief.weights[name], 2), **_interval(own)}
                for name, own in parts.items()
            ],
            "evidence": self.evidence,
            "misfits": [rounded_misfit(each) for each in sorted(self.belief.misfits, key=lambda each: each.chance)],
        }

    @property
    def _usual(self) -> int:
        """The number of coupons that most people had."""
        return int(np.bincount(self.history.coupons[self.history.coupons > 0], minlength=2).argmax())

    @property
    def _given(self) -> list[list[int]]:
        """Numbers of coupons, and about how many people had each: what this study has done so far."""
        numbers, people = np.unique(self.history.coupons[self.history.coupons > 0], return_counts=True)
        pairs = zip(numbers.tolist(), map(rounded_count, people.tolist()), strict=True)
        rounded = [[number, about] for number, about in pairs if about]
        return [[self._usual, 1]] if self.same_coupons or not rounded else rounded

    @property
    def same_coupons(self) -> bool:
        """Whether nearly everybody who had coupons had the same number."""
        coupons = self.history.coupons
        return int(((coupons > 0) & (coupons != self._usual)).sum()) < _FEWEST_OTHERS

    @cached_property
    def evidence(self) -> list[dict[str, Any]]:
        """Of each number of coupons that at least ten people had: how many of them brought somebody, and how many the
        belief expected who knows only people with other numbers (80% band); rounded counts."""
        history, rows = self.history, self.history.informative_rows()
        coupons, recruits = history.coupons[rows], history.recruits[rows]
        lines = []
        for number in np.unique(coupons).tolist():
            own = coupons == number
            if own.sum() < _FEWEST_OTHERS or (~own).sum() < _FEWEST_OTHERS:
                continue
            others = learned_belief(counts_of(history.part(rows[~own], np.zeros(0, np.int64))), draws=_EVIDENCE_DRAWS)
            exposure, rng = history.exposure_of(rows[own]), named_generator("evidence", number)
            would = others.would_bring(history.referrers[rows[own]], number, exposure, rng)
            low, high = np.quantile(would, [0.1, 0.9])
            lines.append(
                {
                    "coupons": number,
                    "people": rounded_count(int(own.sum())),
                    "brought": rounded_count(int((recruits[own] > 0).sum())),
                    "low": rounded_count(round(low)),
                    "high": rounded_count(round(high)),
                }
            )
        return lines

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
        parts = [*self._columns(), *self._about_data(), *self._about_coupons()]
        parts.append(rule_against_plans(self.value))
        return [each for each in parts if each is not None]

    def _columns(self) -> list[Message]:
        merged = [note("fits.merged_column", column=column, done=done) for column, done in self.merged.items()]
        return [*merged, *self.notes]

    def _about_data(self) -> list[Message]:
        """Warnings about few people, few pairs, and coupons that are still out."""
        messages, helped = [], self.help is not None
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

    def _about_coupons(self) -> list[Message | None]:
        """Warnings about numbers of coupons that only a few people had."""
        messages: list[Message | None] = []
        fewest, most_shown = self.shown[0], self.belief.most
        if fewest > 1:
            messages.append(warning("evidence.fewer_coupons", coupons=n_coupons(fewest)))
        beyond = beyond_shown(most_shown, self.rules.max_per_person)
        if beyond is None and most_shown == 1:
            beyond = warning("fits.only_one_coupon", three=Remedy("max_per_person", 3))
        messages.append(beyond)
        return [*messages, warning("evidence.all_used") if self.all_used else None]

    def scores(self) -> dict[str, Any]:
        """The findings as JSON for a saved fit."""
        return {
            "people": rounded_count(len(self.study)),
            "finished_coupon_holders": rounded_count(self.n_holders),
            "pairs": rounded_count(self.n_pairs),
            "still_open": rounded_count(self.n_open),
            **self._network_size,
            **({} if self.help is None else {"earlier_studies": self.help.scores()}),
            "coupon_stories": self.coupon_stories,
            "all_used": self.all_used,
            "offspring": self.offspring.scores(),
            "coupon_use": rounded_use(self.calibration),
            "fields": list(self.belief.fields),
            "effects": self.effects,
            **({} if self.returning is None else {"returns": self.returning.scores(self.expected_of_open)}),
            "value": {
                "promised": self.value.promised,
                "simulated": self.value.simulated,
                "simulated_error": self.value.simulated_error,
                "history": [[what, value] for what, value in self.value.history],
                "candidates": [asdict(each) for each in self.value.candidates],
            },
            "values": {"belief": _value_scores(self.value)},
            "played": {"people": self.played.people, "budget": self.played.budget},
            "small": self.small,
            "learned_from": self.n_learned_from,
        }


def _interval(recruits: Array) -> dict[str, list[float]]:
    """Means and 95% intervals of recruits with 1, 2, ... coupons, from draws, [draws, coupons]."""
    low, high = np.quantile(recruits, [0.025, 0.975], axis=0)
    rows = {"expected": recruits.mean(axis=0), "low": low, "high": high}
    return {name: [round(float(number), 2) for number in row] for name, row in rows.items()}


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


def rounded_misfit(misfit: Misfit) -> dict[str, Any]:
    """A misfit as a saved model may state it: counts to the nearest five."""
    counts = {name: rounded_count(getattr(misfit, name)) for name in ("people", "brought", "low", "high")}
    return {"coupons": misfit.coupons, "last_wave": misfit.last_wave, **counts}


def about(count: int) -> Message:
    """A count as a saved model may state it: to the nearest five."""
    return note("fits.about", count=rounded_count(count)) if count >= FEWEST else note("fits.fewer_than_five")


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
    behind = Measured.of(plans.behind, plans.behind_error)
    return warning("fits.rule_better", recruits=behind, effort=Remedy("effort", 2))
