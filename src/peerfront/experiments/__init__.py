"""Comparisons: what is compared, how it is run, and what is made of the results."""
