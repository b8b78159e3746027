"""Forecasts by rounds in words: sentences and tables."""

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from peerfront.foundation.messages import Remedy
from peerfront.study.forecast import KNOWING, PLAN, Forecast
from peerfront.study.rivals import Gains, Verdict
from peerfront.words.language import Text, joined, n_coupons, n_people, percent, say, say_n
from peerfront.words.result_table import ResultTable
from peerfront.words.story_phrases import story_phrase

if TYPE_CHECKING:
    from peerfront.study.date_forecast import DateForecast

Row = Mapping[Hashable, Any]
_SHOWN = 0.05  # smaller differences are 0 when they are shown


def forecast_lines(forecast: Forecast) -> list[object]:
    """The expectation, the stories, the target, the coupons, and what the plan gains."""
    if forecast.nothing_because is not None:
        return [say("Nothing is given out: {why}. So nobody is recruited.", why=forecast.nothing_because)]
    plan, rules = forecast.of_plan, forecast.rules
    start = {
        "people": n_people(forecast.people),
        "coupons": n_coupons(rules.budget),
        "rounds": say_n("{n:,} round", "{n:,} rounds", rules.rounds),
    }
    expected = say(
        "From {people} with {coupons} and {rounds} to go, the plan brings {recruits} recruits on average; in 8 of 10 "
        "simulated studies between {low:.0f} and {high:.0f}.",
        **start | band(plan) | {"recruits": expected_recruits(forecast)},
    )
    own = forecast.stories_of(PLAN).to_dict("records")
    lines: list[object] = [expected, *(_story_line(forecast, row) for row in own if len(own) > 1)]
    if forecast.still_wanted is not None:
        lines.append(_target_line(forecast, forecast.still_wanted))
    dies_out = say(
        "Chance that nobody is left who could refer while coupons and rounds remain: {chance}.",
        chance=chance_text(plan["dies_out"]),
    )
    used = say(
        "Of {coupons}, {recruits:.0f} are used, {unused:.0f} are issued and not used, {never_issued:.0f} are never "
        "issued (averages).",
        coupons=n_coupons(rules.budget),
        **{name: plan[name] for name in ("recruits", "unused", "never_issued")},
    )
    gains = gain_lines(forecast.gains)
    return [*lines, dies_out, used, *gains, *forecast.assumed, *forecast.warnings, _caveat(forecast)]


def expected_recruits(forecast: Forecast) -> Text:
    """Recruits of the plan: a number, or a range if the stories differ clearly."""
    if not forecast.stories_differ:
        return say("{recruits:.0f}", recruits=forecast.of_plan["recruits"])
    own = forecast.stories_of(PLAN)["recruits"]
    return say("{low:.0f} to {high:.0f}", low=own.min(), high=own.max())


def _story_line(forecast: Forecast, row: Row) -> Text:
    """What the plan brings by one story, and what planning for it alone would add."""
    knowing = forecast.stories_of(KNOWING)
    own = knowing[knowing["story"] == row["story"]].iloc[0]
    more, is_clear = -float(own["plan_lead"]), own["plan_lead_high"] < 0.0
    brings = say(
        "  If {story} (weight {weight}): {recruits:.0f} ({low:.0f} to {high:.0f}).",
        **band(row) | {"story": story_phrase(row["story"]), "weight": percent(row["weight"])},
    )
    target = target_chance(row) if forecast.still_wanted else None
    adds = say("Knowing it would add {more:.1f}.", more=more) if is_clear and more > _SHOWN else None
    return joined([brings, target, adds])


def _target_line(forecast: Forecast, wanted: int) -> Text:
    whole, budget, plan = n_people(forecast.target or 0), forecast.rules.budget, forecast.of_plan
    if wanted == 0:
        return say("The target, {people} in all, is reached already.", people=whole)
    to_come = say_n("{n:,} recruit", "{n:,} recruits", wanted)
    if forecast.already:
        to_come = say("{people} in all, {wanted:,} to come", people=whole, wanted=wanted)
    if wanted > budget:
        return say(
            "The target ({to_come}) is out of reach: {coupons} bring no more than that.",
            to_come=to_come,
            coupons=n_coupons(budget),
        )
    chance = chance_text(plan["reaches_target"])
    return say("Chance to reach the target ({to_come}): {chance}.", to_come=to_come, chance=chance)


