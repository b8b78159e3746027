"""A running study: what may happen to a coupon, a person, a payment and a plan, and the record of what did."""
