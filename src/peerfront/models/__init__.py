"""Section 3.1: referral dynamics learned from a history."""
