"""How a number of coupons was decided, in lines that people read."""

from django.utils.translation import gettext

from peerfront.foundation.shown import visible
from peerfront.web.live.rules.events import CouponsIssued, DecidedBy
from peerfront.web.live.rules.records import DecisionRow
from peerfront.web.live.screens.templatetags.plan_numbers import chance
from peerfront.web.live.screens.words import isolated


def by_words(decided_by: DecidedBy) -> str:
    """Who or what decided."""
    return {
        DecidedBy.PLAN: gettext("By the approved plan"),
        DecidedBy.ARRIVAL: gettext("By the approved model, when the person came"),
        DecidedBy.OVERRIDE: gettext("By the coordinator"),
    }[decided_by]


def reason_lines(decision: CouponsIssued | DecisionRow) -> tuple[str, ...]:
    """Who decided and why, what the plan said, and all that estimates need of it."""
    told = {"by": by_words(decision.decided_by), "reason": isolated(visible(decision.reason))}
    lines = [gettext("%(by)s: %(reason)s") % told if decision.reason else told["by"]]
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
        told = {"probability": chance(decision.probability)}
        lines.append(gettext("Probability of this number: %(probability)s.") % told)
    model = {"model": isolated(decision.model), "seed": decision.seed}
    return (*lines, gettext("Model %(model)s, seed %(seed)s.") % model)
