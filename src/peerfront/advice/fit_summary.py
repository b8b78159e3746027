"""What a fit found, in words a coordinator can use: how well it predicts, what was chosen, how sure one can be."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerfront.data.study import Study
from peerfront.data.study_schema import StudySchema, encode_study
from peerfront.foundation.covariates import Codes
from peerfront.foundation.words import counted, n_coupons, n_people, ordinal, percent
from peerfront.models.capacity import LearnedCapacity
from peerfront.models.diagnostics import capacity_report
from peerfront.models.offspring.choice import ChosenOffspring
from peerfront.problem import History, Rules
from peerfront.value.learning import ValueReport

_CLEARLY, _LIKELY = 2.0, 1.0  # standard errors
_FEW_PAIRS = 50
_GROUP = 40  # people of a group that words speak of
_SHOWN_FIELDS = 3
_PROMISE = 0.1  # a promise that is off by more deserves a word
_MATTERS = 0.03  # a difference in the chance of use below this is not worth a word
_COUNTS = {
    "poisson": "as if every coupon were tried independently (Poisson)",
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
    """Everything the summary speaks of; numbers only, nobody's row."""

    source: str
    people: int
    triples: int
    pairs: int
    open: int
    small: bool
    most_issued: int
    calibration: pd.DataFrame
    """coupon, people, predicted, observed, low, high."""
    gain: float
    """Held-out log-likelihood gained by knowing people's answers, over "everybody is alike"."""
    gain_error: float
    effects: list[dict[str, Any]]
    """field, and the chance that a first coupon is used in each category: the largest differences first."""
    family: str
    capacity_reason: str
    kind: str
    offspring_reason: str
    rivals: int
    all_used: bool
    told_apart: bool
    """Whether anything is known about people."""
    report: ValueReport
    rules: Rules
    discount: float

    @classmethod
    def of(
        cls,
        study: Study,
        schema: StudySchema,
        history: History,
        capacity: LearnedCapacity,
        alike: LearnedCapacity,
        offspring: ChosenOffspring,
        report: ValueReport,
        rules: Rules,
        small: bool,
        discount: float,
    ) -> "Findings":
        best = max((each for each in capacity.candidates if each.family == capacity.family), key=lambda c: c.score)
        plain = max(alike.candidates, key=lambda candidate: candidate.score)
        gains = best.held_out - plain.held_out
        codes = encode_study(study, schema)
        return cls(
            source=study.source,
            people=len(study),
            triples=int((history.coupons > 0).sum()),
            pairs=len(history.parents),
            open=int(study.still_open.sum()),
            small=small,
            most_issued=int(history.coupons.max()),
            calibration=capacity_report(capacity, history).calibration,
            gain=float(gains.sum()),
            gain_error=float(gains.std(ddof=1) * np.sqrt(len(gains))),
            effects=field_effects(capacity, codes),
            family=capacity.family,
            capacity_reason=capacity.reason,
            kind=offspring.kind,
            offspring_reason=offspring.reason,
            rivals=len(offspring.rivals),
            all_used=bool(history.saturated[history.coupons > 0].all()),
            told_apart=bool(schema.used),
            report=report,
            rules=rules,
            discount=discount,
        )

    def scores(self, capacity: LearnedCapacity, offspring: ChosenOffspring) -> dict[str, Any]:
        """The same for machines, as a saved fit keeps it."""
        return {
            "people": self.people,
            "finished_coupon_holders": self.triples,
            "pairs": self.pairs,
            "still_open": self.open,
            "capacity": capacity.scores(),
            "offspring": offspring.scores(),
            "coupon_use": self.calibration.to_dict("records"),
            "gain_of_knowing_people": {"log_likelihood": self.gain, "standard_error": self.gain_error},
            "effects": self.effects,
            "value": {
                "promised": self.report.promised,
                "simulated": self.report.simulated,
                "simulated_error": self.report.simulated_error,
                "history": [[what, value] for what, value in self.report.history],
            },
            "summary": summary_of(self),
        }


