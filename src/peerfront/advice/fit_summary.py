"""What a fit shows, in words a coordinator can use: how well it predicts, which models, how sure one can be."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from peerfront.advice.orders import beyond_shown
from peerfront.advice.reasons import MIN_EFFECT_TO_MENTION, chance_if
from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study
from peerfront.foundation.covariates import Codes
from peerfront.foundation.privacy import FEWEST, rounded_count
from peerfront.foundation.words import Sentences, counted, n_coupons, n_people, ordinal, percent
from peerfront.models.capacity import LearnedCapacity
from peerfront.models.diagnostics import capacity_report
from peerfront.models.offspring.choice import OffspringChoice
from peerfront.problem import History, Rules
from peerfront.value.learning import ValueReport

_CLEARLY, _PROBABLY = 2.0, 1.0  # standard errors
_AS_GOOD = 0.005  # share of the recruits: a smaller lead of a simple rule is called none
_FEW_PAIRS = 50
_GROUP = 40  # people in a group that the summary takes as its example
_SHOWN_FIELDS = 3
_PROMISE_OFF = 0.1  # share by which the value may miss the simulations before the summary mentions it
_COUNTS = {
    "poisson": "as a number that varies by chance alone around a mean, which depends on who they are (Poisson)",
    "zip": "with some people who bring nobody whatever they get (zero-inflated Poisson)",
    "nb": "with a few people who bring many (negative binomial)",
    "zinb": "with some who bring nobody and a few who bring many (zero-inflated negative binomial)",
}
_GENERATORS = {
    "inheritance": "a table: in each column recruits are like their recruiter with some chance, otherwise like anybody",
    "softmax": "a regression for each column on the recruiter's answers",
    "masked": "a network that fills in a recruit's answers one after another",
}


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
    capacity: LearnedCapacity
    alike: LearnedCapacity
    """The capacity model that treats everybody alike."""
    offspring: OffspringChoice
    value: ValueReport
    rules: Rules
    played: Rules
    """What was simulated: the rules, or fewer people and coupons in proportion."""
    discount: float
    merged: Mapping[str, str]
    """Columns of which answers were merged or left out because too few people gave them, and what was done."""

    @property
    def n_holders(self) -> int:
        """People whose coupons are finished, so that they show how many one brings."""
        return int((self.history.coupons > 0).sum())

    @property
    def n_pairs(self) -> int:
        return len(self.history.parents)

    @property
    def n_open(self) -> int:
        """People whose coupons may still be used."""
        return int(self.study.still_open.sum())

    @cached_property
    def calibration(self) -> pd.DataFrame:
        """coupon, people, predicted, observed, low, high."""
        return capacity_report(self.capacity, self.history).calibration

    @cached_property
    def told_use(self) -> list[dict[str, Any]]:
        """`calibration` as it may be told: of rounded numbers, and None for a share of few people."""
        rows = []
        for row in self.calibration.to_dict("records"):
            people = rounded_count(row["people"])
            used = rounded_count(round(row["observed"] * row["people"]))
            if people < 2 * FEWEST:
                continue
            tells = FEWEST <= used <= people - FEWEST
            shares = {"observed": used / people, "low": row["low"], "high": row["high"]}
            told = {name: round(share, 2) if tells else None for name, share in shares.items()}
            most = tells or used >= FEWEST
            rows.append({"coupon": int(row["coupon"]), "people": people, "predicted": round(row["predicted"], 2)})
            rows[-1] |= told | {"by": None if tells else ("nearly all" if most else "hardly any")}
        return rows

    @cached_property
    def gain(self) -> tuple[float, float]:
        """Held-out log-likelihood gained by knowing people's answers, over "everybody is alike", and its error."""
        of_family = (each for each in self.capacity.candidates if each.family == self.capacity.family)
        best, plain = (max(each, key=lambda c: c.score) for each in (of_family, self.alike.candidates))
        gains = best.held_out - plain.held_out
        return float(gains.sum()), float(gains.std(ddof=1) * np.sqrt(len(gains)))

    @cached_property
    def effects(self) -> list[dict[str, Any]]:
        """field, and the chance that a first coupon is used in each category: the largest differences first."""
        return field_effects(self.capacity, encode_study(self.study, self.schema))

    def scores(self) -> dict[str, Any]:
        """The findings as a saved fit keeps them."""
        gain, gain_error = self.gain
        return {
            "people": rounded_count(len(self.study)),
            "finished_coupon_holders": rounded_count(self.n_holders),
            "pairs": rounded_count(self.n_pairs),
            "still_open": rounded_count(self.n_open),
            "capacity": self.capacity.scores(),
            "offspring": self.offspring.scores(),
            "coupon_use": self.told_use,
            "gain_of_knowing_people": {"log_likelihood": round(gain, 2), "standard_error": round(gain_error, 2)},
            "effects": self.effects,
            "value": {
                "promised": self.value.promised,
                "simulated": self.value.simulated,
                "simulated_error": self.value.simulated_error,
                "history": [[what, value] for what, value in self.value.history],
                "candidates": [asdict(each) for each in self.value.candidates],
            },
            "summary": list(self.summary()),
        }

    def summary(self) -> Sentences:
        """The fit in sentences, most important first; warnings begin with "Warning"."""
        parts = (_basis, _use, _choice, _certainty, _value, _warnings)
        return Sentences(sentence for part in parts for sentence in part(self))


