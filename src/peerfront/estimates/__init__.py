"""What a referral sample says about the population: estimators, their intervals, and diagnostics of the sample."""
