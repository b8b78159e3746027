"""How far earlier studies count in a fit, in words."""

from collections.abc import Mapping
from typing import Any

from peerfront.words.language import Text, percent, say, say_n


def earlier_study_lines(helped: Mapping[str, Any] | None) -> list[Text]:
    """How far earlier studies count."""
    if not helped:
        return []
    lines = [
        say_n(
            "The earlier study says what to believe at first, the counts of this one correct it.",
            "The {n} earlier studies say what to believe at first, the counts of this one correct it.",
            helped["studies"],
        )
    ]
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
