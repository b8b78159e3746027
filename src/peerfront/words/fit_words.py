"""A fit in words for a coordinator: its data, what a coupon does, who recruits, how certain that is.

Everything is computed from the numbers of a saved fit, so that a model says the same wherever it is opened.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from peerfront.foundation.messages import Measured, note
from peerfront.foundation.stored import FEWEST
from peerfront.models.belief.prior import Prior
from peerfront.study.artifacts import Fit
from peerfront.study.orders import contradiction
from peerfront.words.earlier_study_words import earlier_study_lines
from peerfront.words.language import (
    Text,
    first_warning,
    in_digits,
    joined,
    n_coupons,
    n_people,
    ordinal,
    percent,
    say,
    say_n,
)
from peerfront.words.messages import text_of
from peerfront.words.story_phrases import story_phrase

if TYPE_CHECKING:
    from peerfront.study.model import FitSummary

_GROUP = 40  # people in the summary's example group
_SHOWN_COUPONS, _SHOWN_FIELDS, _MOST_COUPONS = 4, 3, 6
_PROMISE_OFF = 0.1  # the summary mentions a value that misses the simulations by more than this share


def summary_lines(summary: "FitSummary") -> list[Text]:
    """The data, what coupons bring, who recruits, what plans bring, and the first warning."""
    fit, scores = summary.fit, summary.fit.scores
    if "people" not in scores:  # made by hand
        return []
    fitted = joined([*_basis(fit), *_brings(scores["coupon_stories"])])
    return [fitted, joined(_people(fit)), *_plans(fit)[-1:], *_warnings(fit)]


def summary_details(summary: "FitSummary") -> list[Text]:
    """The rest: priors, earlier studies, when people come, coupons used, evidence, certainty, notes."""
    fit, scores = summary.fit, summary.fit.scores
    if "people" not in scores:
        return []
    return [
        *prior_lines(fit),
        *earlier_study_lines(scores.get("earlier_studies")),
        *return_lines(fit),
        *_use(scores["coupon_use"], bool(scores.get("returns")) and scores["still_open"] > 0),
        *_coupons(scores["coupon_stories"]),
        *_effects(fit),
        *_certainty(scores["coupon_use"]),
        *_plans(fit)[:-1],
        *map(text_of, fit.messages),
    ]


def _warnings(fit: Fit) -> list[Text]:
    """What speaks against the model first, then its warnings: the first of them all."""
    contradicted = [contradiction(each) for each in fit.scores["coupon_stories"].get("misfits", ())]
    return first_warning([text_of(each) for each in (*contradicted, *fit.warnings)])


def _about(count: int) -> Text:
    """A rounded count."""
    return say("about {count:,}", count=count) if count >= FEWEST else say("fewer than five")


def _basis(fit: Fit) -> list[Text]:
    scores = fit.scores
    lines = [
        say(
            "Fitted to {study}: {people} people, of whom {holders} have usable recruitment counts.",
            study=str(fit.settings.get("study", "")),
            people=_about(scores["people"]),
            holders=_about(scores["finished_coupon_holders"]),
        )
    ]
    if scores.get("learned_from") is not None:
        few = scores["learned_from"]
        lines.append(say("A study this large is learned from {few:,} people and pairs, drawn at random.", few=few))
    return lines


def prior_lines(fit: Fit) -> list[Text]:
    """Where the prior differs from the usual one, with the names of its file."""
    stated, parts = fit.settings.get("prior_belief", {}), []
    for name, usual in Prior().table().items():
        if (value := stated.get(name, usual)) != usual:
            points = [f"{at:g} ({weight:.0%})" for at, weight in value] if isinstance(value, list) else [f"{value:g}"]
            parts.append(f"{name} {', '.join(points)}")
    return [say("Believed before any data, as you said: {prior}.", prior="; ".join(parts))] if parts else []


def return_lines(fit: Fit) -> list[Text]:
    """When people come, and how many are still to come with open coupons."""
    returns = fit.scores.get("returns")
    if not returns:
        return []
    half, early, late = (round(returns["days"][share]) for share in ("0.5", "0.1", "0.9"))
    lines = [
        say_n(
            "Half of those who come, come within {n} day (8 of 10: after {early} to {late}).",
            "Half of those who come, come within {n} days (8 of 10: after {early} to {late}).",
            half,
            early=early,
            late=late,
        )
    ]
    if returns["open_coupons"] >= FEWEST:
        coupons, used = _about(returns["open_coupons"]), returns["expected_of_open"]
        lines.append(
            say(
                "Coupons still open on {day}: {coupons}, of which about {used:,} will be used.",
                day=returns["day"],
                coupons=coupons,
                used=used,
            )
        )
        if not returns.get("expires", True):
            lines.append(text_of(note("fits.no_expiry")))
    low, high = returns.get("median_interval", (0.0, 0.0))
    if high - low >= 1.0:
        lines.append(
            say("How soon half of them come is known to between {low:,.0f} and {high:,.0f} days.", low=low, high=high)
        )
    if returns.get("few_returns"):
        lines.append(
            say("Few have come with a dated coupon: how soon people come rests mostly on two published studies.")
        )
    return [joined(lines)]


def _use(rows: list[dict[str, Any]], so_far: bool) -> list[Text]:
    """How many coupons were used, compared with the model."""
    lines = []
    for row in rows[:_SHOWN_COUPONS]:
        if row["observed"] is None:
            seen = {"hardly any": say("hardly any"), "nearly all": say("nearly all")}[row["by"]]
        else:
            seen = say("{share:.0%}", share=Measured(row["observed"], (row["high"] - row["low"]) / 2))
        values = {"number": ordinal(row["coupon"]), "seen": seen, "predicted": percent(row["predicted"])}
        outside = row["observed"] is not None and not row["low"] <= row["predicted"] <= row["high"]
        lines.append(
            say("{number}: {seen} (the model says {predicted}, outside that range)", **values)
            if outside
            else say("{number}: {seen} (the model says {predicted})", **values)
        )
    if not lines:
        return []
    listed = joined(lines, "; ")
    return [
        say("Coupons used so far, with 95% intervals: {listed}.", listed=listed)
        if so_far
        else say("Coupons used, with 95% intervals: {listed}.", listed=listed)
    ]


def _brings(coupons: Mapping[str, Any]) -> list[Text]:
    """What a person brings with 1, 2, ... coupons, with its interval."""
    every = coupons["all"]
    rows = zip(every["expected"][: _most_shown(coupons)], every["low"], every["high"], strict=False)
    brings = [_with_interval(*row) for row in rows]
    numbers = list(range(1, len(brings) + 1))
    return [say("With {numbers} coupons one person brings {bring} recruits.", numbers=numbers, bring=brings)]


def _with_interval(mean: float, low: float, high: float) -> Text:
    middle, ends = in_digits(mean, ".2f"), (in_digits(low, ".2f"), in_digits(high, ".2f"))
    if str(ends[0]) == str(ends[1]):
        return middle
    return say("{middle} ({low} to {high})", middle=middle, low=ends[0], high=ends[1])


def _most_shown(coupons: Mapping[str, Any]) -> int:
    return min(max(int(coupons["shown"][1]), 3), _MOST_COUPONS)


def _coupons(coupons: Mapping[str, Any]) -> list[Text]:
    """What the study shows about the effect of a coupon, and what it leaves open."""
    most, pinned = _most_shown(coupons), coupons["pinned"]
    lines = []
    if pinned:
        lines.append(say("Plans believe, as you said, that {story}.", story=story_phrase(pinned)))
    lines += [_evidence(each) for each in coupons["evidence"]]
    lines += [text_of(contradiction(each)) for each in coupons.get("misfits", ())]
    if coupons["same_coupons"] and not pinned:
        lines.append(
            say("Nearly everybody had {usual}: what fewer would bring, the file cannot say.", usual=coupons["usual"])
        )
    if not pinned:
        for story in coupons["stories"]:
            expected = [in_digits(each, ".2f") for each in story["expected"][:most]]
            line = say(
                "If {story} (weight {weight}): {numbers} coupons bring {bring}.",
                story=story_phrase(story["name"]), weight=percent(story["weight"]),
                numbers=list(range(1, len(expected) + 1)), bring=expected,
            )  # fmt: skip
            lines.append(joined(["  ", line], ""))
    return lines


def _evidence(row: Mapping[str, Any]) -> Text:
    """What people with one number of coupons brought, and what the others' counts let expect."""
    values = {name: row[name] for name in ("people", "brought", "low", "high")}
    return say_n(
        "About {people:,} people had {n} coupon: about {brought:,} of them brought somebody; by what others brought, "
        "{low:,} to {high:,} were to be expected.",
        "About {people:,} people had {n} coupons: about {brought:,} of them brought somebody; by what others brought, "
        "{low:,} to {high:,} were to be expected.",
        row["coupons"],
        **values,
    )


