"""Plans so far: what was planned, what was really handed out, and how often the coordinator decided otherwise."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Q, Sum
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from peerfront.web.live.records.models import Decision, Override, Plan
from peerfront.web.live.rules.events import DecidedBy
from peerfront.web.live.rules.records import PlanStatus

STATUS_WORDS: dict[str, Promise | str] = {
    PlanStatus.PROPOSED: _("Waits for approval"),
    PlanStatus.APPROVED: _("Approved, in use"),
    PlanStatus.CLOSED: _("Replaced by a later plan"),
    PlanStatus.STOPPED: _("Stopped"),
}
STATUS_TONES = {
    PlanStatus.PROPOSED: "care",
    PlanStatus.APPROVED: "good",
    PlanStatus.CLOSED: "plain",
    PlanStatus.STOPPED: "bad",
}


@dataclass(frozen=True)
class PastPlan:
    """A plan in the list of plans."""

    plan: Plan
    people: int
    coupons: int
    changed: int
    """Lines that the coordinator changed before approval."""
    handed_out: int | None
    """Coupons handed out in its round; None if it was never approved."""
    to_arrivals: int
    """Of these, to people who came after the plan was made."""
    overridden: int

    @property
    def otherwise(self) -> int:
        """People for whom somebody decided on another number, before or after approval."""
        return self.changed + self.overridden

    @property
    def proposed_at(self) -> datetime:
        return self.plan.proposed_at

    @property
    def words(self) -> Promise | str:
        return STATUS_WORDS[self.plan.status]

    @property
    def tone(self) -> str:
        return STATUS_TONES[PlanStatus(self.plan.status)]


def past_plans(most: int = 30) -> list[PastPlan]:
    """The newest plans, with what came of them."""
    plans = list(
        Plan.objects.annotate(
            people=Count("lines"),
            coupons=Sum("lines__coupons", default=0),
            changed=Count("lines", filter=~Q(lines__coupons=F("lines__planned"))),
        ).order_by("-plan")[:most]
    )
    rounds = [plan.round for plan in plans if plan.round is not None]
    counts = (
        Decision.objects.filter(round__in=rounds)
        .values_list("round")
        .annotate(
            given=Sum("coupons"), arrivals=Sum("coupons", filter=Q(decided_by=DecidedBy.ARRIVAL.value), default=0)
        )
    )
    handed_out = {number: (given, arrivals) for number, given, arrivals in counts}
    overrides = dict(Override.objects.filter(round__in=rounds).values_list("round").annotate(Count("pk")))
    return [_past(plan, handed_out, overrides) for plan in plans]


def _past(plan: Plan, handed_out: dict[int, tuple[int, int]], overrides: dict[int, int]) -> PastPlan:
    counted = vars(plan)  # what `past_plans` adds up
    given, arrivals = (None, 0) if plan.round is None else handed_out.get(plan.round, (0, 0))
    return PastPlan(
        plan,
        counted["people"],
        counted["coupons"],
        counted["changed"],
        given,
        arrivals,
        0 if plan.round is None else overrides.get(plan.round, 0),
    )