def _caveat(forecast: Forecast) -> Text:
    """What the bands include and what they do not."""
    inside = say("The bands include luck and what the data leave open about coupons.")
    if forecast.population is not None:
        outside = say(
            "The population runs out as the simulated recruits come. Not in them: a model that is wrong in kind, "
            "people who change during the study, and errors of the population's size."
        )
    else:
        outside = say(
            "Not in them: a model that is wrong in kind, people who change during the study, and a population that "
            "runs out ({remedy}).",
            remedy=Remedy("population"),
        )
    return joined([inside, outside])


def forecast_tables(forecast: Forecast) -> list[ResultTable]:
    """The tables that a terminal or a page shows above the sentences."""
    return [_rounds_table(forecast), policies_table(forecast)]


def _rounds_table(forecast: Forecast) -> ResultTable:
    own = forecast.rounds[forecast.rounds["policy"] == PLAN]
    headings = (
        say("round"), say("coupons issued"), say("recruits"), say("half of the time"), say("8 of 10"), say("so far"),
        say("8 of 10 so far"),
    )  # fmt: skip
    rows = tuple(
        (
            str(row["round"]), f"{row['issued']:.1f}", f"{row['recruits']:.1f}", band_text(row["p25"], row["p75"]),
            band_text(row["p10"], row["p90"]), f"{row['total']:.1f}", band_text(row["total_p10"], row["total_p90"]),
        )
        for row in own.to_dict("records")
    )  # fmt: skip
    return ResultTable(say("The plan, round by round"), headings, rows, n_names=0)


# Both kinds of forecasts ---------------------------------------------------------------------------------------------


def band(row: Any) -> dict[str, Any]:
    """The mean of a policy and its 80% band, as values of a sentence."""
    return {"recruits": row["recruits"], "low": row["p10"], "high": row["p90"]}


def band_text(low: float, high: float) -> str:
    """A band in a table."""
    return f"{low:.0f} - {high:.0f}"


def chance_text(share: float) -> Text:
    """A chance in percent; none or all of the simulated studies are named as such, not as never or always."""
    return say("{share:.0%} of the simulated studies", share=share) if share in (0.0, 1.0) else percent(share)


def target_chance(row: Row) -> Text:
    """The chance of the target under one policy, or by one story."""
    return say("Target: {chance}.", chance=chance_text(row["reaches_target"]))


def gain_lines(gains: Gains) -> list[Text]:
    """What the plan gains against the best simple rule, and against what the study has done so far."""
    lines = []
    for gain in gains.shown:
        values = {"rule": gain.described, "recruits": gain.recruits, **vars(gain.lead)}
        line = say(
            "{rule}: {recruits:.0f} recruits; the plan's gain is {mean:+.1f} (95%: {low:+.1f} to {high:+.1f}).",
            **values,
        )
        if gain.verdict is Verdict.SAME:
            line = say(
                "{rule}: {recruits:.0f} recruits, about the same as with the plan ({mean:+.1f}; 95%: {low:+.1f} to "
                "{high:+.1f}).",
                **values,
            )
        parts = [
            say("{mean:+.1f} if {story}.", mean=lead.mean, story=story_phrase(name))
            for name, lead in gain.by_part.items()
        ]
        lines.append(joined([line, *parts] if len(parts) > 1 else [line]))
    return lines


def policies_table(forecast: "Forecast | DateForecast") -> ResultTable:
    """The plan beside its rivals."""
    chances = {"reaches_target": say("target"), "dies_out": say("dies out")}
    there = [name for name in chances if name in forecast.summary and (forecast.still_wanted or name == "dies_out")]
    leads = [gain.lead for gain in forecast.gains.each]
    gains = ["", *(f"{lead.mean:+.1f} ({lead.low:+.1f} - {lead.high:+.1f})" for lead in leads)]
    rows = tuple(
        (
            row["described"], f"{row['recruits']:.1f}", band_text(row["p10"], row["p90"]),
            *(percent(row[name]) for name in there), gain,
        )
        for row, gain in zip(forecast.summary.to_dict("records"), gains, strict=True)
    )  # fmt: skip
    shown = (chances[name] for name in there)
    headings = (say("rule"), say("recruits"), say("8 of 10"), *shown, say("the plan's gain (95%)"))
    return ResultTable(say("The plan and simple rules"), headings, rows)
