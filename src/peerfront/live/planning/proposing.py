"""Propose a plan that was made, by the rules."""

from datetime import datetime

from peerfront.foundation.errors import SettingError
from peerfront.live.planning.making import Proposal
from peerfront.live.records.database import DatabaseRecords
from peerfront.live.records.recording import answer
from peerfront.live.rules.deciding import Refused
from peerfront.live.rules.events import PlannedCoupons, PlanProposed
from peerfront.live.rules.permissions import Member
from peerfront.live.rules.requests import ProposePlan, Request


def propose(proposal: Proposal, member: Member, key: str, read_at: datetime) -> int:
    """Ask the rules for a plan made from records read at a time, as who asked for it; gives the plan's number."""
    lines = _still_waiting(proposal.lines, read_at)
    wish = ProposePlan(proposal.model, proposal.seed, lines, read_at)
    answered = answer(Request(key, member, None, None, wish))
    if isinstance(answered, Refused):
        raise SettingError(str(answered.refusal))
    fact = answered.events[0].fact
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
