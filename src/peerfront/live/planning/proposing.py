"""Propose a plan that was made, by the rules."""

from peerfront.foundation.errors import SettingError
from peerfront.live.planning.making import Proposal
from peerfront.live.records.recording import answer
from peerfront.live.rules.deciding import Refused
from peerfront.live.rules.events import PlanProposed
from peerfront.live.rules.permissions import Member
from peerfront.live.rules.requests import ProposePlan, Request


def propose(proposal: Proposal, member: Member, key: str) -> int:
    """Ask the rules for a new plan, as the person who asked for it; gives its number."""
    wish = ProposePlan(proposal.model, proposal.seed, proposal.lines)
    answered = answer(Request(key, member, None, None, wish))
    if isinstance(answered, Refused):
        raise SettingError(str(answered.refusal))
    fact = answered.events[0].fact
    assert isinstance(fact, PlanProposed)
    return fact.plan
