"""When people return: times from issue to use, coupons that are open, and who is still to come."""
