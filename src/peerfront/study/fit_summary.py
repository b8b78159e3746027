"""What a fit shows, in words a coordinator can use: how well it predicts, which models, how sure one can be."""

from typing import Any

import numpy as np

from peerfront.foundation.privacy import FEWEST, rounded_count
from peerfront.foundation.words import Sentences, counted, n_coupons, n_people, percent
from peerfront.gfp.learning import ValueReport
from peerfront.study.findings import Findings
from peerfront.study.orders import beyond_shown
from peerfront.study.returning import FEW_RETURNS
from peerfront.study.stories import IN_WORDS

_MISFIT = 0.01  # p-value of the counts below which the model is said not to fit
_ALIKE = 0.02  # recruits by which stories may differ and still be called alike
_CLEARLY, _PROBABLY = 2.0, 1.0  # standard errors
_AS_GOOD = 0.005  # share of the recruits: a smaller lead of a simple rule is called none
_FEW_PAIRS = 50
_GROUP = 40  # people in a group that the summary takes as its example
_SHOWN_FIELDS = 3
_MOST_COUPONS_TOLD = 6
_ON_PEOPLE = ", which depends on who they are"
_MOST_SEEN = 0.6  # share of the recruits to come that have come, below which the summary warns
_PROMISE_OFF = 0.1  # share by which the value may miss the simulations before the summary mentions it
_COUNTS = {
    "poisson": "as a number that varies by chance alone around a mean, which depends on who they are (Poisson)",
    "zip": "with some people who bring nobody whatever they get (zero-inflated Poisson)",
    "nb": "with a few people who bring many (negative binomial)",
    "zinb": "with some who bring nobody and a few who bring many (zero-inflated negative binomial)",
    "binomial": "as coupons that are each used with a chance, which depends on who they are (binomial)",
    "zib": "as coupons that are each used with a chance, by all but some who bring nobody (zero-inflated binomial)",
    "betabinomial": "as coupons that are each used with a chance, which differs from person to person (beta-binomial)",
    "thinned": "with so many to bring, and a chance that each coupon is used (thinned negative binomial)",
}
_GENERATORS = {
    "inheritance": "a table: in each column recruits are like their recruiter with some chance, otherwise like anybody",
    "softmax": "a regression for each column on the recruiter's answers",
    "masked": "a network that fills in a recruit's answers one after another",
}


def summary_of(findings: Findings) -> Sentences:
    """The fit in sentences, most important first; warnings begin with "Warning"."""
    parts = (_basis, _help, _returns, _use, _coupons, _choice, _certainty, _value, _warnings)
    return Sentences(sentence for part in parts for sentence in part(findings))


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


def _help(findings: Findings) -> list[str]:
    """What earlier studies have to do with it."""
    return [] if findings.help is None else findings.help.sentences()


def _returns(findings: Findings) -> list[str]:
    """When people come, and what is still to come of open coupons."""
    found = findings.returning
    if found is None:
        return []
    half, early, late = (found.days(share) for share in (0.5, 0.1, 0.9))
    words = f"Half of those who come, come within {_days(half)} (8 of 10: between {early:,.0f} and {late:,.0f})"
    if found.open_coupons >= FEWEST:
        expected = round(findings.expected_of_open)
        words += (
            f"; coupons still open on {found.day}: {_about(found.open_coupons)}, of which about {expected:,} will be "
            "used"
        )
    low, high = found.days_interval(0.5)
    lines = [f"{words}."]
    if high - low >= 1.0:
        lines[0] += f" How soon half of them come is known to between {low:,.0f} and {_days(high)}."
    if found.dated_returns < FEW_RETURNS:
        lines.append(
            "So few have come with a dated coupon that how soon people come rests mostly on two studies that were "
            "published (half within 12 and within 20 days)."
        )
    if np.isinf(found.usual_validity) and found.open_coupons >= FEWEST:
        lines.append(
            "No date of expiry is known, so unused coupons count as open however old they are. If yours expire, say so "
            "in the schema file: valid_days = 60."
        )
    return lines


def _days(days: float) -> str:
    return counted(round(days), "day", "days")


def _about(count: int) -> str:
    """A count as a model may tell it: to the nearest five."""
    return f"about {rounded_count(count):,}" if count >= FEWEST else "fewer than five"


