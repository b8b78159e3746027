"""Estimates in words: which estimator to use and why, its result, and the table of all estimators."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from peerfront.estimates.estimating import LARGE_PART, Situation, Verdict
from peerfront.estimates.estimators import MEAN, RDS_I, RDS_II, SS, STRATIFIED, STRATIFIED_SS
from peerfront.foundation.messages import Remedy, Severity
from peerfront.words.language import Text, in_digits, n_people, percent, say, warn
from peerfront.words.result_table import Emphasis, ResultTable

if TYPE_CHECKING:
    from peerfront.estimates.estimating import OutcomeEstimates
    from peerfront.estimates.population_size import PopulationSize
    from peerfront.estimates.sample_diagnostics import Diagnostics
    from peerfront.study.estimation import Estimates
    from peerfront.study.published_tables import PublishedOutcome

Row = Mapping[Any, Any]
ESTIMATORS = {
    MEAN: say("plain mean of the recruits"),
    RDS_I: say("RDS-I (Salganik-Heckathorn)"),
    RDS_II: say("RDS-II (Volz-Heckathorn)"),
    SS: say("successive sampling (Gile)"),
    STRATIFIED: say("RDS-I on outcome x coupon stratum"),
    STRATIFIED_SS: say("successive sampling on outcome x coupon stratum"),
}
_NO_ESTIMATOR = warn("No estimator is valid here. What can be shown is shown, and should not be reported.")
_EVERYBODY = "everybody"
_MOST_ROWS = 200
_MOST_IN_ONE_TREE = 0.5
_MOST_COMPARISONS = 12
_FEW = 2  # comparisons that are said at once; more are details
_LITTLE = 0.2  # of the prior's width, on the scale of logs
_FAR = 0.4  # of the prior's chance lies between the guess and what the sample says
_CHAINS = (RDS_I, STRATIFIED, STRATIFIED_SS)


def estimate_lines(estimates: "Estimates") -> list[object]:
    """The estimates to use, why these, differences between groups, and what could make them wrong; nothing twice."""
    lines: list[object] = []
    for each, diagnostics in zip(estimates.outcomes, estimates.diagnostics, strict=True):
        if len(estimates.outcomes) > 1:
            lines.append(say("{outcome}:", outcome=each.outcome.name))
        compared = list(_comparison_lines(each))
        lines += [*_best_lines(each), *(compared if len(compared) <= _FEW else ()), *_advice_lines(each.verdict)]
        lines += _diagnostic_lines(diagnostics)
    if estimates.population_size is not None:
        lines += _population_size_lines(estimates.population_size)
    lines += dict.fromkeys(line for each in estimates.outcomes for line in _population_lines(each.verdict))
    return list(dict.fromkeys([*lines, *(line for line in estimates.notes if line.severity is Severity.WARNING)]))


def estimate_details(estimates: "Estimates") -> list[object]:
    """Many comparisons, what cannot be computed, the strata, how the file was read, and how intervals were made."""
    compared = [list(_comparison_lines(each)) for each in estimates.outcomes]
    many = [line for lines in compared if len(lines) > _FEW for line in lines]
    cannot = [line for each in estimates.outcomes for line in _cannot_lines(each.verdict)]
    how = [line for line in _how_lines(estimates) if getattr(line, "severity", None) is not Severity.WARNING]
    return [*many, *dict.fromkeys(cannot), *how]


def common_lines(estimates: "Estimates") -> list[object]:
    """What holds for all outcomes: the population's size, how the file was read, and how intervals were made."""
    lines = [line for each in estimates.outcomes for line in _population_lines(each.verdict)]
    return [*dict.fromkeys(lines), *_how_lines(estimates)]


def _how_lines(estimates: "Estimates") -> list[object]:
    lines: list[object] = []
    sample = estimates.study_sample
    if sample.strata:
        lines.append(say("Strata: {what} ({strata}).", what=sample.strata, strata=sample.sample.strata))
    lines += estimates.notes
    kinds = {
        "neighbourhood": say("Intervals hold 95%, by the neighbourhood bootstrap."),
        "tree": say("Intervals hold 95%, by the tree bootstrap."),
        "salganik": say("Intervals hold 95%, by Salganik's bootstrap."),
        "ss": say("Intervals hold 95%, by the successive sampling bootstrap."),
    }
    return [*lines, kinds[estimates.interval]]


