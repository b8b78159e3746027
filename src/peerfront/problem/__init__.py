"""Section 2 of the paper, nothing else: states, allocations, policies, worlds, and the one loop."""

from peerfront.problem.episode import Ending, Episodes, Round, Trajectories, ask, ask_many, rollout, rollouts
from peerfront.problem.history import History
from peerfront.problem.response import BinomialResponse, ResponseModel
from peerfront.problem.state import (
    Allocation,
    BulkPolicy,
    Frontier,
    Policy,
    Rules,
    Seen,
    State,
    check_feasible,
)
from peerfront.problem.world import (
    BranchingWorld,
    Crowd,
    FirstRecruits,
    OffspringModel,
    Referrals,
    World,
    with_independent_referrals,
)

__all__ = [
    "Allocation",
    "BinomialResponse",
    "BranchingWorld",
    "BulkPolicy",
    "Crowd",
    "Ending",
    "Episodes",
    "FirstRecruits",
    "Frontier",
    "History",
    "OffspringModel",
    "Policy",
    "Referrals",
    "ResponseModel",
    "Round",
    "Rules",
    "Seen",
    "State",
    "Trajectories",
    "World",
    "ask",
    "ask_many",
    "check_feasible",
    "rollout",
    "rollouts",
    "with_independent_referrals",
]
