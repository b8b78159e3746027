"""Sections 3.2 to 3.4 of the paper: what a frontier is worth, and who should get how many vouchers now."""