def _basis(findings: Findings) -> list[str]:
    waiting = f" {_about(findings.n_open).capitalize()} people have coupons that may still be used."
    basis = (
        f"Fitted to {findings.study.source}: {_about(len(findings.study))} people, of whom "
        f"{_about(findings.n_holders)} have usable recruitment counts, and {_about(findings.n_pairs)} pairs of "
        f"recruiter and recruit.{waiting if findings.n_open else ''}"
    )
    lines = [basis]
    if findings.n_learned_from is not None:
        few = f"{findings.n_learned_from:,} people and pairs"
        lines.append(f"A study this large is learned from {few}, drawn at random.")
    for column, done in findings.merged.items():
        lines.append(f"Column {column!r}: {done}.")
    return lines


def _about(count: int) -> str:
    """A count as a model may tell it: to the nearest five."""
    return f"about {rounded_count(count):,}" if count >= FEWEST else "fewer than five"


def _use(findings: Findings) -> list[str]:
    lines = []
    for row in findings.told_use[:4]:
        which, people = ordinal(row["coupon"]), f"the about {row['people']:,} people who had one"
        verdict = f"the model says {percent(row['predicted'])}"
        if row["observed"] is None:
            lines.append(f"The {which} coupon is used by {row['by']} of {people}; {verdict}.")
            continue
        reach = (row["high"] - row["low"]) / 2
        inside = row["low"] <= row["predicted"] <= row["high"]
        verdict += "" if inside else ", which is outside that range"
        seen = f"{percent(row['observed'])} +- {percent(reach)}"
        lines.append(f"The {which} coupon is used by {seen} of {people}; {verdict}.")
    return lines


def _choice(findings: Findings) -> list[str]:
    counts = f"How many people bring is modelled {_COUNTS[findings.capacity.family]}: that predicts people who were "
    counts += (
        "left out best, or as well and more simply."
        if not findings.small
        else "left out best. The study is small, so only a simple model was tried."
    )
    words = [counts, _knowing_people(findings)]
    gain, error = findings.gain
    sure = "by the model" if gain > _PROBABLY * error else "by the model; may well be chance"
    for effect in findings.effects[:_SHOWN_FIELDS]:
        ends = sorted(effect["chances"].items(), key=lambda pair: -pair[1])
        (best, high), (worst, low) = ends[0], ends[-1]
        words.append(
            f"  {effect['field']}: a first coupon is used by {percent(high)} where it is {best!r}, and by "
            f"{percent(low)} where it is {worst!r}, other things equal ({sure})."
        )
    if not findings.schema.used:
        return words
    rivals = len(findings.offspring.rivals)
    choice = "the simplest, as the study is small" if rivals < 2 else f"the best of {rivals} on pairs left out"
    return [*words, f"Whom people bring is modelled by {_GENERATORS[findings.offspring.kind]} ({choice})."]


def _knowing_people(findings: Findings) -> str:
    if not findings.schema.used:
        return (
            "Nothing is known about people, so everybody is treated alike: a sheet decides how many coupons to give "
            "out now and how many later, and not to whom."
        )
    gain, error = findings.gain
    size = f"({gain:+.1f} +- {error:.1f} units of log-likelihood on people left out)"
    if gain > _CLEARLY * error and gain > 0:
        return f"What is known about people clearly helps to tell who brings many {size}."
    if gain > _PROBABLY * error and gain > 0:
        return f"What is known about people probably helps a little to tell who brings many {size}."
    return (
        f"What is known about people does not help to tell who brings many, as far as this study shows {size}: "
        "differences between people on a coupon sheet are small and unsure."
    )


def _certainty(findings: Findings) -> list[str]:
    first = findings.calibration.iloc[0]
    share, n = float(first["observed"]), int(first["people"])
    share = min(max(share, 0.1), 0.9)  # even a share of nothing is not known exactly

    def reach(people: int) -> float:
        return float(1.96 * np.sqrt(share * (1 - share) / people))

    words = (
        f"How sure is that? With {_about(n)} people, an average over everybody is known to about +- {percent(reach(n))}"
    )
    if n > 2 * _GROUP:
        words += (
            f"; for a group of {_GROUP} of them to about +- {percent(reach(_GROUP))}. Two groups of {_GROUP} have to "
            f"differ by {percent(np.sqrt(2) * reach(_GROUP))} or more before chance is ruled out"
        )
    return [f"{words}. What one person will do cannot be told: chances are all there is."]


