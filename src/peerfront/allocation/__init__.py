"""Section 3.3: who gets how many coupons now. Backup, exact greedy, planner."""
