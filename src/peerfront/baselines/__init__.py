"""Policies to beat: random, constant, threshold, evenly, and dynamic programming over the size of the frontier."""