def _people(fit: Fit) -> list[Text]:
    """Whether people's answers predict who recruits."""
    if not fit.schema.fields or all(len(field) < 2 for field in fit.schema.fields):
        return [
            say("Nothing is known about people: a sheet decides how many coupons to give out now, and not to whom.")
        ]
    if not fit.belief.fields:
        return [say("Nothing that is known about people predicts who recruits: lots decide who gets one more.")]
    return [say("What predicts who recruits: {fields}.", fields=list(fit.belief.fields))]


def _effects(fit: Fit) -> list[Text]:
    """How people's answers predict who recruits."""
    lines = []
    for effect in fit.scores["effects"][:_SHOWN_FIELDS] if fit.belief.fields else ():
        ends = sorted(effect["chances"].items(), key=lambda pair: -pair[1])
        (best, high), (worst, low) = ends[0], ends[-1]
        line = say(
            "{field}: a first coupon is used by {high} of {best!r} and {low} of {worst!r}, other things equal.",
            field=effect["field"], high=percent(high), best=best, low=percent(low), worst=worst,
        )  # fmt: skip
        lines.append(line)
    return lines


def _certainty(rows: list[dict[str, Any]]) -> list[Text]:
    if not rows:
        return []
    first, n = rows[0], rows[0]["people"]
    share = first["observed"] if first["observed"] is not None else (0.1 if first["by"] == "hardly any" else 0.9)
    share = min(max(share, 0.1), 0.9)  # even a share of 0 is not known exactly

    def reach(people: int) -> Text:
        return percent(float(1.96 * np.sqrt(share * (1 - share) / people)))

    if n <= 2 * _GROUP:
        return [
            say(
                "An average over everybody is known to within {all} (19 times out of 20); what one person will do is "
                "not.",
                all=reach(n),
            )
        ]
    return [
        say(
            "An average over everybody is known to within {all} (19 times out of 20), over a group of {group} to "
            "within {of_group}; what one person will do is not.",
            all=reach(n),
            group=_GROUP,
            of_group=reach(_GROUP),
        )
    ]


