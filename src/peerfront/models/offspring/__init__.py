"""Conditional generators of recruits: the paper's diffusion, and plainer rivals."""
