"""Worlds with known truth, and what can be known about them exactly."""

from peerfront.simulation.catalog import WORLDS, WorldEntry, make_world, world_entry
from peerfront.simulation.history import HistorySettings, followed_history, simulate_history

__all__ = [
    "WORLDS",
    "HistorySettings",
    "WorldEntry",
    "followed_history",
    "make_world",
    "simulate_history",
    "world_entry",
]
