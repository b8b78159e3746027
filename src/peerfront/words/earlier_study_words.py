"""How far earlier studies count in a fit, in words."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from peerfront.words.language import Text, n_people, percent, say, say_n

_COUNTS_LITTLE = 0.05  # with a smaller share of the precision, earlier studies are said not to count


def earlier_study_lines(helped: Mapping[str, Any] | None) -> list[Text]:
    """How far earlier studies count."""
    if not helped:
        return []
    n, differ = helped["studies"], percent(float(np.expm1(helped["studies_differ_by"] or 0.0)))
    if not helped["used"]:
        worse, error = helped["behind"]
        first = say_n(
            "The earlier study is not used: this one alone predicts people left out better ({worse:.1f} +- {error:.1f} "
            "units of log-likelihood).",
            "The {n} earlier studies are not used: this one alone predicts people left out better ({worse:.1f} +- "
            "{error:.1f} units of log-likelihood).",
            n,
            worse=worse,
            error=error,
        )
        return [first, *_shared_columns(helped)]
    if (helped["prior_share"] or 0.0) < _COUNTS_LITTLE or not helped["counts_as_people"]:
        lines = [
            say_n(
                "The earlier study hardly counts: studies differ by about {differ}.",
                "The {n} earlier studies hardly count: studies differ by about {differ}.",
                n,
                differ=differ,
            )
        ]
    else:
        people = n_people(helped["counts_as_people"])
        lines = [
            say_n(
                "The earlier study counts as much as {people} of this one: studies differ by about {differ}.",
                "The {n} earlier studies count as much as {people} of this one: studies differ by about {differ}.",
                n,
                people=people,
                differ=differ,
            )
        ]
    if helped["slope"] is not None and helped["differences_believed"] > 0.0:
        believed, slope = percent(helped["differences_believed"]), helped["slope"]
        lines.append(
            say(
                "Differences between people follow the earlier studies with weight {believed}, made {slope:.1f} "
                "times as large.",
                believed=believed,
                slope=slope,
            )
        )
    elif helped["slope"] is not None:
        lines.append(say("Differences between people are this study's own: earlier ones do not predict them."))
    if helped["alike_from_earlier"] is not None:
        share = percent(helped["alike_from_earlier"])
        lines.append(
            say("How much recruits are like their recruiters comes to {share} from earlier studies.", share=share)
        )
    if helped["return_days"] is not None:
        days, factor = helped["return_days"]
        lines.append(
            say(
                "Earlier studies expect half to return within {days} days, times or divided by {factor:.1f}.",
                days=days,
                factor=factor,
            )
        )
    return [*lines, *_shared_columns(helped)]


def _shared_columns(helped: Mapping[str, Any]) -> list[Text]:
    shared, own, unlike = helped["shared"], helped["own"], helped["unlike"]
    lines = [say("No column is shared with earlier studies (names and categories must match), so only averages are.")]
    if shared:
        lines = [say("Shared columns: {names}.", names=shared)]
    if own:
        lines.append(say("Only this study has: {names}.", names=own))
    if unlike:
        lines.append(say("Columns with the same name and other answers: {names}.", names=unlike))
    return lines
