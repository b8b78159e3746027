"""The lines of a plan as a page shows them: who gets how many and why, what was changed, what was handed out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from peerfront.web.live.planning.kept_models import PlanSummary
from peerfront.web.live.records.models import Decision, Override, PlanLine
from peerfront.web.live.records.models import Plan as StoredPlan
from peerfront.web.live.screens.page_words import reason_sentences


@dataclass(frozen=True)
class ShownLine:
    """One person of a plan."""

    person: str
    site: str
    site_name: str
    coupons: int
    planned: int
    why_changed: str
    stratum: str
    probability: float
    reasons: list[str]
    """Sentences of the reason."""
    chances: str
    """The chance that each coupon is used; empty where no model said."""
    now: float | None
    """Recruits expected from these coupons; for the planned number."""
    later: float | None
    handed_out: int | None
    """Coupons that the person got in the round of the plan; None if nothing was recorded."""
    overridden: int | None
    why_overridden: str

    @property
    def reason(self) -> str:
        return " ".join(self.reasons)

    @property
    def first_reason(self) -> str:
        """The first sentence of the reason; the others are shown on request."""
        return self.reasons[0]

    @property
    def more_reason(self) -> str:
        return " ".join(self.reasons[1:])

    @property
    def is_changed(self) -> bool:
        return self.coupons != self.planned


def shown_lines(
    plan: StoredPlan, lines: Iterable[PlanLine], sites: Mapping[str, str], summary: PlanSummary | None
) -> list[ShownLine]:
    """Lines of a plan, with what came of them in its round; `lines` bring their people along."""
    some = list(lines)
    names = [line.person_id for line in some]
    decisions: dict[str, int] = {}
    overrides: dict[str, tuple[int, str]] = {}
    if plan.round is not None:
        for start in range(0, len(names), 500):  # SQLite takes some hundred parameters at a time
            here = {"round": plan.round, "person__in": names[start : start + 500]}
            decisions |= dict(Decision.objects.filter(**here).values_list("person_id", "coupons"))
            rows = Override.objects.filter(**here).values_list("person_id", "coupons", "why")
            overrides |= {person: (coupons, why) for person, coupons, why in rows}
    return [_shown(line, sites, summary, decisions, overrides) for line in some]


def _shown(
    line: PlanLine,
    sites: Mapping[str, str],
    summary: PlanSummary | None,
    decisions: Mapping[str, int],
    overrides: Mapping[str, tuple[int, str]],
) -> ShownLine:
    person, site = line.person_id, line.person.site_id
    now, later = (None, None) if summary is None else summary.brings.get(person, (None, None))
    overridden, why = overrides.get(person, (None, ""))
    return ShownLine(
        person=person,
        site=site,
        site_name=sites.get(site, site),
        coupons=line.coupons,
        planned=line.planned,
        why_changed=line.why_changed,
        stratum=line.stratum,
        probability=line.probability,
        reasons=reason_sentences(line.reason),
        chances="" if summary is None else summary.chances.get(person, ""),
        now=now,
        later=later,
        handed_out=decisions.get(person),
        overridden=overridden,
        why_overridden=why,
    )