def outcome_results(estimates: "Estimates") -> list[dict[str, object]]:
    """Each outcome as pages show it: the estimates to use, why these, and those of all other estimators."""
    results: list[dict[str, object]] = []
    for each, diagnostics in zip(estimates.outcomes, estimates.diagnostics, strict=True):
        best = each.verdict.best
        rows = [
            {
                "what": "" if each.outcome.numeric else row["category"],
                "group": "" if row["group"] == _EVERYBODY else row["group"],
                "estimator": ESTIMATORS[row["estimator"]],
                "best": row["estimator"] == best,
                **{name: _known(row[name]) for name in ("estimate", "low", "high", "likely_bias")},
                "valid": bool(row["valid"]),
                "why": row["why"],
            }
            for row in each.table.to_dict("records")
        ]
        results.append(
            {
                "outcome": each.outcome.name,
                "numeric": each.outcome.numeric,
                "estimator": None if best is None else ESTIMATORS[best],
                "why": _situation_line(each.verdict),
                "warnings": [*([_NO_ESTIMATOR] if best is None else []), *_diagnostic_lines(diagnostics)],
                "cannot": _cannot_lines(each.verdict),
                "rows": rows,
            }
        )
    return results


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def verdict_lines(verdict: Verdict) -> list[Text]:
    """Which estimator is valid, and why."""
    return [*_advice_lines(verdict), *_cannot_lines(verdict), *_population_lines(verdict)]


def _advice_lines(verdict: Verdict) -> list[Text]:
    """Which estimator to use, and why."""
    lines = [_situation_line(verdict)]
    if verdict.best in (STRATIFIED, STRATIFIED_SS) and verdict.situation is Situation.UNEQUAL_COUPONS:
        lines.append(
            say(
                "Use the stratified estimate: it looks at recruits by their recruiter's outcome and stratum, and whom "
                "people recruit does not depend on how many coupons they had."
            )
        )
    elif verdict.best in _CHAINS and RDS_II not in verdict.cannot:
        lines.append(
            say(
                "Use {estimator}: where people recruit their like, neighbourhood intervals of RDS-II and SS are too "
                "narrow.",
                estimator=verdict.best,
            )
        )
    elif verdict.best is not None:
        lines.append(say("Use {estimator}.", estimator=verdict.best))
    else:
        lines.append(_NO_ESTIMATOR)
    return lines


def _cannot_lines(verdict: Verdict) -> list[Text]:
    return [
        say("{estimator} cannot be computed: {why}.", estimator=name, why=why) for name, why in verdict.cannot.items()
    ]


def _population_lines(verdict: Verdict) -> list[Text]:
    """What the size of the population means for the estimates."""
    if verdict.sampled is None:
        return [
            say(
                "The population's size was not given; if a tenth of it or more was sampled, give it ({remedy}), or all "
                "estimates are off.",
                remedy=Remedy("population"),
            )
        ]
    if verdict.sampled <= LARGE_PART:
        return []
    return [
        say(
            "Of the population, {share} was sampled: only estimators that count with that are valid.",
            share=percent(verdict.sampled),
        )
    ]


def _situation_line(verdict: Verdict) -> Text:
    match verdict.situation:
        case Situation.GROUPS_APART:
            return warn(
                "RDS-II is not valid: nobody recruited between groups of answers, so that their shares are those that "
                "the seeds began."
            )
        case Situation.UNEQUAL_RECRUITMENT:
            return say(
                "RDS-II is not valid, although coupons did not differ: {recruitment}.",
                recruitment=verdict.recruitment,
            )
        case Situation.EQUAL_COUPONS:
            return say("Everybody had the same number of coupons, so estimators that assume this are valid.")
        case Situation.COUPONS_UNKNOWN:
            return say("How many coupons people had is not known; if everybody had the same number, RDS-II is valid.")
        case Situation.COUPONS_BY_OUTCOME:
            return say("The number of coupons depended on the outcome alone, so RDS-I stays valid; RDS-II does not.")
        case Situation.UNEQUAL_COUPONS:
            return say("The number of coupons differed between people, so RDS-II is not valid.")


