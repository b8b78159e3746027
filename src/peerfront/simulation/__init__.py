"""Worlds whose truth is known: simulated recruitment, histories to learn from, and exact optima of tiny cases."""
