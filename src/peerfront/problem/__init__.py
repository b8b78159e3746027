"""Section 2 of the paper, nothing else: states, allocations, policies, worlds, and the one loop."""

from peerfront.problem.allocation import Allocation, check_feasible
from peerfront.problem.dynamics import CapacityModel, OffspringModel
from peerfront.problem.episode import Ending, Episodes, Round, Trajectories, ask, ask_many, rollout, rollouts
from peerfront.problem.frontier import Frontier
from peerfront.problem.policy import BulkPolicy, Policy
from peerfront.problem.referrals import History
from peerfront.problem.rules import Rules, checked_discount, whole_number
from peerfront.problem.state import State
from peerfront.problem.world import BranchingWorld, Crowd, Referrals, World

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
    "checked_discount",
    "rollout",
    "rollouts",
    "whole_number",
]
