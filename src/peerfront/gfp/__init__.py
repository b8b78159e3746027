"""Generative frontier planning, Sections 3.2 to 3.4 of the paper: value, backup, greedy planner, learning."""
