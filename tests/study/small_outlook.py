"""Outlooks of small studies, by rounds and by date."""

from collections.abc import Sequence
from typing import Any

from peerfront.models.returns.return_times import NEVER
from peerfront.problem import Frontier
from peerfront.study.advice import Advice, advise
from peerfront.study.artifacts import Fit
from peerfront.study.orders import PlanOrder, task_of
from peerfront.study.outlook import Outlook, horizon_of, outlook_of
from peerfront.study.rivals import Rival
from peerfront.study.study_state import AT_ONCE, Standing
from study.small_advice import a_fit, order
from study.small_standing import a_standing, some_times

UNTIL = "2027-03-20"


def ahead(
    fit: Fit, people: Frontier, asked: PlanOrder, rivals: Sequence[Rival] | None = (), already: int = 0, **more: Any
) -> Outlook:
    """What to expect by rounds, where today is planned in every simulated study, too."""
    horizon = horizon_of(fit, None, NEVER, asked, AT_ONCE)
    standing, task = Standing.by_rounds(people, already), task_of(fit, people, asked)
    return outlook_of(fit, standing, AT_ONCE, task, horizon, rivals=rivals, **more)


def advice_by_date(standing: Standing | None = None, studies: int = 60, **changed: Any) -> Advice:
    """Advice for the study of `a_standing`, to a day in March."""
    asked = order(**{"budget": 15, "rounds_left": None, "target": 50, "deadline": UNTIL, **changed})
    return advise(a_fit("capacity", "per_coupon"), standing or a_standing(), asked, some_times(), studies=studies)
