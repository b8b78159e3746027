"""Estimates as the app and a live study show them: those to use first, with numbers in the page's language."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext

from peerfront.foundation.shown import visible
from peerfront.words.charts import drawn
from peerfront.words.study_charts import estimates_chart

_NARROW = 0.05  # shares within a narrower interval have a decimal


def shown_outcomes(outcomes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The results of `words.estimates.outcome_results`: what to use for everybody, and by group, and all others.

    Of an answer with two categories only the second is to be used: the first one is the rest.
    """
    return [_shown(each) for each in outcomes]


def _shown(outcome: Mapping[str, Any]) -> dict[str, Any]:
    rows = [_row(row, bool(outcome["numeric"])) for row in outcome["rows"]]
    best = [row for row in rows if row["best"]]
    everybody = [row for row in best if not row["group"]]
    return {
        **outcome,
        "outcome": visible(outcome["outcome"]),
        "rows": everybody[1:] if len(everybody) == 2 else everybody,
        "groups": [row for row in best if row["group"]],
        "others": [row for row in rows if not row["best"]],
        "chart": _chart(outcome),
        "has_groups": any(row["group"] for row in rows),
        "has_bias": any(row["bias"] for row in rows),
    }


def _chart(outcome: Mapping[str, Any]) -> str:
    rows = [row for row in outcome["rows"] if not row["group"]]
    return drawn(estimates_chart(outcome["outcome"], rows, numeric=bool(outcome["numeric"])))


def _row(row: Mapping[str, Any], numeric: bool) -> dict[str, Any]:
    low, high = row["low"], row["high"]
    digits = 2 if numeric else int(low is not None and high - low < _NARROW)

    def shown(value: float | None, sign: str = "") -> str:
        if value is None:
            return ""
        number = number_format(round(value if numeric else 100 * value, digits), decimal_pos=digits, use_l10n=True)
        return f"{sign}{number}" if numeric else f"{sign}{number}%"

    bias, ends = row["likely_bias"], {"low": shown(low), "high": shown(high)}
    return {
        **row,
        "what": gettext("Mean") if numeric else visible(row["what"]),
        "group": visible(row["group"]),
        "estimate": shown(row["estimate"]),
        "interval": "" if low is None else gettext("%(low)s to %(high)s") % ends,
        "bias": shown(bias, "+" if bias and bias > 0 else ""),
    }
