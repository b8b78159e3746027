"""Propose a plan that was made, by the rules."""

from collections.abc import Callable
from datetime import datetime

from peerfront.foundation.errors import SettingError
from peerfront.web.live.planning.making import Proposal
from peerfront.web.live.records.database import DatabaseRecords
from peerfront.web.live.records.recording import answer
from peerfront.web.live.rules.actions import Member
from peerfront.web.live.rules.deciding import Accepted, Refused
from peerfront.web.live.rules.events import PlannedCoupons, PlanProposed
from peerfront.web.live.rules.requests import ProposePlan, Request


def propose(
    proposal: Proposal,
    member: Member,
    key: str,
    read_at: datetime,
    *,
    alongside: Callable[[int], None] = lambda _: None,
) -> int:
    """Ask the rules for a plan made from records read at a time, as the person who asked for it; gives its number.

    `alongside` gets the number, too, in the transaction in which it is proposed; if it raises, nothing is proposed.
    """
    lines = _still_waiting(proposal.lines, read_at)
    wish = ProposePlan(proposal.model, proposal.seed, lines, read_at)
    request = Request(key, member, None, None, wish)
    answered = answer(request, alongside=lambda accepted: alongside(_number_of(accepted)))
    if isinstance(answered, Refused):
        raise SettingError(str(answered.refusal))
    return _number_of(answered)


def _number_of(accepted: Accepted) -> int:
    fact = accepted.events[0].fact
    assert isinstance(fact, PlanProposed)
    return fact.plan


def _still_waiting(lines: tuple[PlannedCoupons, ...], read_at: datetime) -> tuple[PlannedCoupons, ...]:
    """Leave out people who got coupons or withdrew while the plan was made: work at the sites goes on meanwhile."""
    people = DatabaseRecords().people([line.person for line in lines])
    decided = {
        row.person
        for row in people.values()
        if row.withdrawn_at is not None or (row.last_issued_at is not None and row.last_issued_at >= read_at)
    }
    return tuple(line for line in lines if line.person not in decided)