def _value(findings: Findings) -> list[str]:
    report, rules = findings.value, findings.rules
    off = abs(report.promised - report.simulated) / max(report.simulated, 1e-9)
    promise = f" The value promises {report.promised:.1f}, so take totals on a sheet with care."
    care = "" if off < _PROMISE_OFF else promise
    capped = "" if rules.max_per_person is None else f", at most {rules.max_per_person} each"
    late = (
        "late recruits count as much as early ones"
        if findings.discount == 1.0
        else (f"a recruit a round later counts {findings.discount:g} times as much")
    )
    return [
        f"Prepared to plan up to {n_coupons(rules.budget)}{capped}, over {counted(rules.rounds, 'round', 'rounds')}, "
        f"with about {rules.people:,} people waiting at first; {late}.",
        f"Played in simulations with these models{_fewer(findings)}, {_plans_and_rule(report)}.{care}",
        *rule_against_plans(report),
    ]


def _fewer(findings: Findings) -> str:
    """Say so if fewer people and coupons were simulated."""
    played, times = findings.played, findings.rules.budget / findings.played.budget
    fewer = f" for {n_people(played.people)} and {n_coupons(played.budget)} ({times:,.0f} times fewer)"
    return fewer if played != findings.rules else ""


def _plans_and_rule(report: ValueReport) -> str:
    plans, rule = report.best_planner, next((each for each in report.candidates if not each.is_planner), None)
    error = 2 * report.simulated_error
    if plans is None or rule is None:
        return f"the plans bring {report.simulated:.1f} +- {error:.1f} recruits"
    return (
        f"the plans bring {plans.earned:.1f} +- {error:.1f} recruits; the best simple rule, tuned in others, brings "
        f"{rule.earned:.1f} in the same ones"
    )


def rule_against_plans(report: ValueReport) -> list[str]:
    """Say so if the simple rule earned more than every planner; sheets come from the best planner all the same."""
    plans, kept = report.best_planner, report.kept
    if plans is None or kept is None or kept.is_planner:
        return []
    by, error = plans.behind, plans.behind_error
    if by < _CLEARLY * error or by < _AS_GOOD * kept.earned:
        return ["So plans and that rule do about equally well here; a sheet is worth its reasons, not more recruits."]
    return [
        f"Warning: that simple rule does better than the plans, by {by:.1f} +- {2 * error:.1f} recruits. Sheets still "
        "come from the planner, which can give reasons. Fit again with more simulations (`pf.fit` with effort=2), or "
        "compare the plan with simple rules in a forecast before you follow it."
    ]


def _warnings(findings: Findings) -> list[str]:
    """What the user of this fit must know."""
    warnings = []
    if findings.small:
        warnings.append(
            f"Warning: {_about(findings.n_holders)} people are very few. Everybody looks almost alike to the model; "
            "use the sheet to share coupons sensibly over the rounds, not to tell people apart."
        )
    if findings.n_pairs < _FEW_PAIRS:
        warnings.append(f"Warning: with {_about(findings.n_pairs)} pairs, whom people bring is mostly a guess.")
    shown, most = findings.capacity.most_shown, findings.rules.max_per_person
    beyond = beyond_shown(shown, most)
    if beyond:
        warnings.append(f"Warning: {beyond}")
    elif shown == 1:
        warnings.append(
            "Warning: hardly anybody in the study had more than one coupon, so it cannot show what a second one does: "
            "plans give nobody more than one. Give some people two or three to find out, and fit again; or fit with "
            "--max-per-person 3, which extrapolates."
        )
    if findings.history.saturated[findings.history.coupons > 0].all():
        warnings.append(
            "Warning: every coupon was used, so nobody's limit was ever seen: how many more people bring is a guess."
        )
    if not findings.n_open:
        warnings.append(
            "Note: all coupons count as finished. If people can still use theirs, set still_open in the schema file, "
            "or recruiting looks harder than it is."
        )
    return warnings


def field_effects(capacity: LearnedCapacity, people: Codes) -> list[dict[str, Any]]:
    """Per field the chance that a first coupon is used if everybody had one category of it, other things equal."""
    effects = []
    for number, field in enumerate(capacity.schema.fields):
        there = [code for code in range(len(field)) if (people[:, number] == code).any()]
        chances = {field.categories[code]: chance_if(capacity, people, number, code).mean().item() for code in there}
        if len(chances) > 1 and max(chances.values()) - min(chances.values()) >= MIN_EFFECT_TO_MENTION:
            effects.append({"field": field.name, "chances": chances})
    return sorted(effects, key=lambda e: min(e["chances"].values()) - max(e["chances"].values()))
