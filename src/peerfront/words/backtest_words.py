"""Back-tests in words: whether forecasts can be trusted on a study."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from peerfront.foundation.messages import Remedy
from peerfront.study.backtest import Backtest, Trust, trust_in
from peerfront.words.language import Text, joined, n_people, say, say_n
from peerfront.words.outlook_words import band_text
from peerfront.words.result_table import ResultTable

Row = Mapping[Hashable, Any]


def backtest_lines(test: Backtest) -> list[object]:
    """The verdict, then each horizon, then notes."""
    lines: list[object] = [verdict_text(test.forecasts, test.coverage)]
    lines += [_horizon_line(row) for row in test.coverage.to_dict("records")]
    if test.by_waves:
        lines.append(
            say(
                "By waves nothing says when the study was closed: where it ended with coupons in people's hands, "
                "forecasts to the end are too high."
            )
        )
    if test.is_flat:
        lines.append(_flat_line(test))
    return [*lines, _source_line(test), *test.notes]


def verdict_text(forecasts: pd.DataFrame, coverage: pd.DataFrame) -> Text:
    """Whether near and far forecasts can be trusted, with the counts behind it."""
    sentences = [
        say(
            "In {inside} of {all} forecasts what came lay inside the 8-of-10 band.",
            inside=int(forecasts["inside"].sum()),
            all=len(forecasts),
        )
    ]
    rows = [(row, trust_in(row)) for row in coverage.to_dict("records")]
    good = [horizon_text(row["horizon"]) for row, trust in rows if trust is Trust.GOOD]
    too_few = [horizon_text(row["horizon"]) for row, trust in rows if trust is Trust.TOO_FEW]
    if len(good) == len(rows):
        sentences.append(say("Forecasts can be trusted on this study."))
    elif good:
        sentences.append(say("On this study forecasts can be trusted for {horizons}.", horizons=good))
    sentences += [_fault(row, trust) for row, trust in rows]
    if too_few:
        sentences.append(say("Too few came to judge forecasts for {horizons}.", horizons=too_few))
    return joined(sentences)


def _fault(row: Row, trust: Trust) -> Text:
    """What is wrong with the forecasts of a horizon; empty if they are good, or too few."""
    values = {"horizon": horizon_text(row["horizon"]), "middle": row["middle"], "came": row["realised"]}
    match trust:
        case Trust.NARROW:
            return say(
                "Do not rely on forecasts for {horizon}: they were right on average, with bands that are too narrow.",
                **values,
            )
        case Trust.TOO_HIGH:
            return say(
                "Do not rely on forecasts for {horizon}: they promised too much ({middle:,.0f} in all, and {came:,.0f} "
                "came).",
                **values,
            )
        case Trust.TOO_LOW:
            return say(
                "Do not rely on forecasts for {horizon}: they expected too little ({middle:,.0f} in all, and "
                "{came:,.0f} came).",
                **values,
            )
    return Text("")


def _horizon_line(row: Row) -> Text:
    values = {"horizon": horizon_text(row["horizon"]), "middle": row["middle"], "came": row["realised"]}
    counts = {"inside": row["inside"], "all": row["forecasts"]}
    if np.isnan(row["bias"]):
        return say(
            "  {horizon}: {inside} of {all} inside; the middle forecasts add up to {middle:,.0f}, nobody came.",
            **values,
            **counts,
        )
    return say(
        "  {horizon}: {inside} of {all} inside; the middle forecasts add up to {middle:,.0f}, {came:,.0f} came "
        "({off:+,.0%}).",
        **values,
        **counts,
        off=row["bias"],
    )


def _flat_line(test: Backtest) -> Text:
    recruits = test.recruits["recruits"]
    usual, limit = float(recruits[recruits > 0].median()), test.settings.interviews_per_week
    evenly = say(
        "People came evenly, about {usual:.0f} a week (at most {most}), as if interviews were the limit: then coupons "
        "do not decide how many come in a week, and forecasts that do not know the limit promise too much.",
        usual=usual,
        most=int(recruits.max()),
    )
    if limit is not None:
        return joined([evenly, say("These forecasts allow {limit:g} interviews a week.", limit=limit)])
    remedy = Remedy("interviews_per_week", round(usual))
    return joined([evenly, say("Try {remedy}, here and in forecasts.", remedy=remedy)])


def _source_line(test: Backtest) -> Text:
    values = {
        "file": test.source,
        "people": n_people(test.people),
        "forecasts": say_n("{n:,} forecast", "{n:,} forecasts", len(test.forecasts)),
    }
    cuts = test.forecasts["cut"].nunique()
    where = say_n("{n} wave", "{n} waves", cuts) if test.by_waves else say_n("{n} day", "{n} days", cuts)
    return say(
        "{file}, {people}: {forecasts} from {cuts}, each with what was known then and with the numbers of coupons that "
        "people really got afterwards. Forecasts of one study are not independent, so that a few more or less inside "
        "their bands say little.",
        **values,
        cuts=where,
    )


def backtest_table(test: Backtest) -> ResultTable:
    """Every forecast beside what happened."""
    headings = (
        say("from"), say("ahead"), say("people then"), say("middle"), say("8 of 10"), say("came"),
        say("against the band"),
    )  # fmt: skip
    rows = tuple(
        (
            cut_text(test, row["cut"]),
            horizon_text(row["horizon"]),
            f"{row['people']:,}",
            f"{row['median']:.0f}",
            band_text(row["p10"], row["p90"]),
            f"{row['realised']:,}",
            say("inside") if row["inside"] else say("above") if row["realised"] > row["p90"] else say("below"),
        )
        for row in test.forecasts.to_dict("records")
    )
    return ResultTable(say("Forecasts, and what came"), headings, rows, n_names=2)


def cut_text(test: Backtest, cut: object) -> Text:
    """The day or the wave at which a forecast starts."""
    return say("wave {wave}", wave=cut) if test.by_waves else joined([str(cut)])


def horizon_text(horizon: object) -> Text:
    """How far ahead a forecast reaches."""
    names = {
        "next 2 weeks": say("the next 2 weeks"),
        "next 4 weeks": say("the next 4 weeks"),
        "next wave": say("the next wave"),
        "next 2 waves": say("the next 2 waves"),
    }
    return names.get(str(horizon), say("the rest of the study"))
