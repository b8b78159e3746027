"""Section 2 of the paper, nothing else: states, allocations, policies, worlds, and the one loop."""

from peerfront.problem.episode import Ending, Episodes, Round, Trajectories, ask, ask_many, rollout, rollouts
from peerfront.problem.history import History
from peerfront.problem.state import Allocation, BulkPolicy, Frontier, Policy, Rules, State, check_feasible
from peerfront.problem.world import BranchingWorld, CapacityModel, Crowd, OffspringModel, Referrals, World

__all__ = [
    "Allocation",
    "BranchingWorld",
    "BulkPolicy",
    "CapacityModel",
    "Crowd",
    "Ending",
    "Episodes",
    "Frontier",
    "History",
    "OffspringModel",
    "Policy",
    "Referrals",
    "Round",
    "Rules",
    "State",
    "Trajectories",
    "World",
    "ask",
    "ask_many",
    "check_feasible",
    "rollout",
    "rollouts",
]
