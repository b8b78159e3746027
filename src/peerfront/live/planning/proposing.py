"""Propose a plan that was made, by the rules."""

from collections.abc import Callable

from peerfront.foundation.errors import SettingError
from peerfront.live.planning.making import Proposal
from peerfront.live.records.recording import answer
from peerfront.live.rules.deciding import Accepted, Refused
from peerfront.live.rules.events import PlanProposed
from peerfront.live.rules.permissions import Member
from peerfront.live.rules.requests import ProposePlan, Request


def propose(proposal: Proposal, member: Member, key: str, *, alongside: Callable[[int], None] = lambda _: None) -> int:
    """Ask the rules for a new plan, as the person who asked for it; gives its number.

    `alongside` gets the number, too, in the transaction in which it is proposed; if it raises, nothing is proposed.
    """
    wish = ProposePlan(proposal.model, proposal.seed, proposal.lines)
    request = Request(key, member, None, None, wish)
    answered = answer(request, alongside=lambda accepted: alongside(_number_of(accepted)))
    if isinstance(answered, Refused):
        raise SettingError(str(answered.refusal))
    return _number_of(answered)


def _number_of(accepted: Accepted) -> int:
    fact = accepted.events[0].fact
    assert isinstance(fact, PlanProposed)
    return fact.plan
