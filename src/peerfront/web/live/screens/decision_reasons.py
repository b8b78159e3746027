"""How a number of coupons was decided, in lines that people read."""

from django.utils.translation import gettext

from peerfront.foundation.shown import visible
from peerfront.web.live.rules.events import CouponsIssued, DecidedBy
from peerfront.web.live.rules.records import DecisionRow
from peerfront.web.live.screens.templatetags.plan_numbers import chance
from peerfront.web.live.screens.words import isolated
from peerfront.web.pages.speaking import page_speaker
from peerfront.words.language import speaking
from peerfront.words.reason_words import reason_text
from peerfront.words.stored_text import reason_from_text


def reason_words(stored: str) -> str:
    """Why somebody gets a number of coupons, in the reader's language; text of earlier versions as it is."""
    return " ".join(reason_sentences(stored))


def reason_sentences(stored: str) -> list[str]:
    """The sentences of a reason, the most important first."""
    reason = reason_from_text(stored)
    if isinstance(reason, str):
        return [reason]
    with speaking(page_speaker()):
        return [str(part) for part in reason_text(reason).values.values()]


def by_words(decided_by: DecidedBy) -> str:
    """Who or what decided."""
    return {
        DecidedBy.PLAN: gettext("By the approved plan"),
        DecidedBy.ARRIVAL: gettext("By the approved model, when the person came"),
        DecidedBy.OVERRIDE: gettext("By the coordinator"),
    }[decided_by]


def reason_lines(decision: CouponsIssued | DecisionRow) -> tuple[str, ...]:
    """Who decided and why, what the plan said, and all that estimates need of it."""
    values = {"by": by_words(decision.decided_by), "reason": isolated(visible(reason_words(decision.reason)))}
    lines = [gettext("%(by)s: %(reason)s") % values if decision.reason else values["by"]]
    given = len(decision.codes) if isinstance(decision, CouponsIssued) else decision.coupons
    if decision.planned is not None and decision.planned != decision.decided:
        numbers = {"planned": decision.planned, "decided": decision.decided}
        lines.append(gettext("Planned were %(planned)s, decided %(decided)s.") % numbers)
    if given < decision.decided:
        fewer = {"given": given, "decided": decision.decided, "why": isolated(visible(decision.why_fewer))}
        lines.append(gettext("Handed out were %(given)s of %(decided)s: %(why)s") % fewer)
    return (*lines, *details(decision))


def details(decision: CouponsIssued | DecisionRow) -> tuple[str, ...]:
    """Group, probability, model and seed."""
    lines = []
    if decision.stratum:
        lines.append(gettext("Group: %(stratum)s.") % {"stratum": isolated(visible(decision.stratum))})
    if decision.probability is not None:
        values = {"probability": chance(decision.probability)}
        lines.append(gettext("Probability of this number: %(probability)s.") % values)
    model = {"model": isolated(decision.model), "seed": decision.seed}
    return (*lines, gettext("Model %(model)s, seed %(seed)s.") % model)