def summary_of(found: Findings) -> list[str]:
    """The fit in sentences, most important first; warnings begin with "Warning"."""
    return [*_basis(found), *_use(found), *_choice(found), *_certainty(found), *_value(found), *warnings_of(found)]


def _basis(found: Findings) -> list[str]:
    waiting = (
        f" {counted(found.open, 'person has', 'people have')} coupons that may still be used." if found.open else ""
    )
    return [
        f"Fitted to {found.source}: {found.people:,} people, of whom {found.triples:,} show how many one brings, and "
        f"{counted(found.pairs, 'pair', 'pairs')} of recruiter and recruit.{waiting}"
    ]


def _use(found: Findings) -> list[str]:
    lines = []
    for row in found.calibration.head(4).to_dict("records"):
        seen, reach = float(row["observed"]), (float(row["high"]) - float(row["low"])) / 2
        inside = row["low"] <= row["predicted"] <= row["high"]
        verdict = f"the model says {percent(row['predicted'])}" + ("" if inside else ", which is outside that range")
        lines.append(
            f"The {ordinal(int(row['coupon']))} coupon is used by {percent(seen)} +- {percent(reach)} of the "
            f"{row['people']:,} people who had one; {verdict}."
        )
    return lines


def _choice(found: Findings) -> list[str]:
    counts = f"How many people bring is modelled {_COUNTS[found.family]}: that predicts people who were left out best"
    counts += (
        ", or as well and more simply."
        if not found.small
        else ". The study is small, so only a simple model was tried."
    )
    words = [counts, _knowing_people(found)]
    sure = "by the model" if found.gain > _LIKELY * found.gain_error else "by the model; may well be chance"
    for effect in found.effects[:_SHOWN_FIELDS]:
        ends = sorted(effect["chances"].items(), key=lambda pair: -pair[1])
        (best, high), (worst, low) = ends[0], ends[-1]
        words.append(
            f"  {effect['field']}: a first coupon is used by {percent(high)} where it is {best!r}, and by "
            f"{percent(low)} where it is {worst!r}, other things equal ({sure})."
        )
    if not found.told_apart:
        return words
    chosen = (
        "the simplest, as the study is small" if found.rivals < 2 else f"the best of {found.rivals} on pairs left out"
    )
    return [*words, f"Whom people bring is modelled by {_GENERATORS[found.kind]} ({chosen})."]


def _knowing_people(found: Findings) -> str:
    if not found.told_apart:
        return (
            "Nothing is known about people, so everybody is treated alike: a sheet decides how many coupons to give "
            "out now and how many later, and not to whom."
        )
    size = f"({found.gain:+.1f} +- {found.gain_error:.1f} units of log-likelihood on people left out)"
    if found.gain > _CLEARLY * found.gain_error and found.gain > 0:
        return f"What is known about people clearly helps to tell who brings many {size}."
    if found.gain > _LIKELY * found.gain_error and found.gain > 0:
        return f"What is known about people probably helps a little to tell who brings many {size}."
    return (
        f"What is known about people does not help to tell who brings many, as far as this study shows {size}: "
        "differences between people on a coupon sheet are small and unsure."
    )


def _certainty(found: Findings) -> list[str]:
    first = found.calibration.iloc[0]
    share, n = float(first["observed"]), int(first["people"])
    share = min(max(share, 0.1), 0.9)  # even a share of nothing is not known exactly

    def reach(people: int) -> float:
        return float(1.96 * np.sqrt(share * (1 - share) / people))

    words = f"How sure is that? With {n_people(n)}, an average over everybody is known to about +- {percent(reach(n))}"
    if n > 2 * _GROUP:
        words += (
            f"; for a group of {_GROUP} of them to about +- {percent(reach(_GROUP))}. Two groups of {_GROUP} have to "
            f"differ by {percent(np.sqrt(2) * reach(_GROUP))} or more before chance is ruled out"
        )
    return [f"{words}. What one person will do cannot be told: chances are all there is."]


