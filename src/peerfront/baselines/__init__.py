"""Policies to compare a planner with: simple rules, population dynamic programming, reinforcement learning."""
