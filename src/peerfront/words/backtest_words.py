"""Back-tests in words: whether forecasts can be relied on, and whether simple ones would do as well."""

import numpy as np

from peerfront.foundation.messages import Remedy
from peerfront.study.backtest import Backtest
from peerfront.study.forecast_trust import BETTER, HorizonTrust, factor_of
from peerfront.words.language import Text, joined, n_people, say, say_n
from peerfront.words.outlook_words import band_text
from peerfront.words.result_table import Emphasis, ResultTable


def backtest_lines(test: Backtest) -> list[object]:
    """The verdict on each horizon, then notes."""
    lines: list[object] = [joined([trust_text(each), _beside_rivals(each, test.by_waves)]) for each in test.trust]
    if test.by_waves:
        lines.append(
            say(
                "By waves, forecasts to the end are too high where the study was closed with coupons in people's hands."
            )
        )
    if test.is_flat:
        lines.append(_flat_line(test))
    return [*lines, _source_line(test), *test.notes]


def trust_text(trust: HorizonTrust) -> Text:
    """Whether forecasts of a horizon can be relied on, and why."""
    values = {
        "horizon": horizon_text(trust.horizon), "held": trust.held, "all": trust.forecasts, "factor": trust.factor,
    }  # fmt: skip
    if not trust.judged:
        return say("{horizon}: too few people or forecasts to judge.", **values)
    if trust.relied_on:
        return say(
            "{horizon}: to be relied on, factor {factor:.1f} either way; {held} of {all} bands held.",
            **values,
        )
    verdict = say(
        "{horizon}: not to be relied on, factor {factor:.1f} either way; {held} of {all} bands held.",
        **values,
    )
    if not np.isclose(max(trust.ratio, 1.0 / trust.ratio), trust.factor):
        return verdict
    side = say("All promised too much.") if trust.ratio > 1.0 else say("All promised too little.")
    return joined([verdict, side])


def _beside_rivals(trust: HorizonTrust, by_waves: bool) -> Text:
    """Whether the best simple forecast was as good."""
    if not trust.judged:
        return Text("")
    values = {"rival": rival_text(trust.rival, by_waves), "share": trust.gain}
    if trust.gain > BETTER:
        return say("Better than {rival} by {share:.0%}.", **values)
    if trust.rival_relied_on:
        return say("No better than {rival}: use that.", **values)
    return say("No better than {rival}.", **values)


def _flat_line(test: Backtest) -> Text:
    recruits, limit = test.recruits["recruits"], test.settings.interviews_per_week
    usual = float(recruits[recruits > 0].median())
    evenly = say("People came evenly, about {usual:.0f} a week, as if interviews were the limit.", usual=usual)
    if limit is not None:
        return joined([evenly, say("These forecasts allow {limit:g} interviews a week.", limit=limit)])
    return joined([evenly, say("If they are, say so: {remedy}.", remedy=Remedy("interviews_per_week", round(usual)))])


def _source_line(test: Backtest) -> Text:
    values = {
        "file": test.source,
        "people": n_people(test.people),
        "forecasts": say_n("{n:,} forecast", "{n:,} forecasts", len(test.forecasts)),
    }
    cuts = test.forecasts["cut"].nunique()
    where = say_n("{n} wave", "{n} waves", cuts) if test.by_waves else say_n("{n} day", "{n} days", cuts)
    return say(
        "{file}, {people}: {forecasts} from {cuts}, which know how many coupons people really got afterwards. They are "
        "not independent: one band more or less says little.",
        **values,
        cuts=where,
    )


def backtest_tables(test: Backtest) -> list[ResultTable]:
    """Every forecast beside what happened, and forecasts of each horizon beside simple ones."""
    headings = (
        say("from"), say("ahead"), say("people"), say("middle"), say("8 of 10"), say("came"), say("ratio"),
        say("band"),
    )  # fmt: skip
    rows = tuple(
        (
            cut_text(test, row["cut"]),
            horizon_text(row["horizon"]),
            f"{row['people']:,}",
            f"{row['median']:,.0f}",
            band_text(row["p10"], row["p90"]),
            f"{row['realised']:,}",
            f"{row['ratio']:.2f}",
            say("inside") if row["inside"] else say("above") if row["realised"] > row["p90"] else say("below"),
        )
        for row in test.forecasts.to_dict("records")
    )
    forecasts = ResultTable(say("Forecasts, and what came"), headings, rows, n_names=2)
    return [forecasts, _rivals_table(test)] if any(each.judged for each in test.trust) else [forecasts]


def _rivals_table(test: Backtest) -> ResultTable:
    headings = (say("ahead"), say("forecast"), say("bands that held"), say("factor"), say("score"))
    rows: list[tuple[object, ...]] = []
    for trust in (each for each in test.trust if each.judged):
        own = (trust.held, trust.forecasts, trust.factor, trust.score)
        rows.append((horizon_text(trust.horizon), say("this one"), *_figures(*own)))
        theirs = test.simple[test.simple["horizon"] == trust.horizon]
        for name, each in theirs.groupby("forecast", sort=False):
            figures = _figures(int(each["inside"].sum()), len(each), factor_of(each), float(each["score"].mean()))
            rows.append(("", rival_text(str(name), test.by_waves), *figures))
    emphasis = tuple(Emphasis.STRONG if row[0] else Emphasis.NONE for row in rows)
    caption = say("Score: smaller is better; 0.1 is about 10% of the number.")
    return ResultTable(say("Beside simple forecasts"), headings, tuple(rows), 2, caption, emphasis)


def _figures(held: int, forecasts: int, factor: float, score: float) -> tuple[object, ...]:
    return say("{held} of {all}", held=held, all=forecasts), f"{factor:.1f}", f"{score:.2f}"


def rival_text(name: str, by_waves: bool) -> Text:
    """A simple forecast."""
    names = {
        "last weeks": say("the mean of the last waves") if by_waves else say("the mean of the last weeks"),
        "last wave": say("the last wave repeated") if by_waves else say("the last two weeks repeated"),
    }
    return names.get(name, say("exponential smoothing"))


def cut_text(test: Backtest, cut: object) -> Text:
    """The day or the wave at which a forecast starts."""
    return say("wave {wave}", wave=cut) if test.by_waves else joined([str(cut)])


def horizon_text(horizon: object) -> Text:
    """How far ahead a forecast reaches."""
    names = {
        "next 2 weeks": say("next 2 weeks"),
        "next 6 weeks": say("next 6 weeks"),
        "next wave": say("next wave"),
        "next 2 waves": say("next 2 waves"),
    }
    return names.get(str(horizon), say("to the end"))