def _best_lines(estimates: "OutcomeEstimates") -> Iterator[Text]:
    """The estimates to use, for the whole population."""
    numeric = estimates.outcome.numeric
    for row in estimates.best[estimates.best["group"] == _EVERYBODY].to_dict("records"):
        values = {
            "what": _quantity(row, numeric),
            "estimate": number_text(row["estimate"], numeric),
            "estimator": ESTIMATORS[row["estimator"]],
        }
        if math.isfinite(row["low"]) and row["design_effect"] < 1.0:
            yield say(
                "{what}: {estimate} ({low} to {high}), {estimator}; {people}.",
                **values,
                low=number_text(row["low"], numeric),
                high=number_text(row["high"], numeric),
                people=n_people(row["people"]),
            )
        elif math.isfinite(row["low"]):
            yield say(
                "{what}: {estimate} ({low} to {high}), {estimator}; {people}, worth {worth:,.0f} drawn at random "
                "(design effect {effect:.1f}).",
                **values,
                low=number_text(row["low"], numeric),
                high=number_text(row["high"], numeric),
                people=n_people(row["people"]),
                worth=row["effective_size"],
                effect=row["design_effect"],
            )
        else:
            yield say(
                "{what}: {estimate}, {estimator}; no interval, because resampling does not show how sure it is.",
                **values,
            )


def _comparison_lines(estimates: "OutcomeEstimates") -> Iterator[Text]:
    """Differences and ratios between groups, by the estimator to use; of two categories the last is enough."""
    table, numeric = estimates.comparisons, estimates.outcome.numeric
    table = table[(table["estimator"] == estimates.verdict.best) & table["low"].notna()]
    if len(estimates.outcome.categories) == 2:
        table = table[table["category"] == estimates.outcome.categories[1]]
    for row in table.head(_MOST_COMPARISONS).to_dict("records"):
        values = {
            "what": row["outcome"] if numeric else f"{row['outcome']} = {row['category']}",
            "group": row["group"],
            "other": row["compared_with"],
            "difference": bias_text(row["difference"], numeric),
            "low": bias_text(row["low"], numeric),
            "high": bias_text(row["high"], numeric),
        }
        if math.isfinite(row["ratio_low"]):
            yield say(
                "{what}, {group} less {other}: {difference} ({low} to {high}); ratio {ratio:.2f} ({least:.2f} to "
                "{most:.2f}).",
                **values, ratio=row["ratio"], least=row["ratio_low"], most=row["ratio_high"],
            )  # fmt: skip
        else:
            yield say("{what}, {group} less {other}: {difference} ({low} to {high}).", **values)
    if len(table) > _MOST_COMPARISONS:
        yield say("{n:,} more comparisons are in the files.", n=len(table) - _MOST_COMPARISONS)


def _population_size_lines(size: "PopulationSize") -> Iterator[Text]:
    """What the order of network sizes says about the population's size."""
    values = {"median": size.median, "low": size.low, "high": size.high, "guess": size.guess}
    yield say(
        "By the order of network sizes there are {median:,} people ({low:,} to {high:,}); the guess of {guess:,} alone "
        "means {least:,} to {most:,}.",
        **values, least=size.prior_low, most=size.prior_high,
    )  # fmt: skip
    if size.learned < _LITTLE and size.moved < _FAR:
        yield warn("The sample adds little to the guess of the population's size.")


def _diagnostic_lines(diagnostics: "Diagnostics") -> Iterator[Text]:
    """Warnings about seeds that still matter, and about one large tree."""
    waves, settled = int(diagnostics.seeds["wave"].max()), diagnostics.waves_to_settle
    if settled is not None and settled > waves:
        yield warn(
            "The seeds still matter: as people recruit, that takes {settled} waves to fade, and the sample has "
            "{waves}.",
            settled=settled,
            waves=waves,
        )
    if diagnostics.largest_tree > _MOST_IN_ONE_TREE:
        yield warn("Of the recruits, {share} descend from one seed.", share=percent(diagnostics.largest_tree))


# Tables --------------------------------------------------------------------------------------------------------------