def _value(found: Findings) -> list[str]:
    report, rules = found.report, found.rules
    off = abs(report.promised - report.simulated) / max(report.simulated, 1e-9)
    care = "" if off < _PROMISE else f" The value promises {report.promised:.1f}, so take totals on a sheet with care."
    start, best = report.history[0][1], max(value for _, value in report.history[1:])
    capped = "" if rules.max_per_person is None else f", at most {rules.max_per_person} each"
    late = (
        "late recruits count as much as early ones"
        if found.discount == 1.0
        else (f"a recruit a round later counts {found.discount:g} times as much")
    )
    return [
        f"Prepared to plan up to {n_coupons(rules.budget)}{capped}, over {counted(rules.rounds, 'round', 'rounds')}, "
        f"with about {rules.people:,} people waiting at first; {late}.",
        f"Played in simulations with these models, the plans bring {best:.1f} +- {2 * report.simulated_error:.1f} "
        f"recruits; the best simple rule, tuned there, brings {start:.1f} in the same ones.{care}",
    ]


def warnings_of(found: Findings) -> list[str]:
    """What the user of this fit must know."""
    told = []
    if found.small:
        told.append(
            f"Warning: {found.triples} people are very few. Everybody looks almost alike to the model; use the sheet "
            "to share coupons sensibly over the rounds, not to tell people apart."
        )
    if found.pairs < _FEW_PAIRS:
        told.append(f"Warning: with {counted(found.pairs, 'pair', 'pairs')}, whom people bring is mostly a guess.")
    most = found.rules.max_per_person
    if most is None or most > found.most_issued:
        told.append(
            f"Warning: nobody in the study had more than {n_coupons(found.most_issued)}; what a "
            f"{ordinal(found.most_issued + 1)} one does is extrapolated."
        )
    if found.all_used:
        told.append(
            "Warning: every coupon was used, so nobody's limit was ever seen: how many more people bring is a guess."
        )
    if not found.open:
        told.append(
            "Note: all coupons count as finished. If people can still use theirs, set still_open in the schema file, "
            "or recruiting looks harder than it is."
        )
    return told


def what_can_be_said(study: Study, triples: int, pairs: int, fewest: int) -> str:
    """Why a study is refused, and what it shows all the same."""
    issued, used = int(study.issued.sum()), int(np.minimum(study.recruits, study.issued).sum())
    fault = (
        f"only {n_people(triples)} had coupons that are finished; at least {fewest} are needed"
        if triples < fewest
        else "nobody's recruiter is known, so it does not show whom people bring"
    )
    words = f"{study.source} is too small to fit: {fault}. What can be said: {n_people(len(study))}"
    if issued:
        words += f"; {used} of {issued:,} coupons were used ({percent(used / issued)})"
    else:
        words += ", and no coupons issued"
    advice = " Until there is more, give everybody the same number of coupons and keep some for later rounds."
    waiting = int(study.still_open.sum())
    more = f" {waiting} people's coupons count as still open: see still_open in the schema file." if waiting else ""
    return f"{words}.{advice}{more}"


def field_effects(capacity: LearnedCapacity, people: Codes) -> list[dict[str, Any]]:
    """Per field the chance that a first coupon is used if everybody had one category of it, other things equal."""
    effects = []
    for number, field in enumerate(capacity.schema.fields):
        there = [code for code in range(len(field)) if (people[:, number] == code).any()]
        chances = {field.categories[code]: chance_if(capacity, people, number, code).mean().item() for code in there}
        if len(chances) > 1 and max(chances.values()) - min(chances.values()) >= _MATTERS:
            effects.append({"field": field.name, "chances": chances})
    return sorted(effects, key=lambda e: min(e["chances"].values()) - max(e["chances"].values()))


def chance_if(capacity: LearnedCapacity, people: Codes, field: int, code: int) -> NDArray[np.float64]:
    """The chance that a first coupon is used if everybody had this category, [people]."""
    changed = people.copy()
    changed[:, field] = code
    chances: NDArray[np.float64] = capacity.survival(changed, 1)[:, 0]
    return chances
