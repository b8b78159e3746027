"""Plans of the made-up study: the plain rule with which studies begin, before a model can be fitted.

They are made here, and not by a planning job, because a fit takes a minute; `live demo` asks for one at its end.
"""

from peerfront.web.live.rules.events import PlannedCoupons
from peerfront.web.live.rules.requests import PlanForOne

MODEL = "same-for-all"
"""As `planning.kept_models.SAME_FOR_ALL`, which would load all that a fit needs."""
COUPONS = 3
_REASON = "{} coupons, as for everybody: the study is too small to tell apart."


def line_for(person: str, coupons: int) -> PlannedCoupons:
    """The line of a person in a plan."""
    return PlannedCoupons(person, coupons, "", 1.0, _REASON.format(coupons))


def planned_for_one() -> PlanForOne:
    """The plan for somebody who came after a plan was made."""
    return PlanForOne(MODEL, 1, COUPONS, "", 1.0, _REASON.format(COUPONS))