def _plans(fit: Fit) -> list[Text]:
    """What plans were prepared for, and their results in simulations."""
    rules, values, played = fit.rules, fit.scores.get("values", {}), fit.scores.get("played", {})
    prepared = say_n(
        "Prepared to plan up to {coupons} over {n} round, with about {people:,} people waiting at first.",
        "Prepared to plan up to {coupons} over {n} rounds, with about {people:,} people waiting at first.",
        rules.rounds,
        coupons=n_coupons(rules.budget),
        people=rules.people,
    )
    most = rules.max_per_person
    limit = None if most is None else say_n("At most {n} for each person.", "At most {n} for each person.", most)
    late = None
    if fit.discount != 1.0:
        late = say("A recruit a round later counts {discount:g} times as much.", discount=fit.discount)
    lines = [joined([prepared, limit, late])]
    if played.get("budget") not in (None, rules.budget):
        times = rules.budget / played["budget"]
        people, coupons = n_people(played["people"]), n_coupons(played["budget"])
        lines.append(
            say(
                "Simulated for {people} and {coupons}, {times:,.0f} times fewer:",
                people=people,
                coupons=coupons,
                times=times,
            )
        )
    return [*lines, *(_played(value) for value in values.values())]


def _played(value: Mapping[str, Any]) -> Text:
    """The results of plans in simulations."""
    values = {"plans": Measured.of(value["plans"], value["error"]), "rule": value["rule"]}
    if value["rule"] is None:
        line = say("In simulations plans bring {plans:.1f} recruits (95%).", **values)
    else:
        line = say("In simulations plans bring {plans:.1f} recruits (95%), the best simple rule {rule:.1f}.", **values)
    off = abs(value["promised"] - value["simulated"]) / max(value["simulated"], 1e-9)
    if off < _PROMISE_OFF:
        return line
    promise = say("The value promises {promised:.1f}: take totals with care.", promised=value["promised"])
    return joined([line, promise])
