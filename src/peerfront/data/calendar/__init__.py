"""Dates, and how a study looks on a day."""
