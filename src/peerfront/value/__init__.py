"""Sections 3.2 and 3.4: what a frontier is worth, and two ways to learn it."""