def estimate_table(estimates: "Estimates") -> ResultTable:
    """All estimates; the one to use has a star, those that are not valid stand in brackets."""
    numeric = {each.outcome.name: each.outcome.numeric for each in estimates.outcomes}
    best = {each.outcome.name: each.verdict.best for each in estimates.outcomes}
    rows: list[tuple[object, ...]] = []
    emphasis = []
    before = ""
    for row in estimates.table.head(_MOST_ROWS).to_dict("records"):
        is_number, is_best = numeric[row["outcome"]], row["estimator"] == best[row["outcome"]]
        what = _quantity(row, is_number)
        rows.append(
            (
                what if what != before else "",
                f"* {row['estimator']}" if is_best else row["estimator"] if row["valid"] else f"({row['estimator']})",
                number_text(row["estimate"], is_number),
                interval_text(row["low"], row["high"], is_number),
                *_effect_texts(row),
                bias_text(row["likely_bias"], is_number),
            )
        )
        emphasis.append(Emphasis.STRONG if is_best else Emphasis.NONE if row["valid"] else Emphasis.WEAK)
        before = what
    headings = (
        say("what"), say("estimator"), say("estimate"), say("95% interval"), say("design effect"),
        say("worth, drawn at random"), say("likely off by"),
    )  # fmt: skip
    left_out = len(estimates.table) - len(rows)
    caption = say("* use this one; (in brackets, grey): not valid here.")
    if left_out:
        caption = say(
            "* use this one; (in brackets, grey): not valid here. {left_out:,} more rows are in the files.",
            left_out=left_out,
        )
    return ResultTable(say("{source}", source=estimates.source), headings, tuple(rows), 2, caption, tuple(emphasis))


def _quantity(row: Row, numeric: bool) -> str:
    group = "" if row["group"] == _EVERYBODY else f", {row['group']}"
    return f"{row['outcome']}{'' if numeric else ' = ' + row['category']}{group}"


def number_text(value: float, numeric: bool) -> Text:
    """A mean as a number, a share in percent; empty if unknown."""
    return _formatted(value, ".4g" if numeric else ".1%")


def interval_text(low: float, high: float, numeric: bool) -> Text:
    """Both ends of an interval; empty if unknown."""
    if low != low:
        return Text("")
    if numeric:
        return Text("{low:.4g} - {high:.4g}", {"low": low, "high": high})
    return Text("{low:.1f} - {high:.1%}", {"low": 100 * low, "high": high})


def bias_text(bias: float, numeric: bool) -> Text | str:
    """The likely bias of an estimate; empty if unknown."""
    if bias != bias:
        return ""
    return in_digits(bias, "+.4g") if numeric else say("{points:+.1f} points", points=100 * bias)


def _effect_texts(row: Row) -> tuple[Text, Text]:
    """Design effect and effective size; nothing below 1, where people who cannot come twice make the sample better."""
    if row["design_effect"] < 1.0:
        return Text(""), Text("")
    return _formatted(row["design_effect"], ".1f"), _formatted(row["effective_size"], ",.0f")


def _formatted(value: float, form: str) -> Text:
    return Text("") if value != value else in_digits(value, form)


# The report ----------------------------------------------------------------------------------------------------------


def published_rows(outcome: "PublishedOutcome") -> list[dict[str, object]]:
    """The rows of an outcome on the report, in whole percents; its name stands only in the first row."""
    estimates = outcome.estimates
    if estimates is None:
        return []
    rows: list[dict[str, object]] = []
    before, numeric = "", estimates.outcome.numeric
    for row in estimates.table[estimates.table["group"] == _EVERYBODY].to_dict("records"):
        what, form = _quantity(row, numeric), ".3g" if numeric else ".0%"
        low, high, bias = (row[name] for name in ("low", "high", "likely_bias"))
        ends = {"low": _formatted(low, form), "high": _formatted(high, form)}
        effect, worth = _effect_texts(row)
        rows.append(
            {
                "what": "" if what == before else what,
                "estimator": row["estimator"],
                "described": ESTIMATORS[row["estimator"]],
                "estimate": _formatted(row["estimate"], form),
                "interval": say("{low} to {high}", **ends) if low == low else "",
                "effect": effect,
                "worth": worth,
                "off": _published_bias(bias, numeric),
                "valid": bool(row["valid"]),
                "best": row["estimator"] == estimates.verdict.best,
                "why": row["why"],
            }
        )
        before = what
    return rows


def _published_bias(bias: float, numeric: bool) -> Text | str:
    if bias != bias:
        return ""
    return f"{bias:+.2g}" if numeric else say("{points:+d} points", points=round(100 * bias) + 0)


def published_facts(outcome: "PublishedOutcome") -> list[tuple[Text, Text]]:
    """How far the sample can be trusted for an outcome."""
    diagnostics = outcome.diagnostics
    if diagnostics is None:
        return []
    settled = say("not known")
    if diagnostics.waves_to_settle is not None:
        waves = int(diagnostics.seeds["wave"].max())
        settled = say("{waves} (the sample has {own})", waves=diagnostics.waves_to_settle, own=waves)
    return [
        (say("waves until the seeds no longer matter"), settled),
        (say("share of the recruits who descend from one seed"), percent(diagnostics.largest_tree)),
    ]
