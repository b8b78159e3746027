"""Worlds with known truth, and what can be known about them exactly."""