def _use(findings: Findings) -> list[str]:
    lines = []
    so_far = "" if findings.returning is None or not findings.n_open else " so far"
    for row in findings.told_use[:4]:
        least = counted(row["coupon"], "recruit", "recruits") + so_far
        people = f"the about {row['people']:,} people who had {n_coupons(row['coupon'])} or more"
        verdict = f"the model says {percent(row['predicted'])}"
        if row["observed"] is None:
            lines.append(f"{row['by'].capitalize()} of {people} brought at least {least}; {verdict}.")
            continue
        reach = (row["high"] - row["low"]) / 2
        inside = row["low"] <= row["predicted"] <= row["high"]
        verdict += "" if inside else ", which is outside that range"
        seen = f"{percent(row['observed'])} +- {percent(reach)}"
        lines.append(f"{seen} of {people} brought at least {least}; {verdict}.")
    return lines


def _coupons(findings: Findings) -> list[str]:
    """What is known about what a coupon does, and what is not."""
    told = findings.coupon_stories
    stories = {story["name"]: story for story in told["stories"]}
    left = [story for story in told["stories"] if not story["ruled_out"]]
    fewest, most = told["shown"]
    everybody = "everybody so far" if fewest == most else "nearly everybody so far"
    most_told = min(max(most, 3), _MOST_COUPONS_TOLD)
    lines = []
    if told["pinned"]:
        lines.append(
            f"You said what a coupon does (--response {told['pinned']}): plans believe that "
            f"{IN_WORDS[told['pinned']]}. The study alone would give that "
            f"{percent(stories[told['pinned']]['by_the_study'])}."
        )
    for name, story in stories.items():
        if story["ruled_out"] and name not in ("both", told["pinned"]):
            behind, error = story["behind"]
            lines.append(
                f"That {IN_WORDS[name]} is ruled out: it predicts people who were left out worse ({behind:.1f} +- "
                f"{error:.1f} units of log-likelihood)."
            )
    if len(left) == 1:
        return [*lines, f"So {IN_WORDS[left[0]['name']]}.", *_brings(left, most_told)]
    had = f"{everybody} had {told['usual']}" if told["same_coupons"] else f"nearly everybody had {fewest} to {most}"
    first = [story["expected"][0] for story in left]
    alike = max(first) - min(first) < _ALIKE
    lines.append(
        f"What one coupon brings is about {np.mean(first):.2f} recruits, whatever a coupon does."
        if alike
        else f"What one coupon brings is between {min(first):.2f} and {max(first):.2f} recruits: {had}, so the file "
        f"{'cannot' if told['same_coupons'] else 'can hardly'} say."
    )
    lines += _brings(left, most_told)
    if told["pinned"]:
        return lines
    lines.append(
        "Plans maximise the average over these stories. The weights come from how well each predicts people who were "
        f"left out, with an even prior as strong as {counted(round(told['prior']), 'person', 'people')} for each."
    )
    if stories.get("both", {}).get("ruled_out"):
        lines.append("A mixture of the two in every person does not predict clearly better, and is left aside.")
    if told["same_coupons"]:
        lines.append(
            "The most useful thing this study can do is to hand out different numbers of coupons, and fit again when "
            "they are back. A plan does that by itself; `peerfront plan --learn` adds random numbers for some people "
            "where that teaches enough to pay."
        )
    return lines


def _brings(stories: list[dict[str, Any]], most: int) -> list[str]:
    """What 1, 2, ... coupons bring by each story."""
    lines = []
    for story in stories:
        each = list(zip(story["expected"], story["low"], story["high"], strict=True))[:most]
        bring = ", ".join(f"{expected:.2f} ({low:.2f} to {high:.2f})" for expected, low, high in each)
        numbers = ", ".join(str(number) for number in range(1, len(each) + 1))
        weight = f" (weight {percent(story['weight'])})" if story["weight"] else ""
        lines.append(f"  If {IN_WORDS[story['name']]}{weight}: {numbers} coupons bring {bring}.")
    return lines


def _choice(findings: Findings) -> list[str]:
    modelled = _COUNTS[findings.response.family]
    if not findings.response.fields:
        modelled = modelled.replace(_ON_PEOPLE, ", the same for everybody")
    counts = f"How many people bring is modelled {modelled}: that predicts people who were "
    counts += (
        "left out best, or as well and more simply."
        if not findings.small
        else "left out best. The study is small, so only a simple model was tried."
    )
    helped = findings.help is not None and findings.help.used
    if helped:
        counts = f"How many people bring is modelled {modelled}, as in the earlier studies."
    words = [counts] if helped and findings.schema.used else [counts, _knowing_people(findings)]
    gain, error = findings.gain
    sure = "by the model" if helped or gain > _PROBABLY * error else "by the model; may well be chance"
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
    if not findings.response.fields:
        return (
            f"What is known about people does not help enough to tell who brings many {size}, so everybody is treated "
            "alike: a sheet decides how many coupons to give out now, and lots decide who gets one more."
        )
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
    rules = findings.rules
    capped = "" if rules.max_per_person is None else f", at most {rules.max_per_person} each"
    late = (
        "late recruits count as much as early ones"
        if findings.discount == 1.0
        else (f"a recruit a round later counts {findings.discount:g} times as much")
    )
    return [
        f"Prepared to plan up to {n_coupons(rules.budget)}{capped}, over {counted(rules.rounds, 'round', 'rounds')}, "
        f"with about {rules.people:,} people waiting at first; {late}.",
        *(sentence for name in findings.values for sentence in _played(findings, name)),
    ]


def _played(findings: Findings, story: str) -> list[str]:
    """How plans for one story did where it is true."""
    report = findings.values[story]
    off = abs(report.promised - report.simulated) / max(report.simulated, 1e-9)
    promise = f" The value promises {report.promised:.1f}, so take totals on a sheet with care."
    where = f" in which {IN_WORDS[story]}" if len(findings.values) > 1 else " with these models"
    played = f"Played in simulations{where}{_fewer(findings)}, {_plans_and_rule(report)}."
    return [played + ("" if off < _PROMISE_OFF else promise), *rule_against_plans(report)]


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


def _rarely(p_value: float) -> str:
    return f"{percent(p_value)} of cases" if p_value >= 0.001 else "fewer than 1 of 1,000 cases"


def _warnings(findings: Findings) -> list[str]:
    """What the user of this fit must know."""
    warnings = list(findings.notes)
    found = findings.returning
    if found is not None and found.share_seen < _MOST_SEEN:
        warnings.append(
            f"Warning: by the model, only {percent(found.share_seen)} of the recruits whom coupons given out so far "
            "will bring have come. How many people bring rests on how the rest will come, which nobody has seen. If "
            'the study has ended and accepts no coupons any more, write still_open = "none" into the schema file.'
        )
    helped = findings.help is not None and findings.help.used
    if findings.small and helped:
        warnings.append(
            f"Warning: {_about(findings.n_holders)} people are very few. What the model says rests on the earlier "
            "studies as far as they count: if this one is of another kind, it cannot tell yet."
        )
    elif findings.small:
        warnings.append(
            f"Warning: {_about(findings.n_holders)} people are very few. Everybody looks almost alike to the model; "
            "use the sheet to share coupons sensibly over the rounds, not to tell people apart."
        )
    misfits = {name: report.p_value for name, report in findings.reports.items() if report.p_value < _MISFIT}
    if len(misfits) == len(findings.reports):
        warnings.append(
            f"Warning: the model does not describe well how many people bring: differences like those between the file "
            f"and the model come about by chance in {_rarely(max(misfits.values()))} (the report has the picture). "
            "Take every number that follows from it, the recruits that plans and forecasts promise above all, as rough."
        )
    else:
        warnings += [
            f"Warning: the model in which {IN_WORDS[name]} does not describe well how many people bring (differences "
            f"like those in the file come about by chance in {_rarely(p_value)}). Take numbers that follow from that "
            "story as rough."
            for name, p_value in misfits.items()
        ]
    fewest = findings.shown[0]
    if fewest > 1 and (len(findings.stories.weights) > 1 or findings.stories.pinned):
        warnings.append(
            f"Warning: hardly anybody in the study had fewer than {n_coupons(fewest)}, so what fewer bring is "
            "extrapolated downwards. Plans that give people fewer rely on what a coupon is believed to do."
        )
    if findings.n_pairs < _FEW_PAIRS and not (helped and findings.help is not None and findings.help.alike):
        warnings.append(f"Warning: with {_about(findings.n_pairs)} pairs, whom people bring is mostly a guess.")
    shown, most = findings.response.most_shown, findings.rules.max_per_person
    beyond = beyond_shown(shown, most)
    if beyond:
        warnings.append(f"Warning: {beyond}")
    elif shown == 1:
        warnings.append(
            "Warning: hardly anybody in the study had more than one coupon, so it cannot show what a second one does: "
            "plans give nobody more than one. Give some people two or three to find out, and fit again; or fit with "
            "--max-per-person 3, which extrapolates."
        )
    if findings.all_used:
        warnings.append(
            "Warning: every coupon was used, so nobody's limit was ever seen: how many more people bring is a guess."
        )
    if not findings.n_open and findings.returning is None:
        because = f" ({findings.undated})" if findings.undated else ""
        warnings.append(
            f"Note: all coupons count as finished{because}. If people can still use theirs, add the dates, or set "
            "still_open in the schema file, or recruiting looks harder than it is."
        )
    return warnings
